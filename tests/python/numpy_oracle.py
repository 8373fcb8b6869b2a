"""NumPy arrays of any dtype, shape and layout, and the comparison of a tensor with one."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL = [*INTEGERS, *FLOATS]
NUMERIC = [*REAL, *COMPLEX]
ALL = ["bool", *NUMERIC]

Array = NDArray[Any]


@st.composite
def laid_out(draw: st.DrawFn, array: Array) -> Array:
    """The array in some layout: axes in any order, steps of any sign, or repeated elements."""
    if array.ndim == 0:
        return array
    order = draw(st.permutations(range(array.ndim)))
    steps = [draw(st.sampled_from([1, 1, -1, 2, -2])) for _ in order]
    if array.size and draw(st.integers(0, 3)) == 0:
        first = array[tuple(slice(0, draw(st.sampled_from([1, size]))) for size in array.shape)]
        return np.broadcast_to(first, array.shape)
    room = [array.shape[axis] * abs(step) for axis, step in zip(order, steps, strict=True)]
    view = np.zeros(room, array.dtype)[tuple(slice(None, None, step) for step in steps)]
    view = view.transpose(np.argsort(order))
    view[...] = array
    return view


@st.composite
def arrays(
    draw: st.DrawFn,
    dtypes: list[str],
    shape: tuple[int, ...] | None = None,
    *,
    special: bool = False,
) -> Array:
    """Arrays of small numbers, which arithmetic keeps exact, with NaN and infinities if special."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    if shape is None:
        shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    least = 0 if dtype.kind in "ub" else -9
    elements: st.SearchStrategy[Any] = st.integers(least, 1 if dtype.kind == "b" else 9)
    if dtype.kind in "fc" and special:
        elements |= st.sampled_from([np.nan, np.inf, -np.inf, -0.0])
    if dtype.kind == "c":
        elements = st.builds(complex, elements, elements)
    values = draw(hnp.arrays(object, shape, elements=elements))
    return draw(laid_out(values.astype(dtype)))


def same(actual: cw.Tensor, expected: Any, rtol: float = 0.0) -> None:
    """Assert that dtypes, shapes and elements agree, NaN with NaN; floats to rtol if given."""
    expected = np.asarray(expected)
    assert isinstance(actual, cw.Tensor)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if rtol and expected.dtype.kind in "fc":
        np.testing.assert_allclose(np.asarray(actual), expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(np.asarray(actual), expected)


def both(name: str, *args: Any, rtol: float = 0.0, **options: Any) -> None:
    """Assert that a function of ours and of NumPy agree: on the results, or on refusing the call.

    A refusal of ours is one of Cloakwork's errors, or of Python about the kind of an argument.
    """
    ours, theirs = cw, np
    for part in name.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    try:
        expected = theirs(*args, **options)
    except (ValueError, TypeError, IndexError):
        with pytest.raises((CloakworkError, TypeError)):
            ours(*args, **options)
        return
    actual = ours(*args, **options)
    if isinstance(expected, tuple | list):
        assert isinstance(actual, type(expected))
        for mine, other in zip(actual, expected, strict=True):
            same(mine, other, rtol)
    else:
        same(actual, expected, rtol)


def axes_of(array: Array) -> st.SearchStrategy[Any]:
    """None, an axis, or several, counted from either end."""
    if array.ndim == 0:
        return st.none() | st.just(())
    axis = st.integers(-array.ndim, array.ndim - 1)
    several = st.lists(st.integers(0, array.ndim - 1), unique=True).map(tuple)
    return st.none() | axis | several
