"""The order of slots in Cloakwork and in other libraries.

It matters where a *polynomial* goes from one library to another, as when a ciphertext is
converted; the libraries' own encoders all put values in order.  A context with the `slot_order` of
a library has its slots where that library has them, and rotates them with its automorphisms.

| | CKKS slot j | BGV (BFV) slot j of the rows | root mod t |
|---|---|---|---|
| here | zeta^(5^j) | psi^(5^j), psi^-(5^j) | the one `primitive_root` finds |
| Lattigo | zeta^(5^j) | psi^(5^j), psi^-(5^j) | g^((t - 1) / 2 N), g the least generator |
| OpenFHE | zeta^(5^j) | psi^(5^j), psi^-(5^j), rows one after the other | the least |
| SEAL | zeta^(3^j) | psi^(3^j), psi^-(3^j) | the least |

zeta = exp(i pi / N).  A rotation by r moves slot j + r to slot j, here and in all of them; SEAL's
is another automorphism.  Fewer values than slots: here and in SEAL the others are 0; OpenFHE and
Lattigo may repeat n values all over, which is a sparser polynomial (`np.tile` does the same).
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import ParamError
from cloakwork.fhe.context import Context
from cloakwork.fhe.encoding.exponents import GENERATORS, rotation_exponents, row_exponents

Library = Literal["seal", "openfhe", "lattigo"]


def to_library(context: Context, slots: ArrayLike, library: Library) -> NDArray[Any]:
    """The values that `library` decodes from a polynomial with these slots here: [..., slots].

    Raises ParamError for a library that is not known, or slots that are not all there.

    >>> from cloakwork import fhe
    >>> context = fhe.ckks(16, [40, 30], insecure=True)
    >>> fhe.to_library(context, [1, 2, 3, 4, 5, 6, 7, 8], "seal").real
    array([1., 4., 7., 2., 5., 8., 3., 6.])
    """
    given = _checked(context, slots)
    index, mirrored = _order(context, library)
    if context.parameters.scheme == "ckks":
        both = np.concatenate((given, np.conj(given)), axis=-1).astype(np.complex128)
        return np.asarray(both[..., index + mirrored * context.slots])
    return np.asarray(given[..., index])


def from_library(context: Context, slots: ArrayLike, library: Library) -> NDArray[Any]:
    """The inverse of `to_library`: the slots here of a polynomial that `library` decodes so."""
    given = _checked(context, slots)
    index, mirrored = _order(context, library)
    if context.parameters.scheme == "ckks":
        given = np.where(mirrored, np.conj(given), given).astype(np.complex128)
    found = np.empty_like(given)
    found[..., index] = given
    return found


def _checked(context: Context, slots: ArrayLike) -> NDArray[Any]:
    given = np.asarray(slots)
    if given.ndim == 0 or given.shape[-1] != context.slots:
        raise ParamError("slots", given.shape, f"all {context.slots} along the last axis")
    return given


def _order(context: Context, library: Library) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Which slot here each of theirs is, and whether it is the conjugate (CKKS alone)."""
    if library not in get_args(Library):
        raise ParamError("library", library, f"one of {', '.join(get_args(Library))}")
    own, degree = context.parameters, context.parameters.degree
    if own.scheme == "ckks":
        mine, theirs = context.rotation_elements, rotation_exponents(degree, GENERATORS[library])
        mine = np.concatenate((mine, 2 * degree - mine))
    else:
        mine = row_exponents(degree, own.plain_modulus, own.slot_order)
        theirs = row_exponents(degree, own.plain_modulus, library)
    slots = np.empty(2 * degree, dtype=np.int64)
    slots[mine] = np.arange(degree)
    places = slots[theirs]
    return places % context.slots, places >= context.slots
