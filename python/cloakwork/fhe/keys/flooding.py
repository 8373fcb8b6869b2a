"""Noise flooding: CKKS decryptions that may be disclosed to others.

A decryption is the message plus an error that depends on the secret.  Gaussian noise of standard
deviation sqrt(12 q) 2^(s / 2) t hides it: t bounds the error's Euclidean norm over the disclosed
values, q is the number of disclosed decryptions, s the statistical security.  That is Corollary 2
of Li, Micciancio, Schultz and Sorrell, "Securing Approximate Homomorphic Encryption Using
Differential Privacy" (CRYPTO 2022, ePrint 2022/816), for that norm, which leaves no further factor
of the degree (OpenFHE's CKKS_NOISE_FLOODING.md corrects the paper's likewise).  Only the values
that a ciphertext holds are disclosed, not all slots: fewer values need less noise.

Why it suffices: two Gaussians whose centres are t apart have divergence t^2 / (2 deviation^2),
which adds up to 2^-s / 24 over q queries; so the advantage of any adaptive, unbounded adversary
over the exact results is at most 2^(-s / 2) / 7 (Pinsker).  Values are first rounded to a grid
finer than the error, and the noise is drawn exactly on that grid, so that no bit of a float reveals
more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, log, log2, pi, sqrt
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops, random
from cloakwork._core import Tensor
from cloakwork.errors import NoiseError, ParamError
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.noise import total
from cloakwork.fhe.parameters import ERROR_SIGMA
from cloakwork.fhe.rns.samplers import wiped
from cloakwork.lazy import public
from cloakwork.tensors.conversion import asarray

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.ckks import CkksCiphertext
    from cloakwork.programs.program import Program

# The default statistical security of disclosed decryptions, in bits.
SECURITY = 40
_SECURITY_MOST, _QUERIES_MOST = 128, 1 << 64
# Disclosed values are within `precision`, except with a chance of 2^-15.
_CHANCE_BITS = 15
# The grid relative to the error, as a power of two, and the error's growth by rounding to it.
_GRID_LOG2 = 5.0
_ROUNDING_LOG2 = log2(1 + sqrt(2) / 2**_GRID_LOG2)
# Ten deviations of the noise on the grid fit into 64-bit words.
_DEVIATION_MOST = 59.0
# The smoothing parameter of the integers for 2^-100, as a standard deviation (Micciancio and Regev,
# SIAM Journal on Computing 37, 2007, Lemma 3.3).
_SMOOTHING_LOG2 = log2(sqrt(log(2) * 101 / 2) / pi)
# Bits that one step of a convolution never takes, and times what it may take two steps are equal.
_FAR, _SPLIT = 200.0, 64
# log2 of the largest noise that a caller may state: beyond the bits of any chain.
_NOISE_MOST = float(1 << 13)


@public("cloakwork.fhe")
@dataclass(frozen=True)
class Flooding:
    """The noise of flooding one decryption, and its cost.

    queries      disclosed decryptions of ciphertexts under this secret
    security     bits: an advantage of at most 2^(-security / 2) / 7 over all of them
    values       the number of values that one decryption discloses
    error        log2 of a bound on the root mean square of the values' errors, before the division
                 by the scale
    deviation    log2 of the noise's standard deviation, in real and imaginary parts
    precision    bits b such that disclosed values are within 2^-b of the exact result
    cost         bits of precision that are lost
    """

    queries: int
    security: int
    values: int
    error: float
    deviation: float
    precision: float
    cost: float

    def __str__(self) -> str:
        return (
            f"{self.security} bits over {self.queries} decryptions, of {self.values} values each: "
            f"noise of 2^{self.deviation:.1f} over an error of 2^{self.error:.1f}; "
            f"{self.precision:.1f} bits of precision are left, {self.cost:.1f} fewer"
        )


class Disclosed(TypedDict, total=False):
    """The options of `Keys.decrypt` that a client of a model takes, too."""

    queries: int | None
    security: int | None
    noise_bits: float | None


@dataclass(frozen=True)
class Request:
    """The flooding options of `Keys.decrypt`.

    slots   bool [slots]: those that are disclosed; None: all that hold values
    """

    queries: int
    security: int
    program: Program | None
    noise_bits: float | None
    slots: NDArray[np.bool_] | None = None

    @classmethod
    def made(cls, queries: int | None, slots: Any = None, **given: Any) -> Request | None:
        """Of the options of a decryption; None without `queries`, which the others need."""
        if queries is None:
            if any(value is not None for value in given.values()):
                allowed = "the number of disclosed decryptions, which the other options need"
                raise ParamError("queries", None, allowed)
            return None
        bits = given.get("security")
        bits = SECURITY if bits is None else bits
        return cls(queries, bits, given.get("program"), given.get("noise_bits"), slots)

    def held(self, x: Ciphertext) -> NDArray[np.bool_]:
        """The disclosed slots of a ciphertext."""
        if self.slots is not None:
            return self.slots
        return x.packing.lay(np.ones(x.packing.shape, dtype=bool))

    def __post_init__(self) -> None:
        _check_whole("queries", self.queries, _QUERIES_MOST)
        _check_whole("security", self.security, _SECURITY_MOST)
        if self.program is not None and self.noise_bits is not None:
            raise ParamError("noise_bits", self.noise_bits, "a program or a number, not both")
        if self.noise_bits is not None and not 0 <= self.noise_bits <= _NOISE_MOST:
            raise ParamError("noise_bits", self.noise_bits, f"0 to {_NOISE_MOST:.0f}")

    def flooding(self, x: Ciphertext) -> Flooding:
        """The flooding of a ciphertext.

        Raises ParamError if the ciphertext's error is only known from a file.
        """
        if x.context.parameters.scheme != "ckks":
            name = x.context.parameters.scheme.upper()
            allowed = f"a CKKS ciphertext: {name}'s results are exact, see noise_budget()"
            raise ParamError("queries", self.queries, allowed)
        if (x.batch or 1) > self.queries:
            raise ParamError("queries", self.queries, f"{x.batch} or more, those of this batch")
        own: CkksCiphertext = x  # type: ignore[assignment]  # CKKS alone comes here
        held = self.held(own)
        norm, values = self._norm(own, held), int(held.sum())
        width = log2(12 * self.queries) / 2 + self.security / 2 + _ROUNDING_LOG2
        if width + _GRID_LOG2 + log2(values) / 2 > _DEVIATION_MOST:
            allowed = f"less, or fewer queries: {values} values are shown {self.queries} times"
            raise ParamError("security", self.security, allowed)
        error, deviation = norm - log2(values) / 2, norm + width
        most = sqrt(2 * log(2) * (_CHANCE_BITS + log2(values)))
        after = -(total(norm, deviation + log2(most)) - log2(own.scale))
        cost = log2(own.scale) - error - after
        return Flooding(self.queries, self.security, values, error, deviation, after, cost)

    def _norm(self, x: CkksCiphertext, held: NDArray[np.bool_]) -> float:
        """log2 of a bound on the error's norm over the disclosed slots.

        By the client's knowledge of the circuit, with the error of the floating-point transform.
        """
        floats = x.size + log2(x.scale) + noise.FLOAT_LOG2 + 1 + log2(held.sum()) / 2
        if self.noise_bits is not None:
            return total(self.noise_bits + log2(held.sum()) / 2, floats)
        if self.program is not None:
            return total(max(_norm_of(found, held) for found in self._alike(x)), floats)
        if x.claimed:
            allowed = (
                "program=, traced by yourself, or noise_bits=: this ciphertext's noise estimate "
                "comes from a file, whose writer may have understated it"
            )
            raise ParamError("noise", "the claim of a file", allowed)
        return total(_norm_of(x, held), floats)

    def _alike(self, x: CkksCiphertext) -> list[CkksCiphertext]:
        """The results of the program that match the ciphertext."""
        assert self.program is not None
        returned: Any = self.program.returned
        held = [found for found in returned if isinstance(found, type(x))]
        if any(found.claimed for found in held):
            allowed = "one traced with examples of your own: this one's came from a file"
            raise ParamError("program", repr(self.program), allowed)
        # Whose secret it was traced with says nothing of the noise.
        held = [found for found in held if found.context.parameters == x.context.parameters]
        names = ("level", "scale", "packing")
        same = [f for f in held if all(getattr(f, name) == getattr(x, name) for name in names)]
        if not same:
            allowed = f"one with a result at level {x.level}, scale 2^{log2(x.scale):.2f}"
            more = "of these parameters and this packing"
            raise ParamError("program", repr(self.program), f"{allowed}, {more}")
        return same


def _norm_of(x: CkksCiphertext, held: NDArray[np.bool_]) -> float:
    """log2 of a bound on the error's norm over some slots, by its estimate."""
    shares = np.broadcast_to(x.share.values, np.broadcast_shapes(x.share.values.shape, held.shape))
    largest = float(np.square(shares[..., held]).sum(axis=-1).max())
    # A known number has no noise, 2^-inf; it is flooded as if the noise were 1.
    return max(x.noise + noise.TAIL_LOG2 + log2(max(largest, 2.0**-200)) / 2, 0.0)


def _check_whole(name: str, value: Any, most: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not 1 <= value <= most:
        raise ParamError(name, value, f"a whole number from 1 to 2^{most.bit_length() - 1}")


def check_queries(results: Iterable[Ciphertext], options: Mapping[str, Any]) -> None:
    """ParamError for fewer queries than the ciphertexts of one result."""
    queries, count = options.get("queries"), sum(one.batch or 1 for one in results)
    if isinstance(queries, int) and 0 < queries < count:
        allowed = f"{count} or more, the ciphertexts of this result"
        raise ParamError("queries", queries, allowed)


def shown(
    values: NDArray[Any], x: CkksCiphertext, wanted: Flooding, held: NDArray[np.bool_]
) -> NDArray[Any]:
    """Decrypted slots [..., slots] with flooding noise; 0 in slots that are not `held`.

    Raises NoiseError if the noise would exceed all values.
    """
    left = wanted.precision + x.size
    if left <= 0:
        hint = (
            "begin with a larger scale, or take fewer queries or less security; compile a model "
            "with a smaller precision="
        )
        raise NoiseError(f"flooding ({wanted})", left, hint)
    grid = wanted.error - _GRID_LOG2
    parts = np.stack((values[..., held].real, values[..., held].imag))
    points = np.rint(parts * 2.0 ** (log2(x.scale) - grid)).astype(np.int64)
    with wiped(wide_gaussian(points.shape, wanted.deviation - grid)) as mask:
        points += np.asarray(mask)
    real, imaginary = points * 2.0 ** (grid - log2(x.scale))
    out = np.zeros_like(values)
    out[..., held] = real + 1j * imaginary
    return out


def wide_gaussian(shape: tuple[int, ...], deviation: float) -> Tensor:
    """Discrete Gaussians of standard deviation 2^deviation or slightly more, up to 2^59: i64.

    Sums x + z y of two narrower ones, recursively down to the table's (Micciancio and Walter,
    CRYPTO 2017, ePrint 2017/259): 128 draws each beyond 2^39.
    """
    weights = convolution(deviation)

    def drawn(depth: int) -> Tensor:
        if depth == 0:
            return random.gaussian(shape, sigma=ERROR_SIGMA)
        weight = asarray(weights[depth - 1])
        with (
            wiped(drawn(depth - 1)) as own,
            wiped(drawn(depth - 1)) as other,
            wiped(ops.multiply(other, weight)) as widened,
        ):
            return ops.add(own, widened)

    return drawn(len(weights))


def convolution(deviation: float) -> list[int]:
    """The weights z_1, z_2, ... of `wide_gaussian`, each as large as the narrower one allows.

    x + z y of two discrete Gaussians of deviation d is one of d sqrt(1 + z^2), but for 2^-100, if
    sqrt(1 + z^2) times the smoothing parameter of the integers stays below d.
    """
    weights: list[int] = []
    own = log2(ERROR_SIGMA)
    while own < deviation:
        most = floor(sqrt(4.0 ** (own - _SMOOTHING_LOG2) - 1.0))
        needed = ceil(sqrt(4.0 ** min(deviation - own, _FAR) - 1.0))
        if most < needed < _SPLIT * most:
            # Two equal steps approximate the deviation better than a long one and a short one.
            needed = ceil(sqrt(needed))
        weights.append(max(1, min(most, needed)))
        own += log2(1 + weights[-1] ** 2) / 2
    return weights
