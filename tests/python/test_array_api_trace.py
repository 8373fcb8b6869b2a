"""Functions of the namespace that compute at once are recorded in a trace."""

from collections.abc import Callable

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import TraceError

Binary = Callable[[cw.Tensor, cw.Tensor], cw.Tensor]
RNG = np.random.default_rng(5)
A = cw.asarray(RNG.standard_normal((3, 4)))
B = cw.asarray(RNG.standard_normal((3, 4)).astype("float32"))


def written(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
    copy = cw.asarray(a, copy=True)
    copy[0] = 7.0
    copy[:, 1] = b[:, 2]
    return copy


FUNCTIONS: dict[str, Binary] = {
    "arithmetic": lambda a, b: cw.add(a * 2, b / 3) - 1,
    "comparison": lambda a, b: cw.logical_or(a > b, cw.signbit(a)),
    "clip": lambda a, _: cw.clip(a, -1, 1),
    "where": lambda a, b: cw.where(a > 0, b, 0.0),
    "moments": lambda a, b: cw.mean(a, axis=0) + cw.var(b, correction=1),
    "extremes": lambda a, _: cw.max(a, axis=1, keepdims=True) - cw.min(a),
    "running sums": lambda a, _: cw.cumulative_sum(a, axis=1, include_initial=True),
    "order": lambda a, _: cw.take_along_axis(a, cw.argsort(a), axis=1),
    "search": lambda a, _: cw.searchsorted(cw.asarray([-1.0, 0.0, 1.0]), a),
    "membership": lambda a, _: cw.isin(cw.argsort(a), cw.asarray([1, 2])),
    "count": lambda a, _: cw.count_nonzero(a > 0, axis=0) + cw.argmax(a),
    "joining": lambda a, b: cw.concat([a, b, cw.stack([a[0], b[1]])]),
    "moving": lambda a, _: cw.roll(cw.flip(cw.tile(a, (2, 1)), axis=1), 1, axis=0),
    "repeating": lambda a, _: cw.repeat(a, 2, axis=0),
    "diff": lambda a, b: cw.diff(a, prepend=cw.astype(b, cw.float64)),
    "products": lambda a, b: cw.linalg.outer(cw.vecdot(a, b), (a @ b.T)[0]),
    "diagonals": lambda a, _: cw.tril(a) + cw.eye(3, 4) + cw.linalg.trace(a),
    "factors": lambda a, _: cw.linalg.svd(a, full_matrices=False).S,
    "norms": lambda a, _: cw.linalg.vector_norm(a) + cw.linalg.matrix_norm(a, ord=2),
    "transforms": lambda a, _: cw.fft.irfft(cw.fft.rfft(a)),
    "made": lambda a, _: cw.linspace(0, 1, 4) + cw.arange(4) + cw.ones_like(a),
    "written": written,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_trace_computes_what_the_calls_do(name: str) -> None:
    function = FUNCTIONS[name]
    expected = np.asarray(function(A, B))
    (traced,) = cw.trace(function, A, B).run(A, B).outputs
    np.testing.assert_allclose(np.asarray(traced), expected, rtol=1e-12)
    assert traced.dtype == expected.dtype


@pytest.mark.parametrize(
    "function", [cw.nonzero, cw.unique_values, lambda a: a[a > 0], lambda a: cw.repeat(a[0], a[0])]
)
def test_shapes_that_elements_decide_are_no_programs(function: Callable[..., object]) -> None:
    with pytest.raises(TraceError):
        cw.trace(function, cw.asarray([[1, 2], [3, 4]]))
