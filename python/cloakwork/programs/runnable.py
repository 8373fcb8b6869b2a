"""The base of programs and transcripts: checking, inspecting, running."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import fspath
from typing import TYPE_CHECKING, Any, Self

from cloakwork import _core, files
from cloakwork.device.loading import device_name, split_names
from cloakwork.errors import LoadError, ParamError
from cloakwork.programs.coverage import Coverage
from cloakwork.programs.options import (
    Budget,
    RunOptions,
    budgets_of,
    check_options,
    device_of,
    profile_path,
    seed_of,
)
from cloakwork.programs.report import Finding, Inspection, PassResult, RunResult
from cloakwork.sending import PLACE, Sendable

if TYPE_CHECKING:
    from typing_extensions import Buffer

# A user function's name, and a function from tensors to a list of tensors.
UserFunction = tuple[str, Callable[..., list[_core.Tensor]]]


# What a page for people has room for.
_PAGE_STEPS, _PAGE_LINES, _PAGE_COLUMNS = 40, 60, 160

# Options that need no look at files, budgets or devices.
_SIMPLE = frozenset({"threads", "profile"})


def no_functions(functions: Mapping[str, Any]) -> None:
    """ParamError if functions are given to a program that calls none."""
    if functions:
        expected = "none: the program calls no user function"
        raise ParamError("functions", min(functions), expected)


@dataclass(frozen=True)
class Operands:
    """The engine's arguments for a run: a program, tensors in the order of its inputs, functions.

    secret   whether the run has secrets beside tensors that are marked: random elements of proofs
    """

    core: _core.Program
    tensors: list[_core.Tensor]
    functions: list[UserFunction] = field(default_factory=list)
    secret: bool = False


class Runnable(Sendable):
    """A program of the engine that can be checked, inspected and run."""

    # The files that it was loaded from and reads: no run may write to them.
    sources: tuple[str, ...] = ()

    def __init__(self, core: _core.Program) -> None:
        self._core = core

    def _packed(self) -> _core.Tensor:
        """The bytes of a container."""
        return self._core.container(self._notes())

    def _notes(self) -> dict[str, str] | None:
        """The notes of its container; None: those that it has."""
        return None

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
        """Undo `to_bytes`: as `cloakwork.load` of the file; all checksums are compared.

        LoadError for altered bytes, and for a program of another kind.
        """
        return cls._from(files.given_bytes(data))

    @classmethod
    def _unpacked(cls, data: Buffer, *facts: Any) -> Self:
        """The program of a pickle; its checksums are compared."""
        return cls._from(files.Source(PLACE, files.contents_of(data, PLACE)))

    @classmethod
    def _from(cls, source: files.Source) -> Self:
        from cloakwork.programs.loading import opened

        found = opened(source, checksums=source.is_container)
        if not isinstance(found, cls):
            got, wanted = type(found).__qualname__, cls.__qualname__
            raise LoadError(f"{source.name}: expected a {wanted}, got a {got}: cw.load reads it")
        return found

    def operands(
        self, inputs: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> Operands:
        """The memory of a run on inputs by name; the errors of a run for wrong ones."""
        raise NotImplementedError(type(self).__name__)

    def check(self) -> list[Finding]:
        """All errors and warnings, in the order of steps; nothing is run."""
        return self._core.findings()

    def inspect(
        self, *, threads: int | None = None, optimize: bool = True, device: str = "cpu"
    ) -> Inspection:
        """The program's parts and the needs of a run; ProgramError if it has errors."""
        return Inspection.of(self._core.inspect(threads, optimize, device))

    def coverage(
        self,
        *,
        device: str,
        threads: int | None = None,
        optimize: bool = True,
        fallback: bool = True,
    ) -> Coverage:
        """How each step will run on a device: there, by an expansion, or on the host, and why.

        fallback   False: FallbackError names all steps that would run on the host
        """
        return Coverage.of(_core.coverage(self._core, device, threads, optimize, fallback))

    def passes(self) -> list[PassResult]:
        """The program as written, then what each pass makes of it, in order."""
        text, passes = self._core.passes()
        results = [PassResult("as written", "", {}, text)]
        for name, does, removed, after in passes:
            results.append(PassResult(name, does, removed, after or results[-1].text))
        return results

    def memory(
        self,
        *,
        threads: int | None = None,
        memory_budget: Budget = None,
        optimize: bool = True,
        device: str = "cpu",
        fallback: bool = True,
    ) -> tuple[str, int]:
        """The memory of a run on a device, as text and as its peak in bytes.

        Under a budget below the peak, the memory of a run that spills tensors to a file; the text
        ends with the file's size and the bytes written and read.  Raises MemoryBudgetError if that
        exceeds the budget, too.
        """
        total, devices = self._budgets(memory_budget, device)
        return self._core.memory(threads, total, devices, optimize, device, fallback)[:2]

    def _budgets(
        self, budget: Budget, device: str = "cpu"
    ) -> tuple[int | None, dict[str, int] | None]:
        """`budgets_of`; ParamError for a device that no run of this program uses."""
        together, single = budgets_of(budget)
        if single is not None:
            devices = self._devices() | {device_name(name) for name in split_names(device)}
            if unknown := single.keys() - devices:
                known = f"a device that a run uses: {', '.join(sorted(devices))}"
                raise ParamError("memory_budget", min(unknown), known)
        return together, single

    def _devices(self) -> set[str]:
        """The devices that may hold tensors of a run: those of this machine and of the program."""
        return {"disk", *(device["name"] for device in _core.devices())}

    def text(self) -> str:
        """The text form, one step per line."""
        return self._core.text()

    def page(self) -> str:
        """A page of the text form for people: the first and last steps, without long constants."""
        lines = self._core.page(_PAGE_STEPS).splitlines()
        if len(lines) > _PAGE_LINES:
            after = _PAGE_LINES // 3
            gone = f"... {len(lines) - _PAGE_LINES} lines left out"
            lines = [*lines[: _PAGE_LINES - after], gone, *lines[-after:]]
        shown = [
            one if len(one) <= _PAGE_COLUMNS else f"{one[:_PAGE_COLUMNS]} ..." for one in lines
        ]
        if any(one.startswith("... ") or one.endswith(" ...") for one in shown):
            shown.append(f"... of {self._core.step_count()} steps; text() returns them whole")
        return "\n".join([*shown, ""])

    def _save_text(self, target: str) -> None:
        """Write the text form; its first line names the generation, which tells the format."""
        text = self.text()
        head = "" if text.startswith("generation ") else "generation later\n"
        files.write(target, head + text)

    def plan_text(
        self, *, threads: int | None = None, optimize: bool = True, device: str = "cpu"
    ) -> str:
        """The plan of a run on a device, one kernel call per line."""
        return self._core.plan_text(threads, optimize, device)

    def _run_on_tensors(self, values: tuple[object, ...], options: RunOptions) -> RunResult | None:
        """A run on tensors of just the inputs' types, with options that every run has.

        None for anything else, which `_run` runs or refuses.
        """
        if not options:
            run = self._core.run_tensors(values)
        elif options.keys() <= _SIMPLE and type(profile := options.get("profile", True)) is bool:
            run = self._core.run_tensors(values, options.get("threads"), profile)
        else:
            return None
        return None if run is None else RunResult(self._core, run)

    def _run(
        self, inputs: Sequence[_core.Tensor], verify: bool, bisect: bool,
        options: RunOptions, functions: Sequence[UserFunction] = (),
        core: _core.Program | None = None,
    ) -> RunResult:  # fmt: skip
        """Run the program, or `core` instead of it."""
        check_options(options)
        keep = options.get("outputs") == "device"
        if keep and (verify or bisect):
            raise ParamError("outputs", "device", "host: expected values are compared there")
        profile = profile_path(options)
        files.claim([profile], self.sources)
        core = self._core if core is None else core
        asked = device_of(options)
        device = core.place_of(list(inputs)) if asked is None else asked
        total, devices = self._budgets(options.get("memory_budget"), device)
        run = core.run(
            list(inputs),
            device=device,
            threads=options.get("threads"),
            memory_budget=total,
            device_budgets=devices,
            verify=verify,
            bisect=bisect,
            profile=profile is not None or bool(options.get("profile", True)),
            progress=options.get("progress"),
            schedule_seed=seed_of(options.get("schedule_seed")),
            spill_dir=options.get("spill_dir"),
            functions=list(functions),
            optimize=options.get("optimize", True),
            fallback=options.get("fallback", True),
            keep=keep,
        )
        if profile is not None:
            run.write_profile(fspath(profile))
        return RunResult(core, run)
