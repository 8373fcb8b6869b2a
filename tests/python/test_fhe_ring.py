"""The NTT tables against their definition, and products against the schoolbook."""

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.fhe.ring import Ring
from cloakwork.primes import ntt_primes, primitive_root

DEGREE = 16
MODULI = ntt_primes(DEGREE, (61, 45, 20))


def random_residues(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, MODULI, size=(DEGREE, len(MODULI)))


def test_tables_are_powers_of_the_root_in_bit_reversed_order() -> None:
    ring = Ring(DEGREE, MODULI)
    order = [int(f"{i:04b}"[::-1], 2) for i in range(DEGREE)]
    assert np.asarray(ring.perm).tolist() == order
    roots = [primitive_root(2 * DEGREE, q) for q in MODULI]
    pairs = list(zip(roots, MODULI, strict=True))
    expected = [[pow(root, i, q) for i in order] for root, q in pairs]
    expected_inverse = [[pow(root, -i, q) for i in order] for root, q in pairs]
    assert np.asarray(ring.psi).tolist() == expected
    assert np.asarray(ring.psi_inv).tolist() == expected_inverse
    assert np.asarray(ring.n_inv).tolist() == [pow(DEGREE, -1, q) for q in MODULI]


def test_ntt_evaluates_at_odd_powers_of_the_root() -> None:
    ring, coefficients = Ring(DEGREE, MODULI), random_residues(1)
    values = np.asarray(ring.ntt(cw.asarray(coefficients)))
    for limb, q in enumerate(MODULI):
        root = primitive_root(2 * DEGREE, q)
        terms = [int(c) for c in coefficients[:, limb]]
        points = [pow(root, 2 * j + 1, q) for j in range(DEGREE)]
        expected = [sum(c * pow(x, i, q) for i, c in enumerate(terms)) % q for x in points]
        assert values[:, limb].tolist() == expected


@pytest.mark.parametrize("batch", [(), (3,), (2, 3), (0,)])
def test_intt_undoes_ntt_for_any_batch(batch: tuple[int, ...]) -> None:
    ring = Ring(DEGREE, MODULI)
    shape = (*batch, DEGREE, len(MODULI))
    residues = np.random.default_rng(2).integers(0, MODULI, size=shape)
    round_trip = ring.intt(ring.ntt(cw.asarray(residues)))
    np.testing.assert_array_equal(np.asarray(round_trip), residues)


def test_products_are_negacyclic() -> None:
    ring = Ring(DEGREE, MODULI)
    a, b = random_residues(3), random_residues(4)
    product = ops.modmul(ring.ntt(cw.asarray(a)), ring.ntt(cw.asarray(b)), ring.q)
    got = np.asarray(ring.intt(product))
    for limb, q in enumerate(MODULI):
        full = np.convolve(a[:, limb].astype(object), b[:, limb].astype(object))
        wrapped = full[:DEGREE] - np.append(full[DEGREE:], 0)
        assert got[:, limb].tolist() == [int(x) % q for x in wrapped]


def test_residues_of_negative_integers_are_canonical() -> None:
    integers = np.array([-(2**62), -1, 0, 1, 2**62], dtype=np.int64)
    got = np.asarray(Ring(DEGREE, MODULI).residues(cw.asarray(integers)))
    assert got.tolist() == [[int(x) % q for q in MODULI] for x in integers]


def test_digits_recompose_to_the_value() -> None:
    ring, residues = Ring(DEGREE, MODULI), random_residues(5)
    digits = np.asarray(ring.digits(cw.asarray(residues[np.newaxis]), 17)).astype(object)
    values = sum(digits[0, place] << (17 * place) for place in range(digits.shape[1]))
    assert all(0 <= int(x) < ring.modulus for x in values)
    assert [[int(x) % q for q in MODULI] for x in values] == residues.tolist()
