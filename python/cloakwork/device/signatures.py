"""The arguments of a Python device's methods for each kernel's launch.

docs/kernels.md defines the launches, docs/kernel-contract.md lists these signatures.
"""

from __future__ import annotations

from dataclasses import dataclass

RESULT, FIRST = "result", "first"
"""Dtypes of an operand: that of the result, and that of the first operand."""


@dataclass(frozen=True)
class Operand:
    """A view that a method gets."""

    name: str
    dtype: str = RESULT
    """RESULT, FIRST, or the name of a dtype."""
    axes: tuple[int, ...] | None = None
    """Axes of the launch that the view has."""
    without: int = 0
    """Without `axes`: so many of the last axes are missing."""
    more: tuple[int, int] | None = None
    """One more axis behind them: the params that hold its size and its stride."""


@dataclass(frozen=True)
class Signature:
    """The arguments of a kernel's method: operands, the result first, then integers."""

    operands: tuple[Operand, ...]
    params: tuple[tuple[str, int], ...] = ()
    """Names of integers, and the numbers of their params."""
    is_value: bool = False
    """Whether the one integer holds the bits of an element."""

    @property
    def names(self) -> list[str]:
        """The arguments in their order."""
        return [operand.name for operand in self.operands] + [name for name, _ in self.params]


def _elementwise(names: str, **dtypes: str) -> Signature:
    first, *others = names.split()
    same = dict.fromkeys(others, FIRST) | dtypes
    operands = [Operand(first), *(Operand(name, same[name]) for name in others)]
    return Signature(tuple(operands))


def _transform(names: str) -> Signature:
    """Launches over l, r, k, m: rows of m elements for moduli k."""
    l_r_k_m, k_m, k, m = None, (2, 3), (2,), (3,)
    axes = {"out": l_r_k_m, "a": l_r_k_m, "q": k, "psi": k_m, "psi_inv": k_m, "n_inv": k}
    views = [
        Operand("perm", "int64", m)
        if name == "perm"
        else Operand(name, FIRST if name == "a" else RESULT, axes[name])
        for name in names.split()
    ]
    return Signature(tuple(views))


_UNARY = """
abs bitwise_invert cast ceil cos exp floor isfinite isinf isnan log logical_not negative positive
reciprocal round sign sin sqrt square tanh trunc
"""
_BINARY = """
add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor divide equal
floor_divide greater greater_equal less less_equal logical_and logical_or logical_xor maximum
minimum multiply not_equal pow remainder subtract
"""
_DIGITS = (1, 2)
_BITS = (("bits", 0),)

SIGNATURES: dict[str, Signature] = {
    **{name: _elementwise("out a") for name in _UNARY.split()},
    **{name: _elementwise("out a b") for name in _BINARY.split()},
    "where": _elementwise("out a b condition", condition="bool"),
    "copy": _elementwise("out a"),
    "fill": Signature((Operand("out"),), (("value", 0),), is_value=True),
    "modmul": _elementwise("out a b q"),
    "modmuladd": _elementwise("out a b c q"),
    "modsum": _elementwise("out a b q"),
    "mod": _elementwise("out a b"),
    "modneg": _elementwise("out a q"),
    "gather": Signature(
        (Operand("out"), Operand("a", FIRST, more=(1, 0)), Operand("indices", "int64"))
    ),
    "axis_modsum": Signature((Operand("out", without=1), Operand("a"), Operand("q", without=1))),
    "modmul_axis_sum": Signature(
        (
            Operand("out", axes=(0, 1, 2)),
            Operand("a", axes=(0, 1, 2, 3)),
            Operand("b", axes=(1, 2, 3)),
            Operand("q", axes=(1,)),
            Operand("perm", "int64", (2,)),
        )
    ),
    "ntt": _transform("out a q psi perm"),
    "intt": _transform("out a q psi_inv perm n_inv"),
    "g_decomp": Signature((Operand("out", more=_DIGITS), Operand("a", FIRST)), _BITS),
    "g_decomp_full_q": Signature(
        (
            Operand("out", axes=(0, 1), more=_DIGITS),
            Operand("a", FIRST, (0, 1, 2)),
            Operand("q", FIRST, (2,)),
        ),
        _BITS,
    ),
}
"""By the kernel's name."""
