"""The limits of servers, checked when they start."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite

from cloakwork.errors import ParamError
from cloakwork.lazy import public

_MIB, _GIB = 1 << 20, 1 << 30


@public("cloakwork.serving")
@dataclass(frozen=True, kw_only=True)
class ServerLimits:
    """The limits of every server: on connections, memory and time.

    request_bytes     the longest body of a request
    held_bytes        all bytes of connections, requests, waiting inputs and kept results
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
    memory_bytes      of all that the server computes and holds; default: 80 % of the machine's
                      memory
    read_seconds      the longest pause of a client that sends a body, or reads an answer
    rate_bytes        the least bytes of a body a second, on average, after `read_seconds`
    wait_seconds      the longest time that a request waits for its result; then it gets 202
    run_seconds       the longest run
    result_seconds    how long results are kept for repeated requests
    results_bytes     all kept results; the oldest go first

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
    memory_bytes: int | None = None
    read_seconds: float = 30.0
    rate_bytes: int = 1024
    wait_seconds: float = 25.0
    run_seconds: float = 600.0
    result_seconds: float = 300.0
    results_bytes: int = _GIB

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(one.default, bool):
                if type(value) is not bool:
                    raise ParamError(one.name, repr(value), "True or False")
                continue
            if value is None and one.default is None:
                continue
            whole = not one.name.endswith("_seconds")
            right = type(value) is int if whole else type(value) in (int, float)
            if not right or not isfinite(value) or value <= 0:
                allowed = "a positive integer" if whole else "seconds above 0"
                raise ParamError(one.name, repr(value), allowed)


@public("cloakwork.serving")
@dataclass(frozen=True, kw_only=True)
class Limits(ServerLimits):
    """The memory, disk and time that clients of models may use; beside those of `ServerLimits`.

    held_bytes        default: a quarter of what the runs leave of `memory_bytes`, 16 MiB to 1 GiB,
                      or twice what one run of a model needs
    memory_bytes      the planned peak times `parallel`, `held_bytes`, and loaded keys
    batch             runs of the same model and keys that a worker takes at once
    key_set_bytes     the longest file of evaluation keys
    keys_bytes        all of them on disk, with those that are being uploaded
    key_seconds       key sets that nobody used for so long, while a server ran, are removed
    upload_seconds    unfinished uploads that got nothing for so long are removed
    abandon_seconds   a run without any client that asks for it for so long is cancelled
    insecure          accept, with an InsecureWarning, parameters below 128 bits of security: for
                      tests
    """

    batch: int = 8
    key_set_bytes: int = 8 * _GIB
    keys_bytes: int = 64 * _GIB
    key_seconds: float = 7 * 86400.0
    upload_seconds: float = 3600.0
    abandon_seconds: float = 30.0
    insecure: bool = False


@public("cloakwork.serving")
@dataclass(frozen=True, kw_only=True)
class ProverLimits(ServerLimits):
    """The memory, disk and time that clients of a prover may use; beside those of `ServerLimits`.

    held_bytes        default: a sixteenth of `memory_bytes`, 16 to 256 MiB
    memory_bytes      a proof has what `held_bytes` and the data of loaded keys leave, over
                      `parallel`; beyond it, its tensors are spilled to disk, encrypted
    jobs_bytes        the inputs of all jobs that wait or run, which are on disk
    run_seconds       of a proof; default: an hour
    result_seconds    default: a day
    """

    queue: int = 10_000
    jobs_bytes: int = 64 * _GIB
    run_seconds: float = 3600.0
    result_seconds: float = 86400.0
