"""Evaluation keys in memory: loaded once for many runs, within the memory that the limits leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from cloakwork.errors import LoadError, ServingError
from cloakwork.serving import refusals
from cloakwork.serving.servable import load_keys

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cloakwork.fhe.keys.evaluation import EvaluationKeys
    from cloakwork.serving.keystore import KeySet, KeyStore

_CHECKSUM_BYTES = 32


@dataclass
class Loaded:
    """A key set in memory, and how many runs use it."""

    keys: EvaluationKeys
    size_bytes: int
    used: float
    pins: int = 0


class ResidentKeys:
    """Key sets in memory; the least recently used go first, never one that a run uses."""

    def __init__(
        self, limit_bytes: int, insecure: bool, forget: Callable[[EvaluationKeys], None]
    ) -> None:
        self._limit, self._insecure, self._forget = limit_bytes, insecure, forget
        self._held: dict[str, Loaded] = {}
        # A lock is held by those who load a set, or wait for it.
        self._loading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._promised = 0

    @property
    def used_bytes(self) -> int:
        """Bytes of all loaded keys, and of those that are being loaded."""
        return sum(one.size_bytes for one in self._held.values()) + self._promised

    @asynccontextmanager
    async def using(self, fingerprint: str, path: Path) -> AsyncIterator[EvaluationKeys]:
        """Keys for a run, loaded from their file unless they are in memory.

        Raises ServingError: 413 for keys that never fit, 503 while others in use leave no room.
        """
        lock = self._loading.setdefault(fingerprint, asyncio.Lock())
        async with lock:
            one = self._held.get(fingerprint)
            if one is None:
                one = await self._load(fingerprint, path)
            one.pins += 1
        try:
            yield one.keys
        finally:
            one.pins -= 1
            one.used = monotonic()

    async def _load(self, fingerprint: str, path: Path) -> Loaded:
        # A file holds half of each key; the other half is expanded from its seed, and stored words
        # may be narrower than those in memory.
        try:
            expected = 2 * path.stat().st_size
        except FileNotFoundError:
            raise LoadError("the file is not there any more") from None
        self._make_room(expected)
        self._promised += expected
        try:
            keys = await asyncio.to_thread(_checked, fingerprint, path, self._insecure)
        finally:
            self._promised -= expected
        one = Loaded(keys, keys.size_bytes, monotonic())
        self._held[fingerprint] = one
        return one

    def _make_room(self, wanted: int) -> None:
        if wanted > self._limit:
            hint = "start the server with more memory, or make fewer rotation keys"
            got = f"about {wanted} bytes"
            limit = f"keys of at most {self._limit} bytes in memory"
            raise ServingError(refusals.LARGE, "keys", limit, got, hint)
        unused = [name for name, one in self._held.items() if not one.pins]
        for name in sorted(unused, key=lambda name: self._held[name].used):
            if self.used_bytes + wanted <= self._limit:
                return
            self.drop(name)
        if self.used_bytes + wanted > self._limit:
            raise refusals.busy("memory", f"{wanted} bytes for keys", "other keys in use", 5)

    def drop(self, fingerprint: str) -> None:
        """Forget keys that no run uses."""
        one = self._held.get(fingerprint)
        if one is not None and not one.pins:
            self._forget(self._held.pop(fingerprint).keys)


class StoredKeys:
    """Clients' keys for an engine: on the disk, and in memory while runs use them."""

    def __init__(self, store: KeyStore, resident: ResidentKeys) -> None:
        self._store, self._resident = store, resident

    def get(self, fingerprint: str) -> KeySet:
        """A complete set; errors as of `KeyStore.get`."""
        return self._store.get(fingerprint)

    @asynccontextmanager
    async def using(self, fingerprint: str) -> AsyncIterator[EvaluationKeys]:
        """Keys in memory; errors as of `ResidentKeys.using`.

        Raises ServingError, 404, for a file that was damaged on the disk: it is removed.
        """
        using = self._resident.using(fingerprint, self._store.path(fingerprint))
        async with AsyncExitStack() as stack:
            try:
                loaded = await stack.enter_async_context(using)
            except LoadError:
                raise self._store.damaged(fingerprint) from None
            yield loaded


def _checked(fingerprint: str, path: Path, insecure: bool) -> EvaluationKeys:
    """The keys of a file whose checksum is the fingerprint; the loader compares the checksum."""
    from cloakwork import _core

    mapped = _core.map_file(path)
    found = bytes(memoryview(mapped[-_CHECKSUM_BYTES:])).hex() if len(mapped) else ""
    if found != fingerprint:
        raise LoadError(f"the file's checksum is {found[:8]}..., not {fingerprint[:8]}...")
    try:
        return load_keys(path, insecure=insecure)
    except LoadError as error:
        # Its reader is a client, who does not know the server's folders.
        raise LoadError(str(error).replace(str(path), "the upload")) from None
