"""Forks while threads compute; run separately, because a hanging child must not hang the tests.

    python forking.py FOLDER ROUNDS

In each round two threads repeat one kind of call, and the process forks; the child makes one call
of every kind, each time beginning with another. A child that does not end in time hangs: it is
killed and reported. The output is the number of children that ended well, and the fate of the
others.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import cloakwork as cw
import numpy as np
from cloakwork import fhe, ops, zk

PATIENCE_S = 120.0
Calls = dict[str, Callable[[], object]]


def large_transcript(folder: Path) -> Path:
    """A file with tensors enough that several threads read them."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from python.heal_writer import HealWriter

    writer = HealWriter()
    for first in range(4):
        values = np.arange(first, first + 150_000)
        writer.download(writer.upload(values), values)
    return writer.write(folder / "large.json")


def calls(folder: Path) -> Calls:
    """A call of each kind, large enough for two threads where the kind takes them."""
    rng = np.random.default_rng(1)
    a, b = (cw.asarray(rng.standard_normal(130_000)) for _ in range(2))
    square = cw.asarray(rng.standard_normal((160, 160)))
    ring = cw.mod(12289)
    residues = ring(rng.integers(0, 12289, 1024))
    fixed = cw.asarray(rng.integers(0, 97, 130_000)).freeze()
    moduli = cw.asarray([97]).freeze()
    program = cw.trace(lambda x, y: (cw.sort(x * y + x), cw.sin(y)), a, b)
    transcript = large_transcript(folder)
    container = folder / "large.cwk"
    cw.heal.load(transcript).save(container)
    numbers = [int(number) for number in rng.integers(1, 2**40, 300)]
    scalars = cw.asarray(numbers, dtype="bn254.fr")
    points = ops.curve_mul(scalars, cw.broadcast_to(zk.curve("bn254").g1_generator, (300,)))
    coefficients = cw.asarray(numbers[:256], dtype="bn254.fr")
    keys = fhe.ckks(256, moduli=[50, 40, 40], special=[50], insecure=True).keygen()
    sealed = keys.encrypt(np.ones(128))
    return {
        "elementwise": lambda: a * b + a,
        "matmul": lambda: square @ square,
        "sort": lambda: cw.sort(a),
        "sum": lambda: cw.sum(a),
        "index": lambda: a[cw.argsort(a[:1000])],
        "fft": lambda: cw.fft.fft(a[:65_536]),
        "solve": lambda: cw.linalg.solve(square, square),
        "program": lambda: program.run(a, b, threads=2),
        "heal": lambda: cw.heal.load(transcript).run(verify=True, threads=2),
        "container": lambda: cw.heal.load(container, checksums=True),
        "modmul": lambda: ops.modmul(fixed, fixed, moduli),
        "ntt": lambda: cw.ntt(residues),
        "field": lambda: scalars * scalars,
        "field_ntt": lambda: ops.field_ntt(coefficients, inverse=False),
        "msm": lambda: ops.msm(scalars, points),
        "fhe": lambda: keys.decrypt(sealed * sealed),
        "keygen": keys.context.keygen,
    }


def begins_with(kinds: Calls, first: int) -> list[Callable[[], object]]:
    made = list(kinds.values())
    return made[first:] + made[:first]


def child_of(kinds: Calls, first: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        for call in begins_with(kinds, first):
            call()
        status = 0
    finally:
        os._exit(status)


def ended(child: int) -> int | None:
    """How a child ended; None if it hangs, and was killed."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main(folder: Path, rounds: int) -> None:
    cw.set_threads(2)
    kinds = calls(folder)
    for call in kinds.values():
        call()
    names, well, told = list(kinds), 0, []
    for turn in range(rounds):
        busy = names[turn % len(names)]
        going = threading.Event()

        def repeat(
            call: Callable[[], object] = kinds[busy], going: threading.Event = going
        ) -> None:
            while not going.is_set():
                call()

        threads = [threading.Thread(target=repeat) for _ in range(2)]
        for thread in threads:
            thread.start()
        child = child_of(kinds, turn * 5 % len(names))
        status = ended(child)
        going.set()
        for thread in threads:
            thread.join()
        if status == 0:
            well += 1
        else:
            told.append([busy, names[turn * 5 % len(names)], status])
    print(json.dumps({"well": well, "rounds": rounds, "told": told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
