"""The server's half of a compiled model: it runs the program, and can hold no secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cloakwork.compiler.description import check_names
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.wording import quoted

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.keys.evaluation import EvaluationKeys
    from cloakwork.programs.options import RunOptions
    from cloakwork.programs.program import Program


class Server:
    """Runs a compiled model on encrypted inputs."""

    def __init__(self, program: Program) -> None:
        self.program = program

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
