"""Multi-scalar multiplication against arkworks, and against its cost in field products.

    python benches/zk_msm.py        # the peer: pip install py-arkworks-bls12381

Ours on one thread and the peer in turns, both by CPU time, which other work disturbs least; ours on
two threads by wall time. Random scalars, random points. Figures are the minima of all rounds.

The limit: with windows of c bits each point is added once for each window, at a cost of six
products, because one inversion serves many sums. The time of a product is that of the vector
product in the same run, times three in an extension.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

os.environ["RAYON_NUM_THREADS"] = "1"

import cloakwork as cw
import numpy as np
from cloakwork import ops, zk
from measured.rows import record

ROUNDS = 5
PRODUCTS = 6
# Products of the base field in one product of the coordinates' field.
DEGREE = {"g1": 1, "g2": 3}
CASES = [
    ("bn254.g1", 12),
    ("bn254.g1", 15),
    ("bn254.g1", 18),
    ("bn254.g1", 20),
    ("bn254.g2", 15),
    ("bls12_381.g1", 12),
    ("bls12_381.g1", 15),
    ("bls12_381.g2", 12),
    ("bls12_381.g2", 15),
]


def main() -> int:
    """Print all figures."""
    cw.set_threads(1)
    product = {curve: _product(f"{curve}.fq") for curve in ("bn254", "bls12_381")}
    for curve, seconds in product.items():
        print(f"{curve}.fq product, 2^14: {seconds * 1e9:.2f} ns each")
        record(f"{curve}.fq product, 2^14", "ns", seconds * 1e9)
    for dtype, log in CASES:
        _case(dtype, log, product[dtype.split(".")[0]])
    return 0


def _case(dtype: str, log: int, product: float) -> None:
    name, group = dtype.split(".")
    curve, count = zk.curve(name), 1 << log
    one = curve.g1_generator if group == "g1" else curve.g2_generator
    points = ops.curve_mul(_elements(f"{name}.fr", count, 0), one)
    scalars = _elements(f"{name}.fr", count, 1)
    sides: dict[str, Callable[[], object]] = {"ours": lambda: ops.msm(scalars, points)}
    theirs = None
    if name == "bls12_381":
        theirs = _arkworks(group, scalars, points)
    if theirs is not None:
        sides["arkworks"] = theirs
    seconds = _least(sides)
    record(f"{dtype}, 2^{log}", "ms", seconds["ours"] * 1e3)
    window = min(log - 3, 16)
    limit = count * (256 // window) * PRODUCTS * DEGREE[group] * product
    line = f"{dtype}, 2^{log}".ljust(20)
    line += f"{seconds['ours'] * 1e3:9.1f} ms {seconds['ours'] / count * 1e9:7.0f} ns a point"
    line += f"  {seconds['ours'] / limit:5.2f} x the products' {limit * 1e3:.1f} ms"
    if "arkworks" in seconds:
        line += f"  arkworks x {seconds['arkworks'] / seconds['ours']:5.2f}"
    cw.set_threads(2)
    both = _least({"ours": sides["ours"]}, time.perf_counter)["ours"]
    cw.set_threads(1)
    record(f"{dtype}, 2^{log}, two threads", "ms", both * 1e3)
    print(f"{line}  two threads {both * 1e3:9.1f} ms", flush=True)


def _arkworks(group: str, scalars: cw.Tensor, points: cw.Tensor) -> Callable[[], object] | None:
    """The same sum by arkworks, compared with ours; None if arkworks is not installed."""
    try:
        import py_arkworks_bls12381 as arkworks
    except ImportError:
        return None
    kind = arkworks.G1Point if group == "g1" else arkworks.G2Point
    data, numbers = points.to_bytes(), scalars.to_bytes()
    size = len(data) // points.shape[0]
    theirs = [
        kind.from_xy_bytes_unchecked_le(data[at : at + size]) for at in range(0, len(data), size)
    ]
    factors = [
        arkworks.Scalar.from_le_bytes(numbers[at : at + 32]) for at in range(0, len(numbers), 32)
    ]
    total = kind.multiexp_unchecked(theirs, factors)
    assert total.to_xy_bytes_le() == ops.msm(scalars, points).to_bytes(), "sums differ"
    return lambda: kind.multiexp_unchecked(theirs, factors)


def _product(field: str) -> float:
    a, b = _elements(field, 1 << 14, 0), _elements(field, 1 << 14, 1)

    def products() -> None:
        for _ in range(50):
            ops.multiply(a, b)

    return _least({"": products})[""] / (50 << 14)


def _elements(field: str, count: int, seed: int) -> cw.Tensor:
    small = np.random.default_rng(seed).integers(1, 2**62, count)
    element = ops.astype(cw.asarray(small), field)
    for _ in range(4):
        element = ops.square(element)
    return element


def _least(
    sides: dict[str, Callable[[], object]], clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    taken: dict[str, list[float]] = {label: [] for label in sides}
    for _ in range(ROUNDS):
        for label, side in sides.items():
            start = clock()
            side()
            taken[label].append(clock() - start)
    return {label: min(seconds) for label, seconds in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
