"""Witnesses against snarkjs: whole processes in turns, first and later runs, two threads.

Two circuits of circomlib, compiled by circom2 from npm: one block of SHA-256, whose values are
mostly bits, and a chain of 60 Poseidon hashes, whose values are full.  `wtns` computes a witness,
`fullprove` a witness and a Groth16 proof; the witnesses are compared byte for byte.  Times of the
processor are of the process and all its threads: a shared machine disturbs them less.
The goals: 5 times snarkjs's witness, 15 times its `groth16 fullprove`.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cloakwork.demo.node import Node
from measured.rows import record
from measured.snarkjs import beside_snarkjs

ROUNDS = 5
GOALS = {"witness": 5.0, "fullprove": 15.0}
BITS, HASHES = 440, 60

SHA = f"""pragma circom 2.1.0;
include "sha256/sha256.circom";
component main = Sha256({BITS});
"""
CHAIN = f"""pragma circom 2.1.0;
include "poseidon.circom";
template Chain(n) {{
    signal input a;
    signal input b;
    signal output out;
    component hash[n];
    for (var i = 0; i < n; i++) {{
        hash[i] = Poseidon(2);
        hash[i].inputs[0] <== i == 0 ? a : hash[i - 1].out;
        hash[i].inputs[1] <== b;
    }}
    out <== hash[n - 1].out;
}}
component main = Chain({HASHES});
"""
SOURCES = {
    "sha256": (SHA, {"in": [(7 * place + place // 3) % 5 % 2 for place in range(BITS)]}),
    "hashes": (CHAIN, {"a": 3, "b": "12345678901234567890123"}),
}
Times = tuple[float, float]


def main() -> int:
    """Compute the same witnesses and proofs by both, and print the times of each."""
    return beside_snarkjs(_circuits)


def _circuits(node: Node, at: Path) -> int:
    shutil.copytree(node.folder / "node_modules" / "circomlib" / "circuits", at / "lib")
    for name, (source, inputs) in SOURCES.items():
        (at / f"{name}.circom").write_text(source)
        (at / f"{name}.json").write_text(json.dumps(inputs))
        options = ["--r1cs", "--wasm", "--O1", "-l", "lib"]
        node.run("circom2", f"{name}.circom", *options, at=at)
        _ours(at, "setup", f"{name}.r1cs", "-o", f"{name}.zkey", "--vkey", f"{name}.vk.json")
        _compare(node, name, at)
    return 0


def _compare(node: Node, name: str, at: Path) -> None:
    program, given, key = f"{name}_js/{name}.wasm", f"{name}.json", f"{name}.zkey"
    snarkjs = str(node.folder / "node_modules" / ".bin" / "snarkjs")
    calls: dict[str, tuple[Callable[[], None], Callable[[], None]]] = {
        "witness": (
            lambda: _ours(at, "witness", program, given, "-o", "ours.wtns"),
            lambda: _run(at, snarkjs, "wtns", "calculate", program, given, "theirs.wtns"),
        ),
        "fullprove": (
            lambda: _ours(at, "fullprove", program, key, given, "--public", "s.json"),
            lambda: _run(
                at, snarkjs, "groth16", "fullprove", given, program, key, "p.json", "q.json"
            ),
        ),
    }
    for what, (ours, theirs) in calls.items():
        found = [(_timed(ours), _timed(theirs)) for _ in range(ROUNDS)]
        _print(f"{name}, {what}", found, GOALS[what])
    assert (at / "ours.wtns").read_bytes() == (at / "theirs.wtns").read_bytes()
    _run(at, snarkjs, "groth16", "verify", f"{name}.vk.json", "s.json", "proof.json")


def _print(what: str, found: list[tuple[Times, Times]], goal: float) -> None:
    (ours, own), (theirs, foreign) = (
        tuple(min(times[side][part] for times in found) for part in range(2)) for side in range(2)
    )
    record(f"{what}, Cloakwork", "s", *(times[0][0] for times in found))
    print(
        f"{what:20} first {found[0][0][0]:.3f} s, then {ours:.3f} s ({own:.3f} s of processor); "
        f"snarkjs first {found[0][1][0]:.3f} s, then {theirs:.3f} s ({foreign:.3f} s)"
    )
    print(f"{'':20} ratio {theirs / ours:.1f} ({foreign / own:.1f} of processor), asked: {goal}")


def _timed(call: Callable[[], None]) -> Times:
    """Seconds of a call, and of the processor in the processes that it started."""
    before, begin = _processor(), time.perf_counter()
    call()
    return time.perf_counter() - begin, _processor() - before


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ours(at: Path, *arguments: str) -> None:
    code = "import sys; from cloakwork.cli import main; sys.exit(main())"
    _run(at, sys.executable, "-c", code, *arguments)


def _run(at: Path, *command: str) -> None:
    environment = {**os.environ, "CLOAKWORK_THREADS": "2"}
    # Installed sources are compiled once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, cwd=at, check=True, capture_output=True, env=environment)


if __name__ == "__main__":
    sys.exit(main())
