"""The same circuits on TenSEAL (SEAL), if installed: decryptions agree."""

from typing import Any

import numpy as np
import pytest
from cloakwork import fhe

tenseal = pytest.importorskip("tenseal")

DEGREE = 8192


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_ckks_agrees_with_seal(depth: int) -> None:
    generator = np.random.default_rng(depth)
    a, b = generator.uniform(-1, 1, 64), generator.uniform(-1, 1, 64)
    bits = [49, 38, 38, 38, 49]
    peer = tenseal.context(tenseal.SCHEME_TYPE.CKKS, DEGREE, coeff_mod_bit_sizes=bits)
    peer.global_scale = 2**38
    keys = fhe.ckks(DEGREE, bits[:-1], bits[-1:], scale=2.0**38).keygen(conjugation=False)
    x, y = keys.encrypt(a), keys.encrypt(b)
    theirs, others = tenseal.ckks_vector(peer, list(a)), tenseal.ckks_vector(peer, list(b))
    plain = a
    for _ in range(depth):
        x, theirs, plain = x * y + x, theirs * others + theirs, plain * b + plain
    ours = keys.decrypt(x).real[:64]
    tolerance = 2.0 ** -x.precision_estimate()
    assert np.abs(ours - plain).max() < tolerance
    assert np.abs(ours - np.array(theirs.decrypt())).max() < 1e-4


@pytest.mark.parametrize("scheme", [fhe.bgv, fhe.bfv])
@pytest.mark.parametrize("depth", [1, 2])
def test_integers_agree_with_seal(depth: int, scheme: Any) -> None:
    generator = np.random.default_rng(depth)
    t = 65537
    a, b = generator.integers(-100, 100, 64), generator.integers(-100, 100, 64)
    peer = tenseal.context(tenseal.SCHEME_TYPE.BFV, DEGREE, plain_modulus=t)
    keys = scheme(DEGREE, t, [42, 42, 42], [45]).keygen(conjugation=False)
    x, y = keys.encrypt(a), keys.encrypt(b)
    theirs, others = tenseal.bfv_vector(peer, a.tolist()), tenseal.bfv_vector(peer, b.tolist())
    for _ in range(depth):
        x, theirs = x * y + x, theirs * others + theirs
    np.testing.assert_array_equal(keys.decrypt(x)[:64] % t, np.array(theirs.decrypt()) % t)
