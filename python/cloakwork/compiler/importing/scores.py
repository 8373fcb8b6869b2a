"""Linear models and scalers of ONNX's domain for classical machine learning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from cloakwork.compiler.importing.activations import scaled
from cloakwork.compiler.importing.reading import ML_DOMAIN, OWN_DOMAIN
from cloakwork.compiler.importing.values import Call, Later, Secret, Value, handles

# By ONNX's post_transform: the client's step that gives probabilities.
_TRANSFORMS = {"NONE": None, "LOGISTIC": "sigmoid", "SOFTMAX": "softmax"}


def vector(call: Call) -> Secret:
    """The encrypted features [batch, n]."""
    x = call.secret(0)
    if len(x.shape) != 2:
        raise call.wrong("features [batch, n]", list(x.shape))
    return x


def linear_scores(call: Call, count: int) -> Secret:
    """`count` weighted sums of features, with their intercepts."""
    x = vector(call)
    weights = np.array(call.attribute("coefficients", []), dtype=np.float64)
    bias = np.array(call.attribute("intercepts", [0.0] * count), dtype=np.float64)
    if weights.size != count * x.shape[1] or bias.size != count:
        raise call.wrong(
            f"{count} x {x.shape[1]} coefficients and {count} intercepts",
            f"{weights.size} and {bias.size}",
        )
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise call.wrong("finite coefficients", "NaN or infinity")
    matrix = sparse.csr_array(weights.reshape(count, x.shape[1]))
    return call.affine([(x.name, matrix)], bias, (count,))


@handles("LinearRegressor", domain=ML_DOMAIN)
def linear_regressor(call: Call) -> Secret:
    """Without a transform of the result."""
    if call.attribute("post_transform", "NONE") != "NONE":
        raise call.wrong("post_transform NONE", call.attribute("post_transform", ""))
    return linear_scores(call, int(call.attribute("targets", 1)))


@handles("LinearClassifier", domain=ML_DOMAIN)
def linear_classifier(call: Call) -> Sequence[Value]:
    """Scores; the client computes labels and probabilities from them."""
    classes = classes_of(call)
    count = len(call.attribute("intercepts", classes))
    return classified(call, linear_scores(call, count), classes)


def classes_of(call: Call) -> list[int | str]:
    """The labels of a classifier."""
    for name in ("classlabels_ints", "classlabels_int64s", "classlabels_strings"):
        if found := call.attribute(name, None):
            return list(found)
    raise call.wrong("labels of classes", "none")


def classified(call: Call, scores: Secret, classes: Sequence[int | str]) -> list[Value]:
    """(label, probabilities) of scores, a value a class, or one for the second of two."""
    transform = call.attribute("post_transform", "NONE")
    if transform not in _TRANSFORMS:
        raise call.wrong(f"a post_transform of {sorted(_TRANSFORMS)}", transform)
    state, kind = call.state, _TRANSFORMS[transform]
    count = scores.shape[1]
    if count == 1 and len(classes) == 2:
        index = state.step("above", [scores], threshold=0.0)
        probabilities: Secret | Later = state.step(kind or "sigmoid", [scores])
        probabilities = state.step("both_classes", [probabilities])
        chosen = state.step("reshape", [index], shape=[])
        return [state.step("labels", [chosen], classes=list(classes)), probabilities]
    if count != len(classes):
        raise call.wrong(f"{len(classes)} scores", count)
    index = state.step("argmax", [scores], axis=1)
    label = state.step("labels", [index], classes=list(classes))
    if kind is None:
        return [label, scores]
    return [label, state.step(kind, [scores])]


@handles("Scaler", domain=ML_DOMAIN)
def scaler(call: Call) -> Secret:
    """(x - offset) scale."""
    x = vector(call)
    offset = np.array(call.attribute("offset", [0.0]), dtype=np.float64)
    scale = np.array(call.attribute("scale", [1.0]), dtype=np.float64)
    if offset.size not in (1, x.shape[1]) or scale.size not in (1, x.shape[1]):
        raise call.wrong(f"offsets and scales of {x.shape[1]} features", (offset.size, scale.size))
    return scaled(call, x, scale, -offset * scale)


@handles("FeatureVectorizer", domain=ML_DOMAIN)
def vectorize(call: Call) -> Secret:
    """One vector of all inputs, in order."""
    values = call.secrets()
    sizes = [call.builder.size(value.name) for value in values]
    stated = list(call.attribute("inputdimensions", sizes))
    if stated != sizes:
        raise call.wrong(f"inputdimensions {sizes}", stated)
    width = sum(sizes)
    terms, start = [], 0
    for value, size in zip(values, sizes, strict=True):
        rows = np.arange(size)
        matrix = sparse.coo_array((np.ones(size), (rows + start, rows)), shape=(width, size))
        terms.append((value.name, matrix))
        start += size
    return call.affine(terms, 0.0, (width,))


@handles("Scaled", domain=OWN_DOMAIN)
def scaled_features(call: Call) -> Secret:
    """((x - less) / by) times + plus, of numbers for each feature."""
    x = vector(call)
    numbers = {
        name: np.broadcast_to(np.asarray(call.attribute(name, rest), np.float64), x.shape[1:])
        for name, rest in (("less", 0.0), ("by", 1.0), ("times", 1.0), ("plus", 0.0))
    }
    factor = numbers["times"] / numbers["by"]
    return scaled(call, x, factor, numbers["plus"] - numbers["less"] * factor)
