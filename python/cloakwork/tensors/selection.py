"""Selections by keys with tensors or masks: a view, and indices along some of its axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise, zip_longest
from math import prod
from operator import add, index, or_
from types import EllipsisType
from typing import Any

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import OpError, SecretError, TensorIndexError, TraceError
from cloakwork.tensors.conversion import asarray

_MOST = 2**63 - 1
_KEYS = "an integer, slice, `...`, None, or a tensor or list of integers or bools"

_Key = int | slice | EllipsisType | Tensor | None
_Shape = tuple[int, ...]


@dataclass(frozen=True)
class AxisIndices:
    """Indices along one axis of a view, or along the neighbouring axes that a mask covers."""

    indices: Tensor
    axes: range
    size: int
    # The axis of the indexed tensor, for messages; None if the indices are known to be in range.
    place: int | None = None

    def wrong(self) -> Tensor:
        """Which of the indices are out of range."""
        return (self.indices < -self.size) | (self.indices >= self.size)

    def times(self, step: int) -> Tensor:
        """`step` times the indices, negative ones counted from the start first."""
        indices = self.indices
        if self.place is not None:
            indices = ops.where(indices + self.size, indices, indices < 0)
        return indices * step if step != 1 else indices


@dataclass(frozen=True)
class Selection:
    """The selection of a key in a view."""

    view: Tensor
    entries: list[AxisIndices]
    # Axes that stay, before the indexed ones in the result and after them.
    before: list[int]
    after: list[int]
    # The shape of the indices, broadcast.
    index_shape: _Shape

    def _sizes(self, axes: list[int]) -> list[int]:
        return [self.view.shape[axis] for axis in axes]

    @property
    def shape(self) -> _Shape:
        """The result's shape."""
        return (*self._sizes(self.before), *self.index_shape, *self._sizes(self.after))

    @property
    def merge(self) -> bool:
        """Whether the indexed axes can be merged into one without a copy."""
        return _mergeable(self.view, [axis for entry in self.entries for axis in entry.axes])

    @property
    def is_flat(self) -> bool:
        """Whether all axes can be merged into one without a copy."""
        return _mergeable(self.view, [*range(self.view.ndim)])

    @property
    def merged_shape(self) -> _Shape:
        """The shape of `ordered` with the indexed axes merged into one."""
        size = prod(entry.size for entry in self.entries)
        return (*self._sizes(self.before), size, *self._sizes(self.after))

    def ordered(self) -> Tensor:
        """The view with the indexed axes side by side, where the result has them."""
        indexed = [axis for entry in self.entries for axis in entry.axes]
        return transposed(self.view, [*self.before, *indexed, *self.after])

    def merged(self) -> Tensor:
        """`ordered` with one axis for all that are indexed: a view if `merge`, else a copy."""
        return self.ordered().reshape(self.merged_shape)

    def indices(self) -> Tensor:
        """Indices into the merged axis, row-major, one axis."""
        count = prod(self.index_shape)
        if len(self.entries) == 1:
            return self.entries[0].indices.reshape([count])
        steps = _row_major([entry.size for entry in self.entries])
        indices = reduce(add, [p.times(s) for p, s in zip(self.entries, steps, strict=True)])
        return self._marked(indices, prod(entry.size for entry in self.entries)).reshape([count])

    def flat_indices(self) -> Tensor:
        """The result's elements as indices into the view's elements, row-major, one axis."""
        steps = _row_major(self.view.shape)
        behind = len(self.after)
        parts = [entry.times(steps[entry.axes[-1]]) for entry in self.entries]
        combined = self._marked(reduce(add, parts), self.view.size)
        terms = [combined.reshape([*combined.shape] + [1] * behind)]
        for axis, place in self._stay():
            numbers = _numbers(self.view.shape[axis], steps[axis])
            terms.append(numbers.reshape([numbers.size] + [1] * (len(self.shape) - place - 1)))
        indices = reduce(add, terms)
        return ops.broadcast_to(indices, self.shape).reshape([prod(self.shape)])

    def _stay(self) -> Iterator[tuple[int, int]]:
        """The axes of the view that stay, each with its position in the result."""
        yield from zip(self.before, range(len(self.before)), strict=True)
        first = len(self.before) + len(self.index_shape)
        yield from zip(self.after, range(first, first + len(self.after)), strict=True)

    def _marked(self, indices: Tensor, beyond: int) -> Tensor:
        """The indices, with `beyond` where one of their parts is out of range."""
        checked = [entry.wrong() for entry in self.entries if entry.place is not None]
        if not checked:
            return indices
        return ops.where(asarray(beyond, "i64"), indices, reduce(or_, checked))

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Name the index that is out of range and its axis, instead of the op's message."""
        try:
            yield
        except OpError:
            for entry in self.entries:
                refuse_wrong(entry)
            raise


def refuse_wrong(entry: AxisIndices) -> None:
    """TensorIndexError for an index that is out of range; traced indices pass unchecked."""
    if entry.place is None or entry.indices.size == 0:
        return
    indices = entry.indices.reshape([entry.indices.size])
    wrong = ops.astype(entry.wrong().reshape([indices.size]), "int8")
    try:
        first = int(ops.argmax(wrong, 0))
    except TraceError:
        return
    if int(wrong[first]):
        got = indices[first].item()
        at = f"axis {entry.place} of size {entry.size}"
        raise TensorIndexError(f"index {got} is out of range for {at}")


def selection_of(tensor: Tensor, key: Any) -> Selection:
    """The view and the indices of a key."""
    keys = _whole([known(part) for part in (key if isinstance(key, tuple) else (key,))], tensor)
    basic: list[Any] = []
    entries: list[AxisIndices] = []
    indexed: list[int] = []
    stay: list[tuple[int, int]] = []
    axis = place = 0
    for number, part in enumerate(keys):
        count = _axes_of(part)
        if isinstance(part, Tensor):
            indexed.append(number)
            entries.append(_axis_indices(part, axis, place, tensor.shape[place : place + count]))
            basic += [slice(None)] * count if count else [None]
            axis += max(count, 1)
        elif isinstance(part, int):
            indexed.append(number)
            basic.append(part)
        elif part is not Ellipsis:
            basic.append(part)
            stay.append((number, axis))
            axis += 1
        place += count
    together = indexed[-1] - indexed[0] < len(indexed)
    index_shape = _broadcast([entry.indices.shape for entry in entries])
    if prod(index_shape) == 0:
        # No op will check the indices.  Like NumPy, check single indices only.
        for entry in entries:
            if entry.indices.ndim == 0:
                refuse_wrong(entry)
    return Selection(
        view=tensor[tuple(basic)],
        entries=entries,
        before=[axis for number, axis in stay if together and number < indexed[0]],
        after=[axis for number, axis in stay if not together or number > indexed[0]],
        index_shape=index_shape,
    )


def known(part: Any) -> _Key:
    """An entry of a key: tensors of integers as i64, other arrays as tensors."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if type(part) is int:
        return part
    found: Tensor = part
    if not isinstance(part, Tensor):
        if not hasattr(part, "__len__") and not isinstance(part, bool) and _is_index(part):
            return index(part)
        if isinstance(part, str | bytes):
            raise TensorIndexError(f"got {part!r}, expected {_KEYS}")
        found = asarray(part)
        if isinstance(part, list | tuple) and found.size == 0:
            found = ops.astype(found, "i64")
    if found.dtype == "bool":
        return found
    if found.dtype.kind not in "iu":
        raise TensorIndexError(f"got a tensor of {found.dtype.name}, expected {_KEYS}")
    if found.dtype == "u64":
        # What i64 does not hold is out of range, and must not wrap into it.
        found = ops.minimum(found, asarray(_MOST, "u64"))
    return ops.astype(found, "i64") if found.dtype != "i64" else found


def _is_index(part: Any) -> bool:
    kind = type(part)  # a class has the methods of its objects
    return hasattr(kind, "__index__") and kind.__name__ not in ("bool", "bool_")


def _axes_of(part: _Key) -> int:
    """How many axes of the tensor an entry consumes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, Tensor) and part.dtype == "bool" else 1


def _whole(keys: list[_Key], tensor: Tensor) -> list[_Key]:
    """The key with an entry for each axis: `...` replaced by slices."""
    spare = tensor.ndim - sum(map(_axes_of, keys))
    if spare < 0:
        raise TensorIndexError(f"{tensor.ndim - spare} indices for a tensor of {tensor.ndim} axes")
    dots = [number for number, part in enumerate(keys) if part is Ellipsis]
    if len(dots) > 1:
        raise TensorIndexError("an index can have only one `...`")
    end = dots[0] + 1 if dots else len(keys)
    return [*keys[:end], *[slice(None)] * spare, *keys[end:]]


def _axis_indices(part: Tensor, axis: int, place: int, sizes: _Shape) -> AxisIndices:
    """Indices for the axes of a view from `axis` on, which are the tensor's from `place` on."""
    if part.dtype != "bool":
        return AxisIndices(part, range(axis, axis + 1), sizes[0], place)
    for number, (own, size) in enumerate(zip(part.shape, sizes, strict=True)):
        if own not in (size, 0):  # an empty mask fits any size
            at = f"axis {place + number} of size {size}"
            raise TensorIndexError(f"a mask of shape {part.shape} does not fit {at}")
    if part.is_secret:
        raise SecretError("a secret mask must not decide a shape; use where")
    try:
        count = int(ops.count_nonzero(part, [*range(part.ndim)]))
    except TraceError:
        raise TraceError(
            "indexing by a traced mask: the shape of the result would depend on its elements; "
            "use where"
        ) from None
    indices = ops.nonzero(part.reshape([part.size]), count).reshape([count])
    return AxisIndices(indices, range(axis, axis + max(part.ndim, 1)), prod(sizes))


def _broadcast(shapes: list[_Shape]) -> _Shape:
    """The shape of index tensors under broadcast."""
    sizes = []
    for column in zip_longest(*map(reversed, shapes), fillvalue=1):
        longer = {size for size in column if size != 1}
        if len(longer) > 1:
            shown = ", ".join(map(str, shapes))
            raise TensorIndexError(f"index tensors of shapes {shown} do not broadcast")
        sizes.append(longer.pop() if longer else 1)
    return tuple(reversed(sizes))


def _numbers(count: int, step: int) -> Tensor:
    """`0, step, .., (count - 1) * step`."""
    return ops.arange(asarray(0, "i64"), asarray(step, "i64"), count)


def _row_major(sizes: _Shape | list[int]) -> list[int]:
    """How many elements a step along each axis skips."""
    return [prod(sizes[after:]) for after, _ in enumerate(sizes, 1)]


def transposed(tensor: Tensor, axes: list[int]) -> Tensor:
    """The axes in that order."""
    return tensor if axes == [*range(tensor.ndim)] else ops.transpose(tensor, axes)


def _mergeable(tensor: Tensor, axes: list[int]) -> bool:
    """Whether strides allow several axes to be merged into one."""
    if tensor.size == 0:
        return True
    parts = [(tensor.shape[axis], tensor.strides[axis]) for axis in axes if tensor.shape[axis] > 1]
    return all(outer == size * step for (_, outer), (size, step) in pairwise(parts))
