"""Einstein's summation, by products of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cloakwork import ops
from cloakwork._core import Tensor, bool_, int64
from cloakwork.array_api.common import cast
from cloakwork.array_api.linear import matmul
from cloakwork.array_api.manipulation import moveaxis
from cloakwork.array_api.statistical import sum as total
from cloakwork.numpy_names.subscripts import Parsed, parse
from cloakwork.tensors.arrays import operand

# A tensor, and the label of each of its axes.
Labelled = tuple[Tensor, str]


def einsum(subscripts: str, /, *operands: ArrayLike | Tensor) -> Tensor:
    """Sums of products of elements whose axes have the same label: "ij,jk->ik" is a product.

    A repeated label of one operand is its diagonal; "..." stands for axes that broadcast; without
    "->" the result has the labels that occur once, in alphabetical order.  The dtype is the
    promoted one of all operands, also for integers, which wrap.  Three operands or more are
    multiplied in pairs, in the order of `opt_einsum` if that is installed, else of NumPy.

    ParamError for subscripts that do not fit the operands.

    >>> import cloakwork as cw
    >>> cw.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 10])
    Tensor([21, 43], dtype=i64)
    """
    tensors = [operand(one, f"operands[{place}]") for place, one in enumerate(operands)]
    parsed = parse(subscripts, [tensor.shape for tensor in tensors])
    truths = all(tensor.dtype == bool_ for tensor in tensors)
    if truths:
        tensors = [cast(tensor, int64) for tensor in tensors]
    pieces = [
        _narrowed(_diagonals(tensor, labels), parsed.sizes)
        for tensor, labels in zip(tensors, parsed.operands, strict=True)
    ]
    result, labels = _multiplied(pieces, parsed)
    made = ops.transpose(result, [labels.index(label) for label in parsed.output])
    return cast(made, bool_) if truths else made


def _multiplied(pieces: list[Labelled], parsed: Parsed) -> Labelled:
    """The product of all pieces, pair by pair, with the labels of the output."""
    for places in _path(pieces, parsed.output):
        chosen = [pieces[place] for place in places]
        pieces = [piece for place, piece in enumerate(pieces) if place not in places]
        while len(chosen) > 1:
            first, second, *chosen = chosen
            rest = "".join(labels for _, labels in (*chosen, *pieces))
            chosen.insert(0, _product(first, second, set(rest + parsed.output)))
        pieces.append(chosen[0])
    return _summed(pieces[0], set(parsed.output))


def _path(pieces: Sequence[Labelled], output: str) -> Iterable[tuple[int, ...]]:
    """Which pieces to multiply, one after the other; results are appended."""
    if len(pieces) < 3:
        return [tuple(range(len(pieces)))]
    expression = ",".join(labels for _, labels in pieces) + "->" + output
    shapes = [tensor.shape for tensor, _ in pieces]
    if find_spec("opt_einsum") is not None:
        import opt_einsum

        found: Iterable[tuple[int, ...]] = opt_einsum.contract_path(
            expression, *shapes, shapes=True
        )[0]
        return found
    stand_ins: list[Any] = [np.broadcast_to(0.0, shape) for shape in shapes]
    steps: list[Any] = np.einsum_path(expression, *stand_ins, optimize="greedy")[0]
    return steps[1:]


def _diagonals(x: Tensor, labels: str) -> Labelled:
    """Axes with the same label merged into one."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = moveaxis(x, (first, second), (0, 1))
            rows, columns, *rest = x.shape
            x = x.reshape((rows * columns, *rest))[:: columns + 1]
            labels = label + labels[:first] + labels[first + 1 : second] + labels[second + 1 :]
    return x, labels


def _narrowed(piece: Labelled, sizes: dict[str, int]) -> Labelled:
    """Without the axes of size 1 that broadcast."""
    x, labels = piece
    spread = [x.shape[axis] == 1 != sizes[label] for axis, label in enumerate(labels)]
    x = x[tuple(0 if one else slice(None) for one in spread)]
    return x, "".join(label for label, one in zip(labels, spread, strict=True) if not one)


def _summed(piece: Labelled, kept: set[str]) -> Labelled:
    """Without the labels that are not kept, summed."""
    x, labels = piece
    axes = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    if not axes:
        return piece
    summed = total(x, axis=axes, dtype=x.dtype if x.dtype.kind in "iu" else None)
    return summed, "".join(label for label in labels if label in kept)


def _product(first: Labelled, second: Labelled, kept: set[str]) -> Labelled:
    """The product of two, summed over the labels that are not kept."""
    x, left = _summed(first, kept | set(second[1]))
    y, right = _summed(second, kept | set(left))
    both = [label for label in left if label in right]
    common = "".join(label for label in both if label in kept)
    inner = "".join(label for label in both if label not in kept)
    rows = "".join(label for label in left if label not in right)
    columns = "".join(label for label in right if label not in left)
    sizes = dict(zip(left + right, x.shape + y.shape, strict=True))
    shape = [sizes[label] for label in common + rows + columns]
    x, y = _grouped(x, left, common, (rows, inner)), _grouped(y, right, common, (inner, columns))
    made = matmul(x, y) if inner else x * y
    return made.reshape(shape), common + rows + columns


def _grouped(x: Tensor, labels: str, common: str, groups: tuple[str, str]) -> Tensor:
    """The common axes, and each group of axes as one."""
    sizes = dict(zip(labels, x.shape, strict=True))
    order = [labels.index(label) for label in common + groups[0] + groups[1]]
    merged = [math.prod(sizes[label] for label in group) for group in groups]
    return ops.transpose(x, order).reshape([*(sizes[label] for label in common), *merged])
