"""Programs that are Python functions: against Python's integers, against their eager selves."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops, zk
from cloakwork.errors import (
    DTypeError,
    MemoryBudgetError,
    OpError,
    ParamError,
    SecretError,
    TraceError,
)

from python import zk_oracles as oracle

EXAMPLE = Path(__file__).parents[2] / "examples" / "zk" / "prover.py"
N = 8
BLINDED = 2
TAU = 0x1234567890ABCDEF
R = oracle.P["bn254.fr"]
THREADS = (1, 2, 3)
CURVES = ("bn254", "bls12_381")


class Opened(NamedTuple):
    """A running product, and the proof that a polynomial with these values was opened."""

    product: cw.Tensor
    proof: cw.Tensor


def prove(a: zk.Lagrange[N], b: zk.Lagrange[N], srs: zk.Points[N], gamma: zk.Scalar) -> Opened:
    """That b has the elements of a: the grand product of PLONK's permutation argument."""
    transcript = zk.Transcript(a.dtype)
    transcript.absorb(gamma)
    columns = ops.field_ntt(cw.stack([a, b]), inverse=True)
    transcript.write(ops.msm(columns, srs))
    beta = transcript.challenge()
    z = ops.scan_mul((a + beta * gamma) / (b + beta * gamma), cw.ones((), dtype=a.dtype))
    zk.blind(z, N - BLINDED, N)
    coefficients = ops.field_ntt(z, inverse=True)
    transcript.write(ops.msm(coefficients, srs))
    x = transcript.challenge()
    transcript.write(ops.evaluate(coefficients, x))
    transcript.write(ops.msm(ops.kate_div(coefficients, x, keep=False), srs[:-1]))
    return Opened(z, transcript.proof())


PROVE = {curve: zk.program(curve=curve)(prove) for curve in CURVES}


def drawn(seed: int, domain: int, count: int, p: int) -> list[int]:
    key = hashlib.blake2b(str(seed).encode(), digest_size=32, person=b"cloakwork seed").digest()
    nonce = domain.to_bytes(8, "little")
    blocks = (oracle.chacha20_block(key, i, nonce) for i in range(count))
    return [int.from_bytes(block, "little") % p for block in blocks]


class Prover:
    """The same proof in Python's integers, computed with knowledge of tau."""

    def __init__(self, curve: str) -> None:
        self.curve = curve
        self.p, self.q = oracle.P[f"{curve}.fr"], oracle.P[f"{curve}.fq"]
        self.root = pow(5, (self.p - 1) // N, self.p)
        self.generator = zk.curve(curve).g1_generator.item()
        self.log, self.proof = b"", b""

    def times(self, k: int) -> oracle.Point:
        return oracle.multiply_point(k, self.generator, self.q)

    def coefficients(self, values: list[int]) -> list[int]:
        inverse = pow(self.root, -1, self.p)
        scale = pow(N, -1, self.p)
        return [
            scale * sum(v * pow(inverse, i * j, self.p) for j, v in enumerate(values)) % self.p
            for i in range(N)
        ]

    def at(self, polynomial: list[int], x: int) -> int:
        return sum(c * pow(x, i, self.p) for i, c in enumerate(polynomial)) % self.p

    def scalar(self, value: int, *, write: bool = True) -> None:
        octets = value.to_bytes(32, "little")
        self.log += b"\x02" + octets
        self.proof += octets if write else b""

    def commit(self, value_at_tau: int) -> None:
        point = self.times(value_at_tau)
        assert point is not None
        hashed, written = oracle.encoded_point(self.curve, point)
        self.log += b"\x01" + hashed
        self.proof += written

    def challenge(self) -> int:
        self.log += b"\x00"
        return oracle.challenge("blake2b", self.log, self.p)

    def run(self, a: list[int], b: list[int], gamma: int, tail: list[int]) -> list[int]:
        p = self.p
        self.scalar(gamma, write=False)
        for column in (a, b):
            self.commit(self.at(self.coefficients(column), TAU))
        shift = self.challenge() * gamma
        z = [1]
        for u, v in zip(a, b, strict=True):
            z.append(z[-1] * (u + shift) * pow(v + shift, -1, p) % p)
        assert (z[N] == 1) == (sorted(a) == sorted(b))
        z = z[: N - BLINDED] + tail
        coefficients = self.coefficients(z)
        at_tau = self.at(coefficients, TAU)
        self.commit(at_tau)
        x = self.challenge()
        value = self.at(coefficients, x)
        self.scalar(value)
        self.commit((at_tau - value) * pow(TAU - x, -1, p) % p)
        return z


def given(curve: str) -> dict[str, Any]:
    prover = Prover(curve)
    a = [pow(7, 20 * i + 3, prover.p) for i in range(N)]
    points = [prover.times(pow(TAU, i, prover.p)) for i in range(N)]
    srs = cw.asarray(points, dtype=f"{curve}.g1")
    return {"a": a, "b": [a[5 * i % N] for i in range(N)], "srs": srs, "gamma": 3}


@pytest.mark.parametrize("curve", CURVES)
def test_a_proof_is_that_of_pythons_integers(curve: str) -> None:
    inputs, expected = given(curve), Prover(curve)
    tail = drawn(11, 0, BLINDED, expected.p)
    z = expected.run(inputs["a"], inputs["b"], inputs["gamma"], tail)
    program = PROVE[curve].program
    assert [f for f in program.validate() if f.severity == "error"] == []
    for workers in THREADS:
        outcome = program.run(inputs, threads=workers, seed=11)
        assert outcome["product"].tolist() == z
        assert outcome["proof"].numpy().tobytes() == expected.proof
    now = PROVE[curve].seeded(11).eager(**inputs)
    assert (now.product.tolist(), now.proof.numpy().tobytes()) == (z, expected.proof)
    assert np.array_equal(PROVE[curve].seeded(11)(**inputs).proof, now.proof)


def test_random_elements_are_new_in_each_run_unless_a_seed_is_asked_for() -> None:
    inputs, bn254 = given("bn254"), PROVE["bn254"]
    program = bn254.program
    runs = [bn254(**inputs), bn254(**inputs), bn254.eager(**inputs), bn254.eager(**inputs)]
    heads = {tuple(run.product.tolist()[:-BLINDED]) for run in runs}
    tails = {value for run in runs for value in run.product.tolist()[-BLINDED:]}
    assert (len(heads), len(tails)) == (1, BLINDED * len(runs))
    assert not program.run(inputs).seeded
    assert program.run(inputs, seed=11).seeded
    assert repr(bn254.seeded(b"x")) == "zk.program(prove(a, b, srs, gamma), seeded)"
    assert repr(bn254) == "zk.program(prove(a, b, srs, gamma))"


def test_no_two_draws_of_a_run_are_alike() -> None:
    @zk.program
    def draw(a: zk.Coef[4]) -> tuple[cw.Tensor, cw.Tensor, cw.Tensor]:
        first, second = zk.uniform(4), zk.uniform(4, domain=0)
        zk.blind(second, 0, 2)
        return first, second, a

    expected = [drawn(5, 0, 4, R), drawn(5, 2, 2, R) + drawn(5, 1, 4, R)[2:]]
    for run in (draw.seeded(5), draw.seeded(5).eager):
        assert [t.tolist() for t in run([1, 2, 3, 4])[:2]] == expected
        with cw.batch():
            drawn_in_batch = run([1, 2, 3, 4])[:2]
        assert [t.tolist() for t in drawn_in_batch] == expected


def test_a_seed_in_the_function_marks_every_run() -> None:
    @zk.program
    def draw(a: zk.Scalar) -> cw.Tensor:
        return a * zk.uniform((), seed=bytes(32))

    assert draw.program.run({"a": 1}).seeded
    assert int(draw(1)) == int(draw.eager(1)) == int(zk.uniform((), seed=bytes(32)))


def test_random_elements_from_outside_of_a_program_function_are_no_part_of_programs() -> None:
    with pytest.raises(SecretError, match="must not be traced"):
        cw.trace(lambda a: a + zk.uniform(2), cw.zeros(2, dtype="bn254.fr"))


def alone(a: zk.Scalar) -> cw.Tensor:
    return a + 1


def pair(a: zk.Scalar, /, *, b: zk.Scalar) -> tuple[cw.Tensor, cw.Tensor]:
    return a - b, a


def several(a: zk.Scalar, b: zk.Scalar = 5) -> list[cw.Tensor]:
    return [a, a * b, b]


def test_results_come_as_the_function_returns_them() -> None:
    assert int(zk.program(alone)(6)) == 7
    assert zk.program(pair)(6, b=2) == (4, 6)
    listed = zk.program(several)(6)
    assert isinstance(listed, list)
    assert list(map(int, listed)) == list(map(int, zk.program(several).eager(6))) == [6, 30, 5]
    assert list(zk.program(several).program.run({"a": 1, "b": 2}).outputs) == [
        "out0", "out1", "out2",
    ]  # fmt: skip
    with pytest.raises(TypeError, match=r"pair\(a, b\): missing a required argument: 'b'"):
        zk.program(pair)(6)
    with pytest.raises(ParamError, match=r"inputs: got no b, expected each of a: bn254\.fr\[\], b"):
        zk.program(pair).program.run({"a": 6})


def test_a_function_is_recorded_once_whoever_calls_it() -> None:
    calls = []

    @zk.program
    def square(a: zk.Lagrange[64]) -> cw.Tensor:
        calls.append(a)
        return a * a

    rows = [[i * j for j in range(64)] for i in range(24)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(square, rows))
    assert [r.tolist() for r in results] == [[v * v for v in row] for row in rows]
    recorded = len(calls)
    assert square(rows[3]).tolist() == results[3].tolist()
    assert square.seeded(1)(rows[4]).tolist() == results[4].tolist()
    assert square.seeded(1).program is square.program
    assert zk.compile(square).recorded is square.program.recorded
    assert len(calls) == recorded <= 8
    assert square.__wrapped__(cw.asarray([3], dtype="bn254.fr")).tolist() == [9]


def test_what_provers_use_is_recorded_too() -> None:
    @zk.program
    def several_ops(a: zk.Lagrange[4], s: zk.Scalar) -> list[cw.Tensor]:
        inverses = ops.batch_invert(a)
        shifted = ops.distribute_powers(a, ops.powers(s, 4))
        return [inverses, shifted, zk.poseidon(a), ops.field_pow(a, cw.asarray(3))]

    a, s = [3, 0, 5, R - 1], 7
    expected = [
        [pow(v, R - 2, R) for v in a],
        [v * s**i % R for i, v in enumerate(a)],
        int(zk.poseidon(a)),
        [pow(v, 3, R) for v in a],
    ]
    for workers in THREADS:
        outcome = several_ops.program.run({"a": a, "s": s}, threads=workers)
        assert [t.tolist() for t in outcome.outputs.values()] == expected
    assert [t.tolist() for t in several_ops.eager(a, s)] == expected


def test_program_functions_are_parts_of_others() -> None:
    @zk.program
    def blinded(a: zk.Coef[4]) -> cw.Tensor:
        return a + zk.uniform(4)

    @zk.program
    def twice(a: zk.Coef[4]) -> cw.Tensor:
        return blinded(blinded(a))

    expected = [(u + v) % R for u, v in zip(drawn(1, 0, 4, R), drawn(1, 1, 4, R), strict=True)]
    assert twice.seeded(1)([0] * 4).tolist() == twice.seeded(1).eager([0] * 4).tolist() == expected


def test_a_call_in_a_batch_runs_what_it_needs_and_one_in_a_trace_is_refused() -> None:
    @zk.program
    def square(a: zk.Lagrange[2]) -> cw.Tensor:
        return a * a

    a = cw.asarray([1, 2], dtype="bn254.fr")
    for run in (square, square.eager):
        with cw.batch():
            result = run(a + 1) + 1
        assert result.tolist() == [5, 10]
    with pytest.raises(TraceError, match="no elements"):
        cw.trace(square, a)


def test_what_a_function_writes_does_not_reach_the_callers_tensors() -> None:
    @zk.program
    def cleared(a: zk.Coef[4]) -> cw.Tensor:
        a[1:3] = cw.zeros(2, dtype=a.dtype)
        return a

    mine = cw.asarray([1, 2, 3, 4], dtype="bn254.fr")
    assert cleared(mine).tolist() == cleared.eager(mine).tolist() == [1, 0, 0, 4]
    assert mine.tolist() == [1, 2, 3, 4]


def test_a_scalar_is_added_to_every_element_or_to_the_constant_term() -> None:
    @zk.program
    def both(a: zk.Coef[3], s: zk.Scalar) -> tuple[cw.Tensor, ...]:
        rows = cw.stack([a, a])
        return (
            zk.as_elements(a) + s,
            zk.add_constant(a, s),
            zk.add_constant(rows, cw.stack([s, -s])),
        )

    for run in (both, both.eager):
        assert [t.tolist() for t in run([1, 2, 3], 5)] == [
            [6, 7, 8], [6, 2, 3], [[6, 2, 3], [R - 4, 2, 3]],
        ]  # fmt: skip
    a = cw.asarray([1, 2], dtype="bn254.fr")
    with pytest.raises(ParamError, match=r"s: got a sum of shape \[2\], expected no axes"):
        zk.add_constant(a, a)
    with pytest.raises(ParamError, match="one for each polynomial"):
        zk.add_constant(cw.stack([a, a]), cw.stack([a, a]))
    with pytest.raises(ParamError, match="along a last axis"):
        zk.add_constant(a[0], a[0])


@pytest.mark.parametrize(
    "needs",
    [
        lambda a: a if a[0] == 0 else -a,
        lambda a: a * int(a[0]),
        lambda a: a[a == 1],
    ],
)
def test_a_function_that_looks_at_elements_is_refused(needs: Any) -> None:
    function = zk.program(inputs={"a": zk.poly(2)})(needs)
    with pytest.raises(TraceError, match="elements"):
        function([1, 2])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (
            {"a": [1] * 7},
            ParamError,
            r"input a: got shape \[7\], expected bn254\.fr of shape \[8\]",
        ),
        ({"gamma": [1]}, ParamError, r"input gamma: got shape \[1\]"),
        (
            {"b": [1] * 7 + [R]},
            ParamError,
            r"input b\[7\]: got an element that is not below the prime, expected an integer",
        ),
        ({"b": cw.ones(N, dtype="goldilocks")}, DTypeError, "input b: got goldilocks, expected bn"),
        ({"srs": [(1, 2)] * 7 + [(1, 3)]}, ParamError, r"input srs\[7\]"),
        ({"a": cw.ones(N, dtype="u64")}, ParamError, r"input a: got \[8\], expected bn254\.fr"),
    ],
)
def test_inputs_of_other_types_are_named(change: Any, error: type[Exception], said: str) -> None:
    inputs = given("bn254") | change
    for run in (PROVE["bn254"], PROVE["bn254"].eager):
        with pytest.raises(error, match=said):
            run(**inputs)


def chain(a: zk.Lagrange[4096], s: zk.Scalar) -> cw.Tensor:
    """Values that wait while others are computed: disk helps under a small budget."""
    kept = [ops.scan_mul(a + i, s) for i in range(12)]
    total = kept[0]
    for column in reversed(kept):
        total = ops.scan_mul(total + column, s)
    return total


def test_compiling_keeps_to_a_budget_or_says_both_numbers() -> None:
    free = zk.compile(chain, threads=2)
    peak = free.peak_memory()
    assert free.budget == {}
    budget = peak * 6 // 10
    tight = zk.compile(chain, memory_budget=budget, threads=2)
    assert tight.peak_memory() <= budget < peak
    assert tight.budget == {"cpu": budget}
    inputs = {"a": list(range(1, 4097)), "s": 9}
    expected = zk.program(chain).eager(**inputs).tolist()
    for program in (free, tight):
        outcome = program.run(inputs)
        assert outcome["out0"].tolist() == expected
        assert zk.run(program, inputs, threads=1)["out0"].tolist() == expected
    with pytest.raises(MemoryBudgetError) as raised:
        zk.compile(chain, memory_budget="100KiB", threads=2)
    assert raised.value.budget_bytes == 100 * 1024 < raised.value.peak_bytes
    assert "the budget is 100.0 KiB; peak" in str(raised.value)
    for program, limit in ((free, "100KiB"), (tight, {"cpu": "100KiB"})):
        with pytest.raises(MemoryBudgetError):
            program.run(inputs, memory_budget=limit)


def test_a_mistake_in_the_function_is_told_at_its_line() -> None:
    @zk.program
    def wrong(a: zk.Lagrange[3]) -> cw.Tensor:
        return ops.field_ntt(a)

    with pytest.raises(OpError, match="power of two") as raised:
        wrong([1, 2, 3])
    assert any(entry.name == "wrong" for entry in raised.traceback)
    with pytest.raises(TraceError, match="returns a Tensor"):
        zk.compile(lambda: None)


def test_a_program_shows_its_text_and_is_saved(tmp_path: Path) -> None:
    program = PROVE["bn254"].program
    assert repr(program).startswith("Traced(prove, inputs=['a', 'b', 'srs', 'gamma'], steps=")
    assert "msm" in program.text()
    assert 10 < str(program).count("\n") <= 60
    assert "msm" in program.plan_text(threads=1)
    assert program.inspect().ops
    program.save(tmp_path / "p.cwk")
    assert cw.load(tmp_path / "p.cwk").check() == program.check()
    with pytest.raises(ParamError, match=r"ends in \.cwk"):
        program.save(tmp_path / "p.json")
    inputs = [cw.asarray(v, dtype=t.dtype) for v, t in zip(
        given("bn254").values(), program.types.values(), strict=True
    )]  # fmt: skip
    key = cw.asarray(np.arange(32, dtype=np.uint8))
    first, second = (program.recorded.run(*inputs, key).outputs[1].tolist() for _ in range(2))
    assert first == second


def test_the_example_ends_well_or_with_both_numbers() -> None:
    def ran(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, EXAMPLE, *args]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = ran()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("proof: 160 bytes, the opening holds\n")
    refused = ran("10KiB")
    assert refused.returncode == 1
    assert "MemoryBudgetError: this program needs " in refused.stderr
    assert "the budget is 10.0 KiB" in refused.stderr
