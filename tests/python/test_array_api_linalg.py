"""Matrices: products, factors, solutions."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.linalg import LinAlgError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from python.numpy_oracle import COMPLEX, FLOATS, NUMERIC, arrays, same

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(7)
TOLERANCE = {"float32": 1e-3, "complex64": 1e-3, "float64": 1e-10, "complex128": 1e-10}


def matrices(shape: tuple[int, ...], dtype: str) -> Array:
    values = RNG.standard_normal(shape)
    if dtype in COMPLEX:
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def near(actual: cw.Tensor, expected: Array) -> None:
    same(actual, expected, 1e-3 if expected.dtype.name in ("float32", "complex64") else 1e-9)


def adjoint(array: Array) -> Array:
    return np.conj(array).swapaxes(-1, -2)


SHAPES = [(3, 3), (1, 1), (0, 0), (2, 4, 4), (2, 0, 3, 3)]
WIDE = [(3, 2), (2, 3), (2, 4, 3), (3, 0), (0, 2), (0, 3, 2)]
EACH = pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])


@given(data=st.data())
def test_products(data: st.DataObject) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(signature="(m?,k),(k,n?)->(m?,n?)"))
    dtype = data.draw(st.sampled_from(NUMERIC))
    first, second = (
        data.draw(hnp.arrays(dtype, shape, elements=st.integers(0, 5)))
        for shape in shapes.input_shapes
    )
    same(cw.matmul(cw.asarray(first), cw.asarray(second)), np.matmul(first, second))
    same(cw.asarray(first) @ cw.asarray(second), np.matmul(first, second))


@given(first=arrays(NUMERIC), axes=st.integers(0, 2))
def test_tensordot_and_vecdot(first: Array, axes: int) -> None:
    if first.ndim >= axes:
        second = first.transpose()
        named = (list(range(first.ndim - axes, first.ndim)), list(range(axes)))
        if first.shape[first.ndim - axes :] == second.shape[:axes]:
            expected = np.tensordot(first, second, axes=axes)
            same(cw.tensordot(cw.asarray(first), cw.asarray(second), axes=axes), expected)
            same(cw.tensordot(cw.asarray(first), cw.asarray(second), axes=named), expected)
    if first.ndim:
        same(cw.vecdot(cw.asarray(first), cw.asarray(first)), np.vecdot(first, first))


@EACH
@pytest.mark.parametrize("shape", SHAPES)
def test_square_matrices(dtype: str, shape: tuple[int, ...]) -> None:
    a = matrices(shape, dtype)
    b = matrices((*shape[:-1], 2), dtype)
    near(cw.linalg.inv(cw.asarray(a)), np.linalg.inv(a))
    near(cw.linalg.solve(cw.asarray(a), cw.asarray(b)), np.linalg.solve(a, b))
    near(cw.linalg.det(cw.asarray(a)), np.linalg.det(a))
    sign, log = cw.linalg.slogdet(cw.asarray(a))
    near(sign, np.linalg.slogdet(a).sign)
    near(log, np.linalg.slogdet(a).logabsdet)
    for power in (-2, 0, 1, 3, 6):
        near(cw.linalg.matrix_power(cw.asarray(a), power), np.linalg.matrix_power(a, power))


@EACH
@pytest.mark.parametrize("shape", SHAPES)
def test_self_adjoint_matrices(dtype: str, shape: tuple[int, ...]) -> None:
    a = matrices(shape, dtype)
    positive = a @ adjoint(a) + np.eye(shape[-1], dtype=dtype)
    near(cw.linalg.cholesky(cw.asarray(positive)), np.linalg.cholesky(positive))
    near(
        cw.linalg.cholesky(cw.asarray(positive), upper=True), adjoint(np.linalg.cholesky(positive))
    )
    values, vectors = cw.linalg.eigh(cw.asarray(positive))
    near(values, np.linalg.eigvalsh(positive))
    near(cw.linalg.eigvalsh(cw.asarray(positive)), np.linalg.eigvalsh(positive))
    near(cw.asarray(positive) @ vectors, np.asarray(vectors) * np.asarray(values)[..., None, :])


@EACH
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvalues_of_any_matrix(dtype: str, shape: tuple[int, ...]) -> None:
    a = matrices(shape, dtype)
    values, vectors = cw.linalg.eig(cw.asarray(a))
    wide = a.astype(np.asarray(values).dtype)
    near(cw.asarray(wide) @ vectors, np.asarray(vectors) * np.asarray(values)[..., None, :])
    near(cw.sum(cw.linalg.eigvals(cw.asarray(a)), axis=-1), np.trace(wide, axis1=-2, axis2=-1))


@EACH
@pytest.mark.parametrize("shape", [*SHAPES, *WIDE])
def test_factors_of_any_matrix(dtype: str, shape: tuple[int, ...]) -> None:
    a = matrices(shape, dtype)
    for full in (False, True):
        u, s, vh = cw.linalg.svd(cw.asarray(a), full_matrices=full)
        expected = np.linalg.svd(a, full_matrices=full)
        near(s, expected.S)
        assert (u.shape, vh.shape) == (expected.U.shape, expected.Vh.shape)
        k = s.shape[-1]
        near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a)
        one = np.zeros((*shape[:-2], u.shape[-1], u.shape[-1]), dtype) + np.eye(u.shape[-1])
        near(cw.asarray(adjoint(np.asarray(u))) @ u, one.astype(dtype))
        q, r = cw.linalg.qr(cw.asarray(a), mode="complete" if full else "reduced")
        near(q @ r, a)
        near(r, np.triu(np.asarray(r)))
    near(cw.linalg.svdvals(cw.asarray(a)), np.linalg.svdvals(a))
    if a.size:
        near(cw.linalg.pinv(cw.asarray(a)), np.linalg.pinv(a))
        same(cw.linalg.matrix_rank(cw.asarray(a)), np.linalg.matrix_rank(a))


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e154, 1e200])
def test_magnitudes_whose_squares_no_float_holds(size: float) -> None:
    a = matrices((2, 3, 3), "complex128")
    a[0] *= size  # the other matrix of the stack stays as it is
    u, s, vh = cw.linalg.svd(cw.asarray(a))
    np.testing.assert_allclose(np.asarray(s), np.linalg.svdvals(a), rtol=1e-12)
    np.testing.assert_allclose(np.asarray((u * s[:, None, :]) @ vh), a, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(cw.linalg.svdvals(cw.asarray(a))), np.asarray(s), 1e-12)
    values, vectors = cw.linalg.eig(cw.asarray(a))
    scale = np.array([size, 1.0])[:, None]
    near(
        cw.asarray(a / scale[..., None]) @ vectors, np.asarray(vectors * (values / scale)[:, None])
    )
    hermitian = a + adjoint(a)
    expected = np.linalg.eigvalsh(hermitian / scale[..., None])
    near(cw.linalg.eigvalsh(cw.asarray(hermitian)) / scale, expected)
    near(cw.linalg.eigh(cw.asarray(hermitian)).eigenvalues / scale, expected)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_imaginary_parts_on_the_diagonal_of_a_self_adjoint_matrix_are_not_read(dtype: str) -> None:
    a = matrices((3, 4, 4), dtype)
    assert np.abs(np.diagonal(a, axis1=1, axis2=2).imag).max() > 0.1
    values, vectors = cw.linalg.eigh(cw.asarray(a))
    near(values, np.linalg.eigvalsh(a))
    near(cw.linalg.eigvalsh(cw.asarray(a)), np.linalg.eigvalsh(a))
    lower = np.tril(a, -1)
    diagonal = np.stack([np.diag(np.diagonal(one).real) for one in a])
    whole = (lower + adjoint(lower) + diagonal).astype(dtype)
    near(cw.asarray(whole) @ vectors, np.asarray(vectors * values[:, None, :]))


def test_what_a_trace_records_computes_the_same() -> None:
    a = cw.asarray(matrices((3, 3), "float64"))
    program = cw.trace(lambda x: [cw.linalg.svdvals(x), cw.linalg.inv(x) @ x], a)
    values, identity = program.run(a).outputs
    near(values, np.linalg.svdvals(np.asarray(a)))
    near(identity, np.eye(3))


@EACH
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms(dtype: str, order: Any) -> None:
    a = matrices((2, 3, 4), dtype)
    for keepdims in (False, True):
        actual = cw.linalg.matrix_norm(cw.asarray(a), ord=order, keepdims=keepdims)
        near(actual, np.linalg.norm(a, ord=order, axis=(-2, -1), keepdims=keepdims))


@EACH
@pytest.mark.parametrize("order", [0, 1, 2, 3.5, -1, -2, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_vector_norms(dtype: str, order: float, axis: Any) -> None:
    a = matrices((2, 3, 4), dtype)
    for keepdims in (False, True):
        actual = cw.linalg.vector_norm(cw.asarray(a), ord=order, axis=axis, keepdims=keepdims)
        near(actual, np.linalg.vector_norm(a, ord=order, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("offset", range(-5, 6))
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 3), (0, 2), (2, 0)])
def test_diagonals(shape: tuple[int, ...], offset: int) -> None:
    a = np.arange(np.prod(shape), dtype="int32").reshape(shape)
    same(cw.linalg.diagonal(cw.asarray(a), offset=offset), np.linalg.diagonal(a, offset=offset))
    same(cw.linalg.trace(cw.asarray(a), offset=offset), np.linalg.trace(a, offset=offset))


def test_outer_and_cross_products() -> None:
    a, b = np.array([1, 2, 3]), np.arange(12).reshape(4, 3)
    same(cw.linalg.outer(cw.asarray(a), cw.asarray(b[1])), np.outer(a, b[1]))
    same(cw.linalg.cross(cw.asarray(a), cw.asarray(b)), np.cross(a, b))


def test_what_has_no_solution_is_an_error_and_nan_stays_nan() -> None:
    singular = cw.asarray([[1.0, 2.0], [2.0, 4.0]])
    for call in (cw.linalg.inv, lambda x: cw.linalg.solve(x, x)):
        with pytest.raises(LinAlgError, match="singular"):
            call(singular)
    with pytest.raises(ValueError, match="positive definite"):
        cw.linalg.cholesky(cw.asarray([[-1.0]]))
    unknown = cw.asarray([[cw.nan, 1.0], [1.0, 1.0]])
    for function in (cw.linalg.inv, cw.linalg.svdvals, cw.linalg.eigvalsh):
        assert bool(cw.all(cw.isnan(function(unknown))))


@pytest.mark.parametrize(
    "call",
    [
        lambda: cw.linalg.inv(cw.zeros((2, 3))), lambda: cw.linalg.det(cw.zeros(2)),
        lambda: cw.linalg.solve(cw.zeros((2, 2)), cw.zeros(3)),
        lambda: cw.linalg.cross(cw.zeros(2), cw.zeros(3)),
        lambda: cw.linalg.outer(cw.zeros((2, 2)), cw.zeros(3)),
        lambda: cw.linalg.qr(cw.zeros((2, 2)), mode="raw"),  # type: ignore[arg-type]  # none
        lambda: cw.linalg.matrix_norm(cw.zeros((2, 2)), ord=3),
        lambda: cw.matmul(cw.zeros((2, 3)), cw.zeros((2, 3))), lambda: cw.zeros(()) @ cw.zeros(2),
        lambda: cw.vecdot(cw.zeros(2), cw.zeros(3)),
        lambda: cw.tensordot(cw.zeros(2), cw.zeros(3), axes=1),
        lambda: cw.tensordot(cw.zeros(2), cw.zeros(3), axes=2),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_value_errors(call: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        call()
