"""How an affine map of slots is computed: the layouts of its result, and the diagonals of each."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.costs import Work
from cloakwork.compiler.layouts import Grid, Layout, power_above
from cloakwork.compiler.lowering.covering import Cover, aligned, swept
from cloakwork.compiler.nodes import Affine
from cloakwork.fhe.circuits.diagonals import MapSteps, jumps, map_steps_of

# Integers by which a ciphertext is multiplied without a level.
_SMALL_INTEGER = 1 << 10
# Rows up to which all extended diagonals are tried.
_SWEPT_MAX = 1 << 12
# Copies of an input that are tried: more make fewer diagonals, of more slots.
_COPIES = (1, 2, 4, 8, 16, 32, 64, 128)
_WIDTHS_MAX = 1 << 12
# What a key is worth, in giant steps, where giant steps are chained to have few of them.
_KEY_COST = 0.5

Floats = NDArray[np.float64]
Price = Callable[[Work], float]


@dataclass(frozen=True, eq=False)
class Term:
    """A_i x_i: a small integer times x_i, or diagonals in baby and giant steps."""

    input: str
    factor: int | None = None
    cover: Cover | None = None
    steps: MapSteps | None = None
    baby_steps: int = 1

    @property
    def diagonals(self) -> int:
        """The number of products with plaintexts."""
        return 0 if self.cover is None else sum(map(len, self.cover.offsets.values()))

    @property
    def is_slotwise(self) -> bool:
        """Whether it is a product of one ciphertext with one plaintext, without rotations."""
        if self.steps is not None and (self.steps.inputs, self.steps.outputs) != (1, 1):
            return False
        return self.cover is not None and self.cover.offsets == {(0, 0): [0]}


@dataclass(frozen=True, eq=False)
class AffinePlan:
    """The terms, the steps by which their sum is then rotated and added, and the result's layout.

    The slots that hold no element of the result hold 0 before the bias is added, if they do so in
    all terms without weights.
    """

    terms: tuple[Term, ...]
    sums: tuple[int, ...]
    layout: Layout

    @property
    def uses_level(self) -> bool:
        """Whether it multiplies."""
        return any(term.factor is None for term in self.terms)

    @property
    def rotations(self) -> set[int]:
        """The steps that need a key."""
        maps = (term.steps.rotations for term in self.terms if term.steps is not None)
        return {*self.sums, *(step for steps in maps for step in steps)}

    @property
    def work(self) -> Work:
        """The work at its level."""
        own = Work(turns=len(self.sums) * self.layout.count)
        for term in self.terms:
            if term.is_slotwise:
                own += Work(plain_products=1, rescales=1)
            elif term.steps is not None:
                own += _work_of(term.steps, term.diagonals)
        return own


def _work_of(steps: MapSteps, diagonals: int) -> Work:
    """Of a map in baby and giant steps."""
    rotated = steps.inputs * sum(baby != 0 for baby in steps.babies)
    return Work(
        ups=steps.inputs * any(steps.babies),
        babies=rotated,
        giants=steps.turned,
        products=diagonals,
        downs=steps.outputs,
        rescales=steps.outputs,
    )


class Meeting(NamedTuple):
    """Layouts of values that a result meets.

    wanted   of other operands of its readers: another may cost diagonals
    joined   of one whose slots meet its own, if there is one: another costs a conversion, and a
             level
    beside   whether results may also stand beside the values that they are made from
    """

    wanted: Sequence[Layout] = ()
    joined: Sequence[Layout] = ()
    beside: bool = False


_NOTHING = Meeting()


class Candidates:
    """The plans of one affine node that are worth a comparison.

    inputs   the layouts of the inputs; None: free to choose, for the only reader of an input
    price    the seconds of some work at the level where the node is computed
    meeting  layouts that the result meets
    chained  whether giant steps are taken one after the other, with one key for all
    zeros    inputs that hold 0 in slots without an element
    """

    def __init__(
        self,
        node: Affine,
        inputs: Mapping[str, Layout | None],
        slots: int,
        price: Price,
        meeting: Meeting = _NOTHING,
        *,
        chained: bool = False,
        zeros: Container[str] = (),
    ) -> None:
        self.zeros = zeros
        self.node, self.slots, self.price, self.chained = node, slots, price, chained
        self.free = next((name for name, layout in inputs.items() if layout is None), None)
        self.inputs = {name: layout for name, layout in inputs.items() if layout is not None}
        self.meeting = meeting

    def best(self) -> tuple[AffinePlan, dict[str, Layout]]:
        """The cheapest plan, and the layouts of all inputs."""
        found = list(self._all())
        fitting = [(plan, own) for plan, own in found if plan.layout in self.meeting.joined]
        return min(fitting or found, key=lambda pair: self.price(pair[0].work))

    def _all(self) -> Iterator[tuple[AffinePlan, dict[str, Layout]]]:
        if self.free is None:
            yield from ((plan, self.inputs) for plan in self._from(self.inputs))
            return
        for layout in self._free_layouts(self.free):
            inputs = self.inputs | {self.free: layout}
            yield from ((plan, inputs) for plan in self._from(inputs))

    def _free_layouts(self, name: str) -> Iterator[Layout]:
        size = next(matrix.shape[1] for term, matrix in self.node.terms if term == name)
        geometry = self.node.source.geometry
        images = None
        if geometry is not None and np.prod(geometry.inputs) == size:
            grid = Grid(*geometry.inputs[1:], 1)
            images = Layout.images(geometry.inputs, self.slots, grid)
        yield images or Layout.dense(size, self.slots)
        rows = power_above(self.node.size)
        for copies in _COPIES:
            if images is None and copies <= rows and size < self.slots:
                made = Layout.shifted(size, self.slots, rows, copies)
                if made is not None:
                    yield made

    def _from(self, inputs: dict[str, Layout]) -> Iterator[AffinePlan]:
        if (summed := self._summed(inputs)) is not None:
            yield summed
            return
        least = None
        if all(layout.is_single for layout in inputs.values()):
            for layout in self._layouts(inputs):
                plan = self._aligned(inputs, layout)
                least = min(least or plan.work.products, plan.work.products)
                yield plan
        period = max(layout.period for layout in inputs.values())
        rows = power_above(self.node.size)
        if rows > min(self.slots, _SWEPT_MAX) or (least is not None and least <= rows // 4):
            return
        yield self._swept(inputs, rows, max(period, rows))

    def _summed(self, inputs: dict[str, Layout]) -> AffinePlan | None:
        """The sum of all elements of one input, times a small integer, without a level."""
        (name, matrix), *others = self.node.terms
        layout = inputs[name]
        if others or matrix.shape != (1, matrix.nnz) or name not in self.zeros:
            return None
        factor = _same_integer(matrix.data)
        if factor is None or layout.count > 1 or not layout.is_single:
            return None
        sums = tuple(1 << log for log in range(layout.period.bit_length() - 1))
        return AffinePlan((Term(name, factor),), sums, Layout.dense(1, self.slots))

    def _layouts(self, inputs: dict[str, Layout]) -> Iterator[Layout]:
        """Layouts of the result in which each element stands once."""
        size = self.node.size
        wanted = [*self.meeting.wanted, *self.meeting.joined]
        found = [layout for layout in wanted if layout.size == size]
        found += [layout for layout in inputs.values() if layout.size == size and layout.is_single]
        geometry = self.node.source.geometry
        for layout in inputs.values():
            if geometry is None or layout.grid is None or np.prod(geometry.outputs) != size:
                continue
            made = Layout.images(geometry.outputs, self.slots, layout.grid.after(geometry))
            if made is not None:
                found.append(made)
        found.append(Layout.dense(size, self.slots))
        if self.meeting.beside and all(own.grid is None for own in found):
            beside = (Layout.beside(matrix, inputs[name]) for name, matrix in self.node.terms)
            found += [layout for layout in beside if layout is not None]
        for place, layout in enumerate(found):
            if not any(layout == earlier for earlier in found[:place]):
                yield layout

    def _aligned(self, inputs: dict[str, Layout], layout: Layout) -> AffinePlan:
        terms = []
        for name, matrix in self.node.terms:
            own = inputs[name]
            factor = scalar_factor(matrix) if own == layout else None
            if factor is not None:
                terms.append(Term(name, factor))
                continue
            rows, columns = (layout.places, layout.period), (own.places, own.period)
            cover = aligned(matrix, rows, columns, self.slots)
            terms.append(self._term(name, cover))
        period = max(layout.period, *(inputs[name].period for name, _ in self.node.terms))
        whole = Layout(self.slots, layout.repeated(period), layout.size, layout.grid)
        return AffinePlan(tuple(terms), (), _shortened(whole))

    def _swept(self, inputs: dict[str, Layout], rows: int, period: int) -> AffinePlan:
        terms = []
        for name, matrix in self.node.terms:
            contents = inputs[name].repeated(period)
            cover = swept(matrix, rows, contents)
            terms.append(self._term(name, cover))
        sums = tuple(rows << log for log in range((period // rows).bit_length() - 1))
        return AffinePlan(tuple(terms), sums, Layout.dense(self.node.size, self.slots, rows))

    def _term(self, name: str, cover: Cover) -> Term:
        width = _best_width(cover.offsets, cover.shape, self.price, chained=self.chained)
        steps = map_steps_of(cover.offsets, cover.shape, width, chained=self.chained)
        return Term(name, None, cover, steps, width)


def scalar_factor(matrix: Any) -> int | None:
    """A small c where the matrix is c times the identity."""
    size, columns = matrix.shape
    if size != columns or matrix.nnz != size:
        return None
    diagonal = (matrix.indices == np.arange(size)).all() and (np.diff(matrix.indptr) == 1).all()
    return _same_integer(matrix.data) if diagonal else None


def _same_integer(values: Floats) -> int | None:
    """A small integer that all values are."""
    first = float(values[0])
    whole = first.is_integer() and abs(first) <= _SMALL_INTEGER and (values == first).all()
    return int(first) if whole else None


def _shortened(layout: Layout) -> Layout:
    """With the least period."""
    contents = layout.contents
    while contents.shape[1] > 1 and len(contents) == 1:
        first, second = np.split(contents, 2, axis=1)
        if not (first == second).all():
            break
        contents = first
    return Layout(layout.slots, contents, layout.size, layout.grid)


def _best_width(
    offsets: Mapping[tuple[int, int], Sequence[int]],
    shape: tuple[int, int],
    price: Price,
    *,
    chained: bool,
) -> int:
    """The number of offsets between giant steps for which rotations are cheapest."""
    numbers = np.array([offset for own in offsets.values() for offset in own] or [0])
    outputs = np.array([place[0] for place, own in offsets.items() for _ in own] or [0])
    span = int(numbers.max() - numbers.min()) + 1
    baby = price(Work(babies=shape[1]))
    giant = price(Work(giants=1))

    def cost(width: int) -> float:
        shifts = numbers % width
        kinds = int(np.count_nonzero(np.bincount(shifts)[1:]))
        turned = numbers - shifts
        if not chained:
            pairs = (turned * shape[0] + outputs)[turned != 0]
            return baby * kinds + giant * len(np.unique(pairs))
        places = np.unique(turned)
        gaps = (np.diff(places) // width).tolist()
        last = int(places[0] != 0)
        turns = shape[0] * ((len(gaps) if jumps(gaps) else sum(gaps)) + last)
        keys = kinds + len(set(gaps) if jumps(gaps) else gaps[:1]) + last
        return baby * kinds + giant * (turns + _KEY_COST * keys)

    powers = [1 << log for log in range(span.bit_length() + 1)]
    widths = range(1, min(span, _WIDTHS_MAX) + 1) if numbers.size <= 512 else powers
    found: int = min({*widths, *powers}, key=lambda width: (cost(width), width))
    return found
