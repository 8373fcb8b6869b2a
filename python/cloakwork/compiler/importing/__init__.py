"""Models of other libraries as graphs: ONNX, scikit-learn through skl2onnx, torch through ONNX.

XGBoost's and LightGBM's are read from their own JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.masks import without_masks
from cloakwork.compiler.importing.proving import Original, encrypted_rows, prove
from cloakwork.errors import ModelError


def from_model(model: str | Path | bytes | Any, sample: Any = None) -> Graph:
    """The graph of a model, which is compared with the model on values of the sample and near it.

    model    the path or bytes of an ONNX file, an onnx.ModelProto, a fitted estimator of
             scikit-learn, a torch.nn.Module, a torch.export.ExportedProgram, or a Graph, which is
             returned unchanged
    sample   inputs [batch, ...]: the shape of one input of an estimator or module; without one
             nothing is compared

    Raises ModelError, which names the node that cannot be compiled and what to change, or a result
    that is not the model's.
    """
    if isinstance(model, Graph):
        return model
    graph, original = _imported(model, sample)
    if sample is not None:
        rows = encrypted_rows(graph, sample)
        graph = graph if rows is None else without_masks(graph, rows)
        prove(graph, original, sample)
    return graph


def _imported(model: Any, sample: Any) -> tuple[Graph, Original]:
    if isinstance(model, str | Path | bytes) or type(model).__name__ == "ModelProto":
        from cloakwork.compiler.importing.walking import from_onnx

        return from_onnx(model)
    package = type(model).__module__.partition(".")[0]
    booster = type(model).__name__ == "Booster" and package in ("lightgbm", "xgboost")
    if booster or (hasattr(model, "fit") and hasattr(model, "get_params")):
        from cloakwork.compiler.importing.estimators import from_estimator

        return from_estimator(model, sample)
    # Programs of torch.export have a signature, and make a module when they are asked.
    if hasattr(model, "state_dict") and (
        hasattr(model, "forward") or hasattr(model, "graph_signature")
    ):
        from cloakwork.compiler.importing.modules import from_module

        return from_module(model, sample)
    raise ModelError(
        f"expected an ONNX file, a fitted estimator of scikit-learn, XGBoost or LightGBM, or a "
        f"torch module, found {package}.{type(model).__qualname__}"
    )
