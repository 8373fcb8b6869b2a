"""Models of other libraries as graphs: ONNX, scikit-learn through skl2onnx, torch through ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.proving import Original, prove
from cloakwork.errors import ModelError


def from_model(model: str | Path | bytes | Any, sample: Any = None) -> Graph:
    """The graph of a model, which is compared with the model on values of the sample and near it.

    model    the path or bytes of an ONNX file, an onnx.ModelProto, a fitted estimator of
             scikit-learn, a torch.nn.Module, or a Graph, which is returned unchanged
    sample   inputs [batch, ...]: the shape of one input of an estimator or module; without one
             nothing is compared

    Raises ModelError, which names the node that cannot be compiled and what to change, or a result
    that is not the model's.
    """
    if isinstance(model, Graph):
        return model
    graph, original = _imported(model, sample)
    if sample is not None:
        prove(graph, original, sample)
    return graph


def _imported(model: Any, sample: Any) -> tuple[Graph, Original]:
    if isinstance(model, str | Path | bytes) or type(model).__name__ == "ModelProto":
        from cloakwork.compiler.importing.walking import from_onnx

        return from_onnx(model)
    package = type(model).__module__.partition(".")[0]
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        from cloakwork.compiler.importing.estimators import from_estimator

        return from_estimator(model, sample)
    if hasattr(model, "state_dict") and hasattr(model, "forward"):
        from cloakwork.compiler.importing.modules import from_module

        return from_module(model, sample)
    raise ModelError(
        f"expected an ONNX file, a fitted estimator of scikit-learn or a torch module, found "
        f"{package}.{type(model).__qualname__}"
    )
