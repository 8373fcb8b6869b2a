"""A secret's coefficients: to and from its file, and checks of a secret and its keys.

All of this runs on kernels that pass the constant-time tests: a check reveals only its result,
which is positive for every secret that `keygen` drew.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.parameters import ERROR_SIGMA
from cloakwork.fhe.rns.key_switching import SwitchingKey, error_weights, halves, message
from cloakwork.fhe.rns.layout import limb_range, part
from cloakwork.fhe.rns.samplers import wiped
from cloakwork.modular.negacyclic import integers
from cloakwork.tensors.conversion import asarray

if TYPE_CHECKING:
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.rns.tables import Basis, Tables

# No error is larger: the sampler's table ends at 13 standard deviations.
_ERROR_MOST = round(20 * ERROR_SIGMA)
# A uniform ternary secret's weight is further from its mean with a chance of about 2^-73.
_WEIGHT_DEVIATIONS = 10.0


def coefficients(basis: Basis, secret: Tensor) -> Tensor:
    """A ternary secret [N, k] in the NTT domain -> its coefficients [N], -1 to 1, i8."""
    first = basis.range(0, 1)
    with (
        wiped(first.intt(secret[..., 0:1].unsqueeze(0))) as found,
        wiped(ops.modsum(found, 1, first.q)) as shifted,
        wiped(ops.subtract(shifted, asarray(1))) as signed,
    ):
        return ops.astype(signed, "int8").reshape(basis.degree)


def is_ternary(sample: Tensor) -> bool:
    """Whether all coefficients [N] are between -1 and 1."""
    return bool(ops.max(sample, 0).item() <= 1 and ops.min(sample, 0).item() >= -1)


def has_plausible_weight(sample: Tensor) -> bool:
    """Whether the number of nonzero coefficients [N] is plausible for a uniform draw.

    Within ten deviations, so that no key of `keygen` is ever refused: 5035 to 5888 of 8192
    coefficients, 532 to 833 of 1024.  In toy rings the test is weak: it accepts 5 or more of 64,
    and all weights except 0 and 1 of 32.
    """
    degree = sample.shape[0]
    with wiped(ops.multiply(sample, sample)) as squares, wiped(ops.sum(squares, 0)) as total:
        weight = total.item()
    allowed = _WEIGHT_DEVIATIONS * sqrt(degree * 2 / 9)
    return bool(abs(weight - degree * 2 / 3) <= allowed and weight > 1)


def opens(context: Context, public: Tensor, secret: Tensor) -> bool:
    """Whether a public key [2, N, k] is an encryption of 0 under a secret [N, k].

    b + a s are then errors, times t under BGV.
    """
    basis = context.tables.chain(context.parameters.level)
    with wiped(ops.modmul(part(public, 1), secret, basis.q)) as mask:
        ops.modsum(mask, part(public, 0), basis.q, out=mask)
        return is_error(basis, mask, context.parameters.error_multiple)


def leads(tables: Tables, key: SwitchingKey, source: Tensor, target: Tensor) -> bool:
    """Whether a key is from one secret to another, [N, special + k] each of the highest level."""
    multiple = tables.parameters.error_multiple
    basis = tables.extended(key.level)
    source, target = (limb_range(secret, 0, basis.limbs) for secret in (source, target))
    b, a = halves(tables, key.data)
    weights = error_weights(tables, key.level)
    over = integers([pow(w, -1, q) for w, q in zip(weights, basis.moduli, strict=True)])
    for number in range(a.shape[0]):
        with (
            wiped(ops.modmul(a[number], target, basis.q)) as found,
            wiped(message(tables, key.level, source, number)) as hidden,
        ):
            ops.modneg(hidden, basis.q, out=hidden)
            ops.modsum(found, hidden, basis.q, out=found)
            ops.modsum(found, b[number], basis.q, out=found)
            ops.modmul(found, over, basis.q, out=found)
            if not is_error(basis, found, multiple):
                return False
    return True


def is_error(basis: Basis, values: Tensor, multiple: int) -> bool:
    """Whether [N, k] in the NTT domain is `multiple` times an error as the sampler draws them.

    Divided by the multiple it must be small in every limb, and the same number.
    """
    over = integers([pow(multiple, -1, q) for q in basis.moduli])
    with wiped(basis.intt(values.unsqueeze(0))) as found:
        ops.modmul(found, over, basis.q, out=found)
        ops.modsum(found, _ERROR_MOST, basis.q, out=found)
        if ops.max(found, (0, 1, 2)).item() > 2 * _ERROR_MOST:
            return False
        with (
            wiped(ops.max(found, 2)) as most,
            wiped(ops.min(found, 2)) as least,
            wiped(ops.subtract(most, least)) as apart,
        ):
            return bool(ops.max(apart, (0, 1)).item() == 0)
