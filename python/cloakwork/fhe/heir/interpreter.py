"""Evaluation of a function: plain values are computed, an evaluator has the ciphertexts.

Loops run, so that what is recorded is straight.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from cloakwork.errors import (
    CloakworkError,
    KeyMismatchError,
    LoadError,
    MissingKeyError,
    NoiseError,
)
from cloakwork.fhe.heir import arithmetic
from cloakwork.fhe.heir.evaluators import Evaluator, declared, kind_of, tiled
from cloakwork.fhe.heir.text import Function, Operation, Text, every
from cloakwork.fhe.heir.values import Plain, boxed, constant, dtype_of, shape_of

# A text of a stranger could run forever, or call itself.
_MOST_STEPS, _DEEPEST_CALLS = 5_000_000, 32
_LOOP = re.compile(
    r"%[\w$.-]+\s*=\s*(\S+)\s+to\s+(\S+)(?:\s+step\s+(\S+))?\s*(?:iter_args\((.*?)\))?\s*(?:->.*)?",
    re.DOTALL,
)
_NUMERIC = {*arithmetic.BINARY, *arithmetic.UNARY, *arithmetic.COMPARISONS}
_BRANCH = "scf.if"
_YIELDS = ("scf.yield", "affine.yield")
_LOOPS = ("scf.for", "affine.for")
_RETURNS = ("return", "func.return")
_CALLS = ("call", "func.call")
# What results of these hold is theirs alone, so that an insertion may write it in place.
_FRESH = ("tensor.insert", "tensor.insert_slice", "tensor.empty", *_LOOPS)
# The user's, not the text's.
_OF_KEYS = (MissingKeyError, KeyMismatchError, NoiseError)

Values = dict[str, Any]
# Operations on two ciphertexts, or on one and a number.
_OF_TWO = ("addition", "difference", "product", "scalar product")


class Interpreter:
    """Runs functions of a text.

    keys   of the client, for functions that encrypt or decrypt
    """

    def __init__(self, text: Text, evaluator: Evaluator, slots: int, keys: Any = None) -> None:
        self.text, self.evaluator, self.slots, self.keys = text, evaluator, slots, keys
        self._steps = 0
        self._calls = 0

    def run(self, function: Function, arguments: list[Any]) -> list[Any]:
        """The results of a function; LoadError, with the line, for what is wrong in it."""
        if len(arguments) != len(function.arguments):
            count = len(function.arguments)
            raise function.place.wrong(f"@{function.name}: expected {count} arguments")
        self._calls += 1
        if self._calls > _DEEPEST_CALLS:
            raise function.place.wrong(f"expected at most {_DEEPEST_CALLS} calls in each other")
        names = [name for name, _ in function.arguments]
        values: Values = dict(zip(names, arguments, strict=True))
        own = self._mutable(function)
        found = self._block(function.body, values, own)
        self._calls -= 1
        if found is None:
            raise function.place.wrong(f"@{function.name}: expected a return")
        if len(found) != len(function.results):
            raise function.place.wrong(
                f"@{function.name}: expected {len(function.results)} results, found {len(found)}"
            )
        return found

    def _mutable(self, function: Function) -> frozenset[str]:
        """Tensors that nothing else reads: made afresh, and named once."""
        fresh = set()
        for operation in every(function.body):
            if operation.name in _FRESH:
                fresh |= set(operation.results)
            if operation.body is not None:
                fresh |= {name for name, _ in _carried(operation)}
        outer = _read_from_outside(function.body)
        return frozenset(n for n in fresh if function.uses[n] == 1 and n not in outer)

    def _block(
        self, body: list[Operation], values: Values, own: frozenset[str]
    ) -> list[Any] | None:
        """The values that a block returns or yields; None if it ends without either."""
        for operation in body:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise operation.wrong(f"a program of at most {_MOST_STEPS} steps")
            if operation.name in (*_RETURNS, *_YIELDS):
                return [self._value(operation, values, name) for name in operation.operands]
            results = self._checked(operation, values, own)
            if operation.results:
                _bind(operation, values, results)
        return None

    def _checked(self, operation: Operation, values: Values, own: frozenset[str]) -> list[Any]:
        try:
            return self._results(operation, values, own)
        except LoadError:
            raise
        except _OF_KEYS as error:
            error.add_note(f"at {operation.place.path}:{operation.place.line}, {operation.name}")
            raise
        except (CloakworkError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise operation.place.wrong(f"{operation.name}: {error}") from error

    def _value(self, operation: Operation, values: Values, name: str) -> Any:
        if name not in values:
            raise operation.wrong(f"values defined above, found {name}")
        return values[name]

    def _results(self, operation: Operation, values: Values, own: frozenset[str]) -> list[Any]:
        if operation.name in _LOOPS:
            return self._loop(operation, values, own)
        if operation.name == _BRANCH:
            return self._branch(operation, values, own)
        operands = [self._value(operation, values, name) for name in operation.operands]
        if operation.name in _CALLS:
            return self.run(called(self.text, operation), operands)
        kind = kind_of(operation.name)
        if kind is not None:
            return [self._encrypted(kind, operation, operands)]
        return [self._plain(operation, operands, values, own)]

    def _encrypted(self, kind: str, operation: Operation, operands: list[Any]) -> Any:
        """An operation on ciphertexts, or on each of tensors of them."""
        self._check_operands(kind, operation, operands)
        expanded = self.text.expanded(operation.result_type, operation.place)
        wanted = declared(expanded)
        if wanted is None:
            raise operation.wrong(f"a result that is a ciphertext, found {expanded[:60]!r}")
        if not any(isinstance(value, np.ndarray) for value in operands):
            return self._one(kind, operation, operands, wanted)
        arrays = (v if isinstance(v, np.ndarray) else boxed([v], ()) for v in operands)
        spread = np.broadcast_arrays(*arrays)
        rows = zip(*(array.reshape(-1).tolist() for array in spread), strict=True)
        found = [self._one(kind, operation, list(row), wanted) for row in rows]
        return boxed(found, spread[0].shape)

    def _one(self, kind: str, operation: Operation, operands: list[Any], wanted: Any) -> Any:
        encrypted = [self.evaluator.holds(value) for value in operands]
        plain = [isinstance(value, Plain) for value in operands]
        expected = {"plain": (1, 1), "addition": (2, 0), "difference": (2, 0), "product": (2, 0)}
        counts = expected.get(kind, expected.get(kind.partition(" ")[0], (1, 0)))
        if (sum(encrypted), sum(plain)) != counts:
            raise operation.wrong(f"{counts[0]} ciphertexts and {counts[1]} plaintexts")
        return self.evaluator.apply(kind, operation, operands, wanted)

    def _check_operands(self, kind: str, operation: Operation, operands: list[Any]) -> None:
        two = kind in ("addition", "difference", "product", "scalar product") or kind.startswith(
            "plain"
        )
        allowed = (2,) if two else (1, 2) if kind in ("rotation", "relinearization") else (1,)
        if len(operands) not in allowed:
            raise operation.wrong(f"{allowed[-1]} operands, found {len(operands)}")

    def _plain(
        self, operation: Operation, operands: list[Any], values: Values, own: frozenset[str]
    ) -> Any:
        if operation.name == "arith.constant":
            return constant(operation)
        if operation.name in _NUMERIC:
            return arithmetic.numeric(operation, operands)
        handler = HANDLERS.get(operation.name)
        if handler is None:
            raise unknown(operation)
        return handler(self, operation, operands, (values, own))

    def _branch(self, operation: Operation, values: Values, own: frozenset[str]) -> list[Any]:
        """The side that a known condition takes."""
        condition = self._value(operation, values, operation.operand(0))
        side = operation.body if arithmetic.index(operation, condition) else operation.otherwise
        return self._block(side or [], dict(values), own) or []

    def _loop(self, operation: Operation, values: Values, own: frozenset[str]) -> list[Any]:
        found = _LOOP.fullmatch(operation.header)
        if found is None or operation.body is None:
            raise operation.wrong("%i = first to end step s iter_args(...), with a body")

        def bound(text: str | None) -> int:
            if text is None:
                return 1
            if text.startswith("%"):
                return arithmetic.index(operation, self._value(operation, values, text))
            return int(text)

        step = bound(found[3])
        if step < 1:
            raise operation.wrong(f"a step of 1 or more, found {step}")
        variable = operation.header.partition("=")[0].strip()
        carried = _carried(operation)
        held = [_copied(self._value(operation, values, first)) for _, first in carried]
        inner = dict(values)
        for at in range(bound(found[1]), bound(found[2]), step):
            self._steps += 1
            inner[variable] = at
            inner.update((name, value) for (name, _), value in zip(carried, held, strict=True))
            held = self._block(operation.body, inner, own) or []
            if len(held) != len(carried) or self._steps > _MOST_STEPS:
                what = f"{len(carried)} yielded values, in at most {_MOST_STEPS} steps"
                raise operation.wrong(what)
        return held


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _carried(operation: Operation) -> list[tuple[str, str]]:
    """The values that a loop carries on, each with its first."""
    found = re.search(r"iter_args\((.*?)\)", operation.header, re.DOTALL)
    pairs = [part.partition("=") for part in found[1].split(",")] if found else []
    return [(name.strip(), first.strip()) for name, _, first in pairs]


def _read_from_outside(body: list[Operation]) -> set[str]:
    """Values that loops read of blocks around them, again and again."""
    found: set[str] = set()
    for operation in every(body):
        if operation.body is not None:
            inside = {name for inner in every(operation.body) for name in inner.operands}
            made = {name for inner in every(operation.body) for name in inner.results}
            found |= inside - made - {name for name, _ in _carried(operation)}
    return found


def _bind(operation: Operation, values: Values, results: list[Any]) -> None:
    """Name the results: `%a, %b = ` or `%a:2 = `."""
    names: list[str] = []
    for name in operation.results:
        own, _, count = name.partition(":")
        names += [f"{own}#{i}" for i in range(min(int(count), 1000))] if count else [own]
    if len(names) != len(results):
        raise operation.wrong(f"{len(results)} results, found {len(names)} names")
    values |= dict(zip(names, results, strict=True))


def called(text: Text, operation: Operation) -> Function:
    """The function that a call names."""
    found = re.search(r"@([\w$.-]+)", operation.header)
    if found is None or found[1] not in text.functions:
        raise operation.wrong(f"a function of this text, found {operation.header[:60]!r}")
    return text.functions[found[1]]


def unknown(operation: Operation) -> LoadError:
    """The error for an operation that is not read."""
    dialect = operation.name.partition(".")[0]
    hint = {
        "secret": "lower it with --mlir-to-ckks or --mlir-to-bgv first",
        "openfhe": "stop before --lwe-to-openfhe: the text of ckks and lwe is read",
        "lattigo": "stop before --lwe-to-lattigo: the text of ckks and lwe is read",
        "linalg": "lower it with --mlir-to-ckks or --mlir-to-bgv first",
        "polynomial": "stop before --lwe-to-polynomial: the text of ckks and lwe is read",
        "affine": "unroll it with --full-loop-unroll first",
        "scf": "unroll it with --full-loop-unroll first",
    }.get(dialect, "lower it to ckks, bgv, lwe, arith and tensor")
    return operation.place.wrong(f"{operation.name} is no operation that is read here: {hint}")


Scope = tuple[Values, frozenset[str]]
Handler = Callable[[Interpreter, Operation, list[Any], Scope], Any]


def _operands(operation: Operation, operands: list[Any], count: int) -> list[Any]:
    if len(operands) < count:
        raise operation.wrong(f"{count} operands, found {len(operands)}")
    return operands


def _extract(_: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    held, *places = _operands(operation, operands, 1)
    held = arithmetic.array(operation, held)
    places = [arithmetic.index(operation, place) for place in places]
    found = held[arithmetic.within(operation, held, places)]
    if found is None:
        raise operation.wrong("an element that was inserted before")
    return found.item() if isinstance(found, np.generic) else found


def _target(operation: Operation, scope: Scope, held: Any) -> Any:
    """The tensor to write: itself where nobody else reads it."""
    held = arithmetic.array(operation, held)
    return held if operation.operand(1) in scope[1] else held.copy()


def _insert(_: Interpreter, operation: Operation, operands: list[Any], scope: Scope) -> Any:
    value, held, *places = _operands(operation, operands, 2)
    found = _target(operation, scope, held)
    places = [arithmetic.index(operation, place) for place in places]
    found[arithmetic.within(operation, found, places)] = value
    return found


def _extract_slice(
    own: Interpreter, operation: Operation, operands: list[Any], scope: Scope
) -> Any:
    held = arithmetic.array(operation, _operands(operation, operands, 1)[0])
    window = arithmetic.window(
        operation, held.shape, lambda name: own._value(operation, scope[0], name)
    )
    found = held[window].copy()
    # Sizes that only the run knows are those of the window.
    return found if "?" in operation.result_type else found.reshape(_sizes(operation))


def _insert_slice(own: Interpreter, operation: Operation, operands: list[Any], scope: Scope) -> Any:
    value, held = _operands(operation, operands, 2)[:2]
    found = _target(operation, scope, held)
    window = arithmetic.window(
        operation, found.shape, lambda name: own._value(operation, scope[0], name)
    )
    found[window] = arithmetic.array(operation, value).reshape(found[window].shape)
    return found


def _sizes(operation: Operation) -> tuple[int, ...]:
    return shape_of(operation.result_type, operation).sizes


def _reshape(_: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    held = arithmetic.array(operation, _operands(operation, operands, 1)[0])
    return held.reshape(_sizes(operation)).copy()


def _encode(_: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    """A plaintext, or one for each row of a tensor; it is encoded where it is used."""
    value = np.asarray(_operands(operation, operands, 1)[0])
    if value.dtype == object:
        raise operation.wrong("numbers")
    sizes = _sizes(operation)
    if not sizes:
        return Plain(value.reshape(-1))
    rows = value.reshape(prod(sizes), -1)
    return boxed(list(map(Plain, rows)), sizes)


def _decode(_: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    plain = _operands(operation, operands, 1)[0]
    shape = shape_of(operation.result_type, operation)
    if not isinstance(plain, Plain) or not shape.is_number or shape.count > plain.values.size:
        raise operation.wrong("a plaintext, to numbers of no more than its slots")
    dtype, values = dtype_of(shape.element), plain.values.real[: shape.count]
    found = (values if dtype.kind == "f" else np.rint(values)).astype(dtype).reshape(shape.sizes)
    return found if shape.sizes else found.item()


def _encrypt(own: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    plain = _operands(operation, operands, 1)[0]
    if not isinstance(plain, Plain) or own.keys is None:
        raise operation.wrong("a plaintext, in a function of the client")
    return own.keys.encrypt(tiled(plain.values, own.slots))


def _decrypt(own: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    if own.keys is None or not own.evaluator.holds(_operands(operation, operands, 1)[0]):
        raise operation.wrong("a ciphertext, in a function of the client")
    return Plain(own.keys.decrypt(operands[0]))


def _store(_: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    value, storage, *places = _operands(operation, operands, 2)
    if not isinstance(storage, dict):
        raise operation.wrong("a storage as the second operand")
    storage[_site(operation, places)] = value
    return None


def _load(_: Interpreter, operation: Operation, operands: list[Any], __: Scope) -> Any:
    storage, *places = _operands(operation, operands, 1)
    if not isinstance(storage, dict) or _site(operation, places) not in storage:
        raise operation.wrong("a storage, and a site that was stored before")
    return storage[_site(operation, places)]


def _site(operation: Operation, places: list[Any]) -> tuple[int, ...]:
    found = re.search(r"\bsite\s+(\d{1,9})", operation.header)
    if found is None:
        raise operation.wrong("a site")
    return (int(found[1]), *(arithmetic.index(operation, place) for place in places))


HANDLERS: dict[str, Handler] = {
    "tensor.empty": lambda _, operation, __, ___: arithmetic.empty(operation),
    "tensor.splat": lambda _, operation, operands, __: arithmetic.splat(
        operation, _operands(operation, operands, 1)[0]
    ),
    "tensor.from_elements": lambda _, operation, operands, __: arithmetic.from_elements(
        operation, operands
    ),
    "tensor.extract": _extract,
    "tensor.insert": _insert,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.collapse_shape": _reshape,
    "tensor.expand_shape": _reshape,
    "lwe.rlwe_encode": _encode,
    "lwe.rlwe_decode": _decode,
    "lwe.rlwe_encrypt": _encrypt,
    "lwe.rlwe_decrypt": _decrypt,
    "preprocessing.empty": lambda *_: {},
    "preprocessing.store": _store,
    "preprocessing.load": _load,
}
KNOWN = {*HANDLERS, *_NUMERIC, _BRANCH, *_LOOPS, *_YIELDS, *_RETURNS, *_CALLS,
         "arith.constant"}  # fmt: skip
