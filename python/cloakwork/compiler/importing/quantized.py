"""Quantised numbers: scales and zero points of the model, checked; the client alone rounds.

At the beginning of a model the client rounds plain values before encryption, and at its end what it
decrypts: both as ONNX defines it.  What turns whole numbers into others is an affine map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.client_tail import rounded
from cloakwork.compiler.importing.activations import scaled
from cloakwork.compiler.importing.reading import FLOAT_TYPES, onnx_module
from cloakwork.compiler.importing.values import (
    HANDLERS,
    Call,
    Known,
    Later,
    Secret,
    handles,
)

__all__ = ["HINTS", "Scales", "at_the_end", "of_client", "quantized_constant"]

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
# The whole numbers of types that are no floats.
_RANGES = {
    "int2": (-2, 1), "int4": (-8, 7), "int8": (-(2**7), 2**7 - 1), "int16": (-(2**15), 2**15 - 1),
    "uint2": (0, 3), "uint4": (0, 15), "uint8": (0, 2**8 - 1), "uint16": (0, 2**16 - 1),
}  # fmt: skip
# The first opsets with scales along an axis, and with blocks of them.
_SINCE_AXIS = 13
_FLOAT = 1
_STATIC = "quantise with constant scales: onnxruntime.quantization.quantize_static"
# Instead of nodes that round between encrypted values.
_UNROUNDED = (
    "the client rounds at inputs and outputs alone: quantise these and the weights, or give the "
    "model as it was before quantisation"
)
HINTS = {
    "DynamicQuantizeLinear": _STATIC,
    QUANTIZE: _UNROUNDED,
}


def edges_of(kind: str) -> tuple[int, int]:
    """The least and the largest number of a type."""
    return _RANGES[kind]


@dataclass(frozen=True)
class Scales:
    """The scales and zero points of a node, finite float64.

    One each, some along an axis, or where `block` is above 0 one for as many places of the axis.
    """

    scale: NDArray[np.float64]
    zero: NDArray[np.float64]
    axis: int
    block: int
    kind: str

    @property
    def edges(self) -> tuple[int, int]:
        """The least and the largest whole number."""
        return edges_of(self.kind)

    def along(self, shape: Sequence[int]) -> list[NDArray[np.float64]]:
        """Both, so that they broadcast to a shape."""
        return [along(own, shape, self.axis, self.block) for own in (self.scale, self.zero)]

    def parameters(self) -> dict[str, Any]:
        """Of a step of the client that multiplies."""
        scale, zero = self.scale.ravel().tolist(), self.zero.ravel().tolist()
        return {"scale": scale, "zero": zero, "axis": self.axis}

    def rounding(self) -> dict[str, Any]:
        """Of a step of the client that rounds."""
        low, high = self.edges
        return {**self.parameters(), "low": low, "high": high}


def check_scales(call: Call) -> None:
    """ModelError for scales and zero points that no quantisation has, constant inputs included."""
    scale = _numbers(call, 1, "scales")
    least = "of 0 or more" if call.kind == DEQUANTIZE else "above 0"
    right = (scale >= 0 if call.kind == DEQUANTIZE else scale > 0) & np.isfinite(scale)
    if not right.all():
        hint = "quantise the model again, with data that reaches every channel"
        raise call.wrong(f"finite scales {least}", float(scale[~right][0]), hint)
    blocks = int(call.attribute("block_size", 0))
    if blocks < 0:
        raise call.wrong("a block_size of 0 or more", blocks)
    if call.version < _SINCE_AXIS and scale.size != 1:
        raise call.wrong(
            "one scale in opset 10", list(scale.shape), "export with opset 13 or newer"
        )
    if scale.size > 1 and scale.ndim > 1 and not blocks:
        raise call.wrong("scales [n] along an axis", list(scale.shape), "state a block_size")
    _check_zero(call, scale)
    if call.kind == QUANTIZE:
        _check_rounding(call)
    elif call.attribute("output_dtype", 0) not in (0, *FLOAT_TYPES):
        raise call.wrong("floats", f"output_dtype {call.attribute('output_dtype', 0)}")


def _check_zero(call: Call, scale: NDArray[np.float64]) -> None:
    if not call.has(2):
        return
    zero, kind = _numbers(call, 2, "zero points"), call.constant(2).dtype.name
    if zero.size != scale.size or (zero.size > 1 and zero.shape != scale.shape):
        raise call.wrong(
            "a zero point for each scale", f"{list(zero.shape)} and {list(scale.shape)}"
        )
    x = call.value(0)
    if call.kind == DEQUANTIZE and isinstance(x, Known) and x.array.dtype.name != kind:
        raise call.wrong(f"a zero point of type {x.array.dtype.name}", kind)
    if kind == "int32":
        if zero.any() or call.kind == QUANTIZE:
            hint = "give biases without one, and others in 2 to 16 bits"
            found = call.constant(2).ravel()[:1].tolist()
            raise call.wrong("no zero point of 32 bits but 0", found, hint)
        return
    if kind not in _RANGES:
        hint = "quantise to whole numbers, such as uint8"
        raise call.wrong("zero points that are whole numbers of 2 to 16 bits", kind, hint)


def _check_rounding(call: Call) -> None:
    precision = int(call.attribute("precision", 0))
    if precision not in (0, _FLOAT):
        raise call.wrong("a precision of float32", f"type {precision}", "leave it out")
    kind = call.constant(1).dtype.name
    if kind not in ("float32", "float64"):
        raise call.wrong("scales in float32", kind, "export the model with float32")
    _kind_of(call)


def _kind_of(call: Call) -> str:
    """The name of the type of whole numbers that a node gives or reads."""
    stated = int(call.attribute("output_dtype", 0)) if call.kind == QUANTIZE else 0
    own = call.constant(2).dtype.name if call.has(2) else ""
    onnx = onnx_module()
    kinds = {int(number): name.lower() for name, number in onnx.TensorProto.DataType.items()}
    found = kinds.get(stated, str(stated)) if stated else own or "uint8"
    if own and found != own:
        raise call.wrong(f"an output_dtype of the zero point, {own}", found, "leave it out")
    if call.kind == QUANTIZE and found not in _RANGES:
        hint = "quantise to whole numbers, such as uint8"
        raise call.wrong("whole numbers of 2 to 16 bits", found, hint)
    return found


def _numbers(call: Call, index: int, what: str) -> NDArray[np.float64]:
    """A constant as float64; types of few bits have no kind of NumPy's."""
    found = call.value(index)
    if not isinstance(found, Known):
        raise call.wrong(f"constant {what}", "some that depend on the inputs", _STATIC)
    if found.array.size == 0:
        raise call.wrong(f"one of the {what} or more", "none")
    if found.array.dtype.kind in "OUScb":
        raise call.wrong(f"{what} that are real numbers", found.array.dtype)
    return found.array.astype(np.float64)


def scales_of(call: Call, shape: Sequence[int] | None, batch: int | None = None) -> Scales:
    """The scales for a value of a shape, where that is known, with its batch axis at a place."""
    check_scales(call)
    scale = _numbers(call, 1, "scales")
    zero = _numbers(call, 2, "zero points") if call.has(2) else np.zeros(scale.shape)
    axis, block = int(call.attribute("axis", 1)), int(call.attribute("block_size", 0))
    if scale.size > 1:
        axis = _axis(call, axis, shape, batch)
        _check_lengths(call, scale.shape, shape, axis, block)
    return Scales(scale, zero, axis, block if scale.size > 1 else 0, _kind_of(call))


def _axis(call: Call, given: int, shape: Sequence[int] | None, batch: int | None) -> int:
    if shape is None:
        if given < 1:
            raise call.wrong("an axis of one input, from 1 on", given)
        return given
    axis = call.any_axis(given, len(shape))
    if axis == batch:
        raise call.wrong("an axis of one input", f"the batch axis {axis}", "take one scale")
    return axis


def _check_lengths(
    call: Call, found: Sequence[int], shape: Sequence[int] | None, axis: int, block: int
) -> None:
    if block and shape is not None:
        wanted = [*shape]
        wanted[axis] = -(-wanted[axis] // block)
        if list(found) != wanted:
            raise call.wrong(f"scales {wanted} of blocks of {block}", list(found))
    elif shape is not None and found[0] != shape[axis]:
        raise call.wrong(f"{shape[axis]} scales, one for each place along axis {axis}", found[0])


def _without_blocks(call: Call, own: Scales) -> Scales:
    if own.block:
        hint = "quantise inputs and outputs with one scale, or one for each channel"
        raise call.wrong("scales without blocks", f"block_size {own.block}", hint)
    return own


def of_client(call: Call, x: Secret | Later) -> Scales:
    """The scales of a step of the client."""
    place = (x.shape, x.batch) if isinstance(x, Secret) else (None, None)
    return _without_blocks(call, scales_of(call, *place))


@handles(DEQUANTIZE)
def dequantized(call: Call) -> Secret:
    """(x - zero) scale."""
    check_scales(call)
    x = call.encrypted(0, merged=True)
    wide = scales_of(call, x.shape, x.batch).along(x.shape)
    scale, zero = (own if x.batch is None else own.squeeze(x.batch) for own in wide)
    return scaled(call, x, scale, -zero * scale)


def quantized_constant(call: Call) -> Known | None:
    """The result of a node on constants; None for other nodes."""
    if call.kind not in (DEQUANTIZE, QUANTIZE):
        return None
    own, x = scales_of(call, getattr(call.value(0), "shape", ())), call.constant(0)
    scale, zero = own.along(x.shape)
    if call.kind == QUANTIZE:
        return Known(_rounded(call, x, own, (scale, zero)))
    if x.dtype.kind in "OUScbf":
        raise call.wrong("whole numbers", x.dtype.name, "quantise them first")
    # In float64, as the proof has it: next to ties, roundings of float32 would choose sides.
    return Known((x.astype(np.float64) - zero) * scale)


def _rounded(call: Call, x: NDArray[Any], own: Scales, at: tuple[Any, Any]) -> NDArray[Any]:
    if x.dtype.kind in "OUScb":
        raise call.wrong("real numbers to quantise", x.dtype.name)
    exact = x.astype(np.float64)
    if not np.isfinite(exact).all():
        raise call.wrong("finite numbers to quantise", "NaN or infinity")
    kind = onnx_module().TensorProto.DataType.Value(own.kind.upper())
    return rounded(exact, *at, own.edges).astype(_numpy_type(kind))


def _numpy_type(kind: int) -> Any:
    return onnx_module().helper.tensor_dtype_to_np_dtype(kind)


def along(numbers: NDArray[Any], shape: Sequence[int], axis: int, block: int = 0) -> Any:
    """One number, some [n] along an axis, or one for each block of it, to broadcast to a shape."""
    own = numbers.astype(np.float64)
    if own.size == 1:
        return own.reshape([1] * len(shape))
    if block:
        return np.take(own, np.arange(shape[axis]) // block, axis)
    place = axis % max(len(shape), 1)
    return own.reshape([-1 if other == place else 1 for other, _ in enumerate(shape)])


def at_the_end(call: Call, x: Secret | Later) -> Later:
    """The client's values: decrypted ones, and those computed from them."""
    own = of_client(call, x)
    if call.kind == DEQUANTIZE:
        return call.state.step("dequantized", [x], **own.parameters())
    return call.state.step("quantized", [x], **own.rounding())


@handles("ConvInteger", "MatMulInteger")
def of_integers(call: Call) -> Secret:
    """Of whole numbers less their zero points, one operand encrypted."""
    values = [_less_zero(call, index) for index in (0, 1)]
    kind = call.kind.removesuffix("Integer")
    found = HANDLERS["", kind](replace(call, kind=kind, inputs=values))
    assert isinstance(found, Secret)
    return found


def _less_zero(call: Call, index: int) -> Secret | Known:
    value = call.value(index)
    zero = _numbers(call, index + 2, "zero points") if call.has(index + 2) else np.zeros(())
    if zero.size > 1:
        # Of the rows of the first operand, the columns of the second, or filters.
        zero = _spread_zero(call, index, zero)
    if isinstance(value, Secret):
        return scaled(call, value, 1.0, -zero) if zero.any() else value
    return Known(call.weights(index) - zero)


def _spread_zero(call: Call, index: int, zero: NDArray[np.float64]) -> NDArray[np.float64]:
    value = call.value(index)
    shape = getattr(value, "shape", ())
    if index == 0 or zero.ndim != 1 or isinstance(value, Secret):
        raise call.wrong("one zero point of this operand", list(zero.shape), "take one for all")
    place = 0 if call.kind == "ConvInteger" else len(shape) - 1
    if zero.size != shape[place]:
        raise call.wrong(f"{shape[place]} zero points", zero.size)
    return zero.reshape([-1 if axis == place else 1 for axis, _ in enumerate(shape)])
