"""Constant tables: transforms of all limbs, and the constants of each level of the chain.

Tables hold the special moduli first and then the chain, so that the limbs of a level, with or
without the special ones, are one range; a level's tables are views.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import numpy as np

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.parameters import Parameters, gadget_digits
from cloakwork.fhe.rns.layout import columns, residues
from cloakwork.modular.negacyclic import Transform, integers
from cloakwork.once import once
from cloakwork.tensors.conversion import asarray


def frozen(tensor: Tensor) -> Tensor:
    """The tensor, frozen: it is never written again, so that derived tables are kept."""
    return tensor.freeze()


def constants(values: int | list[int] | list[list[int]]) -> Tensor:
    """A frozen int64 tensor of Python's integers."""
    return frozen(integers(values))


@dataclass(frozen=True, eq=False)
class Basis:
    """Some limbs with their transform, in bit-reversed order.

    q [k], psi and psi_inv [k, N], n_inv [k], perm [N] (the identity); `generator` of the order of
    CKKS slots
    """

    moduli: tuple[int, ...]
    degree: int
    q: Tensor
    psi: Tensor
    psi_inv: Tensor
    n_inv: Tensor
    perm: Tensor
    generator: int = 5

    @property
    def limbs(self) -> int:
        """The number of limbs."""
        return len(self.moduli)

    @once
    def modulus(self) -> int:
        """The product of the moduli."""
        return prod(self.moduli)

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
            self.generator,
        )

    def shortened(self, degree: int) -> Basis:
        """Of a smaller degree n: the transform of polynomials in X^(N / n), by X = x^(n / N).

        In the order of the transform each of their n values stands N / n times in a row.  The
        powers of roots begin with those of smaller degrees, as they are in bit-reversed order.
        """
        step = self.degree // degree
        return Basis(
            self.moduli,
            degree,
            self.q,
            self.psi[:, :degree],
            self.psi_inv[:, :degree],
            frozen(ops.modmul(self.n_inv, step, self.q)),
            self.perm[:degree],
            self.generator,
        )

    def ntt(self, a: Tensor, out: Tensor | None = None) -> Tensor:
        """[B, N, k] or [B, parts, N, k] coefficients -> values; `out` may be `a`."""
        out = residues(a.shape[:-2], self.degree, self.limbs) if out is None else out
        ops.ntt(columns(a), self.q, self.psi, perm=self.perm, out=columns(out))
        return out

    def intt(self, a: Tensor, out: Tensor | None = None, factor: Tensor | None = None) -> Tensor:
        """Values -> coefficients, times n_inv [k], or `factor` instead."""
        out = residues(a.shape[:-2], self.degree, self.limbs) if out is None else out
        n_inv = self.n_inv if factor is None else factor
        ops.intt(columns(a), self.q, self.psi_inv, n_inv, perm=self.perm, out=columns(out))
        return out

    def constant(self, value: int) -> Tensor:
        """[k]: the residues of one integer of any size and sign."""
        return integers([value % q for q in self.moduli])

    def reduce(self, values: Tensor) -> Tensor:
        """[..., n] int64 of either sign -> [..., n, k] canonical residues.

        `modneg` is canonical for every operand: applied twice, it reduces.
        """
        out = residues(values.shape[:-1], values.shape[-1], self.limbs)
        spread = values.unsqueeze(values.ndim).expand(values.ndim, self.limbs)
        return ops.modneg(ops.modneg(spread, self.q, out=out), self.q, out=out)


@dataclass(frozen=True, eq=False)
class KeySwitch:
    """Constants of hybrid key switching at a level, as the ops `mod_up` and `mod_down` want them.

    chain, extended   the k limbs of the level, and K special ones before them
    scale, half       [K + k]: factors of inverse transforms, of `mod_down` for the special limbs,
                      of `mod_up` for the chain's; floor(q / 2)
    up_hat            [k, K + k]: Q_d / q_i, Q_d the product of the digit that q_i belongs to
    down_hat          [K, k]: -P / p_i P^-1
    """

    special_limbs: int
    digit_limbs: int
    digits: int
    chain: Basis
    extended: Basis
    scale: Tensor
    half: Tensor
    up_hat: Tensor
    down_hat: Tensor


@dataclass(frozen=True, eq=False)
class Division:
    """Constants of a division by the last modulus q of a level, alone or with the special ones.

    last, kept   the last limb, and those that stay
    q            the moduli that go, special ones first
    scale, half  of the dropped limbs, special ones first; hat [dropped, kept]: minus D / d_i D^-1
    inverse      [kept]: q^-1
    """

    last: Basis
    kept: Basis
    q: Tensor
    scale: Tensor
    half: Tensor
    hat: Tensor
    inverse: Tensor


class Tables:
    """All constants derived from parameters, computed level by level on demand."""

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
            frozen(asarray(np.arange(parameters.degree))),
            parameters.generator,
        )
        self.chain = lru_cache(maxsize=None)(self._chain)
        self.extended = lru_cache(maxsize=None)(self._extended)
        self.key_switch = lru_cache(maxsize=None)(self._key_switch)
        self.rescale = lru_cache(maxsize=None)(self._rescale)
        self.mod_down_and_rescale = lru_cache(maxsize=None)(self._mod_down_and_rescale)
        self.q_inv = lru_cache(maxsize=None)(self._q_inv)
        self.automorphism = lru_cache(maxsize=None)(self._automorphism)

    @once
    def entry(self) -> Tables:
        """Of q_0 and the largest special modulus alone: for switching to a sparse secret."""
        own = self.parameters
        return Tables(
            replace(
                own,
                moduli=own.moduli[:1],
                special=(max(own.special),),
                scale=1.0,
                digit_limbs=1,
                security=None,
                reserved=0,
            )
        )

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

    def _key_switch(self, level: int) -> KeySwitch:
        chain, extended = self._chain(level), self._extended(level)
        special, step = extended.moduli[: self.special_limbs], self.parameters.digit_limbs
        degree, up_scale = self.parameters.degree, []
        up_hat: list[list[int]] = []
        for number in range(self.digit_count(level)):
            own = chain.moduli[number * step : (number + 1) * step]
            up_scale += scalings(own, degree)
            up_hat += weights(own, [1] * extended.limbs, extended.moduli)
        down_scale, down_hat = self._quotient(special, [1] * len(special), chain)
        return KeySwitch(
            special_limbs=self.special_limbs,
            digit_limbs=step,
            digits=self.digit_count(level),
            chain=chain,
            extended=extended,
            scale=constants(down_scale + up_scale),
            half=constants([q // 2 for q in extended.moduli]),
            up_hat=constants(up_hat),
            down_hat=constants(down_hat),
        )

    def _rescale(self, level: int) -> Division:
        """Divide by the last modulus of a level."""
        return self._division(level, (), [1])

    def _mod_down_and_rescale(self, level: int) -> Division:
        """Divide by the special moduli and the last of a level at once, after a key switch.

        The last limb holds its sum over P already, as the chain's limbs of keys do.
        """
        special = self.parameters.special
        return self._division(level, special, [1] * len(special) + [prod(special)])

    def _division(self, level: int, special: tuple[int, ...], times: list[int]) -> Division:
        place = self.special_limbs + level
        last, kept = self.limbs(place, place + 1), self._chain(level - 1)
        dropped = special + last.moduli
        scale, hat = self._quotient(dropped, times, kept)
        return Division(
            last=last,
            kept=kept,
            q=constants([*dropped]),
            scale=constants(scale),
            half=constants([q // 2 for q in dropped]),
            hat=constants(hat),
            inverse=constants([pow(last.moduli[0], -1, p) for p in kept.moduli]),
        )

    def _quotient(
        self, dropped: tuple[int, ...], times: list[int], kept: Basis
    ) -> tuple[list[int], list[list[int]]]:
        """Scalings of limbs of product D, each multiplied first, and weights to minus over D.

        Under BGV the remainder is taken as a multiple of t, so that errors stay multiples of t:
        t * [c / t mod D].
        """
        t = self.parameters.error_multiple
        pairs = zip(dropped, scalings(dropped, self.parameters.degree), times, strict=True)
        scale = [factor * more * pow(t, -1, q) % q for q, factor, more in pairs]
        whole = prod(dropped)
        over = [-t * pow(whole, -1, p) for p in kept.moduli]
        return scale, weights(dropped, over, kept.moduli)

    def _q_inv(self, level: int) -> Tensor:
        """[k, k]: q_j^-1 mod q_i, ones on the diagonal, as CRT by digits wants it."""
        moduli = self._chain(level).moduli
        return constants([[pow(b, -1, a) if a != b else 1 for b in moduli] for a in moduli])

    def _automorphism(self, element: int) -> Tensor:
        """[N]: out[n] = a[index[n]] turns the values of a(X) into those of a(X^element)."""
        degree = self.parameters.degree
        reversed_bits = _bit_reversal(degree)
        exponents = (2 * reversed_bits + 1) * element % (2 * degree)
        return frozen(asarray(reversed_bits[(exponents - 1) // 2]))


def scalings(moduli: tuple[int, ...], degree: int) -> list[int]:
    """(N * D / q_i)^-1 mod q_i for each of some moduli of product D."""
    whole = prod(moduli)
    return [pow(degree * (whole // q), -1, q) for q in moduli]


def weights(moduli: tuple[int, ...], times: list[int], targets: tuple[int, ...]) -> list[list[int]]:
    """[i, j]: D / q_i mod p_j for moduli q of product D, times the j-th factor."""
    whole = prod(moduli)
    pairs = list(zip(targets, times, strict=True))
    return [[whole // q * factor % p for p, factor in pairs] for q in moduli]


@lru_cache(maxsize=8)
def _bit_reversal(degree: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    order = np.zeros(1, dtype=np.int64)
    while len(order) < degree:
        order = np.concatenate((2 * order, 2 * order + 1))
    return order
