"""Names of columns in what a user gives, as those of a DataFrame: none is taken for another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cloakwork.errors import ModelError
from cloakwork.strict import Member
from cloakwork.wording import listed

__all__ = ["ColumnNames", "names_of"]


@dataclass(frozen=True)
class ColumnNames:
    """The names of the columns that a model was fitted to, in order.

    by_name   whether the model looks its columns up: tables may have them in any order, and others
              besides.  Else tables have these alone, in this order, as scikit-learn wants them.
    """

    names: tuple[str, ...]
    by_name: bool = False

    def in_order(self, given: Any, where: str) -> Any:
        """A table [batch, columns], or a row of one, with these columns; arrays as they are.

        ModelError for a table without them.  Names of the user's own are not repeated: a row may
        have others in place of them, and messages are logged.
        """
        found = names_of(given, where)
        if found is None or found == self.names:
            return given
        missing = [name for name in self.names if name not in found]
        own = f"the columns {listed(map(repr, self.names))}"
        change = "give the columns that the model was fitted to"
        if missing:
            raise ModelError(
                f"{where}: expected {own}, found no {listed(map(repr, missing))}; {change}"
            )
        if any(found.count(name) > 1 for name in self.names):
            raise ModelError(f"{where}: expected {own}, found one of them twice; {change}")
        if self.by_name:
            return given[list(self.names)]
        others = len(found) - len(self.names)
        came = f"{others} besides" if others else "another order"
        raise ModelError(
            f"{where}: expected {own} in this order, found {came}; select them in this order: "
            "table[[names of the columns]]"
        )

    def to_json(self) -> dict[str, Any]:
        """As JSON's types; the inverse of `read`."""
        return {"names": list(self.names), "by_name": self.by_name}

    @classmethod
    def read(cls, note: Member) -> ColumnNames:
        """From a file; LoadError names the place."""
        names, by_name = note.members("names", "by_name")
        return cls(names.texts(), by_name.of(bool))


def names_of(given: Any, where: str = "input") -> tuple[str, ...] | None:
    """The names of a table's columns, or of a row's elements; None for those without, or numbers.

    ModelError for names of which some are texts.
    """
    # A row of a table has its columns as an index; the index of a list is a method.
    found = getattr(given, "columns", None)
    if found is None and hasattr(given, "dtype"):
        found = getattr(given, "index", None)
    if found is None or callable(found):
        return None
    names = list(np.asarray(found, dtype=object).ravel())
    texts = [isinstance(name, str) for name in names]
    if not any(texts):
        return None
    if not all(texts):
        raise ModelError(
            f"{where}: expected names of columns that are all texts, found others among them; give "
            "all of them texts"
        )
    return tuple(str(name) for name in names)
