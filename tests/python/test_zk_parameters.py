"""Parameters of programs that are Python functions, and their descriptions."""

from __future__ import annotations

from typing import Annotated, Any

import cloakwork as cw
import pytest
from cloakwork import zk
from cloakwork.errors import DTypeError, ParamError

N = 8


def alone(a: zk.Scalar) -> cw.Tensor:
    return a


def of_a_curve(a: zk.Lagrange[N], b: zk.Points[N], c: zk.Scalar) -> cw.Tensor:
    return a


Column = Annotated[cw.Tensor, zk.poly(N, "lagrange")]


def aliased(a: Column, b: Annotated[cw.Tensor, zk.scalar("fq")], c: zk.Tensor[cw.uint64, 2]):
    return a, b, c


def test_types_are_said_by_annotations_by_the_builders_types_or_beside_the_function() -> None:
    types = zk.program(curve="bls12_381", inputs={"b": zk.bytes_of(9)})(aliased).types
    assert types == {
        "a": zk.poly(N, "lagrange"),
        "b": zk.bytes_of(9),
        "c": zk.tensor("u64", 2),
    }
    assert zk.program(aliased).types["b"] == zk.scalar("fq")
    types = zk.program(curve="bls12_381")(of_a_curve).types
    assert types["a"] == zk.poly(N, "lagrange", curve="bls12_381")
    assert types["b"] == zk.points(N, curve="bls12_381")
    assert types["c"] == zk.scalar(curve="bls12_381")
    size = 3

    def local(a: zk.Coef[size], p: zk.Point) -> cw.Tensor:
        return a

    assert zk.program(local).types == {"a": zk.poly(3, "coef"), "p": zk.point()}
    assert zk.compile(local).types == zk.program(local).types
    assert repr([zk.Coef[3], zk.Scalar, zk.Tensor["u64", 2, 3]]) == (
        "[zk.Coef[3], zk.Scalar, zk.Tensor[u64, 2, 3]]"
    )


def bare(a: zk.Scalar, b):
    return a


def foreign(a: int):
    return a


def unsized(a: zk.Lagrange):
    return a


def unknown(a: zk.Lagrenge[4]):
    return a


def empty(a: zk.Points[0]):
    return a


def transcript(a: zk.Transcript):
    return a


def open_ended(*a: zk.Scalar):
    return a[0]


def untyped(a: zk.Tensor[cw.uint65, 2]):
    return a


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (bare, r"bare\(b\): got no annotation, expected an annotation: zk\.Lagrange\[n\], "),
        (foreign, r"foreign\(a\): got <class 'int'>, expected an annotation: zk\.Lagr"),
        (unsized, r"unsized\(a\): got zk\.Lagrange without a size, expected an annotation: zk"),
        (unknown, r"unknown\(a\): got 'zk\.Lagrenge\[4\]', which raises AttributeError.*Points"),
        (empty, r"empty\(a\), zk\.Points\[0\]: zk\.Points: got 0, expected a number of elements"),
        (transcript, r"transcript\(a\): got zk\.Transcript, expected a transcript made in the f"),
        (open_ended, r"open_ended\(a\): got \*a.*, expected parameters one by one"),
        (untyped, r"untyped\(a\).*uint65.*AttributeError"),
    ],
)
def test_a_parameter_without_a_type_is_named(function: Any, said: str) -> None:
    with pytest.raises(ParamError, match=said):
        zk.program(function)


def test_types_that_there_are_not_are_refused() -> None:
    with pytest.raises(ParamError, match="inputs of alone: got z, expected a"):
        zk.program(inputs={"z": zk.scalar()})(alone)
    with pytest.raises(DTypeError, match=r"alone\(a\): got 'bn254\.fs"):
        zk.program(inputs={"a": zk.scalar("fs")})(alone)
    with pytest.raises(ParamError, match="curve: got secp, expected bn254 or bls12_381"):
        zk.program(curve="secp")(alone)
