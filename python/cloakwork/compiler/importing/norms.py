"""Norms over windows, channels and pictures, what they divide; products over axes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.importing.activations import applied, combined, multiplied, scaled
from cloakwork.compiler.importing.linear import axes_of, reduced, rows_over, summed
from cloakwork.compiler.importing.values import HANDLERS, Call, Secret, handles

__all__ = ["lp_pool", "mean_and_variance", "over_neighbours", "product_over", "products_up_to"]


def _sizes(call: Call, x: Secret) -> tuple[Secret, int]:
    """|x|^p, and p: 1 or 2."""
    norm = int(call.attribute("p", 2))
    if norm not in (1, 2):
        raise call.wrong("a p of 1 or 2", norm)
    return applied(call, x, "abs") if norm == 1 else multiplied(call, x, x), norm


@handles("MeanVarianceNormalization")
def mean_and_variance(call: Call) -> Secret:
    """(x - mean) / deviation, over some axes; 1e-9 beside a deviation is left away."""
    x, axes = call.secret(0), call.attribute("axes", [0, 2, 3])
    axes = tuple(call.axis(int(axis), x) for axis in axes)
    if not axes:
        raise call.wrong("axes after the batch", "none", "name them")
    count = int(np.prod([x.shape[axis] for axis in axes]))
    mean = summed(call, x, axes, True, 1.0 / count)
    centred = combined(call, [x, _spread(call, mean, x)], [1.0, -1.0])
    variance = summed(call, multiplied(call, centred, centred), axes, True, 1.0 / count)
    return multiplied(call, centred, _spread(call, applied(call, variance, "rsqrt"), x))


def _spread(call: Call, value: Secret, like: Secret) -> Secret:
    return call.selected(value, np.broadcast_to(call.indices(value), like.shape))


@handles("GlobalLpPool", "LpPool")
def lp_pool(call: Call) -> Secret:
    """The sum of |x|, or the root of the sum of squares, of windows or of all pixels."""
    x = call.secret(0)
    sizes, norm = _sizes(call, x)
    if call.kind == "GlobalLpPool":
        total = summed(call, sizes, tuple(range(2, len(x.shape))), keep=True)
    else:
        if call.attribute("ceil_mode", 0):
            raise call.wrong("windows within the padded input", "ceil_mode=1", "add pads instead")
        options = {name: value for name, value in call.attributes.items() if name != "p"}
        options = {**options, "count_include_pad": 1}
        mean = replace(call, kind="AveragePool", inputs=[sizes], attributes=options)
        found = HANDLERS["", "AveragePool"](mean)
        assert isinstance(found, Secret)
        total = scaled(call, found, float(np.prod(call.attribute("kernel_shape", 1))))
    return total if norm == 1 else applied(call, total, "sqrt")


@handles("LRN")
def over_neighbours(call: Call) -> Secret:
    """X / (bias + alpha / size times the sum of squares of neighbouring channels)^beta."""
    x = call.secret(0)
    size, beta = int(call.attribute("size", 1)), float(call.attribute("beta", 0.75))
    alpha, bias = float(call.attribute("alpha", 1e-4)), float(call.attribute("bias", 1.0))
    if len(x.shape) < 2 or size < 1:
        raise call.wrong("[batch, channels, ...], and a size of 1 or more", (list(x.shape), size))
    if beta not in (0.5, 0.75, 1.0):
        raise call.wrong("a beta of 1/2, 3/4 or 1", beta)
    channels, pixels = x.shape[1], int(np.prod(x.shape[2:]))
    apart = np.arange(channels) - np.arange(channels)[:, np.newaxis]
    near = (apart >= -((size - 1) // 2)) & (apart <= size // 2)
    call.check_weights(int(near.sum()) * pixels)
    matrix = sparse.kron(alpha / size * near, sparse.eye_array(pixels))
    square = multiplied(call, x, x)
    total = call.affine([(square.name, matrix)], bias, x.inner)
    inverse = applied(call, total, "reciprocal" if beta == 1.0 else "rsqrt")
    if beta == 0.75:
        inverse = multiplied(call, inverse, applied(call, inverse, "sqrt"))
    return multiplied(call, x, inverse)


@handles("ReduceProd")
def product_over(call: Call) -> Secret:
    """Over axes after the batch, two by two."""
    x = call.encrypted(0)
    axes = axes_of(call, x)
    value, places = x.name, rows_over(call, x, axes)
    while places.shape[1] > 1:
        value, places = _round(call, value, places)
    shape, batch = reduced(x, axes, keep=bool(call.attribute("keepdims", 1)))
    found = call.selected(Secret(value, (1, *call.builder.shape(value))), places.T)
    return Secret(found.name, shape, batch)


@handles("CumProd")
def products_up_to(call: Call) -> Secret:
    """The product of all elements up to each, along an axis: of 1, 2, 4, ... at a time."""
    x, place = call.secret(0), call.integers(1)
    if len(place) != 1:
        raise call.wrong("one axis", place)
    axis = call.axis(place[0], x)
    size, found = x.shape[axis], x
    if call.attribute("exclusive", 0):
        found = _moved(call, x, axis, 1)
    step = 1
    while step < size:
        found = multiplied(call, found, _moved(call, found, axis, step))
        step *= 2
    return found


def _moved(call: Call, x: Secret, axis: int, step: int) -> Secret:
    """Elements that are so many places before, or with `reverse` behind; 1 where there are none."""
    sign = -1 if call.attribute("reverse", 0) else 1
    places = np.arange(x.shape[axis]) - sign * step
    inside = (places >= 0) & (places < x.shape[axis])
    whole = np.take(call.indices(x), np.where(inside, places, 0), axis)
    along = inside.reshape([-1 if own == axis else 1 for own, _ in enumerate(x.shape)])
    kept = call.selected(x, np.where(along, whole, -1))
    return scaled(call, kept, 1.0, np.broadcast_to(~along, x.shape)[0])


def _round(call: Call, value: str, places: NDArray[np.int64]) -> tuple[str, NDArray[np.int64]]:
    """The products of pairs of columns [n, count] of flat indices; the odd one times 1."""
    left, right = places[:, ::2], places[:, 1::2]
    missing = left.shape[1] - right.shape[1]
    right = np.pad(right, ((0, 0), (0, missing)), constant_values=-1)
    a = call.builder.select(value, left.ravel(), (left.size,))
    b = call.builder.select(value, right.ravel(), (left.size,))
    if missing:
        b = call.builder.scaled(b, 1.0, (right.ravel() < 0).astype(np.float64))
    return call.builder.product(a, b), np.arange(left.size).reshape(left.shape)
