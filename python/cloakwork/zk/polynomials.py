"""What polynomials need beside the ops on them."""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError


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
    constants = a[..., 0] + s
    if constants.shape != a.shape[:-1]:
        rows = list(a.shape[:-1])
        expected = "no axes" if not rows else f"no axes, or one for each polynomial: {rows}"
        raise ParamError("s", f"a sum of shape {list(constants.shape)}", expected)
    total = ops.copy(a)
    total[..., 0] = constants
    return total
