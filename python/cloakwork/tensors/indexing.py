"""Indexing by tensors and masks, as NumPy has it; what integers and slices show is the engine's.

`take_along_axis` reads along the axes that a key indexes, merged into one, and `scatter` writes.
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import Any

from cloakwork import ops
from cloakwork._core import Tensor, int64
from cloakwork.errors import OpError, ParamError
from cloakwork.tensors.conversion import asarray
from cloakwork.tensors.selection import (
    Pick,
    Picks,
    known,
    leading_mask,
    picks_of,
    refuse_wrong,
    transposed,
)


def get(tensor: Tensor, key: Any) -> Tensor:
    """Elements that integer tensors or masks pick: a copy."""
    if not isinstance(key, tuple):
        key = known(key)
        if isinstance(key, Tensor) and key.dtype is int64 and tensor.ndim > 0:
            return _rows(tensor, key)
    picks = picks_of(tensor, key)
    with picks.named_errors():
        if not picks.merge and picks.is_flat:
            flat = picks.view.reshape([picks.view.size])
            taken = ops.take_along_axis(flat, picks.flat_indices(), 0)
        else:
            source, place = picks.merged(), len(picks.before)
            shape = [1] * source.ndim
            shape[place] = prod(picks.picked)
            taken = ops.take_along_axis(source, picks.indices().reshape(shape), place)
    return taken.reshape(picks.shape)


def _rows(tensor: Tensor, indices: Tensor) -> Tensor:
    """`tensor[indices]`: what `get` does, without a plan, as it is what most keys are."""
    shape = [indices.size, *[1] * (tensor.ndim - 1)]
    try:
        rows = ops.take_along_axis(tensor, indices.reshape(shape), 0)
    except OpError:
        refuse_wrong(Pick(indices, range(1), tensor.shape[0], 0))
        raise
    return rows if indices.ndim == 1 else rows.reshape((*indices.shape, *tensor.shape[1:]))


def put(tensor: Tensor, key: Any, value: Any) -> None:
    """Write to the elements that integer tensors or masks pick; of equal indices the last counts.

    The value broadcasts.  TypeError if its kind does not fit, such as floats into integers.
    """
    value = _elements(value, tensor)
    if not isinstance(key, tuple):
        key = known(key)
    if value.ndim == 0 and (mask := leading_mask(tensor, key)) is not None:
        ops.where(ops.copy(value), tensor, mask, out=tensor)
        return
    picks = picks_of(tensor, key)
    with picks.named_errors():
        if picks.merge:
            _write(picks, picks.merged(), value)
        elif picks.is_flat:
            flat, indices = picks.view.reshape([picks.view.size]), picks.flat_indices()
            rows = ops.copy(_spread(value, picks.shape)).reshape(indices.shape)
            ops.scatter(flat, indices, rows, out=flat)
        else:
            # The axes do not lie side by side; in a copy in the order that is wanted they do.
            ordered = picks.ordered()
            own = ops.copy(ordered)
            _write(picks, own.reshape(picks.merged_shape), value)
            ops.copy(own, out=ordered)


def _write(picks: Picks, target: Tensor, value: Tensor) -> None:
    """Write a value to a tensor of the merged shape."""
    before, count, rank = len(picks.before), prod(picks.picked), len(picks.picked)
    target = target.moveaxis(before, 0)
    # Copies: they may be elements of what is written.
    if value.ndim == 0:
        rows = ops.broadcast_to(ops.copy(value), [count, *target.shape[1:]])
    else:
        moved = [*range(before, before + rank)]
        stay = [*range(before), *range(before + rank, len(picks.shape))]
        rows = ops.copy(transposed(_spread(value, picks.shape), moved + stay))
        rows = rows.reshape([count, *rows.shape[rank:]])
    indices = picks.indices()
    if target.dtype == "i64":
        indices = ops.copy(indices)
    ops.scatter(target, indices, rows, out=target)


def _elements(value: Any, tensor: Tensor) -> Tensor:
    """A value as a tensor of the dtype of the one that it is written to."""
    if not isinstance(value, bool | int | float | complex | Tensor):
        value = asarray(value)
    if isinstance(value, Tensor) and value.dtype == tensor.dtype:
        return value
    made = ops.empty(value.shape if isinstance(value, Tensor) else (), tensor.dtype)
    made[...] = value
    return made


def _spread(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value broadcast to a shape; as in NumPy, it may have leading axes of size 1 more."""
    extra = max(value.ndim - len(shape), 0)
    trimmed = value.reshape(value.shape[extra:]) if prod(value.shape[:extra]) == 1 else value
    pairs = zip_longest(reversed(trimmed.shape), reversed(shape))
    if any(own not in (size, 1, None) for own, size in pairs):
        raise ParamError("value", f"shape {value.shape}", f"one that broadcasts to {shape}")
    return ops.broadcast_to(trimmed, shape)
