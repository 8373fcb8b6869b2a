"""The places of bootstrapping: the levels of every value, by dynamic programming.

A model is a sequence of stages, each between two points that all values pass: inside are affine
maps, products and polynomials that use up levels.  Before a stage its operands may be refreshed.
For every level at which a stage can begin, the least cost of everything before it is known from
those of the previous stage; so are the places (as in Orion, arXiv 2311.03470, there as
shortest paths).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from cloakwork.errors import ParamError


@dataclass(frozen=True)
class Stage:
    """What is computed between two points.

    levels    that it uses up
    seconds   its time when it begins at a level
    live      ciphertexts that a refresh before it bootstraps
    """

    name: str
    levels: int
    seconds: Callable[[int], float]
    live: int = 1


@dataclass(frozen=True)
class Refresh:
    """Bootstrapping, as the placing sees it.

    seconds     of one ciphertext
    level_in    the lowest level from which it works
    level_out   the level of its results
    """

    seconds: float
    level_in: int
    level_out: int

    def __post_init__(self) -> None:
        if not 0 <= self.level_in < self.level_out:
            raise ParamError("level_out", self.level_out, f"above level_in, {self.level_in}")
        if not 0 < self.seconds < inf:
            raise ParamError("seconds", self.seconds, "a positive time")


@dataclass(frozen=True)
class Placing:
    """Where to refresh, and the levels.

    refreshed   by stage: whether its operands are refreshed before it
    levels      at which each stage begins; a value above it is lowered
    seconds     of all
    """

    refreshed: tuple[bool, ...]
    levels: tuple[int, ...]
    seconds: float

    @property
    def count(self) -> int:
        """Of the stages with a refresh."""
        return sum(self.refreshed)


@dataclass(frozen=True)
class _Way:
    """The cheapest way to a level before a stage."""

    seconds: float
    refreshed: tuple[bool, ...] = ()
    levels: tuple[int, ...] = ()


def placed(
    stages: Sequence[Stage], top: int, refresh: Refresh | None = None, *, last: int = 0
) -> Placing:
    """The cheapest places for refreshes, and levels for stages.

    top    the level of fresh ciphertexts
    last   the least level of results

    A stage may begin at any level not above that of its operands: lower levels are cheaper.
    Raises ParamError for a stage that is deeper than what a refresh leaves, and without `refresh`
    for a chain that is too short.
    """
    if not 0 <= last <= top:
        raise ParamError("top", top, f"the level of results, {last}, or more")
    ways = {top: _Way(0.0)}
    for stage in stages:
        ways = _after(stage, _before(stage, ways, refresh))
        if not ways:
            raise ParamError("levels", stage.levels, _most(stage, top, refresh))
    fitting = [way for level, way in ways.items() if level >= last]
    if not fitting:
        raise ParamError("last", last, "a level that results reach: begin with a longer chain")
    best = min(fitting, key=lambda way: (way.seconds, sum(way.refreshed)))
    return Placing(best.refreshed, best.levels, best.seconds)


def _before(
    stage: Stage, ways: dict[int, _Way], refresh: Refresh | None
) -> dict[int, tuple[_Way, bool]]:
    """The cheapest way to each level at which the stage may begin, with or without a refresh."""
    found: dict[int, tuple[_Way, bool]] = {}

    def offer(level: int, way: _Way, refreshed: bool) -> None:
        for lower in range(stage.levels, level + 1):
            known = found.get(lower)
            if known is None or way.seconds < known[0].seconds:
                found[lower] = (way, refreshed)

    for level, way in ways.items():
        offer(level, way, False)
        if refresh is not None and level >= refresh.level_in:
            seconds = way.seconds + stage.live * refresh.seconds
            offer(refresh.level_out, _Way(seconds, way.refreshed, way.levels), True)
    return found


def _after(stage: Stage, before: dict[int, tuple[_Way, bool]]) -> dict[int, _Way]:
    """The cheapest way to each level after the stage."""
    return {
        level - stage.levels: _Way(
            way.seconds + stage.seconds(level),
            (*way.refreshed, refreshed),
            (*way.levels, level),
        )
        for level, (way, refreshed) in before.items()
    }


def _most(stage: Stage, top: int, refresh: Refresh | None) -> str:
    if refresh is None:
        return f"{stage.name}: levels that a chain of {top} has left: bootstrap, or a longer chain"
    most = max(refresh.level_out, top)
    return f"{stage.name}: at most {most} levels: divide the stage, or begin with a longer chain"
