"""Clients of a recorded program: their evaluation keys, and values of one secret.

A program serves many clients: evaluation keys that its function uses become inputs.  Other values
of one secret, such as an encrypted constant, tie the program to that secret.
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
    """Evaluation keys, which programs take in addition to ciphertexts."""

    @property
    def key(self) -> str:
        """The fingerprint of their secret."""

    @property
    def home(self) -> Companions:
        """The same keys on the CPU."""

    def tensors(self) -> dict[str, _core.Tensor]:
        """All key tensors, by name."""


class Client(NamedTuple):
    """The client of a run: the secret's fingerprint, and evaluation keys if they were given."""

    key: str
    companions: Companions | None


class Owner(str):
    """The fingerprint of a secret during recording: any client's may replace it."""

    __slots__ = ()


@dataclass
class Recorded:
    """The keys and contexts that one recorded function used.

    bundles   the tensors of evaluation keys by name, by the bundle's name in the program
    owners    the name of the bundle of keys, by the secret's fingerprint
    tied      fingerprints of secrets whose values the program holds
    """

    reserved: Collection[str]
    bundles: dict[str, dict[str, _core.Tensor]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    tied: set[str] = field(default_factory=set)
    _seen: list[Companions] = field(default_factory=list)

    def meet(self, companions: Companions) -> None:
        """Make the tensors of these keys inputs when the function uses them."""
        if any(one is companions for one in self._seen):
            return
        bundle = self.owners.get(companions.key) or self._fresh_name()
        named = companions.tensors()
        if not all(_core.input_when_met(one, f"{bundle}.{name}") for name, one in named.items()):
            # No function is being recorded.
            return
        self._seen.append(companions)
        self.owners[companions.key] = bundle
        self.bundles[bundle] = named | self.bundles.get(bundle, {})

    def _fresh_name(self) -> str:
        """`keys`, or the first free name `keys2`, `keys3`, ..."""
        taken = {*self.reserved, *self.bundles}
        names = chain(["keys"], (f"keys{number}" for number in count(2)))
        return next(name for name in names if name not in taken)


_CURRENT: ContextVar[Recorded | None] = ContextVar("recorded", default=None)


@contextmanager
def recording(reserved: Collection[str]) -> Iterator[Recorded]:
    """Record the keys and secrets used inside; bundles avoid the reserved names."""
    recorded = Recorded(reserved)
    token = _CURRENT.set(recorded)
    try:
        yield recorded
    finally:
        _CURRENT.reset(token)


def meet(companions: Companions) -> None:
    """Announce the use of evaluation keys to the function that is being recorded, if any."""
    recorded = _CURRENT.get()
    if recorded is not None:
        recorded.meet(companions)


def pair(one: str, other: str) -> None:
    """Announce an operation on values of these secrets to the recorded function, if any."""
    recorded = _CURRENT.get()
    if recorded is not None and isinstance(one, Owner) is not isinstance(other, Owner):
        recorded.tied.add(str(one if isinstance(other, Owner) else other))
