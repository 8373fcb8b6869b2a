"""Slots: their definition, here and in other libraries."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import ParamError
from cloakwork.fhe.schemes import context_of
from cloakwork.modular.primes import primitive_root

DEGREE = 32
CKKS = fhe.ckks(DEGREE, [50, 40], insecure=True)
BGV = fhe.bgv(DEGREE, 193, [40, 40], insecure=True)
# Generators of the slots' order: SEAL 4 (native/src/seal/ckks.cpp, batchencoder.cpp: gen = 3),
# OpenFHE and Lattigo v6 (ring.GaloisGen = 5).
GENERATORS = {"seal": 3, "openfhe": 5, "lattigo": 5}


def horner(coefficients: np.ndarray, point: complex, modulus: int | None = None) -> complex:
    value = 0
    for coefficient in reversed(coefficients.tolist()):
        value = value * point + coefficient
        value = value if modulus is None else value % modulus
    return value


def coefficients_of(context: fhe.Context, values: np.ndarray) -> np.ndarray:
    """Centred integer coefficients of an encoded polynomial."""
    plaintext = context.encode(values)
    basis = context.tables.chain(plaintext.level)
    residues = np.asarray(basis.intt(plaintext.data.unsqueeze(0)))[0, :, 0]
    q = basis.moduli[0]
    return np.where(residues > q // 2, residues - q, residues)


def test_ckks_slots_are_values_at_powers_of_five() -> None:
    values = np.exp(2j * np.pi * np.random.default_rng(1).random(DEGREE // 2))
    coefficients = coefficients_of(CKKS, values)
    zeta = np.exp(1j * np.pi / DEGREE)
    for slot in range(DEGREE // 2):
        point = zeta ** pow(5, slot, 2 * DEGREE)
        found = horner(coefficients, point) / CKKS.parameters.scale
        assert found == pytest.approx(values[slot], abs=1e-9)


def test_bgv_slots_are_values_at_powers_of_five_and_their_inverses() -> None:
    values = np.random.default_rng(2).integers(0, 193, DEGREE)
    coefficients = coefficients_of(BGV, values)
    psi = primitive_root(2 * DEGREE, 193)
    for slot in range(DEGREE // 2):
        exponent = pow(5, slot, 2 * DEGREE)
        for row, sign in enumerate((1, -1)):
            point = pow(psi, sign * exponent % (2 * DEGREE), 193)
            assert horner(coefficients, point, 193) == values[row * DEGREE // 2 + slot]


@pytest.mark.parametrize("library", GENERATORS)
def test_other_libraries_read_ckks_polynomials_so(library: fhe.encoding.slots.Library) -> None:
    values = np.exp(2j * np.pi * np.random.default_rng(3).random(DEGREE // 2))
    coefficients = coefficients_of(CKKS, values)
    zeta = np.exp(1j * np.pi / DEGREE)
    theirs = [
        horner(coefficients, zeta ** pow(GENERATORS[library], slot, 2 * DEGREE)) / 2.0**40
        for slot in range(DEGREE // 2)
    ]
    converted = fhe.to_library(CKKS, values, library)
    np.testing.assert_allclose(converted, theirs, atol=1e-9)
    np.testing.assert_array_equal(fhe.from_library(CKKS, converted, library), values)
    assert (library == "seal") == bool((converted != values).any())


@pytest.mark.parametrize("library", GENERATORS)
def test_other_libraries_read_bgv_polynomials_so(library: fhe.encoding.slots.Library) -> None:
    values = np.random.default_rng(4).integers(0, 193, (2, DEGREE))
    # 5 is the least generator mod 193; SEAL and OpenFHE take the least of all 2N-th roots.
    roots = [x for x in range(193) if pow(x, DEGREE, 193) == 192]
    root = pow(5, 192 // (2 * DEGREE), 193) if library == "lattigo" else min(roots)
    theirs = np.empty_like(values)
    for row in range(2):
        coefficients = coefficients_of(BGV, values[row])
        for slot in range(DEGREE // 2):
            exponent = pow(GENERATORS[library], slot, 2 * DEGREE)
            for half, sign in enumerate((1, -1)):
                point = pow(root, sign * exponent % (2 * DEGREE), 193)
                theirs[row, half * DEGREE // 2 + slot] = horner(coefficients, point, 193)
    converted = fhe.to_library(BGV, values, library)
    np.testing.assert_array_equal(converted, theirs)
    np.testing.assert_array_equal(fhe.from_library(BGV, converted, library), values)


def test_what_cannot_be_converted_is_refused() -> None:
    with pytest.raises(ParamError, match="library"):
        fhe.to_library(CKKS, np.ones(DEGREE // 2), "helib")  # type: ignore[arg-type]
    for convert in (fhe.to_library, fhe.from_library):
        with pytest.raises(ParamError, match="slots"):
            convert(CKKS, np.ones(DEGREE), "seal")
        with pytest.raises(ParamError, match="slots"):
            convert(BGV, 3, "seal")


@pytest.mark.parametrize("library", GENERATORS)
def test_a_context_may_have_its_slots_in_the_order_of_a_library(
    library: fhe.encoding.slots.Library,
) -> None:
    for own in (CKKS, BGV):
        parameters = replace(own.parameters, slot_order=library)
        theirs = context_of(parameters)
        values = np.arange(own.slots)
        found = own.decode(replace(theirs.encode(values), context=own))
        np.testing.assert_allclose(fhe.to_library(own, found, library), values, atol=1e-6)
        np.testing.assert_allclose(theirs.decode(theirs.encode(values)), values, atol=1e-6)
        np.testing.assert_array_equal(fhe.to_library(theirs, values, library), values)
        assert parameters.fingerprint != own.parameters.fingerprint
        assert library in theirs.describe()


def test_slots_in_another_order_rotate_by_its_automorphisms() -> None:
    for own in (CKKS, BGV):
        keys = context_of(replace(own.parameters, slot_order="seal")).keygen(rotations=[1])
        assert set(keys.evaluation.galois) == {3, 2 * DEGREE - 1}
        values = np.arange(own.slots).reshape(-1, DEGREE // 2)
        turned = keys.decrypt(keys.encrypt(values.ravel()).rotate(1))
        np.testing.assert_allclose(turned, np.roll(values, -1, axis=-1).ravel(), atol=1e-2)


def test_an_unknown_order_of_slots_is_refused() -> None:
    with pytest.raises(ParamError, match="slot_order"):
        replace(CKKS.parameters, slot_order="helib")  # type: ignore[arg-type]


def test_the_order_of_slots_is_in_files(tmp_path: Path) -> None:
    keys = context_of(replace(BGV.parameters, slot_order="seal")).keygen()
    keys.encrypt([1, 2]).save(tmp_path / "x.ct")
    found = fhe.load(tmp_path / "x.ct", insecure=True)
    assert found.context.parameters == keys.context.parameters
    np.testing.assert_array_equal(keys.decrypt(found)[:2], [1, 2])
