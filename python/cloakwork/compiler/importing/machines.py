"""Support vector machines: kernels of the input with every support vector, then weighted sums.

A classifier computes one score for each pair of classes (C.-C. Chang, C.-J. Lin: LIBSVM, 2011,
section 7); the client counts the votes of decrypted scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.activations import applied, multiplied, raised
from cloakwork.compiler.importing.reading import ML_DOMAIN
from cloakwork.compiler.importing.scores import classes_of, vector
from cloakwork.compiler.importing.values import Call, Later, Secret, Value, handles

Floats = NDArray[np.float64]
_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
_MOST_DEGREE = 64


@handles("SVMRegressor", domain=ML_DOMAIN)
def regressor(call: Call) -> Secret:
    """A weighted sum of kernels; with `one_class` the node's sign is refused."""
    if call.attribute("post_transform", "NONE") != "NONE":
        raise call.wrong("post_transform NONE", call.attribute("post_transform", ""))
    if call.attribute("one_class", 0):
        hint = "export the score, and compare it with 0 after decryption"
        raise call.wrong("one_class 0", call.attribute("one_class", 0), hint)
    weights = _floats(call, "coefficients")
    vectors = _vectors(call, int(call.attribute("n_supports", 0)), len(weights))
    return _sums(call, vectors, weights[None], _offsets(call, 1))


@handles("SVMClassifier", domain=ML_DOMAIN)
def classifier(call: Call) -> Sequence[Value]:
    """Scores of all pairs of classes; the client computes labels and probabilities from them."""
    classes = classes_of(call)
    counts = [int(count) for count in call.attribute("vectors_per_class", [])]
    if len(counts) != len(classes) or len(classes) < 2 or min(counts) < 0:
        hint = "export linear machines as LinearClassifier"
        raise call.wrong(f"support vectors of {len(classes)} classes, at least 2", counts, hint)
    total = sum(counts)
    weights = _floats(call, "coefficients")
    if weights.size != (len(classes) - 1) * total:
        raise call.wrong(f"{len(classes) - 1} x {total} coefficients", weights.size)
    rows = _pairs(weights.reshape(-1, total), counts)
    scores = _sums(call, _vectors(call, total, total), rows, _offsets(call, len(rows)))
    result = _result(call, scores, len(classes))
    if isinstance(result, Secret) and len(classes) == 2:
        # [-s, s]: of a score above 0 the first class.
        index = call.state.step("argmin", [result], axis=1, last=True)
    else:
        votes = call.state.step("votes", [scores], classes=len(classes))
        index = call.state.step("argmax", [votes], axis=1)
    return [call.state.step("labels", [index], classes=list(classes)), result]


def _result(call: Call, scores: Secret, classes: int) -> Secret | Later:
    """The node's second output: scores, or probabilities of classes."""
    transform = call.attribute("post_transform", "NONE")
    if transform not in ("NONE", "LOGISTIC", "SOFTMAX"):
        raise call.wrong("a post_transform of NONE, LOGISTIC, SOFTMAX", transform)
    slopes, offsets = (_floats(call, name, 0) for name in ("prob_a", "prob_b"))
    if slopes.size or offsets.size:
        if not slopes.size == offsets.size == scores.shape[1] or transform != "NONE":
            pairs = f"prob_a and prob_b of {scores.shape[1]} pairs, and post_transform NONE"
            raise call.wrong(pairs, (slopes.size, offsets.size, transform))
        parameters = {"slopes": slopes.tolist(), "offsets": offsets.tolist()}
        return call.state.step("pairwise_probabilities", [scores], classes=classes, **parameters)
    if classes == 2:
        # ONNX gives the score of both signs.
        scores = call.affine([(scores.name, [[-1.0], [1.0]])], 0.0, (2,))
    if transform == "NONE":
        return scores
    return call.state.step("sigmoid" if transform == "LOGISTIC" else "softmax", [scores])


def _pairs(weights: Floats, counts: Sequence[int]) -> Floats:
    """[pairs, vectors]: the score of classes i < j, by the vectors of these two alone."""
    starts = np.cumsum([0, *counts])
    rows = np.zeros((len(counts) * (len(counts) - 1) // 2, weights.shape[1]))
    for row, (i, j) in zip(rows, combinations(range(len(counts)), 2), strict=True):
        first, second = (slice(starts[k], starts[k + 1]) for k in (i, j))
        row[first] = weights[j - 1, first]
        row[second] = weights[i, second]
    return rows


def _sums(call: Call, vectors: Floats, weights: Floats, offsets: Floats) -> Secret:
    """[1, rows]: weighted sums of the kernels of x with each vector, which is a row."""
    x, kind = vector(call), _kind(call)
    if vectors.shape[1] != x.shape[1]:
        raise call.wrong(f"support vectors of {x.shape[1]} features", vectors.shape[1])
    call.check_weights(vectors.size + weights.size)
    if kind == "LINEAR":
        return call.affine([(x.name, weights @ vectors)], offsets, (len(weights),))
    used = np.flatnonzero(weights.any(axis=0))
    kernels = _kernels(call, x, vectors[used], kind)
    return call.affine([(kernels.name, weights[:, used])], offsets, (len(weights),))


def _kernels(call: Call, x: Secret, vectors: Floats, kind: str) -> Secret:
    gamma, constant, degree = _parameters(call)
    shape = (len(vectors),)
    if kind == "RBF":
        # -gamma |x - v|^2 = 2 gamma v x - gamma |x|^2 - gamma |v|^2
        squares = multiplied(call, x, x)
        terms = [(x.name, 2 * gamma * vectors), (squares.name, np.full(vectors.shape, -gamma))]
        return applied(call, call.affine(terms, -gamma * (vectors**2).sum(axis=1), shape), "exp")
    inner = call.affine([(x.name, gamma * vectors)], constant, shape)
    if kind == "SIGMOID":
        return applied(call, inner, "tanh")
    if not degree.is_integer() or not 1 <= degree <= _MOST_DEGREE:
        raise call.wrong(f"a polynomial kernel of degree 1 to {_MOST_DEGREE}", degree)
    return raised(call, inner, int(degree))


def _kind(call: Call) -> str:
    found = str(call.attribute("kernel_type", "LINEAR"))
    if found not in _KERNELS:
        raise call.wrong(f"a kernel_type of {list(_KERNELS)}", found)
    return found


def _parameters(call: Call) -> tuple[float, float, float]:
    """(gamma, constant, degree) of the kernel."""
    found = _floats(call, "kernel_params", 3)
    if found.size != 3:
        raise call.wrong("three kernel_params: gamma, coef0, degree", found.size)
    return float(found[0]), float(found[1]), float(found[2])


def _vectors(call: Call, count: int, weights: int) -> Floats:
    """[count, features], one for each weight."""
    given = _floats(call, "support_vectors")
    if not 1 <= count == weights or given.size == 0 or given.size % count:
        hint = "export linear machines as LinearRegressor"
        raise call.wrong(f"support vectors for {weights} coefficients", given.size, hint)
    return given.reshape(count, -1)


def _offsets(call: Call, count: int) -> Floats:
    found = _floats(call, "rho")
    if found.size != count:
        raise call.wrong(f"{count} rho", found.size)
    return found


def _floats(call: Call, name: str, zeros: int = 0) -> Floats:
    given: Any = call.attribute(name, [0.0] * zeros)
    found = np.array(given, dtype=np.float64).ravel()
    if not np.isfinite(found).all():
        raise call.wrong(f"finite {name}", "NaN or infinity")
    return found
