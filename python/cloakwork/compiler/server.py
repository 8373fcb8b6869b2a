"""The server's half of a compiled model: it runs the program, and can hold no secret."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO

from cloakwork.compiler.description import check_names
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.programs.program import Program
from cloakwork.sending import Sendable
from cloakwork.wording import quoted

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from cloakwork._core import Tensor
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.keys.evaluation import EvaluationKeys
    from cloakwork.programs.options import RunOptions


class Server(Sendable):
    """Runs a compiled model on encrypted inputs."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def _packed(self) -> Tensor:
        """The bytes of the program's file: that of the model, if it was loaded from one."""
        return self.program._packed()

    def save(self, path: str | PathLike[str] | BinaryIO) -> None:
        """Write the program's file, `.cwk`; a file that is open in binary gets the same bytes."""
        self.program.save(path)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Server:
        """Undo `to_bytes`, or the server of a model's file; errors as of `cloakwork.load`."""
        return cls(Program.from_bytes(data))

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Server:
        """The server of a pickle."""
        return cls(Program._unpacked(data))

    def __repr__(self) -> str:
        return f"Server(inputs={quoted(self.inputs)}, outputs={quoted(self.program.outputs)})"

    @property
    def inputs(self) -> list[str]:
        """The names of the encrypted inputs."""
        own = self.program._signature.bundles
        return [name for name in self.program.inputs if name not in own]

    def run(
        self,
        encrypted: Mapping[str, Ciphertext],
        evaluation: EvaluationKeys | None = None,
        **options: Any,
    ) -> CiphertextSet:
        """The encrypted results.

        encrypted    what the client's `encrypt` made: a set of ciphertexts by the inputs' names
        evaluation   the client's evaluation keys; by default those that the ciphertexts have
        options      of `Program.run`: threads, device, memory_budget, progress, ...

        Raises ModelError for other names, KeyMismatchError and MissingKeyError for keys, and what
        `Program.run` raises for ciphertexts of other parameters, levels or bounds.
        """
        check_names("inputs", encrypted, set(self.inputs))
        given: dict[str, Any] = dict(encrypted)
        if evaluation is not None:
            given |= dict.fromkeys(self.program._signature.bundles, evaluation)
        run_options: RunOptions = {"profile": False, **options}  # type: ignore[typeddict-item]
        return CiphertextSet(self.program.run(given, **run_options).named)
