"""Models of XGBoost and LightGBM, read from their own JSON: sums of trees, and a link after them.

The server computes the sums, the scores; links, probabilities and labels are left to the client.
XGBoost: docs/tutorials/saving_model, schema of the model. LightGBM: Booster.dump_model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes, Rows
from cloakwork.compiler.importing.reading import ML_DOMAIN, onnx_module
from cloakwork.compiler.importing.trees import up_to
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Outputs = dict[str, str]

__all__ = ["BOOSTED", "boosted_kind", "booster_predictions", "booster_width", "is_booster"]

# Thresholds of this size stand for infinity: no finite feature is beyond.
_ENDLESS = 1e30
# Thresholds below this size are between 0 and its neighbours: LightGBM's are 1e-35.
_TINY = 1e-30
# Thresholds no further than this from a whole number of the sample are moved away from it.
_NEAR = 0.25
# What float32 rounds away of a threshold, relative to it.
_ROUNDED = 1e-6
# More rows of the sample at thresholds are told: compiling leaves out so many at most.
_MOST_AT = 0.05
_NO_CATEGORIES = (
    "encode them as numbers: OneHotEncoder(sparse_output=False) in a Pipeline, which the client "
    "computes, without categorical_feature and enable_categorical"
)
_DENSE = (
    "; fit with missing=nan, on dense features: OneHotEncoder(sparse_output=False) in front of it"
)
# Links from scores to what is predicted, by objective: ops of ONNX, and those of `_linked`.
_XGBOOST_LINKS = {
    **dict.fromkeys(
        ("binary:logitraw", "rank:map", "rank:ndcg", "rank:pairwise", "reg:absoluteerror",
         "reg:expectileerror", "reg:linear", "reg:pseudohubererror", "reg:quantileerror",
         "reg:squarederror", "reg:squaredlogerror"), "Identity",
    ),
    **dict.fromkeys(
        ("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox"), "Exp"
    ),
    "binary:hinge": "Above",
    "binary:logistic": "Sigmoid",
    "multi:softmax": "ArgMax",
    "multi:softprob": "Softmax",
    "reg:logistic": "Sigmoid",
}  # fmt: skip
_LIGHTGBM_LINKS = {
    **dict.fromkeys(
        ("custom", "fair", "huber", "lambdarank", "mape", "quantile", "rank_xendcg", "regression",
         "regression_l1"), "Identity",
    ),
    **dict.fromkeys(("gamma", "poisson", "tweedie"), "Exp"),
    "binary": "Sigmoid",
    "cross_entropy": "Sigmoid",
    "cross_entropy_lambda": "Softplus",
    "multiclass": "Softmax",
    "multiclassova": "Sigmoid",
}  # fmt: skip


class Tree(NamedTuple):
    """A decision tree: at an inner node, x[feature] <= threshold goes left.

    features, thresholds, left, right   [nodes]; the root is node 0, left and right of a leaf are -1
    values                              [nodes, targets], of leaves
    """

    features: Places
    thresholds: Floats
    left: Places
    right: Places
    values: Floats

    def kept(self) -> Tree:
        """Without nodes that no finite input reaches, or at which all go the same way."""
        inner, places = self.left >= 0, np.arange(self.left.size)
        goes = np.where(inner & (self.thresholds >= _ENDLESS), self.left, places)
        goes = np.where(inner & (self.thresholds <= -_ENDLESS), self.right, goes)
        while (goes[goes] != goes).any():
            goes = goes[goes]
        left, right = (np.where(inner, goes[side], -1) for side in (self.left, self.right))
        layers = [goes[:1]]
        while layers[-1].size:
            below = np.concatenate([left[layers[-1]], right[layers[-1]]])
            layers.append(below[below >= 0])
        order = np.concatenate(layers)
        number = np.full(places.size, -1)
        number[order] = np.arange(order.size)
        left, right = (np.where(s[order] >= 0, number[s[order]], -1) for s in (left, right))
        return Tree(self.features[order], self.thresholds[order], left, right, self.values[order])


@dataclass(frozen=True)
class Scores:
    """The sums of a model before its link: scores [targets] of features.

    base     [targets], which is added to the sum of trees, and to the affine map
    trees    with values for each target
    matrix   [features, targets] of an affine map instead
    link     from scores to what the library predicts
    """

    base: Floats
    trees: tuple[Tree, ...] = ()
    matrix: Floats | None = None
    link: str = "Identity"

    def times(self, factor: float) -> Scores:
        """The same with scores times a factor."""
        trees = tuple(tree._replace(values=factor * tree.values) for tree in self.trees)
        return replace(self, base=factor * self.base, trees=trees)

    def on(self, n: Nodes, name: str, seen: Any) -> str:
        """Their value [batch, targets] in a graph.

        seen   the sample [rows, features] as the model sees it, if it is known
        """
        trees = [tree.kept() for tree in self.trees]
        steady = not any((tree.left >= 0).any() for tree in trees)
        if not self.matrix.any() if self.matrix is not None else steady:
            raise ModelError(
                f"{name}: expected a model that reads its inputs, found one with the same result "
                "for all, without splits or weights; fit it for more rounds, or to more rows"
            )
        numbers = [self.base, *(tree.values for tree in trees)]
        if not all(np.isfinite(own).all() for own in numbers):
            raise ModelError(f"{name}: expected finite values of leaves, found NaN or infinity")
        if self.matrix is not None:
            return n.affine(n.x, self.matrix, self.base)
        rows = Rows()
        for tree in _apart(n, trees, _dense(seen), name):
            lists = (own.tolist() for own in tree[:4])
            leaves = np.flatnonzero(tree.left < 0)
            rows.add(zip(*lists, strict=True), {int(one): tree.values[one] for one in leaves})
        return n.trees(rows.lists, self.base.size, self.base)


def boosted_kind(model: Any) -> tuple[str, str] | None:
    """The key of a model in BOOSTED; None for any other."""
    kind = type(model)
    key = (kind.__module__.partition(".")[0], kind.__name__)
    return key if key in BOOSTED else None


def is_booster(model: Any) -> bool:
    """Whether a model is one of a library's own, without scikit-learn's methods."""
    kind = boosted_kind(model)
    return kind is not None and kind[1] == "Booster"


def booster_width(booster: Any) -> int:
    """The number of features of a Booster; ModelError for one that is not trained."""
    try:
        known = hasattr(booster, "num_features")
        return int(booster.num_features() if known else booster.num_feature())
    except Exception as error:  # of either library
        raise ModelError("Booster: expected a trained model, found none: train it first") from error


def booster_predictions(booster: Any, rows: ArrayLike) -> NDArray[Any]:
    """The result of a Booster's `predict` for rows [batch, features]."""
    if boosted_kind(booster) == ("lightgbm", "Booster"):
        return np.asarray(booster.predict(rows))
    import xgboost

    return np.asarray(booster.predict(xgboost.DMatrix(rows), validate_features=False))


def _apart(n: Nodes, trees: Sequence[Tree], seen: Floats | None, name: str) -> Sequence[Tree]:
    """The same decisions, with values of the sample away from thresholds, where comparisons fail.

    XGBoost has thresholds at values of features, and LightGBM at 0.  Where a feature is whole, the
    client refuses fractions, so that thresholds may be halfway between two whole numbers.  Of other
    features, the client replaces 0 by another number on its side of a threshold at 0.
    """
    inner = [tree.left >= 0 for tree in trees]
    features, thresholds = (
        np.concatenate([own[place][kept] for own, kept in zip(trees, inner, strict=True)])
        for place in (0, 1)
    )
    if seen is None or seen.ndim != 2 or seen.shape[1] != n.width or not len(seen):
        return trees
    whole, zeros = np.zeros(n.width, dtype=np.bool_), np.zeros(n.width)
    for feature in np.unique(features):
        values, own = np.unique(seen[:, feature]), thresholds[features == feature]
        places = np.searchsorted(values, own)
        sides = (values[np.clip(places - side, 0, values.size - 1)] for side in (0, 1))
        near = any((np.abs(own - side) < _NEAR).any() for side in sides)
        whole[feature] = near and _are_whole(values, own)
        if not whole[feature] and (values == 0).any():
            zeros[feature] = _beside_zero(own, float(np.abs(values).max()))
    if zeros.any():
        n.x = n.op("Imputer", n.x, domain=ML_DOMAIN, replaced_value_float=0.0,
                   imputed_value_floats=zeros.tolist())  # fmt: skip
    if whole.any():
        n.x = _refusing_fractions(n, whole)
    moved = [
        tree._replace(
            thresholds=np.where(
                whole[tree.features], np.floor(tree.thresholds) + 0.5, tree.thresholds
            )
        )
        for tree in trees
    ]
    share = float(_at_thresholds(moved, np.where(seen == 0, zeros, seen)).mean())
    if share > _MOST_AT:
        warn(
            f"{name}: {share:.0%} of the sample are at thresholds of the model, as data are that "
            "XGBoost was trained on, and comparisons fail there: give other rows as the sample, or "
            "round features to whole numbers before training",
            stacklevel=2,
        )
    return moved


def _at_thresholds(trees: Sequence[Tree], seen: Floats) -> NDArray[np.bool_]:
    """[rows]: whether a comparison on the way of a row through a tree is one of equal numbers."""
    found = np.zeros(len(seen), dtype=np.bool_)
    for tree in trees:
        nodes = np.zeros(len(seen), dtype=np.int64)
        while (inner := tree.left[nodes] >= 0).any():
            values = np.take_along_axis(seen, tree.features[nodes][:, np.newaxis], axis=1)[:, 0]
            limits = tree.thresholds[nodes]
            found |= inner & (np.abs(values - limits) <= _ROUNDED * np.abs(limits))
            below = np.where(values <= limits, tree.left[nodes], tree.right[nodes])
            nodes = np.where(inner, below, nodes)
    return found


def _are_whole(values: Floats, thresholds: Floats) -> bool:
    """Whether a feature is whole in the sample, and was so in training: thresholds tell."""
    twice = 2 * thresholds
    near = np.abs(twice - np.rint(twice)) <= _ROUNDED * np.maximum(np.abs(twice), 1.0)
    return bool((values == np.rint(values)).all() and near.all())


def _dense(seen: Any) -> Floats | None:
    """A sample as an array; None for none, or for what is no numbers."""
    try:
        own = seen.toarray() if hasattr(seen, "toarray") else seen
        return None if own is None else np.asarray(own, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _beside_zero(thresholds: Floats, largest: float) -> float:
    """A number that all thresholds of a feature decide about as about 0, away from one at 0.

    0 where there is no such number, or no threshold at 0.
    """
    tiny = thresholds[np.abs(thresholds) < _TINY]
    # 0 is below thresholds of 0 and more, and above others.
    below = bool((tiny >= 0).any())
    if not tiny.size or below == bool((tiny < 0).any()):
        return 0.0
    others = thresholds[(thresholds < -_TINY) if below else (thresholds > _TINY)]
    size = min(largest, float(np.abs(others).min(initial=np.inf))) / 2
    return -size if below else size


def _refusing_fractions(n: Nodes, whole: NDArray[np.bool_]) -> str:
    """The same features, of which some are whole: the client refuses fractions in place of them."""
    types = onnx_module().TensorProto
    own = n.x if whole.all() else n.op("Mul", n.x, n.constant(whole))
    found = n.op("Cast", n.op("Cast", own, to=types.INT64), to=types.DOUBLE)
    return found if whole.all() else n.op("Add", n.op("Sub", n.x, own), found)


def _xgboost_scores(name: str, booster: Any, rounds: int | None, missing: float | None) -> Scores:
    """The scores of a Booster of XGBoost, of its first rounds or of all.

    missing   the number that the model takes for missing, beside NaN, which no input is
    """
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective, gradient = str(learner["objective"]["name"]), learner["gradient_booster"]
    kind = str(gradient["name"])
    link = _named(name, "an objective", objective, _XGBOOST_LINKS)
    # In older versions dart has a booster within it.
    own = gradient.get("gbtree", gradient).get("model")
    model = _named(name, "a booster", kind, dict.fromkeys(("dart", "gblinear", "gbtree"), own))
    if "c" in learner.get("feature_types", ()):
        raise ModelError(f"{name}: expected features that are numbers, found categories; "
                         f"{_NO_CATEGORIES}")  # fmt: skip
    base = _xgboost_base(booster, rounds)
    if kind == "gblinear":
        if missing:
            raise _missing(name, missing, _DENSE)
        weights = np.asarray(model["weights"], dtype=np.float64).reshape(-1, base.size)
        return Scores(base + weights[-1], matrix=weights[:-1], link=link)
    dropped = model.get("weight_drop") or gradient.get("weight_drop")
    shares = np.asarray(dropped or [1.0] * len(model["trees"]), dtype=np.float64)
    if rounds is not None:
        shares = shares[: int(model["iteration_indptr"][rounds])]
    rows = zip(model["trees"], model["tree_info"], shares.tolist(), strict=False)
    trees = [_xgboost_tree(name, own, int(group), base.size, missing) for own, group, _ in rows]
    weighted = [
        own._replace(values=share * own.values) for own, share in zip(trees, shares, strict=True)
    ]
    return Scores(base, tuple(weighted), link=link)


def _xgboost_tree(name: str, own: Any, group: int, targets: int, missing: float | None) -> Tree:
    """A tree of a model's JSON, whose values are those of one target, or of all."""
    left, right, features = (
        np.asarray(own[key], dtype=np.int64)
        for key in ("left_children", "right_children", "split_indices")
    )
    conditions = np.asarray(own["split_conditions"], dtype=np.float64)
    if np.any(own.get("split_type", 0)):
        raise ModelError(f"{name}: expected features that are numbers, found categories; "
                         f"{_NO_CATEGORIES}")  # fmt: skip
    inner = left >= 0
    if missing is not None:
        goes = np.asarray(own["default_left"]) != 0
        if (inner & (goes != (np.float32(missing) < conditions.astype(np.float32)))).any():
            raise _missing(name, missing, _DENSE)
    values = np.zeros((left.size, targets))
    if int(own["tree_param"]["size_leaf_vector"]) <= 1:
        values[:, group] = conditions
    elif "leaf_weights" in own:
        # The right child of a leaf is its row.
        rows = np.asarray(own["leaf_weights"], dtype=np.float64).reshape(-1, targets)
        values[~inner] = rows[right[~inner]]
    else:
        values = np.asarray(own["base_weights"], dtype=np.float64).reshape(-1, targets)
    thresholds = up_to(np.where(inner, conditions, 0.0).astype(np.float32), below=True)
    return Tree(features, thresholds, left, right, values)


def _xgboost_base(booster: Any, rounds: int | None) -> Floats:
    """[targets]: what XGBoost adds to the sum of trees: it stores other forms of that.

    Margins of one input, with it and with 0 in its place, differ by it.
    """
    import xgboost

    zeros = np.zeros((1, booster.num_features()), dtype=np.float32)
    options = {"output_margin": True, "validate_features": False,
               "iteration_range": (0, rounds or 0)}  # fmt: skip
    with_base = booster.predict(xgboost.DMatrix(zeros), **options)
    without = booster.predict(
        xgboost.DMatrix(zeros, base_margin=np.zeros_like(with_base)), **options
    )
    return np.ravel(with_base).astype(np.float64) - np.ravel(without)


def _lightgbm_scores(name: str, booster: Any) -> Scores:
    """The scores of a Booster of LightGBM, of its best iterations, or of all."""
    model = booster.dump_model()
    stated = str(model.get("objective", "custom"))
    objective, *parameters = stated.split()
    link = _named(name, "an objective", objective, _LIGHTGBM_LINKS)
    targets = int(model["num_tree_per_iteration"])
    trees = []
    for number, own in enumerate(model["tree_info"]):
        tree, values = _lightgbm_tree(name, own["tree_structure"])
        placed = np.zeros((values.size, targets))
        placed[:, number % targets] = values
        trees.append(tree._replace(values=placed))
    scores = Scores(np.zeros(targets), tuple(trees), link=link)
    if model.get("average_output"):
        scores = scores.times(targets / max(len(trees), 1))
    if link == "Identity" and " sqrt" in stated:
        return replace(scores, link="SignedSquare")
    slopes = [float(one[8:]) for one in parameters if one.startswith("sigmoid:")]
    return scores.times(slopes[0]) if link == "Sigmoid" and slopes else scores


def _lightgbm_tree(name: str, root: Any) -> tuple[Tree, Floats]:
    """A tree of nested nodes, and the value of each node."""
    nodes, rows = [root], list[tuple[int, float, int, int, float]]()
    for node in nodes:
        if "split_feature" not in node:
            if "leaf_const" in node:
                raise ModelError(
                    f"{name}: expected leaves that are numbers, found linear models in them; train "
                    "with linear_tree=False"
                )
            rows.append((0, 0.0, -1, -1, float(node["leaf_value"])))
            continue
        _check_lightgbm(name, node)
        feature, threshold = int(node["split_feature"]), float(node["threshold"])
        rows.append((feature, threshold, len(nodes), len(nodes) + 1, 0.0))
        nodes += [node["left_child"], node["right_child"]]
    columns = list(zip(*rows, strict=True))
    features, left, right = (np.array(columns[place], dtype=np.int64) for place in (0, 2, 3))
    values = np.array(columns[4])
    return Tree(features, np.array(columns[1]), left, right, values), values


def _check_lightgbm(name: str, node: Any) -> None:
    """Refuse splits by categories, and those that send 0 elsewhere than its place among numbers."""
    if node["decision_type"] != "<=":
        raise ModelError(f"{name}: expected features that are numbers, found categories; "
                         f"{_NO_CATEGORIES}")  # fmt: skip
    if node["missing_type"] == "Zero" and node["default_left"] != (node["threshold"] >= 0):
        raise _missing(name, 0, "; train with zero_as_missing=False")


def _missing(name: str, number: float, remedy: str) -> ModelError:
    return ModelError(
        f"{name}: expected only NaN to be missing, found a model that takes {number:g} for missing "
        f"and sends it elsewhere than its place among numbers{remedy}"
    )


def _named(name: str, what: str, found: str, known: dict[str, Any]) -> Any:
    if found not in known:
        raise ModelError(
            f"{name}: expected {what} of {', '.join(sorted(known))}, found {found!r}; train with "
            "one of them, or give an ONNX file"
        )
    return known[found]


def _linked(n: Nodes, scores: str, link: str) -> str:
    """A library's prediction from scores, in the same shape; of ArgMax the shares of classes."""
    match link:
        case "ArgMax" | "Softmax":
            return n.op("Softmax", scores, axis=1)
        case "Exp" | "Sigmoid" | "Softplus":
            return n.op(link, scores)
        case "SignedSquare":
            return n.op("Mul", scores, n.op("Abs", scores))
    return scores


def _predicted(n: Nodes, own: Scores, name: str, seen: Any) -> Outputs:
    """The result of `predict` of a Booster or regressor: [batch], or [batch, targets]."""
    scores, targets = own.on(n, name, seen), own.base.size
    if own.link == "ArgMax":
        return {"label": n.label(scores, np.arange(targets))}
    if own.link == "Above":
        return {"label": _above(n, scores, targets)}
    if targets == 1:
        scores = n.op("Squeeze", scores, _whole(n, [1]))
    return {"variable": _linked(n, scores, own.link)}


def _classified(n: Nodes, own: Scores, classes: Any, name: str, seen: Any) -> Outputs:
    """Labels and probabilities of a classifier of several classes, or of two."""
    targets, count = own.base.size, len(classes)
    if count < 2:
        raise ModelError(
            f"{name}: expected two classes or more, found {count}: fit it to rows of each"
        )
    scores = own.on(n, name, seen)
    if targets == count:
        return {"label": n.label(scores, classes), "probabilities": _linked(n, scores, own.link)}
    if targets != 1 or count != 2:
        raise ModelError(f"{name}: expected scores of {count} classes, found {targets}")
    if own.link == "Above":
        return {"label": n.label(n.affine(scores, [[-1.0, 1.0]]), classes)}
    if own.link == "Sigmoid":
        both = n.affine(scores, [[-0.5, 0.5]])
        shares = n.op("Softmax", both, axis=1)
    else:
        both = shares = n.affine(_linked(n, scores, own.link), [[-1.0, 1.0]], [1.0, 0.0])
    return {"label": n.label(both, classes), "probabilities": shares}


def _above(n: Nodes, scores: str, targets: int, least: float = 0.0) -> str:
    """1 for each score above the least, else 0: [batch], or [batch, targets]."""
    pairs = np.kron(np.eye(targets), [[-1.0, 1.0]])
    both = n.affine(scores, pairs, least * np.tile([1.0, -1.0], targets))
    if targets == 1:
        return n.op("ArgMax", both, axis=1, keepdims=0)
    apart = n.op("Reshape", both, _whole(n, [-1, targets, 2]))
    return n.op("ArgMax", apart, axis=2, keepdims=0)


def _whole(n: Nodes, values: ArrayLike) -> str:
    """A constant of integers."""
    name = f"c{len(n.tensors)}"
    array = np.asarray(values, dtype=np.int64)
    n.tensors.append(onnx_module().numpy_helper.from_array(array, name))
    return name


def _xgboost_own(model: Any, name: str, seen: Any) -> Scores:
    """Those of an estimator of XGBoost, which predicts by its best iteration, if it knows one."""
    booster = model.get_booster()
    best = booster.attr("best_iteration")
    missing = getattr(model, "missing", None)
    number = None if missing is None or np.isnan(missing) else float(missing)
    # Of sparse features, those that are not stored are missing.
    number = 0.0 if number is None and hasattr(seen, "toarray") else number
    return _xgboost_scores(name, booster, None if best is None else int(best) + 1, number)


def xgboost_regressor(own: Any, n: Nodes, seen: Any = None) -> Outputs:
    """XGBRegressor, XGBRFRegressor, XGBRanker."""
    name = type(own).__name__
    return _predicted(n, _xgboost_own(own, name, seen), name, seen)


def xgboost_classifier(own: Any, n: Nodes, seen: Any = None) -> Outputs:
    """XGBClassifier and XGBRFClassifier, of two classes, several, or several targets of two."""
    name = type(own).__name__
    scores, count = _xgboost_own(own, name, seen), int(own.n_classes_)
    targets = scores.base.size
    if count != 2 or targets == 1 or scores.link == "ArgMax":
        return _classified(n, scores, np.arange(count), name, seen)
    # XGBoost takes each of several numbers above 1/2 for a target that holds.
    made = scores.on(n, name, seen)
    shares = _linked(n, made, scores.link)
    match scores.link:
        case "Sigmoid":
            return {"label": _above(n, made, targets), "probabilities": shares}
        case "Identity":
            return {"label": _above(n, made, targets, 0.5), "probabilities": shares}
        case "Softmax" if targets == 2:
            apart = n.affine(made, [[1.0, -1.0], [-1.0, 1.0]])
            return {"label": _above(n, apart, 2), "probabilities": shares}
    raise ModelError(
        f"{name}: expected an objective of binary:logistic for targets of two classes; train with "
        "it, or give an ONNX file"
    )


def xgboost_booster(own: Any, n: Nodes, seen: Any = None) -> Outputs:
    """The result of `predict`: of all rounds, whichever is the best."""
    return _predicted(n, _xgboost_scores("Booster", own, None, None), "Booster", seen)


def lightgbm_regressor(own: Any, n: Nodes, seen: Any = None) -> Outputs:
    """LGBMRegressor, LGBMRanker."""
    name = type(own).__name__
    return _predicted(n, _lightgbm_scores(name, own.booster_), name, seen)


def lightgbm_classifier(own: Any, n: Nodes, seen: Any = None) -> Outputs:
    """LGBMClassifier; with an objective that is a function it predicts scores."""
    name = type(own).__name__
    scores = _lightgbm_scores(name, own.booster_)
    if callable(own.objective_):
        return _predicted(n, scores, name, seen)
    return _classified(n, scores, own.classes_, name, seen)


def lightgbm_booster(own: Any, n: Nodes, seen: Any = None) -> Outputs:
    """The result of `predict`."""
    return _predicted(n, _lightgbm_scores("Booster", own), "Booster", seen)


# By package and name.
BOOSTED: dict[tuple[str, str], Callable[[Any, Nodes, Any], Outputs]] = {
    ("lightgbm", "Booster"): lightgbm_booster,
    ("lightgbm", "LGBMClassifier"): lightgbm_classifier,
    ("lightgbm", "LGBMRanker"): lightgbm_regressor,
    ("lightgbm", "LGBMRegressor"): lightgbm_regressor,
    ("xgboost", "Booster"): xgboost_booster,
    ("xgboost", "XGBClassifier"): xgboost_classifier,
    ("xgboost", "XGBRanker"): xgboost_regressor,
    ("xgboost", "XGBRFClassifier"): xgboost_classifier,
    ("xgboost", "XGBRFRegressor"): xgboost_regressor,
    ("xgboost", "XGBRegressor"): xgboost_regressor,
}
