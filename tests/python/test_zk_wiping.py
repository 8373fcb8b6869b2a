"""The memory of a process after a proof contains neither the witness nor the blinding.

A child proves and waits; its parent reads the child's memory and searches for the numbers, both
canonical and in Montgomery form (times 2^256), as kernels store them.  The same holds for the
random elements of a program and their key.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, zk
from cloakwork.fields.parameters import ORDERS
from python.zk_interpreter import drawn

CONSTRAINTS = 2**12 - 2
CURVE = "bn254"
PRIME = ORDERS[CURVE]

# Blinding that the parent knows: the words of a fixed seed, secret as those of the system are.
KNOWN = """
import sys
from cloakwork import _core
drawn = _core.random_words
seeds = iter(range(100))
def known(shape):
    words = drawn(shape, bytes([next(seeds)] * 32))
    words.mark_secret()
    return words
_core.random_words = known
"""
PROVE = """
from cloakwork import zk
proof, public = zk.groth16.prove(key, witness, r1cs=r1cs, check=False, **options)
"""
COMMAND = """
from cloakwork.cli import main
assert main(["prove", key, witness, "-o", out + "p", "--public", out + "s", "--no-check"]) == 0
"""
HOLD = """
from cloakwork import zk
held = zk.read_wtns(witness)
"""
DRAW = """
from cloakwork import zk
zk.Program.parse(text).run()
"""
DRAWN = """program version=1 curve=bn254
main {
Allocate id=x device=DEVICE typ=bn254.fr<64>
Blind dst=x start=0 end=64
FuncCall func=sub arg_mut=[x] arg=[x, x]
Allocate id=y device=cpu typ=bn254.fr<64>
Transfer src_id=x dst_id=y src_device=DEVICE dst_device=cpu
Deallocate id=x
Return id=y
}
"""
WAIT = """
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x_{i + 1} = x_i (x_i + i), with a public last value: witnesses of large numbers."""
    folder = tmp_path_factory.mktemp("chain")
    own = np.arange(2, CONSTRAINTS + 2)
    starts, ones = np.arange(CONSTRAINTS + 1), np.ones(CONSTRAINTS, np.uint64)
    both = np.stack([0 * own, own], 1).ravel()
    sums = np.stack([np.arange(CONSTRAINTS), ones], 1).ravel()

    def matrix(starts: np.ndarray, columns: np.ndarray, values: np.ndarray) -> zk.Matrix:
        words = np.zeros((len(values), 4), np.uint64)
        words[:, 0] = values
        return zk.Matrix(*(cw.asarray(part) for part in (starts, columns, words)))

    circuit = zk.Circuit(
        CURVE, CONSTRAINTS + 2, 1, 0, 1, matrix(starts, own, ones), matrix(2 * starts, both, sums),
        matrix(starts, np.append(own[1:], 1), ones),
    )  # fmt: skip
    zk.write_r1cs(circuit, folder / "c.r1cs")
    zk.write_wtns(CURVE, wires(), folder / "c.wtns")
    zk.groth16.setup(folder / "c.r1cs", folder / "c.zkey")
    return folder


def wires() -> list[int]:
    found = [3]
    for at in range(CONSTRAINTS):
        found.append(found[at] * (found[at] + at) % PRIME)
    return [1, found[-1], *found[:-1]]


def blinding() -> list[int]:
    """The child's blinding: numbers of 254 bits until one is below the prime, twice."""
    found: list[int] = []
    for seed in range(100):
        words = np.asarray(_core.random_words((1, 4), bytes([seed] * 32)))
        number = int.from_bytes(words.tobytes(), "little") % 2**254
        if number < PRIME:
            found.append(number)
        if len(found) == 2:
            break
    return found


def needles() -> dict[bytes, str]:
    """Numbers of a proof in both forms, by description."""
    values = wires()
    named = {f"wire {at}": values[at] for at in (50, 51, 1000, 2047, 3000, CONSTRAINTS)}
    return in_both_forms(named | dict(zip(("r", "s"), blinding(), strict=True)))


def drawn_needles() -> dict[bytes, str]:
    """The key of the child's random elements, and the elements in both forms."""
    key = np.asarray(_core.random_words((4,), bytes(32))).tobytes()
    elements = drawn(key, "main/1", 64, "bn254.fr")
    # Only long ones, of which no other program of the child has a copy.
    named = {f"element {at}": value for at, value in enumerate(elements) if value > 2**200}
    assert len(named) > 60
    return in_both_forms(named) | {key: "the key"}


def in_both_forms(named: dict[str, int]) -> dict[bytes, str]:
    forms = {}
    for name, value in named.items():
        assert value > 2**200
        forms[value.to_bytes(32, "little")] = f"{name}, as it is written"
        forms[(value * 2**256 % PRIME).to_bytes(32, "little")] = f"{name}, as kernels hold it"
    return forms


@contextmanager
def waiting(code: str, **names: object) -> Iterator[int]:
    """A child that has run this code and waits; its process id."""
    settings = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    command = [sys.executable, "-c", KNOWN + settings + code + WAIT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield child.pid
        child.kill()


def found_in(process: int, wanted: dict[bytes, str] | None = None) -> set[str]:
    """Which of the numbers, by default those of a proof, are in the memory of a process."""
    wanted = needles() if wanted is None else wanted
    pattern = re.compile(b"|".join(re.escape(needle[:8]) for needle in wanted))
    found = set()
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{process}/maps").read_text().splitlines():
            place, rights, *_, name = line.split(maxsplit=5)
            if "w" not in rights or name.startswith("[v"):
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            memory.seek(start)
            data = memory.read(end - start)
            for match in pattern.finditer(data):
                found |= {
                    name
                    for needle, name in wanted.items()
                    if data.startswith(needle, match.start())
                }
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_a_witness_that_is_held_is_found(files: Path) -> None:
    with waiting(HOLD, witness=str(files / "c.wtns")) as child:
        assert {name for name in found_in(child) if "written" in name} == {
            f"wire {at}, as it is written" for at in (50, 51, 1000, 2047, 3000, CONSTRAINTS)
        }


@linux
def test_without_wiping_a_proof_leaves_the_blinding_and_the_witness(files: Path) -> None:
    names: dict[str, object] = {
        "key": str(files / "c.zkey"), "witness": str(files / "c.wtns"),
        "r1cs": str(files / "c.r1cs"), "options": {"threads": 1},
    }  # fmt: skip
    with waiting("_core.wiped = lambda function: function()\n" + PROVE, **names) as child:
        assert {name.split(",")[0] for name in found_in(child)} & {"r", "s", "wire 50"}


@linux
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("circuit", [False, True])
def test_nothing_is_left_of_a_proof(files: Path, threads: int, circuit: bool) -> None:
    names: dict[str, object] = {
        "key": str(files / "c.zkey"), "witness": str(files / "c.wtns"),
        "r1cs": str(files / "c.r1cs") if circuit else None, "options": {"threads": threads},
    }  # fmt: skip
    with waiting(PROVE, **names) as child:
        assert found_in(child) == set()


@linux
def test_nothing_is_left_of_a_proof_within_a_budget(files: Path, tmp_path: Path) -> None:
    names: dict[str, object] = {
        "key": str(files / "c.zkey"), "witness": str(files / "c.wtns"), "r1cs": None,
        "options": {"threads": 2, "memory_budget": "700KiB", "spill_dir": str(tmp_path)},
    }  # fmt: skip
    with waiting(PROVE, **names) as child:
        assert found_in(child) == set()


@linux
def test_nothing_is_left_of_a_wrong_witness(files: Path, tmp_path: Path) -> None:
    values = wires()
    values[-1] += 1
    zk.write_wtns(CURVE, values, tmp_path / "wrong.wtns")
    code = "from cloakwork.errors import WitnessError\ntry:\n    from cloakwork import zk\n"
    code += "    zk.groth16.prove(key, witness, r1cs=r1cs)\nexcept WitnessError:\n    pass\n"
    names: dict[str, object] = {
        "key": str(files / "c.zkey"), "witness": str(tmp_path / "wrong.wtns"),
        "r1cs": str(files / "c.r1cs"),
    }  # fmt: skip
    with waiting(code, **names) as child:
        assert found_in(child) == set()


@linux
def test_a_witness_comes_through_a_pipe_too(files: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    data = (files / "c.wtns").read_bytes()
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(data))
    writer.start()
    piped = zk.read_wtns(tmp_path / "pipe")
    writer.join()
    assert np.array_equal(np.asarray(piped.words), np.asarray(zk.read_wtns(files / "c.wtns").words))


@linux
def test_nothing_is_left_of_the_command(files: Path, tmp_path: Path) -> None:
    names: dict[str, object] = {
        "key": str(files / "c.zkey"), "witness": str(files / "c.wtns"),
        "out": str(tmp_path) + "/",
    }  # fmt: skip
    with waiting(COMMAND, **names) as child:
        assert found_in(child) == set()


@linux
@pytest.mark.parametrize("device", ["cpu", "gpu:0", "sim:0"])
def test_nothing_is_left_of_random_elements_and_their_key(device: str) -> None:
    with waiting(DRAW, text=DRAWN.replace("DEVICE", device)) as child:
        assert found_in(child, drawn_needles()) == set()


@linux
def test_without_wiping_a_program_leaves_its_key_or_random_elements() -> None:
    code = "_core.wiped = lambda function: function()\n" + DRAW
    with waiting(code, text=DRAWN.replace("DEVICE", "cpu")) as child:
        assert found_in(child, drawn_needles())
