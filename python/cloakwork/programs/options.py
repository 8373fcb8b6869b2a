"""Options of runs, checked before any work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict

from cloakwork import files
from cloakwork.errors import ParamError
from cloakwork.lazy import public

_UNITS = {
    unit: base**power
    for base, suffix in ((1000, "B"), (1024, "iB"))
    for power, letter in enumerate(("", "K", "M", "G", "T"))
    for unit in (letter + suffix,)
}
_MOST_BYTES = 2**64 - 1
_SEEDS = 2**64
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


# A budget in bytes or as text, for all devices together or for single devices.
Budget = int | str | Mapping[str, int | str] | None


@public("cloakwork")
class RunOptions(TypedDict, total=False):
    """How to run.

    device          where programs run that name no device themselves: "cpu", "cuda:0", or "sim:0",
                    a simulated device with memory of its own (docs/adding-a-device.md).  By default
                    the device that holds inputs; "cpu" if none does, if inputs are secret, or for
                    a program that names devices or can draw random elements.  Inputs that it holds
                    are not moved.  ParamError if several devices hold inputs
    fallback        False: FallbackError, before anything runs, if a step would run on the host
                    instead of the device; it names all of them.  By default such steps run on the
                    host, with transfers; `report.coverage` says which, and why
    devices         equal devices of one driver, such as ["sim:0", "sim:1"], instead of `device`:
                    steps that need no results of each other are spread over them.  Results are the
                    same bytes.  On the command line: --device sim:0,sim:1
    threads         None: CLOAKWORK_THREADS, or one per core; never changes a result
    memory_budget   bytes, or text such as "2GiB".  If the peak exceeds it, tensors with a distant
                    next use are spilled to a file; if that is not enough, the run is refused.
                    {"cpu": "2GiB", "gpu:0": "1GiB"} sets budgets of single devices, of this machine
                    or of the program
    spill_dir       the folder of the spill file; by default the system's temporary folder.  The
                    file has no name, only its owner can read it, and it is removed after the run;
                    its contents are not encrypted, not even secrets
    profile         record each step's time (on by default); a path: write the profile there, too,
                    a profile that Perfetto and Chrome open
    progress        called now and then with the number of finished steps and of all steps
    schedule_seed   run tasks in a random order derived from this number; results do not depend on
                    it: for tests
    optimize        let passes clean the program first (on by default; docs/passes.md): what is
                    computed twice is computed once.  Results, errors and the numbers of steps are
                    the same.  Never with bisect
    outputs         "device": the outputs stay in the memory of the run's device, for further runs
                    and calls there; "host" by default.  SecretError for a run on secrets,
                    or one that can draw random elements
    """

    device: str
    fallback: bool
    devices: Sequence[str]
    threads: int | None
    memory_budget: Budget
    profile: bool | str | PathLike[str]
    progress: Callable[[int, int], object] | None
    schedule_seed: int | None
    spill_dir: str | PathLike[str] | None
    optimize: bool
    outputs: Literal["host", "device"]


def device_of(options: RunOptions) -> str | None:
    """The device of a run, or its devices with commas between; None if the options name none."""
    device = options.get("device")
    if "devices" not in options:
        return device
    names = options["devices"]
    if device is not None or isinstance(names, str) or not names:
        raise ParamError("devices", names, "a list of devices, and no `device` beside it")
    return ",".join(names)


def bytes_of(amount: int | str | None, what: str = "memory_budget") -> int | None:
    """An amount such as 4096, "512MiB" or "2GB" in bytes; ParamError names `what` it is.

    >>> bytes_of("1.5KiB")
    1536
    """
    if amount is None:
        return None
    from fractions import Fraction

    match = _AMOUNT.fullmatch(str(amount))
    unit = _UNITS.get(match[2] or "B") if match else None
    # Bytes have no fractions.
    if match is None or unit is None or ("." in match[1] and not match[2]):
        raise ParamError(what, amount, "bytes, or a number with a unit such as 2GiB")
    number = Fraction(match[1]) * unit
    if number > _MOST_BYTES:
        raise ParamError(what, amount, "less than 16 EiB")
    return int(number)


def budgets_of(budget: Budget) -> tuple[int | None, dict[str, int] | None]:
    """The budget of all devices together in bytes, and the budgets of single devices."""
    if not isinstance(budget, Mapping):
        return bytes_of(budget), None
    amounts = {device: bytes_of(amount) for device, amount in budget.items()}
    for device, amount in amounts.items():
        if amount is None:
            raise ParamError("memory_budget", f"{device}: None", "bytes, or no entry of the device")
    return None, {device: amount for device, amount in amounts.items() if amount is not None}


def seed_of(seed: int | None) -> int | None:
    """The seed; ParamError unless it is an unsigned 64-bit number."""
    if seed is not None and not 0 <= seed < _SEEDS:
        raise ParamError("schedule_seed", seed, "a number below 2^64")
    return seed


# Former names of options, and their names now.
_RENAMED = {"workers": "threads", "budget": "memory_budget", "trace": "profile"}


def check_options(options: RunOptions) -> None:
    """Refuse unknown options and a missing folder, before any work.

    TypeError for an unknown option, which names the new name of a former one; ParamError for a
    folder that does not exist.
    """
    for name in options.keys() - RunOptions.__annotations__.keys():
        known = ", ".join(RunOptions.__annotations__)
        instead = f"it is called {_RENAMED[name]}" if name in _RENAMED else f"there are {known}"
        raise TypeError(f"run() has no option {name}; {instead}")
    if (outputs := options.get("outputs", "host")) not in ("host", "device"):
        raise ParamError("outputs", outputs, "host or device")
    check_folder(options.get("spill_dir"))


def profile_path(options: RunOptions) -> str | PathLike[str] | None:
    """The file to which a run writes its profile, if any."""
    profile = options.get("profile", True)
    return profile if isinstance(profile, str | PathLike) else None


def check_folder(spill_dir: str | PathLike[str] | None) -> None:
    """ParamError if a folder for the spill file is given and does not exist."""
    if spill_dir is not None and not Path(files.name_of(spill_dir, "spill_dir")).is_dir():
        raise ParamError("spill_dir", spill_dir, "an existing folder")
