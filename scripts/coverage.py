"""docs/coverage.md: what estimators of scikit-learn and ops of ONNX compile to, or why not.

    python -m scripts.coverage            writes the page: every estimator is fitted and compiled
    python -m scripts.coverage NAME ...   prints the lines of some

Estimators are fitted with their default options, and a seed, but for those that need others or
would be large, to 120 flowers of Iris, or to what they take: counts, categories, several targets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from cloakwork import fhe
from cloakwork.compiler.cutting import cut
from cloakwork.compiler.importing import from_model
from cloakwork.errors import CloakworkError
from numpy.typing import NDArray

__all__ = ["PAGE", "Row", "fitted", "imported", "names", "operators", "page", "row_of"]

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
_ROWS = 120
# Estimators that compute nothing for new inputs, or take no table of numbers.
_NO_MODELS = {
    "only of the rows that they are fitted to": (
        "AffinityPropagation", "AgglomerativeClustering", "ClassicalMDS", "DBSCAN", "HDBSCAN",
        "MDS", "OPTICS", "SpectralBiclustering", "SpectralClustering", "SpectralCoclustering",
        "SpectralEmbedding", "TSNE", "FeatureAgglomeration",
    ),
    "of texts, dictionaries or pictures": (
        "CountVectorizer", "DictVectorizer", "FeatureHasher", "HashingVectorizer",
        "PatchExtractor", "TfidfVectorizer",
    ),
    "of kernels": ("KernelCenterer",),
    "of labels": ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer"),
    "that describe data, without results": (
        "EmpiricalCovariance", "GraphicalLasso", "GraphicalLassoCV", "KernelDensity", "LedoitWolf",
        "MinCovDet", "NearestNeighbors", "OAS", "ShrunkCovariance",
    ),
}  # fmt: skip
_SMALL: dict[str, dict[str, Any]] = {
    "AdaBoostClassifier": {"n_estimators": 5},
    "AdaBoostRegressor": {"n_estimators": 3},
    "BaggingClassifier": {"n_estimators": 3},
    "BaggingRegressor": {"n_estimators": 3},
    "ExtraTreesClassifier": {"n_estimators": 5, "max_depth": 3},
    "ExtraTreesRegressor": {"n_estimators": 5, "max_depth": 3},
    "GradientBoostingClassifier": {"n_estimators": 5, "max_depth": 2},
    "GradientBoostingRegressor": {"n_estimators": 5, "max_depth": 2},
    "HistGradientBoostingClassifier": {"max_iter": 5, "max_depth": 2},
    "HistGradientBoostingRegressor": {"max_iter": 5, "max_depth": 2},
    "IsolationForest": {"n_estimators": 5, "max_samples": 16},
    "MLPClassifier": {"hidden_layer_sizes": (8,), "max_iter": 500},
    "MLPRegressor": {"hidden_layer_sizes": (8,), "max_iter": 500},
    "Nystroem": {"n_components": 8},
    "PolynomialCountSketch": {"n_components": 8},
    "RandomForestClassifier": {"n_estimators": 5, "max_depth": 3},
    "RandomForestRegressor": {"n_estimators": 5, "max_depth": 3},
    "RandomTreesEmbedding": {"n_estimators": 3, "max_depth": 2},
    "RBFSampler": {"n_components": 8},
    "GaussianRandomProjection": {"n_components": 3},
    "SkewedChi2Sampler": {"n_components": 8},
    "SparseRandomProjection": {"n_components": 3},
}
_POSITIVE = ("AdditiveChi2", "SkewedChi2", "NMF", "MiniBatchNMF", "Multinomial", "Complement",
             "Categorical", "Latent", "Tfidf")  # fmt: skip
_CATEGORIES = ("CategoricalNB", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
_SEVERAL = ("MultiTask", "MultiOutput", "PLS", "CCA", "RegressorChain", "ClassifierChain")


@dataclass(frozen=True)
class Row:
    """A line of the table: what became of an estimator, in Markdown."""

    name: str
    state: str
    cells: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"| {' | '.join([self.name, self.state, *self.cells])} |"


def names() -> dict[str, Any]:
    """The classes of all estimators that could be compiled."""
    from sklearn.utils import all_estimators

    left = {name for own in _NO_MODELS.values() for name in own}
    return {name: own for name, own in all_estimators() if name not in left}


def _made(name: str, kind: Any) -> Any:
    """An estimator of a class, unfitted."""
    from sklearn import linear_model, preprocessing, tree

    plain, ridge = linear_model.LogisticRegression(), linear_model.Ridge()
    wrapped: dict[str, Any] = {
        "ColumnTransformer": {"transformers": [("a", preprocessing.StandardScaler(), [0, 1])]},
        "FeatureUnion": {"transformer_list": [("a", preprocessing.MinMaxScaler())]},
        "FrozenEstimator": {"estimator": plain},
        "SelfTrainingClassifier": {"estimator": plain},
        "GridSearchCV": {"estimator": ridge, "param_grid": {"alpha": [0.1, 1.0]}},
        "Pipeline": {"steps": [("a", preprocessing.StandardScaler()), ("b", plain)]},
        "RandomizedSearchCV": {"estimator": ridge, "param_distributions": {"alpha": [0.1, 1.0]},
                               "n_iter": 2},
        "SparseCoder": {"dictionary": np.eye(4)},
        "StackingClassifier": {"estimators": [("a", linear_model.RidgeClassifier()),
                                              ("b", linear_model.Perceptron())]},
        "StackingRegressor": {"estimators": [("a", ridge), ("b", linear_model.LinearRegression())]},
        "TransformedTargetRegressor": {"regressor": ridge, "func": np.log1p,
                                       "inverse_func": np.expm1},
        "VotingClassifier": {"estimators": [("a", plain), ("b", linear_model.LogisticRegression())],
                             "voting": "soft"},
        "VotingRegressor": {"estimators": [("a", ridge), ("b", linear_model.LinearRegression())]},
    }  # fmt: skip
    if name == "FrozenEstimator":
        plain.fit(*_data(name))
    options = {**_SMALL.get(name, {}), **wrapped.get(name, {})}
    required = getattr(kind, "_required_parameters", []) or _needed(kind)
    if "estimator" in required and "estimator" not in options:
        options["estimator"] = ridge if "Regressor" in name else plain
    if name.startswith(("Bagging", "AdaBoostRegressor")):
        depth = tree.DecisionTreeClassifier if "Class" in name else tree.DecisionTreeRegressor
        options["estimator"] = depth(max_depth=2)
    if name.startswith(("DecisionTree", "ExtraTree")):
        options.setdefault("max_depth", 3)
    made = kind(**options)
    if "random_state" in made.get_params(deep=False):
        made.set_params(random_state=0)
    return made


def _needed(kind: Any) -> list[str]:
    import inspect

    given = inspect.signature(kind.__init__).parameters.values()
    return [one.name for one in given if one.default is one.empty and one.name != "self"]


def _data(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Flowers, with what an estimator takes as its target."""
    from sklearn.datasets import load_iris

    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))[:_ROWS]
    x, y = x[order], y[order]
    if name in _CATEGORIES:
        x = np.rint(x)
    if name == "MissingIndicator":
        x = np.where(x > 6, np.nan, x)
    if name == "IsotonicRegression":
        x = x[:, :1]
    if name in ("TargetEncoder", "FixedThresholdClassifier", "TunedThresholdClassifierCV"):
        y = (y == 1).astype(int)
    if not name.startswith(_POSITIVE) and name not in _CATEGORIES:
        x = x - x.mean(axis=0)
    if name == "GammaRegressor":
        y = y + 1
    if name.startswith(_SEVERAL):
        y = np.stack([y == 0, y == 2], axis=1).astype(int)
    return x, y


def fitted(name: str) -> tuple[Any, NDArray[Any]]:
    """A fitted estimator, and its inputs."""
    x, y = _data(name)
    made = _made(name, names()[name])
    with catch_warnings(), np.errstate(all="ignore"):
        simplefilter("ignore")
        return made.fit(x, y), x


def imported(model: Any, x: NDArray[Any]) -> str:
    """Why it is refused, in one line; "" if it is not."""
    try:
        cut(from_model(model, x))
    except CloakworkError as error:
        return _short(str(error))
    return ""


def _short(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= 160 else f"{line[:157]}..."


def row_of(name: str) -> Row:
    """The line of one estimator: it is compiled, and run once."""
    model, x = fitted(name)
    why = imported(model, x)
    if why:
        return Row(name, "refused", (why,))
    start = process_time()
    try:
        made = fhe.compile(model, x)
    except CloakworkError as error:
        return Row(name, "refused", (_short(str(error)),))
    seconds = process_time() - start
    client, server = made.split()
    with client.keygen():
        encrypted = client.encrypt(x[0])
        start = process_time()
        server.run(encrypted)
        ran = process_time() - start
    chosen, steps = made.report.chosen, made.report.client
    parts = [
        "before" if "before encryption" in steps else "",
        "after" if "client: " in steps else "",
    ]
    before = " and ".join(filter(None, parts))
    cells = (
        f"2^{chosen.degree.bit_length() - 1}", str(chosen.depth),
        f"{chosen.key_bytes / 2**20:.0f} MiB", f"{ran:.2g} s; {seconds:.2g} s", before,
    )  # fmt: skip
    return Row(name, "compiled", cells)


# Ops of ONNX that are refused, by what stands in the way.
_IN_THE_WAY = {
    "control flow": ("SequenceMap",),
    "sequences, maps and optional values": (
        "CastMap", "ConcatFromSequence", "DictVectorizer", "OptionalGetElement",
        "OptionalHasElement", "Optional", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
        "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence",
    ),
    "texts": (
        "CategoryMapper", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit",
        "TfIdfVectorizer",
    ),
    "random numbers": (
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike",
    ),
    "integers of few bits": (
        "BitCast", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Mod",
    ),
    "rounding of encrypted values": ("DynamicQuantizeLinear",),
    "constants alone, which are computed when a model is read": (
        "BlackmanWindow", "Constant", "ConstantOfShape", "EyeLike", "HammingWindow",
        "HannWindow", "ImageDecoder", "MelWeightMatrix", "Range",
    ),
    "training": ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
    "a shape or places that depend on values": (
        "MaxRoiPool", "NonMaxSuppression", "NonZero", "OneHot", "RoiAlign", "Unique",
    ),
}  # fmt: skip


def operators() -> Iterator[Row]:
    """The lines of all ops of ONNX's newest opsets."""
    import onnx
    from cloakwork.compiler.importing.heads import HEAD_OPS
    from cloakwork.compiler.importing.tails import CLIENT_OPS
    from cloakwork.compiler.importing.unrolling import UNROLLED
    from cloakwork.compiler.importing.walking import handled_kinds

    known, reasons = (
        handled_kinds(),
        {name: why for why, own in _IN_THE_WAY.items() for name in own},
    )
    schemas = {(one.domain, one.name): one for one in onnx.defs.get_all_schemas()}
    for (domain, name), schema in sorted(schemas.items()):
        if domain not in ("", "ai.onnx.ml") or schema.deprecated:
            continue
        states = [
            *(["the server"] if name in known.get(domain, ()) else []),
            *(["the client, before encryption"] if name in HEAD_OPS else []),
            *(["the client, at the end"] if name in CLIENT_OPS else []),
            *(["nobody: unrolled, where constants decide"] if name in UNROLLED else []),
        ]
        why = "" if states else reasons.get(name, "no map, product or function of it here")
        place = f"{name} (`{domain}`)" if domain else name
        yield Row(place, " or ".join(states) or "refused", (why,))


def page(rows: list[Row]) -> str:
    """The whole page, of the lines of all estimators."""
    import onnx
    import sklearn

    compiled = [row for row in rows if row.state == "compiled"]
    refused = [row for row in rows if row.state != "compiled"]
    ops = list(operators())
    served = sum(row.state != "refused" for row in ops)
    others = "\n".join(f"- {why}: {', '.join(own)}" for why, own in _NO_MODELS.items())
    lines = [
        "# What compiles",
        "",
        "Written by `python -m scripts.coverage`, which fits and compiles every estimator; tests",
        "hold it. Keys are evaluation keys in memory; times are of one core of one machine, busy",
        "with other work; degrees are those of 128-bit security. [models.md](models.md) explains.",
        "",
        "## Estimators of scikit-learn",
        "",
        f"{len(compiled)} of {len(rows)} estimators of scikit-learn {sklearn.__version__} compile.",
        "Small ones, with default options; trees and networks have few. Those with 0 levels move",
        "values, or the client computes all of them.",
        "",
        "| estimator | degree | levels | keys | a run; compiling | client |",
        "|---|---|---|---|---|---|",
        *(f"| {' | '.join([row.name, *row.cells])} |" for row in compiled),
        "",
        "| refused | why |",
        "|---|---|",
        *(f"| {row.name} | {row.cells[-1]} |" for row in refused),
        "",
        "Not models of tables of numbers:",
        "",
        others,
        "",
        "## Ops of ONNX",
        "",
        f"{served} of {len(ops)} ops of onnx {onnx.__version__}. Any op of constants is computed",
        "once, when a model is read. Refused ones have what stands in the way.",
        "",
        "| op | computed by | why not |",
        "|---|---|---|",
        *map(str, ops),
        "",
    ]
    return "\n".join(lines)


def _write() -> None:
    rows = []
    for name in names():
        rows.append(row_of(name))
        print(rows[-1], flush=True)
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for name in sys.argv[1:]:
            print(row_of(name), flush=True)
    else:
        _write()
