"""Public classes are named, also in pickles, by the modules from which users import them."""

import importlib
import inspect
import pickle
import pickletools
from dataclasses import fields
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, serving, zk
from cloakwork.fhe import heir

MODULES = (
    "cloakwork", "cloakwork.backend", "cloakwork.errors", "cloakwork.fft", "cloakwork.fhe",
    "cloakwork.fhe.heir",
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
        inspection, inspection.ops[0], cw.Slot(0),
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
    matrix = zk.Matrix(*[cw.zeros(1)] * 3)
    return [
        zk.field("bn254.fr"), zk.curve("bn254"), zk.poly(3), matrix,
        zk.plonk.VerifyingKey("bn254", 1, 3, *[b"1"] * 3), zk.plonk.Proof("bn254", b"1", b"1"),
        zk.VerifyingKey("bn254", *[b"1"] * 5), zk.Proof("bn254", *[b"1"] * 3),
        zk.Public("bn254", b""), zk.Witness("bn254", cw.zeros(1)),
        zk.Circuit("bn254", 1, 0, 0, 0, *[matrix] * 3), zk.Transcript(),
    ]  # fmt: skip


SAMPLES = [serving.Limits(), *of_arrays(), *of_programs(), *of_profiles(), *of_fhe(), *of_zk()]

# These hold the engine's programs and runs, files, functions, secrets, or tables of a context.
NOT_PICKLED = {
    cw.Program, cw.Report, cw.RunResult, cw.backend.Selection, cw.heal.Transcript,
    cw.Generator, fhe.Bootstrapping, fhe.Keys, fhe.LinearMap, fhe.LinearTransform, fhe.Matrix,
    heir.Module, serving.ModelClient, serving.ProgramClient, serving.Remote,
    serving.ServedProgram, zk.Outcome, zk.Program,
    zk.ProgramBuilder, zk.ProgramFunction, zk.Prover, zk.ProvingKey, zk.Traced, zk.WitnessGenerator,
    zk.groth16.Prover, zk.plonk.Prover, zk.plonk.ProvingKey,
}  # fmt: skip

# A mapping, and classes that others complete.
WITHOUT_VALUES = {cw.RunOptions, fhe.Ciphertext, fhe.Context, serving.Servable}


def test_every_public_class_has_a_sample_or_is_not_pickled() -> None:
    pickled = {type(value) for value in SAMPLES}
    others = {c for c in CLASSES.values() if issubclass(c, BaseException)} | WITHOUT_VALUES
    assert pickled & NOT_PICKLED == set()
    assert set(CLASSES.values()) == pickled | NOT_PICKLED | others


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
    of_the_engine = {("cloakwork._core", "rebuild"), ("cloakwork._core", "dtype")}
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
