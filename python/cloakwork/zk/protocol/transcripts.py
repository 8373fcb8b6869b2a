"""Fiat-Shamir transcripts, byte for byte those of halo2."""

from __future__ import annotations

from typing import Literal

from cloakwork import _core, ops
from cloakwork._core import DType, Tensor
from cloakwork.errors import DTypeError, ParamError
from cloakwork.fields.elements import is_point, scalar_field
from cloakwork.fields.parameters import MODULI
from cloakwork.lazy import public
from cloakwork.tensors.conversion import DTypeLike

_HASHES = {"blake2b": 0, "keccak256": 1}
_HEAD_BYTES = 16
# Room for a small proof; a transcript grows as needed.
_CAPACITY_BYTES = 4096


@public("cloakwork.zk")
class Transcript:
    """The messages of a prover so far, and the challenges derived from them.

    `dtype` is the field of the challenges.  With `hash` "blake2b" challenges are those of halo2's
    `Blake2bWrite`, with "keccak256" those of `Keccak256Write`; scalars and points go into it as
    canonical bytes.  It works eagerly and in traced programs alike.

    >>> from cloakwork import zk
    >>> transcript = zk.Transcript("bn254.fr")
    >>> transcript.write(5)
    >>> int(transcript.challenge()) % 10**8
    70827898
    >>> len(transcript.proof())
    32
    """

    def __init__(
        self,
        dtype: DTypeLike = "bn254.fr",
        *,
        hash: Literal["blake2b", "keccak256"] = "blake2b",
    ) -> None:
        self._dtype = _core.dtype(dtype)
        if self._dtype.name not in MODULI:
            raise DTypeError("dtype", self._dtype, f"a prime field: {', '.join(MODULI)}")
        if hash not in _HASHES:
            raise ParamError("hash", hash, " or ".join(_HASHES))
        self._hash = hash
        self._capacity = _CAPACITY_BYTES
        self._absorbed = self._proven = 0
        self._state = ops.transcript_new(self._capacity)

    @property
    def dtype(self) -> DType:
        """The field of the challenges."""
        return self._dtype

    @property
    def hash(self) -> str:
        """The hash: "blake2b" or "keccak256"."""
        return self._hash

    @property
    def state(self) -> Tensor:
        """The transcript as a tensor of bytes, as `ops.transcript_new` describes it."""
        return self._state

    def absorb(self, value: Tensor | int) -> None:
        """Absorb scalars or points that the verifier knows, in row-major order.

        An int is a scalar of the transcript's field.  ParamError for one outside of [0, prime),
        which would be absorbed as another number; DTypeError for elements of another field and
        points of another curve; OpError for points at infinity.
        """
        element = self._element(value)
        self._reserve(element.size * (1 + element.itemsize))
        ops.absorb(self._state, element, out=self._state)
        self._absorbed += element.size * (1 + element.itemsize)

    def write(self, value: Tensor | int) -> None:
        """Absorb scalars or points, and append them to the proof; points are compressed."""
        element = self._element(value)
        self._reserve(element.size * (1 + element.itemsize))
        ops.absorb_write(self._state, element, out=self._state)
        self._absorbed += element.size * (1 + element.itemsize)
        self._proven += element.size * element.itemsize // (2 if is_point(element.dtype) else 1)

    def challenge(self) -> Tensor:
        """The next challenge: an element of the field."""
        self._reserve(1)
        ops.transcript_squeeze(self._state, out=self._state)
        self._absorbed += 1
        return ops.challenge(self._state, _HASHES[self._hash], self._dtype)

    def proof(self) -> Tensor:
        """The bytes of the proof: everything written, in order."""
        return ops.transcript_finish(self._state, self._proven)

    def copy(self) -> Transcript:
        """An independent transcript that continues from here."""
        twin = Transcript.__new__(Transcript)
        twin.__dict__.update(self.__dict__)
        twin._state = ops.copy(self._state)
        return twin

    def __repr__(self) -> str:
        return (
            f"Transcript({str(self._dtype)!r}, hash={self._hash!r}, "
            f"absorbed={self._absorbed} bytes, proof={self._proven} bytes)"
        )

    def _element(self, value: Tensor | int) -> Tensor:
        prime = MODULI[self._dtype.name]
        if not isinstance(value, Tensor):
            if not 0 <= value < prime:
                raise ParamError("value", value, f"an integer from 0 to {prime - 1}")
            return _core.field_scalar(value, self._dtype)
        own = scalar_field(value.dtype) if is_point(value.dtype) else value.dtype
        if own != self._dtype:
            allowed = f"elements of {self._dtype}, or points of its curve"
            raise DTypeError("value", value.dtype, allowed)
        return value

    def _reserve(self, more: int) -> None:
        """Move to a larger tensor if that many bytes do not fit."""
        needed = self._absorbed + more
        if needed <= self._capacity:
            return
        capacity = max(needed, 2 * self._capacity)
        state = ops.transcript_new(capacity)
        log, proof = _HEAD_BYTES + self._absorbed, _HEAD_BYTES + self._capacity
        state[:log] = self._state[:log]
        start = _HEAD_BYTES + capacity
        state[start : start + self._proven] = self._state[proof : proof + self._proven]
        self._state, self._capacity = state, capacity
