"""Casts and sums of polynomials."""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError

_REPRS = {None: 0, "coef": 1, "lagrange": 2}


def cast(a: Tensor, form: str | None) -> Tensor:
    """The same elements as "coef", "lagrange" or neither."""
    return ops.as_repr(a, _REPRS[form])


def as_coef(a: Tensor) -> Tensor:
    """The same elements, taken as coefficients from here on: a cast, which transforms nothing.

    In the function of a `zk.program` coefficients and values do not mix: `a * b` of coefficients,
    `evaluate` of values, a sum of the two are findings.  Where the function knows better, it says
    so by a cast; `ops.field_ntt` is what transforms.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> zk.as_coef(cw.asarray([1, 2], dtype="bn254.fr")).tolist()
    [1, 2]
    """
    return cast(a, "coef")


def as_lagrange(a: Tensor) -> Tensor:
    """The same elements, taken as values at points from here on; see `as_coef`."""
    return cast(a, "lagrange")


def as_elements(a: Tensor) -> Tensor:
    """The same elements, taken as no polynomial, which mix with all; see `as_coef`."""
    return cast(a, None)


def add_constant(a: Tensor, s: Tensor | int) -> Tensor:
    """`a + s` of polynomials in coefficients: `s` is added to the constant terms alone.

    a   of a field, `[.., n]` with n >= 1
    s   of the same field, `[]` or `[..]`, or an int

    Operators know no polynomials: `a + s` adds `s` to every element, which is the sum of a
    polynomial and a constant where the elements are its values.  ParamError for a polynomial
    without a constant term, or shapes that do not fit.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> a = cw.asarray([1, 2, 3], dtype="bn254.fr")
    >>> zk.add_constant(a, 10).tolist(), (a + 10).tolist()
    ([11, 2, 3], [11, 12, 13])
    """
    if a.ndim == 0 or a.shape[-1] == 0:
        raise ParamError("a", f"shape {list(a.shape)}", "coefficients along a last axis")
    # A column of constant terms is not a polynomial.
    constants = as_elements(a[..., 0]) + s
    if constants.shape != a.shape[:-1]:
        rows = list(a.shape[:-1])
        expected = "no axes" if not rows else f"no axes, or one for each polynomial: {rows}"
        raise ParamError("s", f"a sum of shape {list(constants.shape)}", expected)
    total = ops.copy(a)
    total[..., 0] = constants
    return total
