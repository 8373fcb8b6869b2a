"""Deallocation of memory that a builder's program never frees, after its last use.

Memory that only one thread uses, and no stream, is freed after its last use there.  Memory of
several threads or of a stream is freed before the end of `main`, when all threads have been joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_Instructions = list[dict[str, Any]]
_VIEWS = {"Rotation", "Slice", "SetSliceMeta", "View"}
_HANDS_OUT = {"Return", "Store"}


@dataclass
class _Memory:
    """One allocation: its users, and its last use."""

    name: str
    lists: set[int] = field(default_factory=set)
    last: tuple[_Instructions, int] | None = None
    streams: bool = False
    kept: bool = False


def with_frees(main: _Instructions) -> _Instructions:
    """The same instructions, with frees for the remaining memory."""
    memories: dict[str, _Memory] = {}
    owner: dict[str, str] = {}
    for instructions, index, instruction in _walk(main):
        _note(instructions, index, instruction, memories, owner)
    behind: dict[tuple[int, int], list[str]] = {}
    at_end: list[str] = []
    for memory in memories.values():
        if memory.kept or memory.last is None:
            continue
        instructions, index = memory.last
        if memory.streams or len(memory.lists) > 1:
            at_end.append(memory.name)
        else:
            behind.setdefault((id(instructions), index), []).append(memory.name)
    return _rebuilt(main, behind, at_end)


def _walk(instructions: _Instructions) -> Iterator[tuple[_Instructions, int, dict[str, Any]]]:
    for index, instruction in enumerate(instructions):
        yield instructions, index, instruction
        if instruction["op"] == "Fork":
            yield from _walk(instruction["instructions"])


def _note(
    instructions: _Instructions,
    index: int,
    instruction: dict[str, Any],
    memories: dict[str, _Memory],
    owner: dict[str, str],
) -> None:
    op = instruction["op"]
    if op == "Allocate":
        memories[instruction["id"]] = _Memory(instruction["id"])
        owner[instruction["id"]] = instruction["id"]
    elif op in _VIEWS:
        owner[instruction["dst"]] = owner.get(instruction["src"], "")
    elif op == "AssembleTuple":
        for part, name in enumerate(instruction["vars"]):
            owner[f"{instruction['dst']}.{part}"] = owner.get(name, "")
    for name in _names(instruction, owner):
        memory = memories.get(owner.get(name, ""))
        if memory is None:
            continue
        memory.lists.add(id(instructions))
        memory.last = (instructions, index)
        memory.streams |= "stream" in instruction
        memory.kept |= op in _HANDS_OUT or op == "Deallocate"
    if op == "MoveRegister" and owner.get(instruction["src"]) == instruction["src"]:
        memory = memories.pop(instruction["src"], None)
        if memory is not None:
            memory.name = instruction["dst"]
            memories[instruction["dst"]] = memory
            for name in [name for name, held in owner.items() if held == instruction["src"]]:
                owner[name] = instruction["dst"]
            owner[instruction["dst"]] = instruction["dst"]


def _names(instruction: dict[str, Any], owner: dict[str, str]) -> Iterator[str]:
    """The registers that an instruction names, including parts of tuples."""
    keys = ("id", "src", "dst", "src_id", "dst_id", "value", "expected")
    listed = ("arg_mut", "arg", "vars", "id")
    single = [instruction[key] for key in keys if isinstance(instruction.get(key), str)]
    several = [
        name
        for key in listed
        for name in instruction.get(key, ())
        if not _is_text(instruction, key)
    ]
    for name in [*single, *several]:
        yield name
        part = 0
        while f"{name}.{part}" in owner:
            yield f"{name}.{part}"
            part += 1


def _is_text(instruction: dict[str, Any], key: str) -> bool:
    return isinstance(instruction.get(key), str)


def _rebuilt(
    instructions: _Instructions, behind: dict[tuple[int, int], list[str]], at_end: list[str]
) -> _Instructions:
    rebuilt: _Instructions = []
    for index, instruction in enumerate(instructions):
        if instruction["op"] == "Return":
            rebuilt += [{"op": "Deallocate", "id": name} for name in at_end]
        if instruction["op"] == "Fork":
            inner = _rebuilt(instruction["instructions"], behind, [])
            rebuilt.append({**instruction, "instructions": inner})
        else:
            rebuilt.append(instruction)
        names = behind.get((id(instructions), index), [])
        rebuilt += [{"op": "Deallocate", "id": name} for name in names]
    return rebuilt
