"""What a function meets while it is being recorded: clients' keys, and what belongs to one client.

A program serves many clients: tensors of evaluation keys that its function meets become inputs of
it.  What else belongs to one secret, such as an encrypted constant, ties the program to that one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, count
from typing import NamedTuple, Protocol, runtime_checkable

from cloakwork import _core


@runtime_checkable
class Companions(Protocol):
    """What programs take beside objects around tensors: evaluation keys."""

    @property
    def key(self) -> str:
        """The fingerprint of the secret that they belong to."""

    def tensors(self) -> dict[str, _core.Tensor]:
        """All of them, by name."""


class Client(NamedTuple):
    """Whose a run is: the secret's fingerprint, and evaluation keys if they were given."""

    key: str
    companions: Companions | None


class Owner(str):
    """The fingerprint of a secret where a function is recorded: any client's can stand for it."""

    __slots__ = ()


@dataclass
class Recorded:
    """What one function met.

    bundles   by what the program calls them, the tensors of evaluation keys by name
    owners    by fingerprints of secrets, what the bundle of their keys is called
    tied      fingerprints of secrets that the program holds something of
    """

    reserved: Collection[str]
    bundles: dict[str, dict[str, _core.Tensor]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    tied: set[str] = field(default_factory=set)
    _seen: list[Companions] = field(default_factory=list)

    def meet(self, companions: Companions) -> None:
        """Make the tensors of these keys inputs, once the function uses them."""
        if any(one is companions for one in self._seen):
            return
        bundle = self.owners.get(companions.key) or self._fresh_name()
        named = companions.tensors()
        if not all(_core.input_when_met(one, f"{bundle}.{name}") for name, one in named.items()):
            # Nothing is being recorded at the moment.
            return
        self._seen.append(companions)
        self.owners[companions.key] = bundle
        self.bundles[bundle] = named | self.bundles.get(bundle, {})

    def _fresh_name(self) -> str:
        """`keys`, if no parameter is called so and no other secret's are."""
        taken = {*self.reserved, *self.bundles}
        names = chain(["keys"], (f"keys{number}" for number in count(2)))
        return next(name for name in names if name not in taken)


_CURRENT: ContextVar[Recorded | None] = ContextVar("recorded", default=None)


@contextmanager
def recording(reserved: Collection[str]) -> Iterator[Recorded]:
    """Note what is met inside; bundles get none of the reserved names."""
    recorded = Recorded(reserved)
    token = _CURRENT.set(recorded)
    try:
        yield recorded
    finally:
        _CURRENT.reset(token)


def meet(companions: Companions) -> None:
    """Say that evaluation keys are about to be used; matters where a function is recorded."""
    recorded = _CURRENT.get()
    if recorded is not None:
        recorded.meet(companions)


def pair(one: str, other: str) -> None:
    """Say that what belongs to these secrets is about to be joined."""
    recorded = _CURRENT.get()
    if recorded is not None and isinstance(one, Owner) is not isinstance(other, Owner):
        recorded.tied.add(str(one if isinstance(other, Owner) else other))
