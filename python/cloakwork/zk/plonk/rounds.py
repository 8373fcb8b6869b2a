"""The prover's polynomials: ordinary Python over tensors, which `cw.trace` records as a program.

A polynomial is a vector of coefficients, the constant first.  The quotient T of degree 3 n + 5 is
computed from its values on three cosets s <w> of the domain of n points, s^n = i, -1 and -i, which
give T modulo X^n - s^n, and from its six highest coefficients, which follow from the highest ones
of the factors of the permutation argument alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fields.parameters import ORDERS
from cloakwork.once import once
from cloakwork.zk.groth16.algebra import scalars
from cloakwork.zk.protocol.fields import field

if TYPE_CHECKING:
    from cloakwork.zk.plonk.keys import ProvingKey

# The highest coefficients of a quotient, beyond 3 n; and room for products of four polynomials.
_TOP, _ROOM = 6, 32


class Challenges(NamedTuple):
    """Scalars [1]; a round knows those of the rounds before."""

    beta: Tensor
    gamma: Tensor
    alpha: Tensor


@dataclass(frozen=True, eq=False)
class _Coset:
    """A coset s <w>: scalars [1], but for `shift`, which has no axes.

    shift      s
    level      s^n, the value of X^n on the coset
    inverse    1 / (s^n - 1): the domain's vanishing polynomial is a constant
    lagrange   (s^n - 1) / n, the numerator of the first Lagrange polynomial
    cube       s^3n
    """

    shift: Tensor
    level: Tensor
    inverse: Tensor
    lagrange: Tensor
    cube: Tensor


class Rounds:
    """The polynomials of proofs under a key.

    keeps   values of the key's polynomials are computed once, and kept; otherwise in each proof
    """

    def __init__(self, key: ProvingKey, *, keeps: bool) -> None:
        self.key, self.keeps = key, keeps
        curve, size, prime = key.curve, key.domain, ORDERS[key.curve]
        root = field(f"{curve}.fr").root_number(4 * size)
        w, i = pow(root, 4, prime), pow(root, size, prime)
        self.one, self.root, self.size = (scalars(curve, [number]) for number in (1, w, size))
        # 1 / 2 and 1 / 2 i.
        self._half, self._half_turned = (
            scalars(curve, [pow(number, -1, prime)]) for number in (2, 2 * i)
        )
        self._turns = scalars(curve, [pow(w, 2 - place, prime) for place in range(_TOP)])
        self._cosets = []
        for place in (1, 2, 3):
            level = pow(i, place, prime)
            numbers = (
                pow(root, place, prime), level, pow(level - 1, -1, prime),
                (level - 1) * pow(size, -1, prime), pow(level, 3, prime),
            )  # fmt: skip
            shift, *rest = (scalars(curve, [number]) for number in numbers)
            self._cosets.append(_Coset(shift[0], *rest))

    @property
    def kept_bytes(self) -> int:
        """The memory of what is kept between proofs, besides the key."""
        vectors = 3 + len(self._cosets) * len(self.key.polynomials)
        return vectors * self.key.domain * self.one.itemsize if self.keeps else 0

    @once
    def _kept(self) -> dict[tuple[int, _Coset | None], Tensor]:
        """Values of the key's polynomials: by their places."""
        kept: dict[tuple[int, _Coset | None], Tensor] = {
            (place, None): ops.field_ntt(self.key.polynomials[place]).freeze()
            for place in (5, 6, 7)
        }
        for coset in self._cosets:
            for place, polynomial in enumerate(self.key.polynomials):
                values = ops.field_ntt(polynomial, coset_shift=coset.shift)
                kept[place, coset] = values.freeze()
        return kept

    def _of_key(self, place: int, coset: _Coset | None = None) -> Tensor:
        """Values of a polynomial of the key on a coset, or on the domain."""
        if self.keeps:
            return self._kept[place, coset]
        # An op on a key's tensors alone would be computed when the program is recorded.
        own = _own(self.key.polynomials[place])
        return ops.field_ntt(own, coset_shift=None if coset is None else coset.shift)

    def _points(self, coset: _Coset | None = None) -> Tensor:
        """The points of a coset, or of the domain."""
        start = _own(self.one if coset is None else coset.shift.reshape(1))
        return ops.powers(self.root[0], self.key.domain, start=start[0])

    def values(self, witness: Tensor) -> Tensor:
        """The values of all wires, [wires], from those of the circuit's wires."""
        key = self.key
        values = ops.empty((key.wires,), witness.dtype)
        values[: key.circuit_wires] = witness
        # snarkjs has 0 there: gates have constants of their own.
        values[:1] = self.one - self.one
        done, before = key.circuit_wires, 0
        for count in key.levels:
            part = slice(before, before + count)
            terms = (
                factors[part] * ops.take_along_axis(values, sources[part], 0)
                for factors, sources in zip(key.factors, key.sources, strict=True)
            )
            values[done : done + count] = reduce(add, terms)
            done, before = done + count, before + count
        return values

    def rows(self, values: Tensor) -> Tensor:
        """The wires a, b and c of each row, and the public signals negated: [4, n]."""
        key = self.key
        rows = ops.zeros((4, key.domain), values.dtype)
        for place, wires in enumerate(key.maps):
            ops.take_along_axis(values, wires, 0, out=rows[place])
        if key.public:
            ops.negative(values[1 : key.public + 1], out=rows[3, : key.public])
        return rows

    def permutation(self, rows: Tensor, beta: Tensor, gamma: Tensor) -> Tensor:
        """The running product Z [1, n]: coefficients."""
        k1, k2 = self.key.shifts[:1], self.key.shifts[1:]
        turned = beta * self._points()

        def factor(column: int, numbers: Tensor) -> Tensor:
            return rows[column] + numbers + gamma

        above = factor(0, turned) * factor(1, turned * k1) * factor(2, turned * k2)
        below = reduce(
            ops.multiply,
            [factor(column, beta * self._of_key(5 + column)) for column in range(3)],
        )
        ratio = above * ops.batch_invert(below)
        product = ops.scan_mul(ratio, self.one[0])
        return ops.unsqueeze(ops.field_ntt(product, inverse=True), 0)

    def quotient(
        self, wires: Tensor, z: Tensor, public: Tensor, drawn: Challenges
    ) -> tuple[list[Tensor], Tensor]:
        """The three parts of the quotient [n], and its six highest coefficients.

        wires    blinded a, b and c, [3, n + 2]
        z        blinded Z, [1, n + 3]
        public   the polynomial of public signals, [n]
        """
        top = self._top(wires, z, drawn)
        parts = []
        for coset in self._cosets:
            part = self._on_coset(coset, wires, z, public, drawn)
            part = ops.field_ntt(part, inverse=True, coset_shift=coset.shift)
            low = part[:_TOP]
            ops.subtract(low, coset.cube * top, out=low)
            parts.append(part)
        first, second, third = parts
        # Modulo X^n - i, X^n + 1 and X^n + i: T0 + i T1 - T2, T0 - T1 + T2, T0 - i T1 - T2.
        middle = (first - third) * self._half_turned
        difference = (first + third) * self._half
        total = second + middle
        return [(total + difference) * self._half, middle, (total - difference) * self._half], top

    def _folded(self, polynomials: Tensor, coset: _Coset, out: Tensor) -> None:
        """Polynomials [k, n + m] modulo X^n - s^n, [k, n]."""
        size = self.key.domain
        out[:] = polynomials[:, :size]
        more = polynomials[:, size:]
        low = out[:, : more.shape[1]]
        ops.add(low, more * coset.level, out=low)

    def _on_coset(
        self, coset: _Coset, wires: Tensor, z: Tensor, public: Tensor, drawn: Challenges
    ) -> Tensor:
        """Values of the quotient on a coset, [n]."""
        size = self.key.domain
        k1, k2 = self.key.shifts[:1], self.key.shifts[1:]
        beta, gamma, alpha = drawn

        def at(place: int) -> Tensor:
            return self._of_key(place, coset)

        rows = ops.empty((5, size), wires.dtype)
        self._folded(wires, coset, rows[:3])
        self._folded(z, coset, rows[3:4])
        rows[4] = public
        a, b, c, here, signals = ops.field_ntt(rows, coset_shift=coset.shift)
        total = at(0) * a * b + at(4) + signals
        total = total + at(1) * a
        total = total + at(2) * b
        total = total + at(3) * c
        following = ops.empty((size,), wires.dtype)
        following[:-1] = here[1:]
        following[-1:] = here[:1]
        below = (a + beta * at(5) + gamma) * (b + beta * at(6) + gamma)
        below = below * (c + beta * at(7) + gamma) * following
        x = self._points(coset)
        turned = beta * x + gamma
        above = (a + turned) * (b + beta * k1 * x + gamma) * (c + beta * k2 * x + gamma) * here
        first = ops.batch_invert(x - self.one) * coset.lagrange
        above = above - below + alpha * first * (here - self.one)
        return (total + alpha * above) * coset.inverse

    def _top(self, wires: Tensor, z: Tensor, drawn: Challenges) -> Tensor:
        """The coefficients of X^3n to X^(3n + 5) of the quotient.

        They are those of X^4n to X^(4n + 5) of alpha (above - below): other terms are shorter.
        Rows are polynomials from the highest coefficient down.
        """
        rows = ops.zeros((8, _ROOM), wires.dtype)
        rows[:3, :_TOP] = wires[:, : -_TOP - 1 : -1]
        highest = z[:, : -_TOP - 1 : -1]
        rows[3:4, :_TOP] = highest
        rows[4:7] = rows[:3]
        for place, sigma in enumerate(self.key.polynomials[5:]):
            # The wires have two coefficients above.
            part = rows[4 + place, 2:_TOP]
            ops.add(part, drawn.beta * sigma[: 1 - _TOP : -1], out=part)
        rows[7:, :_TOP] = highest * self._turns
        values = ops.field_ntt(rows)
        above, below = (
            values[at] * values[at + 1] * values[at + 2] * values[at + 3] for at in (0, 4)
        )
        product = ops.field_ntt(above - below, inverse=True)
        return drawn.alpha * product[_TOP - 1 :: -1]

    def gates(self, rows: Tensor) -> Tensor:
        """The sums of gates, [n]: 0 where the witness satisfies them."""
        qm, ql, qr, qo, qc = (ops.field_ntt(part) for part in self.key.polynomials[:5])
        a, b, c, public = rows
        return qm * a * b + ql * a + qr * b + qo * c + qc + public

    def each(self, polynomials: Tensor, commit: Callable[[Tensor], Tensor]) -> Tensor:
        """Commitments to polynomials [k, m]: [k]."""
        points = ops.empty((polynomials.shape[0],), self.key.powers.dtype)
        for place in range(polynomials.shape[0]):
            points[place : place + 1] = commit(polynomials[place])
        return points


def _own(constant: Tensor) -> Tensor:
    """A copy that is a step of the program that is recorded."""
    own = ops.empty(constant.shape, constant.dtype)
    own[:] = constant
    return own
