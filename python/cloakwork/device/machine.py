"""Facts about this machine: its processor, caches, memory nodes and GPUs.

Linux and NVIDIA's driver tell them; facts that they do not tell are None or empty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from cloakwork import _core
from cloakwork.lazy import public


@public("cloakwork.backend")
@dataclass(frozen=True)
class Cache:
    """The caches of one level and kind."""

    level: int
    """1 is next to the core."""
    kind: str
    """The content: "data", "instruction" or "unified"."""
    size_bytes: int
    """Bytes of one of them."""
    count: int
    """How many the machine has; cores that share a cache count it once."""


@public("cloakwork.backend")
@dataclass(frozen=True)
class NumaNode:
    """Memory, and the processors next to it."""

    index: int
    cpus: str
    """Numbers of its processors, as Linux lists them, such as "0-15,32-47"."""
    memory_bytes: int | None


@public("cloakwork.backend")
@dataclass(frozen=True)
class Gpu:
    """A GPU that NVIDIA's driver lists."""

    name: str
    memory_bytes: int
    """All of its memory."""
    compute_capability: tuple[int, int]
    """Major and minor, such as (9, 0)."""


@dataclass(frozen=True)
class GpuDriver:
    """NVIDIA's driver."""

    version: str
    cuda: tuple[int, int]
    """The newest version of CUDA that it serves, major and minor."""


@dataclass(frozen=True)
class Machine:
    """The processor of this machine, and its GPUs."""

    model: str | None
    """The maker's name of the processor."""
    cores: int | None
    """Physical cores, of all sockets, whether this process may use them or not."""
    caches: tuple[Cache, ...]
    """The smallest level first."""
    numa_nodes: tuple[NumaNode, ...]
    gpus: tuple[Gpu, ...]
    gpu_driver: GpuDriver | None
    gpu_reason: str
    """Why programs run on no GPU, as far as can be said without CUDA; "" if they can."""


@cache
def machine() -> Machine:
    """The facts, read once in a process.

    >>> from cloakwork.device.machine import machine
    >>> {cache.kind for cache in machine().caches} <= {"data", "instruction", "unified"}
    True
    """
    facts = _core.machine()
    driver = facts["gpu_driver"]
    gpus = tuple(Gpu(*gpu) for gpu in facts["gpus"])
    nothing = "the NVIDIA driver lists no GPU"
    return Machine(
        model=facts["model"],
        cores=facts["cores"],
        caches=tuple(Cache(*one) for one in facts["caches"]),
        numa_nodes=tuple(NumaNode(*node) for node in facts["numa_nodes"]),
        gpus=gpus,
        gpu_driver=driver and GpuDriver(*driver),
        gpu_reason=facts["no_gpus"] or ((facts["no_cuda"] or "") if gpus else nothing),
    )


def machine_with_cuda() -> Machine:
    """The facts, with the reason that using `cuda:0` gives: this process uses CUDA from then on.

    A process that forks afterwards has no CUDA in its children.
    """
    facts, reason = machine(), _core.cuda_reason(0) or ""
    # Where libcuda is absent, the library that lists GPUs may know more; else CUDA itself does.
    if reason.startswith("no NVIDIA driver: "):
        reason = facts.gpu_reason
    return replace(facts, gpu_reason=reason)
