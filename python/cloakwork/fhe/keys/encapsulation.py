"""Keys between the secret and an ephemeral sparse one, for bootstrapping.

Raising the modulus adds multiples of q_0, about as many as the root of the secret's weight: few for
a secret with 32 nonzero coefficients.  Such a secret is only safe with a small modulus: ciphertexts
are switched to it modulo q_0, by a key modulo q_0 p for one special modulus p, and back once they
are raised, by a key that hides the sparse secret under the dense one (Bossuat, Troncoso-Pastoriza
and Hubaux, ePrint 2022/024).  The sparse secret is drawn and overwritten here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2, prod
from secrets import token_bytes

import numpy as np

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.key_switching import SwitchingKey, halves, switching_key
from cloakwork.fhe.rns.layout import limb_range
from cloakwork.fhe.rns.samplers import small, wiped
from cloakwork.fhe.rns.tables import Basis, Tables
from cloakwork.tensors.conversion import asarray

# Nonzero coefficients of the sparse secret.
WEIGHT = 32
# The published modulus q_0 p and degree for that weight and 128 bits: 60 + 61 bits at 2^16
# (ePrint 2022/024).  A larger degree at the same modulus is no weaker.
_MODULUS_LOG2, _DEGREE = 121.0, 1 << 16


@dataclass(frozen=True, eq=False)
class Encapsulation:
    """Keys from the secret to a sparse one, and back.

    enter   modulo q_0 p: [2, 1, N, 2]
    leave   of the level to which bootstrapping raises
    """

    enter: SwitchingKey
    leave: SwitchingKey

    def to(self, device: str) -> Encapsulation:
        """The same keys on another device."""
        return Encapsulation(self.enter.to(device), self.leave.to(device))


def check_encapsulation(parameters: Parameters) -> None:
    """ParamError unless a secret of weight 32 is safe, and can exist, under these parameters."""
    if not parameters.special:
        raise ParamError("special", "no moduli", "special moduli, for keys of bootstrapping")
    if parameters.degree < 2 * WEIGHT:
        raise ParamError("degree", parameters.degree, f"{2 * WEIGHT} or more for bootstrapping")
    if parameters.security is None:
        return
    if parameters.security != 128:
        raise ParamError("security", parameters.security, "128 bits for bootstrapping")
    if parameters.degree < _DEGREE:
        allowed = f"{_DEGREE} or more for bootstrapping with 128 bits; insecure=True for tests"
        raise ParamError("degree", parameters.degree, allowed)
    size = log2(parameters.moduli[0]) + log2(max(parameters.special))
    if size > _MODULUS_LOG2:
        raise ParamError(
            "encapsulation_modulus",
            f"{size:.1f} bits of the first and the largest special modulus together",
            f"at most {_MODULUS_LOG2:.0f} for a sparse secret of weight {WEIGHT} "
            "(ePrint 2022/024): take a shorter first modulus",
        )


def encapsulation(tables: Tables, secret: Tensor, level: int) -> Encapsulation:
    """Fresh keys for a secret [N, special + k], to leave at a level.

    The sparse secret ends with this call.
    """
    entry, parameters = tables.entry, tables.parameters
    with wiped(_sparse(parameters.degree)) as sample:
        copy = asarray(np.array(np.asarray(sample)))
        whole = small(tables.extended(parameters.level), copy)
        with wiped(whole), wiped(small(entry.extended(0), sample)) as short:
            place = entry_place(parameters)
            with wiped(_pair(secret, place, len(parameters.special))) as source:
                enter = switching_key(entry, 0, source, short)
            return Encapsulation(enter, switching_key(tables, level, whole, secret))


def owns_encapsulation(tables: Tables, keys: Encapsulation, secret: Tensor) -> bool:
    """Whether the keys lead from a secret [N, special + k] to one of weight 32, and back."""
    # Servers, which have no secrets, do not load what knows them.
    from cloakwork.fhe.keys.secrets import leads

    parameters, entry = tables.parameters, tables.entry
    with wiped(_hidden(tables, keys.leave, secret)) as sample:
        # A sum of squares of 32 with no coefficient beyond 1: that many are nonzero.
        most = max(ops.max(sample, 0).item(), -ops.min(sample, 0).item())
        with wiped(ops.multiply(sample, sample)) as squares:
            weight = ops.sum(squares, 0).item()
        if most != 1 or weight != WEIGHT:
            return False
        copy = asarray(np.array(np.asarray(sample)))
        with (
            wiped(small(tables.extended(parameters.level), copy)) as whole,
            wiped(small(entry.extended(0), sample)) as short,
            wiped(_pair(secret, entry_place(parameters), len(parameters.special))) as source,
        ):
            back = leads(tables, keys.leave, whole, secret)
            return back and leads(entry, keys.enter, source, short)


def _hidden(tables: Tables, key: SwitchingKey, secret: Tensor) -> Tensor:
    """[N]: the coefficients of the secret that a key under another one hides, near 0.

    In a special limb the first digit is its error alone; in q_0 that error over P, and the secret.
    """
    b, a = (half[0] for half in halves(tables, key.data))
    found = []
    for place in (0, tables.special_limbs):
        basis = tables.limbs(place, place + 1)
        own = limb_range(a, place, place + 1), limb_range(secret, place, place + 1)
        opened = ops.modmul(*own, basis.q)
        found.append(ops.modsum(opened, limb_range(b, place, place + 1), basis.q, out=opened))
    special, first = tables.limbs(0, 1), tables.chain(0)
    with wiped(found[0]) as error, wiped(found[1]) as both:
        over = first.constant(-pow(prod(tables.parameters.special), -1, first.moduli[0]))
        with wiped(small(first, _centred(special, error))) as mistakes:
            ops.modmuladd(mistakes, over, both, first.q, out=both)
        return _centred(first, both)


def _centred(basis: Basis, values: Tensor) -> Tensor:
    """[N, 1] in the NTT domain -> [N] coefficients nearest 0."""
    q = basis.moduli[0]
    with (
        wiped(basis.intt(values.unsqueeze(0))) as found,
        wiped(ops.modsum(found, q // 2, basis.q)) as shifted,
    ):
        return ops.subtract(shifted, asarray(q // 2)).reshape(basis.degree)


def entry_place(parameters: Parameters) -> int:
    """The index of the special modulus of the entering key: the largest."""
    return parameters.special.index(max(parameters.special))


def _pair(secret: Tensor, place: int, first: int) -> Tensor:
    """[N, 2]: the limbs of one special modulus and of q_0."""
    limbs = [limb_range(secret, start, start + 1) for start in (place, first)]
    joined = np.concatenate([np.asarray(limb) for limb in limbs], axis=-1)
    try:
        return asarray(np.ascontiguousarray(joined.T).copy()).moveaxis(0, 1)
    finally:
        joined[...] = 0


def _sparse(degree: int) -> Tensor:
    """[N]: 32 coefficients of +-1 at random places, by the operating system's randomness."""
    order = np.frombuffer(bytearray(token_bytes(8 * degree)), dtype=np.uint64)
    signs = np.frombuffer(bytearray(token_bytes(WEIGHT)), dtype=np.uint8)
    values = np.zeros(degree, dtype=np.int64)
    places = np.argpartition(order, WEIGHT)[:WEIGHT]
    values[places] = 2 * (signs & 1).astype(np.int64) - 1
    try:
        return asarray(values.copy())
    finally:
        for used in (order, signs, values, places):
            used[...] = 0
