"""The base of all schemes' contexts: parameters, tables, keys, automorphisms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork._core import Tensor
from cloakwork.errors import KeyMismatchError, LevelError, ParamError
from cloakwork.fhe.arguments import whole_number
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ciphertext.array_operators import Rotations
from cloakwork.fhe.encoding.exponents import rotation_exponents
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.tables import Tables
from cloakwork.fhe.streams import made_of
from cloakwork.lazy import public
from cloakwork.once import once
from cloakwork.sending import PLACE, Sendable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork.fhe.files.container import PathLike
    from cloakwork.fhe.keys.keys import Keys

Levels = Literal["auto", "manual"]


class OfContext(Protocol):
    """Whatever is made for a context."""

    @property
    def context(self) -> Context:
        """Its parameters and tables."""


@public("cloakwork.fhe")
class Context(Sendable, ABC):
    """A scheme under certain parameters; made by `fhe.ckks`, `fhe.bgv` and `fhe.bfv`.

    Create it before tracing, so that a traced program holds its tables as constants: they take
    2 N * 8 bytes per modulus.
    """

    def __init__(self, parameters: Parameters, levels: Levels) -> None:
        if levels not in ("auto", "manual"):
            raise ParamError("levels", levels, '"auto" or "manual"')
        self.parameters, self.levels = parameters, levels
        self.tables = Tables(parameters)

    @property
    def slots(self) -> int:
        """The number of values in a plaintext."""
        return self.parameters.slots

    @once
    def whole(self) -> Packing:
        """The packing with a value in every slot."""
        return self.packing(self.slots)

    def packing(
        self,
        length: int,
        *,
        period: int | None = None,
        count: int | None = None,
        tiled: bool = False,
    ) -> Packing:
        """The packing of `length` values: at the start, or as specified; see `fhe.Packing`.

        Raises ParamError if the values do not fit into the slots.
        """
        row = self.parameters.degree // 2
        period = self.slots if period is None else period
        return Packing(self.slots, row, length, period, count, tiled)

    @property
    def automatic(self) -> bool:
        """Whether operands are brought to one level and scale automatically."""
        return self.levels == "auto"

    def describe(self) -> str:
        """The parameters in words, with their security and their costs."""
        return self.parameters.describe()

    def keygen(
        self,
        rotations: Rotations = (),
        *,
        conjugation: bool = True,
        relinearization: bool = True,
        level: int | None = None,
    ) -> Keys:
        """A fresh secret with its public key and keys for products, rotations and conjugation.

        rotations   steps to the left; rotations by sums of them are possible, too, with one key
                    switch for each; "all": powers of two, which reach every step; {steps: level}
                    for keys that are used at this level and below
        level       of the other keys; by default the highest.  A key of a lower level is smaller,
                    see `Parameters.key_bytes`, and ciphertexts above it cannot use it
        """
        # Servers, which have no secrets, do not load the class that holds one.
        from cloakwork.fhe.keys.keys import Keys

        keys = Keys(self)
        keys.add(rotations, conjugation=conjugation, relinearization=relinearization, level=level)
        return keys

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open, without tables; `fhe.load` reads it."""
        from cloakwork.fhe.files.storage import save_context

        save_context(path, self)

    def _packed(self) -> bytes:
        """The bytes of its file, which holds the parameters; tables are computed again."""
        stream = BytesIO()
        self.save(stream)
        return stream.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, *, insecure: bool = False) -> Self:
        """Undo `to_bytes`; errors as of `fhe.load`.  It is the same object while that is held."""
        return made_of(cls, data, insecure)

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Self:
        """The context of a pickle; parameters below 128 bits give an InsecureWarning."""
        return made_of(cls, data, True, PLACE)

    @classmethod
    def _unpickled(cls, *arguments: Any) -> Context:
        """Called by pickles of earlier versions."""
        from cloakwork.fhe.schemes import context_of

        return context_of(*arguments)

    @abstractmethod
    def encode(
        self,
        values: Any,
        *,
        level: int | None = None,
        scale: float | None = None,
        batch: bool = False,
    ) -> Plaintext:
        """Encode values, one per slot, as a plaintext; [B, n] only as a batch."""

    @abstractmethod
    def decode(self, plaintext: Plaintext) -> NDArray[Any]:
        """The values of all slots."""

    def message(self, plaintext: Plaintext) -> Tensor:
        """The residues that a fresh ciphertext hides, beside its error."""
        return plaintext.data

    @abstractmethod
    def ciphertext(
        self,
        plaintext: Plaintext,
        data: Tensor,
        key: str,
        noise: float,
        bound: Stated | None = None,
    ) -> Ciphertext:
        """A fresh ciphertext around its residues."""

    @abstractmethod
    def decrypted(self, ciphertext: Ciphertext, message: Tensor) -> Plaintext:
        """The plaintext around the residues of a ciphertext's message."""

    @abstractmethod
    def opened(self, ciphertext: Ciphertext, plaintext: Plaintext) -> NDArray[Any]:
        """The values of a decryption; NoiseError if they may be wrong.

        This checks the ciphertext's estimate, and the size of the coefficients relative to the
        modulus.
        """

    def shortened(self, ciphertext: Ciphertext) -> Ciphertext:
        """The ciphertext without the limbs that its decryption does not need."""
        return ciphertext

    def plaintext(
        self,
        values: Any,
        *,
        level: int | None = None,
        scale: float | None = None,
        batch: bool = False,
    ) -> Plaintext:
        """The plaintext of values; a plaintext of this context is returned unchanged.

        Raises ParamError for options with a plaintext, which is already encoded.
        """
        if not isinstance(values, Plaintext):
            return self.encode(values, level=level, scale=scale, batch=batch)
        given = {"level": level, "scale": scale, "batch": batch or None}
        for name, option in given.items():
            if option is not None:
                raise ParamError(name, option, "none with a plaintext, which is encoded already")
        self.check(values, "encrypt")
        return values

    def level_of(self, level: int | None, op: str) -> int:
        """A valid level, by default that of fresh ciphertexts; LevelError for others."""
        top = self.parameters.level
        if level is None:
            return self.parameters.fresh_level
        level = whole_number("level", level, f"a level from 0 to {top}")
        if not 0 <= level <= top:
            raise LevelError(op, f"a level from 0 to {top}", level, "choose one of the chain's")
        return level

    def check(self, other: OfContext, op: str) -> None:
        """KeyMismatchError unless the other was made under the same parameters."""
        if other.context is self:
            return
        mine, theirs = self.parameters.fingerprint, other.context.parameters.fingerprint
        if mine != theirs:
            raise KeyMismatchError(
                op, "parameters", mine, theirs, "operands must come from one set of parameters"
            )

    def element(self, power: int) -> int:
        """The Galois element: an odd number mod 2 N."""
        return power % (2 * self.parameters.degree)

    def rotation_element(self, steps: int) -> int:
        """The element that rotates slots by `steps` to the left.

        5^steps mod 2 N; 3^steps in SEAL's order of slots.
        """
        degree = self.parameters.degree
        return pow(self.parameters.generator, steps % (degree // 2), 2 * degree)

    @property
    def rotation_elements(self) -> NDArray[np.int64]:
        """[N / 2]: the element of a rotation by each number of steps."""
        return rotation_exponents(self.parameters.degree, self.parameters.generator)

    def rotation_steps(self, element: int) -> int | None:
        """The steps by which an element rotates; None if it is not a rotation."""
        found = np.flatnonzero(self.rotation_elements == element)
        return int(found[0]) if found.size else None

    def __repr__(self) -> str:
        parameters = self.parameters
        name = parameters.scheme
        return f"fhe.{name}(degree={parameters.degree}, limbs={len(parameters.moduli)})"
