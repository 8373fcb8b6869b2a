"""Values that must stay within known ranges, and an output that proves to the client that they did.

A polynomial approximates a function on a domain alone, and a result that outgrows the modulus
wraps around.  Interval arithmetic over the accepted inputs tells which values always stay where
they must.  For the others the program computes a norm: the sum of (x / d)^p, p = 2, 4, ... 32, over
a value's elements, where d is how large they may be.  It is at least the largest |x / d|^p, so that
a sum of at most 1 proves that all elements are within.  p is the least for which the sample's norms
have room.  The client decrypts the sums, and refuses results where one is above 1.

Doubts of a graph, which bound how far results are off where an input is near a jump, are further
elements of that output, divided by the largest doubt of an input that is not refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, product
from math import ceil, inf, log2

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.nodes import Affine, Evaluate, Input, Node, Product
from cloakwork.compiler.parameters import LEAST_SCALE
from cloakwork.compiler.reach import Range, possible

__all__ = ["GUARD", "Guarded", "Norm", "guarded", "unguarded"]

Floats = NDArray[np.float64]

GUARD = "range check"
# Exponents p, as log2; the sample's norms are at most the first share of what proves the range, so
# that other inputs like it have room, or where no p has room for that, the second.
_SQUARINGS, _SHARES = range(1, 6), (0.8, 0.92)
# Arguments beyond a domain by less than this share are within it.
_ROUNDING = 1e-6
# By how much a polynomial of a composition may leave the domain of the next.
_STAGE = 0.02
# Products are guarded where outputs could need so many bits more than those of the sample.
_MORE_BITS = 5.0
# Bits of room beyond the largest output, of `parameters.room_of`, but for a sign.
_ROOM_BITS = 2.0
# The least share by which the sums of squares of other inputs may exceed the sample's.
_LEAST_MARGIN = 0.1
# Of the sample, this share may have doubts that are refused; the limit is above those of the others
# by this factor, and at least this share of the largest output, and so many times what
# approximations make of no doubt.
_DOUBTFUL, _MORE_DOUBT, _LEAST_DOUBT, _NEGATIVE = 0.05, 2.0, 0.015, 3.0
# The largest error of a norm, and of doubts alone, in the limit.
_NORM_ERROR, _DOUBT_ERROR = 0.1, 0.4
# No limit is less.
_TINY = 1e-30
# Sums are scaled by a power of two down to this one, to keep those of any input from wrapping.  Up
# to so many bits more are room of the first modulus; beyond that, levels that are not used up.
_SCALE_BITS, _FIRST_BITS = 6, LEAST_SCALE / 2


@dataclass(frozen=True)
class Norm:
    """A guarded value.

    value     its name; `source` where it comes from
    middle, size   elements x are within when |x - middle| <= size
    log       log2 of p
    most      the largest sum of any accepted input whose earlier norms prove their ranges
    """

    value: str
    source: str
    middle: float
    size: float
    log: int
    most: float

    def __str__(self) -> str:
        return f"{self.value} ({self.source})" if self.source else self.value


@dataclass(frozen=True, eq=False)
class Guarded:
    """A graph with its guards.

    graph      with one more output, `GUARD`, [norms], if there are norms
    norms      the guarded values
    doubts     where the doubts come from; their elements follow those of the norms
    limits     the largest doubts that are not refused, relative to the sizes of outputs
    limit      the largest element of the output that proves that the values stayed within
    reach      by value: the range of each element for all accepted inputs that pass the guards;
               of the output, unless it keeps levels, that of all accepted inputs
    unproven   values that no norm can guard: results may be wrong without a word
    """

    graph: Graph
    norms: tuple[Norm, ...]
    limit: float
    reach: Mapping[str, Range]
    unproven: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    limits: tuple[float, ...] = ()

    @property
    def checks(self) -> int:
        """The number of elements that the client checks."""
        return len(self.norms) + len(self.doubts)

    @property
    def most(self) -> float:
        """The largest sum of doubts that are not refused, relative to the sizes of outputs."""
        return sum(self.limits)

    def doubted(self, inputs: Mapping[str, Floats]) -> Floats:
        """The sums of the doubts of inputs [rows, *shape] by name, [rows], relative as `most`."""
        if not self.doubts:
            return np.zeros(len(next(iter(inputs.values()))))
        found = self.graph.run(inputs)[self.output][:, len(self.norms) :]
        return np.asarray(found @ np.array(self.limits) / self.limit)

    @property
    def error(self) -> float:
        """The largest error of an element of the output that keeps what it proves."""
        return (_NORM_ERROR if self.norms else _DOUBT_ERROR) * self.limit

    def passed(self, inputs: Mapping[str, Floats]) -> NDArray[np.bool_]:
        """Which inputs [rows, *shape] by name are not refused, [rows]."""
        if not self.checks:
            return np.ones(len(next(iter(inputs.values()))), dtype=np.bool_)
        # Far beyond their domains, polynomials give what floats cannot hold.
        with np.errstate(all="ignore"):
            found = self.graph.run(inputs)[self.output] <= self.limit - self.error
        return np.asarray(found.all(axis=1))

    def describe(self, sample: Mapping[str, Floats]) -> str:
        """Which inputs have right results, in words."""
        if not self.checks:
            return "results are right for all inputs within their bounds"
        found = "results are right for all inputs within their bounds, or refused after decryption"
        if self.norms:
            found += f", by norms of {', '.join(map(str, self.norms))}"
        if self.doubts:
            passed = self.passed(sample)
            found += (
                f"; inputs so near to thresholds of {', '.join(dict.fromkeys(self.doubts))} that "
                f"results could be off by {100 * self.most:.2g} % of their largest are refused: "
                f"{int((~passed).sum())} of {len(passed)} of the sample"
            )
        return found

    @property
    def output(self) -> str:
        """The name of the output with the sums, if there are checks."""
        return self.graph.outputs[-1]


def guarded(
    graph: Graph,
    box: Mapping[str, Range],
    sample: Mapping[str, Floats],
    margin: float,
    gained: Mapping[str, float] | None = None,
) -> Guarded:
    """A graph of polynomials, with guards for what the inputs of a box could bring out of range.

    box      by input: the range of each element [size]
    sample   inputs [rows, *shape] by name, which must pass
    gained   by doubt: how far outputs are off where it is 1, relative to their sizes
    """
    sizes, wanted = _norms(graph, sample), _bits(graph.trace_ranges(sample), graph.outputs)
    squares = [n.output for n in graph.nodes if isinstance(n, Product) and n.a == n.b]
    walk, best = None, (True, inf, inf)
    # The last squares first: with them, earlier ones may need no guard.
    for chosen in accumulate([[], *([one] for one in reversed(squares))]):
        other = _Walk(graph, box, sizes, margin, frozenset(chosen))
        bits = _bits(other.reach, graph.outputs)
        found = bits > wanted + _MORE_BITS, other.scale_and_room[1], bits
        if walk is None or found < best:
            walk, best = other, found
        if found[:2] == (False, 0):
            break
    assert walk is not None
    walk.doubts = _doubts(graph, sample, walk.reach, gained or {})
    lost = (doubt for doubt in walk.doubts if doubt.gain == inf)
    walk.unproven += [f"what comes before or follows {one.node.source}" for one in lost]
    return _with_output(graph, walk)


def _doubts(
    graph: Graph,
    sample: Mapping[str, Floats],
    reach: Mapping[str, Range],
    gained: Mapping[str, float],
) -> list[_Doubt]:
    """With limits that all of the sample passes but for the doubtful ones."""
    if not gained:
        return []
    found = []
    for node, values in graph.steps(sample):
        gain = gained.get(node.output, 0.0)
        if gain == 0.0:
            continue
        assert isinstance(node, Affine)
        usual = float(np.quantile(values, 1 - _DOUBTFUL))
        # Signs that are a little beyond 1 make a doubt negative.
        limit = max(
            _MORE_DOUBT * usual, _NEGATIVE * -float(values.min()), _LEAST_DOUBT / gain, _TINY
        )
        most = max(float(np.abs(edge).max()) for edge in reach[node.output]) / limit
        found.append(_Doubt(node, gain, limit, most))
    return found


def unguarded(why: str, unproven: Sequence[str] = ()) -> str:
    """Which inputs have right results, in words, where nothing tells of others."""
    if unproven:
        why = f"as no norm tells of {', '.join(unproven)}"
    return f"{why}, inputs unlike the sample may give wrong results without a word"


def _bits(ranges: Mapping[str, Range], names: tuple[str, ...]) -> float:
    largest = max(float(np.abs(edge).max()) for name in names for edge in ranges[name])
    return log2(max(largest, 1.0)) if largest < inf else inf


def _domain(node: Evaluate) -> tuple[float, float] | None:
    """The middle and half length of where a polynomial approximates; None for an exact one."""
    if node.polynomial.basis != "chebyshev":
        return None
    low, high = node.polynomial.domain
    return (low + high) / 2, (high - low) / 2


# The largest p-norm [log2 p] of a value on the sample, by its name, middle and size.
_Sizes = dict[tuple[str, float], Floats]


def _norms(graph: Graph, sample: Mapping[str, Floats]) -> _Sizes:
    """Of all values that could be guarded, around the middle of their domains."""
    wanted: dict[str, set[float]] = {}
    for node in graph.nodes:
        if isinstance(node, Evaluate) and (domain := _domain(node)) is not None:
            middle, half = domain
            wanted.setdefault(node.input, set()).update((middle, middle - half, middle + half))
        elif isinstance(node, Product) and node.a == node.b:
            wanted.setdefault(node.a, set()).add(0.0)
    found: _Sizes = {}
    for node, values in graph.steps(sample):
        for middle in wanted.get(node.output, ()):
            sizes = np.abs(values - middle)
            most = sizes.max() or 1.0
            each = [
                float((((sizes / most) ** 2**log).sum(axis=1) ** 0.5**log).max()) * most
                for log in _SQUARINGS
            ]
            found[node.output, middle] = np.array(each)
    return found


@dataclass(frozen=True, eq=False)
class _Doubt:
    """A doubt.

    gain    how far outputs are off where it is 1, relative to their sizes
    limit   the largest that passes
    most    the largest of any accepted input, in terms of the limit
    """

    node: Affine
    gain: float
    limit: float
    most: float


class _Walk:
    """The ranges of all values, with the norms that they rest on."""

    def __init__(
        self,
        graph: Graph,
        box: Mapping[str, Range],
        sizes: _Sizes,
        margin: float,
        squares: frozenset[str],
    ) -> None:
        self.graph, self.sizes, self.margin = graph, sizes, margin
        self.norms: list[Norm] = []
        self.unproven: list[str] = []
        self.doubts: list[_Doubt] = []
        self.reach: dict[str, Range] = {}
        self.sums: dict[str, float] = {}
        self.made = {node.output: node for node in graph.nodes}
        for node in graph.nodes:
            if isinstance(node, Input):
                self.reach[node.output] = box[node.output]
                continue
            if isinstance(node, Evaluate):
                self._argument(node)
            elif isinstance(node, Product) and node.output in squares:
                self._factor(node)
            self.reach[node.output] = possible(node, self.reach, self.sums)

    def _argument(self, node: Evaluate) -> None:
        """Guard the argument of a polynomial where it could leave the domain."""
        domain = _domain(node)
        if domain is None:
            return
        middle, half = domain
        low, high = self.reach[node.input]
        # The polynomials of a composition bring values into the next one's domain, but for errors.
        is_stage = isinstance(self.made[node.input], Evaluate)
        most = half * (1 + (_STAGE if is_stage else _ROUNDING))
        above, below = bool((high - middle > most).any()), bool((middle - low > most).any())
        if above or below:
            # A side that no input leaves needs no proof.
            sides = [(middle, half)]
            sides += [] if below else [(middle - half, 2 * half)]
            sides += [] if above else [(middle + half, 2 * half)]
            self._guard(node, sides)
        self._clip(node.input, middle - half, middle + half)

    def _factor(self, node: Product) -> None:
        """Guard what is squared by its sum of squares, which is there already."""
        known = self.sizes[node.a, 0.0]
        size = (1 + max(self.margin, _LEAST_MARGIN)) * float(known[0])
        low, high = self.reach[node.a]
        largest = np.maximum(np.abs(low), np.abs(high))
        if size > 0 and float(np.square(largest).sum()) > size * size:
            self._append(node.a, node, (0.0, size), 1)
            self._clip(node.a, -size, size)
            self.sums[node.output] = size * size

    def _guard(self, node: Evaluate, sides: Sequence[tuple[float, float]]) -> None:
        """By the least power, around the first of some middles, for which the sample has room."""
        for most, (middle, size) in product(_SHARES, sides):
            known = self.sizes[node.input, middle] / size
            for log, share in zip(_SQUARINGS, known, strict=True):
                if share <= most:
                    self._append(node.input, node, (middle, size), log)
                    return
        self.unproven.append(node.input)

    def _append(self, name: str, node: Node, within: tuple[float, float], log: int) -> None:
        (middle, size), (low, high) = within, self.reach[name]
        with np.errstate(over="ignore"):
            shares = np.maximum(np.abs(low - middle), np.abs(high - middle)) / size
            most = float((shares**2**log).sum())
        self.norms.append(Norm(name, str(node.source), middle, size, log, most))

    @property
    def unit(self) -> float:
        """The limit of norms and doubts: of a doubt alone its own, which needs no weights."""
        return 1.0 if self.norms or len(self.doubts) != 1 else self.doubts[0].limit

    @property
    def most(self) -> float:
        """The largest sum of any accepted input; 0 if there is none."""
        found = [*(norm.most for norm in self.norms), *(doubt.most for doubt in self.doubts)]
        return self.unit * max(found, default=0.0)

    @property
    def scale_and_room(self) -> tuple[int, float]:
        """Bits by which sums are scaled down, and those they need besides, so that none wraps."""
        if not self.norms and not self.doubts:
            return 0, 0.0
        room = _bits(self.reach, self.graph.outputs) + _ROOM_BITS
        more = log2(max(self.most, 1.0)) - room
        bits = min(max(ceil(more), 0), _SCALE_BITS) if more < inf else _SCALE_BITS
        return bits, max(more - bits, 0.0)

    def _clip(self, name: str, low: float, high: float) -> None:
        least, most = self.reach[name]
        self.reach[name] = np.clip(least, low, high), np.clip(most, low, high)


def _with_output(graph: Graph, walk: _Walk) -> Guarded:
    """The graph with the powers and sums of the norms, as one more output."""
    if not walk.norms and not walk.doubts:
        return Guarded(graph, (), 1.0, walk.reach, tuple(walk.unproven))
    bits, room = walk.scale_and_room
    levels = 0 if room <= _FIRST_BITS or room == inf else ceil(room / LEAST_SCALE)
    unit = walk.unit * 2.0**-bits
    powers, count = _Powers(graph), len(walk.norms) + len(walk.doubts)
    rows: list[tuple[int, str, Floats, NDArray[np.int64]]] = []
    bias: list[float] = []
    for norm in walk.norms:
        name = powers.of(norm)
        size = powers.sizes[name]
        weight = unit * powers.unit(norm) ** -(2.0**norm.log)
        rows.append((len(bias), name, np.full(size, weight), np.arange(size)))
        bias.append(0.0)
    for doubt in walk.doubts:
        # Of a doubt alone exactly 1.
        share, row = unit / doubt.limit, len(bias)
        rows += [(row, name, share * own.data, own.indices) for name, own in doubt.node.terms]
        bias.append(share * float(doubt.node.bias[0]))
    merged: dict[str, sparse.csr_array] = {}
    for row, name, weights, columns in rows:
        places = np.full(columns.size, row), columns
        own = sparse.csr_array((weights, places), (count, powers.sizes[name]))
        merged[name] = sparse.csr_array(merged[name] + own) if name in merged else own
    check = Affine(powers.fresh(GUARD), (count,), tuple(merged.items()), np.array(bias))
    unproven = (*walk.unproven, *(norm.value for norm in walk.norms if room == inf))
    others = (node for node in graph.nodes if node.output not in graph.doubts)
    made = replace(
        graph,
        nodes=(*others, *powers.nodes, check),
        outputs=(*graph.outputs, check.output),
        doubts={},
        spare_levels={check.output: levels},
    )
    reach = dict(walk.reach)
    if room <= _FIRST_BITS:
        reach[check.output] = np.zeros(count), np.full(count, walk.most * 2.0**-bits)
    doubts = tuple(str(doubt.node.source) for doubt in walk.doubts)
    limits = tuple(doubt.gain * doubt.limit for doubt in walk.doubts)
    return Guarded(made, tuple(walk.norms), unit, reach, unproven, doubts=doubts, limits=limits)


@dataclass(eq=False)
class _Powers:
    """The nodes x^2, x^4, ... of guarded values; squares that the graph has are taken."""

    graph: Graph
    nodes: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sizes = {node.output: node.size for node in self.graph.nodes}
        self.squares = {
            node.a: node.output
            for node in self.graph.nodes
            if isinstance(node, Product) and node.a == node.b
        }

    def unit(self, norm: Norm) -> float:
        """The divisor of powers, before they are taken to p."""
        return 1.0 if self._is_moved(norm) else norm.size

    @staticmethod
    def _is_moved(norm: Norm) -> bool:
        """Whether a map brings it to [-1, 1] first, which takes a level."""
        return norm.middle != 0.0 or (norm.log > 1 and norm.size != 1.0)

    def of(self, norm: Norm) -> str:
        """The name of the value's power p."""
        name = norm.value
        if self._is_moved(norm):
            size = self.sizes[name]
            matrix = sparse.csr_array(sparse.eye_array(size) / norm.size)
            shift = np.full(size, -norm.middle / norm.size)
            name = self._add(Affine(self.fresh(f"{name}.unit"), (size,), ((name, matrix),), shift))
        for log in range(norm.log):
            if name not in self.squares:
                size = self.sizes[name]
                stem = self.fresh(f"{norm.value}^{2 ** (log + 1)}")
                self.squares[name] = self._add(Product(stem, (size,), name, name))
            name = self.squares[name]
        return name

    def _add(self, node: Node) -> str:
        self.nodes.append(node)
        self.sizes[node.output] = node.size
        return node.output

    def fresh(self, stem: str) -> str:
        """A name that no value has."""
        found, count = stem, 0
        while found in self.sizes:
            count += 1
            found = f"{stem}.{count}"
        return found
