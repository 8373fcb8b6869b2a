"""Nodes that only move elements: each is traced on the flat indices of its operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.building import selection
from cloakwork.compiler.importing.mended import taken_elements
from cloakwork.compiler.importing.reading import FLOAT_TYPES
from cloakwork.compiler.importing.results import check_cast, type_name
from cloakwork.compiler.importing.values import Call, Known, Secret, Value, handles, without_batch


@handles("Identity", "Dropout", "Cast", "CastLike")
def unchanged(call: Call) -> Sequence[Value]:
    """The value itself; a Dropout of inference drops nothing."""
    if call.kind == "Cast":
        to = int(call.attribute("to", 1))
        check_cast(call, to)
        if to not in FLOAT_TYPES:
            raise call.wrong("a cast to floats", type_name(to), "cast at the end")
    if call.kind == "CastLike" and isinstance(call.value(1), Known):
        kind = call.constant(1).dtype
        if kind.kind != "f":
            raise call.wrong("a cast to floats", kind, "cast at the end")
    if call.kind == "CastLike" and isinstance(call.value(0), Known):
        numbers = call.weights(0, masks=True)
        # The type of the other is not known here: these are the same in all of them.
        if not (np.isin(numbers, (0, 1))).all():
            hint = "cast the constant itself"
            raise call.wrong("constants of 0 and 1 to cast like a value", "others", hint)
        return [Known(numbers)]
    if call.kind == "Dropout" and call.has(2) and call.constant(2).any():
        raise call.wrong("a model for inference", "training_mode", "export with model.eval()")
    return [call.encrypted(0)]


@handles("Shape")
def shape_of(call: Call) -> Known:
    """With a batch of 1."""
    whole = call.encrypted(0).shape
    start, end = call.attribute("start", 0), call.attribute("end", len(whole))
    return Known(np.array(whole[start:end], dtype=np.int64))


@handles("Size")
def size_of(call: Call) -> Known:
    """With a batch of 1."""
    return Known(np.array(int(np.prod(call.encrypted(0).shape)), dtype=np.int64))


@handles("Flatten")
def flatten(call: Call) -> Secret:
    """From an axis on, which must be the first after the batch."""
    x = call.secret(0)
    axis = int(call.attribute("axis", 1))
    axis = axis + len(x.shape) if axis < 0 else axis
    if axis != 1:
        raise call.wrong("axis 1", axis, "keep the batch apart")
    return call.selected(x, call.indices(x).reshape(1, -1))


@handles("Reshape")
def reshape(call: Call) -> Secret:
    """0 keeps a length, -1 is what remains; the batch stays behind as many elements as before."""
    x = call.encrypted(0, merged=True)
    given = call.integers(1)
    if not call.attribute("allowzero", 0):
        given = [
            x.shape[axis] if n == 0 and axis < len(x.shape) else n for axis, n in enumerate(given)
        ]
    try:
        found = call.indices(x).reshape(given)
    except ValueError:
        raise call.wrong(f"a shape of the elements of {list(x.shape)}", given) from None
    return call.selected(x, found, _batch_after(call, x, found.shape))


def _batch_after(call: Call, x: Secret, shape: Sequence[int]) -> int | None:
    """The batch axis of the same elements in another shape: where it is, or else the first fit.

    None where a model of a batch of 1 has merged it: no input can be mixed with another.
    """
    if x.batch is None:
        return None
    before = np.cumprod([1, *shape])
    ahead = int(np.prod(x.shape[: x.place]))
    fits = [n for n, length in enumerate(shape) if length == 1 and before[n] == ahead]
    if not fits and call.state.single:
        return None
    return x.batch if x.batch in fits or not fits else fits[0]


@handles("Transpose")
def transpose(call: Call) -> Secret:
    """In any order, that of the batch axis as well."""
    x = call.encrypted(0, merged=True)
    axes = [int(axis) for axis in call.attribute("perm", range(len(x.shape))[::-1])]
    if sorted(axes) != list(range(len(x.shape))):
        raise call.wrong(f"a permutation of {len(x.shape)} axes", axes)
    batch = None if x.batch is None else axes.index(x.batch)
    return call.selected(x, call.indices(x).transpose(axes), batch)


@handles("Squeeze")
def squeeze(call: Call) -> Secret:
    """Axes of length 1, by default all but the batch."""
    x = call.encrypted(0)
    given = call.setting("axes", 1)
    rank = len(x.shape)
    axes = (
        [axis for axis in range(rank) if x.shape[axis] == 1 and axis != x.batch]
        if given is None
        else [call.axis(int(axis), x) for axis in np.atleast_1d(given)]
    )
    if any(x.shape[axis] != 1 for axis in axes):
        raise call.wrong("axes of length 1", f"{axes} of {list(x.shape)}")
    batch = x.place - sum(axis < x.place for axis in axes)
    return call.selected(x, np.squeeze(call.indices(x), tuple(axes)), batch)


@handles("Unsqueeze")
def unsqueeze(call: Call) -> Secret:
    """New axes of length 1."""
    x = call.encrypted(0)
    given = np.atleast_1d(call.setting("axes", 1))
    rank = len(x.shape) + len(given)
    axes = tuple(call.any_axis(int(axis), rank) for axis in given)
    older = [axis for axis in range(rank) if axis not in axes]
    return call.selected(x, np.expand_dims(call.indices(x), axes), older[x.place])


@handles("Slice")
def sliced(call: Call) -> Secret:
    """Any steps, along axes of one input."""
    x = call.encrypted(0)
    starts, ends = (np.atleast_1d(call.setting(n, i)) for n, i in (("starts", 1), ("ends", 2)))
    axes = np.atleast_1d(call.setting("axes", 3, list(range(len(starts)))))
    steps = np.atleast_1d(call.setting("steps", 4, [1] * len(starts)))
    cut: list[Any] = [slice(None)] * len(x.shape)
    for start, end, given, step in zip(starts, ends, axes, steps, strict=True):
        axis = call.any_axis(int(given), len(x.shape))
        bounds = _slice(int(start), int(end), int(step), x.shape[axis])
        if axis == x.batch and len(range(*bounds.indices(1))) != 1:
            raise call.wrong("a slice of one input", "one of the batch axis")
        cut[axis] = bounds
    found = call.indices(x)[tuple(cut)]
    if not found.size:
        raise call.wrong("elements", "an empty slice")
    return call.selected(x, found, x.batch)


def _slice(start: int, end: int, step: int, length: int) -> slice:
    """ONNX's slice as Python's: ends beyond the first element of a reversed one are none."""
    if step < 0:
        stop = end + length if end < 0 else end
        return slice(start, None if stop < 0 else stop, step)
    return slice(start, end, step)


@handles("Split")
def split(call: Call) -> list[Value]:
    """Into equal parts, or the given lengths; a part without elements is a constant."""
    x = call.encrypted(0)
    axis = call.axis(int(call.attribute("axis", 0)), x)
    lengths = call.setting("split", 1)
    whole = call.indices(x)
    if call.attribute("num_outputs", call.outputs) != call.outputs:
        raise call.wrong(f"num_outputs {call.outputs}", call.attribute("num_outputs", 0))
    if lengths is None:
        parts = np.array_split(whole, call.outputs, axis)
        each = -(-x.shape[axis] // call.outputs)
        edges = [min(each * n, x.shape[axis]) for n in range(1, call.outputs)]
        parts = np.split(whole, edges, axis)
    else:
        if sum(lengths) != x.shape[axis] or min(lengths) < 0:
            raise call.wrong(f"lengths of 0 or more that add up to {x.shape[axis]}", lengths)
        parts = np.split(whole, np.cumsum(lengths)[:-1], axis)
    if len(parts) != call.outputs or (lengths is None and not all(part.size for part in parts)):
        raise call.wrong(f"{call.outputs} parts with elements", f"{len(parts)}")
    return [
        call.selected(x, part, x.batch) if part.size else Known(np.zeros(part.shape))
        for part in parts
    ]


@handles("Gather")
def gather(call: Call) -> Secret:
    """At constant indices, along an axis of one input."""
    x, indices = call.encrypted(0), call.constant(1)
    axis = call.axis(int(call.attribute("axis", 0)), x)
    if indices.dtype.kind not in "iu" or (np.abs(indices + 0.5) > x.shape[axis]).any():
        raise call.wrong(f"indices below {x.shape[axis]}", indices.ravel()[:4].tolist())
    batch = x.place + (indices.ndim - 1 if axis < x.place else 0)
    return call.selected(x, np.take(call.indices(x), indices, axis), batch)


@handles("GatherElements")
def gather_elements(call: Call) -> Secret:
    """Each at a constant place along an axis of one input, for a batch of 1."""
    x, places = call.secret(0), call.constant(1)
    axis = call.axis(int(call.attribute("axis", 0)), x)
    found = taken_elements(call.indices(x), places, axis)
    if not call.state.single:
        hint = "export the model for a batch of 1, with a fixed first axis"
        raise call.wrong("a node that takes a batch", "one for a batch of 1", hint)
    return call.selected(x, found)


@handles("ArrayFeatureExtractor", domain="ai.onnx.ml")
def extract(call: Call) -> Secret:
    """At constant indices of the last axis."""
    x, indices = call.secret(0), call.constant(1).ravel()
    if indices.dtype.kind not in "iu" or (indices < 0).any() or (indices >= x.shape[-1]).any():
        raise call.wrong(f"indices below {x.shape[-1]}", indices[:4].tolist())
    return call.selected(x, np.take(call.indices(x), indices, -1))


@handles("Expand", "Tile")
def expand(call: Call) -> Secret:
    """Repeated along axes after the batch."""
    x, given = call.secret(0), call.integers(1)
    whole = call.indices(x)
    if call.kind == "Tile":
        call.check_elements([a * b for a, b in zip(x.shape, given, strict=True)])
        return call.selected(x, np.tile(whole, given))
    try:
        shape = np.broadcast_shapes(x.shape, given)
        call.check_elements(shape)
        found = np.broadcast_to(whole, shape)
    except ValueError:
        raise call.wrong(f"a shape to which {list(x.shape)} broadcasts", given) from None
    return call.selected(x, found)


@handles("DepthToSpace", "SpaceToDepth")
def depth_to_space(call: Call) -> Secret:
    """Blocks of channels to pixels, or back."""
    x, block = call.secret(0), int(call.attribute("blocksize", 1))
    if len(x.shape) != 4 or block < 1:
        raise call.wrong("[batch, channels, height, width] and a block of 1 or more", x.shape)
    _, channels, height, width = x.shape
    whole = call.indices(x)
    if call.kind == "SpaceToDepth":
        if height % block or width % block:
            raise call.wrong(f"sides that {block} divides", x.shape)
        parts = whole.reshape(1, channels, height // block, block, width // block, block)
        moved = parts.transpose(0, 3, 5, 1, 2, 4)
        return call.selected(x, moved.reshape(1, -1, height // block, width // block))
    if channels % block**2:
        raise call.wrong(f"channels that {block**2} divides", x.shape)
    mode = call.attribute("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise call.wrong("a mode of DCR or CRD", mode)
    if mode == "DCR":
        parts = whole.reshape(1, block, block, -1, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = whole.reshape(1, -1, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    return call.selected(x, parts.reshape(1, -1, height * block, width * block))


@handles("Pad")
def pad(call: Call) -> Secret:
    """Constant, edge, reflect or wrap, after the batch."""
    x, rank = call.secret(0), len(call.secret(0).shape)
    mode, widths = call.attribute("mode", "constant"), call.setting("pads", 1)
    axes = [call.any_axis(int(a), rank) for a in call.setting("axes", 3, list(range(rank)))]
    if len(widths) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise call.wrong(f"two paddings for each of {len(axes)} different axes", widths)
    value = call.setting("value", 2, 0.0)
    value = float(np.ravel(value)[0]) if value is not None else 0.0
    around = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        around[axis] = (int(widths[place]), int(widths[place + len(axes)]))
    if around[0] != (0, 0):
        raise call.wrong("no padding of the batch axis", around[0])
    if min(min(pair) for pair in around) < 0:
        raise call.wrong("paddings of 0 or more", around, "use Slice to cut")
    known = {"constant": {"constant_values": -1}, "edge": {}, "reflect": {}, "wrap": {}}
    if mode not in known:
        raise call.wrong(f"one of {sorted(known)}", mode)
    call.check_elements([n + sum(pair) for n, pair in zip(x.shape, around, strict=True)])
    found = np.pad(call.indices(x), around, mode=mode, **known[mode])
    made = call.selected(x, found)
    if value and mode == "constant":
        return Secret(call.builder.scaled(made.name, 1.0, (found[0] < 0) * value), made.shape)
    return made


@handles("Concat")
def concat(call: Call) -> Secret:
    """Of encrypted values and constants, along an axis of one input."""
    found = [call.value(index) for index, _ in enumerate(call.inputs)]
    values = [call.apart(value) if isinstance(value, Secret) else value for value in found]
    batches = {value.place for value in values if isinstance(value, Secret)}
    if len(batches) > 1:
        hint = "transpose some of them, so that their batch axes meet"
        raise call.wrong("values with one batch axis", f"axes {sorted(batches)}", hint)
    first, batch = next(value for value in values if isinstance(value, Secret)), batches.pop()
    axis = call.axis(int(call.attribute("axis", 1)), first)
    sizes = [int(np.prod(getattr(value, "shape", ()))) for value in values]
    starts = np.cumsum([0, *sizes])
    flat: list[NDArray[np.int64]] = []
    for value, start, count in zip(values, starts, sizes, strict=False):
        shape = getattr(value, "shape", ())
        flat.append(np.arange(start, start + count).reshape(shape))
    try:
        order = np.concatenate(flat, axis)
    except ValueError as error:
        raise call.wrong("shapes that fit together", error) from None
    call.check_batch(order.shape, batch)
    bias, terms = np.zeros(order.size), []
    for index, (value, start, count) in enumerate(zip(values, starts, sizes, strict=False)):
        own = order.ravel() - start
        inside = (own >= 0) & (own < count)
        if isinstance(value, Secret):
            terms.append((value.name, selection(np.where(inside, own, -1), count)))
        else:
            bias[inside] = call.weights(index).ravel()[own[inside]]
    return call.affine(terms, bias, without_batch(order.shape, batch), batch)
