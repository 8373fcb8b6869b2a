"""Constants: transform tables of all limbs, and what each level of the chain needs.

Tables hold the special moduli first and then the chain, so that the limbs of a level, with or
without the special ones, are one range; a level's tables are views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from cloakwork import arrays, ops
from cloakwork._core import Tensor
from cloakwork.fhe.layout import columns, residues
from cloakwork.fhe.parameters import Parameters, gadget_digits
from cloakwork.transforms import Transform, integers


def frozen(tensor: Tensor) -> Tensor:
    """The tensor, never to be written again: what kernels derive from it is kept."""
    return tensor.freeze()


def constants(values: int | list[int] | list[list[int]]) -> Tensor:
    """A frozen int64 tensor of Python's integers."""
    return frozen(integers(values))


@dataclass(frozen=True, eq=False)
class Basis:
    """Some limbs with their transform, in the transform's own order (bit-reversed).

    q [k], psi and psi_inv [k, N], n_inv [k], perm [N] (the identity)
    """

    moduli: tuple[int, ...]
    degree: int
    q: Tensor
    psi: Tensor
    psi_inv: Tensor
    n_inv: Tensor
    perm: Tensor

    @property
    def limbs(self) -> int:
        """How many."""
        return len(self.moduli)

    def range(self, start: int, stop: int) -> Basis:
        """Limbs start to stop - 1; views."""
        return Basis(
            self.moduli[start:stop],
            self.degree,
            self.q[start:stop],
            self.psi[start:stop],
            self.psi_inv[start:stop],
            self.n_inv[start:stop],
            self.perm,
        )

    def ntt(self, a: Tensor, out: Tensor | None = None) -> Tensor:
        """[B, N, k] or [B, parts, N, k] coefficients -> values; `out` may be `a`."""
        out = residues(a.shape[:-2], self.degree, self.limbs) if out is None else out
        ops.ntt(columns(a), self.q, self.psi, perm=self.perm, out=columns(out))
        return out

    def intt(self, a: Tensor, out: Tensor | None = None, factor: Tensor | None = None) -> Tensor:
        """Values -> coefficients, times n_inv [k] or what stands for it in `factor`."""
        out = residues(a.shape[:-2], self.degree, self.limbs) if out is None else out
        n_inv = self.n_inv if factor is None else factor
        ops.intt(columns(a), self.q, self.psi_inv, n_inv, perm=self.perm, out=columns(out))
        return out

    def constant(self, value: int) -> Tensor:
        """[k]: the residues of one integer of any size and sign."""
        return integers([value % q for q in self.moduli])

    def reduce(self, values: Tensor) -> Tensor:
        """[..., n] int64 of either sign -> [..., n, k] canonical residues.

        `modneg` is canonical for every operand, so that twice is reduction.
        """
        out = residues(values.shape[:-1], values.shape[-1], self.limbs)
        spread = values.unsqueeze(values.ndim).expand(values.ndim, self.limbs)
        return ops.modneg(ops.modneg(spread, self.q, out=out), self.q, out=out)


@dataclass(frozen=True, eq=False)
class Conversion:
    """From residues y_i = (a_i * hat_inv_i) mod q_i, scaled already, to other moduli.

    source limbs q [k] with half [k] = floor(q_i / 2); target the basis p [j]; hat [k, j]
    """

    q: Tensor
    half: Tensor
    hat: Tensor
    target: Basis


@dataclass(frozen=True, eq=False)
class Digit:
    """Limbs start to stop - 1 of the chain, and how they are extended to the others.

    pieces   (place of its first limb among special and chain limbs, conversion)
    """

    start: int
    stop: int
    pieces: tuple[tuple[int, Conversion], ...]


@dataclass(frozen=True, eq=False)
class ModUp:
    """What cutting a polynomial of a level into digits needs.

    factor [k]: n_inv times (Q_d / q_i)^-1 mod q_i, Q_d the digit's product
    """

    chain: Basis
    extended: Basis
    special_limbs: int
    factor: Tensor
    digits: tuple[Digit, ...]


@dataclass(frozen=True, eq=False)
class Dropped:
    """A range of limbs that goes away: its place, its basis and the scaling of its transform."""

    start: int
    basis: Basis
    factor: Tensor


@dataclass(frozen=True, eq=False)
class ModDown:
    """What dividing by a product of limbs, D, needs.

    start, kept   the place and basis of the limbs that stay
    correction    from the dropped limbs to minus the remainder over D
    factor [j]    what limbs that stay are multiplied with; None: D^-1 is in them already
    """

    dropped: tuple[Dropped, ...]
    start: int
    kept: Basis
    correction: Conversion
    factor: Tensor | None


class Tables:
    """Everything that is derived from parameters, level by level as it is needed."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        moduli = parameters.special + parameters.moduli
        transform = Transform(parameters.degree, moduli)
        self.special_limbs = len(parameters.special)
        self._all = Basis(
            moduli,
            parameters.degree,
            frozen(transform.q),
            frozen(transform.psi),
            frozen(transform.psi_inv),
            frozen(transform.n_inv),
            frozen(arrays.asarray(np.arange(parameters.degree))),
        )
        self.chain = lru_cache(maxsize=None)(self._chain)
        self.extended = lru_cache(maxsize=None)(self._extended)
        self.mod_up = lru_cache(maxsize=None)(self._mod_up)
        self.mod_down = lru_cache(maxsize=None)(self._mod_down)
        self.rescale = lru_cache(maxsize=None)(self._rescale)
        self.mod_down_rescale = lru_cache(maxsize=None)(self._mod_down_rescale)
        self.q_inv = lru_cache(maxsize=None)(self._q_inv)
        self.automorphism = lru_cache(maxsize=None)(self._automorphism)

    def limbs(self, start: int, stop: int) -> Basis:
        """A range of special and chain limbs, special ones first."""
        return self._all.range(start, stop)

    def _chain(self, level: int) -> Basis:
        return self.limbs(self.special_limbs, self.special_limbs + level + 1)

    def _extended(self, level: int) -> Basis:
        return self.limbs(0, self.special_limbs + level + 1)

    def digit_count(self, level: int) -> int:
        """Digits of key switching at a level."""
        if not self.special_limbs:
            return gadget_digits(self.parameters, level + 1)
        return -(-(level + 1) // self.parameters.digit_limbs)

    def _mod_up(self, level: int) -> ModUp:
        chain, step = self._chain(level), self.parameters.digit_limbs
        factor: list[int] = []
        digits: list[Digit] = []
        for number in range(self.digit_count(level)):
            start, stop = number * step, min((number + 1) * step, level + 1)
            own = chain.moduli[start:stop]
            factor += scalings(own, self.parameters.degree)
            ranges = (
                (0, self.special_limbs + start),
                (self.special_limbs + stop, self.special_limbs + level + 1),
            )
            pieces = tuple(
                (first, conversion(own, self.limbs(first, last)))
                for first, last in ranges
                if first < last
            )
            digits.append(Digit(start, stop, pieces))
        return ModUp(
            chain, self._extended(level), self.special_limbs, constants(factor), tuple(digits)
        )

    def _mod_down(self, level: int) -> ModDown:
        """Divide by the special moduli, whose inverse the keys have in the chain's limbs."""
        special = self.limbs(0, self.special_limbs)
        kept = self._chain(level)
        return self._division(((0, special, 1),), self.special_limbs, kept, None)

    def _rescale(self, level: int) -> ModDown:
        """Divide by the last modulus of a level."""
        last = self.limbs(self.special_limbs + level, self.special_limbs + level + 1)
        kept = self._chain(level - 1)
        return self._division(((level, last, 1),), 0, kept, last.moduli[0])

    def _mod_down_rescale(self, level: int) -> ModDown:
        """Divide by the special moduli and the last modulus at once, after a key switch.

        The last limb is the sum over P already, as the chain's limbs are in keys.
        """
        place = self.special_limbs + level
        special, last = self.limbs(0, self.special_limbs), self.limbs(place, place + 1)
        pieces = ((0, special, 1), (place, last, prod(special.moduli)))
        return self._division(pieces, self.special_limbs, self._chain(level - 1), last.moduli[0])

    def _division(
        self,
        pieces: Sequence[tuple[int, Basis, int]],
        start: int,
        kept: Basis,
        factor: int | None,
    ) -> ModDown:
        """`pieces`: place, basis and what the limb is to be multiplied with.

        Under BGV the remainder is taken as a multiple of t, so that errors stay multiples of t:
        t * [c / t mod D].
        """
        t = self.parameters.plain_modulus or 1
        moduli = tuple(q for _, basis, _ in pieces for q in basis.moduli)
        scaled = iter(scalings(moduli, self.parameters.degree))
        dropped = tuple(
            Dropped(
                place,
                basis,
                constants([next(scaled) * times * pow(t, -1, q) % q for q in basis.moduli]),
            )
            for place, basis, times in pieces
        )
        weight = [-t * pow(prod(moduli), -1, p) for p in kept.moduli]
        inverse = None
        if factor is not None:
            inverse = constants([pow(factor, -1, p) for p in kept.moduli])
        return ModDown(dropped, start, kept, conversion(moduli, kept, weight), inverse)

    def _q_inv(self, level: int) -> Tensor:
        """[k, k]: q_j^-1 mod q_i, ones on the diagonal, as CRT by digits wants it."""
        moduli = self._chain(level).moduli
        return constants([[pow(b, -1, a) if a != b else 1 for b in moduli] for a in moduli])

    def _automorphism(self, element: int) -> Tensor:
        """[N]: out[n] = a[index[n]] turns the values of a(X) into those of a(X^element)."""
        degree = self.parameters.degree
        reversed_bits = _bit_reversal(degree)
        exponents = (2 * reversed_bits + 1) * element % (2 * degree)
        return frozen(arrays.asarray(reversed_bits[(exponents - 1) // 2]))


def scalings(moduli: tuple[int, ...], degree: int) -> list[int]:
    """(N * D / q_i)^-1 mod q_i for each of some moduli of product D."""
    whole = prod(moduli)
    return [pow(degree * (whole // q), -1, q) for q in moduli]


def conversion(
    moduli: tuple[int, ...], target: Basis, weight: Sequence[int] | None = None
) -> Conversion:
    """From limbs of product D, scaled, to `target`, each of its limbs times a weight."""
    whole = prod(moduli)
    weights = [1] * target.limbs if weight is None else weight
    pairs = list(zip(target.moduli, weights, strict=True))
    hat = [[whole // q * times % p for p, times in pairs] for q in moduli]
    return Conversion(
        constants([*moduli]), constants([q // 2 for q in moduli]), constants(hat), target
    )


@lru_cache(maxsize=8)
def _bit_reversal(degree: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    order = np.zeros(1, dtype=np.int64)
    while len(order) < degree:
        order = np.concatenate((2 * order, 2 * order + 1))
    return order
