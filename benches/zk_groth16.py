"""Groth16 against snarkjs: whole processes that prove one block of SHA-256, in turns, two threads.

The circuit (circomlib's Sha256 over 440 bits, 2^15 points) is compiled by circom2 and its witness
computed by snarkjs, both from npm; keys are made by `cloakwork setup`, whose time is printed too.
The goal: at least 9 times as fast as snarkjs, and at most 0.15 s.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cloakwork.demo.node import Node
from measured.rows import record
from measured.snarkjs import beside_snarkjs

ROUNDS = 5
BITS = 440
RATIO, SECONDS = 9.0, 0.15

CIRCUIT = f"""pragma circom 2.1.0;
include "sha256/sha256.circom";
component main = Sha256({BITS});
"""


def main() -> int:
    """Prove the same statement by both, and print the time of each."""
    return beside_snarkjs(_compare)


def _compare(node: Node, at: Path) -> int:
    _circuit(node, at)
    begin = time.perf_counter()
    _ours(at, "setup", "sha.r1cs", "-o", "sha.zkey", "--vkey", "vkey.json")
    print(f"keys, without a ceremony       {time.perf_counter() - begin:7.2f} s")
    theirs = str(node.folder / "node_modules" / ".bin" / "snarkjs")
    command = ["groth16", "prove", "sha.zkey", "sha.wtns", "p.json", "s.json"]
    times: dict[str, list[float]] = {"ours": [], "snarkjs": []}
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        _ours(at, "prove", "sha.zkey", "sha.wtns", "-o", "proof.json")
        times["ours"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        subprocess.run([theirs, *command], cwd=at, check=True, capture_output=True)
        times["snarkjs"].append(time.perf_counter() - begin)
    done = subprocess.run(
        [theirs, "groth16", "verify", "vkey.json", "public.json", "proof.json"],
        cwd=at, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "OK!" in done.stdout, done.stdout
    record("whole process, Cloakwork", "s", *times["ours"])
    ours, snarkjs = min(times["ours"]), min(times["snarkjs"])
    print(f"whole process, Cloakwork       {ours:7.3f} s   asked: {SECONDS}")
    print(f"whole process, snarkjs         {snarkjs:7.3f} s")
    print(f"ratio                          {snarkjs / ours:7.1f}     asked: {RATIO}")
    print(f"of it the interpreter's start  {_start(at):7.3f} s")
    return 0


def _circuit(node: Node, at: Path) -> None:
    (at / "sha.circom").write_text(CIRCUIT)
    shutil.copytree(node.folder / "node_modules" / "circomlib" / "circuits", at / "lib")
    node.run("circom2", "sha.circom", "--r1cs", "--wasm", "--O1", "-l", "lib", at=at)
    bits = [(7 * place + place // 3) % 5 % 2 for place in range(BITS)]
    (at / "input.json").write_text(json.dumps({"in": bits}))
    program = str(Path("sha_js") / "sha.wasm")
    node.run("snarkjs", "wtns", "calculate", program, "input.json", "sha.wtns", at=at)


def _ours(at: Path, *arguments: str) -> None:
    code = "import sys; from cloakwork.cli import main; sys.exit(main())"
    _python(at, code, *arguments)


def _python(at: Path, code: str, *arguments: str) -> None:
    environment = {**os.environ, "CLOAKWORK_THREADS": "2"}
    # Installed sources are compiled once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, cwd=at, check=True, capture_output=True, env=environment)


def _start(at: Path) -> float:
    """Seconds to start the prover: imports, without a proof."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        _python(at, "import cloakwork.cli, cloakwork.zk.groth16.proving")
        times.append(time.perf_counter() - begin)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
