"""Steps for some columns each, missing values, and rows of counts or of length one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes, Rows
from cloakwork.compiler.importing.heads import HEAD_OPS
from cloakwork.errors import ModelError

Outputs = dict[str, str]

__all__ = ["COLUMNS"]


def by_columns(own: Any, n: Nodes) -> Outputs:
    """Transformers of some columns each, side by side."""
    values, plain, used = list[str](), list[Any](), set[int]()
    for name, part, _ in own.transformers_:
        places = np.asarray(own._transformer_to_input_indices.get(name, []), dtype=np.int64)
        if (isinstance(part, str) and part == "drop") or not places.size:
            continue
        used.update(places.tolist())
        x = n.gathered(places)
        taken = len(n.nodes)
        values.append(_weighted(own, name, _features(own, part, x, places.size, n), n))
        if not any(node.op_type in HEAD_OPS for node in n.nodes[taken:]):
            plain.append((x, places))
    # What is not read may be missing or a text, and what the client changes is not encrypted twice.
    if plain and (len(used) < n.width or len(plain) < len(values)):
        n.take_columns(plain)
    return _beside(own, n, values)


def united(own: Any, n: Nodes) -> Outputs:
    """Transformers of all columns, side by side, perhaps weighted."""
    values = []
    for name, part in own.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        values.append(_weighted(own, name, _features(own, part, n.x, n.width, n), n))
    return _beside(own, n, values)


def _weighted(own: Any, name: str, value: str, n: Nodes) -> str:
    weights = own.transformer_weights or {}
    return n.op("Mul", value, n.constant([float(weights[name])])) if name in weights else value


def _beside(own: Any, n: Nodes, values: list[str]) -> Outputs:
    if not values:
        raise ModelError(f"{type(own).__name__}: expected a transformer that keeps a column")
    return {"features": n.joined(values)}


def _features(own: Any, part: Any, x: str, width: int, n: Nodes) -> str:
    # Since scikit-learn 1.6 columns that pass have a transformer without a function.
    passing = type(part).__name__ == "FunctionTransformer" and part.func is None
    if passing or isinstance(part, str):
        return n.op("Identity", x)
    results = n.part_of(part, x, width)
    if len(results) != 1:
        raise ModelError(
            f"{type(own).__name__}: expected transformers with one result, found "
            f"{type(part).__name__} with {len(results)}; take estimators with transform alone"
        )
    return results[0]


def _missing(n: Nodes, columns: Any, *, strict: bool) -> str:
    return n.own("Missing", n.x, columns=columns, strict=[float(strict)])


def filled(own: Any, n: Nodes) -> Outputs:
    """Numbers in place of missing values; texts are filled where they become places."""
    statistics = np.asarray(own.statistics_)
    texts = np.array([isinstance(one, str) for one in statistics])
    if texts.any():
        return {"features": _filled_beside_texts(own, texts, n)}
    marked = own.missing_values
    if isinstance(marked, str) or marked is None:
        raise ModelError(f"SimpleImputer: expected missing_values that are numbers or NaN, found "
                         f"{marked!r}; give NaN for what is missing")  # fmt: skip
    numbers = np.asarray(statistics, dtype=np.float64)
    kept = np.flatnonzero(~np.isnan(numbers))
    if own.keep_empty_features and kept.size < n.width:
        raise ModelError("SimpleImputer: expected values of each feature, found features without "
                         "any; fit it without keep_empty_features")  # fmt: skip
    tables: dict[str, Any] = {"values": np.nan_to_num(numbers)}
    if not np.isnan(marked):
        tables["missing"] = [float(marked)]
    found = n.own("Imputed", n.x, **tables)
    if kept.size < n.width:
        found = n.columns(kept, found)
    if not own.add_indicator or not own.indicator_.features_.size:
        return {"features": found}
    if not np.isnan(marked):
        raise ModelError("SimpleImputer: expected missing_values=NaN with add_indicator, found "
                         f"{marked!r}; give NaN for what is missing")  # fmt: skip
    shown = _missing(n, own.indicator_.features_, strict=False)
    return {"features": n.joined([found, shown])}


def _filled_beside_texts(own: Any, texts: NDArray[np.bool_], n: Nodes) -> str:
    """Numbers filled, beside columns of texts, which are as they are."""
    if own.add_indicator:
        raise ModelError("SimpleImputer: expected texts without add_indicator, found it; add "
                         "a column of numbers that marks them before fit")  # fmt: skip
    if texts.all():
        return n.op("Identity", n.x)
    if not isinstance(own.missing_values, float) or own.keep_empty_features:
        raise ModelError(
            "SimpleImputer: expected missing_values=NaN, without keep_empty_features, for texts "
            "beside numbers, found others; give NaN for what is missing"
        )
    places = np.flatnonzero(~texts)
    numbers = np.asarray(own.statistics_[places], dtype=np.float64)
    filled = n.own("Imputed", n.columns(places), values=np.nan_to_num(numbers))
    whole = n.joined([n.columns(np.flatnonzero(texts)), filled])
    order = np.argsort(np.concatenate([np.flatnonzero(texts), places]))
    # Columns without any number are left away.
    return n.columns(np.delete(order, places[np.isnan(numbers)]), whole)


def missing(own: Any, n: Nodes) -> Outputs:
    """1 for what is missing."""
    if isinstance(own.missing_values, str) or not np.isnan(float(own.missing_values or 0.0)):
        raise ModelError("MissingIndicator: expected missing_values=NaN, found "
                         f"{own.missing_values!r}; give NaN for what is missing")  # fmt: skip
    columns = own.features_ if own.features == "missing-only" else np.arange(n.width)
    if not np.size(columns):
        raise ModelError("MissingIndicator: expected missing values in the rows that it was fitted "
                         "to, found none; fit it with features='all'")  # fmt: skip
    strict = own.features == "missing-only" and own.error_on_new
    return {"features": _missing(n, columns, strict=strict)}


def of_length_one(own: Any, n: Nodes) -> Outputs:
    """Rows over their lengths."""
    return {"features": n.own("OfLengthOne", n.x, norm=own.norm)}


def weighted_counts(own: Any, n: Nodes) -> Outputs:
    """Counts of terms, weighted by how rare they are; the client learns the weights."""
    weights = own.idf_ if own.use_idf else np.ones(n.width)
    norm = "none" if own.norm is None else own.norm
    logs = [float(own.sublinear_tf)]
    found = n.own("WeightedCounts", n.x, weights=weights, logarithms=logs, norm=norm)
    return {"features": found}


def chi_squared(own: Any, n: Nodes) -> Outputs:
    """Features of an additive kernel of histograms."""
    usual = {1: 0.8, 2: 0.5, 3: 0.4}
    interval = own.sample_interval
    if interval is None:
        interval = usual[own.sample_steps]
    tables = {"steps": [own.sample_steps], "interval": [interval]}
    return {"features": n.own("ChiSquared", n.x, **tables)}


def skewed_chi_squared(own: Any, n: Nodes) -> Outputs:
    """Cosines of random maps of logarithms, which the client takes."""
    moved = n.op("Add", n.x, n.constant([float(own.skewedness)]))
    logs = n.own("PowerTransform", moved, lambdas=np.zeros(n.width), positive=[1.0])
    turned = n.affine(logs, own.random_weights_, own.random_offset_)
    factor = np.sqrt(2.0 / own.random_offset_.size)
    return {"features": n.op("Mul", n.op("Cos", turned), n.constant([factor]))}


def sketches(own: Any, n: Nodes) -> Outputs:
    """Products of random sums, as products of their discrete Fourier transforms."""
    count = int(own.n_components)
    scale = np.full(n.width, np.sqrt(own.gamma))
    half = np.arange(count // 2 + 1)
    angles = 2 * np.pi * np.outer(np.arange(count), half) / count
    parts = []
    for places, signs in zip(own.indexHash_, own.bitHash_, strict=True):
        table = np.zeros((places.size, count))
        table[np.arange(places.size), places] = signs
        bias = np.sqrt(own.coef0) * table[-1] if own.coef0 != 0 else np.zeros(count)
        matrix = scale[:, np.newaxis] * table[: n.width]
        parts.append((
            n.affine(n.x, matrix @ np.cos(angles), bias @ np.cos(angles)),
            n.affine(n.x, -matrix @ np.sin(angles), -bias @ np.sin(angles)),
        ))  # fmt: skip
    while len(parts) > 1:
        paired = [_complex_product(n, *two) for two in zip(parts[::2], parts[1::2], strict=False)]
        parts = paired + parts[len(paired) * 2 :]
    real, imaginary = parts[0]
    # Of all but the first and, of an even count, the last there are two.
    often = np.where((half == 0) | (2 * half == count), 1.0, 2.0)[:, np.newaxis] / count
    found = n.op(
        "Add", n.affine(real, often * np.cos(angles).T),
        n.affine(imaginary, -often * np.sin(angles).T),
    )  # fmt: skip
    return {"features": found}


def _complex_product(n: Nodes, a: tuple[str, str], b: tuple[str, str]) -> tuple[str, str]:
    real = n.op("Sub", n.op("Mul", a[0], b[0]), n.op("Mul", a[1], b[1]))
    return real, n.op("Add", n.op("Mul", a[0], b[1]), n.op("Mul", a[1], b[0]))


def leaves(own: Any, n: Nodes) -> Outputs:
    """One-hot vectors of the leaf of each tree."""
    rows, start = Rows(), 0
    for part, known in zip(own.estimators_, own.one_hot_encoder_.categories_, strict=True):
        targets = np.zeros(part.tree_.node_count, dtype=np.int64)
        targets[np.asarray(known, dtype=np.int64)] = start + np.arange(len(known))
        leaf = targets.tolist()
        rows.add_fitted(part.tree_, [(target, 1.0) for target in leaf].__getitem__)
        start += len(known)
    return {"features": n.trees(rows.lists, start, 0.0)}


COLUMNS: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "AdditiveChi2Sampler": chi_squared,
    "ColumnTransformer": by_columns,
    "FeatureUnion": united,
    "MissingIndicator": missing,
    "Normalizer": of_length_one,
    "PolynomialCountSketch": sketches,
    "RandomTreesEmbedding": leaves,
    "SimpleImputer": filled,
    "SkewedChi2Sampler": skewed_chi_squared,
    "TfidfTransformer": weighted_counts,
}
