"""A prover as a Python function: b is a permutation of a, by PLONK's running product.

    python examples/zk/prover.py [budget]

The polynomial of the running product is committed to, opened at a challenge, and the opening is
checked by who knows the secret of the setup, which in earnest nobody does.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import cloakwork as cw
from cloakwork import ops, zk

ROWS = 1024
FR = zk.field("bn254.fr")


class Opening(NamedTuple):
    """A commitment, a point, the value there, and the commitment to the quotient."""

    commitment: cw.Tensor
    x: cw.Tensor
    value: cw.Tensor
    quotient: cw.Tensor
    proof: cw.Tensor


@zk.program(curve="bn254")
def prove(a: zk.Lagrange[ROWS], b: zk.Lagrange[ROWS], srs: zk.Points[ROWS]) -> Opening:
    """Values of columns in; out comes what a verifier reads."""
    transcript = zk.Transcript("bn254.fr")
    transcript.write(ops.msm(ops.field_ntt(cw.stack([a, b]), inverse=True), srs))
    beta = transcript.challenge()
    z = ops.scan_mul((a + beta) / (b + beta), FR(1))
    zk.blind(z, ROWS - 5, ROWS)
    coefficients = ops.field_ntt(z, inverse=True)
    commitment = ops.msm(coefficients, srs)
    transcript.write(commitment)
    x = transcript.challenge()
    value = ops.evaluate(coefficients, x)
    transcript.write(value)
    quotient = ops.msm(ops.kate_div(coefficients, x, keep=False), srs[:-1])
    transcript.write(quotient)
    return Opening(commitment, x, value, quotient, transcript.proof())


def main() -> None:
    """Proves once, within the budget of the command line if there is one."""
    budget = sys.argv[1] if len(sys.argv) > 1 else None
    program = zk.compile(prove, memory_budget=budget)
    print(f"peak: {program.peak_memory()} B, known before the run")
    g, tau = zk.curve("bn254").g1_generator, zk.uniform(())
    srs = ops.curve_mul(ops.powers(tau, ROWS), g)
    a = ops.powers(FR(3), ROWS)
    given = program.run({"a": a, "b": cw.roll(a, 17), "srs": srs})
    # z - z(x) = q (X - x), at tau.
    left = given["commitment"] - g * given["value"]
    holds = bool(left == given["quotient"] * (tau - given["x"]))
    print(
        f"proof: {given['proof'].size} bytes, the opening {'holds' if holds else 'does not hold'}"
    )
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
