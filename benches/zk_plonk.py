"""PLONK against snarkjs: proofs of the same statement under the same key, in turns, two threads.

The circuit is the Merkle proof of `cloakwork demo merkle` (2^11 points): snarkjs takes seconds for
it, and a minute for a block of SHA-256.  The ceremony is of npm's snarkjs, made here.
The goal: a whole process at least 8 times as fast as snarkjs's, a warm proof 30 times.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from cloakwork import zk
from cloakwork.demo.merkle import CIRCUITS
from cloakwork.demo.node import Node
from measured.rows import record
from measured.snarkjs import beside_snarkjs

ROUNDS = 5
POWER = 11
THREADS = 2
WHOLE, WARM = 8.0, 30.0


def main() -> int:
    """Prove the same statement by both, and print the time of each."""
    return beside_snarkjs(_compare)


def _compare(node: Node, at: Path) -> int:
    _statement(node, at)
    begin = time.perf_counter()
    zk.plonk.setup(at / "c.r1cs", at / "pot.ptau", at / "c.zkey", vkey=at / "vkey.json")
    print(f"keys                           {time.perf_counter() - begin:7.3f} s")
    theirs = str(node.folder / "node_modules" / ".bin" / "snarkjs")
    command = [theirs, "plonk", "prove", "c.zkey", "c.wtns", "p.json", "s.json"]
    prover = zk.Prover(at / "c.zkey")
    prover.prove(at / "c.wtns", threads=THREADS)
    times: dict[str, list[float]] = {"ours": [], "warm": [], "snarkjs": []}
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        _ours(at)
        times["ours"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        prover.prove(at / "c.wtns", threads=THREADS)
        times["warm"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        subprocess.run(command, cwd=at, check=True, capture_output=True)
        times["snarkjs"].append(time.perf_counter() - begin)
    check = [theirs, "plonk", "verify", "vkey.json", "public.json", "proof.json"]
    done = subprocess.run(check, cwd=at, check=True, capture_output=True, text=True)
    assert "OK!" in done.stdout, done.stdout
    assert zk.plonk.verify(at / "vkey.json", at / "s.json", at / "p.json")
    record("whole process, Cloakwork", "s", *times["ours"])
    record("warm proof, Cloakwork", "s", *times["warm"])
    whole, warm, snarkjs = (min(times[name]) for name in ("ours", "warm", "snarkjs"))
    print(f"whole process, Cloakwork       {whole:7.3f} s")
    print(f"warm proof, Cloakwork          {warm:7.3f} s")
    print(f"whole process, snarkjs         {snarkjs:7.3f} s")
    print(f"ratio, whole process           {snarkjs / whole:7.1f}     asked: {WHOLE}")
    print(f"ratio, warm                    {snarkjs / warm:7.1f}     asked: {WARM}")
    return 0


def _statement(node: Node, at: Path) -> None:
    """A circuit, a witness and powers of tau."""
    given = CIRCUITS / "bn128"
    shutil.copy(given / "merkle.r1cs", at / "c.r1cs")
    shutil.copy(given / "merkle.wtns", at / "c.wtns")
    node.run("snarkjs", "powersoftau", "new", "bn128", str(POWER), "new.ptau", at=at)
    node.run("snarkjs", "powersoftau", "contribute", "new.ptau", "pot.ptau", "-e=any", at=at)


def _ours(at: Path) -> None:
    environment = {**os.environ, "CLOAKWORK_THREADS": str(THREADS)}
    # Installed sources are compiled once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    code = "import sys; from cloakwork.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "prove", "c.zkey", "c.wtns", "-o", "proof.json"]
    subprocess.run(command, cwd=at, check=True, capture_output=True, env=environment)


if __name__ == "__main__":
    sys.exit(main())
