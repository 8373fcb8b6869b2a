"""How to run a program: the options of all kinds, checked before any work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TypedDict

from cloakwork import files
from cloakwork.errors import ParamError

_UNITS = {
    unit: base**power
    for base, suffix in ((1000, "B"), (1024, "iB"))
    for power, letter in enumerate(("", "K", "M", "G", "T"))
    for unit in (letter + suffix,)
}
_MOST_BYTES = 2**64 - 1
_SEEDS = 2**64
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


# Bytes or text of all devices together, or of single devices.
Budget = int | str | Mapping[str, int | str] | None


class RunOptions(TypedDict, total=False):
    """How to run.

    device          "cpu"
    threads         None: CLOAKWORK_THREADS, or one a core; never changes a result
    memory_budget   bytes, or text such as "2GiB": of a program that needs more at its peak, tensors
                    that wait long wait in a file; if that is not enough, it is refused.
                    {"cpu": "2GiB", "gpu:0": "1GiB"} says it of single devices, of this machine or
                    of the program
    spill_dir       the folder where that file is made; by default where the system keeps temporary
                    files.  It has no name, its owner alone can read it, and it is gone after the
                    run; what it holds is not encrypted, secrets neither
    profile         record each step's time (on by default); a path: write the profile there, too,
                    a timeline that Perfetto and Chrome open
    progress        called now and then with the steps done and the steps there are
    schedule_seed   run tasks in a random order that follows from this number, which no result
                    depends on: a test
    """

    device: str
    threads: int | None
    memory_budget: Budget
    profile: bool | str | PathLike[str]
    progress: Callable[[int, int], object] | None
    schedule_seed: int | None
    spill_dir: str | PathLike[str] | None


def bytes_of(amount: int | str | None) -> int | None:
    """Bytes of an amount such as 4096, "512MiB" or "2GB".

    >>> bytes_of("1.5KiB")
    1536
    """
    if amount is None:
        return None
    from fractions import Fraction

    match = _AMOUNT.fullmatch(str(amount))
    unit = _UNITS.get(match[2] or "B") if match else None
    # Of bytes there are no parts.
    if match is None or unit is None or ("." in match[1] and not match[2]):
        raise ParamError("memory_budget", amount, "bytes, or a number with a unit such as 2GiB")
    number = Fraction(match[1]) * unit
    if number > _MOST_BYTES:
        raise ParamError("memory_budget", amount, "less than 16 EiB")
    return int(number)


def budgets_of(budget: Budget) -> tuple[int | None, dict[str, int] | None]:
    """The most of all devices together in bytes, and of single devices."""
    if not isinstance(budget, Mapping):
        return bytes_of(budget), None
    amounts = {device: bytes_of(amount) for device, amount in budget.items()}
    for device, amount in amounts.items():
        if amount is None:
            raise ParamError("memory_budget", f"{device}: None", "bytes, or no entry of the device")
    return None, {device: amount for device, amount in amounts.items() if amount is not None}


def seed_of(seed: int | None) -> int | None:
    """The seed; ParamError for one that no 64 bits hold."""
    if seed is not None and not 0 <= seed < _SEEDS:
        raise ParamError("schedule_seed", seed, "a number below 2^64")
    return seed


# What options were called elsewhere, and are called everywhere.
_RENAMED = {"workers": "threads", "budget": "memory_budget", "trace": "profile"}


def check_options(options: RunOptions) -> None:
    """Refuse options that cannot act, before any work.

    TypeError for one that there is not, which says what an old name is now; ParamError for a folder
    that there is not.
    """
    for name in options.keys() - RunOptions.__annotations__.keys():
        known = ", ".join(RunOptions.__annotations__)
        instead = f"it is called {_RENAMED[name]}" if name in _RENAMED else f"there are {known}"
        raise TypeError(f"run() has no option {name}; {instead}")
    check_folder(options.get("spill_dir"))


def profile_path(options: RunOptions) -> str | PathLike[str] | None:
    """The file that a run writes its profile to, if any."""
    profile = options.get("profile", True)
    return profile if isinstance(profile, str | PathLike) else None


def check_folder(spill_dir: str | PathLike[str] | None) -> None:
    """ParamError unless tensors may wait there, or nobody says where."""
    if spill_dir is not None and not Path(files.name_of(spill_dir, "spill_dir")).is_dir():
        raise ParamError("spill_dir", spill_dir, "a folder that is there")
