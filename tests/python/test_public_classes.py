"""Public classes are named, also in pickles, by the modules from which users import them."""

import importlib
import inspect
import pickle
import pickletools
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, serving, zk
from cloakwork.sending import Constant, Here, Secret

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"
PLONK = VECTORS.parents[1] / "plonk" / "bn128"

MODULES = (
    "cloakwork", "cloakwork.backend", "cloakwork.device", "cloakwork.errors", "cloakwork.fft",
    "cloakwork.fhe", "cloakwork.fhe.heir",
    "cloakwork.fields", "cloakwork.heal", "cloakwork.linalg", "cloakwork.ops", "cloakwork.random",
    "cloakwork.serving", "cloakwork.zk", "cloakwork.zk.groth16", "cloakwork.zk.plonk",
)  # fmt: skip


def names_of(module: str) -> list[str]:
    held = importlib.import_module(module)
    return getattr(held, "__all__", [name for name in dir(held) if not name.startswith("_")])


def public_classes() -> dict[str, type]:
    found = {}
    for module in MODULES:
        for name in names_of(module):
            value = getattr(importlib.import_module(module), name)
            if inspect.isclass(value) and value.__module__.startswith("cloakwork"):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


CLASSES = public_classes()


@pytest.mark.parametrize("path", sorted(CLASSES))
def test_a_public_class_is_found_under_the_name_that_it_states(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert module in MODULES
    assert getattr(importlib.import_module(module), name) is CLASSES[path]
    assert name in names_of(module)


def of_arrays() -> list[Any]:
    word = cw.asarray([17])
    return [
        cw.zeros(3), cw.float32, cw.finfo(cw.float32), cw.iinfo(cw.int8), cw.mod(word)(word),
        cw.unique_all(cw.zeros(3)), cw.unique_counts(cw.zeros(3)), cw.unique_inverse(cw.zeros(3)),
        cw.__array_namespace_info__(), cw.backend.memory_stats(), cw.backend.detect_devices(),
        cw.backend.Cache(1, "data", 2**15, 2), cw.backend.NumaNode(0, "0-1", 2**30),
        cw.backend.Gpu("GPU", 2**37, (9, 0)), cw.backend.thresholds(), cw.Modulus([17, 257]),
        cw.linalg.slogdet(cw.eye(2)), cw.linalg.lstsq(cw.eye(2), cw.eye(2)),
        *(getattr(cw.linalg, name)(cw.eye(2)) for name in ("qr", "eigh", "eig", "svd")),
    ]  # fmt: skip


def of_profiles() -> list[Any]:
    with cw.profile() as measured:
        cw.ones(3) + 1
    return [measured, *measured.calls, *measured.totals()]


def of_programs() -> list[Any]:
    program = cw.trace(lambda a: a * a, cw.zeros(2))
    inspection, coverage = program.inspect(), program.coverage(device="sim:0")
    return [
        program, program.to_transcript([[1.0, 2.0]]), inspection, inspection.ops[0], cw.Slot(0),
        cw.Finding("error", "leak", 1, None, "add", [], *[""] * 5),
        cw.Mismatch(1, None, "out", None, [0], "1", "2", 1, 1, ""),
        cw.WrongOp(1, "add", "add_f64", "out", [0], "1", "2", 1, 1, ""),
        cw.PassResult("", "", {}, ""),
        cw.MovedStep(1, "add", "sim:0", "no kernel"),
        coverage, coverage.ops[0], coverage.transfers,
        cw.StepRecord(1, "add", "add_f64", None, 0.0, 0.0, 0, 1, 8),
        cw.Totals("add", 1, 0.0, 1, 8, []),
    ]  # fmt: skip


def of_fhe() -> list[Any]:
    context = fhe.bgv(2**12, 65537, [40, 40])
    approximate = fhe.ckks(2**13, moduli=[50, 40], special=[50])
    keys, plain = context.keygen(), context.encode([1])
    whole = fhe.bfv(2**12, 65537)
    return [
        context, context.parameters, plain, plain.sizes, keys.public, keys.evaluation,
        keys.encrypt([1]), fhe.CiphertextSet({"x": keys.encrypt([1])}),
        whole, whole.keygen().encrypt([1]),
        approximate, approximate.keygen().encrypt([1.0]), fhe.Bound.stated(2.0),
        fhe.Packing(8, 4, 2, 2), fhe.Flooding(1, 80, 1, *[0.0] * 4),
        fhe.chebyshev(np.tanh, 3, (-1, 1)), fhe.sign(2, 0.1),
    ]  # fmt: skip


def of_zk() -> list[Any]:
    key, circuit = (
        read(VECTORS / name)
        for read, name in ((zk.read_zkey, "mixed.zkey"), (zk.read_r1cs, "mixed.r1cs"))
    )
    prover = zk.groth16.Prover(key)
    builder = zk.ProgramBuilder()
    builder.ret(builder.input("x", zk.tensor("bn254.fr", 4)))

    def same(a: zk.Lagrange[4]) -> Any:  # type: ignore[valid-type]
        return a

    return [
        zk.field("bn254.fr"), zk.curve("bn254"), zk.poly(3), circuit.a, key, circuit, prover,
        key.verifying_key, *prover.prove(VECTORS / "mixed1.wtns"), zk.Transcript(),
        zk.plonk.VerifyingKey.load(PLONK / "mixed.vkey.json"),
        zk.plonk.Proof.load(PLONK / "mixed1.proof.json"),
        builder.build(), zk.compile(same),
    ]  # fmt: skip


def of_devices() -> list[Any]:
    device = cw.device
    none = [*[None] * len(fields(device.Difference))]
    difference, speed = device.Difference(*none), device.Speed(1, 8, 1, 1)
    failure = device.Failure(difference, "", None)
    found = device.OpResult("add", "elementwise", 1, 1, 0, 0, (), failure, (speed,))
    counts = [None] * (len(fields(device.Report)) - 1)
    return [
        difference, speed, failure, found, device.Report("sim:0", *counts),
        device.Comparison(*[None] * len(fields(device.Comparison))),
        device.CustomOp("op", "", "", ()), device.Driver("sim", None, (), (), True, False),
    ]  # fmt: skip


SAMPLES = [
    serving.Limits(), serving.ServerLimits(), serving.ProverLimits(),
    cw.default_rng(1), *of_arrays(), *of_programs(), *of_profiles(),
    *of_fhe(), *of_zk(), *of_devices(),
]  # fmt: skip

# A mapping, and classes that others complete.
WITHOUT_VALUES = {cw.RunOptions, fhe.Ciphertext, fhe.Context, serving.Servable}


def refuses(cls: type) -> bool:
    """Whether objects of a class are kept from pickles, with words."""
    return issubclass(cls, Constant | Here | Secret)


def test_every_public_class_is_sent_or_refuses_in_words() -> None:
    sent = {type(value) for value in SAMPLES}
    others = {c for c in CLASSES.values() if issubclass(c, BaseException)} | WITHOUT_VALUES
    refused = {c for c in CLASSES.values() if refuses(c)}
    assert sent & refused == set()
    assert set(CLASSES.values()) == sent | refused | others
    for cls in refused - {cw.device.PythonDevice}:
        assert re.search(r"\b(send|call)\b", cls._stays), cls  # type: ignore[attr-defined]


def test_a_class_that_is_neither_is_found() -> None:
    assert not refuses(type("New", (), {}))
    assert refuses(fhe.Keys)
    assert refuses(fhe.Matrix)
    assert not refuses(cw.Program)


def named_in(pickled: bytes) -> set[tuple[str, str]]:
    """The modules and names that a pickle looks up."""
    found, texts = set(), [""]
    for operation, argument, _ in pickletools.genops(pickled):
        if operation.name.endswith("UNICODE"):
            texts.append(argument)
        elif operation.name == "STACK_GLOBAL":
            found.add((texts[-2], texts[-1]))
    return found


def test_pickles_name_public_modules_alone() -> None:
    of_the_engine = {
        ("cloakwork._core", "rebuild"), ("cloakwork._core", "dtype"),
        ("cloakwork.sending", "received"),
    }  # fmt: skip
    for value in SAMPLES:
        pickled = pickle.dumps(value)
        assert type(pickle.loads(pickled)) is type(value)
        own = {pair for pair in named_in(pickled) if pair[0].startswith("cloakwork")}
        private = {pair for pair in own - of_the_engine if f"{pair[0]}.{pair[1]}" not in CLASSES}
        assert private == set(), type(value)


def earlier(module: str, function: str, *arguments: Any) -> bytes:
    """A pickle as an earlier version wrote it: a call of a function by its module and name."""
    return f"c{module}\n{function}\n".encode() + pickle.dumps(arguments, 0)[:-1] + b"R."


def test_pickles_of_earlier_versions_are_read() -> None:
    context = fhe.bgv(2**12, 65537, [40, 40])
    public, parameters = context.keygen().public, context.parameters
    values = [getattr(parameters, field.name) for field in fields(parameters)]
    back = pickle.loads(earlier("cloakwork.fhe.streams", "rebuilt", public.to_bytes()))
    assert isinstance(back, fhe.PublicKey)
    assert back.to_bytes() == public.to_bytes()
    assert pickle.loads(earlier("cloakwork.fhe.parameters", "_unpickled", *values)) == parameters
    again = earlier("cloakwork.fhe.schemes", "context_of", parameters, context.levels)
    assert pickle.loads(again) is context
