"""Encrypted arithmetic against SEAL and OpenFHE, against limits of the machine, and against HEAL.

One core each, sides in turns, medians. Times on one core are CPU time, which other work on the
machine disturbs least; comparisons of threads use wall time. Peers that pip did not install are
left out, with a line that says so.

The goals and the lower limits are in docs/performance.md: a core with AVX-512 IFMA.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import backend, ops
from cloakwork.modular.negacyclic import Transform
from cloakwork.modular.primes import ntt_primes
from measured.rows import record, within
from sides.side import Local, Seconds, Side, in_turns, peer_side

PEERS = {"SEAL": ("tenseal", "seal_side.py"), "OpenFHE": ("openfhe", "openfhe_side.py")}
ROUNDS = 9

Set = dict[str, Any]
# Our goals: milliseconds on one core, and megabytes.
SETS: dict[str, tuple[Set, dict[str, float]]] = {
    "2^15, depth 10": (
        {"degree": 2**15, "moduli": [50] + [40] * 10, "special": [50] * 3, "threads": []},
        {"relinearize": 14, "rotate": 14, "multiply": 18},
    ),
    "2^16, depth 20": (
        {"degree": 2**16, "moduli": [50] + [40] * 20, "special": [50] * 7, "threads": []},
        {"multiply": 80, "rotation key": 90, "rotation key on disk": 45},
    ),
}
THREADED: dict[str, Set] = {
    "2^14, depth 7": {"degree": 2**14, "moduli": [50] + [40] * 7, "special": [50, 50]},
    "2^15, depth 10": {"degree": 2**15, "moduli": [50] + [40] * 10, "special": [50] * 3},
}


def main() -> int:
    """Print all figures."""
    cw.set_threads(1)
    for part in (transforms, elementwise, chain, schemes, threads, heal_shaped):
        print(f"-- {(part.__doc__ or '').splitlines()[0]}", flush=True)
        part()
    return 0


def show(
    label: str,
    ours: float,
    unit: str,
    peers: dict[str, float] | None = None,
    *,
    floor: float | None = None,
    asked: float | None = None,
) -> None:
    """Our figure, its goal, a limit of the machine, and peers with the ratio to ours."""
    line = f"{label:38} {ours:9.2f} {unit}"
    record(label, unit or "ratio", ours)
    if asked is not None:
        line += f"  asked {asked:g}{'' if ours <= asked else ' MISSED'}"
    if floor is not None:
        line += f"  floor {floor:.2f} x {ours / floor:.2f}"
    for name, theirs in (peers or {}).items():
        line += f"  {name} {theirs:.2f} x {theirs / ours:.2f}"
    print(line, flush=True)


def peer(name: str, wanted: Set) -> Side | None:
    """The side of a peer, or None after printing the reason."""
    return peer_side(name, *PEERS[name], wanted)


def ours(wanted: Set) -> Side:
    """Our own side, in a separate process."""
    return Side("cloakwork", sys.executable, "cloakwork_side.py", wanted)


def transforms() -> None:
    """NTT of one limb; SEAL's is the mean of both directions."""
    for degree, bits, floor, asked in ((4096, 62, 9.6, 12.0), (65536, 49, 79.0, 100.0)):
        side = peer("SEAL", {"degree": degree, "ntt_bits": min(bits, 60), "pairs": 32})
        seconds, theirs = _transform_seconds(degree, bits, side)
        for name, taken in seconds.items():
            best = name == backend.current_backend()
            limits = {"floor": floor, "asked": asked} if best else {}
            show(f"NTT {degree}, {bits} bits, {name}", taken * 1e6, "us", theirs, **limits)


def _transform_seconds(
    degree: int, bits: int, side: Side | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of one transform by each backend; microseconds of the peer's."""
    tables = Transform(degree, ntt_primes(degree, (bits,)))
    rows = max(1, 2**16 // degree)
    words = np.random.default_rng(1).integers(0, 2 ** (bits - 1), (1, rows, 1, degree))
    a = cw.asarray(words)
    names = [f"cpu_{isa}" for isa in backend.detect_devices().isas]
    order = cw.asarray(np.arange(degree)).freeze()
    given = {"q": tables.q.freeze(), "psi": tables.psi.freeze(), "perm": order}

    def run_with(name: str) -> Callable[[], object]:
        def run() -> None:
            with backend.select_backend(name):
                ops.ntt(a, **given, axis=-1, out=a)

        return run

    sides: list[Side | Local] = [Local(name, {"ntt and intt": run_with(name)}, 8) for name in names]
    with side or ExitStack():
        taken = in_turns([*sides, *([side] if side else [])], "ntt and intt", ROUNDS)
    mine = {name: taken[name].cpu / rows for name in names}
    theirs = {side.name: taken[side.name].cpu / side.facts["pairs"] / 2 * 1e6} if side else {}
    return mine, theirs


def elementwise() -> None:
    """Modular products and sums against a copy of the same number of bytes."""
    for size in (2**12, 2**15, 2**20):
        for bits in (62, 49):
            _elementwise(size, bits)


def _elementwise(size: int, bits: int) -> None:
    q = ntt_primes(4096, (bits,))[0]
    a, b = (cw.asarray(np.random.default_rng(i).integers(0, q, size)) for i in (1, 2))
    out, source = cw.empty((size,), "i64"), np.asarray(a).copy()
    target = np.empty_like(source)
    sides: dict[str, Callable[[], object]] = {
        "modmul": lambda: ops.modmul(a, b, q, out=out),
        "modsum": lambda: ops.modsum(a, b, q, out=out),
        "copy": lambda: np.copyto(target, source),
    }
    taken = _local(sides, max(1, 2**20 // size))
    copied = taken["copy"].cpu * 1.5 / size * 1e9  # three streams, where a copy has two
    for op in ("modmul", "modsum"):
        label = f"{op}, {bits} bits, 2^{size.bit_length() - 1} elements"
        show(label, taken[op].cpu / size * 1e9, "ns", floor=copied)


def chain() -> None:
    """Four modular operations over 2^20 elements, fused, against one of them."""
    size, q = 2**20, ntt_primes(4096, (49,))[0]
    a, b = (cw.asarray(np.random.default_rng(i).integers(0, q, size)) for i in (1, 2))

    def four(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
        return ops.modmul(ops.modsum(ops.modmul(a, b, q), b, q), ops.modneg(a, q), q)

    def one(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
        return ops.modmul(a, b, q)

    programs = {"four": cw.trace(four, a, b), "one": cw.trace(one, a, b)}
    sides = {name: _runner(program, a, b) for name, program in programs.items()}
    taken = _local(sides, 1)
    ratio = taken["four"].cpu / taken["one"].cpu
    show("one", taken["one"].cpu * 1e3, "ms")
    show("four, fused", taken["four"].cpu * 1e3, "ms")
    show("four / one", ratio, "", asked=1.5)


def _runner(program: Any, *inputs: cw.Tensor) -> Callable[[], object]:
    return lambda: program.run(*inputs, threads=1, profile=False)


def _local(sides: dict[str, Callable[[], object]], repeat: int) -> dict[str, Seconds]:
    """Medians of sides in this process, in turns."""
    return in_turns([Local(name, {"": run}, repeat) for name, run in sides.items()], "", ROUNDS)


OPERATIONS = ("relinearize", "rotate", "multiply", "multiply_plain", "encrypt", "decrypt")


def schemes() -> None:
    """CKKS on one core, keys and peak memory; `hoisted` is a further rotation of one operand."""
    for label, (wanted, asked) in SETS.items():
        print(f"degree {label}")
        with within(f"degree {label}"), ExitStack() as stack:
            sides = [stack.enter_context(ours(wanted))]
            for name in PEERS:
                side = peer(name, wanted)
                sides += [stack.enter_context(side)] if side else []
            rounds = ROUNDS if wanted["degree"] < 2**16 else 5
            for operation in OPERATIONS:
                taken = in_turns(sides, operation, rounds)
                milliseconds = {name: one.cpu * 1e3 for name, one in taken.items()}
                mine = milliseconds.pop("cloakwork")
                show(operation, mine, "ms", milliseconds, asked=asked.get(operation))
            _hoisted(sides, rounds)
            _memory(sides, asked)


def _hoisted(sides: list[Side], rounds: int) -> None:
    """A rotation whose digits are computed already."""
    many, one = (in_turns(sides[:1], op, rounds) for op in ("rotate_many", "rotate"))
    whole, single = many["cloakwork"].cpu, one["cloakwork"].cpu
    each = (whole - single) / sides[0].facts["hoisted"]
    theirs = in_turns(sides[1:], "hoisted", rounds)
    peers = {name: seconds.cpu * 1e3 for name, seconds in theirs.items()}
    show("hoisted", each * 1e3, "ms", peers, asked=round(single * 1e3 / 2, 2))


def _memory(sides: list[Side], asked: dict[str, float]) -> None:
    """Bytes of a rotation key, and the peak of each process, which has two keys."""
    for fact, label in (("key_bytes", "rotation key"), ("key_file_bytes", "rotation key on disk")):
        sizes = {side.name: side.facts[fact] / 1e6 for side in sides if fact in side.facts}
        show(label, sizes.pop("cloakwork"), "MB", sizes, asked=asked.get(label))
    for label, without in (("peak memory", False), ("peak beyond the imports", True)):
        peaks = {
            side.name: (side.peak_bytes() - without * side.facts["start_bytes"]) / 1e6
            for side in sides
        }
        half = round(peaks["OpenFHE"] / 2, 1) if "OpenFHE" in peaks else None
        show(label, peaks.pop("cloakwork"), "MB", peaks, asked=half)


def threads() -> None:
    """Two threads against one, wall time; then the same while other work occupies both cores."""
    for label, wanted in THREADED.items():
        with ours({**wanted, "threads": [1, 2]}) as side:
            for busy in (False, True):
                with _busy(2 if busy else 0):
                    for operation in ("rotate", "multiply"):
                        _speedup(side, operation, f"{operation}, {label}", busy)


def _speedup(side: Side, operation: str, label: str, busy: bool) -> None:
    wall: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for count, taken in wall.items():
            taken += [one.wall for one in side.run(f"{operation}@{count}")]
    one, two = (float(np.median(wall[count])) for count in (1, 2))
    asked = "1, cores busy" if busy else "1.7"
    record(f"{label}, on two{', cores busy' if busy else ''}", "ms", *(s * 1e3 for s in wall[2]))
    times = f"{one * 1e3:8.2f} ms, {two * 1e3:8.2f} ms on two"
    print(f"{label:38} {times}  x {one / two:.2f}  asked {asked}", flush=True)


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """`count` processes that are always busy."""
    command = [sys.executable, "-c", "while True: pass"]
    burning = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


# HEAL's own runtime, one thread, 62-bit moduli, as published with its transcripts.
HEAL_BUTTERFLY, HEAL_MODMUL, HEAL_DISPATCH = 70.0, 243.0, 4900.0


def heal_shaped() -> None:
    """Programs of HEAL's shapes beside HEAL's own figures: the goal is a hundredth of them."""
    _matrix_product()
    for degree, rows in ((16, 50), (4096, 1)):
        _gadget_switch(degree, rows)


def _matrix_product() -> None:
    """The encrypted product of digit_recognizer: 784 ciphertexts by 50 rows of weights."""
    moduli = ntt_primes(16, (61, 61))
    q = cw.asarray(list(moduli)).freeze()
    weights = _residues((50, 784, 1, 16, 2), moduli).freeze()
    ciphertext = _residues((1, 784, 1, 16, 2), moduli)

    def product(x: cw.Tensor) -> cw.Tensor:
        return ops.axis_modsum(ops.modmul(weights, x, q), 1, q)

    program = cw.trace(product, ciphertext)
    taken = _local({"": _runner(program, ciphertext)}, 1)[""].cpu / weights.size * 1e9
    label = "modmul, axis_modsum [50, 784, 1, 16, 2]"
    # HEAL's figure covers only the product.
    show(label, taken, "ns an element", {"HEAL": HEAL_MODMUL}, asked=HEAL_MODMUL / 100)


def _residues(shape: Sequence[int], moduli: Sequence[int]) -> cw.Tensor:
    return cw.asarray(np.random.default_rng(7).integers(0, moduli, tuple(shape)))


def _gadget_switch(degree: int, rows: int) -> None:
    """The gadget key switch of a published transcript: digits of 4 bits, both moduli.

    Of HEAL's runtime only the transforms, the products and nine dispatched steps are counted.
    """
    digits, bits, moduli = 31, 4, ntt_primes(degree, (61, 61))
    limbs, tables = len(moduli), Transform(degree, moduli)
    names = ("q", "psi", "psi_inv", "n_inv", "perm")
    fixed = {name: getattr(tables, name).freeze() for name in names}
    inverses = [[pow(b, -1, a) if a != b else 1 for b in moduli] for a in moduli]
    key = _residues((degree, 2, digits, limbs), moduli).freeze()
    given = {"q_inv": cw.asarray(inverses).freeze(), "g_exp": digits, "g_base_bits": bits}

    def switch(c: cw.Tensor) -> cw.Tensor:
        return ops.key_switch(c, key, **fixed, **given)

    c = _residues((rows, degree, 1, limbs), moduli)
    program = cw.trace(switch, c)
    taken = _local({"": _runner(program, c)}, max(1, 2**12 // degree // rows))[""].cpu
    butterflies = rows * limbs * (1 + digits) * degree // 2 * (degree.bit_length() - 1)
    products = rows * 2 * digits * limbs * degree
    heal = butterflies * HEAL_BUTTERFLY + products * HEAL_MODMUL + 9 * HEAL_DISPATCH
    label = f"gadget key switch, degree {degree}, {rows} rows"
    show(label, taken * 1e6, "us", {"HEAL": heal / 1e3}, asked=round(heal / 1e5, 1))


if __name__ == "__main__":
    sys.exit(main())
