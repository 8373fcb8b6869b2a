"""Shapes, creation, padding and products by NumPy's names, compared with NumPy."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import AxisError, ParamError
from numpy.typing import NDArray

from .numpy_oracle import same

RNG = np.random.default_rng(7)
SHAPES = [(), (0,), (5,), (2, 3), (3, 0), (2, 3, 4), (2, 1, 3, 2)]


def some(shape: tuple[int, ...], dtype: str = "int64") -> NDArray[Any]:
    return RNG.integers(0, 9, shape).astype(dtype)


def shape_of(term: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """The shape of an operand of einsum, whose ellipsis stands for two axes."""
    before, dots, after = term.partition("...")
    extra = (2, 3) if dots else ()
    return (*(sizes[one] for one in before), *extra, *(sizes[one] for one in after))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_shapes_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    x = some(shape, dtype)
    t = cw.asarray(x)
    for name in ("ravel", "transpose", "atleast_1d", "atleast_2d", "atleast_3d"):
        same(getattr(cw, name)(t), getattr(np, name)(x))
    for name in ("vstack", "hstack", "dstack", "column_stack"):
        pieces = [x, x] if shape or name != "column_stack" else [x.reshape(1)]
        same(getattr(cw, name)(pieces), getattr(np, name)(pieces))
    for k in range(-4, 5):
        if len(shape) > 1:
            same(cw.rot90(t, k), np.rot90(x, k))
            same(cw.rot90(t, k, (-1, 0)), np.rot90(x, k, (-1, 0)))
        if len(shape) in (1, 2):
            same(cw.diag(t, k), np.diag(x, k))
    for axis in range(-len(shape), len(shape)):
        same(cw.swapaxes(t, axis, 0), np.swapaxes(x, axis, 0))
        same(cw.append(t, t, axis), np.append(x, x, axis))
        for cut in (1, 3, [1], [2, 1, 9], []):
            parts = cw.array_split(t, cut, axis)
            for part, expected in zip(parts, np.array_split(x, cut, axis), strict=True):
                same(part, expected)
    same(cw.append(t, t), np.append(x, x))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_padding_is_numpys(mode: Any) -> None:
    for shape in [(), (1,), (4,), (2, 3), (3, 2, 4)]:
        for dtype in ("bool", "uint8", "float32", "complex64"):
            x = some(shape, dtype)
            for width in (0, 3, (1, 5), [(0, 2)] * len(shape)):
                if width == []:
                    continue
                same(cw.pad(cw.asarray(x), width, mode), np.pad(x, width, mode))
    if mode == "constant":
        x = some((2, 3))
        for values in (7, (1, 2), ((1, 2), (3, 4))):
            expected = np.pad(x, ((1, 2), (0, 3)), constant_values=values)
            same(cw.pad(x, ((1, 2), (0, 3)), constant_values=values), expected)


def test_products_are_numpys() -> None:
    for first in SHAPES:
        for second in SHAPES:
            x, y = some(first), some(second, "float32")
            same(cw.outer(x, y), np.outer(x, y))
            same(cw.kron(x, y), np.kron(x, y))
            for name in ("dot", "inner"):
                try:
                    expected = getattr(np, name)(x, y)
                except ValueError:
                    with pytest.raises(ParamError):
                        getattr(cw, name)(x, y)
                else:
                    same(getattr(cw, name)(x, y), expected)


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,jk->ik", "ij,jk", "ii", "ii->i", "iij->j", "iii", "ij->ji", "ba", "i,i", "i,j", "ij->",
        "ij,ij->ij", "ij,ij", "...ij,...jk", "i...->...", "...", "...,...", "bij,bjk->bik", ",",
        "i...j,j...->i...", "ij,jk,kl->il", "ij,jk,kl,li", "a,ab,abc,abcd->d", "ij,kl", "i,,i->i",
        "ijk,ljm,nkm->iln", "bhqd,bhkd->bhqk", "... i, i -> ...", "ij,ij,ij->i", "->",
    ],
)  # fmt: skip
def test_einsum_is_numpys(subscripts: str) -> None:
    sizes = dict(zip("abcdhijklmnq", [2, 3, 2, 4, 2, 3, 3, 2, 3, 4, 2, 3], strict=True))
    for dtype in ("int8", "float64", "complex64", "bool"):
        for one in (3, 1, 0):
            sizes["i"] = one
            terms = subscripts.replace(" ", "").split("->")[0].split(",")
            shapes = [shape_of(term, sizes) for term in terms]
            arrays = [some(shape, dtype) for shape in shapes]
            same(cw.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays), rtol=1e-5)


def test_einsum_broadcasts_axes_of_size_one() -> None:
    x, y = some((2, 1)), some((3, 4))
    same(cw.einsum("ij,jk", x, y), np.einsum("ij,jk", x, y))
    x, y = some((1, 3, 2)), some((5, 1, 2))
    same(cw.einsum("...i,...i->...", x, y), np.einsum("...i,...i->...", x, y))
    same(cw.einsum("...i,i", x, y[0, 0]), np.einsum("...i,i", x, y[0, 0]))


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk", [(2, 3), (2, 3)]), ("ij", [(2,)]), ("i", [(2, 3)]), ("i,j", [(2,)]),
        ("i->j", [(2,)]), ("i->ii", [(2,)]), ("i1", [(2, 2)]), ("ii", [(1, 3)]),
        ("...i->i", [(2, 3)]), (3, [(2,)]),
    ],
)  # fmt: skip
def test_einsum_refuses_what_does_not_fit(subscripts: Any, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ParamError, match=r"subscripts|operands\["):
        cw.einsum(subscripts, *(some(shape) for shape in shapes))


def test_wrong_arguments_are_refused() -> None:
    x = cw.zeros((2, 3))
    with pytest.raises(AxisError):
        cw.swapaxes(x, 0, 2)
    with pytest.raises(AxisError):
        cw.transpose(x, (0,))
    with pytest.raises(AxisError):
        cw.rot90(x, 1, (0, 0))
    for call in (
        lambda: cw.split(x, 2, 1), lambda: cw.split(x, 0), lambda: cw.pad(x, -1),
        lambda: cw.pad(x, [1, 2, 3]), lambda: cw.pad(x, 1, "mean"),  # type: ignore[arg-type]
        lambda: cw.pad(cw.zeros(0), 1, "edge"), lambda: cw.diag(cw.zeros((1, 1, 1))),
        lambda: cw.geomspace(0, 1), lambda: cw.logspace(0, 1, -1),
    ):  # fmt: skip
        with pytest.raises(ParamError):
            call()


def test_created_tensors_are_numpys() -> None:
    same(cw.identity(3, "f32"), np.identity(3, "float32"))
    same(cw.geomspace(1, 1000, 7), np.geomspace(1, 1000, 7))
    same(cw.logspace(0, 3, 5, base=2.0, endpoint=False), np.logspace(0, 3, 5, False, 2.0))
    x = some((3,))
    same(cw.array(x, ndmin=3), np.array(x, ndmin=3))
    made = cw.array(x)
    padded = cw.pad(x, 0)
    x[0] = 99
    assert made[0] != 99
    assert padded[0] != 99


def test_they_are_recorded_in_a_trace() -> None:
    x = some((3, 3), "float64")

    def work(a: cw.Tensor) -> cw.Tensor:
        return cw.pad(cw.einsum("ij,jk,kl->il", a, cw.rot90(a), cw.diag(cw.diag(a))), 1, "wrap")

    traced = cw.trace(work, cw.asarray(x)).run({"a": x})["out0"]
    same(traced, np.asarray(work(cw.asarray(x))))
