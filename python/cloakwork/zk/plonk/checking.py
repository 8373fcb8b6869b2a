"""Checks of a PLONK proving key alone that its proofs hide the witness."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import ProofError
from cloakwork.zk.groth16.algebra import from_words, point_bytes
from cloakwork.zk.protocol.fields import curve as named

if TYPE_CHECKING:
    from cloakwork.zk.plonk.keys import ProvingKey


def check_key(key: ProvingKey, *, groups: bool) -> None:
    """Raise ProofError for a key that no honest setup makes: `ProvingKey.check` says which."""
    _core.check_powers(key.curve, key.powers, groups)
    _check_powers(key)
    _check_commitments(key)


def _random(curve: str, count: int) -> Tensor:
    """Scalars [count], uniform below 2^64."""
    wide = ops.zeros((count, 4), _core.uint64)
    wide[:, :1] = _core.random_words((count, 1))
    return from_words(curve, wide)


def _point(points: Tensor) -> bytes:
    return point_bytes(points.reshape(1))


def _check_powers(key: ProvingKey) -> None:
    """Blinding is a multiple of tau^n - 1: it hides nothing where that, or tau, is 0."""
    powers, count = key.powers, key.domain + 6
    if _point(powers[0]) != _point(named(key.curve).g1_generator):
        raise ProofError("zkey, powers of tau: the first is not the generator")
    if _point(powers[key.domain]) == _point(powers[0]) or not any(_point(powers[1])):
        raise ProofError("zkey, powers of tau: tau is 0 or in the domain, and blinds nothing")
    factors = _random(key.curve, count - 1)
    low, high = (_point(ops.msm(factors, part)) for part in (powers[:-1], powers[1:]))
    if not _core.follows(key.curve, low, high, key.verifying_key.x2):
        raise ProofError("zkey, powers of tau: they are not powers of the number in X_2")


def _check_commitments(key: ProvingKey) -> None:
    """The random sum of commitments is the commitment to the sum of polynomials."""
    factors = _random(key.curve, len(key.polynomials))
    scaled = [
        factors[place : place + 1] * polynomial for place, polynomial in enumerate(key.polynomials)
    ]
    total = ops.msm(reduce(ops.add, scaled), key.powers[: key.domain])
    if _point(total) != _point(ops.msm(factors, key.commitments)):
        raise ProofError("zkey: the commitments of its header are not to its polynomials")
