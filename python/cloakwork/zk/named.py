"""Running programs whose inputs have names, and whose random elements follow from a run's key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from cloakwork import _core
from cloakwork.arrays import asarray
from cloakwork.errors import ParamError, ProgramError
from cloakwork.report import Finding, Report, RunResult
from cloakwork.runs import Budget, Runnable, RunOptions, UserFunction
from cloakwork.zk.values import Input, as_tensor

KEY_BYTES = 32


@dataclass(frozen=True)
class Outcome:
    """What a run gave.

    outputs   by name: what `Return` and `Store` name, parts of tuples as "t.0"
    printed   what `Print` showed: labels and tensors, in order
    seeded    whether random elements came from a seed that somebody chose: never prove so
    """

    outputs: dict[str, _core.Tensor]
    printed: list[tuple[str, _core.Tensor]]
    report: Report
    seeded: bool

    def __getitem__(self, name: str) -> _core.Tensor:
        return self.outputs[name]


class Named(Runnable):
    """A program that is run on inputs by name: written as instructions, or recorded."""

    # What runs take that are told nothing else.
    _threads: int | None = None
    _memory_budget: int | None = None
    _seeded = False

    def _declared(self) -> list[tuple[str, str, list[int]]]:
        """Names, dtypes and shapes of what the engine wants, in its order; one may be the key."""
        return self._core.input_types()

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs."""
        return [name for name, _, _ in self._declared() if name != _core.KEY_INPUT]

    @property
    def budget(self) -> dict[str, int]:
        """Bytes that each device may hold, as the program says."""
        return {} if self._memory_budget is None else {"cpu": self._memory_budget}

    def validate(self) -> list[Finding]:
        """All checks of `docs/zk.md`; the warnings.  Raises ProgramError with all findings."""
        findings = self.check()
        if any(finding.severity == "error" for finding in findings):
            raise ProgramError(findings)
        return findings

    def peak_memory(self, *, workers: int | None = None) -> int:
        """Bytes that a run holds at its peak, known before it runs; its constants count.

        What the program allocates on disk does not: `outcome.report.memory["file_bytes"]` does.
        """
        threads = self._threads if workers is None else workers
        _, peak, constants = self._core.memory(threads=threads, memory_budget=self._memory_budget)
        return peak + constants

    def run(  # noqa: PLR0913 (one parameter an option)
        self,
        inputs: Mapping[str, Input] | None = None,
        *,
        workers: int | None = None,
        seed: int | bytes | None = None,
        budget: Budget = None,
        trace: str | PathLike[str] | None = None,
        profile: bool = True,
        spill_dir: str | PathLike[str] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Outcome:
        """Run it.

        inputs    by name: tensors, integers, u64 words, or paths of .npy files of words
        workers   None: CLOAKWORK_THREADS, or one a core; never changes a result
        seed      for tests alone: the same random elements in each run.  A blinding seed that is
                  used twice, or that somebody knows, destroys zero knowledge
        budget    bytes, or text such as "8GiB", for all devices together, or such by device, which
                  counts instead of what the program says of that device.  Tensors of the host wait
                  on disk; what does not fit so is refused
        trace     write a trace that Perfetto and Chrome open to this path
        spill_dir  where tensors wait on disk under a budget; see `cloakwork.RunOptions`
        functions  what the program's user functions do, by name: each takes tensors and gives what
                  becomes its result, a tuple where there are several

        Raises ProgramError, AssertionFailedError, and what a run of any program raises.
        """
        self.validate()
        key = run_key(seed)
        given = self._bound(inputs or {}, key)
        threads = self._threads if workers is None else workers
        options: RunOptions = {"threads": threads, "profile": profile, "trace": trace}
        options |= {
            "memory_budget": self._memory_budget if budget is None else budget,
            "spill_dir": spill_dir,
        }
        called = self._called(functions or {})

        def now() -> RunResult:
            return self._run(given, False, False, options, called)

        # What blinds leaves nothing of itself, nor of what it hides.
        blinds = any(name == _core.KEY_INPUT for name, _, _ in self._declared())
        try:
            result: RunResult = _core.wiped(now) if blinds else now()
        finally:
            key.zeroize()
        run, report = result.report._run, result.report
        outputs = dict(zip(self._output_names(run), run.outputs(), strict=True))
        printed = self._notice(outputs)
        named = {name: tensor for name, tensor in outputs.items() if name is not None}
        return Outcome(named, printed, report, self._seeded or seed is not None)

    def _called(self, functions: Mapping[str, Callable[..., Any]]) -> list[UserFunction]:
        """The program's user functions in its order, ready for the engine."""
        if functions:
            raise ParamError(
                "functions", min(functions), "none: the program calls no user function"
            )
        return []

    def _output_names(self, run: _core.Run) -> list[str | None]:
        return run.output_names()

    def _notice(self, outputs: dict[str | None, _core.Tensor]) -> list[tuple[str, _core.Tensor]]:
        """Takes outputs that are not the user's, and gives what of them is to be shown."""
        return []

    def _bound(self, inputs: Mapping[str, Input], key: _core.Tensor) -> list[_core.Tensor]:
        declared = self._declared()
        wanted = [name for name, _, _ in declared if name != _core.KEY_INPUT]
        if unknown := inputs.keys() - set(self.inputs):
            raise ParamError("inputs", min(unknown), ", ".join(self.inputs) or "no inputs")
        if missing := [name for name in wanted if name not in inputs]:
            raise ParamError("inputs", f"no {missing[0]}", f"each of {', '.join(wanted)}")
        tensors = []
        for name, dtype, shape in declared:
            if name == _core.KEY_INPUT:
                tensors.append(key)
            else:
                tensors.append(as_tensor(name, inputs[name], dtype, tuple(shape)))
        return tensors


def run_key(seed: int | bytes | None) -> _core.Tensor:
    """The key of random elements: from the system, or from a seed that somebody chose."""
    if seed is None:
        # Over the words' own memory, which is overwritten when it is released; also in a batch.
        words = _core.unrecorded(lambda: _core.random_words((KEY_BYTES // 8,)))
        return asarray(np.asarray(words).view(np.uint8))
    text = seed if isinstance(seed, bytes) else str(seed).encode()
    key = hashlib.blake2b(text, digest_size=KEY_BYTES, person=b"cloakwork seed").digest()
    return asarray(np.frombuffer(key, np.uint8).copy())
