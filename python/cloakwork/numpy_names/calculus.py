"""Differences, derivatives and integrals of samples, by NumPy's names."""

from __future__ import annotations

from numpy.typing import ArrayLike

from cloakwork._core import Tensor, float64
from cloakwork.array_api import statistical
from cloakwork.array_api.common import axes_of, axis_of, cast, real_number, whole
from cloakwork.array_api.manipulation import concat, moveaxis
from cloakwork.array_api.utility import diff
from cloakwork.errors import DTypeError, ParamError
from cloakwork.tensors.arrays import operand

# Weights of the elements of an axis, the first axis here, for one difference quotient.
_Weights = list[Tensor | float]
# Kinds of dtypes; each holds the numbers of those before it.
_KINDS = {"b": 0, "u": 1, "i": 2, "f": 3, "c": 4}


def ediff1d(
    x: ArrayLike | Tensor,
    /,
    to_end: ArrayLike | Tensor | None = None,
    to_begin: ArrayLike | Tensor | None = None,
) -> Tensor:
    """The differences of neighbours among all elements, between those of `to_begin` and `to_end`.

    These get the dtype of `x`.  TypeError for bool, for floats among integers, and for others among
    elements of a field.

    >>> import cloakwork as cw
    >>> cw.ediff1d([1, 4, 9], to_end=0)
    Tensor([3, 5, 0], dtype=i64)
    """
    flat = operand(x).reshape(-1)
    if flat.dtype.kind == "b":
        raise DTypeError("x", "bool", "numbers, which have differences")
    ends = [
        [] if piece is None else [_end(operand(piece, place), flat, place)]
        for piece, place in ((to_begin, "to_begin"), (to_end, "to_end"))
    ]
    return concat([*ends[0], diff(flat), *ends[1]])


def _end(piece: Tensor, like: Tensor, place: str) -> Tensor:
    fits = _KINDS.get(piece.dtype.kind, len(_KINDS)) <= _KINDS.get(like.dtype.kind, -1)
    if not fits and piece.dtype != like.dtype:
        raise DTypeError(place, piece.dtype.name, f"numbers that {like.dtype.name} holds")
    return cast(piece.reshape(-1), like.dtype)


def trapezoid(
    y: ArrayLike | Tensor,
    /,
    x: ArrayLike | Tensor | None = None,
    dx: float = 1.0,
    axis: int = -1,
) -> Tensor:
    """The integral of samples along an axis by the trapezoidal rule; float64 for integers.

    The samples are `dx` apart, or at `x`: of one axis, or of the shape of `y`.  TypeError for bool.

    >>> import cloakwork as cw
    >>> cw.trapezoid([1, 2, 4], [0, 1, 3])
    Tensor(7.5, dtype=f64)
    """
    y = _floats(operand(y, "y"), "y")
    place = axis_of(axis, y.ndim)
    lines = moveaxis(y, place, -1)
    pairs = (lines[..., 1:] + lines[..., :-1]) / 2.0
    dx = real_number(dx, "dx")
    if x is None:
        return statistical.sum(pairs, axis=-1) * dx
    at = _floats(operand(x), "x")
    if at.ndim not in (1, y.ndim):
        raise ParamError("x", f"{at.ndim} axes", f"one axis, or {y.ndim} as y has")
    at = at if at.ndim == 1 else moveaxis(at, place, -1)
    if at.shape[-1] != lines.shape[-1]:
        expected = f"{lines.shape[-1]} samples, as y has along axis {axis}"
        raise ParamError("x", f"{at.shape[-1]} along it", expected)
    return statistical.sum(diff(at) * pairs, axis=-1)


def gradient(
    f: ArrayLike | Tensor,
    /,
    *varargs: ArrayLike | Tensor,
    axis: int | tuple[int, ...] | None = None,
    edge_order: int = 1,
) -> Tensor | tuple[Tensor, ...]:
    """The derivative of samples along an axis, or a tuple of them for each of several axes.

    From both neighbours, exact to the second order; at the ends from the one neighbour, or from
    two if `edge_order` is 2.  `varargs` are the distance of neighbours, or one for each axis, or
    the places along each axis, which may differ in distance.  Floats keep their dtype, integers
    give float64.

    >>> import cloakwork as cw
    >>> cw.gradient([1, 4, 9, 16])
    Tensor([3., 4., 6., 7.], dtype=f64)
    """
    f = _floats(operand(f, "f"), "f")
    if whole(edge_order, "edge_order") not in (1, 2):
        raise ParamError("edge_order", edge_order, "1 or 2")
    axes = axes_of(axis, f.ndim)
    given = [_floats(operand(one, "varargs"), "varargs") for one in varargs or (1.0,)]
    if len(given) == 1 and given[0].ndim == 0:
        given *= len(axes)
    if len(given) != len(axes):
        expected = f"none, one number, or one for each of {len(axes)} axes"
        raise ParamError("varargs", f"{len(given)} distances", expected)
    found = tuple(
        _derivative(f, place, distance, edge_order)
        for place, distance in zip(axes, given, strict=True)
    )
    return found[0] if isinstance(axis, int) or len(found) == 1 else found


def _floats(x: Tensor, place: str) -> Tensor:
    if x.dtype.kind == "b":
        raise DTypeError(place, "bool", "numbers; x.astype makes them of bool")
    return x if x.dtype.kind in "fc" else cast(x, float64)


def _derivative(f: Tensor, axis: int, distance: Tensor, edge_order: int) -> Tensor:
    """The derivative along an axis, with the distance of neighbours or the places of samples."""
    size = f.shape[axis]
    if size < edge_order + 1:
        expected = f"{edge_order + 1} samples or more along axis {axis}"
        raise ParamError("f", f"shape {f.shape}", expected)
    if distance.ndim > 1 or (distance.ndim == 1 and distance.shape[0] != size):
        expected = f"a number, or {size} places as along axis {axis}"
        raise ParamError("varargs", f"shape {distance.shape}", expected)
    lines = moveaxis(f, axis, 0)
    # Distances stand along the first axis; a single one is the same for all.
    inside, first, last = (
        _uneven(diff(distance).reshape(-1, *(1,) * (f.ndim - 1)), edge_order)
        if distance.ndim
        else _even(distance, edge_order)
    )
    count = edge_order + 1
    parts = [
        _weighted(first, [lines[i : i + 1] for i in range(count)]),
        _weighted(inside, [lines[:-2], lines[1:-1], lines[2:]]),
        _weighted(last, [lines[size - count + i : size - count + i + 1] for i in range(count)]),
    ]
    return cast(moveaxis(concat(parts, axis=0), 0, axis), f.dtype)


def _even(step: Tensor, edge_order: int) -> tuple[_Weights, _Weights, _Weights]:
    """The weights inside, of the first and of the last samples, for equal distances."""
    inside: _Weights = [-0.5 / step, 0.0, 0.5 / step]
    if edge_order == 1:
        return inside, [-1.0 / step, 1.0 / step], [-1.0 / step, 1.0 / step]
    return (
        inside,
        [-1.5 / step, 2.0 / step, -0.5 / step],
        [0.5 / step, -2.0 / step, 1.5 / step],
    )


def _uneven(steps: Tensor, edge_order: int) -> tuple[_Weights, _Weights, _Weights]:
    """The same for distances `[size - 1, 1, ..]`: derivatives of the parabola through three."""
    before, after = steps[:-1], steps[1:]
    both = before + after
    inside: _Weights = [
        -after / (before * both),
        (after - before) / (before * after),
        before / (after * both),
    ]
    if edge_order == 1:
        first, last = steps[:1], steps[-1:]
        return inside, [-1.0 / first, 1.0 / first], [-1.0 / last, 1.0 / last]
    p, q = before[:1], after[:1]
    left: _Weights = [-(p + p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))]
    p, q = before[-1:], after[-1:]
    right: _Weights = [q / (p * (p + q)), -(p + q) / (p * q), (p + q + q) / (q * (p + q))]
    return inside, left, right


def _weighted(weights: _Weights, samples: list[Tensor]) -> Tensor:
    terms = [s * w for w, s in zip(weights, samples, strict=True) if isinstance(w, Tensor)]
    found = terms[0]
    for term in terms[1:]:
        found = found + term
    return found
