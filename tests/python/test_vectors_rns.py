"""Base conversion and rescaling against SEAL's, on every instruction set."""

from collections.abc import Callable
from math import prod
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import backend, ops
from python.vectors import BACKENDS, Words, agrees, load, long_input

CONVERSIONS = load("base_conversion_seal.json")["cases"]
RESCALINGS = load("rescale_seal.json")["cases"]
Convert = Callable[[Words, list[int], list[int], bool], Words]


def given_rows(case: dict[str, Any], length: int, moduli: list[int]) -> Words:
    listed = case.get("input")
    rows = [long_input(length, q) for q in moduli] if listed is None else listed
    return np.array(rows, dtype=np.int64)


def words(values: list[int] | list[list[int]]) -> cw.Tensor:
    return cw.asarray(np.array(values, dtype=np.int64))


def factors(source: list[int], target: list[int]) -> tuple[list[int], list[list[int]]]:
    """Inverse of Q / q_i mod q_i, and Q / q_i mod p_j."""
    product = prod(source)
    inverses = [pow(product // q, -1, q) for q in source]
    return inverses, [[product // q % p for p in target] for q in source]


def defined(a: Words, source: list[int], target: list[int], centred: bool) -> Words:
    """The definition in Python's integers; rows [k, N] -> [j, N]."""
    inverses, hats = factors(source, target)
    half = [q // 2 if centred else 0 for q in source]
    columns = []
    for column in a.T:
        terms = [
            (int(x) * inverse + h) % q - h
            for x, inverse, h, q in zip(column, inverses, half, source, strict=True)
        ]
        sums = [
            sum(term * hat[j] for term, hat in zip(terms, hats, strict=True))
            for j in range(len(target))
        ]
        columns.append([total % p for total, p in zip(sums, target, strict=True)])
    return np.array(columns, dtype=np.int64).T


def minimal(a: Words, source: list[int], target: list[int], centred: bool) -> Words:
    """The same by the ops of HEAL: products, sums, and a sum along an axis."""
    inverses, hats = factors(source, target)
    q, p = words(source), words(target)
    digits = ops.modmul(cw.asarray(a.T), words(inverses), q)
    half = [q // 2 if centred else 0 for q in source]
    shifted = ops.modsum(digits, words(half), q)
    spread = ops.broadcast_to(shifted.unsqueeze(-1), (*shifted.shape, len(target)))
    offset = words([[-h % m for m in target] for h in half])
    terms = ops.modmul(ops.modsum(spread, offset, p), words(hats), p)
    return np.asarray(ops.axis_modsum(terms, 1, p)).T


def fused(a: Words, source: list[int], target: list[int], centred: bool) -> Words:
    """The op; strides of a residue tensor: coefficients tightest."""
    inverses, hats = factors(source, target)
    half = words([q // 2 if centred else 0 for q in source])
    out = cw.empty((len(target), a.shape[1]), "i64").moveaxis(0, 1)
    q, p, hat = words(source), words(target), words(hats)
    ops.base_convert(residues(a), q, half, hat, p, hat_inv=words(inverses), out=out)
    return np.asarray(out).T


def folded(a: Words, source: list[int], target: list[int], centred: bool) -> Words:
    """The same where the operand holds the digits already; strides of HEAL: limbs tightest."""
    inverses, hats = factors(source, target)
    digits = ops.modmul(cw.asarray(np.ascontiguousarray(a.T)), words(inverses), words(source))
    half = words([q // 2 if centred else 0 for q in source])
    return np.asarray(ops.base_convert(digits, words(source), half, words(hats), words(target))).T


def residues(rows: Words) -> cw.Tensor:
    """[k, N] as [N, k], coefficients tightest."""
    return cw.asarray(np.ascontiguousarray(rows)).moveaxis(0, 1)


WAYS: list[Convert] = [minimal, fused, folded]


def test_the_definition_is_seals() -> None:
    for case in CONVERSIONS:
        source, target = case["from"], case["to"]
        a = given_rows(case, case["count"], source)
        assert agrees(case, "output", defined(a, source, target, centred=False).ravel())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BACKENDS)
def test_base_conversions_are_those_of_seal(name: str, way: Convert) -> None:
    with backend.select_backend(name):
        for case in CONVERSIONS:
            source, target = case["from"], case["to"]
            a = given_rows(case, case["count"], source)
            assert agrees(case, "output", way(a, source, target, False).ravel())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BACKENDS)
def test_centred_conversions_are_as_defined(name: str, way: Convert) -> None:
    with backend.select_backend(name):
        for case in CONVERSIONS:
            source, target = case["from"], case["to"]
            a = given_rows(case, case["count"], source)
            expected = defined(a, source, target, centred=True)
            np.testing.assert_array_equal(way(a, source, target, True), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BACKENDS)
def test_dropping_the_last_limb_rounds_as_seal_does(name: str, way: Convert) -> None:
    """round(a / q_last) = (a - centred(a mod q_last)) / q_last in each of the other limbs."""
    with backend.select_backend(name):
        for case in RESCALINGS:
            *kept, last = case["moduli"]
            a = given_rows(case, case["degree"], case["moduli"])
            remainder = way(a[-1:], [last], kept, True)
            q, negated = words(kept), ops.modneg(cw.asarray(remainder.T), words(kept))
            difference = ops.modsum(cw.asarray(a[:-1].T), negated, q)
            inverse = words([pow(last, -1, m) for m in kept])
            divided = np.asarray(ops.modmul(difference, inverse, q))
            assert agrees(case, "output", divided.T.ravel())
