"""Steps of the client on plain inputs, before it encrypts them.

Categories, missing values and powers act on one client's own data, and would take the server many
levels.  The steps are data, as those of `client_tail`: whoever encrypts sees their parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.client_columns import ColumnNames
from cloakwork.compiler.client_tail import CLIENT_KINDS, ClientTail
from cloakwork.compiler.client_texts import TextColumn, as_table, coded
from cloakwork.errors import ModelError
from cloakwork.strict import Member

__all__ = ["ClientHead"]

_MOST_ELEMENTS = 1 << 28
# Steps that take NaN for what is missing; others make nothing of it but NaN, which is refused.
_FOR_MISSING = {"choice", "columns", "imputed", "is_missing", "missing"}


# Steps whose results are elements that they read, or sums of them.
_HANDING = {"columns", "linear"}


def _spread(mark: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Where a result of a shape may come from marked elements."""
    if mark.shape == shape:
        return mark
    if mark.shape == shape[:-1]:
        return np.broadcast_to(mark[..., np.newaxis], shape)
    return np.full(shape, mark.any())


def _with_missing(kind: str, inputs: Sequence[NDArray[Any]], found: NDArray[Any]) -> NDArray[Any]:
    """The result of a step, with NaN where an input has one."""
    # A map has NaN where it reads one.
    if kind in _FOR_MISSING or kind == "linear":
        return found
    for own in inputs:
        missing = np.isnan(own) if own.dtype.kind == "f" else np.zeros(1, dtype=np.bool_)
        if not missing.any() or found.dtype.kind not in "fiub":
            continue
        if found.shape == own.shape:
            where = missing
        elif found.shape[:-1] == own.shape:
            where = missing[..., np.newaxis]
        elif found.dtype.kind == "f":
            # Sums and selections have NaN where they read one.
            continue
        else:
            where = missing.reshape(len(own), -1).any(axis=1).reshape(-1, *[1] * (found.ndim - 1))
        found = np.where(where, np.nan, found)
    return found


@dataclass(frozen=True)
class ClientHead:
    """Steps from what a user gives to what is encrypted.

    inputs   the shapes of what is given, without the batch axis, by name
    steps    their results are the inputs that are encrypted, by name
    texts    by input [features]: the columns that hold texts, of which steps see the places
    columns  by input [features]: the names that a table's columns have
    """

    inputs: Mapping[str, tuple[int, ...]]
    steps: ClientTail
    texts: Mapping[str, Mapping[int, TextColumn]] = field(default_factory=dict)
    columns: Mapping[str, ColumnNames] = field(default_factory=dict)

    def check(self, encrypted: set[str]) -> None:
        """ModelError unless the results are all that is encrypted."""
        self.steps.check(list(self.inputs))
        if set(self.steps.results) != encrypted:
            found = f"{sorted(self.steps.results)} of {sorted(encrypted)}"
            raise ModelError(f"the client's first steps: expected all inputs, found {found}")
        for name, columns in self.texts.items():
            shape = self.inputs.get(name, ())
            if len(shape) != 1 or any(not 0 <= place < shape[0] for place in columns):
                raise ModelError(f"texts of {name!r}: expected columns of an input, found others")
        for name, own in self.columns.items():
            if self.inputs.get(name, ()) != (len(own.names),):
                raise ModelError(f"names of {name!r}: expected one for each column of an input")

    def of_places(self) -> ClientHead:
        """The same of numbers alone: texts are given as places of categories, as `checked` does."""
        return replace(self, texts={})

    def readers(self, given: ArrayLike, column: int) -> set[str]:
        """The kinds of steps that see a column, or what others make of it; "" if results hold it.

        given   a row that they accept

        Selections and maps are none: they hand on what they read.
        """
        name, made = next(iter(self.inputs)), list[NDArray[Any]]()
        values: dict[str, NDArray[Any]] = dict(self.checked({name: given}))

        def after(kind: str, inputs: Sequence[NDArray[Any]], own: NDArray[Any]) -> NDArray[Any]:
            made.append(own)
            return own

        with np.errstate(all="ignore"):
            self.steps.run(values, after)
        marks = {name: np.arange(self.inputs[name][0]) == np.full((1, 1), column)}
        found = set[str]()
        for step, own in zip(self.steps.steps, made, strict=True):
            values[step.output] = own
            seen = [marks[one] for one in step.inputs]
            if step.kind in _HANDING:
                holed = [np.where(marks[one], np.nan, values[one]) for one in step.inputs]
                mark = np.isnan(CLIENT_KINDS[step.kind](*holed, **step.parameters))
            elif step.kind == "missing":
                seen = [one[:, step.parameters["columns"]] for one in seen]
                mark = seen[0]
            else:
                mark = np.zeros(own.shape, dtype=np.bool_)
                for one in seen:
                    mark |= _spread(one, own.shape)
            if step.kind not in _HANDING and any(one.any() for one in seen):
                found.add(step.kind)
            marks[step.output] = mark
        return found | {""} if any(marks[one].any() for one in self.steps.results) else found

    def run(self, given: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, NDArray[np.float64]]:
        """The values to encrypt, [batch, ...] by name, of samples [batch, *shape] or one [*shape].

        NaN may stand for what is missing where a step takes its place.  ModelError for other names
        or shapes, for text, and for categories that the model does not know.
        """
        values = self.checked(given)
        # What becomes infinite or NaN is refused with its place when it is encrypted.
        with np.errstate(all="ignore"):
            found = self.steps.run(values, _with_missing)
        for name, own in found.items():
            if own.dtype.kind not in "fiub":
                raise ModelError(f"input {name!r}: the client's first steps make no numbers")
        return {name: own.astype(np.float64) for name, own in found.items()}

    def checked(self, given: Mapping[str, ArrayLike] | ArrayLike) -> dict[str, NDArray[np.float64]]:
        """The inputs, [batch, *shape] by name; errors as of `run`, but for categories."""
        named = given if isinstance(given, Mapping) else {next(iter(self.inputs)): given}
        if set(named) != set(self.inputs):
            raise ModelError(f"inputs: expected {sorted(self.inputs)}, got {sorted(named)}")
        found = {name: self._batch(name, self.in_order(name, named[name])) for name in self.inputs}
        counts = {name: len(values) for name, values in found.items()}
        if len(set(counts.values())) > 1:
            raise ModelError(f"inputs: expected one batch, got batches of {counts}")
        return found

    def in_order(self, name: str, given: Any) -> Any:
        """The values of an input, with its columns as the model has them; else ModelError."""
        own = self.columns.get(name)
        return given if own is None else own.in_order(given, f"input {name!r}")

    def _batch(self, name: str, given: ArrayLike) -> NDArray[np.float64]:
        shape = self.inputs[name]
        expected = f"input {name!r}: expected numbers of shape {list(shape)}, or a batch of them"
        try:
            texts = self.texts.get(name, {})
            values = as_table(given) if texts else np.asarray(given)
        except ValueError as error:
            raise ModelError(f"{expected}, got values that make no array: {error}") from error
        if values.dtype.kind not in ("fiubOU" if texts else "fiub"):
            raise ModelError(f"{expected}, got values of dtype {values.dtype}: encode text first")
        if values.shape == shape:
            values = values[np.newaxis]
        if values.shape[1:] != shape or values.ndim != len(shape) + 1 or len(values) == 0:
            raise ModelError(f"{expected}, got shape {list(values.shape)}")
        found = coded(values, texts, f"input {name!r}") if texts else values.astype(np.float64)
        if np.isinf(found).any() or (np.isnan(found).any() and not self._takes_missing):
            rule = "numbers, or NaN for what is missing" if self._takes_missing else "numbers"
            raise ModelError(f"input {name!r}: expected finite {rule}, got NaN or infinity")
        return found

    @property
    def _takes_missing(self) -> bool:
        return any(step.kind in _FOR_MISSING for step in self.steps.steps)

    def describe(self) -> str:
        """One line, as there may be hundreds of steps; none for nothing but names of columns."""
        if not self.steps.steps and not self.texts:
            return ""
        kinds = ", ".join(dict.fromkeys(step.kind for step in self.steps.steps))
        made = [name for name in self.steps.results if name not in self.inputs]
        return (
            f"client, before encryption: {len(self.steps.steps)} steps ({kinds}) make "
            f"{', '.join(made)} of {', '.join(self.inputs)}; it learns their numbers"
            + self._described_texts()
        )

    def _described_texts(self) -> str:
        columns = {
            place: own for texts in self.texts.values() for place, own in texts.items()
            if own.categories
        }  # fmt: skip
        count = sum(len(own.categories) for own in columns.values())
        return f", and {count} texts of columns {sorted(columns)}" if count else ""

    def to_json(self) -> dict[str, Any]:
        """As JSON's types; the inverse of `read`."""
        shapes = {name: list(shape) for name, shape in self.inputs.items()}
        texts = {
            name: {str(place): own.to_json() for place, own in columns.items()}
            for name, columns in self.texts.items()
        }
        columns = {name: own.to_json() for name, own in self.columns.items()}
        named = {name: own for name, own in (("texts", texts), ("columns", columns)) if own}
        return {"inputs": shapes, "steps": self.steps.to_json(), **named}

    @classmethod
    def read(cls, note: Member, encrypted: set[str]) -> ClientHead:
        """From a file; LoadError names the place."""
        later = [name for name in ("texts", "columns") if name in note.of(dict)]
        inputs, steps, *more = note.members("inputs", "steps", *later)
        extra = {name: own.named() for name, own in zip(later, more, strict=True)}
        shapes = {
            name: tuple(part.size(_MOST_ELEMENTS) for part in shape.parts())
            for name, shape in inputs.named().items()
        }
        if not shapes or any(not 0 < prod(shape) < _MOST_ELEMENTS for shape in shapes.values()):
            raise inputs.wrong("inputs with lengths of 1 or more")
        try:
            texts = {name: _columns(own) for name, own in extra.get("texts", {}).items()}
            columns = {n: ColumnNames.read(own) for n, own in extra.get("columns", {}).items()}
            found = cls(shapes, ClientTail.read(steps), texts, columns)
            found.check(encrypted)
        except ModelError as error:
            raise steps.wrong(f"steps that the client can compute: {error}") from error
        return found


def _columns(note: Member) -> dict[int, TextColumn]:
    found = note.named()
    if any(not name.isdecimal() or len(name) > 9 for name in found):
        raise note.wrong("numbers of columns")
    return {int(name): TextColumn.read(own) for name, own in found.items()}
