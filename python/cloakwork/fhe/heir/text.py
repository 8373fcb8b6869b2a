"""MLIR's text: functions, blocks and operations, each with its line.

What HEIR prints has an operation a line, and a region from a line that ends in `{` to one that
begins with `}`.  Operations may go on to further lines while a bracket is open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from cloakwork.errors import LoadError
from cloakwork.once import once

# Limits for texts of strangers.
_DEEPEST, _LONGEST_TYPE = 40, 1 << 20

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_NAME = r"%[\w$.-]+"
_RESULTS = re.compile(rf"\s*({_NAME}(?::\d+)?(?:\s*,\s*{_NAME}(?::\d+)?)*)\s*=\s*")
_OPERATION = re.compile(r'"?([A-Za-z_]\w*(?:\.\w+)*)"?')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_DEFINED = re.compile(rf"{_NAME}\s*=")
_ALIAS = re.compile(r"\s*([!#][\w$.-]+)\s*=\s*(.+)", re.DOTALL)
_USED_ALIAS = re.compile(r"[!#][A-Za-z_][\w$]*(?![\w$.])")
_FUNCTION = re.compile(r"func(?:\.func)?\s+(?:(?:public|private)\s+)?@([\w$.-]+)\s*")
_ELSE = re.compile(r"\}\s*else\s*\{")
_OPEN, _CLOSE = "([{<", ")]}>"


@dataclass
class Place:
    """A line of a file, for errors."""

    path: str
    line: int

    def wrong(self, what: str) -> LoadError:
        """The error for what is found there."""
        return LoadError(f"{self.path}:{self.line}: {what}")


@dataclass
class Operation:
    """An operation: results, name, the text before its types, and its types.

    body        of a loop or a branch: its operations; their arguments are in the header
    otherwise   of a branch: those of its other side
    """

    place: Place
    name: str
    results: list[str]
    header: str
    types: str
    strings: list[str]
    body: list[Operation] | None = None
    otherwise: list[Operation] | None = None

    @once
    def operands(self) -> list[str]:
        """The values that it reads, outside of attributes."""
        return _VALUE.findall(_DEFINED.sub("", without_attributes(self.header)))

    def operand(self, number: int) -> str:
        """One of them; LoadError if there are too few."""
        if number >= len(self.operands):
            raise self.wrong(f"{number + 1} operands or more, found {len(self.operands)}")
        return self.operands[number]

    def integer(self, name: str) -> int | None:
        """An integer attribute."""
        found = re.search(rf"\b{name}\s*=\s*(-?\d{{1,18}})\b", self.header)
        return int(found[1]) if found else None

    @property
    def result_type(self) -> str:
        """The type of the result: what follows the arrow or `to`, or the only type."""
        found = top_level(self.types, "->")
        if len(found) == 1:
            found = re.split(r"\s(?:to|into)\s", self.types)
        text = found[-1].strip()
        return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text

    def wrong(self, what: str) -> LoadError:
        """The error for this operation."""
        return self.place.wrong(f"{self.name}: expected {what}")


@dataclass
class Function:
    """A function: its arguments with their types, and its operations."""

    place: Place
    name: str
    arguments: list[tuple[str, str]]
    results: list[str]
    body: list[Operation]

    @once
    def uses(self) -> Counter[str]:
        """How often values are named as operands."""
        return Counter(name for operation in every(self.body) for name in operation.operands)


@dataclass
class Text:
    """A module: functions by name, aliases, and the attributes of the module."""

    path: str
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    attributes: str = ""
    place: Place | None = None

    def expanded(self, text: str, place: Place) -> str:
        """A type or an attribute without aliases."""
        for _ in range(_DEEPEST):
            found = _USED_ALIAS.sub(lambda used: self.aliases.get(used[0], used[0]), text)
            if len(found) > _LONGEST_TYPE:
                raise place.wrong(f"expected types of at most {_LONGEST_TYPE} characters")
            if found == text:
                return found
            text = found
        raise place.wrong(f"expected aliases that end, found ones deeper than {_DEEPEST}")


def every(body: list[Operation]) -> Iterator[Operation]:
    """All operations, also those of loops and branches."""
    for operation in body:
        yield operation
        yield from every((operation.body or []) + (operation.otherwise or []))


def without_attributes(text: str) -> str:
    """The text without dictionaries and properties: `{...}` and `<...>`."""
    kept, depth = [], 0
    for part in re.split(r"(->|[{}<>])", text):
        if part in ("{", "<"):
            depth += 1
        elif part in ("}", ">"):
            depth -= 1
        elif depth == 0:
            kept.append(part)
    return "".join(kept)


def top_level(text: str, separator: str) -> list[str]:
    """The parts of a text between separators outside of all brackets."""
    places, depth = [0], 0
    for found in re.finditer(rf"->|{re.escape(separator)}|[][(){{}}<>]", text):
        token = found[0]
        if token == separator and depth == 0:
            places += [found.start(), found.end()]
        elif token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
    places.append(len(text))
    return [text[a:b] for a, b in list(pairwise(places))[::2]]


def _depth(text: str) -> int:
    """Open brackets less closed ones; arrows are none."""
    text = text.replace("->", "")
    return sum(text.count(c) for c in _OPEN) - sum(text.count(c) for c in _CLOSE)


@dataclass
class _Line:
    place: Place
    text: str
    strings: list[str]
    opens: bool


class _Reader:
    """Logical lines, with strings taken out: the n-th is `"n"`."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.at = path, 0
        self.lines = self._logical(source)

    def _logical(self, source: str) -> list[_Line]:
        lines: list[_Line] = []
        held: list[str] = []
        strings: list[str] = []
        start, depth = 1, 0
        for number, raw in enumerate(source.splitlines(), 1):
            text = _without_strings(raw, strings).partition("//")[0].strip()
            if not text:
                continue
            start = start if held else number
            held.append(text)
            depth += _depth(text)
            opens = depth == 1 and text.endswith("{")
            if depth == 0 or opens or held[0].startswith("}"):
                lines.append(_Line(Place(self.path, start), " ".join(held), strings, opens))
                held, strings, depth = [], [], 0
        if held:
            raise Place(self.path, start).wrong("expected the end of what begins here, found none")
        return lines

    def next(self, within: Place) -> _Line:
        """The next line; LoadError at the end."""
        if self.at == len(self.lines):
            raise within.wrong("expected a line with } for what begins here, found the end")
        self.at += 1
        return self.lines[self.at - 1]


def _without_strings(text: str, strings: list[str]) -> str:
    """The text with the number of each string in its place."""

    def kept(found: re.Match[str]) -> str:
        strings.append(found[0][1:-1])
        return f'"{len(strings) - 1}"'

    return _STRING.sub(kept, text)


def parse(path: str, source: str) -> Text:
    """The functions of a text; LoadError, with the line, for what is none."""
    reader, found = _Reader(path, source), Text(path)
    inside = 0
    while reader.at < len(reader.lines):
        line = reader.next(Place(path, 1))
        text = line.text
        alias = _ALIAS.fullmatch(text)
        if alias and not line.opens:
            found.aliases[alias[1]] = alias[2]
        elif re.match(r"module\b", text) and line.opens:
            inside += 1
            found.attributes, found.place = text, line.place
        elif _FUNCTION.match(text):
            _add(found, reader, line)
        elif text.startswith("}") and inside:
            inside -= 1
        else:
            raise line.place.wrong(
                f"expected a module, a function or an alias, found {text[:60]!r}"
            )
    if inside:
        raise (found.place or Place(path, 1)).wrong("expected } for this module, found the end")
    if not found.functions:
        raise Place(path, 1).wrong("expected functions, found none")
    return found


def _add(found: Text, reader: _Reader, line: _Line) -> None:
    head = _FUNCTION.match(line.text)
    assert head is not None
    rest = line.text[head.end() :]
    if not line.opens:
        if " private " in line.text:
            return
        raise line.place.wrong("expected { at the end of a function's first line")
    rest = rest[:-1].partition(" attributes ")[0]
    parts = top_level(rest, "->")
    arguments = [_argument(line.place, part) for part in _list(parts[0])]
    results = [_type(part) for part in _list(parts[1])] if len(parts) > 1 else []
    if head[1] in found.functions:
        raise line.place.wrong(f"expected another name than @{head[1]}, which is defined above")
    body, _ = _block(reader, line.place, 0)
    found.functions[head[1]] = Function(line.place, head[1], arguments, results, body)


def _list(text: str) -> list[str]:
    text = text.strip()
    text = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    return [part for part in top_level(text, ",") if part.strip()]


def _type(text: str) -> str:
    """A type without the attributes after it."""
    return top_level(text, "{")[0].partition(" {")[0].strip()


def _argument(place: Place, text: str) -> tuple[str, str]:
    name, colon, found = text.partition(":")
    if not colon or not _VALUE.fullmatch(name.strip()):
        raise place.wrong(f"expected an argument %name: type, found {text.strip()[:60]!r}")
    return name.strip(), _type(found)


def _block(reader: _Reader, place: Place, depth: int) -> tuple[list[Operation], str]:
    """Operations up to the closing bracket, and its line."""
    if depth > _DEEPEST:
        raise place.wrong(f"expected at most {_DEEPEST} blocks in each other")
    body: list[Operation] = []
    while True:
        line = reader.next(place)
        if line.text.startswith("}"):
            return body, line.text
        operation = _operation(line)
        if line.opens:
            operation.body, end = _block(reader, line.place, depth + 1)
            if _ELSE.fullmatch(end):
                operation.otherwise, _ = _block(reader, line.place, depth + 1)
        body.append(operation)


def _operation(line: _Line) -> Operation:
    text = line.text[:-1] if line.opens else line.text
    results = _RESULTS.match(text)
    rest = text[results.end() :] if results else text
    # The name of a generic operation is a string.
    name = _OPERATION.match(re.sub(r'^"(\d+)"', lambda n: line.strings[int(n[1])], rest))
    if name is None:
        raise line.place.wrong(f"expected an operation, found {text[:60]!r}")
    start = rest.index('"', 1) + 1 if rest.startswith('"') else len(name[1])
    header, *types = top_level(rest[start:], ":")
    named = [part.strip() for part in results[1].split(",")] if results else []
    joined = ":".join(types).strip()
    return Operation(line.place, name[1], named, header.strip(), joined, line.strings)
