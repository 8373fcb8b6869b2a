"""Polynomials that are applied one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.errors import LevelError, ParamError
from cloakwork.fhe.circuits.polynomial import Polynomial
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.estimates.ranges import value_range
from cloakwork.fhe.operands import is_number
from cloakwork.lazy import public

Form = Literal["value", "gate"]


@public("cloakwork.fhe")
class Composition:
    """Polynomials applied in turn: `composition(x)` of a ciphertext or an array.

    stages   polynomials, the first one first; each has its values in the domain of the next
    form     "value": p_k(...p_1(x)).  "gate": x times that, one product more, as ReLU is x times a
             step
    error    the largest error for the function that it approximates, if that is known

    The degree of a composition is the product of its stages' degrees, its depth only the sum of
    their depths, so that it costs far fewer products than one polynomial of its degree.
    """

    def __init__(
        self, stages: Sequence[Polynomial], form: Form = "value", error: float | None = None
    ) -> None:
        found = tuple(stages)
        if not found or not all(isinstance(stage, Polynomial) for stage in found):
            raise ParamError("stages", stages, "one fhe.Polynomial, or several")
        if form not in ("value", "gate"):
            raise ParamError("form", form, '"value" or "gate"')
        if error is not None and not 0 <= error < np.inf:
            raise ParamError("error", error, "a finite number, not negative, or None")
        for stage, after in pairwise(found):
            if stage.basis == "chebyshev":
                after._check_domain(value_range(stage.coefficients, True, Bound.real(-1, 1)))
        self.stages, self.form, self.error = found, form, error

    @property
    def domain(self) -> tuple[float, float]:
        """(a, b), the values that it takes."""
        return self.stages[0].domain

    @property
    def degrees(self) -> tuple[int, ...]:
        """The degree of each stage."""
        return tuple(stage.degree for stage in self.stages)

    @property
    def depth(self) -> int:
        """The levels that an evaluation uses."""
        return sum(stage.depth for stage in self.stages) + (self.form == "gate")

    @property
    def key_switches(self) -> int:
        """The number of relinearizations of an evaluation."""
        return sum(stage.key_switches for stage in self.stages) + (self.form == "gate")

    def scaled(self, weight: float, shift: float = 0.0) -> Composition:
        """A weight times the last stage, plus a shift, which costs nothing.

        Of a gate that is x times weight, plus shift times x.
        """
        if not (is_number(weight) and is_number(shift)):
            raise ParamError("weight", (weight, shift), "finite numbers")
        last = self.stages[-1]
        coefficients = weight * np.array(last.coefficients)
        coefficients[0] += shift
        stage = Polynomial(coefficients, last.basis, last.domain)
        error = None if self.error is None else abs(weight) * self.error
        return Composition((*self.stages[:-1], stage), self.form, error)

    @overload
    def __call__(self, x: CkksCiphertext) -> CkksCiphertext: ...
    @overload
    def __call__(self, x: ArrayLike) -> NDArray[Any]: ...

    def __call__(self, x: Any) -> Any:
        """The values, slot by slot.

        Level    level - depth
        Noise    that of x times the slopes of all stages, at most; rounding at every level

        Raises ParamError for an x that may leave the domain, LevelError and MissingKeyError before
        any work.
        """
        encrypted = isinstance(x, CkksCiphertext)
        if encrypted:
            self._check_level(x)
            x = x._settled() if x.context.automatic else x
        value: Any = x if encrypted else np.asarray(x)
        for stage in self.stages:
            value = stage(value)
        if self.form == "value":
            return value
        if encrypted and not x.context.automatic:
            return (value * x.relinearize().lower(value.level)).relinearize().rescale()
        return value * x

    def _check_level(self, x: CkksCiphertext) -> None:
        level = x.level - (x.context.automatic and x._pending)
        if level < self.depth:
            raise LevelError(
                "composition",
                f"{self.depth} levels for stages of degrees {self.degrees}",
                level,
                "begin with a longer modulus chain, or accept a larger error",
            )

    def __repr__(self) -> str:
        form = "" if self.form == "value" else f', form="{self.form}"'
        error = "" if self.error is None else f", error={self.error:.3g}"
        return f"Composition(degrees={self.degrees}, domain={self.domain}{form}{error})"
