"""Lookup arguments."""

from __future__ import annotations

from cloakwork import ops
from cloakwork._core import Tensor


def permute_expression(a: Tensor, t: Tensor, usable: int) -> tuple[Tensor, Tensor]:
    """The permuted input and table of halo2's lookup argument, of input `a[n]` and table `t[n]`.

    The first `usable` rows of the input are sorted; the first of equal rows is next to the same
    value of the table, and the others are next to the remaining values, so that each row of the
    input equals the table's row or the row before.  The other rows, which `blind` overwrites, are
    zeros.

    Raises OpError, which names the row, unless the table has each value of the input.

    >>> import cloakwork as cw
    >>> from cloakwork import zk
    >>> a = cw.asarray([5, 3, 5, 0], dtype="bn254.fr")
    >>> t = cw.asarray([3, 4, 5, 0], dtype="bn254.fr")
    >>> [column.tolist() for column in zk.permute_expression(a, t, 3)]
    [[3, 5, 5, 0], [3, 5, 4, 0]]
    """
    table = ops.permute_table(t, ops.lookup_rows(a, t, usable))
    return ops.permute_input(a, usable), table
