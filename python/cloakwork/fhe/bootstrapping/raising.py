"""Raising the modulus: a ciphertext modulo q_0, read as one modulo a long chain.

Its message gains multiples of q_0: c_0 + c_1 s is computed over the integers.  Under a secret of
weight 32 these are few (`cloakwork.fhe.keys.encapsulation`).
"""

from __future__ import annotations

from dataclasses import replace

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.rns.key_switching import switched
from cloakwork.fhe.rns.layout import batched, like, residues
from cloakwork.fhe.rns.tables import Tables, constants


def raised(own: CkksCiphertext, level: int) -> CkksCiphertext:
    """Two parts at level 0 -> the same at a level, plus multiples of q_0.

    The estimates are those of the ciphertext: the caller states new ones.
    """
    tables, data = own.context.tables, batched(own.data)
    keys = own.keys.encapsulation_keys()
    sparse = switched(tables.entry, 0, data[:, 1], keys.enter, data[:, 0])
    whole = lifted(sparse, tables, level)
    found = switched(tables, level, whole[:, 1], keys.leave, whole[:, 0])
    return replace(own, data=like(found, own.data), level=level, seed=None)


def lifted(data: Tensor, tables: Tables, level: int) -> Tensor:
    """Residues modulo q_0 alone, centred, modulo all limbs of a level: [B, parts, N, 1 -> k]."""
    first, chain = tables.chain(0), tables.chain(level)
    q = first.moduli[0]
    out = residues(data.shape[:-2], chain.degree, chain.limbs)
    ops.base_convert(
        first.intt(data),
        first.q,
        constants([q // 2]),
        constants([[1] * chain.limbs]),
        chain.q,
        out=out,
    )
    return chain.ntt(out, out=out)
