"""Modules as torch's exporter writes them, with their results: for tests without torch.

    python -m venv peers && peers/bin/pip install torch onnxscript
    peers/bin/python -m scripts.vectors.torch_modules

`cloakwork` is importable there, whose importer asks torch for what is written.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import torch
from cloakwork.compiler.importing.modules import Module
from torch import nn

from scripts.vectors.files import made_by, write_file

_ROWS, _SEED = 6, 1


class Last(nn.Module):  # type: ignore[misc]
    """A layer of the last state of a recurrent one."""

    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.first = kind(3, 4, batch_first=True, **options)
        self.last = nn.Linear(4 * (1 + options.get("bidirectional", False)), 2)

    def forward(self, x: Any) -> Any:
        """The states [batch, 3, 4] of x [batch, 3, 3]."""
        return self.last(self.first(x)[0][:, -1])


class Words(nn.Module):  # type: ignore[misc]
    """A bag of embedded words."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.last = nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        """Of words [batch, 3]."""
        return self.last(self.table(x).mean(1))


class Causal(nn.Module):  # type: ignore[misc]
    """Attention of two heads to what comes before."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 12)

    def forward(self, x: Any) -> Any:
        """Of tokens [batch, 3, 4]."""
        q, k, v = self.first(x).view(-1, 3, 3, 2, 2).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return found.transpose(1, 2).flatten(2).mean(1)


class Two(nn.Module):  # type: ignore[misc]
    """Two inputs by name, and two results by name."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(3, 2), nn.Linear(4, 2)

    def forward(self, left: Any, right: Any) -> Any:
        """Of [batch, 3] and [batch, 4]."""
        return {"sum": self.left(left) + self.right(right), "own": torch.tanh(self.left(left))}


def _modules() -> Iterator[tuple[str, Any, dict[str, tuple[int, ...]]]]:
    """Names, modules, and the shapes of their inputs."""
    one: dict[str, tuple[int, ...]] = {"input": (3, 3)}
    layers = [nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.SiLU(), nn.AvgPool2d(2)]
    yield (
        "convolution",
        nn.Sequential(*layers, nn.Flatten(), nn.Linear(12, 2)),
        {"input": (1, 4, 4)},
    )
    yield "lstm", Last(nn.LSTM, bidirectional=True), one
    yield "gru", Last(nn.GRU), one
    yield "rnn", Last(nn.RNN), one
    yield "words", Words(), {"input": (3,)}
    yield "causal attention", Causal(), {"input": (3, 4)}
    for heads in (1, 2):
        encoder = nn.TransformerEncoderLayer(4, heads, 4, batch_first=True)
        yield f"transformer encoder, heads {heads}", encoder, {"input": (2, 4)}
    yield "two inputs", Two(), {"left": (3,), "right": (4,)}


def write() -> None:
    """Write the file."""
    draw, cases = np.random.default_rng(_SEED), []
    for name, module, shapes in _modules():
        torch.manual_seed(_SEED)
        for weight in module.parameters():
            nn.init.uniform_(weight, -0.6, 0.6)
        rows: dict[str, Any] = {
            key: draw.integers(0, 10, (_ROWS, *shape))
            if name == "words"
            else draw.uniform(-1, 1, (_ROWS, *shape)).astype(np.float32)
            for key, shape in shapes.items()
        }
        own, named = Module(name, torch, module), len(rows) > 1
        contents = own.as_onnx({key: values[:1] for key, values in rows.items()}, named=named)
        results = [own.results({key: values[place : place + 1] for key, values in rows.items()})
                   for place in range(_ROWS)]  # fmt: skip
        found = [np.concatenate([row[place]["the module"] for row in results])
                 for place in range(len(results[0]))]  # fmt: skip
        cases.append({
            "name": name,
            "model": b64encode(_bare(contents)).decode(),
            "inputs": {key: values.tolist() for key, values in rows.items()},
            "results": [values.tolist() for values in found],
        })  # fmt: skip
    provenance = {
        "source": "modules of PyTorch with random weights, as torch.onnx.export writes them",
        "url": "https://docs.pytorch.org/docs/stable/onnx.html",
        "generated_by": made_by("torch_modules.py", "torch", "onnxscript"),
    }
    write_file("torch_modules.json", provenance, {"cases": cases})


def _bare(contents: bytes) -> bytes:
    """Without what exporters note of the source files."""
    model = onnx.load_model_from_string(contents)
    model.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    model.graph.ClearField("value_info")
    parts = [*model.graph.node, *model.graph.initializer, *model.graph.input, *model.graph.output]
    for part in parts:
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    return bytes(model.SerializeToString())


if __name__ == "__main__":
    write()
