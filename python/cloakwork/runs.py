"""What programs and transcripts have in common: checking, inspecting, running."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TypedDict

from cloakwork import _core, files
from cloakwork.errors import ParamError
from cloakwork.report import Finding, Inspection, PassResult, RunResult

_UNITS = {
    unit: base**power
    for base, suffix in ((1000, "B"), (1024, "iB"))
    for power, letter in enumerate(("", "K", "M", "G", "T"))
    for unit in (letter + suffix,)
}
_MOST_BYTES = 2**64 - 1
_SEEDS = 2**64
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


# Bytes or text of all devices together, or of single devices.
Budget = int | str | Mapping[str, int | str] | None


# A user function's name, and what takes tensors and gives a list of them.
UserFunction = tuple[str, Callable[..., list[_core.Tensor]]]


class RunOptions(TypedDict, total=False):
    """How to run.

    device          "cpu"
    threads         None: CLOAKWORK_THREADS, or one a core; never changes a result
    memory_budget   bytes, or text such as "2GiB": of a program that needs more at its peak, tensors
                    that wait long wait in a file; if that is not enough, it is refused.
                    {"cpu": "2GiB", "gpu:0": "1GiB"} says it of single devices, of this machine or
                    of the program
    spill_dir       the folder where that file is made; by default where the system keeps temporary
                    files.  It has no name, its owner alone can read it, and it is gone after the
                    run; what it holds is not encrypted, secrets neither
    profile         record each step's time (on by default)
    trace           write a trace that Perfetto and Chrome open to this path
    progress        called now and then with the steps done and the steps there are
    schedule_seed   run tasks in a random order that follows from this number, which no result
                    depends on: a test
    optimize        let passes clean the program first (on by default; docs/passes.md): what is
                    computed twice is computed once.  Results, errors and the numbers of steps are
                    the same.  Never with bisect, nor on secret tensors
    """

    device: str
    threads: int | None
    memory_budget: Budget
    profile: bool
    trace: str | PathLike[str] | None
    progress: Callable[[int, int], object] | None
    schedule_seed: int | None
    spill_dir: str | PathLike[str] | None
    optimize: bool


def bytes_of(amount: int | str | None) -> int | None:
    """Bytes of an amount such as 4096, "512MiB" or "2GB".

    >>> bytes_of("1.5KiB")
    1536
    """
    if amount is None:
        return None
    from fractions import Fraction

    match = _AMOUNT.fullmatch(str(amount))
    unit = _UNITS.get(match[2] or "B") if match else None
    # Of bytes there are no parts.
    if match is None or unit is None or ("." in match[1] and not match[2]):
        raise ParamError("memory_budget", amount, "bytes, or a number with a unit such as 2GiB")
    number = Fraction(match[1]) * unit
    if number > _MOST_BYTES:
        raise ParamError("memory_budget", amount, "less than 16 EiB")
    return int(number)


def budgets_of(budget: Budget) -> tuple[int | None, dict[str, int] | None]:
    """The most of all devices together in bytes, and of single devices."""
    if not isinstance(budget, Mapping):
        return bytes_of(budget), None
    amounts = {device: bytes_of(amount) for device, amount in budget.items()}
    for device, amount in amounts.items():
        if amount is None:
            raise ParamError("memory_budget", f"{device}: None", "bytes, or no entry of the device")
    return None, {device: amount for device, amount in amounts.items() if amount is not None}


def _seed_of(seed: int | None) -> int | None:
    if seed is not None and not 0 <= seed < _SEEDS:
        raise ParamError("schedule_seed", seed, "a number below 2^64")
    return seed


# What options were called elsewhere, and are called everywhere.
_RENAMED = {"workers": "threads", "budget": "memory_budget"}


def check_options(options: RunOptions) -> None:
    """Refuse options that cannot act, before any work.

    TypeError for one that there is not, which says what an old name is now; ParamError for a folder
    that there is not.
    """
    for name in options.keys() - RunOptions.__annotations__.keys():
        known = ", ".join(RunOptions.__annotations__)
        instead = f"it is called {_RENAMED[name]}" if name in _RENAMED else f"there are {known}"
        raise TypeError(f"run() has no option {name}; {instead}")
    check_folder(options.get("spill_dir"))


def check_folder(spill_dir: str | PathLike[str] | None) -> None:
    """ParamError unless tensors may wait there, or nobody says where."""
    if spill_dir is not None and not Path(files.name_of(spill_dir, "spill_dir")).is_dir():
        raise ParamError("spill_dir", spill_dir, "a folder that is there")


class Runnable:
    """A program in the engine's hands."""

    # The files that it was loaded from and reads, which no run writes to.
    sources: tuple[str, ...] = ()

    def __init__(self, core: _core.Program) -> None:
        self._core = core

    def check(self) -> list[Finding]:
        """Everything that is wrong or odd, in the order of steps; nothing is run."""
        return self._core.findings()

    def inspect(self, *, threads: int | None = None, optimize: bool = True) -> Inspection:
        """What it consists of and what a run needs; ProgramError if it has errors."""
        return Inspection.of(self._core.inspect(threads=threads, optimize=optimize))

    def passes(self) -> list[PassResult]:
        """What each pass makes of it, one behind the other; first comes the program as it is."""
        text, passes = self._core.passes()
        results = [PassResult("as written", "", {}, text)]
        for name, does, removed, after in passes:
            results.append(PassResult(name, does, removed, after or results[-1].text))
        return results

    def memory(
        self, *, threads: int | None = None, memory_budget: Budget = None, optimize: bool = True
    ) -> tuple[str, int]:
        """What a run needs, in words and as bytes at its peak.

        Under a budget below it, what it needs with tensors that wait long in a file: that file's
        size and what is written and read stand at the end.  Raises MemoryBudgetError if that
        exceeds the budget, too.
        """
        total, devices = self._budgets(memory_budget)
        return self._core.memory(threads, total, devices, optimize)[:2]

    def _budgets(self, budget: Budget) -> tuple[int | None, dict[str, int] | None]:
        """`budgets_of`; ParamError for a device that no run of this program uses."""
        together, single = budgets_of(budget)
        if single is not None:
            devices = self._devices()
            if unknown := single.keys() - devices:
                known = f"a device that a run uses: {', '.join(sorted(devices))}"
                raise ParamError("memory_budget", min(unknown), known)
        return together, single

    def _devices(self) -> set[str]:
        """Where a run may hold tensors: on this machine, and where the program says."""
        return {"disk", *(device["name"] for device in _core.devices())}

    def text(self) -> str:
        """The text form, one step a line."""
        return self._core.text()

    def plan_text(self, *, threads: int | None = None, optimize: bool = True) -> str:
        """The plan, one kernel call a line."""
        return self._core.plan_text(threads=threads, optimize=optimize)

    def _run(
        self, inputs: Sequence[_core.Tensor], verify: bool, bisect: bool,
        options: RunOptions, functions: Sequence[UserFunction] = (),
        core: _core.Program | None = None,
    ) -> RunResult:  # fmt: skip
        """Run the program, or `core` in its place."""
        check_options(options)
        trace = options.get("trace")
        files.claim([trace], self.sources)
        total, devices = self._budgets(options.get("memory_budget"))
        core = self._core if core is None else core
        run = core.run(
            list(inputs),
            device=options.get("device", "cpu"),
            threads=options.get("threads"),
            memory_budget=total,
            device_budgets=devices,
            verify=verify,
            bisect=bisect,
            profile=options.get("profile", True) or trace is not None,
            progress=options.get("progress"),
            schedule_seed=_seed_of(options.get("schedule_seed")),
            spill_dir=options.get("spill_dir"),
            functions=list(functions),
            optimize=options.get("optimize", True),
        )
        if trace is not None:
            run.write_trace(fspath(trace))
        return RunResult.of(run, core.output_names())
