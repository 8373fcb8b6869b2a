"""Estimators of scikit-learn as ONNX, where skl2onnx has no conversion that can be encrypted.

Each is written as what its own methods compute, in terms that leave the server sums, squares and
trees, and the client the rest; the graph that is made of it is compared with the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

from cloakwork.compiler.importing.converting.boosting import BOOSTED, boosted_kind, is_booster
from cloakwork.compiler.importing.converting.densities import DENSITIES
from cloakwork.compiler.importing.converting.ensembles import ENSEMBLES
from cloakwork.compiler.importing.converting.features import COMPARING, FEATURES, SCALERS
from cloakwork.compiler.importing.converting.joined import JOINED
from cloakwork.compiler.importing.converting.nodes import Nodes
from cloakwork.compiler.importing.converting.stacked import STACKED
from cloakwork.compiler.importing.reading import ML_DOMAIN, OWN_DOMAIN, onnx_module
from cloakwork.errors import ModelError

__all__ = ["OPSETS", "chosen", "converted"]

OPSETS = {"": 18, ML_DOMAIN: 3}
_NEIGHBOURS = (
    "an estimator whose results do not hand out its training data, found one that compares inputs "
    "with each row of it: take NearestCentroid, a kernel machine or a forest"
)
_ITERATED = (
    "a transform of a fixed number of steps, found one that iterates until it converges: take PCA, "
    "TruncatedSVD or SparsePCA"
)
_FAR = (
    "scores above the noise of encryption, found quotients of kernels that are tiny far from the "
    "training data: take SVC, GaussianNB or a forest"
)
_TABLE = (
    "an estimator of several features, found a table of one, made of training data: take "
    "HistGradientBoostingRegressor with monotonic_cst"
)
_CONSTANT = "an estimator that reads its inputs, found one with the same result for all"
# Estimators that no conversion can make safe, or need none.
_REFUSED = {
    **dict.fromkeys(
        ("Isomap", "KNNImputer", "KNeighborsClassifier", "KNeighborsRegressor",
         "KNeighborsTransformer", "LocalOutlierFactor", "LocallyLinearEmbedding",
         "RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer"),
        _NEIGHBOURS,
    ),
    **dict.fromkeys(("DummyClassifier", "DummyRegressor"), _CONSTANT),
    **dict.fromkeys(
        ("DictionaryLearning", "LatentDirichletAllocation", "MiniBatchDictionaryLearning",
         "MiniBatchNMF", "NMF", "SparseCoder"), _ITERATED,
    ),
    **dict.fromkeys(("LabelPropagation", "LabelSpreading"), _FAR),
    "IsotonicRegression": _TABLE,
}  # fmt: skip
_Conversion = Callable[[Any, Nodes], dict[str, str] | None]
_OWN: dict[str, _Conversion] = {**DENSITIES, **ENSEMBLES, **FEATURES, **JOINED, **STACKED}


def converted(model: Any, width: int, others: Callable[[Any, int], Any], sample: Any = None) -> Any:
    """The ONNX model of a fitted estimator or pipeline of so many features.

    others   that of an estimator, or of some steps of a pipeline, without these conversions
    sample   inputs [batch, features]: where values are that thresholds must be away from
    """
    model = chosen(model)
    if not hasattr(model, "steps"):
        own = _own(model, width, _OWN, others, sample)
        return others(model, width) if own is None else own
    steps, found, waiting = list(_steps(model)), list[Any](), list[Any]()

    def flush() -> None:
        if waiting:
            # All but the first step of a pipeline know their features.
            own = width if not found else int(waiting[0].n_features_in_)
            part = copy(model)
            part.steps = [(f"step{number}", step) for number, step in enumerate(waiting)]
            found.append(others(part if len(waiting) < len(steps) else model, own))
            waiting.clear()

    compared = [type(step).__name__ in COMPARING or boosted_kind(step) is not None
                for step in steps]  # fmt: skip
    for number, step in enumerate(steps):
        features = getattr(step, "n_features_in_", None)
        # Within a pipeline, what an estimator transforms to counts, not what it predicts.
        kinds = _OWN if step is steps[-1] else FEATURES
        kinds = {**kinds, **SCALERS} if any(compared[number:]) else kinds
        if boosted_kind(step) is not None:
            _check_fitted(step)
        seen = _seen(model, sample) if step is steps[-1] else None
        made = None if features is None else _own(step, int(features), kinds, others, seen)
        if made is None:
            waiting.append(step)
            continue
        flush()
        found.append(made)
    flush()
    if not found:
        raise ModelError(f"{type(model).__name__}: expected a step that computes something")
    whole = found[0]
    for number, later in enumerate(found[1:]):
        whole = _joined(whole, later, f"{number} ")
    if len(found) > 1:
        whole.graph.name = f"ONNX({type(model).__name__})"
    return whole


def chosen(model: Any) -> Any:
    """The best model of a search, also within pipelines; any other model as it is."""
    found = getattr(model, "best_estimator_", None)
    if found is not None:
        return chosen(found)
    if not hasattr(model, "steps"):
        return model
    steps = [(name, chosen(step)) for name, step in model.steps]
    if all(step is old for (_, step), (_, old) in zip(steps, model.steps, strict=True)):
        return model
    made = copy(model)
    made.steps = steps
    return made


def _seen(model: Any, sample: Any) -> Any:
    """The sample as the last step of a pipeline sees it, if that is one of boosted trees."""
    if sample is None or boosted_kind(model.steps[-1][1]) is None:
        return None
    try:
        return model[:-1].transform(sample) if len(model.steps) > 1 else sample
    except Exception:  # of any library: whether the model takes the sample is checked elsewhere
        return None


def _steps(model: Any) -> Iterator[Any]:
    """Those of a pipeline, and of pipelines in it, that do something."""
    for _, step in model.steps:
        if hasattr(step, "steps"):
            yield from _steps(step)
        elif step is not None and step != "passthrough":
            yield step


def _own(
    estimator: Any,
    width: int,
    kinds: Mapping[str, _Conversion],
    others: Callable[[Any, int], Any],
    sample: Any = None,
) -> Any:
    """The ONNX model of an estimator of these kinds; None for others, and variants without one."""
    name = type(estimator).__name__
    if name in _REFUSED:
        raise ModelError(f"{name}: expected {_REFUSED[name]}")
    boosted = boosted_kind(estimator)
    make = kinds.get(name) if type(estimator).__module__.startswith("sklearn.") else None
    if make is None and boosted is None:
        return None
    if not is_booster(estimator):
        _check_fitted(estimator)
    nodes = Nodes(width, lambda part, count: converted(part, count, others))
    if boosted is not None:
        outputs: dict[str, str] | None = BOOSTED[boosted](estimator, nodes, sample)
    else:
        outputs = make(estimator, nodes) if make else None
    return None if outputs is None else nodes.model(f"ONNX({name})", outputs, OPSETS)


def _check_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        name = type(estimator).__name__
        raise ModelError(f"{name}: expected a fitted estimator: call fit first") from error


def _joined(first: Any, second: Any, prefix: str) -> Any:
    """The second model of the only result of the first."""
    onnx = onnx_module()
    own = onnx.compose.add_prefix(first, prefix, rename_inputs=False)
    given, *more = own.graph.output
    if more:
        listed = ", ".join(output.name for output in first.graph.output)
        raise ModelError(
            f"{first.graph.name}: expected one result before other steps, got {listed}"
        )
    (read,) = second.graph.input
    for node in second.graph.node:
        names = [given.name if name == read.name else name for name in node.input]
        node.ClearField("input")
        node.input.extend(names)
    nodes, tensors = ([*getattr(own.graph, field), *getattr(second.graph, field)]
                      for field in ("node", "initializer"))  # fmt: skip
    graph = onnx.helper.make_graph(nodes, "m", own.graph.input, second.graph.output, tensors)
    known = {**OPSETS, OWN_DOMAIN: 1}
    imported = [onnx.helper.make_opsetid(domain, version) for domain, version in known.items()]
    return onnx.helper.make_model(graph, opset_imports=imported)
