"""Differences, convolutions, polynomials, angles, sets and indices by NumPy's names, with NumPy."""

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import DTypeError, ParamError, TraceError
from numpy.typing import NDArray

from .numpy_oracle import both, same

RNG = np.random.default_rng(12)
SHAPES = [(), (0,), (1,), (2,), (6,), (4, 3), (3, 1, 5)]


def some(shape: tuple[int, ...], dtype: str = "float64") -> NDArray[Any]:
    made = RNG.integers(-9, 9, shape).astype(dtype)
    return made + made[::-1] * dtype_unit(dtype) if made.ndim else made


def dtype_unit(dtype: str) -> Any:
    """What makes elements more than whole numbers, where the dtype has others."""
    return {"c": 0.5j, "f": 0.25}.get(np.dtype(dtype).kind, 1) * np.ones((), dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    x = RNG.integers(0, 9, shape).astype(dtype)
    axes: list[Any] = [None, *range(-4, 3), (0, 1), (1, 0), (0, 0)]
    for axis in axes:
        for edge_order in (1, 2, 3):
            both("gradient", x, axis=axis, edge_order=edge_order, rtol=1e-5)
            both("gradient", x, 0.5, axis=axis, edge_order=edge_order, rtol=1e-5)
            both("gradient", x, 2.0, 3.0, axis=axis, edge_order=edge_order, rtol=1e-5)
        for size in set(shape):
            places = np.cumsum(RNG.random(size) + 0.2)
            both("gradient", x, places, axis=axis, rtol=1e-4)
            both("gradient", x, places, axis=axis, edge_order=2, rtol=1e-4)
            both("gradient", x, np.arange(size), 2.0, axis=axis, rtol=1e-5)
            both("gradient", x, places[None], axis=axis)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_integrals_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    y = RNG.integers(0, 9, shape).astype(dtype)
    for axis in range(-3, 3):
        both("trapezoid", y, axis=axis, rtol=1e-6)
        both("trapezoid", y, dx=0.25, axis=axis, rtol=1e-6)
        both("trapezoid", y, RNG.random(shape), axis=axis, rtol=1e-5)
        if -len(shape) <= axis < len(shape):
            both("trapezoid", y, RNG.random(shape[axis]), axis=axis, rtol=1e-5)


def test_samples_and_places_must_be_as_many() -> None:
    for x in ([1.0, 2.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ParamError, match="x: got"):
            cw.trapezoid([1.0, 2.0, 3.0], x)
    for call in (cw.trapezoid, cw.gradient, cw.ediff1d):
        with pytest.raises(DTypeError, match="got bool"):
            call([True, False])


def test_differences_of_all_elements_are_numpys() -> None:
    for shape in SHAPES:
        for dtype in ("bool", "uint8", "int16", "float32", "complex64"):
            x = some(shape, dtype)
            for end in (None, 3, [1.5, 2], [[True, False]], [], np.int8([2]), 1j):
                both("ediff1d", x, end)
                both("ediff1d", x, to_begin=end, to_end=[1])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions_are_numpys(name: str, dtype: str) -> None:
    for n in (0, 1, 2, 5, 8):
        for m in (1, 2, 3, 8):
            a, v = some((n,), dtype), some((m,), dtype)
            for mode in ("full", "same", "valid", "best"):
                both(name, a, v, mode, rtol=1e-5)
            if n:
                there = getattr(cw, name)(cw.asarray(a, device="sim:0"), v, "full")
                same(there.to("cpu"), getattr(np, name)(a, v, "full"), 1e-5)
    for wrong in ([[1.0]], np.zeros((0, 2)), 3):
        both(name, wrong, [1.0])


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_traced_convolutions_keep_special_numbers_in_their_places(name: str, mode: Any) -> None:
    x, y = some((9,)), some((4,))
    x[6], y[2] = np.nan, np.inf
    for a, v in ((x, y), (y, x), (x[:4], y)):
        program = cw.trace(lambda s, t: getattr(cw, name)(s, t, mode), cw.asarray(a), cw.asarray(v))
        same(program.run(a, v).outputs[0], getattr(np, name)(a, v, mode), 1e-12)


def test_long_convolutions_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    a, v = some((50,), "int64"), some((7,), "int64")
    monkeypatch.setattr("cloakwork.numpy_names.polynomials._MOST_PRODUCTS", 30)
    program = cw.trace(cw.convolve, cw.asarray(a), cw.asarray(v))
    same(program.run(a, v).outputs[0], np.convolve(a, v))


def test_polynomials_are_numpys() -> None:
    for dtype in ("int8", "int64", "float32", "complex128", "bool"):
        for shape in ((), (0,), (3,), (2, 2)):
            x = some(shape, dtype)
            for p in ([], [2], [1, -2, 3], [0.5, 1], [1j, 2], [[1, 2], [3, 4]], 5):
                if dtype == "bool" or np.asarray(p).shape == (2, 2) != shape[-2:]:
                    continue
                both("polyval", p, x, rtol=1e-5)
            for count in (None, 0, 1, 4, -1):
                for increasing in (False, True):
                    both("vander", x, count, increasing, rtol=1e-5)
    for degree in (-1, 0, 1, 3):
        x, y = RNG.random(12), RNG.random((12, 2))
        both("polyfit", x, y[:, 0], degree, rtol=1e-8)
        both("polyfit", x, y, degree, w=RNG.random(12), rtol=1e-8)
        both("polyfit", np.arange(5), np.arange(5) ** 2, degree, rtol=1e-8)
    for wrong in (([], [], 1), ([[1.0]], [1.0], 1), ([1.0], [1.0, 2.0], 1), ([1.0], 1.0, 0)):
        both("polyfit", *wrong)
    both("polyfit", [1.0, 2.0], [1.0, 2.0], 1, w=[1.0])
    with pytest.raises(TypeError):
        cw.polyfit([1.0, 2.0], [1.0, 2.0], 1.5)  # type: ignore[arg-type]  # NumPy's is of degree 1


def test_angles_and_rounded_numbers_are_numpys() -> None:
    for dtype in ("int64", "float32", "float64"):
        x = some((3, 4), dtype)
        for name in ("deg2rad", "radians", "rad2deg", "degrees"):
            both(name, x, rtol=1e-6)
        both("sinc", x, rtol=1e-5)
        both("fix", x * 3)
        for decimals in (-1, 0, 1):
            both("around", x * 3, decimals)
    special = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("deg2rad", "rad2deg", "sinc", "fix", "around"):
            both(name, special, rtol=1e-12)
    both("fix", np.asarray([True]))
    for name in ("deg2rad", "rad2deg", "fix"):
        both(name, np.asarray([1j]))
    both("sinc", np.asarray([1j, 0, 2 - 1j]), rtol=1e-9)
    both("around", np.asarray([1.5 + 2.5j]))


def test_sets_are_numpys() -> None:
    for first in ((), (0,), (7,), (3, 4)):
        for second in ((0,), (9,), (2, 3)):
            for dtypes in (("int64", "int64"), ("int8", "float32"), ("bool", "uint8")):
                a, b = (some(s, d) for s, d in zip((first, second), dtypes, strict=True))
                both("union1d", a, b)
                for unique in (False, True):
                    a, b = (np.unique(a), np.unique(b)) if unique else (a, b)
                    for name in ("intersect1d", "setdiff1d", "setxor1d"):
                        both(name, a, b, assume_unique=unique)
                    both("intersect1d", a, b, assume_unique=unique, return_indices=True)
    holes = [np.nan, 1.0, np.nan]
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        both(name, holes, [2.0, np.nan])
        with pytest.raises(TypeError, match="u64 and i64"):
            getattr(cw, name)(np.zeros(1, "uint64"), np.zeros(1, "int64"))
        with pytest.raises(TraceError):
            cw.trace(lambda a, f=name: getattr(cw, f)(a, a), cw.zeros(3))


def test_triangles_and_indices_are_numpys() -> None:
    for n in (0, 1, 3, 4):
        for m in (None, 0, 2, 5):
            for k in range(-5, 6):
                both("tri", n, m, k)
                both("tri", n, m, k, dtype="int8")
                both("tril_indices", n, k, m)
                both("triu_indices", n, k, m)
    for name in ("tril_indices", "triu_indices"):
        with pytest.raises(ParamError, match="n: got -1"):
            getattr(cw, name)(-1)
    for shape in ((3,), (2, 4), (2, 3, 4), 6):
        size = int(np.prod(shape))
        for indices in (0, size - 1, size, -1, [0, 1], [[0], [2]], [], 1.5, [size]):
            if indices == []:
                continue  # NumPy takes an empty list for floats
            for order in ("C", "F", "X"):
                both("unravel_index", indices, shape, order)
    for mode in ("raise", "wrap", "clip", ("wrap", "clip"), "none"):
        for order in ("C", "F"):
            both("ravel_multi_index", [[0, 1], [3, 2]], (2, 4), mode, order)
            both("ravel_multi_index", ([5, -1], [3, 9]), (2, 4), mode, order)
            both("ravel_multi_index", (1, 2, 3), (2, 4), mode, order)


def test_points_are_counted_as_numpy_counts_them() -> None:
    x, y, weights = RNG.random((3, 30))
    edges = np.asarray([0.0, 0.3, 1.0])
    for bins in (4, [2, 3], edges, [edges, 2], 0, [1, 2, 3], [edges[::-1], 2]):
        both("histogram2d", x, y, bins)
        with np.errstate(invalid="ignore"):
            both("histogram2d", x, y, bins, [[0.0, 0.5], [0.2, 1.0]], density=True, weights=weights)
    counts = cw.histogram2d(x, y, [cw.asarray(edges), cw.asarray(edges)])[0]
    same(counts, np.histogram2d(x, y, [edges, edges])[0])
    both("histogram2d", x, y[:3])


@pytest.mark.parametrize(
    "call",
    [
        lambda a: cw.gradient(a, axis=0, edge_order=2),
        lambda a: cw.gradient(a, a[0] + cw.arange(4), axis=1),
        lambda a: cw.trapezoid(a, cw.asarray([1.0, 2.0, 4.0]), axis=0),
        lambda a: cw.ediff1d(a, 1.0, [2.0]),
        lambda a: cw.convolve(a[0], a[1]),
        lambda a: cw.polyval(a[:, 0], a),
        lambda a: cw.sinc(cw.deg2rad(a)),
        lambda a: cw.vander(a[0], 3),
        lambda a: cw.linalg.multi_dot([a, a.mT, a]),
    ],
)
def test_traces_and_devices_give_what_the_host_gives(call: Callable[[Any], Any]) -> None:
    x = some((3, 4))
    expected = np.asarray(call(cw.asarray(x)))
    same(cw.trace(call, cw.asarray(x)).run({"a": x})["out0"], expected, 1e-12)
    there = call(cw.asarray(x, device="sim:0"))
    assert there.device == "sim:0"
    same(there.to("cpu"), expected, 1e-12)


def test_chains_of_products_are_numpys() -> None:
    for dtype in ("int64", "float64", "complex128"):
        for sizes in ((2, 3), (2, 3, 4), (4, 1, 5, 2), (7, 3, 9, 2, 6, 1, 5)):
            shapes = list(itertools.pairwise(sizes))
            matrices = [some(shape, dtype) for shape in shapes]
            both("linalg.multi_dot", matrices, rtol=1e-9)
            if len(matrices) > 1:
                ends = [matrices[0][0], *matrices[1:-1], matrices[-1][:, 0]]
                both("linalg.multi_dot", ends, rtol=1e-9)
                both("linalg.multi_dot", matrices[::-1])
    matrix = some((2, 2))
    for wrong in ([], [matrix], [matrix, matrix[0], matrix], [matrix, matrix[0, :1]]):
        both("linalg.multi_dot", wrong)
    for wrong in ([matrix, 2.0], [matrix[None], matrix]):  # NumPy takes them for `dot`
        with pytest.raises(ParamError, match=r"arrays\[[01]\]: got shape"):
            cw.linalg.multi_dot(wrong)


def test_the_cheapest_order_of_products_is_chosen() -> None:
    from cloakwork.linalg.chains import _cuts

    assert _cuts((10, 100, 5, 50))[0, 3] == 2
    assert _cuts((5, 50, 10, 100))[0, 3] == 2
    assert _cuts((100, 5, 50, 10))[0, 3] == 1
