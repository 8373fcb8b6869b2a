"""The ONNX files that come with the package."""

from __future__ import annotations

from pathlib import Path

from cloakwork.errors import ModelError
from cloakwork.models.stored import DATA

NETWORKS = (
    "cancer", "digits_cnn", "digits_mlp", "digits_square", "fashion_cnn", "fashion_mlp", "resnet20",
    "sentiment",
)  # fmt: skip


def network_path(name: str) -> Path:
    """The ONNX file of one of `NETWORKS`; ModelError for another name."""
    if name not in NETWORKS:
        raise ModelError(f"network {name!r}: expected one of {', '.join(NETWORKS)}")
    return DATA / f"{name}.onnx"
