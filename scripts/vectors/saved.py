"""Programs saved by one version, which later versions must read and write byte for byte.

    python scripts/vectors/saved.py FOLDER

The files in tests/vectors/saved were written by commit ecb2faf, before fields, devices and front
ends got tables of their own. Do not write them again with a later version: they test that it reads
the files of users.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import zk


def recorded() -> Iterator[tuple[str, cw.Program, list[Any]]]:
    """Names, programs, and the inputs of their recording."""
    random = np.random.default_rng(5)
    words = [cw.asarray(random.integers(0, 97, (4, 8))) for _ in range(2)]
    yield "residues", cw.trace(_residues, *words), words
    grid = [cw.asarray(np.arange(12, dtype=np.int32).reshape(3, 4))]
    yield "indexing", cw.trace(_indexing, *grid), grid
    numbers = [cw.asarray(random.integers(-50, 50, (3, 5)).astype(np.float64))]
    yield "numbers", cw.trace(_numbers, *numbers), numbers
    elements = [cw.asarray([1, 2, 3, 4, 5, 6, 7, 8], dtype="bn254.fr")]
    yield "elements", cw.trace(lambda x: x * x + x, *elements), elements
    key = cw.asarray(random.integers(0, 2**60, 16))
    yield "constant", cw.trace(lambda x: x + key, key), [key]


def _residues(x: cw.Tensor, y: cw.Tensor) -> Any:
    return cw.ops.modmul(cw.ops.modsum(x, y, 97), x, 97)


def _indexing(x: cw.Tensor) -> Any:
    return x[1:, ::2] + x[0, 1], cw.concat([x, x * 2]).T, cw.roll(x, 1, axis=1)


def _numbers(x: cw.Tensor) -> Any:
    # Sums of integers: exact in any order.
    return cw.sum(x, axis=0), cw.where(x > 0, x, -x), cw.astype(x, cw.float32)


def instructions() -> zk.Program:
    """A program of the instruction set, with constants in a file and in the program."""
    b = zk.ProgramBuilder(curve="bn254")
    x = b.input("x", zk.poly(4))
    table = b.constant("table", zk.tensor("u64", 4), np.arange(4, dtype=np.uint64).tobytes())
    five = b.constant("five", zk.scalar(), [5])
    scaled, sums = b.allocate(zk.poly(4)), b.allocate(zk.tensor("u64", 4))
    b.call("add", out=[scaled], args=[x, x])
    b.call("scale", out=[scaled], args=[five])
    b.call("add", out=[sums], args=[table, table])
    b.store(scaled, "scaled")
    b.ret(sums)
    return b.build()


@zk.program(curve="bn254")
def traced(a: zk.Coef[4], s: zk.Scalar) -> dict[str, cw.Tensor]:
    """A recorded function of polynomials."""
    return {"product": a * s, "sum": a + a}


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, program, inputs in recorded():
        program.save(folder / f"{name}.cwk")
        outputs = program.run(*inputs).outputs
        values = {
            "inputs": [np.asarray(one).tolist() for one in inputs],
            "outputs": [np.asarray(one).tolist() for one in outputs],
        }
        (folder / f"{name}.values.json").write_text(json.dumps(values) + "\n")
    q = cw.asarray(np.array([97]))
    x = cw.asarray(np.array([[3], [5]]))
    transcript = cw.trace(lambda x: cw.ops.modmul(x, x, q), x).to_heal([x])
    transcript.save(folder / "transcript.json")
    transcript.save(folder / "transcript.cwk")
    for suffix in ("cwk", "json", "txt"):
        instructions().save(folder / f"instructions.{suffix}")
    zk.compile(traced).save(folder / "traced.cwk")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
