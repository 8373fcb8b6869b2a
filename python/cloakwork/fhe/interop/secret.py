"""Another library's secret as our keys: only clients import this."""

from __future__ import annotations

import numpy as np

from cloakwork.fhe.context import Context
from cloakwork.fhe.files.storage import limbs_last
from cloakwork.fhe.interop.order import Array
from cloakwork.fhe.keys import secrets
from cloakwork.fhe.keys.keys import Keys
from cloakwork.fhe.keys.public import PublicKey, public_key
from cloakwork.fhe.rns.samplers import small, wiped
from cloakwork.tensors.conversion import asarray


def keys_of(context: Context, first: Array, public: PublicKey | None) -> Keys:
    """The keys of a secret from its limb of q_0, [1, N] in our order; `first` is overwritten."""
    with (
        wiped(limbs_last(first)) as values,
        wiped(secrets.coefficients(context.tables.chain(0), values)) as c,
    ):
        coefficients = np.array(c, dtype=np.int64)
    first[...] = 0
    try:
        if public is None:
            basis = context.tables.chain(context.parameters.level)
            with wiped(small(basis, asarray(coefficients.copy()))) as secret:
                public = public_key(context, secret)
        return Keys._restored(public, coefficients)
    finally:
        coefficients[...] = 0
