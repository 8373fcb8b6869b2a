"""The base of provers: a program of two forms, each traced once."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.once import once
from cloakwork.programs.options import Budget, budgets_of
from cloakwork.programs.program import Program
from cloakwork.programs.tracing import trace
from cloakwork.zk.groth16.algebra import scalars

if TYPE_CHECKING:
    from cloakwork.zk.circom.files import ProvingKey
    from cloakwork.zk.plonk.keys import ProvingKey as PlonkKey


class ProgramProver:
    """A prover whose call computes a proof's parts, for speed or, `frugal`, in little memory."""

    key: ProvingKey | PlonkKey
    frugal: bool

    # Scalars that hide the witness.
    _blinding_count: ClassVar[int]

    @abstractmethod
    def __call__(self, words: Tensor, blinding: Tensor) -> Any:
        """The parts of a proof."""

    @abstractmethod
    def _as_frugal(self) -> Self:
        """The frugal prover of the same key."""

    @property
    @abstractmethod
    def _witness_wires(self) -> int:
        """The length of a witness."""

    @property
    def _kept_bytes(self) -> int:
        """The memory of what is kept between proofs, besides the key."""
        return 0

    def __repr__(self) -> str:
        return f"Prover({self.key!r}{', frugal' if self.frugal else ''})"

    def program(self, *, threads: int | None = None, memory_budget: Budget = None) -> Program:
        """The prover as a program of `words` and `blinding`, traced once.

        It is the frugal program if the peak of the other one exceeds the budget.
        """
        together, devices = budgets_of(memory_budget)
        most = together if devices is None else devices.get("cpu")
        if most is not None:
            peak = self._program.memory(threads=threads)[1]
            if self._kept_bytes + peak > most:
                return self._frugal_program
        return self._program

    @once
    def _program(self) -> Program:
        # A trace uses only the shape and dtype of inputs.
        word = ops.zeros((1, 4), _core.uint64)
        words = ops.broadcast_to(word, (self._witness_wires, 4))
        return trace(self, words, scalars(self.key.curve, [0] * self._blinding_count))

    @once
    def _frugal_program(self) -> Program:
        return (self if self.frugal else self._as_frugal())._program
