"""Benchmarks: each figure is a ratio within one run, to a named peer or to a limit of the machine.

    python3 dev.py bench                          # all
    python3 dev.py bench kernels load             # some of: kernels, overhead, load, memory, ...
    python3 dev.py bench --json FILE              # and write what was found
    python3 dev.py bench calls --against FOLDER   # this build and another one, in turns
    python3 dev.py bench --compare A.json B.json  # two such files side by side

Machines are shared and noisy: sides are interleaved, medians are compared, and no test depends on
a time. docs/performance.md says what was predicted and what was found.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import engine
from cases import GROUPS
from measured.against import BuildError, joined, measured
from measured.compare import differences, lines, of_files
from measured.files import (
    BenchFileError,
    Build,
    Results,
    commit_of,
    machine_facts,
    read,
    write,
)
from measured.rows import Row, collected, merged, record
from sides.facts import facts
from sides.side import SideError

ROOT = Path(__file__).resolve().parent.parent


def main(words: list[str]) -> int:
    """Run the benchmarks that the words name, or compare files of results."""
    asked = _parser().parse_args(words)
    try:
        if asked.compare:
            return _compare(asked.compare)
        names = _names(asked.names, list(GROUPS) if asked.against else list(BENCHES))
        builds = _against(names, asked) if asked.against else _all(names, asked.repeat)
        if asked.json:
            write(asked.json, Results(machine_facts(), tuple(builds)))
    except (BenchFileError, BuildError, SideError) as error:
        print(f"dev.py bench: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py bench", description="Benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument(
        "--repeat", type=_count, metavar="N", help="measure everything N times over (1; against: 3)"
    )
    parser.add_argument(
        "--against",
        metavar="BUILD",
        help=f"measure {', '.join(GROUPS)} in turns with another build: a folder that holds a built"
        " `cloakwork`, or a Python that imports one",
    )
    parser.add_argument(
        "--compare", nargs="+", type=Path, metavar="FILE", help="compare two results; run nothing"
    )
    return parser


def _count(word: str) -> int:
    count = int(word)
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {word}")
    return count


def _names(names: list[str], known: list[str]) -> list[str]:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BuildError(f"no such benchmark here: {unknown[0]}; there are: {', '.join(known)}")
    return names or known


def _compare(paths: list[Path]) -> int:
    if len(paths) > 2:
        raise BenchFileError(f"--compare: expected one file or two, got {len(paths)}")
    results = [read(path) for path in paths]
    before, after, in_turns = of_files(paths, results)
    for note in differences(results[0].machine, results[-1].machine):
        print(note)
    for line in lines(before, after, in_turns):
        print(line)
    return 0


def _against(names: list[str], asked: argparse.Namespace) -> list[Build]:
    found = [measured(name, GROUPS[name], asked.against, asked.repeat or 3) for name in names]
    builds = [joined(one) for one in zip(*found, strict=True)]
    for line in lines(builds[0], builds[1], in_turns=True):
        print(line)
    return builds


def _all(names: list[str], repeat: int | None) -> list[Build]:
    rows: list[Row] = []
    for _ in range(repeat or 1):
        for name in names:
            print(f"\n== {name}: {(BENCHES[name].__doc__ or '').splitlines()[0]}", flush=True)
            rows += collected(BENCHES[name], name)
    this = facts()
    return [Build(this["version"], commit_of(ROOT), this["library"], tuple(merged(rows)))]


def calls() -> None:
    """Calls on a few elements: what is paid besides the work; CPU time."""
    _cases("calls")


def programs() -> None:
    """Programs of tiny steps, and the digits' transcript; CPU time."""
    _cases("programs")


def arrays() -> None:
    """Arrays that a cache holds in part, and matrix products, on one thread; CPU time."""
    _cases("arrays")


def schemes() -> None:
    """CKKS at a small degree on one thread; CPU time."""
    _cases("schemes")


def fields() -> None:
    """Fields, transforms and multi-scalar multiplication on one thread; CPU time."""
    _cases("fields")


def _cases(group: str) -> None:
    """Measure a group of benches/cases.py in this build alone."""
    for row in measured(group, GROUPS[group], None, 1)[0].rows:
        name = row.name.removeprefix(f"{group}: ")
        print(f"{name:44} {row.median:10.4g} {row.unit}", flush=True)
        record(name, row.unit, *row.samples)


def tensor() -> None:
    """Calls, large arrays, chains and products on one thread and on two; the peer: NumPy."""
    for threads in (1, 2):
        print(f"-- {threads} thread{'s' if threads > 1 else ''}", flush=True)
        command = [sys.executable, str(ROOT / "benches" / "tensor.py"), str(threads)]
        subprocess.run(command, check=True)


def fhe() -> None:
    """Transforms, CKKS, threads and HEAL's shapes; peers: SEAL, OpenFHE, HEAL's own figures."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "fhe.py")], check=True)


def bootstrapping() -> None:
    """CKKS bootstrapping at 2^16: time, precision and the server's memory, of 5 GB."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "bootstrapping.py")], check=True)


def models() -> None:
    """Compiled models: times, errors, keys, memory; peers: TenSEAL, OpenFHE, Concrete-ML."""
    for script in ("models.py", "model_peers.py"):
        subprocess.run([sys.executable, str(ROOT / "benches" / script)], check=True)


def zk() -> None:
    """Fields and transforms against the portable kernels."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "zk.py"), "1"], check=True)


def msm() -> None:
    """Multi-scalar multiplication; peers: arkworks, from PyPI, and the field products alone."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "zk_msm.py")], check=True)


def groth16() -> None:
    """A proof of one block of SHA-256, whole processes; peer: snarkjs, from npm."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "zk_groth16.py")], check=True)


def witness() -> None:
    """Witnesses, and witnesses with proofs, whole processes; peer: snarkjs, from npm."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "zk_witness.py")], check=True)


def setup() -> None:
    """Groth16's setup from powers of tau, whole processes; peer: snarkjs, from npm."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "zk_setup.py")], check=True)


def plonk() -> None:
    """A PLONK proof, whole process and warm; peer: snarkjs, from npm."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "zk_plonk.py")], check=True)


def devices() -> None:
    """Several devices against the shortest schedule; steps of a plug-in against the processor's."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "devices.py")], check=True)


def serving() -> None:
    """Requests to a server against the same runs in this process, and against plain HTTP."""
    subprocess.run([sys.executable, str(ROOT / "benches" / "serving.py")], check=True)


BENCHES: dict[str, Callable[[], None]] = {
    "kernels": engine.kernels,
    "overhead": engine.overhead,
    "calls": calls,
    "programs": programs,
    "arrays": arrays,
    "fields": fields,
    "schemes": schemes,
    "load": engine.load,
    "memory": engine.memory,
    "digits": engine.digits,
    "tensor": tensor,
    "fhe": fhe,
    "bootstrapping": bootstrapping,
    "models": models,
    "zk": zk,
    "msm": msm,
    "groth16": groth16,
    "witness": witness,
    "setup": setup,
    "plonk": plonk,
    "devices": devices,
    "serving": serving,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
