"""BGV's slots: N integers mod t <-> one polynomial mod t, through the NTT mod t.

The slots are two rows of N / 2.  Slot j of the first row is the polynomial at psi^(5^j), of the
second at psi^-(5^j), psi the primitive 2N-th root of unity mod t that `primitive_root` finds: so
X -> X^(5^r) rotates both rows by r and X -> X^-1 swaps them.  Other libraries' orders have another
root or generator (`exponents`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.errors import EncodeError
from cloakwork.fhe.arguments import numbers
from cloakwork.fhe.bgv.sizes import Sizes, of_coefficients
from cloakwork.fhe.encoding.exponents import SlotOrder, row_exponents
from cloakwork.fhe.encoding.packing import check_axes
from cloakwork.fhe.rns.layout import residues
from cloakwork.fhe.rns.tables import Basis, frozen
from cloakwork.modular.negacyclic import Transform
from cloakwork.tensors.conversion import asarray

Integers = NDArray[np.int64]

# All integers below are exact as floats.
EXACT_FLOATS = 2.0**53


class Batching:
    """The transform mod t with the order of slots."""

    def __init__(self, degree: int, modulus: int, order: SlotOrder = "cloakwork") -> None:
        transform = Transform(degree, (modulus,))
        self.degree, self.modulus = degree, modulus
        self.basis = Basis(
            (modulus,),
            degree,
            frozen(transform.q),
            frozen(transform.psi),
            frozen(transform.psi_inv),
            frozen(transform.n_inv),
            frozen(transform.perm),
        )
        # Where slot j stands in the transform's natural order: exponent 2 i + 1 at i.
        self._positions = (row_exponents(degree, modulus, order) - 1) // 2

    def polynomials(self, slots: Integers, basis: Basis) -> Tensor:
        """[B, N] slots, of any sign -> [B, N, k] in the NTT domain mod q.

        Coefficients are centred around 0.  Only ops are used, so that programs can encode values.
        """
        half, shifted = self.modulus // 2, self._shifted(slots).expand(2, basis.limbs)
        out = residues((slots.shape[0],), self.degree, basis.limbs)
        ops.modsum(shifted, basis.constant(-half), basis.q, out=out)
        return basis.ntt(out, out=out)

    def _shifted(self, slots: Integers) -> Tensor:
        """[B, N] slots -> [B, N, 1]: centred coefficients plus t // 2."""
        placed = np.empty_like(slots)
        placed[..., self._positions] = slots % self.modulus
        found = self.basis.intt(asarray(placed).unsqueeze(2))
        return ops.modsum(found, self.modulus // 2, self.modulus)

    def sizes(self, slots: Integers) -> list[Sizes]:
        """The sizes of the polynomials of [B, N] slots."""
        shifted = _core.unrecorded(lambda: np.asarray(self._shifted(slots)))
        return of_coefficients(shifted.reshape(slots.shape) - self.modulus // 2)

    def slots(self, coefficients: Integers) -> Integers:
        """[B, N] coefficients mod t -> [B, N] slots, centred around 0."""
        values = asarray(coefficients % self.modulus).unsqueeze(2)
        found = np.asarray(self.basis.ntt(values)).reshape(coefficients.shape)
        half = (self.modulus - 1) // 2
        return np.asarray((found[..., self._positions] + half) % self.modulus - half)


def checked_integers(values: ArrayLike, slots: int, batch: bool = False) -> Integers:
    """int64 [n], or [B, n] of a batch, at most as many as slots; EncodeError otherwise.

    Floats are accepted below 2^53, up to which they are exact integers: a list with one float is
    converted to floats as a whole.
    """
    given = numbers(values)
    check_axes(given.shape, slots, batch)
    if given.dtype.kind == "f":
        if not np.isfinite(given).all() or (given != np.rint(given)).any():
            raise EncodeError(
                "values that are not integers; BGV and BFV compute with integers mod t"
            )
        if np.abs(given).max(initial=0.0) >= EXACT_FLOATS:
            raise EncodeError(
                "floats of 2^53 or more, which need not be the integers that were meant; give "
                "integers alone, or reduce them mod t"
            )
    elif given.dtype.kind not in "iub":
        raise EncodeError(
            f"values of dtype {given.dtype}; give integers of 64 bits, or reduce them mod t"
        )
    elif given.dtype == np.uint64 and given.max(initial=0) >= 2**63:
        raise EncodeError("values of 2^63 or more, which int64 does not hold; reduce them mod t")
    return given.astype(np.int64)


def times(data: Tensor, integer: int, basis: Basis) -> Tensor:
    """The residues [..., N, k] times an integer."""
    return ops.modmul(data, basis.constant(integer), basis.q)
