"""Modules of HEIR: their context, their keys, and their functions as programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork.errors import CloakworkError, LoadError, ParamError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.context import Context
from cloakwork.fhe.heir.evaluators import (
    Bootstrap,
    Encrypted,
    Outline,
    Outlines,
    declared,
    kind_of,
    tiled,
)
from cloakwork.fhe.heir.interpreter import KNOWN, Interpreter, called, unknown
from cloakwork.fhe.heir.text import Function, Place, Text, every, parse
from cloakwork.fhe.heir.values import Plain, Shape, boxed, shape_of
from cloakwork.fhe.schemes import bgv, ckks
from cloakwork.files import name_of, read
from cloakwork.lazy import public
from cloakwork.sending import Constant

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys
    from cloakwork.programs.program import Program

_PARAMETERS = re.compile(r"#?(ckks|bgv)\.scheme_param<(.*?)>", re.DOTALL)
_INTERNAL = re.compile(r"__(?:preprocessing|preprocessed|encrypt__\w+|decrypt__\w+)$")


def load(
    path: str | PathLike[str], *, context: Context | None = None, insecure: bool = False
) -> Module:
    """The module in a file of HEIR's text; see `loads`.  OSError where it cannot be read."""
    file = name_of(path)
    try:
        source = read(file).decode()
    except UnicodeDecodeError as error:
        raise LoadError(f"{file}:1: no text of MLIR: {error}") from error
    return loads(source, name=file, context=context, insecure=insecure)


def loads(
    source: str, *, name: str = "<text>", context: Context | None = None, insecure: bool = False
) -> Module:
    """A module from HEIR's text, as `--mlir-to-ckks` and `--mlir-to-bgv` write it.

    name       of the text, for errors
    context    where operations run, instead of the parameters in the text: of at least as many
               levels, such as one for bootstrapping, or of BFV for a text of bgv
    insecure   accept parameters with less than 128 bits of security

    Its functions are followed once, with levels and parts alone: LoadError, with the line, for
    operations that are not read, values that are not defined, and levels that do not fit.
    """
    text = parse(name, source)
    found = context if context is not None else _context(text, insecure)
    module = Module(text, found)
    for function in module.functions:
        module.rotations(function)
    return module


def _context(text: Text, insecure: bool) -> Context:
    """The context of a module's parameters."""
    place = text.place or Place(text.path, 1)
    found = _PARAMETERS.search(text.expanded(text.attributes, place))
    if found is None:
        raise place.wrong(
            "expected ckks.schemeParam or bgv.schemeParam in the module's attributes; give "
            "context=... instead"
        )
    scheme, fields = found.groups()
    try:
        degree = 1 << min(_integer(fields, "logN"), 20)
        moduli, special = _integers(fields, "Q"), _integers(fields, "P")
        if scheme == "ckks":
            scale = 2.0 ** min(_integer(fields, "logDefaultScale"), 100)
            return ckks(degree, moduli, special, scale=scale, insecure=insecure)
        plain = _integer(fields, "plaintextModulus")
        return bgv(degree, plain, moduli, special, insecure=insecure)
    except (CloakworkError, ValueError) as error:
        raise place.wrong(f"parameters: {error}") from error


def _integer(fields: str, name: str) -> int:
    found = re.search(rf"\b{name}\s*=\s*(\d{{1,18}})\b", fields)
    if found is None:
        raise ValueError(f"expected {name} = a number, found none")
    return int(found[1])


def _integers(fields: str, name: str) -> tuple[int, ...]:
    found = re.search(rf"\b{name}\s*=\s*\[([\d\s,]*)\]", fields)
    if found is None or len(found[1]) > 1 << 14:
        raise ValueError(f"expected {name} = [numbers], found none")
    return tuple(int(part) for part in found[1].split(",") if part.strip())


@public("cloakwork.fhe.heir")
class Module(Constant):
    """The functions of a text, and the context in which they run."""

    _stays = "it holds the functions of a text: send the text and the context, and load it there"

    def __init__(self, text: Text, context: Context) -> None:
        self._text, self.context = text, context

    @property
    def functions(self) -> list[str]:
        """The functions of ciphertexts that are not parts of others."""
        return [name for name, own in self._text.functions.items()
                if not _INTERNAL.search(name) and self._encrypted(own)]  # fmt: skip

    def _encrypted(self, function: Function) -> bool:
        expanded = (self._text.expanded(kind, function.place) for _, kind in function.arguments)
        return any(declared(kind) for kind in expanded)

    def _function(self, name: str | None) -> Function:
        """A function by its name, by default the only one."""
        names = self.functions
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            raise ParamError("function", name, f"one of {', '.join(names) or 'none'}")
        return self._text.functions[name]

    def rotations(self, function: str | None = None) -> list[int]:
        """The steps by which a function rotates: those that `keygen` makes keys for.

        Raises LoadError, with the line, for what cannot run.
        """
        own = self._function(function)
        self._check_known(own, set())
        outlines = Outlines()
        runner = Interpreter(self._text, outlines, self.context.slots)
        found = runner.run(own, [self._outline(own, kind) for _, kind in own.arguments])
        if not all(outlines.holds(value) for value in _flat(found)):
            raise own.place.wrong(f"@{own.name}: expected results that are ciphertexts")
        row = self.context.parameters.degree // 2
        return sorted({step % row for step in outlines.rotations} - {0})

    def _check_known(self, function: Function, seen: set[str]) -> None:
        """LoadError for an operation that is not read, also in what the function calls."""
        seen.add(function.name)
        for operation in every(function.body):
            if operation.name not in KNOWN and kind_of(operation.name) is None:
                raise unknown(operation)
            if operation.name in ("call", "func.call"):
                other = called(self._text, operation)
                if other.name not in seen:
                    self._check_known(other, seen)

    def _outline(self, function: Function, kind: str) -> Any:
        shape, wanted = self._declared(function, kind)
        if wanted is None:
            plain = "lwe_plaintext" in self._text.expanded(kind, function.place)
            one: Any = Plain(np.zeros(1)) if plain else 0
        else:
            one = Outline(wanted.level, wanted.parts)
        if not shape.sizes:
            return one
        if isinstance(one, int):
            return np.zeros(shape.sizes)
        return boxed([one] * shape.count, shape.sizes)

    def _declared(self, function: Function, kind: str) -> tuple[Shape, Any]:
        operation = function.body[0] if function.body else None
        if operation is None:
            raise function.place.wrong(f"@{function.name}: expected operations, found none")
        shape = shape_of(kind, operation)
        return shape, declared(self._text.expanded(shape.element, function.place))

    def keygen(self, function: str | None = None) -> Keys:
        """A fresh secret, with the evaluation keys that a function needs."""
        return self.context.keygen(self.rotations(function))

    def function(
        self, name: str | None = None, *, bootstrap: Bootstrap | None = None
    ) -> Callable[..., Any]:
        """A function of the text as one of Python's, for `cw.trace` and for running directly.

        It takes a ciphertext for each that the text takes, a list for a tensor of several, and
        NumPy's arrays for what is not encrypted; it returns a ciphertext, or a tuple.

        bootstrap   what `ckks.bootstrap` does
        """
        own = self._function(name)
        encrypted = Encrypted(self.context, bootstrap)

        def run(*arguments: Any) -> Any:
            runner = Interpreter(self._text, encrypted, self.context.slots)
            if len(arguments) != len(own.arguments):
                count = f"{len(own.arguments)}, as @{own.name} takes"
                raise ParamError("arguments", len(arguments), count)
            pairs = zip(own.arguments, arguments, strict=True)
            given = [self._argument(own, kind, value) for (_, kind), value in pairs]
            found = _flat(runner.run(own, given))
            return found[0] if len(found) == 1 else tuple(found)

        return run

    def _argument(self, function: Function, kind: str, value: Any) -> Any:
        """An argument as the function wants it: brought to its level, in a tensor."""
        shape, wanted = self._declared(function, kind)
        if wanted is None:
            if "lwe_plaintext" in self._text.expanded(kind, function.place):
                return Plain(np.asarray(value))
            return np.asarray(value, dtype=np.float64) if shape.sizes else value
        given = list(value) if isinstance(value, list | tuple) else [value]
        if len(given) != shape.count:
            raise ParamError("arguments", len(given), f"{shape.count} ciphertexts for {kind}")
        for one in given:
            if not isinstance(one, Ciphertext):
                raise ParamError("arguments", type(one).__name__, f"a ciphertext for {kind}")
            self.context.check(one, function.name)
        if wanted.level is not None:
            given = [x.lower(wanted.level) if x.level > wanted.level else x for x in given]
        return boxed(given, shape.sizes) if shape.sizes else given[0]

    def trace(
        self, *arguments: Any, function: str | None = None, bootstrap: Bootstrap | None = None
    ) -> Program:
        """A function as a program of its ciphertexts, recorded with these as examples.

        The ciphertexts of lists are inputs one after another; what is not encrypted is recorded.
        """
        from cloakwork.programs.tracing import trace

        run = self.function(function, bootstrap=bootstrap)
        rows = [list(given) if isinstance(given, list | tuple) else [given] for given in arguments]
        encrypted = [isinstance(row[0], Ciphertext) if row else False for row in rows]

        def recorded(*flat: Ciphertext) -> Any:
            left = iter(flat)
            given = []
            for argument, row, known in zip(arguments, rows, encrypted, strict=True):
                taken = [next(left) for _ in row] if known else []
                single = argument is row[0] if row else False
                given.append((taken[0] if single else taken) if known else argument)
            return run(*given)

        examples = [x for row, known in zip(rows, encrypted, strict=True) if known for x in row]
        return trace(recorded, *examples)

    def encrypt(self, keys: Keys, *values: Any, function: str | None = None) -> list[Any]:
        """The encrypted arguments of a function, by the text's own functions of the client.

        Where the text has none, each value fills the slots, again and again.
        """
        own = self._function(function)
        if len(values) != len(own.arguments):
            allowed = f"{len(own.arguments)}, as @{own.name} takes"
            raise ParamError("values", len(values), allowed)
        found = []
        for place, value in enumerate(values):
            if self._declared(own, own.arguments[place][1])[1] is None:
                found.append(value)
                continue
            client = self._text.functions.get(f"{own.name}__encrypt__arg{place}")
            if client is None:
                found.append(keys.encrypt(tiled(np.asarray(value), self.context.slots)))
                continue
            given = np.asarray(value)
            whole = [given if given.ndim else given.item()]
            made = _flat(self._client(keys).run(client, self._with_keys(client, whole)))
            found.append(made[0] if len(made) == 1 else made)
        return found

    def decrypt(self, keys: Keys, *results: Any, function: str | None = None) -> list[Any]:
        """The decrypted results of a function, by the text's own functions of the client.

        Where the text has none, all slots.
        """
        own = self._function(function)
        found = []
        for place, value in enumerate(results):
            client = self._text.functions.get(f"{own.name}__decrypt__result{place}")
            if client is None:
                found.append(keys.decrypt(value))
                continue
            _, kind = client.arguments[0]
            given = self._argument(client, kind, value)
            (made,) = self._client(keys).run(client, self._with_keys(client, [given]))
            found.append(made)
        return found

    def _client(self, keys: Keys) -> Interpreter:
        return Interpreter(self._text, Encrypted(self.context), self.context.slots, keys)

    def _with_keys(self, client: Function, given: list[Any]) -> list[Any]:
        """The arguments, and the keys for the others, which are keys in the text."""
        return given + [None] * (len(client.arguments) - len(given))

    def __repr__(self) -> str:
        return f"heir.Module({self._text.path}: {', '.join(self.functions)})"


def _flat(values: list[Any]) -> list[Any]:
    """The results, those of tensors one after another."""
    found: list[Any] = []
    for value in values:
        found += value.reshape(-1).tolist() if isinstance(value, np.ndarray) else [value]
    return found
