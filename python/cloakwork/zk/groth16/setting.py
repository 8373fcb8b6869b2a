"""Key generation without a ceremony: one party draws the secrets, uses them, and wipes them.

A party that keeps the secrets can prove false statements.  Such a key is suitable for tests, for
measurements, and if prover and verifier are one party; otherwise run a ceremony (snarkjs:
`powersoftau`, `groth16 setup`, `zkey contribute`, `zkey beacon`).
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import cloakwork as cw
from cloakwork import _core, files, ops
from cloakwork._core import Tensor
from cloakwork.errors import ParamError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.circom.files import Circuit, Matrix, ProvingKey, read_r1cs, read_zkey
from cloakwork.zk.circom.statements import VerifyingKey
from cloakwork.zk.groth16.algebra import (
    MONTGOMERY_R,
    from_words,
    in_scalars,
    joined,
    point_bytes,
    product,
    scalars,
)
from cloakwork.zk.protocol.fields import curve as named

_Path = str | PathLike[str]


@dataclass(frozen=True)
class _Secrets:
    """Five scalars, [1] each; gamma is 1, as in snarkjs's keys."""

    tau: Tensor
    alpha: Tensor
    beta: Tensor
    delta: Tensor

    @classmethod
    def draw(cls, curve: str) -> _Secrets:
        """Uniform over the field without zero, from the operating system."""
        return cls(*(_draw(curve) for _ in range(4)))

    def zeroize(self) -> None:
        """Overwrite them."""
        for secret in (self.tau, self.alpha, self.beta, self.delta):
            secret.zeroize()


def _draw(curve: str) -> Tensor:
    """A scalar within 2^-488 of uniform: 744 bits of the operating system, modulo the prime."""
    shift = scalars(curve, [1 << 248])
    value = _piece(curve)
    for _ in range(2):
        low = _piece(curve)
        high = value * shift
        next_value = high + low
        for secret in (value, low, high):
            secret.zeroize()
        value = next_value
    return value


def _piece(curve: str) -> Tensor:
    """248 bits of the operating system, a scalar."""
    mask = cw.asarray([[2**64 - 1, 2**64 - 1, 2**64 - 1, 2**56 - 1]], dtype="u64")
    drawn = _core.random_words([1, 4])
    words = drawn & mask
    try:
        return from_words(curve, words)
    finally:
        for secret in (drawn, words):
            secret.zeroize()


def setup(
    r1cs: _Path | Circuit,
    zkey: _Path,
    *,
    vkey: _Path | None = None,
    secrets: tuple[int, int, int, int] | None = None,
) -> ProvingKey:
    """Make a proving key for a circuit, write it to `zkey`, and return it.

    **There is no ceremony.**  The secrets (tau, alpha, beta, delta) come from the operating
    system and are overwritten, but the party that runs this could have kept them, and could then
    prove false statements.

    vkey        the file for its verifying key; a key of another setup is never left next to it
    secrets     the four secrets, only for tests

    snarkjs proves and verifies with the key; `snarkjs zkey verify` cannot check it, as it needs the
    powers of tau of a ceremony.  Raises LoadError for a damaged circuit.
    """
    files.claim([zkey, vkey], [] if isinstance(r1cs, Circuit) else [r1cs])
    circuit = r1cs if isinstance(r1cs, Circuit) else read_r1cs(r1cs)
    # H needs a domain twice as large.
    if circuit.domain.bit_length() > named(circuit.curve).fr.two_adicity:
        raise ParamError("constraints", circuit.constraints, "a domain of half the roots of unity")
    if secrets is not None and any(value % ORDERS[circuit.curve] == 0 for value in secrets):
        raise ParamError("secrets", "zero modulo the order", "four nonzero scalars")

    def now() -> None:
        if secrets is None:
            drawn = _Secrets.draw(circuit.curve)
        else:
            drawn = _Secrets(*(scalars(circuit.curve, [value]) for value in secrets))
        try:
            _write(circuit, drawn, zkey, vkey)
        finally:
            drawn.zeroize()

    _core.wiped(now)
    return read_zkey(zkey, check=False)


def _write(circuit: Circuit, secrets: _Secrets, zkey: _Path, vkey: _Path | None) -> None:
    curve, first_private = circuit.curve, circuit.public + 1
    left, right = _left_rows(circuit), _padded(in_scalars(curve, circuit.b), circuit.domain)
    output = _padded(in_scalars(curve, circuit.c), circuit.domain)
    held: list[Tensor] = []

    def secret(values: Tensor) -> Tensor:
        """Register a tensor to be overwritten at the end, whatever happens."""
        held.append(values)
        return values

    g1 = named(curve).g1_generator.reshape(1)
    g2 = named(curve).g2_generator.reshape(1)

    def of_g1(values: Tensor) -> Tensor:
        return ops.curve_mul(values, g1)

    try:
        lagrange, odd = (secret(values) for values in _lagrange(circuit, secrets.tau))
        a, b, c = (
            secret(_columns(matrix, circuit.wires, lagrange)) for matrix in (left, right, output)
        )
        inverse = secret(ops.reciprocal(secrets.delta))
        mixed = secret(secret(secrets.beta * a) + secret(secrets.alpha * b))
        ops.add(mixed, c, out=mixed)
        private = secret(mixed[first_private:] * inverse)
        points = [
            of_g1(secrets.alpha), of_g1(secrets.beta), ops.curve_mul(secrets.beta, g2), g2,
            of_g1(secrets.delta), ops.curve_mul(secrets.delta, g2), of_g1(mixed[:first_private]),
            of_g1(a), of_g1(b), ops.curve_mul(b, g2), of_g1(private),
            of_g1(secret(odd * inverse)),
        ]  # fmt: skip
    finally:
        for values in held:
            values.zeroize()
    factor = scalars(curve, [MONTGOMERY_R])
    matrices = [[m.starts, m.columns, m.values * factor] for m in (left, right)]
    counts = (circuit.wires, circuit.public, circuit.domain)
    # alpha1, beta2, gamma2, delta2 and IC.
    key = VerifyingKey(curve, *(point_bytes(points[index]) for index in (0, 2, 3, 5, 6)))
    beside = [] if vkey is None else [(files.name_of(vkey), key.to_json())]
    # The hash of the circuit is zeros: there was no ceremony.
    rest = (beside, bytes(64))
    _core.write_zkey(files.name_of(zkey), curve, counts, points, matrices, rest)


def _lagrange(circuit: Circuit, tau: Tensor) -> tuple[Tensor, Tensor]:
    """The domain's Lagrange polynomials at tau, and the odd ones of the double domain.

    The polynomial f with values f_j has f(tau) = sum_j f_j L_j(tau); its coefficients are the
    inverse transform of the f_j, so that the L_j(tau) are the inverse transform of tau's powers.
    """
    size = circuit.domain
    powers = ops.powers(tau[0], 2 * size)
    small = ops.field_ntt(powers[:size], inverse=True)
    large = ops.field_ntt(powers, inverse=True)
    odd = ops.contiguous(large[1::2])
    for secret in (powers, large):
        secret.zeroize()
    return small, odd


def _padded(matrix: Matrix, rows: int) -> Matrix:
    """The matrix with empty rows appended."""
    more = cw.full(rows - matrix.rows, matrix.entries, dtype="i64")
    return Matrix(cw.concat([matrix.starts, more]), matrix.columns, matrix.values)


def _left_rows(circuit: Circuit) -> Matrix:
    """A with a row 1 * w_s for each public wire and the constant: they make the inputs unique."""
    public, matrix = circuit.public + 1, in_scalars(circuit.curve, circuit.a)
    starts = cw.arange(matrix.entries + 1, matrix.entries + public + 1, dtype="i64")
    rows = Matrix(
        cw.concat([matrix.starts, starts]),
        cw.concat([matrix.columns, cw.arange(public, dtype="i64")]),
        joined(matrix.values, scalars(circuit.curve, [1] * public)),
    )
    return _padded(rows, circuit.domain)


def _columns(matrix: Matrix, wires: int, vector: Tensor) -> Tensor:
    """The transposed matrix times a vector: [wires]."""
    entries = cw.arange(matrix.entries, dtype="i64")
    row_of = cw.searchsorted(matrix.starts, entries, side="right") - 1
    order = cw.argsort(matrix.columns, stable=True)
    columns = cw.take(matrix.columns, order)
    starts = cw.searchsorted(columns, cw.arange(wires + 1, dtype="i64"))
    turned = Matrix(starts, cw.take(row_of, order), cw.take(matrix.values, order))
    return product(turned, vector)
