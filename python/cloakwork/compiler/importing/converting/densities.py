"""Estimators of distances and densities: sums of squares on the server, the rest by the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.importing.converting.nodes import Nodes
from cloakwork.compiler.importing.converting.responses import resolved
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]
Outputs = dict[str, str]

__all__ = ["DENSITIES"]

# Of the range of a feature in length scales: beyond it kernels are 0 between training rows.
_MOST_LENGTHS = 1e3


def _classified(n: Nodes, scores: str, classes: Any) -> Outputs:
    """Labels and probabilities of logarithms of densities."""
    return {"label": n.label(scores, classes), "probabilities": n.op("Softmax", scores, axis=1)}


def _quadratics(n: Nodes, maps: list[tuple[Floats, Floats]], offsets: ArrayLike) -> str:
    """[batch, k] of -1/2 |x A - b|^2 + offset, one for each pair (A, b)."""
    whole = np.concatenate([matrix for matrix, _ in maps], axis=1)
    moved = n.affine(n.x, whole, -np.concatenate([shift for _, shift in maps]))
    sums = np.zeros((whole.shape[1], len(maps)))
    start = 0
    for number, (_, shift) in enumerate(maps):
        sums[start : start + len(shift), number] = -0.5
        start += len(shift)
    return n.affine(n.op("Mul", moved, moved), sums, offsets)


def gaussian_bayes(own: Any, n: Nodes) -> Outputs:
    """Independent Gaussians of features."""
    middle, precision = own.theta_.mean(axis=0), 1.0 / own.var_
    apart = own.theta_ - middle
    x = n.op("Sub", n.x, n.constant(middle))
    squares = n.affine(n.op("Mul", x, x), -0.5 * precision.T)
    constant = (
        np.log(own.class_prior_)
        - 0.5 * np.log(2 * np.pi * own.var_).sum(axis=1)
        - 0.5 * (apart**2 * precision).sum(axis=1)
    )
    scores = n.op("Add", n.affine(x, (apart * precision).T, constant), squares)
    return _classified(n, scores, own.classes_)


def linear_bayes(own: Any, n: Nodes) -> Outputs:
    """Multinomial counts."""
    prior = own.class_log_prior_ if type(own).__name__ == "MultinomialNB" else 0.0
    scores = n.affine(n.x, own.feature_log_prob_.T, prior)
    return _classified(n, scores, own.classes_)


def bernoulli_bayes(own: Any, n: Nodes) -> Outputs:
    """Features that are true above a threshold, or 0 and 1."""
    present = own.feature_log_prob_
    absent = np.log1p(-np.exp(present))
    x = n.x
    if own.binarize is not None:
        x = n.own("Above", x, threshold=[own.binarize])
    constant = own.class_log_prior_ + absent.sum(axis=1)
    scores = n.affine(x, (present - absent).T, constant)
    return _classified(n, scores, own.classes_)


def categories_bayes(own: Any, n: Nodes) -> Outputs:
    """Categories 0, 1, ... of each feature, as one-hot vectors that the client makes."""
    count = int(max(own.n_categories_))
    whole = n.op("Cast", n.x, to=7)
    hot = n.op("OneHotEncoder", whole, domain="ai.onnx.ml", cats_int64s=list(range(count)), zeros=0)
    weights = np.zeros((n.width, count, len(own.classes_)))
    for place, logs in zip(weights, own.feature_log_prob_, strict=True):
        place[: logs.shape[1]] = logs.T
    flat = n.op("Flatten", hot, axis=1)
    scores = n.affine(flat, weights.reshape(n.width * count, -1), own.class_log_prior_)
    return _classified(n, scores, own.classes_)


def discriminant(own: Any, n: Nodes) -> Outputs | None:
    """Gaussians with covariances of their own (quadratic discriminant analysis)."""
    if not hasattr(own, "rotations_"):
        return None
    maps = []
    for mean, rotation, scaling in zip(own.means_, own.rotations_, own.scalings_, strict=True):
        matrix = rotation / np.sqrt(scaling)
        maps.append((matrix, mean @ matrix))
    logs = np.array([np.log(scaling).sum() for scaling in own.scalings_])
    scores = _quadratics(n, maps, np.log(own.priors_) - 0.5 * logs)
    return _classified(n, scores, own.classes_)


def mixture(own: Any, n: Nodes) -> Outputs:
    """Gaussians that a model found without labels."""
    count, width = own.means_.shape
    factors = np.asarray(own.precisions_cholesky_)
    if own.covariance_type == "tied":
        factors = np.broadcast_to(factors, (count, width, width))
    elif own.covariance_type == "diag":
        factors = factors[:, :, np.newaxis] * np.eye(width)
    elif own.covariance_type == "spherical":
        factors = factors[:, np.newaxis, np.newaxis] * np.eye(width)
    maps = [(factor, mean @ factor) for factor, mean in zip(factors, own.means_, strict=True)]
    # At a mean the square is 0, and the density is what the model itself says.
    at_means = np.diag(own._estimate_log_prob(own.means_))
    offsets = at_means + own._estimate_log_weights()
    return _classified(n, _quadratics(n, maps, offsets), np.arange(count))


def clusters(own: Any, n: Nodes) -> Outputs:
    """The nearest centre: |x|^2, which all distances have in common, is left out."""
    return {"label": _nearest(n, own.cluster_centers_, np.arange(len(own.cluster_centers_)))}


def shifts(own: Any, n: Nodes) -> Outputs:
    """The nearest centre."""
    return {"label": _nearest(n, own.cluster_centers_, np.arange(len(own.cluster_centers_)))}


def subclusters(own: Any, n: Nodes) -> Outputs:
    """The cluster of the nearest subcluster."""
    return {"label": _nearest(n, own.subcluster_centers_, own.subcluster_labels_)}


def codes(own: Any, n: Nodes) -> Outputs | None:
    """Linear scores, and the class whose code is nearest to them."""
    maps = [_binary_map(part, n.width) for part in own.estimators_]
    known = [one for one in maps if one is not None]
    if len(known) < len(maps):
        return None
    weights = np.stack([weight for weight, _ in known], axis=1)
    bias = np.array([offset for _, offset in known])
    book = np.asarray(own.code_book_, dtype=np.float64)
    offset = np.square(book).sum(axis=1) - 2.0 * bias @ book.T
    return {
        "label": n.label(n.affine(n.x, -2.0 * weights @ book.T, offset), own.classes_, "ArgMin")
    }


def least_squares(own: Any, n: Nodes) -> Outputs:
    """A linear map of features around their means."""
    matrix = own.coef_.T
    return {"variable": n.affine(n.x, matrix, own.intercept_ - own._x_mean @ matrix)}


def _binary_map(part: Any, width: int) -> tuple[Floats, float] | None:
    """The weights and the offset of a linear score, or of a class that is always one."""
    if type(part).__name__ == "_ConstantPredictor":
        return np.zeros(width), float(part.y_[0])
    if not hasattr(part, "decision_function") or np.shape(getattr(part, "coef_", ())) != (1, width):
        return None
    return np.asarray(part.coef_[0]), float(np.ravel(part.intercept_)[0])


def perceptron(own: Any, n: Nodes) -> Outputs | None:
    """A network of several targets, whose results skl2onnx mixes with the batch."""
    kinds = {"identity": "", "logistic": "Sigmoid", "relu": "Relu", "tanh": "Tanh"}
    if own.n_outputs_ == 1 or own.out_activation_ != "identity" or own.activation not in kinds:
        return None
    x, kind = n.x, kinds[own.activation]
    for number, (weights, bias) in enumerate(zip(own.coefs_, own.intercepts_, strict=True), 1):
        x = n.affine(x, weights, bias)
        x = n.op(kind, x) if kind and number < len(own.coefs_) else x
    return {"variable": x}


def kernel_ridge(own: Any, n: Nodes) -> Outputs | None:
    """Sums of kernels with the training data, linear or Gaussian."""
    weights = np.reshape(own.dual_coef_, (len(own.X_fit_), -1))
    if own.kernel == "linear":
        return {"variable": n.affine(n.x, own.X_fit_.T @ weights)}
    if own.kernel != "rbf":
        return None
    gamma = 1.0 / n.width if own.gamma is None else float(own.gamma)
    return {"variable": n.affine(n.gaussians(n.x, own.X_fit_, gamma), weights)}


def centroids(own: Any, n: Nodes) -> Outputs | None:
    """The class of the nearest centroid."""
    priors = getattr(own, "priors", "uniform")
    if own.metric != "euclidean" or not isinstance(priors, str) or priors != "uniform":
        return None
    return {"label": _nearest(n, own.centroids_, own.classes_)}


def _nearest(n: Nodes, centres: Floats, classes: Any) -> str:
    squares = np.square(centres).sum(axis=1)
    return n.label(n.affine(n.x, -2.0 * centres.T, squares), classes, "ArgMin")


def envelope(own: Any, n: Nodes) -> Outputs:
    """The distance by a robust covariance, against a limit."""
    factor = np.linalg.cholesky(own.get_precision())
    halves = _quadratics(n, [(factor, own.location_ @ factor)], [-0.5 * own.offset_])
    scores = n.affine(halves, [[2.0]])
    return {"label": n.inside(scores), "scores": scores}


def one_against_rest(own: Any, n: Nodes) -> Outputs | None:
    """Linear scores of each class; the client makes probabilities of logistic ones."""
    found = [resolved(n, part, n.x, n.width) for part in own.estimators_]
    parts = [part for part, _, _ in found]
    if any(np.shape(getattr(part, "coef_", ())) != (1, width) for part, _, width in found):
        return None
    biases = [float(np.ravel(part.intercept_)[0]) for part in parts]
    if all(x == n.x for _, x, _ in found):
        scores = n.affine(n.x, np.concatenate([part.coef_ for part in parts]).T, biases)
    else:
        scores = n.joined([
            n.affine(x, part.coef_.T, [bias])
            for (part, x, _), bias in zip(found, biases, strict=True)
        ])  # fmt: skip
    logistic = all(type(part).__name__ == "LogisticRegression" for part in parts)
    if getattr(own, "multilabel_", False):
        # Labels of one chain without weights.
        alone = {"weights": np.zeros((len(parts), len(parts))), "order": np.arange(len(parts))}
        return {
            result: n.own("Chained", scores, read="scores", result=result, **alone)
            for result in ("labels", "probabilities" if logistic else "scores")
        }
    if len(parts) == 1:
        scores = n.affine(scores, [[-0.5, 0.5]])
        if logistic:
            return _classified(n, scores, own.classes_)
        return {"label": n.label(scores, own.classes_)}
    label = n.label(scores, own.classes_)
    if not logistic:
        return {"label": label, "scores": scores}
    shares = n.op("Normalizer", n.op("Sigmoid", scores), domain="ai.onnx.ml", norm="L1")
    return {"label": label, "probabilities": shares}


def process(own: Any, n: Nodes) -> Outputs | None:
    """The mean of a Gaussian process with a kernel of Gaussians."""
    found = _gaussian_kernel(getattr(own, "kernel_", None))
    if found is None or (np.ndim(own.alpha_) > 1 and own.alpha_.shape[1] > 1):
        return None
    size, lengths = found
    if np.ptp(own.X_train_ / lengths, axis=0).max(initial=0.0) > _MOST_LENGTHS:
        raise ModelError(
            f"GaussianProcessRegressor: expected lengths like those of the training data, found "
            f"{lengths.min():.3g}, with which it only repeats that; add a WhiteKernel to the kernel"
        )
    x = n.op("Mul", n.x, n.constant(np.broadcast_to(1.0 / lengths, (n.width,))))
    kernels = n.gaussians(x, own.X_train_ / lengths, 0.5)
    deviation, mean = np.ravel(own._y_train_std)[0], np.ravel(own._y_train_mean)[0]
    weights = size * deviation * np.ravel(own.alpha_)[:, np.newaxis]
    return {"variable": n.affine(kernels, weights, mean)}


def _gaussian_kernel(kernel: Any) -> tuple[float, Floats] | None:
    """(factor, length scales) of a product of a constant and one Gaussian, perhaps with noise."""
    kind = type(kernel).__name__
    if kind == "RBF":
        return 1.0, np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
    if kind not in ("Product", "Sum"):
        return None
    others = "WhiteKernel" if kind == "Sum" else "ConstantKernel"
    for first, second in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
        found = _gaussian_kernel(second)
        if type(first).__name__ == others and found is not None:
            factor = 1.0 if kind == "Sum" else float(first.constant_value)
            return factor * found[0], found[1]
    return None


DENSITIES: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    "BayesianGaussianMixture": mixture,
    "BernoulliNB": bernoulli_bayes,
    "CCA": least_squares,
    "Birch": subclusters,
    "CategoricalNB": categories_bayes,
    "ComplementNB": linear_bayes,
    "EllipticEnvelope": envelope,
    "GaussianMixture": mixture,
    "GaussianNB": gaussian_bayes,
    "GaussianProcessRegressor": process,
    "KMeans": clusters,
    "KernelRidge": kernel_ridge,
    "MLPRegressor": perceptron,
    "MeanShift": shifts,
    "MiniBatchKMeans": clusters,
    "MultinomialNB": linear_bayes,
    "NearestCentroid": centroids,
    "OneVsRestClassifier": one_against_rest,
    "OutputCodeClassifier": codes,
    "PLSCanonical": least_squares,
    "QuadraticDiscriminantAnalysis": discriminant,
}
