"""The cost model fitted to this machine: times of homomorphic operations on one core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from cloakwork.compiler.costs import Costs, Elements, Ring, Work
from cloakwork.fhe.circuits.linear import LinearTransform
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.schemes import ckks
from cloakwork.programs.program import Program
from cloakwork.programs.tracing import trace

# Degree, limbs, special moduli.
SIZES = ((1 << 12, 3, 1), (1 << 13, 4, 2), (1 << 13, 6, 1), (1 << 14, 8, 4), (1 << 14, 12, 2))
_BITS = 30
_DIAGONALS, _BABIES, _SUMS = 48, 8, 8
_RUNS = 5

Operation = Callable[[CkksCiphertext], CkksCiphertext]
Case = tuple[str, Operation, Any, Work]


class Measured(NamedTuple):
    """An operation, its work, the ring at which it was done, and its least seconds of CPU."""

    name: str
    work: Work
    ring: Ring
    seconds: float


def measure(sizes: Sequence[tuple[int, int, int]] = SIZES) -> tuple[Costs, list[Measured]]:
    """Costs fitted to times on this machine, and the times.

    The sum of squares of relative errors is least; the largest one is `Costs.error`.
    """
    found = [one for size in sizes for one in _timed(*size)]
    names = [field.name for field in fields(Elements)]
    rows = []
    for one in found:
        parts = one.ring.elements(one.work)
        counts = [getattr(parts, name) for name in names]
        rows.append([*(one.ring.degree * count for count in counts[:-1]), counts[-1]])
    seconds = np.array([one.seconds for one in found])
    weighted = np.array(rows) / seconds[:, np.newaxis]
    constants, _ = nnls(weighted, np.ones(len(found)))
    ratios = weighted @ constants
    error = float(np.maximum(ratios, 1 / ratios).max())
    butterfly, conversion, product, call = map(float, constants)
    return Costs(butterfly, conversion, product, call, error), found


def _timed(degree: int, limbs: int, special: int) -> Iterator[Measured]:
    """Each operation at the highest level of a chain."""
    moduli = [_BITS + 5, *[_BITS] * (limbs - 1)]
    context = ckks(degree, moduli, [_BITS + 5] * special, insecure=True)
    ring = Ring.of(context.parameters, limbs - 1)
    rows = np.random.default_rng(0).normal(size=(_DIAGONALS, context.slots))
    linear = LinearTransform(context, dict(enumerate(rows)), baby_steps=_BABIES)
    keys = context.keygen(rotations=[*linear.rotations, 1], conjugation=False)
    single: Any = keys.encrypt(rows[0] / 10, bound=1.0)
    batch: Any = keys.encrypt(rows[:_SUMS] / 10, bound=1.0, batch=True)
    giants = _DIAGONALS // _BABIES - 1
    mapped = Work(ups=1, babies=_BABIES - 1, giants=giants, products=_DIAGONALS, downs=1)
    plain = context.encode(rows[1])
    operations: list[Case] = [
        ("rotation", lambda x: x.rotate(1), single, Work(turns=1)),
        ("square", lambda x: x.square().rescale(), single, Work(squares=1)),
        ("map", lambda x: linear @ x, single, mapped),
        ("plain", lambda x: (x * plain).rescale(), single, Work(plain_products=1, rescales=1)),
        (
            "sums",
            lambda x: x.weighted_sums(rows[:_SUMS, :_SUMS]).rescale(),
            batch,
            Work(sums=_SUMS**2, rescales=_SUMS),
        ),
    ]
    for name, operation, given, work in operations:
        program = trace(operation, given)
        yield Measured(name, work, ring, min(_seconds(program, given) for _ in range(_RUNS)))


def _seconds(program: Program, given: Any) -> float:
    started = process_time()
    program.run(given, threads=1, profile=False)
    return process_time() - started
