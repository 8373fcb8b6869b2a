"""Devices of this machine, and the instruction sets, threads and memory that calls use.

>>> from cloakwork import backend
>>> with backend.select_backend("cpu_portable"):
...     backend.current_backend()
'cpu_portable'

The environment chooses where no call did: `CLOAKWORK_BACKEND` names a backend, `CLOAKWORK_ISA` an
instruction set where that leaves it open, `CLOAKWORK_THREADS` a number of threads.  A wrong value
is an error of the first call that would follow it, not of the import.
"""

from __future__ import annotations

import os
import platform
import resource
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import NamedTuple

from cloakwork import _core, files
from cloakwork._core import get_threads, release_cached, set_threads
from cloakwork.device.machine import Cache, Gpu, NumaNode, machine
from cloakwork.errors import DeviceError, LoadError, ParamError
from cloakwork.sending import Here

__all__ = [
    "Cache",
    "DeviceInfo",
    "Gpu",
    "MemoryStats",
    "NumaNode",
    "Selection",
    "Thresholds",
    "available_backends",
    "current_backend",
    "detect_devices",
    "explain_last_dispatch",
    "get_threads",
    "memory_stats",
    "release_cached",
    "select_backend",
    "set_threads",
    "set_thresholds",
    "thresholds",
]

VARIABLE = "CLOAKWORK_BACKEND"
# Where Linux states the memory limit of a control group: version 2, then version 1.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_GPUS = ("cuda", "gpu")


@dataclass(frozen=True)
class DeviceInfo:
    """The devices and resources of this machine, and the selected ones."""

    cpu_cores: int
    """Cores available to this process."""
    memory_limit_bytes: int
    """Memory available to this process: the machine's, or the process's limit."""
    has_avx2: bool
    """Whether the processor has it, as the next ones; `isas` says which of them kernels use."""
    has_avx512: bool
    has_avx512ifma: bool
    has_neon: bool
    isas: tuple[str, ...]
    """Instruction sets whose kernels run here, the best last."""
    cpu_model: str | None
    """The maker's name of the processor, where the system tells it."""
    caches: tuple[Cache, ...]
    """The smallest level first; empty where the system does not tell them."""
    numa_nodes: tuple[NumaNode, ...]
    gpu_count: int
    """GPUs on which programs run: `gpus` of the machine, or none for `gpu_reason`."""
    gpu_names: tuple[str, ...]
    """The names of those that `gpu_count` counts."""
    gpus: tuple[Gpu, ...]
    """GPUs that NVIDIA's driver lists, whether this build can use them or not."""
    gpu_reason: str
    """Why programs run on no GPU, as far as can be said without CUDA; "" if they can."""
    platform_system: str
    """The operating system, as Python names it, such as "Linux"."""
    forced_backend: str | None
    """The backend that `select_backend` or the environment chose; None without a choice."""

    @property
    def has_gpu(self) -> bool:
        """Whether a GPU is present that this build can use."""
        return self.gpu_count > 0


@dataclass(frozen=True)
class MemoryStats:
    """Bytes of tensors and of programs' arenas on one device."""

    live_bytes: int
    """In use."""
    peak_bytes: int
    """The peak of `live_bytes` since the start or the last `release_cached`."""
    cached_bytes: int
    """Kept for reuse; `release_cached` returns them to the system."""


@dataclass(frozen=True)
class Thresholds:
    """Sizes from which calls change their strategy; docs/tensor.md says how they were measured."""

    release_elements: int
    """Python's lock is released: reacquiring it costs less than other threads would lose."""
    parallel_elements: int
    """Element-wise work is split over threads: waking one takes about 4 us."""
    stream_bytes: int = 16 << 20
    """A result bypasses the caches, because it is larger than they are."""
    huge_page_bytes: int = 2 << 20
    """Memory is requested in huge pages."""
    alignment_bytes: int = 64
    """The alignment of buffers: a cache line."""


def thresholds() -> Thresholds:
    """Sizes from which calls change their strategy."""
    return Thresholds(*_core.thresholds())


def set_thresholds(
    *, release_elements: int | None = None, parallel_elements: int | None = None
) -> Thresholds:
    """Set sizes for this process, and return those before. Results do not depend on them.

    release_elements    from 0 to 2^62; by default as it is
    parallel_elements   the same; rounded down to an even number, at least 2. Other work than
                        element-wise counts as an element a nanosecond.

    >>> from cloakwork import backend
    >>> before = backend.set_thresholds(parallel_elements=1_000_000)
    >>> backend.thresholds().parallel_elements, before.parallel_elements
    (1000000, 60000)
    >>> _ = backend.set_thresholds(parallel_elements=before.parallel_elements)
    """
    before = thresholds()
    wanted = {"release_elements": release_elements, "parallel_elements": parallel_elements}
    for name, value in wanted.items():
        known = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (known and 0 <= value <= 1 << 62):
            raise ParamError(name, repr(value), "an integer from 0 to 2^62")
    _core.set_thresholds(
        before.release_elements if release_elements is None else release_elements,
        before.parallel_elements if parallel_elements is None else parallel_elements,
    )
    return before


def detect_devices() -> DeviceInfo:
    """The devices and resources of this machine.

    >>> import cloakwork as cw
    >>> cw.backend.detect_devices().gpu_count
    0
    """
    current_backend()  # An error where the environment is wrong.
    features = _core.processor_isas()
    usable = () if machine().gpu_reason else machine().gpus
    return DeviceInfo(
        cpu_cores=_cores(),
        memory_limit_bytes=memory_limit_bytes(),
        has_avx2="avx2" in features,
        has_avx512="avx512" in features,
        has_avx512ifma="avx512ifma" in features,
        has_neon=platform.machine() in ("aarch64", "arm64"),
        isas=_isas(),
        cpu_model=machine().model,
        caches=machine().caches,
        numa_nodes=machine().numa_nodes,
        gpu_count=len(usable),
        gpu_names=tuple(gpu.name for gpu in usable),
        gpus=machine().gpus,
        gpu_reason=machine().gpu_reason,
        platform_system=platform.system(),
        forced_backend=_chosen(),
    )


def available_backends() -> list[str]:
    """Names that `select_backend` accepts on this machine."""
    return list(_names())


def current_backend() -> str:
    """The backend that calls use now, such as "cpu_avx512"."""
    return f"cpu_{_core.devices()[0]['isa']}"


def select_backend(name: str) -> Selection:
    """Use a backend from now on; in a `with` statement, to its end.

    It holds for this context, as `contextvars` has them: this thread, or this task of asyncio and
    those that it starts.  For all threads of a process say it in the environment.  Every backend
    gives the same bits, but for products of matrices of floats.

    name   "auto": the environment's choice, else the best; "cpu": the best of this processor;
           "cpu_simd": the same, but ParamError where only the portable one exists; or one
           instruction set: "cpu_portable", "cpu_avx2", "cpu_avx512", "cpu_avx512ifma".
           ParamError for those that do not run here, DeviceError for GPUs.

    >>> import cloakwork as cw
    >>> with cw.backend.select_backend("cpu_portable"):
    ...     cw.asarray([1.0, 2.0]) + 1
    Tensor([2., 3.], dtype=f64)
    """
    *outer, last = _blocks()
    _use((*outer, last._replace(name=_checked(name))))
    if name == "auto":
        current_backend()
    return Selection(name, last)


def memory_stats(device: str = "cpu") -> MemoryStats:
    """Bytes in use on a device, their peak so far, and those kept for reuse."""
    if device != "cpu":
        raise DeviceError(device, ["cpu"])
    return MemoryStats(**_core.memory_stats())


class Selection(Here):
    """The selection of `select_backend`; the end of a `with` block restores the previous one.

    Blocks of one context may overlap, as those of two generators do: the open block that was
    entered last determines the backend.
    """

    _stays = "it belongs to its thread: call select_backend there"

    def __init__(self, name: str, former: _Block) -> None:
        self.name = name
        # What the call changed, until a block is entered in its place.
        self._former: _Block | None = former

    def __enter__(self) -> Selection:
        *outer, last = _blocks()
        if self._former is not None and last == self._former._replace(name=self.name):
            last = self._former
        self._former = None
        _use((*outer, last, _Block(self, self.name)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        blocks = list(_blocks())
        own = [place for place, block in enumerate(blocks) if block.selection is self]
        if own:
            del blocks[own[-1]]
            _use(tuple(blocks))

    def __repr__(self) -> str:
        return f"Selection({self.name!r})"


class _Block(NamedTuple):
    """An open `with` statement, or the state outside of all of them, and its backend."""

    selection: Selection | None
    name: str


def _blocks() -> tuple[_Block, ...]:
    """The open blocks of this context, the innermost last."""
    known = _core.selected_backend.get()
    blocks: tuple[_Block, ...] = known[1] if known else (_Block(None, "auto"),)
    return blocks


def _use(blocks: tuple[_Block, ...]) -> None:
    _core.selected_backend.set((_names()[blocks[-1].name], blocks))
    _core.ask_context()


def _chosen() -> str | None:
    """The selection by a call, or else by the environment."""
    for name in (_blocks()[-1].name, os.environ.get(VARIABLE, "")):
        if name not in ("", "auto"):
            return name
    return None


def _checked(name: str) -> str:
    if name.partition(":")[0] in _GPUS:
        raise DeviceError(name, ["cpu"])
    names = _names()
    if name not in names:
        raise ParamError("backend", name, f"one of {', '.join(names)}")
    return name


@cache
def _isas() -> tuple[str, ...]:
    """Instruction sets that run on this machine, the best last."""
    return tuple(_core.available_isas())


def _names() -> dict[str, str | None]:
    """Each backend that runs on this machine, with its instruction set."""
    isas = _isas()
    best = isas[-1]
    simd = {"cpu_simd": best} if best != "portable" else {}
    return {"auto": None, "cpu": best, **simd, **{f"cpu_{isa}": isa for isa in isas}}


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_limit_bytes() -> int:
    """The machine's memory, or the lowest limit below it."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        limits.append(address_space)
    for place in _LIMITS:
        try:
            text = files.read(place).decode().strip()
        except (OSError, LoadError, UnicodeDecodeError):
            continue
        if text.isdecimal():
            limits.append(int(text))
    return min(limits)


def explain_last_dispatch() -> str:
    """Say which kernel the last eager call of this thread ran, over what, on how many threads.

    A kernel is selected once per call, never for a part of it.  The kernels of a program or a batch
    are in its report.

    >>> import cloakwork as cw
    >>> with cw.select_backend("cpu_portable"):
    ...     total = cw.asarray([1.0, 2.0]) + 1
    >>> cw.backend.explain_last_dispatch()
    'add_f64_portable: 2 units, 1 thread'
    """
    last = _core.last_dispatch()
    if last is None:
        return "nothing was run by this thread yet"
    kernel, units, threads, _ = last
    return f"{kernel}: {units} units, {threads} thread{'' if threads == 1 else 's'}"
