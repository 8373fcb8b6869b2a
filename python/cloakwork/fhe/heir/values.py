"""Plain values of MLIR: types of tensors, constants, plaintexts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import JSONDecodeError, loads
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.fhe.heir.text import Operation

# More numbers than that are no constant of a program.
_MOST = 1 << 24
_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.+?)>?", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_ELEMENTS = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "i1": "?", "index": "<i8"}
_BYTES = {8: "<i1", 16: "<i2", 32: "<i4", 64: "<i8"}


@dataclass(frozen=True)
class Plain:
    """A plaintext: the values of its slots, to be encoded where it is used."""

    values: NDArray[Any]


def boxed(values: list[Any], sizes: tuple[int, ...]) -> NDArray[Any]:
    """A tensor of ciphertexts or plaintexts, which NumPy must not look into."""
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found.reshape(sizes)


@dataclass(frozen=True)
class Shape:
    """The type of a value: sizes (none for a single value) and the text of an element's type."""

    sizes: tuple[int, ...]
    element: str

    @property
    def count(self) -> int:
        """Elements."""
        return prod(self.sizes)

    @property
    def is_number(self) -> bool:
        """Whether elements are numbers, not ciphertexts, plaintexts or keys."""
        return self.element in _ELEMENTS or re.fullmatch(r"[su]?i\d+", self.element) is not None


def shape_of(text: str, operation: Operation) -> Shape:
    """The shape that a type says; LoadError for tensors without sizes, or too many."""
    text = text.strip()
    if not text.startswith("tensor<"):
        return Shape((), text)
    found = _TENSOR.fullmatch(text)
    if found is None or not text.endswith(">") or "?" in found[1]:
        raise operation.wrong(f"a tensor type with sizes, found {text[:60]!r}")
    sizes = tuple(int(size) for size in found[1].split("x") if size)
    element = text[len("tensor<") + len(found[1]) : -1].partition(",")[0]
    if max([0, *(len(str(size)) for size in sizes)]) > 9 or prod(sizes) > _MOST:
        raise operation.wrong(f"at most {_MOST} elements, found {text[:60]!r}")
    if "?" in element.partition("!")[0]:
        raise operation.wrong(f"a tensor type with sizes, found {text[:60]!r}")
    return Shape(
        sizes, element if "<" not in element else text[len("tensor<") + len(found[1]) : -1]
    )


def dtype_of(element: str) -> np.dtype[Any]:
    """The NumPy dtype in which elements are computed: int64 or float64."""
    return np.dtype(np.float64 if element.startswith("f") else np.int64)


def constant(operation: Operation) -> Any:
    """The value of `arith.constant`: a number, or an array."""
    text = re.sub(r"^\{[^}]*\}\s*", "", operation.header).strip()
    shape = shape_of(operation.types or _literal_type(text), operation)
    if not text.startswith("dense<"):
        if text in ("true", "false"):
            return int(text == "true")
        number = _NUMBER.fullmatch(text)
        if number is None or not shape.is_number:
            raise operation.wrong(f"a number or dense<...>, found {text[:40]!r}")
        return float(text) if shape.element.startswith("f") else int(float(text))
    inner = text[len("dense<") : -1].strip()
    if not text.endswith(">") or not shape.is_number:
        raise operation.wrong(f"dense<...> of numbers, found {text[:40]!r}")
    return _dense(operation, inner, shape)


def _literal_type(text: str) -> str:
    return "i1" if text in ("true", "false") else ""


def _dense(operation: Operation, inner: str, shape: Shape) -> NDArray[Any]:
    dtype = dtype_of(shape.element)
    if inner.startswith('"'):
        values = _hexadecimal(operation, inner, shape)
    else:
        values = _listed(operation, inner, shape)
    found = values.astype(dtype)
    if found.size == 1 and shape.count != 1:
        return np.full(shape.sizes, found.reshape(())[()], dtype=dtype)
    if found.size != shape.count:
        raise operation.wrong(f"{shape.count} numbers, found {found.size}")
    return np.asarray(found.reshape(shape.sizes))


def _listed(operation: Operation, inner: str, shape: Shape) -> NDArray[Any]:
    """Numbers, nested in lists; their nesting is not compared."""
    try:
        values = np.array(loads(inner or "[]"), dtype=np.float64 if "f" in shape.element else None)
    except (JSONDecodeError, ValueError, OverflowError, RecursionError) as error:
        raise operation.wrong(f"numbers in lists, found {inner[:40]!r}") from error
    if values.dtype.kind not in "iubf":
        raise operation.wrong(f"numbers in lists, found {inner[:40]!r}")
    return values


def _hexadecimal(operation: Operation, inner: str, shape: Shape) -> NDArray[Any]:
    """Raw little-endian elements."""
    number = inner.strip('"')
    text = operation.strings[int(number)] if number.isdecimal() else ""
    size = re.fullmatch(r"[su]?i(\d+)", shape.element)
    kind = _ELEMENTS.get(shape.element) or _BYTES.get(int(size[1]) if size else 0)
    try:
        raw = bytes.fromhex(text.removeprefix("0x"))
        return np.frombuffer(raw, dtype=kind)
    except (ValueError, TypeError) as error:
        raise operation.wrong(
            f"hexadecimal data of {shape.element}, found {text[:40]!r}"
        ) from error
