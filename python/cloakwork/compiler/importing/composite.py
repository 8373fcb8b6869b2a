"""Maxima, comparisons, softmax and normalisation of encrypted values, from functions and products.

max(a, b) = b + relu(a - b), two by two in a tournament, so that n values take ceil(log2 n) rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.building import selection
from cloakwork.compiler.importing.activations import (
    applied,
    broadcast,
    combined,
    multiplied,
    one_input,
    scaled,
    spread,
    together,
)
from cloakwork.compiler.importing.linear import Window, axes_of, reduced, rows_over, summed
from cloakwork.compiler.importing.reading import ML_DOMAIN, OWN_DOMAIN
from cloakwork.compiler.importing.values import Call, Known, Secret, handles

Indices = NDArray[np.int64]


def largest(call: Call, x: Secret, rows: Indices) -> Secret:
    """[1, n]: the maximum of each row of flat indices [n, count]; -1 is left out.

    Every round pairs the columns; a column or an entry without a partner goes on as it is.
    """
    value, places = x.name, rows
    while places.shape[1] > 1:
        value, places = _round(call, value, places)
    return call.selected(Secret(value, (1, *call.builder.shape(value))), places.T)


def _round(call: Call, value: str, rows: Indices) -> tuple[str, Indices]:
    """The winners of pairs of columns, [n, ceil(count / 2)], and the value that holds them."""
    builder, pairs = call.builder, rows.shape[1] // 2
    left, right = rows[:, 0 : 2 * pairs : 2], rows[:, 1 : 2 * pairs : 2]
    both = (left >= 0) & (right >= 0)
    kept = np.where(right >= 0, right, left)
    if rows.shape[1] % 2:
        kept = np.concatenate([kept, rows[:, -1:]], axis=1)
    size = builder.size(value)
    difference = selection(left[both], size) - selection(right[both], size)
    active = builder.function(builder.affine([(value, difference)]), "relu")
    wins = np.full(kept.shape, -1, dtype=np.int64)
    wins[:, :pairs][both] = np.arange(int(both.sum()))
    terms = [(value, selection(kept, size)), (active, selection(wins, int(both.sum())))]
    found = builder.affine(terms)
    places = np.arange(kept.size, dtype=np.int64).reshape(kept.shape)
    return found, np.where(kept >= 0, places, -1)


@handles("MaxPool", "GlobalMaxPool")
def max_pool(call: Call) -> Secret:
    """Maxima over windows, which never read the padding."""
    x = call.secret(0)
    if call.outputs > 1:
        raise call.wrong("one output", "the indices of maxima as well")
    sides = list(x.shape[2:])
    whole = call.kind == "GlobalMaxPool"
    window = Window(call, x, sides if whole else call.attribute("kernel_shape", sides))
    reads = [window.at(window.index, *place).ravel() for place in window.places]
    rows = np.stack(reads, axis=1)
    if (rows < 0).all(axis=1).any():
        raise call.wrong("windows that read the input", "one that reads padding alone")
    found = largest(call, x, rows)
    return Secret(found.name, (1, window.channels, *window.outputs))


@handles("ReduceMax", "ReduceMin")
def reduce_max(call: Call) -> Secret:
    """Over axes after the batch."""
    x = call.encrypted(0)
    axes = axes_of(call, x)
    sign = 1.0 if call.kind == "ReduceMax" else -1.0
    own = x if sign > 0 else scaled(call, x, -1.0)
    found = largest(call, own, rows_over(call, own, axes))
    shape, batch = reduced(x, axes, keep=bool(call.attribute("keepdims", 1)))
    result = Secret(found.name, shape, batch)
    return result if sign > 0 else scaled(call, result, -1.0)


@handles("Max", "Min")
def maximum(call: Call) -> Secret:
    """Of two operands, encrypted or constant: b + relu(a - b), or a - relu(a - b)."""
    if len(call.inputs) != 2:
        raise call.wrong("two operands", len(call.inputs), "take maxima two by two")
    a, b = together(call)
    difference = _difference(call, a, b)
    above = applied(call, difference, "relu")
    kept, sign = (b, 1.0) if call.kind == "Max" else (a, -1.0)
    if isinstance(kept, Known):
        return scaled(call, above, sign, kept.array)
    return combined(call, [kept, above], [1.0, sign])


def _difference(call: Call, a: Secret | Known, b: Secret | Known) -> Secret:
    if isinstance(a, Known):
        assert isinstance(b, Secret)
        return scaled(call, b, -1.0, a.array)
    if isinstance(b, Known):
        return scaled(call, a, 1.0, -b.array)
    return combined(call, [a, b], [1.0, -1.0])


@handles("Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def compare(call: Call) -> Secret:
    """1 where it holds, else 0; operands that are equal are within the error of the comparison."""
    a, b = together(call)
    difference = _difference(call, a, b)
    upwards = call.kind in ("Greater", "GreaterOrEqual")
    inclusive = call.kind.endswith("OrEqual")
    # step(x) is 1 from 0 on: a > b is 1 - step(b - a).
    turned = difference if upwards == inclusive else scaled(call, difference, -1.0)
    found = applied(call, turned, "step")
    return found if inclusive else scaled(call, found, -1.0, 1.0)


@handles("Binarizer", domain=ML_DOMAIN)
@handles("Above", domain=OWN_DOMAIN)
def above(call: Call) -> Secret:
    """1 above a threshold, else 0."""
    below = scaled(call, call.secret(0), -1.0, threshold_of(call))
    return scaled(call, applied(call, below, "step"), -1.0, 1.0)


def threshold_of(call: Call) -> float:
    """The number, or the tensor of one."""
    found = np.ravel(call.attribute("threshold", 0.0))
    if found.size != 1 or not np.isfinite(found).all():
        raise call.wrong("one threshold", found[:4])
    return float(found[0])


@handles("Not")
def negated(call: Call) -> Secret:
    """1 - x of a comparison."""
    return scaled(call, call.encrypted(0), -1.0, 1.0)


@handles("And")
def both(call: Call) -> Secret:
    """The product of two comparisons."""
    a, b = together(call)
    if isinstance(a, Known) or isinstance(b, Known):
        raise call.wrong("two encrypted comparisons", "a constant", "take Where")
    return multiplied(call, a, b)


@handles("Or", "Xor")
def either(call: Call) -> Secret:
    """Of two comparisons: a + b - a b, or a + b - 2 a b."""
    a, b = call.secret(0), call.secret(1)
    if a.shape != b.shape:
        raise call.wrong("operands of one shape", (a.shape, b.shape))
    twice = 1.0 if call.kind == "Or" else 2.0
    return combined(call, [a, b, multiplied(call, a, b)], [1.0, 1.0, -twice])


@handles("ThresholdedRelu")
def thresholded(call: Call) -> Secret:
    """X above alpha, else 0."""
    x, alpha = call.secret(0), float(call.attribute("alpha", 1.0))
    below = applied(call, scaled(call, x, -1.0, alpha), "step")
    return multiplied(call, x, scaled(call, below, -1.0, 1.0))


@handles("Where")
def where(call: Call) -> Secret:
    """Of a comparison c: b + c (a - b), with a and b encrypted or constant."""
    if isinstance(call.value(0), Known):
        return _where_known(call)
    condition = call.secret(0)
    shapes = [getattr(call.value(index), "shape", ()) for index in range(3)]
    if any(shape not in (condition.shape, condition.shape[1:], (), (1,)) for shape in shapes):
        raise call.wrong("operands of one shape", shapes)
    a, b = (_spread(call, index, condition) for index in (1, 2))
    if isinstance(a, Known) and isinstance(b, Known):
        return scaled(call, condition, a.array - b.array, b.array)
    chosen = multiplied(call, condition, _difference(call, a, b))
    if isinstance(b, Known):
        return scaled(call, chosen, 1.0, b.array)
    return combined(call, [b, chosen], [1.0, 1.0])


def _where_known(call: Call) -> Secret:
    """Elements of one or the other, by a constant condition."""
    shape, batch = broadcast(call)
    chosen = np.broadcast_to(call.constant(0).astype(np.bool_), shape)
    parts, bias = list[Secret](), np.zeros(shape)
    for index, here in ((1, chosen), (2, ~chosen)):
        value = call.value(index)
        if isinstance(value, Secret):
            places = np.broadcast_to(call.indices(value), shape)
            parts.append(call.selected(value, np.where(here, places, -1), batch))
        else:
            bias = np.where(here, call.weights(index, masks=True), bias)
    found = combined(call, parts, [1.0] * len(parts))
    return scaled(call, found, 1.0, one_input(bias, batch)) if bias.any() else found


def _spread(call: Call, index: int, like: Secret) -> Secret | Known:
    value = call.value(index)
    if isinstance(value, Secret):
        if value.shape != like.shape:
            raise call.wrong("operands of one shape", (value.shape, like.shape))
        return call.in_front(value)
    return Known(np.broadcast_to(call.weights(index), like.shape)[0])


@handles("LayerNormalization")
def layer_normalization(call: Call) -> Secret:
    """(x - mean) / sqrt(variance + epsilon), times a scale, plus a shift."""
    if call.outputs > 1:
        raise call.wrong("one output", "mean and deviation as well")
    x = call.secret(0)
    found = _standardised(call, x, call.axis(int(call.attribute("axis", -1)), x))
    return scaled(call, found, spread(call, call.weights(1), x),
                  spread(call, call.weights(2), x) if call.has(2) else 0.0)  # fmt: skip


@handles("RMSNormalization")
def rms_normalization(call: Call) -> Secret:
    """X / sqrt(mean of x^2 + epsilon), times a scale."""
    x = call.secret(0)
    first = call.axis(int(call.attribute("axis", -1)), x)
    return scaled(call, _over_root(call, x, first, 1e-5), spread(call, call.weights(1), x))


@handles("LpNormalization")
def lp_normalization(call: Call) -> Secret:
    """X over the sum of |x|, or over the root of the sum of squares, of an axis."""
    x = call.secret(0)
    axis, norm = call.axis(int(call.attribute("axis", -1)), x), int(call.attribute("p", 2))
    if norm not in (1, 2):
        raise call.wrong("a p of 1 or 2", norm)
    sizes = applied(call, x, "abs") if norm == 1 else multiplied(call, x, x)
    total = summed(call, sizes, (axis,), keep=True)
    inverse = applied(call, total, "reciprocal" if norm == 1 else "rsqrt")
    every = call.selected(inverse, np.broadcast_to(call.indices(inverse), x.shape))
    return multiplied(call, x, every)


@handles("GroupNormalization", "InstanceNormalization")
def group_normalization(call: Call) -> Secret:
    """As LayerNormalization over groups of channels, or over each: [batch, channels, ...].

    Scale and shift are of channels; those of GroupNormalization before opset 21 are of groups.
    """
    x = call.secret(0)
    if len(x.shape) < 3:
        raise call.wrong("[batch, channels, ...]", list(x.shape))
    channels = x.shape[1]
    groups = channels
    if call.kind == "GroupNormalization":
        groups = int(call.attribute("num_groups", 1))
        if groups < 1 or channels % groups:
            raise call.wrong(f"a num_groups that divides {channels} channels", groups)
    count = groups if call.kind == "GroupNormalization" and call.version < 21 else channels
    scale, shift = (call.weights(index) for index in (1, 2))
    if scale.shape != (count,) or shift.shape != (count,):
        found = f"{list(scale.shape)} and {list(shift.shape)}"
        raise call.wrong(f"a scale and a shift of {count}", found)
    own = replace(x, shape=(1, groups, int(np.prod(x.shape[1:])) // groups))
    standard = replace(_standardised(call, own, 2), shape=x.shape)
    ones = (1,) * (len(x.shape) - 2)
    each = [np.repeat(array, channels // count).reshape(-1, *ones) for array in (scale, shift)]
    return scaled(call, standard, *each)


def _standardised(call: Call, x: Secret, first: int) -> Secret:
    """(x - mean) / sqrt(variance + epsilon), over the axes from one on."""
    return _over_root(call, _centred(call, x, tuple(range(first, len(x.shape)))), first, 1e-5)


def _over_root(call: Call, x: Secret, first: int, epsilon: float) -> Secret:
    """X / sqrt(mean of x^2 + epsilon), over the axes from one on."""
    axes, count = tuple(range(first, len(x.shape))), int(np.prod(x.shape[first:]))
    square = summed(call, multiplied(call, x, x), axes, True, 1.0 / count)
    more = float(call.attribute("epsilon", epsilon))
    inverse = applied(call, scaled(call, square, 1.0, more), "rsqrt")
    every = call.selected(inverse, np.broadcast_to(call.indices(inverse), x.shape))
    return multiplied(call, x, every)


def _centred(call: Call, x: Secret, axes: Sequence[int]) -> Secret:
    """X minus its mean over the last axes, as one matrix."""
    count = int(np.prod([x.shape[axis] for axis in axes]))
    groups = call.builder.size(x.name) // count
    block = np.eye(count) - 1.0 / count
    call.check_weights(groups * count * count)
    matrix = sparse.kron(sparse.identity(groups), block)
    return call.affine([(x.name, matrix)], 0.0, x.shape[1:])
