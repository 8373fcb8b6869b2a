"""Compiled models on one core: time of a run, error, keys, and the server's peak memory.

    python benches/models.py

A model is compiled without hints, and its keys and a ciphertext are made, by a process of their
own, which writes files; a second process has the program, the evaluation keys and the ciphertext
alone, as a server has.  Times are CPU time, the least of a few runs.  The peer, TenSEAL, computes
the same network by its own vector products in one more process.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.models import network_path
from measured.rows import record

RUNS = 7
PATIENTS = 256
# Our goals by case: seconds of a run, and gigabytes of the server.
CASES: dict[str, dict[str, float]] = {
    "perceptron": {"run": 0.08, "server's peak": 0.3},
    "LoLA": {"run": 0.08},
    "patients": {"run": 0.05},
}
_PEERS = ("perceptron", "patients")

Figures = dict[str, tuple[float, str]]


def main(words: list[str]) -> int:
    """Print all figures; with words: the part of a process."""
    if words:
        part, folder, case = words
        parts = {"make": make, "server": serve, "client": read, "TenSEAL": tenseal_side}
        parts[part](Path(folder), case)
        return 0
    for case, asked in CASES.items():
        print(f"-- {case}: {(_MODELS[case].__doc__ or '').splitlines()[0]}", flush=True)
        _case(case, asked)
    print(f"-- {(relu.__doc__ or '').splitlines()[0]}", flush=True)
    cw.set_threads(1)
    relu()
    return 0


def _case(case: str, asked: dict[str, float]) -> None:
    found: Figures = {}
    parts = ("make", "server", "client", *(("TenSEAL",) if case in _PEERS else ()))
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            command = [sys.executable, __file__, part, folder, case]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found.update(json.loads(done.stdout))
    for name, (value, unit) in found.items():
        line, goal = f"{name:18} {value:10.4g} {unit}", asked.get(name)
        if goal is not None:
            line += f"  asked {goal:g}{' MISSED' if value > goal else ''}"
        if name.startswith("TenSEAL's run"):
            line += f"  x {value / found['run'][0]:.0f}"
        print(line, flush=True)
        record(f"{case}: {name}", unit, value)


def _perceptron() -> tuple[Any, Any, dict[str, Any]]:
    """784-128-128-10 with squares, as in the Orion paper; one image, weights at random."""
    generator, builder = np.random.default_rng(1), Builder(name="perceptron")
    value, last = builder.input("x", (784,)), 784
    weights = _perceptron_weights()
    for number, weight in enumerate(weights):
        value = builder.affine([(value, weight)], np.zeros(len(weight)))
        if number < len(weights) - 1:
            value = builder.product(value, value)
    sample = generator.random((64, last))
    return builder.graph([value]), sample, {}


def _perceptron_weights() -> list[Any]:
    generator = np.random.default_rng(2)
    sizes = pairwise((784, 128, 128, 10))
    return [generator.normal(size=(rows, columns)) / columns**0.5 for columns, rows in sizes]


def _lola() -> tuple[Any, Any, dict[str, Any]]:
    """A convolution of 5 maps, square, 100, square, 10: digits of 28 x 28, weights at random."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(3)
    stored = {
        "kernel": generator.normal(size=(5, 1, 5, 5)) / 5,
        "hidden": generator.normal(size=(845, 100)) / 845**0.5,
        "last": generator.normal(size=(100, 10)) / 10,
    }
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["maps"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Mul", ["maps", "maps"], ["squares"]),
        helper.make_node("Flatten", ["squares"], ["flat"]),
        helper.make_node("MatMul", ["flat", "hidden"], ["inside"]),
        helper.make_node("Mul", ["inside", "inside"], ["again"]),
        helper.make_node("MatMul", ["again", "last"], ["scores"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 1, 28, 28])
    result = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])
    weights = [numpy_helper.from_array(w.astype(np.float32), name) for name, w in stored.items()]
    graph = helper.make_graph(nodes, "LoLA", [given], [result], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model, generator.random((64, 1, 28, 28)), {}


def _patients() -> tuple[Any, Any, dict[str, Any]]:
    """Logistic regression of 30 features for 256 patients at once."""
    sample = np.random.default_rng(4).normal(size=(PATIENTS, 30))
    return network_path("cancer"), sample, {"optimize": "throughput"}


_MODELS: dict[str, Callable[[], tuple[Any, Any, dict[str, Any]]]] = {
    "perceptron": _perceptron,
    "LoLA": _lola,
    "patients": _patients,
}


def make(folder: Path, case: str) -> None:
    """Compile, and write the program, keys, and an encrypted input."""
    cw.set_threads(1)
    model, sample, options = _MODELS[case]()
    begun = process_time()
    compiled = fhe.compile(model, sample, **options)
    taken = process_time() - begun
    client, _ = compiled.split()
    count = PATIENTS if case == "patients" else 1
    compiled.save(folder / "model.cwk")
    client.save(folder / "keys")
    client.encrypt(sample[:count] if count > 1 else sample[0]).save(folder / "x.ct")
    np.save(folder / "x.npy", sample[:count])
    np.savez(folder / "plain.npz", **compiled.plain(sample[:count]))
    degree = float(compiled.context.parameters.degree)
    keys = client.evaluation.size_bytes / 1e6
    _tell({"compiling": (taken, "s"), "degree": (degree, ""), "keys": (keys, "MB")})


def serve(folder: Path, case: str) -> None:
    """The first run and the least of a few; no secret is here."""
    cw.set_threads(1)
    _, server = fhe.load_model(folder / "model.cwk").split()
    evaluation = fhe.load(folder / "keys" / "eval.key")
    encrypted = fhe.load(folder / "x.ct")
    times = []
    for _ in range(RUNS):
        begun = process_time()
        result = server.run(encrypted, evaluation)
        times.append(process_time() - begun)
    result.save(folder / "y.ct")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    first = {"first run": (times[0], "s"), "run": (min(times), "s")}
    _tell({**first, "server's peak": (peak, "GB")})


def read(folder: Path, case: str) -> None:
    """The largest error of the result."""
    compiled = fhe.load_model(folder / "model.cwk")
    client = compiled.split()[0].load(folder / "keys")
    plain = np.load(folder / "plain.npz")
    found = client.decrypt(fhe.load(folder / "y.ct"), len(plain[plain.files[0]]))
    named = found if isinstance(found, dict) else {plain.files[0]: found}
    error = max(float(np.abs(named[name] - plain[name]).max()) for name in named)
    _tell({"largest error": (error, "")})


def tenseal_side(folder: Path, case: str) -> None:
    """The same by TenSEAL's products of a vector and a matrix, with its own parameters."""
    import tenseal

    degree, sizes = (2**14, [50, *[30] * 7, 50]) if case == "perceptron" else (2**13, [40, 30, 40])
    context = tenseal.context(tenseal.SCHEME_TYPE.CKKS, degree, -1, sizes)
    context.global_scale = 2.0**30
    context.generate_galois_keys()
    given = np.load(folder / "x.npy")
    if case == "perceptron":
        x = tenseal.ckks_vector(context, given[0].tolist())
        layers = [weight.T.tolist() for weight in _perceptron_weights()]
        run = lambda: _squares(x, layers)  # noqa: E731
    else:
        weights = np.linspace(-1, 1, given.shape[1]).tolist()
        columns = [tenseal.ckks_vector(context, column.tolist()) for column in given.T]
        run = lambda: _weighted(columns, weights)  # noqa: E731
    begun = process_time()
    run()
    _tell({"TenSEAL's run": (process_time() - begun, "s")})


def _squares(value: Any, weights: list[Any]) -> Any:
    for number, weight in enumerate(weights):
        value = value.mm(weight)
        if number < len(weights) - 1:
            value = value * value
    return value


def _weighted(columns: list[Any], weights: list[float]) -> Any:
    total = columns[0] * weights[0]
    for column, weight in zip(columns[1:], weights[1:], strict=True):
        total = total + column * weight
    return total


def relu() -> None:
    """ReLU of 16,384 values at 2^15 by a composition, within 2^-8."""
    found = fhe.relu(bound=1.0, error=2.0**-8)
    gates = fhe.sign(alpha=7.0, error=2.0**-7)
    for name, own in (
        ("relu by one polynomial or a gate", found),
        ("sign by a composition", gates),
    ):
        context = fhe.ckks(depth=own.depth + 1, degree=2**15)
        keys = context.keygen()
        x = keys.encrypt(np.linspace(-1, 1, context.slots), bound=1.0)
        times = []
        for _ in range(RUNS):
            begun = process_time()
            own(x)
            times.append(process_time() - begun)
        _show(f"{name}, depth {own.depth}", min(times), "s", 0.4)


def _show(name: str, value: float, unit: str, goal: float | None = None) -> None:
    line = f"{name:18} {value:10.4g} {unit}"
    if goal is not None:
        line += f"  asked {goal:g}{' MISSED' if value > goal else ''}"
    print(line, flush=True)
    record(name, unit, value)


def _tell(found: Figures) -> None:
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
