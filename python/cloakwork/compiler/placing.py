"""The places of bootstrapping: the levels of every value, by dynamic programming.

A model is a sequence of stages that each make one value from earlier ones and use up levels.
Before a stage, operands may be refreshed.  After each stage the levels of those values count that
later stages read; for each such combination the least cost of everything before is known (as in
Orion, arXiv 2311.03470, there as shortest paths).  So a value that waits beside others, as those
of residual connections do, is refreshed only where that is cheapest: where it meets the others, or
after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from math import inf

from cloakwork.errors import ParamError

# Combinations of levels that are kept after a stage: the cheapest of them.
_WAYS_MAX = 2000


@dataclass(frozen=True)
class Stage:
    """The node that makes one value.

    name       of the value
    reads      the values that it reads, each with the levels that it uses up between that value
               and its result; none for an input, which is at the highest level of fresh ciphertexts
    seconds    its time when its result has a level
    live       ciphertexts of the value, which a refresh of it bootstraps
    refreshes  whether its value can be bootstrapped: values may be too large
    """

    name: str
    reads: Mapping[str, int]
    seconds: Callable[[int], float]
    live: int = 1
    refreshes: bool = True


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

    refreshed   by stage: the operands that are refreshed before it
    levels      by stage: the level of its result; operands above what it needs are lowered
    seconds     of all
    """

    refreshed: tuple[tuple[str, ...], ...]
    levels: tuple[int, ...]
    seconds: float

    @property
    def count(self) -> int:
        """Of the refreshed values."""
        return sum(map(len, self.refreshed))


@dataclass(frozen=True)
class _Way:
    """The cheapest way to levels of the live values, after a stage; `before` it another way."""

    seconds: float
    count: int = 0
    refreshed: tuple[str, ...] = ()
    level: int = 0
    before: _Way | None = None


# The levels of live values, in the order of `_Placer.live`, with the cheapest way to them.
_Ways = dict[tuple[int, ...], _Way]


def placed(
    stages: Sequence[Stage],
    top: int,
    refresh: Refresh | None = None,
    *,
    results: Sequence[str] = (),
    last: int = 0,
) -> Placing:
    """The cheapest places for refreshes, and levels for stages.

    top       the level of fresh ciphertexts
    results   names of values that are returned, by default the last
    last      the least level of results

    A result may have any level that its operands allow: lower levels are cheaper.
    Raises ParamError for a stage that is deeper than what a refresh leaves, and without `refresh`
    for a chain that is too short.
    """
    if not 0 <= last <= top:
        raise ParamError("top", top, f"the level of results, {last}, or more")
    return _Placer(stages, top, refresh, tuple(results) or (stages[-1].name,), last).found()


class _Placer:
    def __init__(
        self,
        stages: Sequence[Stage],
        top: int,
        refresh: Refresh | None,
        results: tuple[str, ...],
        last: int,
    ) -> None:
        self.stages, self.top, self.refresh = stages, top, refresh
        self.results, self.last = results, last
        self.made = {stage.name: stage for stage in stages}
        self.read_at = {name: place for place, stage in enumerate(stages) for name in stage.reads}
        self.live: tuple[str, ...] = ()

    def found(self) -> Placing:
        ways: _Ways = {(): _Way(0.0)}
        for place, stage in enumerate(self.stages):
            after = tuple(
                name
                for name in (*self.live, stage.name)
                if self.read_at.get(name, -1) > place and name not in self.results
            )
            after += tuple(name for name in self.results if name in (*self.live, stage.name))
            ways = self._kept(self._after(stage, ways, after))
            if not ways:
                raise ParamError("levels", max(stage.reads.values(), default=0), self._most(stage))
            self.live = after
        places = [self.live.index(name) for name in self.results]
        fitting = [
            way for levels, way in ways.items() if all(levels[k] >= self.last for k in places)
        ]
        if not fitting:
            raise ParamError("last", self.last, "a level that results reach: take a longer chain")
        return self._placing(min(fitting, key=lambda way: (way.seconds, way.count)))

    def _after(self, stage: Stage, ways: _Ways, after: tuple[str, ...]) -> _Ways:
        found: _Ways = {}
        for levels, way in ways.items():
            for held, refreshed in self._refreshed(stage, levels):
                cost = sum(self.made[name].live for name in refreshed)
                before = way.seconds + (cost * self.refresh.seconds if self.refresh else 0.0)
                most = min((held[x] - used for x, used in stage.reads.items()), default=self.top)
                for level in range(most + 1):
                    key = tuple(level if x == stage.name else held[x] for x in after)
                    seconds = before + stage.seconds(level)
                    known = found.get(key)
                    if known is None or seconds < known.seconds:
                        count = way.count + cost
                        found[key] = _Way(seconds, count, refreshed, level, way)
        return found

    def _refreshed(
        self, stage: Stage, levels: tuple[int, ...]
    ) -> Iterator[tuple[dict[str, int], tuple[str, ...]]]:
        """The levels by name before a stage, with any of its operands refreshed."""
        held = dict(zip(self.live, levels, strict=True))
        own = self.refresh
        can = [
            x
            for x in stage.reads
            if own and self.made[x].refreshes and own.level_in <= held[x] < own.level_out
        ]
        for chosen in product((False, True), repeat=len(can)):
            names = tuple(compress(can, chosen))
            assert own is not None or not names
            yield (held | dict.fromkeys(names, own.level_out) if own else held), names

    @staticmethod
    def _kept(ways: _Ways) -> _Ways:
        """The cheapest, without those for which others are as cheap with levels as high."""
        ordered = sorted(ways.items(), key=lambda item: (item[1].seconds, item[1].count))
        kept: _Ways = {}
        for levels, way in ordered:
            if not any(all(map(int.__ge__, other, levels)) for other in kept):
                kept[levels] = way
            if len(kept) == _WAYS_MAX:
                break
        return kept

    def _most(self, stage: Stage) -> str:
        if self.refresh is None:
            top = self.top
            return (
                f"{stage.name}: levels that a chain of {top} has left: bootstrap, or a longer chain"
            )
        most = max(self.refresh.level_out, self.top)
        return f"{stage.name}: at most {most} levels: divide the stage, or take a longer chain"

    @staticmethod
    def _placing(way: _Way) -> Placing:
        steps, step = [], way
        while step.before is not None:
            steps.append(step)
            step = step.before
        steps.reverse()
        return Placing(
            tuple(own.refreshed for own in steps), tuple(own.level for own in steps), way.seconds
        )
