"""The data of a ciphertext: residues, level, noise, packing and keys."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import log2
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from numpy.typing import NDArray

from cloakwork._core import Tensor
from cloakwork.errors import (
    EncodeError,
    KeyMismatchError,
    LevelError,
    MissingKeyError,
    ParamError,
)
from cloakwork.fhe.ciphertext.refusals import Refusals
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.places import OnDevices
from cloakwork.fhe.rns.layout import limb_range
from cloakwork.fhe.rns.tables import Basis
from cloakwork.fhe.streams import Stored
from cloakwork.programs import clients
from cloakwork.programs.clients import Client

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.encoding.plaintext import Plaintext
    from cloakwork.fhe.files.container import PathLike


# Estimates that differ by less, in bits, count as equal.
ESTIMATE_SLACK = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CiphertextData(OnDevices, Refusals, Stored):
    """(c0, c1, ...) with c0 + c1 s + ... = message + noise mod q_0 ... q_level, or a batch.

    data         int64 [parts, N, level + 1] or [B, parts, N, level + 1], canonical residues in
                 the NTT domain, bit-reversed; three parts after a product, until an operation
                 needs two (`relinearize`)
    noise        log2 of the estimated standard deviation of the noise in the embedding
    key          the secret's fingerprint
    evaluation   the keys that operators use; `using` replaces them
    seed         of a fresh ciphertext: the seed of its last part
    packing      which values it holds, and in which slots
    claimed      whether its estimates come from a file, and are not trusted

    Ciphertexts never change; operators make new ones.
    """

    context: Context
    data: Tensor
    level: int
    noise: float
    key: str
    packing: Packing
    evaluation: EvaluationKeys | None = None
    seed: bytes | None = None
    claimed: bool = False

    @property
    def device(self) -> str:
        """Where its residues are, and where operations on it run: "cpu", "cuda:0"."""
        return self.data.device

    def to(self, device: str) -> Self:
        """The same ciphertext on another device, with its evaluation keys; see `Tensor.to`.

        Operations on it run there, and give ciphertexts there; plaintexts and numbers follow.
        Decryption takes it from there: secrets stay on the CPU.  The keys are brought there once
        while something there uses them; `keys.evaluation.to(device)` holds them.
        """
        keys = self.evaluation and self.evaluation.to(device)
        if device == self.device and keys is self.evaluation:
            return self
        return replace(self, data=self.data.to(device), evaluation=keys)

    @property
    def parts(self) -> int:
        """Polynomials: 2, or 3 after a product."""
        return self.data.shape[-3]

    @property
    def batch(self) -> int | None:
        """The number of ciphertexts in the batch; None for a single one, which has no such axis."""
        return self.data.shape[0] if self.data.ndim == 4 else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values: (n,), or (count, n) if packed; (B, ...) for a batch."""
        return (*self.data.shape[:-3], *self.packing.shape)

    def with_packing(self, packing: Packing) -> Self:
        """The same slots with another packing, which you know to hold; see `context.packing`.

        After a rotation or `inner_sum`, the packing is all slots until it is changed.
        ParamError for a packing of another number of slots.
        """
        whole = self.context.whole
        if (packing.slots, packing.row) != (whole.slots, whole.row):
            raise ParamError("packing", packing, f"one of {whole.slots} slots")
        return replace(self, packing=packing)

    def _laid(self, op: str, values: NDArray[Any]) -> NDArray[Any]:
        """An operand's values [slots] or [B, slots], placed in the slots of this packing."""
        laid = self.packing.lay(values, op)
        self._check_rows(op, laid.shape[:-1])
        return laid

    def _check_rows(self, op: str, lead: tuple[int, ...]) -> None:
        """ParamError unless the numbers of rows and ciphertexts are equal, or one of them is 1."""
        if lead not in ((), (1,)) and self.batch not in (None, 1, *lead):
            allowed = f"{self.batch} rows of values, or one, to {op} {self.batch} ciphertexts"
            raise ParamError("batch", lead[0], allowed)

    def _check_packing(self, op: str, plaintext: Plaintext) -> None:
        """EncodeError for a plaintext with fewer values or another packing."""
        self._check_rows(op, plaintext.data.shape[:-2])
        found = plaintext.packing
        if found is None or found.is_whole or found == self.packing:
            return
        raise EncodeError(
            f"{op}: a plaintext of {found}; this ciphertext holds {self.packing}: encode as many, "
            f"or a value for each of all {self.context.slots} slots (0 in unused ones)"
        )

    @property
    def basis(self) -> Basis:
        """The moduli of its level, with their transform."""
        return self.context.tables.chain(self.level)

    @property
    def modulus_log2(self) -> float:
        """log2 of the modulus at its level."""
        return log2(self.basis.modulus)

    @property
    def keys(self) -> EvaluationKeys:
        """Its evaluation keys; MissingKeyError if it has none."""
        if self.evaluation is None:
            raise MissingKeyError(
                "this ciphertext came without evaluation keys: ciphertext.using(keys.evaluation)"
            )
        clients.meet(self.evaluation)
        return self.evaluation

    def using(self, evaluation: EvaluationKeys | None) -> Self:
        """The same ciphertext with these evaluation keys; KeyMismatchError if they do not fit."""
        if evaluation is None:
            return replace(self, evaluation=None)
        self.context.check(evaluation, "using")
        if evaluation.key != self.key:
            raise KeyMismatchError(
                "using", "key", self.key, evaluation.key, "take the evaluation keys of its secret"
            )
        return replace(self, evaluation=evaluation)

    @property
    def as_claimed(self) -> Self:
        """The same ciphertext with its estimates marked as not trusted."""
        return replace(self, claimed=True)

    def __deepcopy__(self, memo: object) -> Self:
        """The same ciphertext with residues of its own, which may be written to."""
        own = self.data.moveaxis(-1, -2).copy().moveaxis(-1, -2)
        return replace(self, data=own)

    def seeded(self, seed: bytes) -> Self:
        """The same ciphertext with the seed of its last part."""
        return replace(self, seed=seed)

    def carried(self, example: Ciphertext | None = None) -> Tensor:
        """Its residues, for a program; errors unless it matches the program's example.

        Raises KeyMismatchError for other parameters, LevelError for another level, ScaleError for
        another scale, ParamError for another number of parts, another packing or factor, or for
        more noise or larger values than its estimates were made with.
        """
        if example is not None:
            example.context.check(self, "run")
            if self.packing != example.packing and not example.packing.is_whole:
                allowed = f"{example.packing}, as in the example"
                raise ParamError("packing", self.packing, allowed)
            if example.level != self.level:
                hint = "bring it to the level of the example"
                raise LevelError("run", f"level {example.level}", self.level, hint)
            self._as_traced(example)
        return self.data

    def carrying(self, tensor: Tensor, client: Client | None = None) -> Self:
        """The same ciphertext with other residues; if given, with a client's secret and keys."""
        if client is None:
            return replace(self, data=tensor, seed=None)
        kept = self.evaluation if client.key == self.key else None
        evaluation = client.companions if isinstance(client.companions, EvaluationKeys) else kept
        if evaluation is not None and evaluation.device != tensor.device:
            # Nothing brings keys to a device unasked: operations do, or `to`.
            evaluation = evaluation.home
        return replace(self, data=tensor, seed=None, key=client.key, evaluation=evaluation)

    @property
    def companions(self) -> EvaluationKeys | None:
        """Its evaluation keys, which a program takes in addition."""
        return self.evaluation

    def described(self) -> dict[str, Any]:
        """Everything except its residues, as JSON's types."""
        from cloakwork.fhe.files.storage import described

        return described(self)

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""
        from cloakwork.fhe.files.storage import save_ciphertext

        save_ciphertext(path, self)

    @abstractmethod
    def coefficient_noise(self) -> float:
        """log2 of a bound on the noise of every coefficient, which holds with high probability."""

    def _as_traced(self, example: Ciphertext) -> None:
        """Errors unless the example's parts and noise cover this ciphertext's."""
        if self.parts != example.parts:
            hint = "relinearize both, or neither"
            raise ParamError("parts", self.parts, f"{example.parts}, as in the example; {hint}")
        if self.noise > example.noise + ESTIMATE_SLACK:
            allowed = f"2^{example.noise:.1f} or less; trace with an example as noisy as inputs"
            raise ParamError("noise", f"2^{self.noise:.1f}", allowed)

    def _cut(self, level: int) -> Self:
        """The same message with fewer limbs: a view; scale and noise stay."""
        return replace(self, data=limb_range(self.data, 0, level + 1), level=level, seed=None)

    def _with(self, data: Tensor, **changes: Any) -> Self:
        return replace(self, data=data, seed=None, **changes)

    def _picked(self, key: int | slice) -> Self:
        """One ciphertext of a batch, or a smaller batch."""
        return self._with(self.data[key])

    def __repr__(self) -> str:
        batch = "" if self.batch is None else f"batch={self.batch}, "
        return f"Ciphertext({batch}level={self.level}, parts={self.parts}{self._state()})"

    @abstractmethod
    def _state(self) -> str: ...
