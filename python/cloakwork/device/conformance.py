"""Conformance of a device: each op that it claims, held to the op's reference."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self
from xml.etree import ElementTree

from cloakwork import _core
from cloakwork.device.comparison import Difference
from cloakwork.errors import ParamError
from cloakwork.lazy import public

# Rounds, and seconds after which no case begins.
_ALL = 132, 60.0
_QUICK = 44, 10.0
_SEEDS = 2**64
_SUITE = "cloakwork conform"


@public("cloakwork.device")
@dataclass(frozen=True)
class Speed:
    """The time of one call on a device and on the CPU: medians of its launches."""

    elements: int
    """Of the result."""
    bytes: int
    """Read and written, as the planner counts them."""
    device_ns: int
    host_ns: int

    @property
    def ratio(self) -> float:
        """How many times as fast as the CPU the device is."""
        return self.host_ns / max(self.device_ns, 1)


@public("cloakwork.device")
@dataclass(frozen=True)
class Failure:
    """A call that a device computes wrongly."""

    difference: Difference
    against: str
    """The reference of its result."""
    program: str | None
    """The smallest call that was found to show it, in the text form; None if its data are large."""

    @classmethod
    def of(cls, facts: Mapping[str, Any] | None) -> Self | None:
        """Read the engine's JSON."""
        if facts is None:
            return None
        return cls(Difference.of(facts), facts["against"], facts["program"])

    def __str__(self) -> str:
        return f"{self.difference} (compared with {self.against})"


@public("cloakwork.device")
@dataclass(frozen=True)
class OpResult:
    """The outcome for one op."""

    op: str
    family: str
    cases: int
    """Calls that ran on the device."""
    by_reference: int
    """Results that were compared with the op's reference, or those of its expansion."""
    by_portable: int
    """Results too large for the reference: compared with the portable kernel."""
    refused: int
    """Calls whose contents the op does not accept, on the host as on the device."""
    kernels: tuple[str, ...]
    failure: Failure | None
    speeds: tuple[Speed, ...]

    @property
    def passed(self) -> bool:
        """Whether no call is wrong."""
        return self.failure is None


@public("cloakwork.device")
@dataclass(frozen=True)
class Report:
    """The outcome of `conform`; false if something is wrong.

    unclaimed   ops of which no call ran on the device
    untried     ops of which the time was over before a call ran: nothing is known of them
    unreached   the device's kernels that no call reached
    shadowed    its kernels that are never chosen: others for the same types are preferred
    sizes       by kernel: at how many sizes of docs/conformance.md it was tried, and of how many
    rounds      completed; `is_cut` says that the time was over before the last one
    """

    device: str
    seed: int
    ops: tuple[OpResult, ...]
    programs: int
    program_steps: int
    program_failure: Failure | None
    unclaimed: tuple[str, ...]
    untried: tuple[str, ...]
    unreached: tuple[str, ...]
    shadowed: tuple[str, ...]
    sizes: Mapping[str, tuple[int, int]]
    rounds: int
    is_cut: bool
    _facts: dict[str, Any]

    def __bool__(self) -> bool:
        return self.program_failure is None and all(op.passed for op in self.ops)

    def op(self, name: str) -> OpResult:
        """The outcome for an op; KeyError if no call of it ran on the device."""
        return {own.op: own for own in self.ops}[name]

    @property
    def failures(self) -> list[Failure]:
        """All failures."""
        found = [op.failure for op in self.ops]
        return [one for one in [*found, self.program_failure] if one is not None]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return {"device": self.device, "seed": self.seed, "passed": bool(self)} | self._facts

    def to_junit(self) -> str:
        """A test case an op, and one for random programs, as JUnit's XML."""
        suite = ElementTree.Element("testsuite", name=f"{_SUITE} {self.device}")
        for op in self.ops:
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"{self.device}.{op.family}", name=op.op
            )
            _add_failure(case, op.failure)
        skipped = {
            "unclaimed": (self.unclaimed, "no call of it ran on the device"),
            "untried": (self.untried, "the time was over before a call of it ran"),
        }
        for kind, (names, why) in skipped.items():
            for name in names:
                place = {"classname": f"{self.device}.{kind}", "name": name}
                case = ElementTree.SubElement(suite, "testcase", place)
                ElementTree.SubElement(case, "skipped", message=why)
        if self.programs:
            place = {"classname": f"{self.device}.programs", "name": "random programs"}
            _add_failure(ElementTree.SubElement(suite, "testcase", place), self.program_failure)
        suite.set("tests", str(len(suite)))
        suite.set("failures", str(len(self.failures)))
        suite.set("skipped", str(len(self.unclaimed) + len(self.untried)))
        properties = ElementTree.Element("properties")
        ElementTree.SubElement(properties, "property", name="seed", value=str(self.seed))
        suite.insert(0, properties)
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"

    def __str__(self) -> str:
        wrong = sum(not op.passed for op in self.ops)
        cases = sum(op.cases for op in self.ops)
        text = f"{self.device}, seed {self.seed}: {len(self.ops) - wrong} of {len(self.ops)} ops"
        text = f"{text} pass in {cases} calls, {self.programs} random programs"
        if self.program_failure is not None:
            text = f"{text}, of which the last is computed wrongly"
        return f"{text}; {len(self.untried)} not tried" if self.untried else text


def _add_failure(case: ElementTree.Element, failure: Failure | None) -> None:
    if failure is not None:
        found = ElementTree.SubElement(case, "failure", message=_printable(str(failure)))
        found.text = _printable(failure.program or "")


def _printable(text: str) -> str:
    """The text with characters that XML lacks as escapes."""
    return "".join(one if one == "\n" or one.isprintable() else repr(one)[1:-1] for one in text)


def conform(
    device: str,
    *,
    seed: int | None = None,
    ops: Collection[str] = (),
    quick: bool = False,
    seconds: float | None = None,
    speed: bool = True,
    progress: Callable[[int, int, int, str | None], object] | None = None,
) -> Report:
    """Hold a device to the references of all ops that it claims.

    device     "sim:0", "mychip:0", or a driver's file such as "./libmychip.so"
    seed       all calls follow from it; by default a random one, which the report has
    ops        these ops; by default all
    quick      each size once instead of three times, and 10 seconds
    seconds    no case begins after so long: 60 by default
    speed      whether to time calls, too; that takes at most half as long again
    progress   called with the number of cases, the round, the rounds, and the next op

    An op counts as claimed if a plan runs one of the device's kernels for a call of it.  Calls have
    edge values, odd strides, tensors without elements, results that are operands, and sizes around
    those of vectors; each runs several times, also as a segment, and all tensors of the program are
    compared, so that a write beside a result is seen.  Random programs of many steps follow, also
    in two executors at once.  A wrong call is made as small as it can be.  A device that is lost by
    a call is taken again where its driver is isolated (`load_driver`), which `cloakwork conform`
    does for GPUs; else all later calls fail.

    >>> from cloakwork.device import conform
    >>> report = conform("sim:0", seed=1, ops=["modmul", "sort"], quick=True)
    >>> bool(report), [op.op for op in report.ops]
    (True, ['modmul', 'sort'])
    """
    rounds, usual = _QUICK if quick else _ALL
    seconds = usual if seconds is None else seconds
    if not (math.isfinite(seconds) and seconds > 0):
        raise ParamError("seconds", seconds, "more than 0")
    chosen = secrets.randbits(32) if seed is None else seed
    if not 0 <= chosen < _SEEDS:
        raise ParamError("seed", seed, "a number below 2^64")
    if isinstance(ops, str):
        raise ParamError("ops", ops, "a collection of names of ops")
    text = _core.conform(
        device, seed=chosen, ops=set(ops), rounds=rounds, seconds=seconds,
        speed=speed, progress=progress,
    )  # fmt: skip
    return _report(device, chosen, json.loads(text))


def _report(device: str, seed: int, facts: dict[str, Any]) -> Report:
    return Report(
        device=device,
        seed=seed,
        ops=tuple(_op(row) for row in facts["ops"]),
        programs=facts["programs"],
        program_steps=facts["program_steps"],
        program_failure=Failure.of(facts["program_failure"]),
        unclaimed=tuple(facts["unclaimed"]),
        untried=tuple(facts["untried"]),
        unreached=tuple(facts["unreached"]),
        shadowed=tuple(facts["shadowed"]),
        sizes={kernel: (row["tried"], row["of"]) for kernel, row in facts["sizes"].items()},
        rounds=facts["rounds"],
        is_cut=facts["is_cut"],
        _facts=facts,
    )


def _op(row: Mapping[str, Any]) -> OpResult:
    speeds = (
        Speed(own["elements"], own["bytes"], own["device_ns"], own["host_ns"])
        for own in row["speeds"]
    )
    return OpResult(
        op=row["op"],
        family=row["family"],
        cases=row["cases"],
        by_reference=row["by_reference"],
        by_portable=row["by_portable"],
        refused=row["refused"],
        kernels=tuple(row["kernels"]),
        failure=Failure.of(row["failure"]),
        speeds=tuple(speeds),
    )
