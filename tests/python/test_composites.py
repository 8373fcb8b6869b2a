"""Composite ops of residue number systems: at once, in a program, and expanded for a device."""

from __future__ import annotations

from math import prod
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.modular.negacyclic import Transform, integers
from cloakwork.modular.primes import ntt_primes

DEGREE, DIGIT_LIMBS = 64, 2
SPECIAL, CHAIN = 2, 5
MODULI = ntt_primes(DEGREE, [50] * SPECIAL + [40] * 3 + [60] * 2)
P, Q = MODULI[:SPECIAL], MODULI[SPECIAL:]


def random_residues(rng: np.random.Generator, *batch: int, moduli: tuple[int, ...]) -> cw.Tensor:
    """[*batch, N, k], limb after limb in memory."""
    limbs = [rng.integers(0, q, (*batch, DEGREE)) for q in moduli]
    return cw.asarray(np.stack(limbs, axis=-2)).moveaxis(-1, -2)


def constants() -> dict[str, cw.Tensor]:
    """The operands of `hybrid_key_switch` beside polynomials and key."""
    transform = Transform(DEGREE, MODULI)
    digits = [Q[i // DIGIT_LIMBS * DIGIT_LIMBS :][:DIGIT_LIMBS] for i in range(CHAIN)]
    up = [pow(DEGREE * (prod(d) // q), -1, q) for q, d in zip(Q, digits, strict=True)]
    down = [pow(DEGREE * (prod(P) // p), -1, p) for p in P]
    up_hat = [[prod(d) // q % m for m in MODULI] for q, d in zip(Q, digits, strict=True)]
    down_hat = [[-(prod(P) // p) * pow(prod(P), -1, q) % q for q in Q] for p in P]
    tables = {
        "q": transform.q,
        "psi": transform.psi,
        "psi_inv": transform.psi_inv,
        "perm": cw.arange(DEGREE),
        "scale": integers(down + up),
        "half": integers([m // 2 for m in MODULI]),
        "up_hat": integers(up_hat),
        "down_hat": integers(down_hat),
    }
    return {name: table.freeze() for name, table in tables.items()}


def switch(a: cw.Tensor, key: cw.Tensor, addend: cw.Tensor | None) -> cw.Tensor:
    rest: Any = {**constants(), "digit_limbs": DIGIT_LIMBS, "addend": addend}
    return ops.hybrid_key_switch(a, key, **rest)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_key_switch_is_the_same_at_once_in_a_program_and_in_minimal_ops(rows: int) -> None:
    rng = np.random.default_rng(rows)
    a = random_residues(rng, rows, moduli=Q)
    key = random_residues(rng, 2, 3, moduli=MODULI).freeze()
    addend = random_residues(rng, rows, 2, moduli=Q)
    expected = np.asarray(switch(a, key, addend))
    program = cw.trace(lambda x, y: switch(x, key, y), a, addend)
    kept = program.run(a, addend)
    assert np.array_equal(np.asarray(kept.outputs[0]), expected)
    assert "hybrid_key_switch" in str(program)
    minimal = program.expanded()
    names = {line.split("=")[1].split()[0] for line in str(minimal).splitlines() if "=" in line}
    own = {"hybrid_key_switch", "mod_up", "mod_down", "base_convert", "modmuladd", "copy"}
    assert not names & own
    assert np.array_equal(np.asarray(minimal.run(a, addend).outputs[0]), expected)
    some = program.expanded({"mod_up", "base_convert"})
    assert "mod_up" in str(some)
    assert "mod_down" not in str(some)
    assert np.array_equal(np.asarray(some.run(a, addend).outputs[0]), expected)


@pytest.mark.parametrize("optimize", [False, True])
def test_a_report_counts_the_steps_as_written_and_not_those_of_expansions(optimize: bool) -> None:
    rng = np.random.default_rng(7)
    a, key = random_residues(rng, 1, moduli=Q), random_residues(rng, 2, 3, moduli=MODULI).freeze()
    program = cw.trace(lambda x: switch(x, key, None), a)
    inspection = program.inspect()
    assert inspection.coverage["expansion"] == 1
    report = program.run(a, optimize=optimize).report
    assert report.program_steps == report.to_json()["program_steps"] == inspection.steps


def test_a_program_for_heal_is_its_transcript(tmp_path: Any) -> None:
    rng = np.random.default_rng(7)
    a = random_residues(rng, 1, 3, moduli=Q)
    key = random_residues(rng, 2, 3, moduli=MODULI).freeze()
    rest: Any = {**constants(), "digit_limbs": DIGIT_LIMBS}
    program = cw.trace(lambda x: ops.relinearize(x, key, **rest), a)
    expected = np.asarray(program.run(a).outputs[0])
    transcript = program.to_heal()
    assert not transcript.check()
    transcript.save(tmp_path / "relinearize.json")
    again = cw.heal.load(tmp_path / "relinearize.json").run(verify=True)
    assert not again.mismatches
    assert np.array_equal(np.asarray(again.outputs[0]), expected)


def test_an_op_without_an_expansion_is_named() -> None:
    program = cw.trace(ops.sin, cw.zeros(3))
    with pytest.raises(cw.errors.PlanError, match="do not express: sin"):
        program.to_heal()
    with pytest.raises(cw.errors.ParamError, match="ops"):
        program.expanded({"no_such_op"})


def test_a_copy_that_broadcasts_is_padding_by_nothing_for_heal() -> None:
    def spread(x: cw.Tensor) -> cw.Tensor:
        return ops.copy(x, out=cw.empty((2, 3, 4), "i64"))

    x = cw.asarray([[5], [6], [7]])
    program = cw.trace(spread, x)
    assert "pad_single_axis" in str(program.expanded())
    expected = np.broadcast_to(np.asarray(x), (2, 3, 4))
    assert np.array_equal(np.asarray(program.to_heal().run(verify=True).outputs[0]), expected)


def test_numbers_out_of_range_are_refused_at_once_as_they_are_in_a_program() -> None:
    with pytest.raises(cw.errors.OpError, match="expected an integer from 0 to 1, got 5"):
        ops.max(cw.asarray([1, 2]), [], keepdims=5)
    table, one = cw.zeros((1, 1), "i64"), cw.asarray([17])
    with pytest.raises(cw.errors.OpError, match="an integer from 1 to 16384, got 0"):
        ops.mod_up(table.unsqueeze(0), one, table, table, one, one, table, 0)
