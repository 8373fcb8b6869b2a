"""Running programs by named inputs, with random elements derived from a run's key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from cloakwork import _core, files
from cloakwork.errors import RunError
from cloakwork.lazy import public
from cloakwork.programs.inputs import check_names, paths_of, type_text, types_of
from cloakwork.programs.options import RunOptions, check_options, profile_path
from cloakwork.programs.report import Finding, Report, RunResult
from cloakwork.programs.runnable import Operands, Runnable, UserFunction, no_functions
from cloakwork.sending import Constant
from cloakwork.tensors.conversion import asarray
from cloakwork.zk.instructions.values import Input, as_tensor

KEY_BYTES = 32


@public("cloakwork.zk")
@dataclass(frozen=True)
class Outcome(Constant):
    """The outcome of a run.

    outputs   by name: what `Return` and `Store` name, parts of tuples as "t.0"
    printed   what `Print` showed: labels and tensors, in order
    seeded    whether random elements came from a chosen seed: never publish such a proof
    """

    _stays = "it holds the engine's run: send `outputs`, or the report's `to_json()`"

    outputs: dict[str, _core.Tensor]
    printed: list[tuple[str, _core.Tensor]]
    report: Report
    seeded: bool

    def __getitem__(self, name: str) -> _core.Tensor:
        return self.outputs[name]


class RunnableByName(Runnable):
    """A program with named inputs: written as instructions, or recorded."""

    # Defaults of runs.
    _threads: int | None = None
    _memory_budget: int | None = None
    _seeded = False

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs."""
        return [name for name in self._core.input_names() if name != _core.KEY_INPUT]

    @property
    def outputs(self) -> list[str]:
        """Names of the results."""
        return self._core.output_names()

    @property
    def budget(self) -> dict[str, int]:
        """Bytes that each device may hold, as the program says."""
        return {} if self._memory_budget is None else {"cpu": self._memory_budget}

    def validate(self) -> list[Finding]:
        """All checks of `docs/zk.md`; the warnings.  Raises ProgramError with all findings."""
        return self._core.validated()

    def peak_memory(self, *, threads: int | None = None, device: str = "cpu") -> int:
        """Bytes that a run on a device holds at its peak, known before it; its constants count.

        What the program allocates on disk does not: `outcome.report.memory["file_bytes"]` does.
        """
        own = self._threads if threads is None else threads
        _, peak, constants = self._core.memory(
            threads=own, memory_budget=self._memory_budget, device=device
        )
        return peak + constants

    def run(
        self,
        inputs: Mapping[str, Input] | None = None,
        *,
        seed: int | bytes | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        **options: Unpack[RunOptions],
    ) -> Outcome:
        """Run it.

        inputs     by name: tensors, integers, u64 words, or paths of .npy files of words
        seed       for tests alone: the same random elements in each run.  A blinding seed that is
                   used twice, or known to another party, destroys zero knowledge
        functions  what the program's user functions do, by name: each takes tensors and gives what
                   becomes its result, a tuple where there are several
        options    see `cloakwork.RunOptions`; a memory budget counts instead of what the program
                   says of its devices

        Raises ProgramError, AssertionFailedError, and the errors of all runs.
        """
        check_options(options)
        files.claim([profile_path(options)], paths_of(inputs or {}))
        self.validate()
        key = run_key(seed)
        given = self._bound(inputs or {}, key)
        if options.get("threads") is None:
            options["threads"] = self._threads
        if options.get("memory_budget") is None:
            options["memory_budget"] = self._memory_budget
        user_functions = self._called(functions or {})

        def now() -> RunResult:
            return self._run(given, False, False, options, user_functions)

        # A run that draws random elements leaves nothing in memory.
        blinds = _core.KEY_INPUT in self._core.input_names()
        try:
            result: RunResult = _core.wiped(now) if blinds else now()
        except RunError as error:
            # What the program showed before the step that failed is logged, too.
            self._shown(dict(getattr(error, "outputs_before", ())))
            raise
        finally:
            key.zeroize()
        run, report = result.report._run, result.report
        outputs = dict(zip(self._output_names(run), run.outputs(), strict=True))
        printed = self._shown(outputs)
        results = {name: tensor for name, tensor in outputs.items() if name is not None}
        return Outcome(results, printed, report, self._seeded or seed is not None)

    def operands(
        self, inputs: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Operands:
        """The program's inputs, and a key of random elements if it draws some."""
        self.validate()
        tensors = self._bound(inputs, run_key(None))
        draws = _core.KEY_INPUT in self._core.input_names()
        return Operands(self._core, tensors, self._called(functions), draws)

    def _called(self, functions: Mapping[str, Callable[..., Any]]) -> list[UserFunction]:
        """The program's user functions in its order, ready for the engine."""
        no_functions(functions)
        return []

    def _output_names(self, run: _core.Run) -> list[str | None]:
        return run.output_names()

    def _shown(self, outputs: dict[str | None, _core.Tensor]) -> list[tuple[str, _core.Tensor]]:
        """Takes outputs that are not the user's but shown."""
        return []

    def _bound(self, inputs: Mapping[str, Input], key: _core.Tensor) -> list[_core.Tensor]:
        types = types_of(self._core)
        wanted = {n: type_text(*type_) for n, type_ in types.items() if n != _core.KEY_INPUT}
        # What a program declares and never loads may be given, and is not used.
        unused = {name: "not used" for name in self.inputs if name not in wanted}
        check_names(inputs, wanted | unused, optional=list(unused))
        return [
            key if name == _core.KEY_INPUT else as_tensor(name, inputs[name], *type_)
            for name, type_ in types.items()
        ]


def run_key(seed: int | bytes | None) -> _core.Tensor:
    """The key of random elements: from the system, or from a chosen seed."""
    if seed is None:
        # Over the words' own memory, which is overwritten when it is released; also in a batch.
        words = _core.unrecorded(lambda: _core.random_words((KEY_BYTES // 8,)))
        return asarray(np.asarray(words).view(np.uint8))
    text = seed if isinstance(seed, bytes) else str(seed).encode()
    key = hashlib.blake2b(text, digest_size=KEY_BYTES, person=b"cloakwork seed").digest()
    return asarray(np.frombuffer(key, np.uint8).copy())
