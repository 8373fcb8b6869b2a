"""The limits of a server, checked when it starts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite

from cloakwork.errors import ParamError
from cloakwork.lazy import public

_MIB, _GIB = 1 << 20, 1 << 30


@public("cloakwork.serving")
@dataclass(frozen=True, kw_only=True)
class Limits:
    """The memory, disk and time that clients may use.

    request_bytes     the longest body of a run
    held_bytes        all bytes of connections, requests, waiting inputs and kept results; default:
                      a quarter of what the runs leave of `memory_bytes`, 16 MiB to 1 GiB, or
                      twice what one run of a model needs
    client_bytes      those of the requests and results of one client, by its address; default:
                      half of `held_bytes`
    connections       open ones; a new one takes the place of one that waits for a request
    client_connections
                      those of one client
    head_seconds      until the head of a request has arrived
    idle_seconds      a connection without a next request is closed after it
    request_seconds   of a whole request, from its first byte to the last one of its answer
    queue             runs that wait or run; a request beyond them gets 503 with Retry-After
    parallel          runs at a time, each with `threads` threads (default: the cores, shared)
    batch             runs of the same model and keys that a worker takes at once
    memory_bytes      the planned peak times `parallel`, `held_bytes`, and loaded keys; default:
                      80 % of the machine's memory
    key_set_bytes     the longest file of evaluation keys
    keys_bytes        all of them on disk, with those that are being uploaded
    key_seconds       key sets that nobody used for so long, while a server ran, are removed
    upload_seconds    unfinished uploads that got nothing for so long are removed
    read_seconds      the longest pause of a client that sends a body, or reads an answer
    rate_bytes        the least bytes of a body a second, on average, after `read_seconds`
    wait_seconds      the longest time that a request waits for its result; then it gets 202
    run_seconds       the longest run
    abandon_seconds   a run without any client that asks for it for so long is cancelled
    result_seconds    how long results are kept for repeated requests
    results_bytes     all kept results; the oldest go first
    insecure          accept, with an InsecureWarning, parameters below 128 bits of security: for
                      tests

    Raises ParamError for a limit that is not positive.
    """

    request_bytes: int = 256 * _MIB
    held_bytes: int | None = None
    client_bytes: int | None = None
    connections: int = 512
    client_connections: int = 128
    head_seconds: float = 10.0
    idle_seconds: float = 5.0
    request_seconds: float = 3600.0
    queue: int = 64
    parallel: int = 1
    threads: int | None = None
    batch: int = 8
    memory_bytes: int | None = None
    key_set_bytes: int = 8 * _GIB
    keys_bytes: int = 64 * _GIB
    key_seconds: float = 7 * 86400.0
    upload_seconds: float = 3600.0
    read_seconds: float = 30.0
    rate_bytes: int = 1024
    wait_seconds: float = 25.0
    run_seconds: float = 600.0
    abandon_seconds: float = 30.0
    result_seconds: float = 300.0
    results_bytes: int = _GIB
    insecure: bool = False

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "insecure":
                if type(value) is not bool:
                    raise ParamError("insecure", repr(value), "True or False")
                continue
            if value is None and one.default is None:
                continue
            whole = not one.name.endswith("_seconds")
            right = type(value) is int if whole else type(value) in (int, float)
            if not right or not isfinite(value) or value <= 0:
                allowed = "a positive integer" if whole else "seconds above 0"
                raise ParamError(one.name, repr(value), allowed)
