"""Encoders of categories, numbers or texts: the client finds a category's place.

Of a column of texts the client gives the places of its categories, so that steps see numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.client_texts import TextColumn, merged
from cloakwork.compiler.importing.converting.nodes import Nodes
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]
Outputs = dict[str, str]

__all__ = ["ENCODERS", "texts_of", "with_texts"]

# Of a category that is NaN, above all others.
_MISSING = float(np.finfo(np.float64).max)
# Where an estimator keeps the one that reads its input, and estimators of several that do.
_INNER = ("best_estimator_", "regressor_", "estimator_")
_SEVERAL = ("MultiOutput", "OneVs", "Stacking", "Voting")


def _is_text(categories: Any) -> bool:
    return any(isinstance(one, str) for one in np.asarray(categories, dtype=object))


def _places(own: Any) -> list[Floats]:
    """The categories of each feature as numbers: texts have their places, NaN is `_MISSING`."""
    found = []
    for column, listed in enumerate(own.categories_):
        if _is_text(listed):
            found.append(np.arange(float(len(listed))))
            continue
        try:
            numbers = np.asarray(listed, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"{type(own).__name__}: expected categories that are texts or numbers, found "
                f"others in feature {column}: {error}; make them texts before fit"
            ) from error
        found.append(np.where(np.isnan(numbers), _MISSING, numbers))
    return found


def _hot(own: Any, n: Nodes, *, one_hot: bool, unknown: bool, **more: ArrayLike) -> str:
    listed = _places(own)
    x = n.x
    if any((one == _MISSING).any() for one in listed):
        x = n.own("Imputed", x, values=np.full(n.width, _MISSING))
    return n.own(
        "Categories", x, values=np.concatenate(listed), counts=[len(one) for one in listed],
        one_hot=[float(one_hot)], unknown=[float(unknown)], **more,
    )  # fmt: skip


def _spread(own: Any, n: Nodes, matrices: Sequence[Floats], rest: ArrayLike = 0.0) -> Outputs:
    """A map of one-hot vectors, with the results for categories that are not known.

    matrices   of each feature [categories, k]
    """
    unknown = getattr(own, "handle_unknown", "ignore") != "error"
    hot = _hot(own, n, one_hot=True, unknown=unknown)
    whole = np.zeros((sum(len(one) for one in matrices), sum(one.shape[1] for one in matrices)))
    row = column = 0
    for one in matrices:
        whole[row : row + one.shape[0], column : column + one.shape[1]] = one
        row, column = row + one.shape[0], column + one.shape[1]
    if whole.shape[0] == whole.shape[1] and np.array_equal(whole, np.eye(len(whole))):
        return {"features": hot}
    return {"features": n.affine(hot, whole, rest)}


def one_hot(own: Any, n: Nodes) -> Outputs:
    """Without those that are dropped; rare categories in one column, perhaps with unknown ones."""
    rare = getattr(own, "_infrequent_enabled", False)
    groups = own._default_to_infrequent_mappings if rare else [None] * n.width
    dropped = getattr(own, "_drop_idx_after_grouping", own.drop_idx_)
    lost = [None] * n.width if dropped is None else dropped
    matrices, rest = list[Floats](), list[Floats]()
    for listed, group, left in zip(own.categories_, groups, lost, strict=True):
        places = np.arange(len(listed)) if group is None else np.asarray(group, np.int64)
        columns = np.eye(int(places.max()) + 1)
        joins = group is not None and own.handle_unknown in ("infrequent_if_exist", "warn")
        # Unknown categories are among the rare ones, which come last.
        others = columns[-1] if joins else np.zeros(len(columns))
        kept = np.arange(len(columns)) if left is None else np.delete(
            np.arange(len(columns)), int(left))  # fmt: skip
        matrices.append((columns[places] - others)[:, kept])
        rest.append(others[kept])
    return _spread(own, n, matrices, np.concatenate(rest))


def ordinal(own: Any, n: Nodes) -> Outputs:
    """The place of each category, or a number for unknown ones."""
    if getattr(own, "_infrequent_enabled", False):
        raise ModelError(
            "OrdinalEncoder: expected every category, found rare ones in groups; fit it without "
            "min_frequency and max_categories"
        )
    if getattr(own, "_missing_indices", {}):
        raise ModelError(
            "OrdinalEncoder: expected categories that are texts or numbers, found missing values; "
            "put a SimpleImputer before it"
        )
    more = {}
    if own.handle_unknown != "error":
        if np.isnan(own.unknown_value):
            raise ModelError("OrdinalEncoder: expected an unknown_value that is a number, found "
                             "NaN; set one before fit")  # fmt: skip
        more["default"] = [float(own.unknown_value)]
    known = own.handle_unknown == "error"
    return {"features": _hot(own, n, one_hot=False, unknown=not known, **more)}


def target(own: Any, n: Nodes) -> Outputs:
    """Means of targets, which stay on the server; unknown categories have that of all."""
    each = len(own.classes_) if own.target_type_ == "multiclass" else 1
    means = np.broadcast_to(np.asarray(own.target_mean_, dtype=np.float64), (each,))
    matrices = [
        np.stack(own.encodings_[place * each : (place + 1) * each], axis=1) - means
        for place, _ in enumerate(own.categories_)
    ]
    return _spread(own, n, matrices, np.tile(means, len(matrices)))


def texts_of(own: Any, columns: Sequence[int]) -> dict[int, TextColumn]:
    """The columns of texts of an estimator's input, by their places in that of the model."""
    return merged(_texts(own, list(columns)))


def _texts(own: Any, columns: list[int]) -> Iterator[dict[int, TextColumn]]:
    kind = type(own).__name__
    if hasattr(own, "steps"):
        yield from _first_texts(own, columns)
    elif kind == "ColumnTransformer" and hasattr(own, "_transformer_to_input_indices"):
        for name, part, _ in own.transformers_:
            places = own._transformer_to_input_indices.get(name, [])
            yield from _texts(part, [columns[place] for place in places])
    elif kind in ENCODERS and hasattr(own, "categories_"):
        yield _encoded(own, columns)
    else:
        inner = [getattr(own, name, None) for name in _INNER]
        inner += [part for _, part in getattr(own, "transformer_list", ())]
        several = getattr(own, "estimators_", None)
        if kind.startswith(_SEVERAL) and several is not None:
            inner += list(several)
        for part in inner:
            if part is not None and not isinstance(part, str):
                yield from _texts(part, columns)


def _first_texts(own: Any, columns: list[int]) -> Iterator[dict[int, TextColumn]]:
    """Of the first step of a pipeline, or of the second after one that fills texts."""
    steps = [step for _, step in own.steps if step is not None and step != "passthrough"]
    if len(steps) > 1 and _fills_texts(steps[0]):
        left = [own == own for own in steps[0].statistics_]  # noqa: PLR0124 -- NaN
        kept = [place for place, own in zip(columns, left, strict=True) if own]
        found = texts_of(steps[1], kept)
        yield {p: _filled(one, steps[0], columns.index(p)) for p, one in found.items()}
    elif steps:
        yield from _texts(steps[0], columns)


def _encoded(own: Any, columns: list[int]) -> dict[int, TextColumn]:
    strict = getattr(own, "handle_unknown", "ignore") == "error"
    found = {}
    for place, listed in zip(columns, own.categories_, strict=True):
        if _is_text(listed):
            objects = list(np.asarray(listed, dtype=object))
            texts = tuple(str(one) if isinstance(one, str) else None for one in objects)
            nan = next((at for at, one in enumerate(objects) if isinstance(one, float)), -1)
            none = next((at for at, one in enumerate(objects) if one is None), -1)
            if sum(one is None for one in texts) != (nan >= 0) + (none >= 0):
                raise ModelError(
                    f"{type(own).__name__}: expected texts in column {place}, found other objects "
                    "among them; make them texts before fit"
                )
            found[place] = TextColumn(texts, strict, nan, none)
    return found


def with_texts(own: Any) -> Any:
    """An encoder of texts within an estimator, at any depth; None if there is none."""
    if any(_is_text(listed) for listed in getattr(own, "categories_", ())):
        return own
    if isinstance(own, dict):
        inner = list(own.values())
    elif isinstance(own, list | tuple):
        inner = list(own)
    else:
        inner = list(vars(own).values()) if hasattr(own, "get_params") else []
    return next((one for one in map(with_texts, inner) if one is not None), None)


def _fills_texts(step: Any) -> bool:
    statistics = np.asarray(getattr(step, "statistics_", ()), dtype=object)
    return type(step).__name__ == "SimpleImputer" and _is_text(statistics)


def _filled(column: TextColumn, step: Any, place: int) -> TextColumn:
    """With the places of what a SimpleImputer takes for missing."""
    text = step.statistics_[place]
    chosen = column.categories.index(text) if text in column.categories else -1
    if step.missing_values is None:
        return TextColumn(column.categories, column.strict, column.nan, chosen)
    if not isinstance(step.missing_values, float):
        raise ModelError("SimpleImputer: expected missing_values of NaN or None for texts, found "
                         f"{step.missing_values!r}; give NaN for what is missing")  # fmt: skip
    return TextColumn(column.categories, column.strict, chosen, column.none)


ENCODERS: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "OneHotEncoder": one_hot,
    "OrdinalEncoder": ordinal,
    "TargetEncoder": target,
}
