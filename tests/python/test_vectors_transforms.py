"""Transforms and automorphisms against answers from outside, on every instruction set."""

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import backend, ops
from cloakwork.errors import CloakworkError
from python.vectors import BACKENDS, Words, agrees, bit_reversal, given, load, powers

SEAL = load("ntt_seal.json")["cases"]
AUTOMORPHISMS = load("automorphism_seal.json")["cases"]
FIPS = load("ntt_fips204.json")
TEXTBOOK = load("ntt_textbook.json")
DEGREES = sorted({case["degree"] for case in SEAL})


class Tables:
    """The operands of ops, from roots of unity alone; limbs are the last axis of polynomials."""

    def __init__(self, degree: int, moduli: list[int], roots: list[int]) -> None:
        pairs = list(zip(roots, moduli, strict=True))
        self.degree, self.limbs = degree, len(moduli)
        self.q = cw.asarray(moduli, dtype="i64")
        self.psi = cw.asarray([powers(root, degree, q) for root, q in pairs], dtype="i64")
        inverses = [powers(pow(root, -1, q), degree, q) for root, q in pairs]
        self.psi_inv = cw.asarray(inverses, dtype="i64")
        self.n_inv = cw.asarray([pow(degree, -1, q) for q in moduli], dtype="i64")
        self.reversal = cw.asarray(bit_reversal(degree))
        self.identity = cw.asarray(np.arange(degree))

    def ntt(self, rows: Words, perm: cw.Tensor, **options: Any) -> Words:
        """Rows [k, N], a limb each, through layout [l, N, r, k] of strides in either order."""
        results = []
        for a in _layouts(rows):
            out = ops.ntt(a, q=self.q, psi=self.psi, perm=perm, **options)
            results.append(np.asarray(out)[0, :, 0, :].T)
        last = cw.asarray(rows[np.newaxis, np.newaxis])
        out = ops.ntt(last, q=self.q, psi=self.psi, perm=perm, axis=-1, **options)
        results.append(np.asarray(out)[0, 0])
        return _one(results)

    def intt(self, rows: Words, perm: cw.Tensor) -> Words:
        tables = {"q": self.q, "psi_inv": self.psi_inv, "n_inv": self.n_inv, "perm": perm}
        results = [np.asarray(ops.intt(a, **tables))[0, :, 0, :].T for a in _layouts(rows)]
        last = cw.asarray(rows[np.newaxis, np.newaxis])
        results.append(np.asarray(ops.intt(last, **tables, axis=-1))[0, 0])
        return _one(results)


def _layouts(rows: Words) -> list[cw.Tensor]:
    """[k, N] as [1, N, 1, k]: moduli tightest in memory, and coefficients tightest."""
    tight = cw.asarray(np.ascontiguousarray(rows.T)[np.newaxis, :, np.newaxis, :])
    limb_major = cw.asarray(np.ascontiguousarray(rows)).unsqueeze(0).unsqueeze(0)
    return [tight, limb_major.moveaxis(-1, 1)]


def _one(results: list[Words]) -> Words:
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    return results[0]


def seal_limbs(degree: int) -> tuple[list[dict[str, Any]], Tables, Words]:
    """All cases of a degree as the limbs of one polynomial."""
    cases = [case for case in SEAL if case["degree"] == degree]
    moduli = [case["modulus"] for case in cases]
    tables = Tables(degree, moduli, [case["root"] for case in cases])
    rows = [given(case, degree, q) for case, q in zip(cases, moduli, strict=True)]
    return cases, tables, np.array(rows, dtype=np.int64)


@pytest.mark.parametrize("degree", DEGREES)
def test_tables_are_those_of_seal(degree: int) -> None:
    cases, tables, _ = seal_limbs(degree)
    for case, row in zip(cases, np.asarray(tables.psi), strict=True):
        assert agrees(case, "root_powers", row)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("degree", DEGREES)
def test_transforms_are_those_of_seal(degree: int, name: str) -> None:
    cases, tables, rows = seal_limbs(degree)
    reversal = bit_reversal(degree)
    with backend.select_backend(name):
        forward = tables.ntt(rows, tables.identity)
        skipped = tables.ntt(rows, tables.reversal, skip_perm=True)
        natural = tables.ntt(rows, tables.reversal)
        inverse = tables.intt(rows, tables.identity)
        from_natural = tables.intt(rows[:, reversal], tables.reversal)
    for limb, case in enumerate(cases):
        assert agrees(case, "ntt", forward[limb])
        assert agrees(case, "ntt", skipped[limb])
        assert agrees(case, "ntt", natural[limb][reversal])
        assert agrees(case, "intt", inverse[limb])
        assert agrees(case, "intt", from_natural[limb])


@pytest.mark.parametrize("name", BACKENDS)
def test_transforms_are_those_of_fips_204(name: str) -> None:
    degree, q = FIPS["degree"], FIPS["modulus"]
    tables = Tables(degree, [q], [FIPS["root"]])
    assert np.asarray(tables.psi)[0].tolist() == FIPS["zetas"]
    _transforms_and_product(tables, FIPS["cases"], "ntt", tables.identity, FIPS["product"], name)


@pytest.mark.parametrize("name", BACKENDS)
def test_transforms_are_those_of_the_textbook(name: str) -> None:
    tables = Tables(TEXTBOOK["degree"], [TEXTBOOK["modulus"]], [TEXTBOOK["root"]])
    cases, product = TEXTBOOK["cases"], TEXTBOOK["product"]
    orders = {"natural": tables.reversal, "bit_reversed": tables.identity}
    for key, perm in orders.items():
        _transforms_and_product(tables, cases, key, perm, product, name)


def _transforms_and_product(
    tables: Tables,
    cases: list[dict[str, Any]],
    key: str,
    perm: cw.Tensor,
    product: list[int],
    name: str,
) -> None:
    with backend.select_backend(name):
        sides = []
        for case in cases:
            values = tables.ntt(np.array([case["input"]]), perm)
            assert values[0].tolist() == case[key]
            assert tables.intt(values, perm)[0].tolist() == case["input"]
            sides.append(cw.asarray(values))
        both = np.asarray(ops.modmul(sides[0], sides[1], int(tables.q[0])))
        assert tables.intt(both, perm)[0].tolist() == product


def automorphism_index(degree: int, element: int, order: Words) -> Words:
    """The source of entry n of a(X^element), where index j holds exponent 2 order[j] + 1."""
    place = np.empty(degree, dtype=np.int64)
    place[order] = np.arange(degree)
    return place[((2 * order + 1) * element % (2 * degree) - 1) // 2]


Permute = Callable[[cw.Tensor, cw.Tensor], cw.Tensor]


def gathered(a: cw.Tensor, index: cw.Tensor) -> cw.Tensor:
    return ops.take_along_axis(a, index.unsqueeze(-1), 0)


def permuted(a: cw.Tensor, index: cw.Tensor) -> cw.Tensor:
    return ops.automorphism(a, index)


WAYS: list[Permute] = [gathered, permuted]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", BACKENDS)
def test_automorphisms_are_those_of_seal(name: str, way: Permute) -> None:
    with backend.select_backend(name):
        for case in AUTOMORPHISMS:
            degree, q = case["degree"], case["modulus"]
            values = np.array(given(case, degree, q), dtype=np.int64)
            order = bit_reversal(degree)
            index = automorphism_index(degree, case["element"], order)
            # Two limbs of the same words.
            a = cw.asarray(np.stack((values, values))).moveaxis(0, 1)
            moved = np.asarray(way(a, cw.asarray(index)))
            assert agrees(case, "bit_reversed", moved[:, 0])
            assert agrees(case, "bit_reversed", moved[:, 1])
            index = automorphism_index(degree, case["element"], np.arange(degree))
            natural = cw.asarray(values[order]).unsqueeze(-1)
            moved = np.asarray(way(natural, cw.asarray(index)))
            assert agrees(case, "bit_reversed", moved[order, 0])


@pytest.mark.parametrize("name", BACKENDS)
def test_automorphisms_of_transforms_are_those_of_coefficients(name: str) -> None:
    roots = {(case["degree"], case["modulus"]): case["root"] for case in SEAL}
    with backend.select_backend(name):
        for case in AUTOMORPHISMS:
            degree, q = case["degree"], case["modulus"]
            tables = Tables(degree, [q], [roots[degree, q]])
            values = np.array([given(case, degree, q)], dtype=np.int64)
            index = automorphism_index(degree, case["element"], bit_reversal(degree))
            moved = tables.ntt(values, tables.identity)[:, index]
            assert agrees(case, "coefficients", tables.intt(moved, tables.identity)[0])


def test_a_wrong_word_is_seen() -> None:
    cases, tables, rows = seal_limbs(4096)
    forward = tables.ntt(rows, tables.identity)
    forward[0, 4095] ^= 1
    assert not agrees(cases[0], "ntt", forward[0])
    assert agrees(cases[1], "ntt", forward[1])


def test_tables_of_another_root_are_no_error_but_another_transform() -> None:
    case = next(case for case in SEAL if case["degree"] == 8)
    q, root = case["modulus"], case["root"]
    other = Tables(8, [q], [pow(root, 3, q)])
    assert not agrees(case, "ntt", other.ntt(np.array([case["input"]]), other.identity)[0])
    with pytest.raises(CloakworkError):
        ops.ntt(cw.zeros((1, 8, 1, 2), "i64"), q=other.q, psi=other.psi, perm=other.identity)
