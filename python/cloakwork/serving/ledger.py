"""The bytes that a server holds for its clients: one pool, and a share of it for each client.

Each holder of bytes has a claim, and grows it before it takes more.  A claim that would exceed the
pool is refused with 503, one beyond its client's share with 429; both say when to ask again.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Self

from cloakwork.errors import ServingError
from cloakwork.serving import refusals

if TYPE_CHECKING:
    from types import TracebackType

_RETRY_SECONDS = 5
# The part of an IPv6 address that a provider gives to one subscriber.
_SUBSCRIBER_BITS = 64


def client_at(host: str | None) -> str:
    """The client at an address: IPv6 addresses of one /64 network are one client."""
    if host is None:
        return "unknown"
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        bits = 128 - _SUBSCRIBER_BITS
        return f"{IPv6Address(int(address) >> bits << bits)}/{_SUBSCRIBER_BITS}"
    return str(address)


class Ledger:
    """A pool of bytes, and how many of them each client has.

    make_room   called before a refusal with a client, or None for all, and the missing bytes:
                releases claims of what can be forgotten
    """

    def __init__(self, pool_bytes: int, client_bytes: int) -> None:
        self.pool_bytes, self.client_bytes = pool_bytes, client_bytes
        self.used_bytes = 0
        self.make_room: Callable[[str | None, int], None] = lambda _client, _missing: None
        self._clients: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether no byte is left."""
        return self.used_bytes >= self.pool_bytes

    def used_by(self, client: str) -> int:
        """The bytes of a client."""
        return self._clients.get(client, 0)

    def claim(self, client: str, size_bytes: int = 0) -> Claim:
        """A claim for a client; errors as of `Claim.resize`."""
        made = Claim(self, client)
        made.resize(size_bytes)
        return made

    def check(self, client: str | None, more: int, held: int = 0) -> None:
        """ServingError, 429 or 503, unless a client can have as many more bytes.

        held   what the claim has already: one beyond a whole share never fits, which is 413

        No share counts for None: such bytes are limited by their number.
        """
        if client is not None:
            if (whole := held + more) > (most := min(self.client_bytes, self.pool_bytes)):
                hint = "send less, or ask for a larger --client-quota and --held-quota"
                wanted = f"at most {most} bytes of one client"
                raise ServingError(refusals.LARGE, "memory", wanted, f"{whole}", hint)
            self._relieve(client, self.used_by(client) + more - self.client_bytes)
            if (used := self.used_by(client)) + more > self.client_bytes:
                wanted = f"at most {self.client_bytes} bytes of one client"
                hint = f"ask again after {_RETRY_SECONDS} s, with fewer requests at a time"
                got = f"{used + more}"
                raise ServingError(refusals.MANY, "memory", wanted, got, hint, _RETRY_SECONDS)
        self._relieve(None, self.used_bytes + more - self.pool_bytes)
        if (used := self.used_bytes) + more > self.pool_bytes:
            wanted = f"at most {self.pool_bytes} bytes of all clients"
            raise refusals.busy("memory", wanted, f"{used + more}", _RETRY_SECONDS)

    def _relieve(self, client: str | None, missing: int) -> None:
        if missing > 0:
            self.make_room(client, missing)

    def _add(self, client: str | None, more: int) -> None:
        self.used_bytes += more
        if client is None:
            return
        left = self._clients.get(client, 0) + more
        if left:
            self._clients[client] = left
        else:
            self._clients.pop(client, None)


class Claim:
    """Bytes of the pool, until they are released."""

    def __init__(self, ledger: Ledger, client: str | None) -> None:
        self.client, self.size_bytes = client, 0
        self._ledger = ledger

    def resize(self, size_bytes: int) -> None:
        """Have as many bytes; ServingError, 413, 429 or 503, where there are not as many more.

        A refused claim stays as it was.
        """
        if size_bytes > self.size_bytes:
            self._ledger.check(self.client, size_bytes - self.size_bytes, self.size_bytes)
        self.settle(size_bytes)

    def settle(self, size_bytes: int) -> None:
        """Have as many bytes, which are in memory already: never refused."""
        self._ledger._add(self.client, size_bytes - self.size_bytes)
        self.size_bytes = size_bytes

    def release(self) -> None:
        """Give all bytes back."""
        self.settle(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
