"""BFV's product: the tensor product of two ciphertexts, divided by Q / t.

One factor is extended from Q to a second basis P of about the same size.  The other is divided by
Q / P, so that it is a ciphertext mod P, and extended to Q.  Their tensor product mod Q P, times
t / P, is a ciphertext mod Q again (Kim, Polyakov and Zucca, ePrint 2021/204).

All conversions between bases are `base_convert` with centred digits, which are off by a multiple of
the modulus.  That never matters: a multiple of Q or P in a factor changes the product by a multiple
of Q, after a slightly larger error; and a division is off by half the limbs at most.  So there are
neither floats nor correcting moduli, and a product that exceeds Q P does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.chain import Picker
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.layout import residues
from cloakwork.fhe.rns.tables import Basis, Tables, constants, frozen, scalings, weights
from cloakwork.modular.negacyclic import Transform

# Below 2^50, where kernels are fastest.
_BITS = 49


def further_moduli(parameters: Parameters) -> tuple[int, ...]:
    """The primes of P, whose product exceeds the chain's."""
    picker = Picker(parameters.degree, {*parameters.moduli, *parameters.special})
    found = [picker.prime(_BITS)]
    while prod(found) < prod(parameters.moduli):
        found.append(picker.prime(_BITS))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Constants of a product at a level.

    chain, further   the k limbs of Q, and those of P
    half             floor(q / 2) of either
    lift, lift_hat   scaling of inverse transforms mod Q, and weights to P: the extension
    over, over_hat   the same for P / Q times a polynomial; its limbs are over P / p_j
    back_hat         weights of those limbs to Q, times t / P
    down, down_hat   scaling of inverse transforms mod P, and weights to Q: minus over P
    """

    chain: Basis
    further: Basis
    half: tuple[Tensor, Tensor]
    lift: Tensor
    lift_hat: Tensor
    over: Tensor
    over_hat: Tensor
    back_hat: Tensor
    down: Tensor
    down_hat: Tensor


class Scalings:
    """The further moduli with their transform, and the constants of each level."""

    def __init__(self, tables: Tables) -> None:
        parameters = tables.parameters
        moduli = further_moduli(parameters)
        transform = Transform(parameters.degree, moduli)
        self._tables = tables
        self.whole = Basis(
            moduli,
            parameters.degree,
            frozen(transform.q),
            frozen(transform.psi),
            frozen(transform.psi_inv),
            frozen(transform.n_inv),
            tables.chain(0).perm,
            parameters.generator,
        )
        self._made: dict[int, Scaling] = {}

    def further(self, level: int) -> Basis:
        """As many of the further moduli as exceed those of a level."""
        count, modulus = 1, self._tables.chain(level).modulus
        while prod(self.whole.moduli[:count]) < modulus:
            count += 1
        return self.whole.range(0, count)

    def at(self, level: int) -> Scaling:
        """The constants of a level."""
        if level not in self._made:
            self._made[level] = self._scaling(level)
        return self._made[level]

    def _scaling(self, level: int) -> Scaling:
        chain, further = self._tables.chain(level), self.further(level)
        degree, t = self._tables.parameters.degree, self._tables.parameters.plain_modulus
        q, p = chain.modulus, further.modulus
        lift = scalings(chain.moduli, degree)
        over = [a * p % modulus for a, modulus in zip(lift, chain.moduli, strict=True)]
        # -1 / Q, and over P / p_j, as the conversion back wants its digits.
        quotients = [-pow(q * (p // m), -1, m) for m in further.moduli]
        return Scaling(
            chain=chain,
            further=further,
            half=(_halves(chain), _halves(further)),
            lift=constants(lift),
            lift_hat=constants(weights(chain.moduli, [1] * further.limbs, further.moduli)),
            over=constants(over),
            over_hat=constants(weights(chain.moduli, quotients, further.moduli)),
            back_hat=constants(
                [[t * pow(b, -1, a) % a for a in chain.moduli] for b in further.moduli]
            ),
            down=constants([t * pow(degree, -1, m) % m for m in further.moduli]),
            down_hat=constants(
                [[-pow(b, -1, a) % a for a in chain.moduli] for b in further.moduli]
            ),
        )


def _halves(basis: Basis) -> Tensor:
    return constants([q // 2 for q in basis.moduli])


def _converted(digits: Tensor, source: Basis, half: Tensor, hat: Tensor, target: Basis) -> Tensor:
    """Digits [..., N, k] of one basis -> coefficients of another."""
    out = residues(digits.shape[:-2], target.degree, target.limbs)
    return ops.base_convert(digits, source.q, half, hat, target.q, out=out)


def extended(a: Tensor, own: Scaling) -> Tensor:
    """[B, 2, N, k] mod Q -> the same mod P, off by a multiple of Q."""
    digits = own.chain.intt(a, factor=own.lift)
    out = _converted(digits, own.chain, own.half[0], own.lift_hat, own.further)
    return own.further.ntt(out, out=out)


def exchanged(a: Tensor, own: Scaling) -> tuple[Tensor, Tensor]:
    """[B, 2, N, k] mod Q -> P / Q times it, mod P over P / p_j, and mod Q times t / P."""
    digits = own.chain.intt(a, factor=own.over)
    low = _converted(digits, own.chain, own.half[0], own.over_hat, own.further)
    high = _converted(low, own.further, own.half[1], own.back_hat, own.chain)
    return own.further.ntt(low, out=low), own.chain.ntt(high, out=high)


def product(a: Tensor, b: Tensor, own: Scaling) -> Tensor:
    """The product of ciphertexts [B, 2, N, k]: [B, 3, N, k]."""
    low, high = exchanged(b, own)
    found = evaluator.tensor_product(a, high, own.chain)
    remainder = evaluator.tensor_product(extended(a, own), low, own.further)
    digits = own.further.intt(remainder, out=remainder, factor=own.down)
    quotient = _converted(digits, own.further, own.half[1], own.down_hat, own.chain)
    own.chain.ntt(quotient, out=quotient)
    return ops.modsum(found, quotient, own.chain.q, out=found)
