"""The base of BGV and BFV contexts: encoding and decoding of integers mod t."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import NoiseError, ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.bgv import batching
from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ciphertext.data import ESTIMATE_SLACK
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.encoding.packing import packing_of
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns import coefficients

# A coefficient that wrapped around and leaves a bit of room is at least 1.5 times as large as its
# bound: the bound is exceeded with a chance of 2^-40, 1.5 times the bound with one below 2^-80.
_LEAST_ROOM = 1.0


class IntegerContext(Context):
    """BGV or BFV under certain parameters."""

    def __init__(self, parameters: Parameters, levels: Levels) -> None:
        super().__init__(parameters, levels)
        self.batching = batching.Batching(
            parameters.degree, parameters.plain_modulus, parameters.slot_order
        )

    @property
    def plain_modulus(self) -> int:
        """T: slots are integers mod t."""
        return self.parameters.plain_modulus

    def encode(
        self,
        values: ArrayLike,
        *,
        level: int | None = None,
        scale: float | None = None,
        factor: int = 1,
        batch: bool = False,
    ) -> Plaintext:
        """Encode integers mod t, one per slot, in two rows of N / 2.

        Shape    [n], or with batch=True [B, n], n <= N (the other slots hold 0)
                 -> data [N, level + 1] or [B, N, level + 1]
        factor   1 to t - 1: the values are encoded times this factor

        Raises EncodeError for too many values or values that are not integers, ParamError for
        another factor.
        """
        if scale is not None:
            raise ParamError("scale", scale, f"no scale: {self.parameters.scheme.upper()} has none")
        factor = whole_number("factor", factor, f"1 to {self.plain_modulus - 1}")
        if not 1 <= factor < self.plain_modulus:
            raise ParamError("factor", factor, f"1 to {self.plain_modulus - 1}")
        level = self.level_of(level, "encode")
        given = batching.checked_integers(values, self.slots, batch)
        slots = np.zeros((*given.shape[:-1], self.slots), dtype=np.int64)
        slots[..., : given.shape[-1]] = given % self.plain_modulus * factor
        basis = self.tables.chain(level)
        data = self.batching.polynomials(slots.reshape(-1, self.slots), basis)
        data = data if given.ndim == 2 else data.squeeze(0)
        first, *others = self.batching.sizes(slots.reshape(-1, self.slots))
        sizes, packing = first.most(*others), packing_of(values, given, self.whole)
        return Plaintext(self, data, level, factor=factor, sizes=sizes, packing=packing)

    def decode(self, plaintext: Plaintext) -> NDArray[np.int64]:
        """Slots [N] or [B, N] of a plaintext, from -t / 2 to t / 2."""
        return self._slots(self._digits(plaintext), plaintext)

    def opened(self, ciphertext: Ciphertext, plaintext: Plaintext) -> NDArray[np.int64]:
        """The slots of a decryption; NoiseError if they may be arbitrary.

        The coefficients must be as small as the estimate says: if a file states a wrong estimate, a
        coefficient that wrapped around passes with a chance of 2^-budget.  They must also leave
        `_LEAST_ROOM`.
        """
        assert isinstance(ciphertext, IntegerCiphertext)
        ciphertext.check_room("decrypt", ciphertext.sizes)
        found, basis = self._digits(plaintext), self.tables.chain(plaintext.level)
        room = coefficients.room_log2(coefficients.centred(found, basis), basis)
        if room < max(ciphertext.noise_budget() - ESTIMATE_SLACK, _LEAST_ROOM):
            hint = "begin with a longer modulus chain; keys.noise_budget measures, for you alone"
            what = "the measured noise exceeds the ciphertext's estimate, or leaves no room"
            raise NoiseError("decrypt", None, hint, what)
        return self._slots(found, plaintext)

    def _digits(self, plaintext: Plaintext) -> NDArray[np.int64]:
        data = plaintext.data
        return coefficients.digits(data if data.ndim == 3 else data.unsqueeze(0), self.tables)

    def _slots(self, digits: NDArray[np.int64], plaintext: Plaintext) -> NDArray[np.int64]:
        t, basis = self.plain_modulus, self.tables.chain(plaintext.level)
        found = coefficients.modulo(digits, basis, t) * pow(plaintext.factor, -1, t) % t
        slots = self.batching.slots(found)
        return slots if plaintext.data.ndim == 3 else np.asarray(slots[0])

    def _no_bound(self, bound: Stated | None) -> None:
        if bound is not None:
            name = self.parameters.scheme.upper()
            raise ParamError("bound", bound, f"no bound: {name}'s values are exact")
