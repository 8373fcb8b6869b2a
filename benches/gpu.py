"""The time of single kernels on a device, beside the time asked.

    python benches/gpu.py                                    # cuda:0
    python benches/gpu.py --device sim:0 --small --json FILE # any device, small sizes
    python benches/gpu.py msm ntt                            # some of them

Each figure is the slope between a short chain of calls and a long one, run as programs: what a run
costs beside its calls (Python, transfers) is in both and cancels. Results of the short chain are
compared with the processor's, and calls that ran on the host instead of the device are named.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import fhe, ops, zk
from cloakwork.modular.negacyclic import Transform
from cloakwork.modular.primes import ntt_primes

ROUNDS = 7
# Calls of the short chain and of the long one.
SHORT, LONG = 2, 10


@dataclass(frozen=True)
class Work:
    """A chain of calls: a function of its length, which gives a function of tensors."""

    chain: Callable[[int], Callable[..., Any]]
    inputs: tuple[Any, ...]
    # A figure is the time of one call over this many.
    parts: int = 1
    lengths: tuple[int, int] = (SHORT, LONG)
    # The op that must run on the device; every op where there is no name.
    subject: str = ""


@dataclass(frozen=True)
class Row:
    """A figure beside the one that was asked for."""

    name: str
    value: float
    unit: str
    asked: float
    more_is_better: bool = False
    # What is wrong: another result than the processor's, or calls that ran on the host.
    wrong: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether the figure is as good as asked, and the result right.

        Chains that are too short to measure give a figure that is not above 0.
        """
        good = self.value >= self.asked if self.more_is_better else 0 < self.value <= self.asked
        return good and not self.wrong


def repeated(link: Callable[..., cw.Tensor]) -> Callable[[int], Callable[..., cw.Tensor]]:
    """The chain in which a function's result is its next first argument."""

    def chain(length: int) -> Callable[..., cw.Tensor]:
        def f(x: cw.Tensor, *others: cw.Tensor) -> cw.Tensor:
            for _ in range(length):
                x = link(x, *others)
            return x

        return f

    return chain


def residues(shape: Sequence[int], moduli: Sequence[int], seed: int) -> cw.Tensor:
    """Random residues, the moduli along the last axis."""
    return cw.asarray(np.random.default_rng(seed).integers(0, moduli, tuple(shape)))


def elements(field: str, count: int, seed: int) -> cw.Tensor:
    """Elements of a field without a pattern."""
    found = ops.astype(cw.asarray(np.random.default_rng(seed).integers(1, 2**62, count)), field)
    for _ in range(4):
        found = ops.square(found)
    return found


def ntt_work(small: bool) -> Work:
    """Transforms of residues below 2^62, limb by limb."""
    log, limbs = (8, 3) if small else (16, 64)
    degree = 1 << log
    tables = Transform(degree, ntt_primes(degree, (61,) * limbs))
    given = {name: getattr(tables, name).freeze() for name in ("q", "psi", "perm")}
    x = residues((1, degree, 1, limbs), [int(q) for q in np.asarray(tables.q)], 1)
    return Work(repeated(lambda x: ops.ntt(x, **given)), (x,), limbs)


def modmul_work(small: bool) -> Work:
    """Products of residues: three words of memory each."""
    (modulus,) = ntt_primes(1 << 10, (61,))
    q = cw.asarray([modulus]).freeze()
    return filled(small, lambda x, y: ops.modmul(x, y, q), 3, "modmul")


def add_work(small: bool) -> Work:
    """Numbers to which 1 is added: two words of memory each."""
    return filled(small, lambda x, _: x + 1, 2, "add")


def filled(small: bool, link: Callable[..., cw.Tensor], words: int, subject: str) -> Work:
    """A chain on two long columns, which are made of small ones and of whose result little goes.

    What a device is given and gives would else take a hundred times as long as the chain.
    """
    rows = 1 << (6 if small else 14)
    columns = 1 << (6 if small else 13)
    draw = np.random.default_rng(1)
    given = tuple(cw.asarray(draw.integers(0, 2**60, (rows, 1))) for _ in range(2))

    def chain(length: int) -> Callable[..., cw.Tensor]:
        def f(x: cw.Tensor, y: cw.Tensor) -> cw.Tensor:
            steps = cw.arange(columns)
            x, y = (cw.reshape(side + steps, (-1, 1)) for side in (x, y))
            for _ in range(length):
                x = link(x, y)
            return x[:64] * 1

        return f

    return Work(chain, given, words * rows * columns, subject=subject)


def node_work(small: bool) -> Work:
    """Launches with next to no work, of a segment that is one graph."""
    lengths = (10, 30) if small else (1000, 3000)
    return Work(repeated(lambda x: x * 3 + x), (cw.arange(64),), 2, lengths)


def field_ntt_work(small: bool) -> Work:
    """Transforms over the scalars of BN254."""
    x = elements("bn254.fr", 1 << (6 if small else 20), 3)
    return Work(repeated(lambda x: ops.field_ntt(ops.field_ntt(x), inverse=True)), (x,), 2)


def msm_work(small: bool) -> Work:
    """Sums of multiples of points of BN254."""
    count = 1 << (5 if small else 20)
    points = ops.curve_mul(elements("bn254.fr", count, 4), zk.curve("bn254").g1_generator)
    scalars = elements("bn254.fr", count, 5)

    def chain(length: int) -> Callable[[cw.Tensor], tuple[cw.Tensor, ...]]:
        def f(scalars: cw.Tensor) -> tuple[cw.Tensor, ...]:
            found = []
            for _ in range(length):
                scalars = ops.square(scalars)
                found.append(ops.msm(scalars, points))
            return tuple(found)

        return f

    return Work(chain, (scalars,), lengths=(1, 3))


def relinearize_work(small: bool) -> Work:
    """Products of ciphertexts whose third part goes."""
    log, depth = (6, 2) if small else (16, 20)
    bits, special = (30, 1) if small else (50, 5)
    chain_bits, special_bits = [bits + 8, *[bits] * depth], [bits + 8] * special
    context = fhe.ckks(1 << log, chain_bits, special_bits, levels="manual", insecure=small)
    keys = context.keygen()
    x = keys.encrypt(np.random.default_rng(6).uniform(-1, 1, 1 << (log - 1)))
    product = x * x

    def chain(length: int) -> Callable[[Any], Any]:
        def f(product: Any) -> Any:
            total, term = product.relinearize(), product
            for _ in range(length - 1):
                term = term + product
                total = total + term.relinearize()
            return total

        return f

    return Work(chain, (product,))


@dataclass(frozen=True)
class Case:
    """A figure: its work, its unit, and what is asked of a GPU of a data centre."""

    name: str
    work: Callable[[bool], Work]
    unit: str
    scale: float
    asked: float


CASES = {
    "ntt": Case("NTT of 2^16 residues of 61 bits, each of 64", ntt_work, "us", 1e6, 0.8),
    "node": Case("a launch of a segment", node_work, "us", 1e6, 1.0),
    "relinearize": Case("CKKS relinearize, 2^16, depth 20", relinearize_work, "ms", 1e3, 1.0),
    "field_ntt": Case("NTT of 2^20 scalars of BN254", field_ntt_work, "ms", 1e3, 0.3),
    "msm": Case("MSM of 2^20 points of BN254", msm_work, "ms", 1e3, 7.0),
}
NAMES = [*CASES, "modmul", "add", "digits"]


def seconds(work: Work, device: str, small: bool) -> tuple[float, str]:
    """The time of one of a call's parts, and what is wrong."""
    times, wrong = [], ""
    for length in work.lengths:
        chain = work.chain(length)
        program = cw.trace(chain, *work.inputs)
        result = program.run(*work.inputs, device=device)
        if length == work.lengths[0]:
            wrong = difference(work, result, program.run(*work.inputs), small)
        samples = [timed(program, work, device) for _ in range(ROUNDS)]
        times.append(statistics.median(samples))
    short, long = work.lengths
    return (times[1] - times[0]) / (long - short) / work.parts, wrong


def timed(program: Any, work: Work, device: str) -> float:
    """Seconds of one run."""
    began = time.perf_counter()
    program.run(*work.inputs, device=device)
    return time.perf_counter() - began


def difference(work: Work, found: Any, expected: Any, small: bool) -> str:
    """The faults of a run, beside the same run on the processor.

    Small calls may run on the host, where they cost less.
    """
    for one, other in zip(found.outputs, expected.outputs, strict=True):
        here, there = (np.asarray(getattr(side, "data", side)) for side in (one, other))
        if not np.array_equal(here, there):
            return "the result is not the processor's"
    elsewhere = [] if small else found.report.elsewhere
    moved = [step for step in elsewhere if work.subject in ("", step.op)]
    return f"{len(moved)} steps ran on the host: {moved[0].op} {moved[0].why}" if moved else ""


def of_case(case: Case, device: str, small: bool) -> Row:
    """The row of a case."""
    taken, wrong = seconds(case.work(small), device, small)
    return Row(case.name, taken * case.scale, case.unit, case.asked, wrong=wrong)


def of_memory(name: str, work: Work, asked: float, device: str, small: bool) -> Row:
    """The rate at which a chain reads and writes memory."""
    taken, wrong = seconds(work, device, small)
    return Row(name, 8e-12 / taken if taken > 0 else 0.0, "TB/s", asked, True, wrong)


def of_modmul(device: str, small: bool) -> Row:
    """Products of residues; a copy reads and writes 4.16 TB/s on an H200."""
    return of_memory("modmul of 2^27 residues", modmul_work(small), 3.3, device, small)


def of_add(device: str, small: bool) -> Row:
    """The same for what costs next to nothing beside memory."""
    return of_memory("1 added to 2^27 numbers", add_work(small), 3.7, device, small)


def of_digits(device: str, small: bool) -> Row:
    """The transcript of the digits demo, beside this machine's processor."""
    from cloakwork.demo import digits

    with tempfile.TemporaryDirectory() as folder:
        digits.run(Path(folder))
        transcript = cw.heal.load(Path(folder) / digits.TRANSCRIPT_NAME)
    sides: dict[str, list[float]] = {device: [], "cpu": []}
    wrong = ""
    for number in range(2 if small else 5):
        for side, samples in sides.items():
            began = time.perf_counter()
            result = transcript.run(device=side, verify=number == 0)
            if number == 0:
                wrong += f"{side} differs from the file" if result.mismatches else ""
            else:
                samples.append(time.perf_counter() - began)
    ratio = statistics.median(sides["cpu"]) / statistics.median(sides[device])
    return Row("the digits transcript beside the processor", ratio, "x", 10.0, True, wrong)


def main(words: Sequence[str]) -> int:
    """Print all rows; exit 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="benches/gpu.py", description="Benchmarks of a device.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--small", action="store_true", help="small sizes: a test of this program")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    asked = parser.parse_args(words)
    if unknown := set(asked.names) - set(NAMES):
        parser.error(f"benchmarks are {', '.join(NAMES)}; got {', '.join(sorted(unknown))}")
    rows = []
    for name in asked.names or NAMES:
        special = {"modmul": of_modmul, "add": of_add, "digits": of_digits}
        make = special.get(name)
        row = make(asked.device, asked.small) if make else None
        rows.append(row or of_case(CASES[name], asked.device, asked.small))
        show(rows[-1], asked.small)
    if asked.json:
        found = [asdict(row) | {"is_reached": row.is_reached} for row in rows]
        asked.json.write_text(json.dumps({"device": asked.device, "rows": found}, indent=2))
    return int(any(row.wrong for row in rows))


def show(row: Row, small: bool) -> None:
    """One line: the figure, the one that was asked for, what is wrong.

    Small sizes have no figure: nothing was asked of them.
    """
    if small:
        print(f"{row.name:<46} at a small size: {row.wrong or 'the right result'}", flush=True)
        return
    bound = f"asked {'>=' if row.more_is_better else '<='} {row.asked:g} {row.unit}"
    state = row.wrong or ("reached" if row.is_reached else "not reached")
    print(f"{row.name:<46} {row.value:10.3f} {row.unit:<4} {bound:<18} {state}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
