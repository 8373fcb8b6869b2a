"""A two-layer perceptron with a square activation, plain and encrypted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloakwork import files
from cloakwork.errors import LoadError, ModelError
from cloakwork.fhe import CkksCiphertext

if TYPE_CHECKING:
    import onnx

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SquareMlp:
    """logits = output_weight (hidden_weight x + hidden_bias)^2 + output_bias.

    Shapes   hidden_weight [H, D], hidden_bias [H], output_weight [C, H], output_bias [C]
    """

    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    output_bias: Floats

    # The levels that `encrypted` uses: one per layer, one for the square.
    levels = 3

    @classmethod
    def from_onnx(cls, path: Path) -> SquareMlp:
        """Read Gemm, Mul of its result with itself, Gemm; ModelError for any other graph."""
        try:
            import onnx
            from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
        except ImportError as error:
            raise ModelError(
                "reading a model needs the onnx package: pip install 'cloakwork[models]'"
            ) from error
        try:
            graph = onnx.load_model_from_string(files.read(path)).graph
        except (OSError, LoadError, DecodeError) as error:
            raise ModelError(f"{path}: not a readable ONNX file: {error}") from error
        kinds = [node.op_type for node in graph.node]
        if kinds != ["Gemm", "Mul", "Gemm"]:
            raise ModelError(f"{path}: expected the nodes Gemm, Mul, Gemm, found {kinds}")
        hidden, square, output = graph.node
        joined = [*hidden.output, *hidden.output] == list(square.input)
        if not joined or output.input[0] != square.output[0]:
            raise ModelError(f"{path}: expected Mul to square the first Gemm, and feed the second")
        tensors = {t.name: _array(path, t) for t in graph.initializer}
        first, second = _gemm(path, hidden, tensors), _gemm(path, output, tensors)
        if second[0].shape[1] != first[0].shape[0]:
            raise ModelError(
                f"{path}: the first Gemm gives {first[0].shape[0]} values and the second takes "
                f"{second[0].shape[1]}"
            )
        return cls(*first, *second)

    def plain(self, images: Floats) -> Floats:
        """Logits [n, C] of images [n, D] in float64."""
        hidden = images @ self.hidden_weight.T + self.hidden_bias
        return np.asarray((hidden * hidden) @ self.output_weight.T + self.output_bias)

    def encrypted(self, features: CkksCiphertext) -> CkksCiphertext:
        """Logits, a batch of C, of a batch of D features: one ciphertext per feature.

        Slot j of every ciphertext belongs to image j, so the layers need no rotations, and a full
        batch of N / 2 images costs the same as one.  Three levels are used up.
        """
        hidden = features.weighted_sums(self.hidden_weight).rescale()
        squared = hidden.add_constants(self.hidden_bias).square().rescale()
        logits = squared.weighted_sums(self.output_weight).rescale()
        return logits.add_constants(self.output_bias)


def _array(path: Path, tensor: onnx.TensorProto) -> NDArray[np.generic]:
    """A stored tensor, whose bytes must match its type and shape."""
    import onnx

    place = f"{path}: tensor {tensor.name!r}"
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ModelError(f"{place}: expected its numbers in the file, found them in another")
    if any(length < 0 for length in tensor.dims):
        raise ModelError(f"{place}: expected lengths of 0 or more, found {list(tensor.dims)}")
    try:
        array = np.asarray(onnx.numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise ModelError(
            f"{place}: expected numbers for the shape {list(tensor.dims)}: {error}"
        ) from error
    if array.dtype.kind not in "fiu":
        raise ModelError(f"{place}: expected real numbers, found {array.dtype}")
    if not np.isfinite(array).all():
        raise ModelError(f"{place}: expected finite numbers")
    return array


def _gemm(
    path: Path, node: onnx.NodeProto, tensors: dict[str, NDArray[np.generic]]
) -> tuple[Floats, Floats]:
    """Weight [out, in] and bias [out] of a Gemm that computes x @ weight.T + bias."""
    import onnx

    try:
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    except ValueError as error:
        raise ModelError(f"{path}: Gemm {node.name!r}: {error}") from error
    attributes = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0} | given
    if attributes != {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 1}:
        raise ModelError(
            f"{path}: Gemm {node.name!r}: expected alpha = beta = transB = 1 and "
            f"transA = 0, found {attributes}"
        )
    missing = [name for name in node.input[1:] if name not in tensors]
    if missing or len(node.input) != 3:
        raise ModelError(
            f"{path}: Gemm {node.name!r}: expected a stored weight and bias, found "
            f"the inputs {list(node.input)}"
        )
    weight, bias = (tensors[name].astype(np.float64) for name in node.input[1:])
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        raise ModelError(
            f"{path}: Gemm {node.name!r}: weight {weight.shape} and bias {bias.shape} do not fit"
        )
    return weight, bias
