"""Modules of torch, by its ONNX exporter."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.proving import Original, Rows, with_batch
from cloakwork.compiler.importing.walking import from_onnx
from cloakwork.errors import ModelError

_OPSET = 17


_ADVICE = (
    "the exporter records one way through the module: take torch.where instead of conditions on "
    "values, and no random numbers"
)


def from_module(module: Any, sample: Any) -> tuple[Graph, Original]:
    """The graph of a module in evaluation mode, and the module.

    A sample [batch, ...] tells its input's shape.
    """
    name = type(module).__name__
    try:
        import torch
    except ImportError as error:
        raise ModelError(
            f"{name}: exporting a torch module needs torch: pip install torch"
        ) from error
    if sample is None:
        raise ModelError(f"{name}: expected a sample [batch, ...], which tells the input's shape")
    example = torch.from_numpy(np.asarray(sample, dtype=np.float32)[:1].copy())
    held = BytesIO()
    training = module.training
    module.eval()
    try:
        torch.onnx.export(
            module, (example,), held, opset_version=_OPSET, input_names=["input"],
            output_names=["output"], dynamo=False,
        )  # fmt: skip
    except Exception as error:  # torch raises many classes for what it cannot export
        raise ModelError(f"{name}: torch cannot export it to ONNX: {error}") from error
    finally:
        module.train(training)
    graph, _ = from_onnx(held.getvalue())
    return graph, Original(name, lambda rows: _results(torch, module, rows), True, _ADVICE)


def _results(torch: Any, module: Any, rows: Rows) -> list[Mapping[str, Any]]:
    """What the module gives for one row, in evaluation mode."""
    (values,) = rows.values()
    training = module.training
    module.eval()
    try:
        with torch.no_grad():
            found = module(torch.from_numpy(values.astype(np.float32)))
    finally:
        module.train(training)
    return [{"the module": with_batch(each.detach())} for each in _flat(found)]


def _flat(found: Any) -> list[Any]:
    """The tensors of a result, in the exporter's order."""
    if isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, tuple | list):
        return [each for part in found for each in _flat(part)]
    return [found]
