"""The memory of trials: predicted from plans, held to a budget, and measured.

Predictions are upper estimates: evaluation keys are counted as they lie in memory, encoded weights
as if none repeated, and a run from its largest step and the values that wait beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isqrt
from typing import NamedTuple

from cloakwork import backend
from cloakwork.compiler.costs import Ring
from cloakwork.compiler.lowering.planning import GraphPlan, Step
from cloakwork.compiler.lowering.throughput import BatchPlan, levels_of
from cloakwork.compiler.nodes import Affine, Evaluate, Node, Product
from cloakwork.compiler.options import Mode
from cloakwork.compiler.plans import Layouts
from cloakwork.compiler.progress import amount
from cloakwork.errors import MemoryBudgetError, ParamError

__all__ = ["Memory", "Peak", "peak_of"]

# Polynomials of all limbs that a trial holds: roots of unity with their companions, the secret, the
# public key, the noise, and the ciphertexts of inputs and results.
_HELD = 16
# What Python's objects, NumPy's buffers and tables of steps take at any degree.
_FIXED_BYTES = 48 << 20
# The memory of a large tensor is whole pages of this size.
_PAGE_BYTES = 2 << 20
# A key switch holds the digits of a polynomial, and as many polynomials beside them: both sums, and
# what is divided.
_SWITCHED = 4


class Peak(NamedTuple):
    """The bytes of a trial: evaluation keys, encoded weights, a run's own, all others."""

    keys: int
    constants: int
    run: int
    others: int

    @property
    def total(self) -> int:
        """Of a trial."""
        return sum(self)

    @property
    def recorded(self) -> int:
        """Of a recording: the memory of its keys is never written, and nothing runs."""
        return self.constants + self.others


def peak_of(layouts: Layouts) -> Peak:
    """The predicted memory of a trial, beyond what the process holds before."""
    top = layouts.ring(0)
    others = _HELD * _whole(top) + _FIXED_BYTES + _diagonal_bytes(layouts)
    keys = sum(map(_in_pages, layouts.key_sizes))
    return Peak(keys, layouts.constant_bytes, _run_bytes(layouts), others)


class Memory:
    """The budget of a compilation in bytes, and what its trials took.

    given       the budget as asked for; None: what this machine has
    predicted   the largest predicted peak of what was tried or recorded
    kept        the largest measured one, of all tensors and arenas of this process
    held        what is kept of an earlier trial while others are made
    least       the least prediction that was beyond the budget; None without one
    """

    def __init__(self, budget: int | None = None) -> None:
        self.given, self.predicted, self.kept, self.held = budget, 0, 0, 0
        self.budget = backend.memory_limit_bytes() if budget is None else budget
        self.least: int | None = None
        self._before = backend.memory_stats().live_bytes

    def allows(self, count: int) -> bool:
        """Whether so many bytes are within the budget; `least` notes them if not."""
        count += self.held
        if count <= self.budget:
            return True
        self.least = count if self.least is None else min(self.least, count)
        return False

    def refusal(self, mode: Mode, what: str = "") -> ParamError | MemoryBudgetError:
        """The error for a budget that nothing keeps to; `what` did."""
        assert self.least is not None
        allowed = f"at least {amount(self.least)}, by prediction"
        remedy = "" if mode == "memory" else ': optimize="memory" takes less'
        if self.given is not None:
            got, allowed = amount_within(self.given), f"{allowed}{what}{remedy}"
            return ParamError("memory_budget", got, allowed)
        text = (
            f"compiling takes {allowed}{what}, and this machine has {amount(self.budget)}{remedy}; "
            "a memory_budget= beyond that tries regardless"
        )
        return MemoryBudgetError(text, self.least, self.budget)

    @contextmanager
    def holding(self, count: int) -> Iterator[None]:
        """Count so many bytes of an earlier trial beside those of the next ones."""
        self.held += count
        try:
            yield
        finally:
            self.held -= count

    @contextmanager
    def trial(self, predicted: int, unwritten: int = 0) -> Iterator[None]:
        """A trial with this prediction: measured, and nothing of it stays cached after it.

        unwritten   bytes that are reserved and never written, for which the system has no memory

        Released memory waits in lists of blocks of its sizes, which are not those of the next
        trial: both would add up.
        """
        self.predicted = max(self.predicted, predicted + self.held)
        backend.release_cached()
        try:
            yield
        finally:
            taken = backend.memory_stats().peak_bytes - self._before - unwritten
            self.kept = max(self.kept, taken)
            backend.release_cached()


def _in_pages(count: int) -> int:
    """The bytes that a tensor of so many takes."""
    return count if count < _PAGE_BYTES // 2 else -(-count // _PAGE_BYTES) * _PAGE_BYTES


def amount_within(count: int) -> str:
    """Bytes as MiB, or as they are where they are no whole MiB."""
    return f"{count} bytes" if count % 2**20 else amount(count)


def _whole(ring: Ring) -> int:
    """A polynomial of all limbs, with the special ones."""
    return (ring.limbs + ring.special) * ring.degree * 8


def _ciphertext(ring: Ring) -> int:
    return 2 * ring.limbs * ring.degree * 8


def _diagonal_bytes(layouts: Layouts) -> int:
    """Of the diagonals as float64 of the largest map, before they are encoded."""
    plan, most = layouts.plan, 0
    for step in plan.steps if isinstance(plan, GraphPlan) else ():
        for term in step.affine.terms if step.affine else ():
            period = 0 if term.cover is None else term.cover.period
            most = max(most, 2 * 8 * period * term.diagonals)
    return most


class _Taken(NamedTuple):
    """A value: its name, those that it reads, its bytes, and what its step takes beside it."""

    name: str
    reads: tuple[str, ...]
    bytes: int
    working: int


def _run_bytes(layouts: Layouts) -> int:
    """Of a run: the most of values that are still read, with what a step takes beside them."""
    plan = layouts.plan
    if isinstance(plan, BatchPlan):
        steps, outputs = list(_batch_steps(layouts, plan)), plan.graph.outputs
    else:
        steps, outputs = list(_steps(layouts, plan)), plan.outputs
    last = {name: place for place, step in enumerate(steps) for name in step.reads}
    held: dict[str, int] = {}
    most = 0
    for place, step in enumerate(steps):
        held[step.name] = step.bytes
        most = max(most, sum(held.values()) + step.working)
        for name in {*step.reads, step.name}:
            if last.get(name, -1) <= place and name not in outputs:
                held.pop(name, None)
    return most


def _steps(layouts: Layouts, plan: GraphPlan) -> Iterator[_Taken]:
    deep = layouts.deep
    levels = [] if deep is None else [level for _, level in deep.used_at]
    for place, step in enumerate(plan.steps):
        used = max(plan.used(step), 0)
        ring = layouts.ring(used) if deep is None else deep.ring(levels[place])
        size = step.layout.count * _ciphertext(ring)
        yield _Taken(step.node.output, step.node.inputs, size, _working(step, ring))


def _working(step: Step, ring: Ring) -> int:
    """Rotated inputs and sums of maps; powers of polynomials."""
    if step.affine is None:
        return _node_bytes(step.node, step.layout.count, ring)
    most = 0
    for term in step.affine.terms:
        if term.steps is None:
            continue
        rotated = term.steps.inputs * sum(baby != 0 for baby in term.steps.babies)
        digits = term.steps.inputs * ring.digits
        # Both parts of what is rotated, and the diagonals of a giant step, filled out.
        count = digits + 3 * rotated + 4 * term.steps.outputs + 2 * _SWITCHED
        most = max(most, count * _whole(ring))
    return most


def _batch_steps(layouts: Layouts, plan: BatchPlan) -> Iterator[_Taken]:
    for node in plan.graph.nodes:
        ring = layouts.ring(max(plan.latest[node.output] - levels_of(node), 0))
        working = _node_bytes(node, node.size, ring)
        if isinstance(node, Affine):
            working += 2 * node.size * _ciphertext(ring)
        yield _Taken(node.output, node.inputs, node.size * _ciphertext(ring), working)


def _node_bytes(node: Node, count: int, ring: Ring) -> int:
    """Of a product or a polynomial of some ciphertexts."""
    switched = (ring.digits + _SWITCHED) * _whole(ring)
    if isinstance(node, Evaluate):
        degree = node.polynomial.degree
        # Of giant and baby steps, at levels that are lower and lower.
        powers = isqrt(2 * degree) + degree.bit_length() // 2
        return int(count * (powers * _ciphertext(ring) + switched))
    if isinstance(node, Product):
        return count * (_ciphertext(ring) + switched)
    return 0
