"""Several ciphertexts of one client in one file, by name: the inputs or results of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from cloakwork.errors import KeyMismatchError, ParamError, UnknownNameError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.files import storage
from cloakwork.fhe.files.container import Contents, PathLike, save
from cloakwork.fhe.streams import Stored
from cloakwork.lazy import public
from cloakwork.strict import in_short
from cloakwork.wording import listed

if TYPE_CHECKING:
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.keys.evaluation import EvaluationKeys

KIND = "ciphertexts"
# Facts that all ciphertexts of a set have in common.
_COMMON = ("parameters", "fingerprint", "key", "bound", "levels")


@public("cloakwork.fhe")
class CiphertextSet(Stored, Mapping[str, Ciphertext]):
    """A mapping from names to ciphertexts of one secret, with one file (`.ct`) for all of them.

    >>> from cloakwork import fhe
    >>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
    >>> keys = context.keygen()
    >>> pair = fhe.CiphertextSet({"x": keys.encrypt([1.0]), "y": keys.encrypt([2.0])})
    >>> list(fhe.from_bytes(pair.to_bytes()))
    ['x', 'y']
    """

    __slots__ = ("_held", "context", "key")

    def __init__(self, ciphertexts: Mapping[str, Ciphertext]) -> None:
        """Hold ciphertexts by name.

        Raises ParamError for none, and for values that are no ciphertexts; KeyMismatchError for
        ciphertexts of several parameters or secrets.
        """
        held: dict[str, Ciphertext] = dict(ciphertexts)
        for name, one in cast("dict[Any, Any]", held).items():
            if not isinstance(name, str) or not isinstance(one, Ciphertext):
                got = f"{type(name).__name__} to {type(one).__name__}"
                raise ParamError("ciphertexts", got, "a mapping from names to ciphertexts")
        if not held:
            raise ParamError("ciphertexts", "none", "one ciphertext or more")
        first = next(iter(held.values()))
        for one in held.values():
            first.context.check(one, "CiphertextSet")
            if one.key != first.key:
                hint = "encrypt all of them with one secret"
                raise KeyMismatchError("CiphertextSet", "key", first.key, one.key, hint)
        self._held, self.context, self.key = held, first.context, first.key

    def __getitem__(self, name: str) -> Ciphertext:
        found = self._held.get(name)
        if found is None:
            raise UnknownNameError("ciphertexts", f"no {name!r}", f"one of {listed(self._held)}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __deepcopy__(self, memo: object) -> CiphertextSet:
        """The same ciphertexts, each with residues of its own."""
        return CiphertextSet({name: deepcopy(one) for name, one in self.items()})

    def using(self, evaluation: EvaluationKeys | None) -> CiphertextSet:
        """The same ciphertexts with these evaluation keys; KeyMismatchError if they do not fit."""
        return CiphertextSet({name: one.using(evaluation) for name, one in self.items()})

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""
        stated = {name: storage.stated(one) for name, one in self.items()}
        first = next(iter(stated.values()))[0]
        fields: dict[str, Any] = {name: first[name] for name in _COMMON if name in first}
        fields["ciphertexts"] = {
            name: {field: value for field, value in own.items() if field not in _COMMON}
            for name, (own, _) in stated.items()
        }
        save(path, KIND, fields, {name: data for name, (_, data) in stated.items()})

    def __repr__(self) -> str:
        return f"CiphertextSet({listed(self)})"


def read(contents: Contents, context: Context) -> CiphertextSet:
    """The set in a file; LoadError where a ciphertext's description or residues are wrong."""
    described = contents.field("ciphertexts").of(dict)
    if described.keys() != contents.tensors.keys():
        raise contents.wrong("tensors", f"those of {listed(described)}", "others")
    common = {name: contents.fields[name] for name in _COMMON if name in contents.fields}
    made = {}
    for name, own in described.items():
        if not isinstance(own, dict) or own.keys() & set(_COMMON):
            raise contents.wrong(f"ciphertext {name!r}", "its own description", repr(own)[:60])
        tensors = {"data": contents.tensors[name]}
        place = Path(f"{contents.path}: ciphertexts.{in_short(name)}")
        one = Contents(place, "ciphertext", common | own, tensors)
        made[name] = storage.ciphertext_of(one, context)
    return CiphertextSet(made)
