"""Plans of a model for one degree, with what they cost."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from cloakwork.compiler.costs import MEASURED, Ring, Work
from cloakwork.compiler.deep import Deep
from cloakwork.compiler.description import KeyLevels
from cloakwork.compiler.layouts import Grid, Layout
from cloakwork.compiler.lowering.affine import Candidates
from cloakwork.compiler.lowering.planning import GraphPlan
from cloakwork.compiler.lowering.throughput import BatchPlan
from cloakwork.compiler.nodes import Affine
from cloakwork.compiler.options import Mode
from cloakwork.compiler.report import NodeCost
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.sizing import Sizes

__all__ = ["Layouts", "is_cheaper", "ring_of", "sizes_of"]

# The ring on which affine maps are compared before parameters are known.
_NOMINAL_DEGREE = 1 << 14


class Layouts(NamedTuple):
    """A plan for one degree; `deep` with bootstrapping."""

    mode: Mode
    plan: GraphPlan | BatchPlan
    sizes: Sizes
    deep: Deep | None = None

    def ring(self, used: int) -> Ring:
        """After so many levels are used up."""
        return ring_of(self.sizes, used)

    @property
    def key_levels(self) -> KeyLevels:
        """The highest level at which each key is used."""
        if self.deep is not None:
            return self.deep.key_levels
        top, first = len(self.sizes.moduli) - 1, self.plan.first_product
        turns = {step: top - used for step, used in self.plan.rotations.items()}
        return KeyLevels(turns, None if first is None else top - first)

    @property
    def key_sizes(self) -> list[int]:
        """The bytes of each evaluation key in memory."""
        levels = self.key_levels.all
        if self.deep is not None:
            return list(map(self.deep.parameters.key_bytes, levels))
        rings = (self.ring(len(self.sizes.moduli) - 1 - level) for level in levels)
        return [16 * own.digits * (own.limbs + own.special) * own.degree for own in rings]

    @property
    def key_bytes(self) -> int:
        """Of all evaluation keys in memory."""
        return sum(self.key_sizes)

    @property
    def constant_bytes(self) -> int:
        """Of the encoded weights, and of a bootstrapping's maps."""
        if self.deep is not None:
            return self.deep.constant_bytes + self.deep.map_bytes
        return self.plan.constant_bytes(self.ring, compact=self.mode == "memory")

    @property
    def seconds(self) -> float:
        """The estimated time of a run."""
        if self.deep is not None:
            return self.deep.seconds
        return sum(node.seconds for node in self.nodes)

    @property
    def nodes(self) -> tuple[NodeCost, ...]:
        """The estimated cost of each step."""
        if self.deep is not None:
            return tuple(self.deep.costs())
        return tuple(self.plan.costs(MEASURED, self.ring))


def is_cheaper(first: Affine, second: Affine, both: Affine) -> bool:
    """Whether one map costs less than two, one after the other, at an ordinary level."""
    ring = Ring(_NOMINAL_DEGREE, 5, 2, 3)

    def price(work: Work) -> float:
        return MEASURED.seconds(work, ring)

    slots, size = ring.degree // 2, first.terms[0][1].shape[1]
    if len(first.terms) > 1 or max(size, first.size, second.size) > slots:
        return both.nonzeros <= first.nonzeros + second.nonzeros
    name, geometry = first.inputs[0], first.source.geometry
    grid = Grid(*geometry.inputs[1:], 1) if geometry is not None else None
    images = Layout.images(geometry.inputs, slots, grid) if geometry and grid else None
    layout = images or Layout.dense(size, slots)
    one, _ = Candidates(first, {name: layout}, slots, price).best()
    two, _ = Candidates(second, {first.output: one.layout}, slots, price).best()
    whole, _ = Candidates(both, {name: layout}, slots, price).best()
    return price(whole.work) <= price(one.work) + price(two.work)


def sizes_of(parameters: Parameters) -> Sizes:
    """The sizes of given parameters."""
    moduli, special = (
        tuple(modulus.bit_length() for modulus in own)
        for own in (parameters.moduli, parameters.special)
    )
    return Sizes(parameters.degree, moduli, special, round(log2(parameters.scale)))


def ring_of(sizes: Sizes, used: int) -> Ring:
    """The ring after so many levels are used up."""
    limbs = max(len(sizes.moduli) - used, 1)
    special = len(sizes.special)
    return Ring(sizes.degree, limbs, special, -(-limbs // special))
