"""Tensors as sets of elements."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, int64
from cloakwork.array_api.common import REAL_OF, Operand, Scalar, cast, tensor_of, weak_operand
from cloakwork.array_api.creation import empty_like, ones
from cloakwork.array_api.datatypes import result_type
from cloakwork.array_api.elementwise.comparison import equal
from cloakwork.array_api.indexing import take
from cloakwork.array_api.manipulation import concat
from cloakwork.array_api.searching import nonzero
from cloakwork.array_api.utility import any, diff
from cloakwork.lazy import public
from cloakwork.tensors.arrays import of_array, operand


@public("cloakwork")
class UniqueAll(NamedTuple):
    """See `unique_all`."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


@public("cloakwork")
class UniqueCounts(NamedTuple):
    """See `unique_counts`."""

    values: Tensor
    counts: Tensor


@public("cloakwork")
class UniqueInverse(NamedTuple):
    """See `unique_inverse`."""

    values: Tensor
    inverse_indices: Tensor


class _Groups(NamedTuple):
    """The elements sorted, so that equal ones are adjacent."""

    shape: tuple[int, ...]
    # The elements in ascending order, and their indices in the flattened tensor.
    ordered: Tensor
    order: Tensor
    # Whether each of them differs from the one before.
    is_first: Tensor


@of_array
def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements, their first indices, each element's index among them, and counts.

    In ascending order; indices are int64 and refer to the flattened tensor.  Each NaN is distinct.

    >>> import cloakwork as cw
    >>> cw.unique_all(cw.asarray([7, 5, 7])).indices
    Tensor([1, 0], dtype=i64)
    """
    groups = _groups(x)
    indices = take(groups.order, _starts(groups))
    return UniqueAll(_values(groups), indices, _inverse(groups), _counts(groups))


@of_array
def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements in ascending order, and how often each occurs; see `unique_all`.

    >>> import cloakwork as cw
    >>> cw.unique_counts(cw.asarray([7, 5, 7])).counts
    Tensor([1, 2], dtype=i64)
    """
    groups = _groups(x)
    return UniqueCounts(_values(groups), _counts(groups))


@of_array
def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements in ascending order, and each element's index among them.

    >>> import cloakwork as cw
    >>> cw.unique_inverse(cw.asarray([7, 5, 7])).inverse_indices
    Tensor([1, 0, 1], dtype=i64)
    """
    groups = _groups(x)
    return UniqueInverse(_values(groups), _inverse(groups))


@of_array
def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements in ascending order; each NaN is distinct.

    >>> import cloakwork as cw
    >>> cw.unique_values(cw.asarray([7, 5, 7]))
    Tensor([5, 7], dtype=i64)
    """
    return _values(_groups(x))


def _groups(x: Tensor) -> _Groups:
    flat = x.reshape(-1)
    if flat.dtype.name in REAL_OF:
        # Complex numbers are sorted by their real parts, then by their imaginary parts.
        order = ops.argsort(ops.imag(flat), 0)
        order = take(order, ops.argsort(ops.real(take(flat, order)), 0))
    else:
        order = ops.argsort(flat, 0)
    ordered = take(flat, order)
    first = ones(min(flat.size, 1), "bool")
    is_first = concat([first, ordered[1:] != ordered[:-1]])
    return _Groups(x.shape, ordered, order, is_first)


def _starts(groups: _Groups) -> Tensor:
    """The first index of each distinct element; their number depends on the elements."""
    return nonzero(groups.is_first)[0]


def _values(groups: _Groups) -> Tensor:
    return take(groups.ordered, _starts(groups))


def _inverse(groups: _Groups) -> Tensor:
    numbers = ops.cumulative_sum(groups.is_first, 0) - 1
    places = ops.scatter(empty_like(groups.order, dtype=int64), groups.order, numbers)
    return places.reshape(groups.shape)


def _counts(groups: _Groups) -> Tensor:
    end = tensor_of(groups.order.size, int64).reshape(1)
    return diff(_starts(groups), append=end)


def isin(x1: Operand | ArrayLike, x2: Operand | ArrayLike, /, *, invert: bool = False) -> Tensor:
    """Whether each element of `x1` occurs in `x2`; the opposite if `invert`.  NaN never occurs.

    Both may be lists.

    >>> import cloakwork as cw
    >>> cw.isin(cw.asarray([1, 2, 3]), cw.asarray([3, 1]))
    Tensor([ True, False,  True], dtype=bool)
    """
    if isinstance(x2, Scalar):
        found = equal(operand(x1, "x1"), x2)
        return ops.logical_not(found) if invert else found
    first, candidates = weak_operand(x1, "x1"), operand(x2, "x2")
    if not isinstance(first, Tensor):
        found = any(equal(candidates, first))
        return ops.logical_not(found) if invert else found
    dtype = result_type(first, candidates)
    elements, candidates = cast(first, dtype), cast(candidates, dtype)
    # Equal elements get equal numbers; the candidates' numbers are searched sorted.
    both = concat([elements, candidates], axis=None)
    numbers = _inverse(_groups(both))
    own, others = numbers[: elements.size], ops.sort(numbers[elements.size :], 0)
    found = ops.searchsorted(own, others, right=True) > ops.searchsorted(own, others)
    found = found.reshape(elements.shape)
    return ops.logical_not(found) if invert else found
