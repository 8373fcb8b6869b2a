"""Inputs of a circuit: JSON or Python's objects, as values of named signals.

An array of any depth is flattened row by row.  The members of a bus are signals of their own:
`{"p": {"x": 1}}` and `{"p.x": 1}` are the same, and so are `{"p": [{"x": 1}]}` and `{"p[0].x": 1}`.
No error shows a value, as inputs are secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import index
from os import PathLike
from typing import Any

from cloakwork import files
from cloakwork.errors import LoadError, ParamError
from cloakwork.recognition import expecting

Values = Mapping[str, Any]
# A JSON file, or the object.
Inputs = str | PathLike[str] | Values

# As JavaScript's BigInt reads text: a sign stands only before decimal digits.
_NUMBER = re.compile(r"[+-]?[0-9]+|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+")
_BASES = {"x": 16, "o": 8, "b": 2}
# Python refuses decimal text of more digits; a longer number is above every prime.
_MOST_DIGITS = 4300
# Deeper nesting is refused, before Python's stack ends.
_MOST_DEPTH = 64


def read(source: Inputs) -> Values:
    """The object of a JSON file, or the mapping itself.

    Raises LoadError for JSON that is wrong, and for a key that is repeated.
    """
    if isinstance(source, Mapping):
        return source
    name = files.name_of(source, "inputs")
    with expecting("inputs of a circuit, JSON", name, "inputs"):
        try:
            found = json.loads(
                files.read(name), object_pairs_hook=lambda pairs: _once(name, pairs),
                parse_int=str, parse_constant=lambda text: _Fraction(), parse_float=_Fraction,
            )  # fmt: skip
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise LoadError(
                f"{name}: expected JSON, got an error at {place}: {error.msg}"
            ) from None
        except UnicodeDecodeError:
            raise LoadError(f"{name}: expected JSON, got bytes that are not UTF-8") from None
        except RecursionError:
            raise LoadError(
                f"{name}: expected JSON, got arrays that are too deeply nested"
            ) from None
    if not isinstance(found, dict):
        raise LoadError(f"{name}: expected an object of inputs, got {_kind(found)}")
    return found


class _Fraction:
    """A number of JSON that is no integer; its value is not kept."""

    def __init__(self, text: str = "") -> None:
        pass


def _once(name: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise LoadError(f"{name}: the key {repeated!r} is repeated in one object")
    return found


def encoded(values: Values, prime: int, size: int) -> list[tuple[str, bytes]]:
    """Each signal's values, as canonical little-endian bytes of that size, in order.

    prime   values are integers above -prime and below prime; negative ones mean prime + value.
            Others are refused, not reduced: two numbers that mean the same element let a circuit
            accept one secret under two numbers

    Raises ParamError for a value that is none, and for a signal that is given twice.
    """
    found: dict[str, bytes] = {}
    for name, value in _signals(values, ""):
        if name in found:
            raise ParamError(f"input `{name}`", "values twice", "values once")
        numbers = enumerate(_flat(name, value, 0))
        found[name] = b"".join(
            _residue(f"input `{name}`, value {at}", number, prime).to_bytes(size, "little")
            for at, number in numbers
        )
    return list(found.items())


def _signals(values: Mapping[Any, Any], prefix: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Signals by their full names: buses are taken apart."""
    if depth > _MOST_DEPTH:
        raise ParamError(f"input `{prefix}`", "deeper nesting", f"at most {_MOST_DEPTH} levels")
    for key, value in values.items():
        if not isinstance(key, str) or not key:
            raise ParamError("inputs", "a name that is no text", "names of signals")
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, Mapping):
            yield from _signals(value, name, depth + 1)
        elif _holds_buses(value):
            yield from _buses(name, value, depth + 1)
        else:
            yield name, value


def _holds_buses(value: Any) -> bool:
    for _ in range(_MOST_DEPTH):
        if not isinstance(value, list | tuple) or not value:
            break
        value = value[0]
    return isinstance(value, Mapping)


def _buses(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > _MOST_DEPTH:
        raise ParamError("inputs", "deeper nesting", f"at most {_MOST_DEPTH} levels")
    if isinstance(value, Mapping):
        yield from _signals(value, name, depth)
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from _buses(f"{name}[{place}]", one, depth + 1)
    else:
        raise ParamError(f"input `{name}`", _kind(value), "a bus, as its neighbours")


def _flat(name: str, value: Any, depth: int) -> Iterator[Any]:
    """The values of arrays of any depth, row by row."""
    if depth > _MOST_DEPTH:
        raise ParamError(f"input `{name}`", "deeper nesting", f"at most {_MOST_DEPTH} levels")
    if not isinstance(value, str | bytes | int) and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        for one in value:
            yield from _flat(name, one, depth + 1)
    else:
        yield value


def _residue(place: str, value: Any, prime: int) -> int:
    number = _integer(place, value)
    if not -prime < number < prime:
        raise ParamError(
            place, "a number outside the field", "one above -p and below the field's prime p"
        )
    return number % prime


def _integer(place: str, value: Any) -> int:
    """A value as an integer: Python's, or text as JavaScript's BigInt reads it."""
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.fullmatch(text) is None:
            raise ParamError(place, "text that is no number", "decimal digits, or 0x and hex ones")
        if len(text) > _MOST_DIGITS:
            raise ParamError(place, f"{len(text)} digits", "a number below the field's prime")
        return int(text, _BASES.get(text[1:2].lower(), 10))
    try:
        return index(value)
    except TypeError:
        raise ParamError(place, _kind(value), "an integer, or text of one") from None


def _kind(value: object) -> str:
    names: Iterable[tuple[type | tuple[type, ...], str]] = (
        (type(None), "null"), (bool, "a boolean"), (int, "an integer"), (str, "text"),
        ((list, tuple), "an array"), ((Mapping, dict), "an object"),
        ((_Fraction, float), "a number that is no integer"),
    )  # fmt: skip
    known = (word for kind, word in names if isinstance(value, kind))
    return next(known, f"a {type(value).__name__}")
