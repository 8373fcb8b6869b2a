"""Polynomials of encrypted values.

>>> import numpy as np
>>> from cloakwork import fhe
>>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
>>> keys = context.keygen()
>>> cubic = fhe.Polynomial([1.0, 0.0, -2.0, 0.5])
>>> result = keys.decrypt(cubic(keys.encrypt([0.5, -1.0])))
>>> np.round(result[:2].real, 4).tolist()
[0.5625, -1.5]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.polynomial import chebyshev as _chebyshev
from numpy.polynomial import polynomial as _power
from numpy.typing import ArrayLike, NDArray

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.errors import LevelError, NoiseError, ParamError
from cloakwork.fhe.approximation.errors import largest_error
from cloakwork.fhe.approximation.intervals import evaluated
from cloakwork.fhe.bgv.batching import EXACT_FLOATS
from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits.powers import BgvSums, CkksSums, divided, multiple
from cloakwork.fhe.circuits.schedule import Schedule, depth_of, schedule
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.places import on_its_device
from cloakwork.fhe.rns.layout import residues
from cloakwork.lazy import public

Basis = Literal["power", "chebyshev"]

# The relative size of odd coefficients of an even function by interpolation, and vice versa.
_NEGLIGIBLE = 2.0**-50
_DEGREE_MAX = 1 << 12
# The fraction of a domain's half length by which values may exceed it.
_OUTSIDE = 2.0**-10


@public("cloakwork.fhe")
class Polynomial:
    """A polynomial with plaintext coefficients: `polynomial(x)` of a ciphertext or an array.

    coefficients   c_0, c_1, ...: real numbers; under BGV integers, taken mod t
    basis          "power": of x^i.  "chebyshev": of T_i(u), u in [-1, 1], which computes with
                   values of about 1 and so loses less precision
    domain         (a, b) that "chebyshev" maps to [-1, 1]; an x whose bound leaves it is refused
    error          the largest error for the function that it approximates, if that is known

    It uses `depth` levels: ceil(log2(degree + 1)), and one more unless 2 / length of the domain is
    an integer, as for (-1, 1).  Under CKKS the result has exactly the scale of its level (with
    levels="manual": of the parameters).
    """

    def __init__(
        self,
        coefficients: Sequence[Real] | ArrayLike,
        basis: Basis = "power",
        domain: tuple[float, float] = (-1.0, 1.0),
        error: float | None = None,
    ) -> None:
        if error is not None and not 0 <= error < inf:
            raise ParamError("error", error, "a finite number, not negative, or None")
        if basis not in ("power", "chebyshev"):
            raise ParamError("basis", basis, '"power" or "chebyshev"')
        start, stop = map(float, domain)
        if not (isfinite(start) and isfinite(stop) and start < stop):
            raise ParamError("domain", domain, "finite (a, b) with a < b")
        self.basis, self.domain, self.error = basis, (start, stop), error
        self.coefficients = _checked(coefficients)

    @property
    def degree(self) -> int:
        """The index of the last nonzero coefficient."""
        return len(self.coefficients) - 1

    @property
    def depth(self) -> int:
        """The levels that an evaluation uses."""
        return depth_of(self.degree) + (not self._is_mapped_freely)

    @property
    def key_switches(self) -> int:
        """The number of relinearizations of an evaluation."""
        return self._schedule.key_switches

    @property
    def _schedule(self) -> Schedule:
        return schedule(self.coefficients, self.basis == "chebyshev")

    @property
    def _map(self) -> tuple[float, float]:
        """(w, c) with u = w x + c."""
        start, stop = self.domain
        if self.basis == "power":
            return 1.0, 0.0
        return 2.0 / (stop - start), -(start + stop) / (stop - start)

    @property
    def _is_mapped_freely(self) -> bool:
        return self.degree == 0 or self._map[0].is_integer()

    @overload
    def __call__(self, x: CkksCiphertext) -> CkksCiphertext: ...
    @overload
    def __call__(self, x: IntegerCiphertext) -> IntegerCiphertext: ...
    @overload
    def __call__(self, x: ArrayLike) -> NDArray[Any]: ...

    @on_its_device
    def __call__(self, x: Any) -> Any:
        """The values of the polynomial, slot by slot.

        Level    level - depth
        Noise    that of x times the polynomial's slope, at most; rounding at every level
        Bound    the polynomial's range over that of x

        Raises ParamError, LevelError, MissingKeyError before any work, the first for an x that may
        leave the domain; under BGV NoiseError where the noise of a product would leave nothing to
        decrypt.
        """
        if isinstance(x, CkksCiphertext):
            return self._ckks(x)
        if isinstance(x, IntegerCiphertext):
            return self._bgv(x)
        values = np.asarray(x)
        if self.basis == "power":
            return np.asarray(_power.polyval(values, np.array(self.coefficients)))
        weight, shift = self._map
        return np.asarray(_chebyshev.chebval(weight * values + shift, np.array(self.coefficients)))

    def _ckks(self, x: CkksCiphertext) -> CkksCiphertext:
        automatic = x.context.automatic
        self._check_level(x, x.level - (automatic and x._pending))
        if self.degree == 0:
            return x * 0 + self.coefficients[0]
        self._check_domain(x.bound)
        self._check_keys(x)
        own = x._settled() if automatic else x.relinearize()
        sums = CkksSums(self._mapped(own), self._schedule, self.basis == "chebyshev")
        return sums.result(self._schedule.root, x.context.scale_at(own.level - self.depth))

    def _mapped(self, own: CkksCiphertext) -> CkksCiphertext:
        """The argument of T_i, within [-1, 1] or slightly more."""
        weight, shift = self._map
        if self.basis == "power":
            return own
        mapped = own.bound.times(weight).plus(shift)
        if weight.is_integer():
            found = own * int(weight) + shift if (weight, shift) != (1.0, 0.0) else own
            return replace(found, bound=mapped)
        last = own.basis.moduli[-1]
        scale = own.context.scale_at(own.level - 1) * last
        found = divided(multiple(own, weight, scale) + shift)
        return replace(found, bound=mapped)

    def _check_domain(self, bound: Bound) -> None:
        """ParamError for values outside of the domain of Chebyshev's polynomials."""
        start, stop = self.domain
        if self.basis != "chebyshev":
            return
        # The error of a previous interpolation; T_i are not much larger there.
        more = (stop - start) / 2 * min(_OUTSIDE, 1 / (2 * self.degree) ** 2)
        if not Bound.real(start - more, stop + more).holds(bound):
            raise ParamError(
                "domain",
                f"values in {bound}",
                f"real values in the domain [{start:g}, {stop:g}]; slots that were not given "
                "hold 0. Encrypt with bound=(low, high), or state their range: "
                "with_bound(low, high)",
            )

    def _bgv(self, x: IntegerCiphertext) -> IntegerCiphertext:
        if self.basis != "power":
            name = x.context.parameters.scheme.upper()
            raise ParamError(
                "basis", self.basis, f'"power" under {name}, whose values are integers'
            )
        exact = (value.is_integer() and abs(value) < EXACT_FLOATS for value in self.coefficients)
        if not all(exact):
            name = x.context.parameters.scheme.upper()
            allowed = f"integers under {name}, below 2^53: reduce larger ones mod t"
            raise ParamError("coefficients", self.coefficients, allowed)
        self._check_keys(x)
        if x.context.automatic:
            self._rehearse(x)
        return self._bgv_sums(x)

    def _bgv_sums(self, x: IntegerCiphertext) -> IntegerCiphertext:
        return BgvSums(x.relinearize(), self._schedule).result(self._schedule.root)

    def _rehearse(self, x: IntegerCiphertext) -> None:
        """NoiseError if the noise would exceed the modulus; only levels and noise are computed."""

        def traced(data: Tensor) -> Tensor:
            return self._bgv_sums(replace(x, data=data)).data

        example = residues(x.data.shape[:-2], *x.data.shape[-2:])
        try:
            _core.unrecorded(lambda: _core.trace(traced, [example]))
        except NoiseError as error:
            raise NoiseError(
                f"polynomial of degree {self.degree}, {self.depth} products deep, at level "
                f"{x.level} with {x.noise_budget():.0f} bits of noise budget",
                error.budget_log2,
                "begin with a longer modulus chain, or take a lower degree",
            ) from error

    def _check_level(self, x: Ciphertext, level: int) -> None:
        if level < self.depth:
            raise LevelError(
                "polynomial",
                f"{self.depth} levels for degree {self.degree}",
                level,
                "begin with a longer modulus chain, or take a lower degree",
            )

    def _check_keys(self, x: Ciphertext) -> None:
        if self.key_switches:
            x.keys.relinearization_key(x.level)

    def __repr__(self) -> str:
        domain = f", domain={self.domain}" if self.basis == "chebyshev" else ""
        error = "" if self.error is None else f", error={self.error:.3g}"
        return f'Polynomial(degree={self.degree}, basis="{self.basis}"{domain}{error})'


def chebyshev(
    function: Callable[[NDArray[Any]], ArrayLike],
    degree: int,
    domain: tuple[float, float],
) -> Polynomial:
    """The polynomial that interpolates a function at the Chebyshev points of the domain.

    For smooth functions its error is close to that of the best polynomial of the degree.  The
    largest error on the domain, measured, is its `error`.

    >>> sigmoid = chebyshev(lambda x: 1 / (1 + np.exp(-x)), 15, (-8.0, 8.0))
    >>> points = np.linspace(-8, 8, 1001)
    >>> bool(np.abs(sigmoid(points) - 1 / (1 + np.exp(-points))).max() < 0.002)
    True
    """
    if not 0 <= degree <= _DEGREE_MAX:
        raise ParamError("degree", degree, f"0 to {_DEGREE_MAX}")
    empty = Polynomial([0.0], "chebyshev", domain)
    start, stop = empty.domain

    def mapped(u: NDArray[Any]) -> NDArray[Any]:
        return evaluated(function, (stop - start) / 2 * u + (start + stop) / 2)

    found = np.asarray(_chebyshev.chebinterpolate(cast("Any", mapped), degree))
    found[np.abs(found) < _NEGLIGIBLE * np.abs(found).max()] = 0.0
    error = largest_error(
        function, Polynomial(found, "chebyshev", domain), ((start, stop),), degree
    )
    return Polynomial(found, "chebyshev", domain, error)


def _checked(coefficients: Sequence[Real] | ArrayLike) -> tuple[float, ...]:
    """Finite floats without zeros at the end; integers exactly."""
    given = np.atleast_1d(np.asarray(coefficients))
    if given.ndim != 1 or not 1 <= given.size <= _DEGREE_MAX + 1:
        raise ParamError("coefficients", given.shape, f"[n], n from 1 to {_DEGREE_MAX + 1}")
    if given.dtype.kind not in "fiub":
        raise ParamError("coefficients", given.dtype, "real numbers, or integers below 2^53")
    values = given.astype(np.float64)
    exact = given.dtype.kind == "f" or bool((np.abs(values) < 2.0**53).all())
    if not np.isfinite(values).all() or not exact:
        raise ParamError("coefficients", coefficients, "finite numbers; integers below 2^53")
    length = int(np.flatnonzero(values).max(initial=0)) + 1
    return tuple(values[:length].tolist())
