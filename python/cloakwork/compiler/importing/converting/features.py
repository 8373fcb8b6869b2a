"""Steps of pipelines that make features: products, kernels, quantiles and splines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.importing.converting.categories import ENCODERS
from cloakwork.compiler.importing.converting.columns import COLUMNS
from cloakwork.compiler.importing.converting.nodes import Nodes

Outputs = dict[str, str]
Integers = NDArray[np.int64]

__all__ = ["COMPARING", "FEATURES", "SCALERS"]

_MOST_DEGREE = 8


def polynomials(own: Any, n: Nodes) -> Outputs | None:
    """Monomials, each as the product of two of half the degree."""
    powers = np.asarray(own.powers_, dtype=np.int64)
    if powers.sum(axis=1).max(initial=0) > _MOST_DEGREE:
        return None
    return {"features": _monomials(n, powers)}


def _monomials(n: Nodes, powers: Integers) -> str:
    """[batch, m]: the products of the features to these powers [m, width]."""
    if powers.sum(axis=1).max() <= 1:
        return n.affine(n.x, powers.T, 1.0 * (powers.sum(axis=1) == 0))
    first = np.zeros_like(powers)
    for row, left in zip(first, powers, strict=True):
        # The first half of the factors, in the order of features.
        room = (int(left.sum()) + 1) // 2
        for feature, power in enumerate(left.tolist()):
            row[feature] = min(power, room)
            room -= int(row[feature])
    return n.op("Mul", _monomials(n, first), _monomials(n, powers - first))


def nystroem(own: Any, n: Nodes) -> Outputs | None:
    """Kernels with some rows of the training data, as coordinates."""
    if own.kernel != "rbf":
        return None
    gamma = 1.0 / n.width if own.gamma is None else float(own.gamma)
    kernels = n.gaussians(n.x, own.components_, gamma)
    return {"features": n.affine(kernels, own.normalization_.T)}


def kernel_components(own: Any, n: Nodes) -> Outputs | None:
    """Principal components of kernels with all rows of the training data."""
    if own.kernel != "rbf":
        return None
    gamma = getattr(own, "gamma_", own.gamma)
    gamma = 1.0 / n.width if gamma is None else float(gamma)
    kernels = n.gaussians(n.x, own.X_fit_, gamma)
    large = own.eigenvalues_ > 0
    axes = np.where(large, own.eigenvectors_ / np.sqrt(np.where(large, own.eigenvalues_, 1.0)), 0.0)
    centre = own._centerer
    offset = (centre.K_fit_all_ - centre.K_fit_rows_) @ axes
    return {"features": n.affine(kernels, axes - axes.mean(axis=0), offset)}


def above(own: Any, n: Nodes) -> Outputs:
    """1 above a threshold, which ONNX's own node would round to float32."""
    return {"features": n.own("Above", n.x, threshold=[own.threshold])}


def bins(own: Any, n: Nodes) -> Outputs:
    """The number of the bin of each feature, or one-hot, by edges that are data themselves."""
    inner = [edges[1:-1] for edges in own.bin_edges_]
    tables: dict[str, ArrayLike] = {
        "edges": np.concatenate(inner),
        "counts": [len(edges) for edges in inner],
        "one_hot": [float(own.encode != "ordinal")],
    }
    return {"features": n.own("Bins", n.x, **tables)}


def powers(own: Any, n: Nodes) -> Outputs:
    """Powers that bring features near a normal distribution, perhaps standardised."""
    positive = [float(own.method == "box-cox")]
    found = n.own("PowerTransform", n.x, lambdas=own.lambdas_, positive=positive)
    if own.standardize:
        scaler = own._scaler
        found = n.op("Sub", found, n.constant(scaler.mean_))
        found = n.op("Mul", found, n.constant(1.0 / scaler.scale_))
    return {"features": found}


def scaler(own: Any, n: Nodes) -> Outputs | None:
    """In float64, and in the scaler's own order: what follows may compare."""
    if getattr(own, "clip", False):
        return None
    kind = type(own).__name__
    if kind == "MinMaxScaler":
        tables: dict[str, ArrayLike] = {"times": own.scale_, "plus": own.min_}
    else:
        middle = getattr(own, "mean_" if kind == "StandardScaler" else "center_", None)
        moved = getattr(own, "with_mean", getattr(own, "with_centering", False))
        tables = {} if middle is None or not moved else {"less": middle}
        if own.scale_ is not None:
            tables["by"] = own.scale_
    return {"features": n.own("Scaled", n.x, **tables) if tables else n.op("Identity", n.x)}


def quantiles(own: Any, n: Nodes) -> Outputs:
    """The share of the training data below a value, or the normal variate of it."""
    normal = float(own.output_distribution == "normal")
    tables = {"quantiles": own.quantiles_.T, "shares": own.references_, "normal": [normal]}
    return {"features": n.own("Quantiles", n.x, **tables)}


def splines(own: Any, n: Nodes) -> Outputs | None:
    """Bases of splines, constant beyond their knots."""
    if own.extrapolation != "constant":
        return None
    # All features have as many knots.
    tables = {"knots": [spline.t for spline in own.bsplines_], "degree": [own.degree]}
    bases = n.own("Splines", n.x, **tables)
    if own.include_bias:
        return {"features": bases}
    count = int(own.bsplines_[0].c.shape[1])
    kept = np.flatnonzero(np.arange(n.width * count) % count != count - 1)
    return {"features": n.affine(bases, np.eye(n.width * count)[:, kept])}


def components(own: Any, n: Nodes) -> Outputs:
    """Independent components."""
    mean = own.mean_ if hasattr(own, "mean_") else np.zeros(n.width)
    return {"features": n.affine(n.x, own.components_.T, -mean @ own.components_.T)}


def factors(own: Any, n: Nodes) -> Outputs:
    """The means of factors, given what is observed (Bishop, equation 12.66)."""
    weighted = own.components_ / own.noise_variance_
    covariance = np.linalg.inv(np.eye(len(own.components_)) + weighted @ own.components_.T)
    matrix = weighted.T @ covariance
    return {"features": n.affine(n.x, matrix, -own.mean_ @ matrix)}


def sparse_components(own: Any, n: Nodes) -> Outputs:
    """Coefficients by ridge regression on the components."""
    axes = own.components_
    inverse = np.linalg.inv(axes @ axes.T + own.ridge_alpha * np.eye(len(axes)))
    matrix = axes.T @ inverse
    return {"features": n.affine(n.x, matrix, -own.mean_ @ matrix)}


def waves(own: Any, n: Nodes) -> Outputs:
    """Cosines of random projections, which stand for a Gaussian kernel."""
    turned = n.affine(n.x, own.random_weights_, own.random_offset_)
    factor = np.sqrt(2.0 / own.random_offset_.size)
    return {"features": n.op("Mul", n.op("Cos", turned), n.constant([factor]))}


def hidden(own: Any, n: Nodes) -> Outputs:
    """The chances of hidden units."""
    scores = n.affine(n.x, own.components_.T, own.intercept_hidden_)
    return {"features": n.op("Sigmoid", scores)}


def projection(own: Any, n: Nodes) -> Outputs:
    """A random map with few entries."""
    axes = own.components_
    return {"features": n.affine(n.x, (axes.toarray() if hasattr(axes, "toarray") else axes).T)}


def singular_vectors(own: Any, n: Nodes) -> Outputs:
    """Projections on the vectors that features and targets have in common."""
    matrix = own.x_weights_ / own._x_std[:, np.newaxis]
    return {"features": n.affine(n.x, matrix, -own._x_mean @ matrix)}


def chosen(own: Any, n: Nodes) -> Outputs:
    """Some of the features."""
    return {"features": n.affine(n.x, np.eye(n.width)[:, own.get_support()])}


# Before steps that compare: others have skl2onnx's own.
SCALERS: dict[str, Callable[[Any, Nodes], Outputs | None]] = dict.fromkeys(
    ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"), scaler
)
FEATURES: dict[str, Callable[[Any, Nodes], Outputs | None]] = {
    **COLUMNS,
    **ENCODERS,
    "BernoulliRBM": hidden,
    "Binarizer": above,
    "FactorAnalysis": factors,
    "FastICA": components,
    "KBinsDiscretizer": bins,
    "KernelPCA": kernel_components,
    "MiniBatchSparsePCA": sparse_components,
    "Nystroem": nystroem,
    "PLSSVD": singular_vectors,
    "PolynomialFeatures": polynomials,
    "PowerTransformer": powers,
    "QuantileTransformer": quantiles,
    "RBFSampler": waves,
    "RFE": chosen,
    "RFECV": chosen,
    "SequentialFeatureSelector": chosen,
    "SparsePCA": sparse_components,
    "SparseRandomProjection": projection,
    "SplineTransformer": splines,
}
# Steps that compare plain features with numbers.
COMPARING = {
    "BernoulliNB", "Binarizer", "CategoricalNB", "ColumnTransformer", "FeatureUnion",
    "KBinsDiscretizer", "OneHotEncoder", "OrdinalEncoder", "QuantileTransformer",
    "SplineTransformer", "TargetEncoder",
}  # fmt: skip
