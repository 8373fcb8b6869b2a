"""Tables for people: what `inspect`, `run` and `devices` print without --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cloakwork.cli.words import amount, count
from cloakwork.device.loading import Driver
from cloakwork.device.machine import Gpu, GpuDriver, Machine, NumaNode
from cloakwork.programs.coverage import Coverage, Transfers
from cloakwork.programs.report import Inspection, Report
from cloakwork.wording import shown

# Names in files and arguments are never markup: no [a] is a style, and no :smile: a picture.
_PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
errors = Console(stderr=True, **_PLAIN)

# The terminal width from which a table shows kernels, whose names are long.
_ROOM_FOR_KERNELS = 110
# The least width in which every column of the tables has room, and that of files and pipes.
_NARROWEST, _NO_TERMINAL = 80, 140
# Steps that a report lists one by one.
_STEPS_SHOWN = 20


def console() -> Console:
    """Standard output; wide enough for a table where it is not a terminal, or a narrow one.

    A narrow terminal breaks the lines: a table of its width would lose columns.
    """
    out = Console(**_PLAIN)
    width = max(out.width, _NARROWEST) if out.is_terminal else _NO_TERMINAL
    return Console(width=width, **_PLAIN)


def inspection(found: Inspection, out: Console) -> None:
    """Ops with how they run, segments, dtypes and memory."""
    ops = _table("op", "runs as", "calls>", "kernels")
    for use in found.ops:
        _add(ops, use.op, use.runs_as, str(use.calls), "\n".join(use.kernels))
    out.print(ops)
    segments = _table("segment", "calls>")
    for name, calls in found.segments:
        _add(segments, shown(name or "(none)"), str(calls))
    out.print(segments)
    dtypes = _table("dtype", "tensors>", "bytes>")
    for name, tensors, size in found.dtypes:
        _add(dtypes, name, str(tensors), amount(size))
    out.print(dtypes)
    ends = _table("", "name", "type")
    for kind, rows in (("input", found.facts["inputs"]), ("output", found.facts["outputs"])):
        for row in rows:
            _add(ends, kind, shown(row["name"] or "(expected value)"), row["type"])
    out.print(ends)
    coverage = ", ".join(f"{calls} {how}" for how, calls in found.coverage.items())
    out.print(f"{found.steps} steps; calls: {coverage}")
    out.print(f"tensors in the program: {amount(found.host_bytes)}")
    out.print(f"memory of a run: {_memory(found.memory)}")


def facts(found: Mapping[str, str | int], out: Console) -> None:
    """One line per fact."""
    width = max(map(len, found))
    for name, value in found.items():
        text = f"{value:,}" if isinstance(value, int) else value
        out.print(f"{name.replace('_', ' '):<{width}}  {text}", soft_wrap=True)


def report(done: Report, out: Console) -> None:
    """Totals per op and per segment; kernels where there is room for their names."""
    for title, rows in (("op", done.ops), ("segment", done.segments)):
        roomy = title == "op" and out.width >= _ROOM_FOR_KERNELS
        table = _table(
            title, "calls>", "time>", "operations>", "bytes>", *(["kernels"] if roomy else [])
        )
        for row in rows:
            _add(
                table, shown(row.name or "(none)"), str(row.calls), _seconds(row.seconds),
                f"{row.operations:,}", amount(row.bytes),
                *(["\n".join(row.kernels)] if roomy else []),
            )  # fmt: skip
        out.print(table)
    out.print(
        f"{count(done.planned_steps, 'kernel call')} in {_seconds(done.wall_seconds)} "
        f"on {count(done.threads, 'thread')} ({done.isa})",
    )
    if done.elsewhere:
        out.print(f"{count(len(done.elsewhere), 'step')} on the host instead of a device:")
    for moved in done.elsewhere[:_STEPS_SHOWN]:
        out.print(f"  step {moved.step}: {moved.op} {moved.why}")
    if len(done.elsewhere) > _STEPS_SHOWN:
        out.print(f"  and {len(done.elsewhere) - _STEPS_SHOWN} more: the table counts them all")
    coverage(done.coverage, out)


def coverage(found: Coverage, out: Console) -> None:
    """How the steps run on a device of its own, by op; nothing of the processor's own steps."""
    plain = {"device", "no kernel", "removed"}
    if found.device == "cpu" and found.runs.keys() <= plain:
        return
    table = _table("op", f"on {found.device}", "steps>", "transfers>", "bytes>", "time>")
    for row in found.ops:
        if row.runs == "no kernel":
            continue
        how = " ".join([row.runs, *(["into", ", ".join(row.into)] if row.into else [])])
        _add(table, row.op, row.why or how, str(row.steps), *_moved(row.transfers))
    out.print(table)
    runs = ", ".join(f"{steps} {how}" for how, steps in found.runs.items())
    out.print(f"{count(found.steps, 'step')} for {found.device}: {runs}")


def _moved(transfers: Transfers) -> list[str]:
    """Cells of a table: measured times where there are some, else estimates."""
    if not transfers.count:
        return ["", "", ""]
    measured = transfers.measured_seconds
    time = (
        f"about {_seconds(transfers.estimated_seconds)}" if measured is None else _seconds(measured)
    )
    return [str(transfers.count), amount(transfers.bytes), time]


def devices(rows: list[dict[str, Any]], out: Console) -> None:
    """One line per device."""
    table = _table("device", "instructions", "available", "threads>")
    for row in rows:
        isas = ", ".join(row["available_isas"])
        _add(table, row["name"], row["isa"], isas, str(row["threads"]))
    out.print(table)


def drivers(loaded: list[Driver], out: Console) -> None:
    """One line per driver that is loaded."""
    table = _table("driver", "devices", "kernels>", "segments", "file")
    for driver in loaded:
        _add(
            table, driver.name, ", ".join(driver.devices), str(len(driver.kernels)),
            "yes" if driver.takes_segments else "no", driver.file or "",
        )  # fmt: skip
    if loaded:
        out.print(table)


def machine(found: Machine, out: Console) -> None:
    """The processor with its caches and memory nodes, and the GPUs or why none is used."""
    cores = count(found.cores, "core") if found.cores else None
    sizes = [
        f"L{one.level} {one.kind} {amount(one.size_bytes)} x {one.count}" for one in found.caches
    ]
    nodes = [f"node {node.index} (cpus {node.cpus}){_of(node)}" for node in found.numa_nodes]
    lines = {
        "processor": ", ".join(filter(None, (found.model, cores))),
        "caches": ", ".join(sizes),
        "memory": ", ".join(nodes),
        "GPUs": ", ".join(_gpu(gpu) for gpu in found.gpus) or "none",
        "GPU driver": _driver(found.gpu_driver),
        "GPU use": found.gpu_reason,
    }
    for name, text in lines.items():
        if text:
            out.print(f"{name}: {text}")


def _of(node: NumaNode) -> str:
    return "" if node.memory_bytes is None else f" of {amount(node.memory_bytes)}"


def _gpu(gpu: Gpu) -> str:
    major, minor = gpu.compute_capability
    return f"{gpu.name} of {amount(gpu.memory_bytes)}, compute capability {major}.{minor}"


def _driver(driver: GpuDriver | None) -> str:
    return f"{driver.version}, CUDA {driver.cuda[0]}.{driver.cuda[1]}" if driver else ""


def _memory(memory: dict[str, int]) -> str:
    parts = (
        f"{name.removesuffix('_bytes')} {amount(size)}"
        for name, size in memory.items()
        if name != "peak_bytes" and size
    )
    return f"peak {amount(memory['peak_bytes'])} ({', '.join(parts)})"


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _add(table: Table, *cells: str) -> None:
    """A row of plain text: names and contents of files are never markup."""
    table.add_row(*map(Text, cells))


def _table(*columns: str) -> Table:
    """A plain table; a name that ends in > makes a column of numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in columns:
        table.add_column(
            name.removesuffix(">"),
            justify="right" if name.endswith(">") else "left",
            overflow="fold",
            no_wrap=name.endswith(">"),
        )
    return table
