"""How the steps of a program run on a device: there, by an expansion, or on the host, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from cloakwork.lazy import public

How = Literal["device", "expansion", "host check", "host zeros", "host", "no kernel", "removed"]


@public("cloakwork")
@dataclass(frozen=True)
class Transfers:
    """Transfers that steps and checks on the host cause: operands down, results up.

    estimated_seconds   by the rates that the driver states
    measured_seconds    of a run that was profiled, else None
    """

    count: int
    bytes: int
    estimated_seconds: float
    measured_seconds: float | None


@public("cloakwork")
@dataclass(frozen=True)
class OpCoverage:
    """The steps of one op that run alike.

    runs        "device": by the kernel for the op.  "expansion": by kernels for smaller ops.
                "host": on the host.  "host check": on the device, but the host checks contents
                of an operand before.  "host zeros": there, on zeros of the host's.
                "no kernel": a view, an allocation, a transfer of the program's own, or a user
                function.  "removed": passes removed the step
    device      the device that is wanted for them
    into        the smaller ops
    why         the reason for the host
    """

    op: str
    steps: int
    runs: How
    device: str | None
    into: list[str] | None
    why: str | None
    transfers: Transfers


@public("cloakwork")
@dataclass(frozen=True)
class Coverage:
    """How all steps of a program run: every step that calls an op is in one row.

    steps   how many there are
    runs    the same by how they run
    """

    device: str
    steps: int
    runs: dict[How, int]
    transfers: Transfers
    ops: list[OpCoverage]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read the engine's JSON."""
        facts = json.loads(text)
        rows = [{**row, "transfers": Transfers(**row["transfers"])} for row in facts.pop("ops")]
        transfers = Transfers(**facts.pop("transfers"))
        return cls(**facts, transfers=transfers, ops=[OpCoverage(**row) for row in rows])

    @property
    def on_host(self) -> list[OpCoverage]:
        """The ops that run on the host instead of the device, or a part of which does."""
        return [row for row in self.ops if row.runs in {"host", "host check", "host zeros"}]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return asdict(self)
