"""Random expressions, computed at once, in batches and as programs, and compared with NumPy.

    PYTHONPATH=tests python -m python.random_expressions --count 100000 --first-seed 0

An expression is determined by its seed.  Its steps are drawn while it is computed at once; each
step is then compared with NumPy's on the same operands, so that errors do not add up, and the
other ways have to give the same bits.  A failing seed is printed with the steps as text.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import cloakwork as cw
import numpy as np
from python.random_steps import Array, Step

from python import random_steps

# A step in so many expressions has as many elements that threads share its work.
_LARGE_EVERY = 50
_LARGE = 70_000


@dataclass
class Expression:
    """Inputs, and steps on them and on earlier results."""

    seed: int
    inputs: list[Array] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def text(self) -> str:
        """The steps as Python's text."""
        given = [
            f"v{place} = {array!r}  # {array.dtype}, strides {array.strides}"
            for place, array in enumerate(self.inputs)
        ]
        first = len(given)
        return "\n".join([*given, *(f"v{first + n} = {s.text}" for n, s in enumerate(self.steps))])

    def tensors(self) -> list[cw.Tensor]:
        """The inputs as tensors of their own memory, in the same layouts."""
        return [cw.asarray(array) for array in self.inputs]

    def results(self, values: list[Any]) -> list[Any]:
        """Appends the results of all steps to the inputs."""
        for step in self.steps:
            values.append(step.function(cw, *(values[place] for place in step.operands)))
        return values


def drawn(seed: int) -> tuple[Expression, list[Array], list[str]]:
    """An expression, its values at once, and how they differ from NumPy's."""
    rng = np.random.default_rng(seed)
    large = _LARGE if seed % _LARGE_EVERY == 0 else 0
    expression = Expression(seed, random_steps.inputs(rng, large))
    tensors = expression.tensors()
    # As batches and programs have them, whose inputs are row-major.
    others = [cw.asarray(np.array(array, order="C")) for array in expression.inputs]
    values = [*expression.inputs]
    wrong = []
    for _ in range(int(rng.integers(1, 13))):
        pairs = [map(np.asarray, pair) for pair in zip(tensors, others, strict=True)]
        row_major = [all(one.flags.c_contiguous for one in pair) for pair in pairs]
        step = random_steps.step(rng, values, row_major)
        result = step.function(cw, *(tensors[place] for place in step.operands))
        tensors.append(result)
        others.append(step.function(cw, *(others[place] for place in step.operands)))
        values.append(np.asarray(result).copy())
        expression.steps.append(step)
        with np.errstate(all="ignore"):
            expected = step.function(np, *(values[place] for place in step.operands))
        if difference := step.differs(values[-1], np.asarray(expected), values):
            wrong.append(f"v{len(values) - 1} at once and by NumPy: {difference}")
    return expression, values, wrong


def in_batch(expression: Expression) -> list[Any]:
    """All values, of calls that wait."""
    with cw.batch():
        return expression.results([*expression.tensors()])


def by_program(expression: Expression) -> list[Any]:
    """All values, of a recorded program."""
    tensors = expression.tensors()
    recorded = lambda *values: expression.results([*values])[len(values) :]  # noqa: E731
    return [*tensors, *cw.trace(recorded, *tensors).run(*tensors).outputs]


def by_list(expression: Expression) -> list[Any] | None:
    """All values, of a list of operations; None for steps that are no functions of tensors."""
    tensors = expression.tensors()
    operations: list[tuple[Any, ...]] = []
    for step in expression.steps:
        if step.operation is None:
            return None
        slots = [
            tensors[place] if place < len(tensors) else cw.Slot(place - len(tensors))
            for place in step.operands
        ]
        operations.append((step.operation, *slots, *step.numbers))
    last = cw.execute_batch(operations)
    used = {place for step in expression.steps for place in step.operands}
    values: list[Any] = [None] * (len(tensors) + len(operations))
    kept = [n for n in range(len(tensors), len(values)) if n not in used]
    for place, result in zip(kept, last, strict=True):
        values[place] = result
    return values


WAYS: dict[str, Callable[[Expression], list[Any] | None]] = {
    "in a batch": in_batch,
    "by a program": by_program,
    "by a list": by_list,
}


def findings(seed: int) -> Iterator[str]:
    """Says what is wrong with one expression."""
    cw.set_threads(1)
    expression, values, wrong = drawn(seed)
    yield from wrong
    for threads in (1, 2):
        cw.set_threads(threads)
        ways = WAYS if threads == 1 else WAYS | {"at once": at_once}
        for name, way in ways.items():
            try:
                others = way(expression)
            except Exception as error:  # whatever it is, it is a finding
                yield f"{name}, {threads} threads: {type(error).__name__}: {error}"
                continue
            for place, (one, other) in enumerate(zip(values, others or values, strict=True)):
                if other is not None and not is_same(one, np.asarray(other)):
                    yield f"v{place} {name}, {threads} threads: {other!r}, at once {one!r}"
            if name == "in a batch" and sharing(others or []) != sharing(at_once(expression)):
                yield f"{name}, {threads} threads: other tensors share memory than at once"


def at_once(expression: Expression) -> list[Any]:
    """All values, of calls that are computed when they are made."""
    return expression.results([*expression.tensors()])


def sharing(values: list[Any]) -> list[list[int]]:
    """For each value, the places of those before it of whose memory it has some."""
    arrays = [np.asarray(value) for value in values]
    return [
        [n for n, before in enumerate(arrays[:place]) if np.may_share_memory(array, before)]
        for place, array in enumerate(arrays)
    ]


def is_same(one: Array, other: Array) -> bool:
    """Whether dtypes, shapes and bits are the same, but for what is not a number."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.tobytes() == other.tobytes():
        return True
    parts = [one, other]
    if one.dtype.kind == "c":
        parts = [np.ascontiguousarray(part).view(part.real.dtype) for part in parts]
    if one.dtype.kind not in "fc":
        return False
    left, right = parts
    words = [np.ascontiguousarray(part).view(f"u{part.itemsize}") for part in parts]
    both = np.isnan(left) & np.isnan(right)
    return bool(np.all(both | (words[0] == words[1])))


def main(words: list[str]) -> int:
    """Try as many expressions as asked, and print what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args(words)
    failed = 0
    for seed in range(asked.first_seed, asked.first_seed + asked.count):
        if found := list(findings(seed)):
            failed += 1
            print(f"\nseed {seed}:\n{drawn(seed)[0].text()}", *found, sep="\n  ", flush=True)
    print(f"{asked.count} expressions from seed {asked.first_seed}: {failed} fail")
    return 1 if failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
