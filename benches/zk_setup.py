"""Groth16's setup from powers of tau against snarkjs: whole processes, in turns, two threads.

The circuit is one block of SHA-256 (2^15 points), as in `zk_groth16`.  Its powers are made here
from known secrets, so that both setups read the same file; their keys must be equal, byte for byte.
snarkjs runs once: it takes more than ten seconds.  The preparation of powers is measured, too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cloakwork as cw
from cloakwork import files, ops
from cloakwork._core import CeremonyHash
from cloakwork.demo.node import Node
from cloakwork.zk import ceremony
from cloakwork.zk.ceremony.contributions import HASH_BYTES, PublicKey, stored
from cloakwork.zk.ceremony.powers_file import LAGRANGE, POWERS, Step, counts, header
from cloakwork.zk.ceremony.sections import Groups, head, section, start, u32
from cloakwork.zk.groth16.algebra import scalars
from measured.rows import record
from measured.snarkjs import beside_snarkjs
from zk_groth16 import _circuit, _ours

POWER, PREPARED_POWER, ROUNDS, RATIO = 15, 8, 3, 50.0
SECRETS = {2: 1, 3: 1, 4: 3**100, 5: 5**100, 6: 5**100}
TAU = 7**90


def main() -> int:
    """Make the same key by both, and print the time of each."""
    return beside_snarkjs(_compare)


def _compare(node: Node, at: Path) -> int:
    _circuit(node, at)
    files.write(at / "powers.ptau", known_powers(POWER))
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        _ours(at, "setup", "groth16", "sha.r1cs", "powers.ptau", "-o", "ours.zkey")
        times.append(time.perf_counter() - begin)
    snarkjs = _snarkjs(node, at, "groth16", "setup", "sha.r1cs", "powers.ptau", "theirs.zkey")
    assert (at / "ours.zkey").read_bytes() == (at / "theirs.zkey").read_bytes()
    record("setup of 2^15 rows, Cloakwork", "s", *times)
    print(f"setup of 2^15 rows, Cloakwork  {min(times):7.3f} s")
    print(f"setup of 2^15 rows, snarkjs    {snarkjs:7.3f} s")
    print(f"ratio                          {snarkjs / min(times):7.1f}     asked: {RATIO}")
    ceremony.new("bn254", PREPARED_POWER, at / "new.ptau")
    ceremony.contribute(at / "new.ptau", at / "one.ptau")
    begin = time.perf_counter()
    _ours(at, "ptau", "prepare", "one.ptau", "ours.ptau")
    ours = time.perf_counter() - begin
    snarkjs = _snarkjs(node, at, "powersoftau", "prepare", "phase2", "one.ptau", "theirs.ptau")
    assert (at / "ours.ptau").read_bytes() == (at / "theirs.ptau").read_bytes()
    print(f"prepare 2^{PREPARED_POWER}, Cloakwork          {ours:7.3f} s")
    print(f"prepare 2^{PREPARED_POWER}, snarkjs            {snarkjs:7.3f} s")
    return 0


def _snarkjs(node: Node, at: Path, *arguments: str) -> float:
    program = str((node.folder / "node_modules" / ".bin" / "snarkjs").resolve())
    begin = time.perf_counter()
    subprocess.run([program, *arguments], cwd=at, check=True, capture_output=True)
    return time.perf_counter() - begin


def known_powers(power: int) -> Iterator[bytes]:
    """Prepared powers of a known tau, with the Lagrange points of the two largest domains alone."""
    groups = Groups("bn254")
    of = counts(power)
    tau = scalars("bn254", [TAU])[0]
    yield start("ptau", len(of) + 2)
    yield header(groups, power, power)
    for number, group in POWERS.items():
        values = ops.powers(tau, of[number]) * scalars("bn254", [SECRETS[number]])
        points = stored(ops.curve_mul(values, groups.generator(group)))
        yield head(number, len(points)) + points
    # Setup refuses powers without a contribution, and checks no more of it.
    one, two = (stored(groups.generator(group)) for group in (1, 2))
    keys = (PublicKey(one, one, two),) * 3
    told = ceremony.Contribution(1, "known", None, bytes(HASH_BYTES), bytes(HASH_BYTES))
    step = Step(told, (one, two, one, one, two), keys, CeremonyHash().state())
    yield section(7, u32(1), step.to_bytes())
    for number, source in LAGRANGE.items():
        group = POWERS[source]
        parts = [bytes(groups.size(group) * ((1 << power) - 1))]
        for log in range(power, power + 1 + (source == min(POWERS))):
            values = ops.field_ntt(ops.powers(tau, 1 << log), inverse=True)
            values = values * scalars("bn254", [SECRETS[source]])
            parts.append(stored(ops.curve_mul(values, groups.generator(group))))
        yield section(number, *parts)


if __name__ == "__main__":
    assert cw.__version__
    sys.exit(main())
