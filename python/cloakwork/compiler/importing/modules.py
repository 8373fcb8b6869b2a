"""Modules of torch, by its ONNX exporter."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np

from cloakwork.compiler.graph import Graph
from cloakwork.compiler.importing.walking import from_onnx
from cloakwork.errors import ModelError

_OPSET = 17


def from_module(module: Any, sample: Any) -> Graph:
    """The graph of a module in evaluation mode; a sample [batch, ...] tells its input's shape."""
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
    return from_onnx(held.getvalue())
