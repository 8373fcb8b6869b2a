"""Matrices, convolutions, pools, normalisations and sums: all are Affine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.building import identity
from cloakwork.compiler.importing.activations import multiplied, scaled, together
from cloakwork.compiler.importing.values import Call, Known, Secret, handles
from cloakwork.compiler.nodes import Geometry

Floats = NDArray[np.float64]


@handles("Add", "Sub")
def add(call: Call) -> Secret:
    """Of encrypted values, or with a constant."""
    sign = 1.0 if call.kind == "Add" else -1.0
    a, b = together(call)
    if isinstance(a, Secret) and isinstance(b, Secret):
        size = call.builder.size(a.name)
        return call.affine([(a.name, identity(size)), (b.name, identity(size, sign))], 0.0,
                           a.shape[1:])  # fmt: skip
    if isinstance(a, Secret):
        assert isinstance(b, Known)
        return scaled(call, a, 1.0, sign * b.array)
    assert isinstance(b, Secret)
    return scaled(call, b, sign, a.array)


@handles("Neg")
def neg(call: Call) -> Secret:
    """-x."""
    return scaled(call, call.secret(0), -1.0)


@handles("Sum", "Mean")
def total(call: Call) -> Secret:
    """Of values of one shape."""
    values = call.secrets()
    if len({value.shape for value in values}) != 1:
        raise call.wrong("operands of one shape", [value.shape for value in values])
    weight = 1.0 if call.kind == "Sum" else 1.0 / len(values)
    size = call.builder.size(values[0].name)
    terms = [(value.name, identity(size, weight)) for value in values]
    return call.affine(terms, 0.0, values[0].shape[1:])


@handles("Gemm")
def gemm(call: Call) -> Secret:
    """Alpha A B + beta C, A encrypted [batch, k] and B, C constant."""
    a = call.secret(0)
    if call.attribute("transA", 0) or len(a.shape) != 2:
        raise call.wrong("an encrypted matrix [batch, n] that is not transposed", list(a.shape))
    b = call.weights(1)
    weights = b.T if call.attribute("transB", 0) else b
    if b.ndim != 2 or weights.shape[0] != a.shape[1]:
        raise call.wrong(f"weights of {a.shape[1]} rows", list(weights.shape))
    bias = np.zeros(weights.shape[1])
    if call.has(2):
        given = call.weights(2)
        if given.size not in (1, weights.shape[1]) or given.shape[:-1] not in ((), (1,)):
            raise call.wrong(f"a bias of {weights.shape[1]}", list(given.shape))
        bias = bias + call.attribute("beta", 1.0) * given.ravel()
    matrix = sparse.csr_array(call.attribute("alpha", 1.0) * weights.T)
    return call.affine([(a.name, matrix)], bias, (weights.shape[1],))


@handles("MatMul")
def matmul(call: Call) -> Secret:
    """With a constant on either side, or of two encrypted values."""
    a, b = call.value(0), call.value(1)
    if isinstance(a, Secret) and isinstance(b, Secret):
        return _encrypted_matmul(call, a, b)
    x, index = (a, 1) if isinstance(a, Secret) else (b, 0)
    assert isinstance(x, Secret)
    weights = call.weights(index)
    if weights.ndim == 1:
        return _vector_matmul(call, x, weights, index)
    if weights.ndim != 2 or len(x.shape) < 2:
        raise call.wrong("a constant matrix [n, m] or vector [n]", list(weights.shape))
    whole = call.indices(x)
    if index == 1:
        if len(x.shape) < 2 or x.shape[-1] != weights.shape[0]:
            raise call.wrong(f"{x.shape[-1]} rows", list(weights.shape))
        rows = whole.reshape(-1, x.shape[-1])
        shape = (*x.shape[1:-1], weights.shape[1])
        matrix = _rows_times(call, rows, weights)
        return call.affine([(x.name, matrix)], 0.0, shape)
    if len(x.shape) < 3 or x.shape[-2] != weights.shape[1]:
        raise call.wrong(f"a constant of {x.shape[-2]} columns", list(weights.shape))
    columns = np.moveaxis(whole, -2, -1)
    matrix = _rows_times(call, columns.reshape(-1, x.shape[-2]), weights.T)
    moved = np.arange(matrix.shape[0]).reshape(*columns.shape[1:-1], weights.shape[0])
    order = np.moveaxis(moved, -1, -2).ravel()
    shape = (*x.shape[1:-2], weights.shape[0], x.shape[-1])
    return call.affine([(x.name, matrix[order])], 0.0, shape)


def _vector_matmul(call: Call, x: Secret, weights: Floats, index: int) -> Secret:
    """[..., n] by a vector [n], or a vector [m] by [..., m, n]: sums over one axis."""
    axis = len(x.shape) - 1 if index == 1 else len(x.shape) - 2
    if axis < 1 or x.shape[axis] != weights.size:
        lengths = list(x.shape[axis : axis + 1]) if axis >= 1 else "a value of two axes"
        raise call.wrong(f"a constant vector {lengths}", list(weights.shape))
    rows = np.moveaxis(call.indices(x), axis, -1)
    matrix = _rows_times(call, rows.reshape(-1, weights.size), weights[:, None])
    return call.affine([(x.name, matrix)], 0.0, rows.shape[1:-1])


def _rows_times(call: Call, rows: NDArray[np.int64], weights: Floats) -> Any:
    """The matrix that takes each row of elements [r, n] times weights [n, m]."""
    count, width = rows.shape
    call.check_weights(count * weights.size)
    outputs = np.arange(count * weights.shape[1]).reshape(count, 1, -1)
    shape = (count, width, weights.shape[1])
    data = np.broadcast_to(weights, shape)
    columns = np.broadcast_to(rows[:, :, None], shape)
    places = np.broadcast_to(outputs, shape)
    entries = (data.ravel(), (places.ravel(), columns.ravel()))
    return sparse.csr_array(sparse.coo_array(entries, shape=(outputs.size, rows.size)))


def _encrypted_matmul(call: Call, a: Secret, b: Secret) -> Secret:
    """[.., m, k] by [.., k, n]: all products, then sums."""
    if len(a.shape) < 3 or len(b.shape) < 3 or a.shape[-1] != b.shape[-2]:
        raise call.wrong("shapes [batch, m, k] and [batch, k, n]", (a.shape, b.shape))
    left, right = call.indices(a)[..., :, None, :], np.moveaxis(call.indices(b), -1, -2)
    right = right[..., None, :, :]
    try:
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        raise call.wrong("shapes that broadcast", (a.shape, b.shape)) from None
    call.check_weights(int(np.prod([float(n) for n in shape])))
    products = multiplied(
        call,
        call.selected(a, np.broadcast_to(left, shape)),
        call.selected(b, np.broadcast_to(right, shape)),
    )
    return summed(call, products, (len(shape) - 1,), keep=False)


@handles("ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL2")
def reduce(call: Call) -> Secret:
    """Over axes after the batch."""
    x = call.secret(0)
    rank = len(x.shape)
    given = call.setting("axes", 1)
    if given is None or not np.size(given):
        raise call.wrong("axes after the batch", "all axes", "name them")
    axes = tuple(call.axis(int(axis), rank) for axis in np.atleast_1d(given))
    keep = bool(call.attribute("keepdims", 1))
    count = int(np.prod([x.shape[axis] for axis in axes]))
    if call.kind in ("ReduceSumSquare", "ReduceL2"):
        x = multiplied(call, x, x)
    found = summed(call, x, axes, keep, 1.0 / count if call.kind == "ReduceMean" else 1.0)
    if call.kind == "ReduceL2":
        return Secret(call.builder.function(found.name, "sqrt"), found.shape)
    return found


def summed(call: Call, x: Secret, axes: Sequence[int], keep: bool, weight: float = 1.0) -> Secret:
    """Weighted sums over axes."""
    whole = call.indices(x)
    moved = np.moveaxis(whole, axes, range(-len(axes), 0))
    rows = moved.reshape(-1, int(np.prod([x.shape[axis] for axis in axes])))
    matrix = _rows_times(call, rows, np.full((rows.shape[1], 1), weight))
    shape = whole.sum(axis=tuple(axes), keepdims=keep).shape
    return call.affine([(x.name, matrix)], 0.0, shape[1:])


@handles("BatchNormalization")
def batch_normalization(call: Call) -> Secret:
    """With the statistics of training."""
    x = call.secret(0)
    if not call.attribute("spatial", 1):
        raise call.wrong("statistics of channels", "spatial=0", "export with opset 9 or newer")
    if call.attribute("training_mode", 0):
        raise call.wrong("a model for inference", "training_mode=1", "export with model.eval()")
    if call.outputs > 1:
        raise call.wrong("one output", "statistics of the batch as well", "export for inference")
    scale, shift, mean, variance = (call.weights(index) for index in range(1, 5))
    if len(x.shape) < 2 or scale.shape != (x.shape[1],):
        raise call.wrong(f"statistics of {x.shape[1:2]} channels", list(scale.shape))
    if (variance + call.attribute("epsilon", 1e-5) <= 0).any():
        raise call.wrong("variances above 0", float(variance.min()))
    factor = scale / np.sqrt(variance + call.attribute("epsilon", 1e-5))
    spread = (slice(None), *[None] * (len(x.shape) - 2))
    return scaled(call, x, factor[spread], (shift - mean * factor)[spread])


class Window:
    """The places that a convolution or pool reads, as flat indices of its operand, -1 outside."""

    def __init__(self, call: Call, x: Secret, kernel: Sequence[int]) -> None:
        if len(x.shape) not in (3, 4) or len(kernel) != len(x.shape) - 2:
            raise call.wrong("[batch, channels, (height,) width]", list(x.shape))
        flat = len(x.shape) == 3
        self.call, self.channels = call, x.shape[1]
        sides = (1, x.shape[2]) if flat else (x.shape[2], x.shape[3])
        self.kernel = _pair(kernel, flat, 1)
        for name in ("kernel_shape", "strides", "dilations"):
            given = list(call.attribute(name, kernel))
            if len(given) != len(kernel) or (name == "kernel_shape" and given != list(kernel)):
                raise call.wrong(f"a {name} for the kernel {list(kernel)}", given)
        self.strides = _pair(call.attribute("strides", [1] * len(kernel)), flat, 1)
        self.dilations = _pair(call.attribute("dilations", [1] * len(kernel)), flat, 1)
        if min(*self.kernel, *self.strides, *self.dilations) < 1:
            raise call.wrong("kernel, strides and dilations of 1 or more", list(kernel))
        pads = self._pads(sides, flat)
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        more = [0, 0]
        if call.attribute("ceil_mode", 0):
            more = [
                -(side + pads[i] + pads[i + 2] - r) % s
                for i, (side, r, s) in enumerate(zip(sides, reach, self.strides, strict=True))
            ]
        self.padded = [sides[i] + pads[i] + pads[i + 2] + more[i] for i in (0, 1)]
        self.outputs = (
            (self.padded[0] - reach[0]) // self.strides[0] + 1,
            (self.padded[1] - reach[1]) // self.strides[1] + 1,
        )
        if min(self.outputs) < 1:
            raise call.wrong(f"a window within {sides}", f"{self.kernel} with pads {pads}")
        call.check_elements([self.channels, *self.padded])
        self.index = np.full((self.channels, *self.padded), -1, dtype=np.int64)
        inner = np.arange(self.channels * sides[0] * sides[1]).reshape(-1, *sides)
        top, left = pads[0], pads[1]
        self.index[:, top : top + sides[0], left : left + sides[1]] = inner
        # Inside of the stated padding, which averages may count.
        self.counted = np.zeros(self.padded, dtype=bool)
        self.counted[: sides[0] + pads[0] + pads[2], : sides[1] + pads[1] + pads[3]] = True
        self.shape = self.outputs[1:] if flat else self.outputs
        self.geometry = Geometry(
            (self.channels, *sides), (self.channels, *self.outputs), self.kernel, self.strides,
            self.dilations, (pads[0], pads[1], pads[2], pads[3]),
        )  # fmt: skip

    def _pads(self, sides: tuple[int, int], flat: bool) -> list[int]:
        call = self.call
        mode = call.attribute("auto_pad", "NOTSET")
        if mode in ("NOTSET", "VALID"):
            given = list(call.attribute("pads", [])) if mode == "NOTSET" else []
            if not given:
                return [0] * 4
            pads = [0, given[0], 0, given[1]] if flat and len(given) == 2 else given
            if len(pads) != 4 or min(pads) < 0:
                raise call.wrong("pads of 0 or more, two an axis", given)
            return pads
        if mode not in ("SAME_UPPER", "SAME_LOWER"):
            raise call.wrong("auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode)
        found = [0] * 4
        for i, side in enumerate(sides):
            reach = (self.kernel[i] - 1) * self.dilations[i] + 1
            whole = max((-(-side // self.strides[i]) - 1) * self.strides[i] + reach - side, 0)
            small, large = whole // 2, whole - whole // 2
            found[i], found[i + 2] = (small, large) if mode == "SAME_UPPER" else (large, small)
        return found

    def at(self, array: NDArray[Any], row: int, column: int) -> NDArray[Any]:
        """[..., outputs]: what each window has at one place of the kernel."""
        top, left = row * self.dilations[0], column * self.dilations[1]
        return array[
            ...,
            top : top + (self.outputs[0] - 1) * self.strides[0] + 1 : self.strides[0],
            left : left + (self.outputs[1] - 1) * self.strides[1] + 1 : self.strides[1],
        ]

    @property
    def places(self) -> list[tuple[int, int]]:
        """(row, column) of the kernel."""
        return [(row, column) for row in range(self.kernel[0]) for column in range(self.kernel[1])]


def _pair(given: Sequence[int], flat: bool, fill: int) -> tuple[int, int]:
    values = [int(n) for n in given]
    return (fill, values[0]) if flat else (values[0], values[1])


@handles("Conv")
def conv(call: Call) -> Secret:
    """With strides, pads, groups and dilations, in one or two dimensions."""
    x, weights = call.secret(0), call.weights(1)
    window = Window(call, x, weights.shape[2:])
    groups, filters = int(call.attribute("group", 1)), weights.shape[0]
    if groups < 1 or filters % groups or weights.shape[1] * groups != window.channels:
        raise call.wrong(
            f"weights [filters, {window.channels} / groups, ...]", f"{weights.shape}, {groups}"
        )
    kernel = weights.reshape(filters, weights.shape[1], *window.kernel)
    pixels = window.outputs[0] * window.outputs[1]
    call.check_weights(weights.size * pixels)
    matrix = _conv_matrix(window, kernel, groups)
    bias = np.zeros(filters)
    if call.has(2):
        bias = call.weights(2)
        if bias.shape != (filters,):
            raise call.wrong(f"a bias of {filters}", list(bias.shape))
    geometry = replace(window.geometry, outputs=(filters, *window.outputs), groups=groups)
    call.builder.source = replace(call.builder.source, geometry=geometry)
    return call.affine([(x.name, matrix)], np.repeat(bias, pixels), (filters, *window.shape))


def _conv_matrix(window: Window, kernel: Floats, groups: int) -> Any:
    """[filters * pixels, channels * sides]."""
    filters, depth = kernel.shape[:2]
    pixels = window.outputs[0] * window.outputs[1]
    rows = np.arange(filters * pixels).reshape(filters, 1, pixels)
    first = np.arange(filters) // (filters // groups) * depth
    channels = first[:, None] + np.arange(depth)
    parts: list[tuple[Any, Any, Any]] = []
    for row, column in window.places:
        read = window.at(window.index, row, column).reshape(window.channels, pixels)[channels]
        weight = kernel[:, :, row, column, None]
        held = (read >= 0) & (weight != 0)
        shape = read.shape
        parts.append((
            np.broadcast_to(weight, shape)[held],
            np.broadcast_to(rows, shape)[held],
            read[held],
        ))  # fmt: skip
    data, rows_of, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    size = int(np.prod(window.geometry.inputs))
    entries = (data, (rows_of, columns))
    return sparse.csr_array(sparse.coo_array(entries, shape=(filters * pixels, size)))


@handles("AveragePool", "GlobalAveragePool")
def average_pool(call: Call) -> Secret:
    """Means over windows, or over all of them."""
    x = call.secret(0)
    whole = call.kind == "GlobalAveragePool"
    sides = list(x.shape[2:])
    window = Window(call, x, sides if whole else call.attribute("kernel_shape", sides))
    includes = bool(call.attribute("count_include_pad", 0))
    pixels = window.outputs[0] * window.outputs[1]
    reads = [window.at(window.index, *place).reshape(-1, pixels) for place in window.places]
    inside = [
        window.at(window.counted, *place).reshape(1, pixels) if includes else read >= 0
        for place, read in zip(window.places, reads, strict=True)
    ]
    counts = np.maximum(sum(each.astype(np.float64) for each in inside), 1.0)
    rows = np.arange(window.channels * pixels).reshape(-1, pixels)
    held = [read >= 0 for read in reads]
    weights = np.broadcast_to(1.0 / counts, rows.shape)
    data = np.concatenate([weights[each] for each in held])
    places = np.concatenate([rows[each] for each in held])
    columns = np.concatenate([read[each] for read, each in zip(reads, held, strict=True)])
    size = int(np.prod(window.geometry.inputs))
    matrix = sparse.csr_array(sparse.coo_array((data, (places, columns)), shape=(rows.size, size)))
    call.builder.source = replace(call.builder.source, geometry=window.geometry)
    return call.affine([(x.name, matrix)], 0.0, (window.channels, *window.shape))
