"""Factorisations of matrices."""

from __future__ import annotations

from typing import Literal, NamedTuple

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.array_api.elementwise.parts import real
from cloakwork.errors import ParamError
from cloakwork.lazy import public
from cloakwork.linalg.checks import computed, matrices, restored, scaled, squares
from cloakwork.tensors.arrays import of_array

_UNREACHED = "the iteration for {} of a matrix did not converge"


@public("cloakwork.linalg")
class EigResult(NamedTuple):
    """See `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@public("cloakwork.linalg")
class EighResult(NamedTuple):
    """See `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@public("cloakwork.linalg")
class QRResult(NamedTuple):
    """See `qr`."""

    Q: Tensor
    R: Tensor


@public("cloakwork.linalg")
class SVDResult(NamedTuple):
    """See `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@of_array
def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower triangular L with `L @ conj(L).T = x`, or if `upper` U with `conj(U).T @ U = x`.

    `x` is symmetric or Hermitian, `[.., m, m]`; only that triangle is read.  LinAlgError unless it
    is positive definite.

    >>> import cloakwork as cw
    >>> cw.linalg.cholesky(cw.asarray([[4.0, 2.0], [2.0, 2.0]]))
    Tensor([[2., 0.],
            [1., 1.]], dtype=f64)
    """
    x = squares(x)
    return computed(ops.cholesky(x, upper=upper), (-2, -1), "a matrix is not positive definite", x)


@of_array
def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Q with orthonormal columns and the upper triangular R, of which `x` is the product.

    `x` `[.., m, n]` gives Q `[.., m, k]` and R `[.., k, n]`: k = min(m, n), or m if complete.

    >>> import cloakwork as cw
    >>> cw.linalg.qr(cw.asarray([[3.0, 1.0], [4.0, 2.0]])).Q.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete"):
        raise ParamError("mode", repr(mode), "'reduced' or 'complete'")
    x = matrices(x)
    *stack, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    packed = ops.qr_packed(x, complete=mode == "complete")
    q, r = packed[..., : m * k], packed[..., m * k :]
    return QRResult(q.reshape((*stack, m, k)), r.reshape((*stack, k, n)))


@of_array
def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """U, the singular values S and Vh, of which `x` is the product; S is real and descends.

    `x` `[.., m, n]` gives U `[.., m, m]` and Vh `[.., n, n]`, both unitary, or without
    `full_matrices` their first min(m, n) columns and rows.

    >>> import cloakwork as cw
    >>> cw.linalg.svd(cw.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    Tensor([4., 3.], dtype=f64)
    """
    x = matrices(x)
    *stack, m, n = x.shape
    k = min(m, n)
    left, right = (m, n) if full_matrices else (k, k)
    near, powers = scaled(x)
    packed = ops.svd_packed(near, full=full_matrices)
    computed(packed, (-1,), _UNREACHED.format("singular values"), x)
    u, s, vh = (
        packed[..., : m * left],
        packed[..., m * left : m * left + k],
        packed[..., m * left + k :],
    )
    s = restored(real(s), powers)
    return SVDResult(u.reshape((*stack, m, left)), s, vh.reshape((*stack, right, n)))


@of_array
def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of each matrix, real, in descending order: `[.., min(m, n)]`.

    >>> import cloakwork as cw
    >>> cw.linalg.svdvals(cw.asarray([[3.0, 0.0], [0.0, 4.0]]))
    Tensor([4., 3.], dtype=f64)
    """
    x = matrices(x)
    near, powers = scaled(x)
    return restored(
        computed(ops.svdvals(near), (-1,), _UNREACHED.format("singular values"), x), powers
    )


@of_array
def eigh(x: Tensor, /) -> EighResult:
    """The eigenvalues, real, and eigenvectors, as columns, of symmetric or Hermitian matrices.

    Only the lower triangle of `x`, `[.., m, m]`, is read.  Eigenvalues ascend.

    >>> import cloakwork as cw
    >>> cw.linalg.eigh(cw.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Tensor([1., 2.], dtype=f64)
    """
    x = squares(x)
    size = x.shape[-1]
    near, powers = scaled(x)
    packed = computed(ops.eigh_packed(near), (-1,), _UNREACHED.format("eigenvalues"), x)
    values, vectors = restored(real(packed[..., :size]), powers), packed[..., size:]
    return EighResult(values, vectors.reshape(x.shape))


@of_array
def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, real, in ascending order; see `eigh`.

    >>> import cloakwork as cw
    >>> cw.linalg.eigvalsh(cw.asarray([[2.0, 0.0], [0.0, 1.0]]))
    Tensor([1., 2.], dtype=f64)
    """
    x = squares(x)
    near, powers = scaled(x)
    return restored(
        computed(ops.eigvalsh(near), (-1,), _UNREACHED.format("eigenvalues"), x), powers
    )


@of_array
def eig(x: Tensor, /) -> EigResult:
    """The eigenvalues and eigenvectors, as columns, of any square matrices: all complex.

    Eigenvectors have norm 1; those of a defective matrix are not independent.

    >>> import cloakwork as cw
    >>> cw.linalg.eig(cw.asarray([[0.0, 1.0], [-1.0, 0.0]])).eigenvectors.shape
    (2, 2)
    """
    x = squares(x)
    size = x.shape[-1]
    near, powers = scaled(x)
    packed = computed(ops.eig_packed(near), (-1,), _UNREACHED.format("eigenvalues"), x)
    values = restored(packed[..., :size], powers)
    return EigResult(values, packed[..., size:].reshape(x.shape))


@of_array
def eigvals(x: Tensor, /) -> Tensor:
    """The eigenvalues of any square matrices, complex.

    >>> import cloakwork as cw
    >>> cw.imag(cw.linalg.eigvals(cw.asarray([[0.0, 1.0], [-1.0, 0.0]]))) ** 2
    Tensor([1., 1.], dtype=f64)
    """
    x = squares(x)
    near, powers = scaled(x)
    return restored(computed(ops.eigvals(near), (-1,), _UNREACHED.format("eigenvalues"), x), powers)
