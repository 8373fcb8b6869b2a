"""A program as a graph for Graphviz: a column per thread, arrows for waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def dot(program: dict[str, Any]) -> str:
    """The graph of a program in JSON.

    Instructions of an invalid program may lack members: they are drawn without them.
    """
    threads = dict(_threads("main", program.get("main", [])))
    lines = ["digraph program {", "  node [shape=box, fontname=monospace];"]
    records: dict[str, str] = {}
    arrows: list[str] = []
    for thread, instructions in threads.items():
        lines.append(f"  subgraph {_quoted('cluster ' + thread)} {{ label={_quoted(thread)};")
        former = ""
        for index, instruction in enumerate(instructions):
            name = f"{thread}/{index}"
            lines.append(f"    {_quoted(name)} [label={_quoted(_label(instruction))}];")
            if instruction.get("op") == "Record":
                records[str(instruction.get("event"))] = name
            if former:
                arrows.append(f"  {_quoted(former)} -> {_quoted(name)};")
            former = name
        lines.append("  }")
    for thread, instructions in threads.items():
        for index, instruction in enumerate(instructions):
            arrows += _waits(f"{thread}/{index}", instruction, threads, records)
    return "\n".join([*lines, *arrows, "}", ""])


def _threads(
    name: str, instructions: list[dict[str, Any]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield name, instructions
    for instruction in instructions:
        if instruction.get("op") == "Fork":
            yield from _threads(str(instruction.get("new_thread")), _forked(instruction))


def _forked(instruction: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = instruction.get("instructions") or []
    return found


def _waits(
    name: str,
    instruction: dict[str, Any],
    threads: dict[str, list[dict[str, Any]]],
    records: dict[str, str],
) -> list[str]:
    op, other = instruction.get("op"), ""
    joined = threads.get(str(instruction.get("thread")))
    if op == "Wait":
        other = records.get(str(instruction.get("event")), "")
    elif op == "Join" and joined:
        other = f"{instruction['thread']}/{len(joined) - 1}"
    elif op == "Fork" and _forked(instruction):
        first = f"{instruction.get('new_thread')}/0"
        return [f"  {_quoted(name)} -> {_quoted(first)} [style=bold];"]
    return [f"  {_quoted(other)} -> {_quoted(name)} [style=dashed];"] if other else []


def _label(instruction: dict[str, Any]) -> str:
    op = instruction.get("func", instruction.get("op", "?"))
    results = [*instruction.get("arg_mut", [])]
    results += [instruction[key] for key in ("dst", "dst_id", "id") if key in instruction]
    sources = [*instruction.get("arg", []), *instruction.get("vars", [])]
    sources += [instruction[key] for key in ("src", "src_id", "event") if key in instruction]
    shown = f"{op}({', '.join(map(str, sources))})"
    return f"{', '.join(map(str, results))} = {shown}" if results else shown


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
