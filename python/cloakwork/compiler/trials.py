"""Trials of a program on sample inputs, under throwaway keys: its errors are measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from cloakwork.backend import memory_limit_bytes
from cloakwork.compiler.client import Client
from cloakwork.compiler.description import Description
from cloakwork.compiler.recording import Emitted, recorded
from cloakwork.compiler.server import Server
from cloakwork.errors import MemoryBudgetError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.rns.key_switching import SwitchingKey, empty_key
from cloakwork.fhe.rns.tables import frozen
from cloakwork.programs.program import Program

Values = Mapping[str, NDArray[np.float64]]

# Runs of a program that takes one input: at least, and as many as give so many errors, if their
# estimate is short; one alone if it is so long.  By the estimate, because few runs state a larger
# error: a model that one machine accepts must not be refused by a slower one.
_RUNS, _ERRORS, _SHORT_SECONDS, _LONG_SECONDS = 4, 16, 0.2, 10.0
# Rounding gives some messages more noise than others: the program admits this much more, in bits,
# than the sample has.
_MORE_NOISE = 0.5
# Estimates of less precision, in bits, say nothing.
_LEAST_BITS = -60.0


@dataclass(frozen=True)
class Trial:
    """The largest error of each output, and what the estimates say of all inputs.

    differences   encrypted minus exact outputs, [count, *shape] by name
    bound         the largest error by the estimates; inf where they leave no precision
    seconds       of the fastest run
    count         inputs that were run
    """

    errors: dict[str, float]
    bound: float
    seconds: float
    count: int
    differences: dict[str, NDArray[np.float64]]


def tried(
    emitter: Emitted,
    described: Description,
    context: CkksContext,
    sample: tuple[Values, Values],
    estimate: float,
) -> tuple[Program, Trial]:
    """The program of an emitter, and its trial.

    sample     inputs and expected outputs, [batch, *shape] by name
    estimate   seconds of a run
    """
    given, expected = sample
    client, capacity = Client(described, context), described.capacity(context.slots)
    available = len(next(iter(given.values())))
    runs, size = (_runs(expected, estimate), 1) if capacity == 1 else (1, min(capacity, available))
    program, server = None, None
    errors, bound, seconds = dict.fromkeys(expected, 0.0), 0.0, inf
    differences: dict[str, list[NDArray[np.float64]]] = {name: [] for name in expected}
    with client.keygen():
        for run in range(runs):
            rows = slice(run * size, (run + 1) * size)
            encrypted = client.encrypt(_within(described, given, rows))
            if program is None or server is None:
                program = recorded(emitter, _noisier(encrypted))
                _check_memory(program, capacity)
                server = Server(program)
            started = perf_counter()
            result = server.run(encrypted)
            seconds = min(seconds, perf_counter() - started)
            for name, values in client.unchecked(result, size).items():
                differences[name].append(values - expected[name][rows])
                errors[name] = max(errors[name], float(np.abs(differences[name][-1]).max()))
            bound = max(bound, *(_bound(result[port.name]) for port in described.outputs))
            if diverged(errors, expected):
                break
    assert program is not None
    # The keys of a deep model take gigabytes.
    program.forget(client.evaluation)
    joined = {name: np.concatenate(parts) for name, parts in differences.items()}
    return program, Trial(errors, bound, seconds, len(next(iter(joined.values()))), joined)


def untried(
    emitter: Emitted, described: Description, context: CkksContext, given: Values
) -> tuple[Program, float]:
    """The program of an emitter, and the largest error by its estimates: without a run.

    For programs whose keys or runs would take gigabytes or minutes, where trials at a small degree
    tell their errors: nothing but a secret is drawn, and evaluation keys have no elements.

    given   inputs [batch, *shape] by name; the first is the program's example
    """
    keys = context.keygen(conjugation=False, relinearization=False)
    with keys:
        client = Client(described, context).use(keys)
        encrypted = _noisier(client.encrypt(_within(described, given, slice(0, 1))))
        unfilled = _unfilled(context, keys.key, described)
    examples = {name: replace(one, evaluation=unfilled) for name, one in encrypted.items()}
    program = recorded(emitter, examples)
    _check_memory(program, described.capacity(context.slots))
    results = {port.name for port in described.outputs}
    return program, max(
        _bound(found)
        for name, found in zip(program.outputs, program.returned, strict=True)
        if name in results
    )


def _unfilled(context: CkksContext, key: str, described: Description) -> EvaluationKeys:
    """Evaluation keys whose memory is never written, so that the system does not provide it."""
    levels = described.levels
    assert levels is not None
    assert levels.raising is None, "a bootstrapping's errors are not those of smaller degrees"

    def unfilled(level: int) -> SwitchingKey:
        return SwitchingKey(frozen(empty_key(context.tables, level)), b"", level)

    galois = {
        context.rotation_element(step): unfilled(level) for step, level in levels.rotations.items()
    }
    products = None if levels.products is None else unfilled(levels.products)
    return EvaluationKeys(context, key, products, galois)


def diverged(errors: Mapping[str, float], expected: Values) -> bool:
    """Whether an output deviates by more than its largest expected value."""
    return any(error > np.abs(expected[name]).max() for name, error in errors.items())


def _check_memory(program: Program, capacity: int) -> None:
    """MemoryBudgetError for a program that this machine cannot run."""
    _, peak = program.memory()
    limit = memory_limit_bytes()
    if peak > limit:
        change = "latency or memory" if capacity > 1 else "memory"
        raise MemoryBudgetError(
            f"a run for up to {capacity} inputs takes {peak / 2**30:.1f} GiB, and this machine has "
            f"{limit / 2**30:.1f} GiB: compile to optimize {change}, or a smaller model",
            peak,
            limit,
        )


def seconds_of(expected: Values, estimate: float) -> float:
    """The estimated seconds of all runs of a trial; `estimate` of one, as of `tried`."""
    return estimate * _runs(expected, estimate)


def _runs(expected: Values, estimate: float) -> int:
    """Of a program that takes one input, at least one."""
    if estimate > _LONG_SECONDS:
        return 1
    available = len(next(iter(expected.values())))
    fewest = min(int(values[0].size) for values in expected.values())
    wanted = _RUNS if estimate > _SHORT_SECONDS else max(_RUNS, -(-_ERRORS // fewest))
    return min(wanted, available)


def _noisier(encrypted: Mapping[str, Ciphertext]) -> dict[str, CkksCiphertext]:
    found = {}
    for name, one in encrypted.items():
        assert isinstance(one, CkksCiphertext)
        found[name] = replace(one, noise=one.noise + _MORE_NOISE)
    return found


def _within(described: Description, given: Values, rows: slice) -> dict[str, NDArray[np.float64]]:
    """Samples in the client's units, within the bounds of the inputs."""
    found = {}
    for port in described.inputs:
        own = given[port.name][rows]
        clipped = np.clip(own.reshape(len(own), -1) * port.units, port.low, port.high)
        found[port.name] = clipped.reshape(own.shape)
    return found


def _bound(result: object) -> float:
    assert isinstance(result, CkksCiphertext)
    bits = result.precision_estimate()
    return 2.0**-bits if bits > _LEAST_BITS else inf
