"""Estimators of scikit-learn, by skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.walking import from_onnx
from cloakwork.errors import ModelError


def from_estimator(model: Any, sample: Any = None) -> Graph:
    """The graph of a fitted estimator or pipeline; a sample [batch, features] tells its input."""
    try:
        from skl2onnx import to_onnx
    except ImportError as error:
        raise ModelError(
            "reading an estimator needs the skl2onnx package: pip install 'cloakwork[models]'"
        ) from error
    name = type(model).__name__
    width = getattr(model, "n_features_in_", None)
    if width is None and sample is not None:
        width = np.asarray(sample).shape[-1]
    if width is None:
        raise ModelError(f"{name}: expected a fitted estimator, found no number of features")
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    try:
        proto = to_onnx(
            model,
            np.zeros((1, int(width)), dtype=np.float32),
            options=None if options is None else {id(model): options},
            target_opset={"": 18, "ai.onnx.ml": 3},
        )
    except Exception as error:  # skl2onnx has its own classes for what it cannot convert
        raise ModelError(f"{name}: skl2onnx cannot convert it: {error}") from error
    return from_onnx(proto)
