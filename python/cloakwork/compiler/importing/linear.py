"""Matrices, convolutions, pools, normalisations and sums: all are Affine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.importing.activations import applied, combined, multiplied, scaled, together
from cloakwork.compiler.importing.matrices import by_columns
from cloakwork.compiler.importing.values import Call, Known, Secret, handles, without_batch
from cloakwork.compiler.nodes import Geometry

Floats = NDArray[np.float64]
# Axes of convolutions and pools, and those for which layouts are made.
_MOST_AXES, _LAID_OUT = 3, 2


@handles("Add", "Sub")
def add(call: Call) -> Secret:
    """Of encrypted values, or with a constant."""
    sign = 1.0 if call.kind == "Add" else -1.0
    a, b = together(call)
    if isinstance(a, Secret) and isinstance(b, Secret):
        return combined(call, [a, b], [1.0, sign])
    if isinstance(a, Secret):
        assert isinstance(b, Known)
        return scaled(call, a, 1.0, sign * b.array)
    assert isinstance(b, Secret)
    return scaled(call, b, sign, a.array)


@handles("Neg")
def neg(call: Call) -> Secret:
    """-x."""
    return scaled(call, call.encrypted(0, merged=True), -1.0)


@handles("Sum", "Mean")
def total(call: Call) -> Secret:
    """Of values of one shape."""
    values = [call.encrypted(index) for index, _ in enumerate(call.inputs)]
    if len({(value.shape, value.batch) for value in values}) != 1:
        raise call.wrong("operands of one shape", [value.shape for value in values])
    weight = 1.0 if call.kind == "Sum" else 1.0 / len(values)
    return combined(call, values, [weight] * len(values))


@handles("Gemm")
def gemm(call: Call) -> Secret:
    """Alpha A B + beta C, A encrypted [batch, k] and B, C constant.

    Where the batch is merged with an axis of one input, each row of that goes through the same.
    """
    a = call.encrypted(0, merged=True)
    a = a if a.batch is None else call.in_front(a)
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
    weights, width = call.attribute("alpha", 1.0) * weights, weights.shape[1]
    if a.batch is not None:
        return call.affine([(a.name, sparse.csr_array(weights.T))], bias, (width,))
    rows, shape = _rows_times(call, call.indices(a), weights), (a.shape[0], width)
    return call.affine([(a.name, rows)], np.broadcast_to(bias, shape), shape, None)


@handles("MatMul")
def matmul(call: Call) -> Secret:
    """With a constant on either side, or of two encrypted values."""
    a, b = call.value(0), call.value(1)
    if isinstance(a, Secret) and isinstance(b, Secret):
        return encrypted_matmul(call, call.in_front(a), call.in_front(b))
    x, index = (a, 1) if isinstance(a, Secret) else (b, 0)
    assert isinstance(x, Secret)
    weights = call.weights(index)
    if weights.ndim == 1:
        return _vector_matmul(call, call.apart(x), weights, index)
    if weights.ndim > 2:
        found = by_columns(call)
        assert isinstance(found, Secret)
        return found
    if weights.ndim != 2 or len(x.shape) < 2:
        raise call.wrong("a constant matrix [n, m] or vector [n]", list(weights.shape))
    if index == 0:
        x = call.apart(x)
    # The axis over which it sums, and for columns the last one: neither is the batch's.
    call.axis(-1, x)
    whole = call.indices(x)
    if index == 1:
        if x.shape[-1] != weights.shape[0]:
            raise call.wrong(f"{x.shape[-1]} rows", list(weights.shape))
        rows = whole.reshape(-1, x.shape[-1])
        shape = (*x.inner[:-1], weights.shape[1])
        matrix = _rows_times(call, rows, weights)
        return call.affine([(x.name, matrix)], 0.0, shape, x.batch)
    if x.shape[call.axis(-2, x)] != weights.shape[1]:
        raise call.wrong(f"a constant of {x.shape[-2]} columns", list(weights.shape))
    columns = np.moveaxis(whole, -2, -1)
    matrix = _rows_times(call, columns.reshape(-1, x.shape[-2]), weights.T)
    moved = np.arange(matrix.shape[0]).reshape(*columns.shape[:-1], weights.shape[0])
    order = np.moveaxis(moved, -1, -2).ravel()
    shape = (*x.inner[:-2], weights.shape[0], x.shape[-1])
    return call.affine([(x.name, matrix[order])], 0.0, shape, x.batch)


def _vector_matmul(call: Call, x: Secret, weights: Floats, index: int) -> Secret:
    """[..., n] by a vector [n], or a vector [m] by [..., m, n]: sums over one axis."""
    axis = call.axis(-1 if index == 1 else -2, x)
    if x.shape[axis] != weights.size:
        raise call.wrong(f"a constant vector {[x.shape[axis]]}", list(weights.shape))
    rows = np.moveaxis(call.indices(x), axis, -1)
    matrix = _rows_times(call, rows.reshape(-1, weights.size), weights[:, None])
    shape = without_batch(rows.shape[:-1], batch := x.place - (axis < x.place))
    return call.affine([(x.name, matrix)], 0.0, shape, batch)


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


def encrypted_matmul(call: Call, a: Secret, b: Secret) -> Secret:
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


# What is done before and after the sum.
_REDUCTIONS = {
    "ReduceL1": ("abs", ""), "ReduceL2": ("times itself", "sqrt"), "ReduceLogSum": ("", "log"),
    "ReduceLogSumExp": ("exp", "log"), "ReduceMean": ("", ""), "ReduceSum": ("", ""),
    "ReduceSumSquare": ("times itself", ""),
}  # fmt: skip


@handles(*_REDUCTIONS)
def reduce(call: Call) -> Secret:
    """Over axes after the batch."""
    x = call.encrypted(0)
    axes = axes_of(call, x)
    keep = bool(call.attribute("keepdims", 1))
    count = int(np.prod([x.shape[axis] for axis in axes]))
    before, after = _REDUCTIONS[call.kind]
    if before:
        x = multiplied(call, x, x) if before == "times itself" else applied(call, x, before)
    found = summed(call, x, axes, keep, 1.0 / count if call.kind == "ReduceMean" else 1.0)
    return applied(call, found, after) if after else found


def axes_of(call: Call, x: Secret) -> tuple[int, ...]:
    """The axes that a reduction names, counted from the front; ModelError for the batch axis."""
    given = call.setting("axes", 1)
    if given is None or not np.size(given):
        raise call.wrong("axes after the batch", "all axes", "name them")
    return tuple(call.axis(int(axis), x) for axis in np.atleast_1d(given))


def rows_over(call: Call, x: Secret, axes: Sequence[int]) -> NDArray[np.int64]:
    """[n, count]: the flat indices of what each element of a reduction over axes reads."""
    moved = np.moveaxis(call.indices(x), axes, range(-len(axes), 0))
    return moved.reshape(-1, int(np.prod([x.shape[axis] for axis in axes])))


def summed(call: Call, x: Secret, axes: Sequence[int], keep: bool, weight: float = 1.0) -> Secret:
    """Weighted sums over axes."""
    rows = rows_over(call, x, axes)
    matrix = _rows_times(call, rows, np.full((rows.shape[1], 1), weight))
    shape, batch = reduced(x, axes, keep=keep)
    return call.affine([(x.name, matrix)], 0.0, without_batch(shape, batch), batch)


def reduced(x: Secret, axes: Sequence[int], *, keep: bool) -> tuple[tuple[int, ...], int]:
    """The shape and the batch axis of x without some axes, or with a length of 1 in these."""
    if keep:
        return tuple(1 if n in axes else length for n, length in enumerate(x.shape)), x.place
    shape = tuple(length for n, length in enumerate(x.shape) if n not in axes)
    return shape, x.place - sum(axis < x.place for axis in axes)


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
    """The places that a convolution or pool reads, as flat indices of its operand, -1 outside.

    index     [channels, *padded]
    counted   [*padded]: whether a place is inside of the stated padding, which averages may count
    outputs   the windows along each of one to three axes
    """

    def __init__(self, call: Call, x: Secret, kernel: Sequence[int]) -> None:
        rank = len(x.shape) - 2
        if not 1 <= rank <= _MOST_AXES or len(kernel) != rank:
            raise call.wrong("[batch, channels, (depth,) (height,) width]", list(x.shape))
        self.call, self.channels, self.sides = call, x.shape[1], x.shape[2:]
        self.kernel = tuple(int(n) for n in kernel)
        for name in ("kernel_shape", "strides", "dilations"):
            given = list(call.attribute(name, kernel))
            if len(given) != rank or (name == "kernel_shape" and given != list(kernel)):
                raise call.wrong(f"a {name} for the kernel {list(kernel)}", given)
        self.strides, self.dilations = (
            tuple(int(n) for n in call.attribute(name, [1] * rank))
            for name in ("strides", "dilations")
        )
        if min(*self.kernel, *self.strides, *self.dilations) < 1:
            raise call.wrong("kernel, strides and dilations of 1 or more", list(kernel))
        self.pads = self._pads()
        first, last = self.pads[:rank], self.pads[rank:]
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        inside = [sum(each) for each in zip(self.sides, first, last, strict=True)]
        rounded = bool(call.attribute("ceil_mode", 0))
        padded = [
            length + (r - length) % s if rounded else length
            for length, r, s in zip(inside, reach, self.strides, strict=True)
        ]
        self.outputs = tuple(
            (length - r) // s + 1 for length, r, s in zip(padded, reach, self.strides, strict=True)
        )
        if min(self.outputs) < 1:
            raise call.wrong(f"a window within {self.sides}", f"{self.kernel}, pads {self.pads}")
        call.check_elements([self.channels, *padded])
        self.index = np.full((self.channels, *padded), -1, dtype=np.int64)
        inner: list[Any] = [slice(n, n + side) for n, side in zip(first, self.sides, strict=True)]
        self.index[:, *inner] = call.indices(x)[0]
        self.counted = np.zeros(padded, dtype=bool)
        self.counted[tuple(slice(length) for length in inside)] = True

    def _pads(self) -> tuple[int, ...]:
        """Before each axis, then after each."""
        call, rank = self.call, len(self.kernel)
        mode = call.attribute("auto_pad", "NOTSET")
        if mode in ("NOTSET", "VALID"):
            given = list(call.attribute("pads", [])) if mode == "NOTSET" else []
            pads = tuple(int(n) for n in given or [0] * (2 * rank))
            if len(pads) != 2 * rank or min(pads) < 0:
                raise call.wrong("pads of 0 or more, two an axis", given)
            return pads
        if mode not in ("SAME_UPPER", "SAME_LOWER"):
            raise call.wrong("auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER", mode)
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        wanted = [
            max((-(-side // s) - 1) * s + r - side, 0)
            for side, s, r in zip(self.sides, self.strides, reach, strict=True)
        ]
        small, large = [n // 2 for n in wanted], [n - n // 2 for n in wanted]
        return (*small, *large) if mode == "SAME_UPPER" else (*large, *small)

    def at(self, array: NDArray[Any], *place: int) -> NDArray[Any]:
        """[..., *outputs]: what each window has at one place of the kernel."""
        firsts = [n * d for n, d in zip(place, self.dilations, strict=True)]
        cut: list[Any] = [
            slice(first, first + (count - 1) * stride + 1, stride)
            for first, count, stride in zip(firsts, self.outputs, self.strides, strict=True)
        ]
        return np.asarray(array[(..., *cut)])

    @property
    def places(self) -> list[tuple[int, ...]]:
        """The places of the kernel."""
        return list(product(*map(range, self.kernel)))

    @property
    def pixels(self) -> int:
        """The number of windows."""
        return prod(self.outputs)

    @property
    def size(self) -> int:
        """The number of elements of the operand."""
        return self.channels * prod(self.sides)

    def geometry(self, filters: int, groups: int = 1) -> Geometry | None:
        """For layouts of one or two axes; None for three."""
        rank = len(self.kernel)
        if rank > _LAID_OUT:
            return None

        def pair(given: Sequence[int], fill: int) -> tuple[int, int]:
            return (given[0], given[1]) if rank == _LAID_OUT else (fill, given[0])

        (top, left), (bottom, right) = pair(self.pads[:rank], 0), pair(self.pads[rank:], 0)
        return Geometry(
            (self.channels, *pair(self.sides, 1)), (filters, *pair(self.outputs, 1)),
            pair(self.kernel, 1), pair(self.strides, 1), pair(self.dilations, 1),
            (top, left, bottom, right), groups,
        )  # fmt: skip


@handles("Conv")
def conv(call: Call) -> Secret:
    """With strides, pads, groups and dilations, in one to three dimensions."""
    x, weights = call.secret(0), call.weights(1)
    window = Window(call, x, weights.shape[2:])
    groups, filters = int(call.attribute("group", 1)), weights.shape[0]
    if groups < 1 or filters % groups or weights.shape[1] * groups != window.channels:
        raise call.wrong(
            f"weights [filters, {window.channels} / groups, ...]", f"{weights.shape}, {groups}"
        )
    call.check_weights(weights.size * window.pixels)
    matrix = _conv_matrix(window, weights, groups)
    bias = np.zeros(filters)
    if call.has(2):
        bias = call.weights(2)
        if bias.shape != (filters,):
            raise call.wrong(f"a bias of {filters}", list(bias.shape))
    geometry = window.geometry(filters, groups)
    call.builder.source = replace(call.builder.source, geometry=geometry)
    shape = (filters, *window.outputs)
    return call.affine([(x.name, matrix)], np.repeat(bias, window.pixels), shape)


def _conv_matrix(window: Window, kernel: Floats, groups: int) -> Any:
    """[filters * pixels, channels * sides]."""
    filters, depth = kernel.shape[:2]
    pixels = window.pixels
    rows = np.arange(filters * pixels).reshape(filters, 1, pixels)
    first = np.arange(filters) // (filters // groups) * depth
    channels = first[:, None] + np.arange(depth)
    parts: list[tuple[Any, Any, Any]] = []
    for place in window.places:
        read = window.at(window.index, *place).reshape(window.channels, pixels)[channels]
        weight = kernel[:, :, *place, None]
        held = (read >= 0) & (weight != 0)
        shape = read.shape
        parts.append((
            np.broadcast_to(weight, shape)[held],
            np.broadcast_to(rows, shape)[held],
            read[held],
        ))  # fmt: skip
    data, rows_of, columns = (np.concatenate(each) for each in zip(*parts, strict=True))
    entries = (data, (rows_of, columns))
    return sparse.csr_array(sparse.coo_array(entries, shape=(filters * pixels, window.size)))


@handles("AveragePool", "GlobalAveragePool")
def average_pool(call: Call) -> Secret:
    """Means over windows, or over all of them."""
    x = call.secret(0)
    whole = call.kind == "GlobalAveragePool"
    sides = list(x.shape[2:])
    window = Window(call, x, sides if whole else call.attribute("kernel_shape", sides))
    includes = bool(call.attribute("count_include_pad", 0))
    pixels = window.pixels
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
    entries = (data, (places, columns))
    matrix = sparse.csr_array(sparse.coo_array(entries, shape=(rows.size, window.size)))
    geometry = window.geometry(window.channels)
    call.builder.source = replace(call.builder.source, geometry=geometry)
    return call.affine([(x.name, matrix)], 0.0, (window.channels, *window.outputs))
