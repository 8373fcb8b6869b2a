"""Indexing by several tensors and masks, as in NumPy, and errors of keys that hold any.

The engine itself indexes by integers and slices, and by one tensor or mask for the first axes.

`take_along_axis` reads along the axes that a key indexes, merged into one, and `scatter` writes.
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import Any

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.tensors.conversion import asarray
from cloakwork.tensors.selection import Selection, selection_of, transposed


def get(tensor: Tensor, key: Any) -> Tensor:
    """The elements that integer tensors or masks select, as a copy."""
    selection = selection_of(tensor, key)
    with selection.named_errors():
        if not selection.merge and selection.is_flat:
            flat = selection.view.reshape([selection.view.size])
            taken = ops.take_along_axis(flat, selection.flat_indices(), 0)
        else:
            source, place = selection.merged(), len(selection.before)
            shape = [1] * source.ndim
            shape[place] = prod(selection.index_shape)
            taken = ops.take_along_axis(source, selection.indices().reshape(shape), place)
    return taken.reshape(selection.shape)


def put(tensor: Tensor, key: Any, value: Any) -> None:
    """Write to the elements that integer tensors or masks select; the last of equal indices wins.

    The value broadcasts.  TypeError if its kind does not fit, such as floats into integers.
    """
    value = _elements(value, tensor)
    selection = selection_of(tensor, key)
    with selection.named_errors():
        if selection.merge:
            _write(selection, selection.merged(), value)
        elif selection.is_flat:
            flat, indices = selection.view.reshape([selection.view.size]), selection.flat_indices()
            rows = ops.copy(_spread(value, selection.shape)).reshape(indices.shape)
            ops.scatter(flat, indices, rows, out=flat)
        else:
            # The indexed axes cannot be merged in place; in a copy in their order they can.
            ordered = selection.ordered()
            own = ops.copy(ordered)
            _write(selection, own.reshape(selection.merged_shape), value)
            ops.copy(own, out=ordered)


def _write(selection: Selection, target: Tensor, value: Tensor) -> None:
    """Write a value to a tensor of the merged shape."""
    before, rank = len(selection.before), len(selection.index_shape)
    count = prod(selection.index_shape)
    target = target.moveaxis(before, 0)
    # Copies, as the value may share elements with the target.
    if value.ndim == 0:
        rows = ops.broadcast_to(ops.copy(value), [count, *target.shape[1:]])
    else:
        moved = [*range(before, before + rank)]
        stay = [*range(before), *range(before + rank, len(selection.shape))]
        rows = ops.copy(transposed(_spread(value, selection.shape), moved + stay))
        rows = rows.reshape([count, *rows.shape[rank:]])
    indices = selection.indices()
    if target.dtype == "i64":
        indices = ops.copy(indices)
    ops.scatter(target, indices, rows, out=target)


# Kinds in the order in which the later hold the earlier.
_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def _elements(value: Any, tensor: Tensor) -> Tensor:
    """A value as a tensor of the dtype of the one that it is written to."""
    if not isinstance(value, bool | int | float | complex | Tensor):
        if tensor.dtype.kind == "V":
            return asarray(value, tensor.dtype)
        found = asarray(value)
        fits = _KINDS[found.dtype.kind] <= _KINDS[tensor.dtype.kind]
        # The numbers of a list have to fit, as single ones do.
        value = asarray(value, tensor.dtype) if fits and isinstance(value, list | tuple) else found
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
        raise ParamError("value", f"shape {value.shape}", f"a shape that broadcasts to {shape}")
    return ops.broadcast_to(trimmed, shape)
