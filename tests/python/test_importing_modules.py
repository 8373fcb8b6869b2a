"""Modules of torch: as its exporter writes them, as torch gives them, and what is refused.

torch is not installed for development: known files and results of it are read, and something made
up stands for it where calls of it are tested.  Where it is installed it is tested as well.
"""

from __future__ import annotations

import sys
from base64 import b64decode
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model, modules
from cloakwork.errors import ModelError
from onnx import TensorProto
from python.onnx_models import model_of, node
from python.vectors import load

SAMPLE = np.random.default_rng(4).normal(size=(24, 3))
CASES = load("torch_modules.json")["cases"]
NAMES = [case["name"] for case in CASES]


# ---- files of torch


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_what_torch_writes_computes_what_torch_computes(case: Any) -> None:
    inputs = {name: np.array(values) for name, values in case["inputs"].items()}
    graph = from_model(b64decode(case["model"]), inputs)
    found = graph.predict(inputs)
    wanted = [np.array(values) for values in case["results"]]
    assert len(found) == len(wanted)
    for own, other in zip(found.values(), wanted, strict=True):
        np.testing.assert_allclose(own, other, atol=2e-6, rtol=0)


def test_attention_of_several_heads_is_encrypted() -> None:
    case = CASES[NAMES.index("transformer encoder, heads 2")]
    rows = np.array(case["inputs"]["input"])
    model = fhe.compile(
        b64decode(case["model"]), rows, precision=0.05, degree=1 << 11, insecure=True
    )
    client, server = model.split()
    client.keygen()
    found = client.decrypt(server.run(client.encrypt(rows[0])))
    error = model.report.error + model.report.approximation_error
    np.testing.assert_allclose(found, case["results"][0][:1], atol=error)


def test_a_batch_is_merged_only_where_it_is_one() -> None:
    """Rows [batch * 2, 2] of a batch of any length may mix inputs; of one they cannot."""
    made = [
        node("Reshape", "x rows", "r"), node("Gemm", "r w", "g"), node("Tanh", "g", "t"),
        node("Reshape", "t back"),
    ]  # fmt: skip
    constants: dict[str, Any] = {
        "rows": np.array([2, 2]), "back": np.array([1, 4]), "w": np.array([[1.0, 2], [3, 4]]),
        "axis": np.array(0),
    }  # fmt: skip
    sample = np.random.default_rng(1).uniform(-1, 1, (8, 2, 2))
    model = model_of(made, (2, 2), constants)
    with pytest.raises(ModelError, match="expected the batch axis to stay in front, found"):
        from_model(model, sample)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    found = from_model(model, sample).predict(sample)["y"]
    wanted = np.tanh(sample @ constants["w"]).reshape(8, 4)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    del model.graph.node[-1]
    model.graph.output[0].name = "t"
    with pytest.raises(ModelError, match=r"found it merged with others in .*Reshape to"):
        from_model(model, sample)
    model.graph.node.append(node("CumSum", "t axis"))
    model.graph.output[0].name = "y"
    with pytest.raises(ModelError, match="the batch axis apart from others"):
        from_model(model, sample)


# ---- calls of torch


class Tensor(np.ndarray):
    """An array with the methods that are called."""

    def detach(self) -> Any:
        return self

    def cpu(self) -> Any:
        return np.asarray(self)

    def to(self, device: str, dtype: Any) -> Any:
        assert device == "cpu"
        return self.astype(dtype)


class Module:
    """A module of two ways: a recording exporter takes that of its example."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        self.forward, self.training = forward, True
        self.frozen = SimpleNamespace(training=False)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def parameters(self) -> list[Any]:
        return []

    def modules(self) -> list[Any]:
        return [self, self.frozen]

    def eval(self) -> None:
        self.training = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert not self.training
        assert all(len(one) == 1 for one in (*args, *kwargs.values()))
        return self.forward(*args, **kwargs)


class MadeUp:
    """What the importer calls of torch.

    refuses   the program's exporter says this
    lacks     the newer exporter to ONNX has no form for a function
    """

    def __init__(self, refuses: str = "", *, lacks: bool = False) -> None:
        self.refuses, self.lacks = refuses, lacks
        self.asked: list[str] = []

    def module(self) -> ModuleType:
        made = ModuleType("torch")
        made.__dict__.update(
            from_numpy=lambda array: array.view(Tensor), device=str, float32=np.float32,
            int64=np.int64, no_grad=nullcontext, export=SimpleNamespace(export=self.program),
            onnx=SimpleNamespace(export=self.onnx),
        )  # fmt: skip
        return made

    def program(self, module: Any, args: Any, kwargs: Any, *, strict: bool) -> Any:
        assert not strict
        if self.refuses:
            raise RuntimeError(self.refuses)
        return SimpleNamespace(module=module, args=args, kwargs=kwargs)

    def onnx(self, given: Any, *more: Any, dynamo: bool, **names: Any) -> Any:
        """A product with the factor of the example."""
        self.asked.append("program" if dynamo else "record")
        if dynamo and self.lacks:
            raise RuntimeError("no form")
        module, args = (given.module, given.args) if dynamo else (given, more[0])
        example = args[0] if args else given.kwargs["x"]
        result = module(*args) if args else module(x=example)
        result = result["tripled"] if isinstance(result, dict) else result
        result = result[0] if isinstance(result, tuple) else result
        factor = float((result / example).ravel()[0])
        made = [node("Mul", f"{names['input_names'][0]} c", names["output_names"][0])]
        constants = {"c": np.array(factor, np.float32)}
        model = model_of(made, (3,), constants, outputs=names["output_names"])
        model.graph.input[0].name = names["input_names"][0]
        model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
        if dynamo:
            return SimpleNamespace(model_proto=model)
        return more[1].write(model.SerializeToString())


@pytest.fixture
def with_torch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., MadeUp]:
    def use(made: MadeUp, *, has_writer: bool = False) -> MadeUp:
        monkeypatch.setitem(sys.modules, "torch", made.module())
        monkeypatch.setattr(modules, "find_spec", lambda name: has_writer or None)
        return made

    return use


def test_a_recorded_way_is_found_by_comparison(with_torch: Any) -> None:
    with_torch(MadeUp())
    module = Module(lambda x: x * 2 if x.sum() > 0 else x)
    words = r"Module: result 'output': .*computes the module, .*torch\.where"
    with pytest.raises(ModelError, match=words):
        from_model(module, SAMPLE)
    assert module.training
    assert not module.frozen.training
    from_model(Module(lambda x: x * 3), SAMPLE)
    with pytest.raises(ModelError, match="computes the module"):
        fhe.compile(module, SAMPLE)


def test_what_torch_export_refuses_is_not_recorded_instead(with_torch: Any) -> None:
    made = with_torch(MadeUp("could not guard on\n  data"))
    words = r"Module: torch\.export cannot tell .*torch\.where.*: could not guard on data"
    with pytest.raises(ModelError, match=words):
        from_model(Module(lambda x: x * 3), SAMPLE)
    assert made.asked == []


@pytest.mark.parametrize(("lacks", "asked"), [(False, ["program"]), (True, ["program", "record"])])
def test_the_older_exporter_is_asked_last(with_torch: Any, lacks: bool, asked: list[str]) -> None:
    made = with_torch(MadeUp(lacks=lacks), has_writer=True)
    graph = from_model(Module(lambda x: x * 3), SAMPLE)
    assert made.asked == asked
    assert graph.results == ("output",)


@pytest.mark.parametrize(("kind", "seen"), [(np.float64, np.float32), (np.int8, np.int64)])
def test_inputs_have_names_and_kinds(with_torch: Any, kind: Any, seen: Any) -> None:
    with_torch(MadeUp(), has_writer=True)
    kinds = set()

    def forward(x: Any) -> Any:
        kinds.add(x.dtype)
        return {"tripled": x * 3}

    rows = np.arange(1, 13).reshape(4, 3).astype(kind)
    graph = from_model(Module(forward), {"x": rows})
    assert kinds == {np.dtype(seen)}
    assert graph.results == ("tripled",)
    with pytest.raises(ModelError, match=r"Module: cannot be called with the first row .*keyword"):
        from_model(Module(forward), {"z": rows})


def test_a_module_that_changes_its_inputs_leaves_the_sample_alone(with_torch: Any) -> None:
    with_torch(MadeUp())

    def forward(x: Any) -> Any:
        x *= 3
        return (x.copy(), None)

    rows = np.ones((4, 3))
    with pytest.raises(ModelError, match="computes the module"):
        from_model(Module(forward), rows)
    assert (rows == 1).all()


class Unreadable:
    """A tensor that has a gradient."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("requires grad")


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (None, r"expected a sample \[batch, \.\.\.\], which tells"),
        (np.zeros((0, 3)), r"expected a sample \[batch, \.\.\.\] of one row at least"),
        (Unreadable(), r"expected a sample that NumPy reads: requires grad; give sample\.detach"),
        ([[1, 2], [3]], "expected a sample that NumPy reads"),
        (2.0, r"expected a sample \[batch, \.\.\.\] of one row at least"),
    ],
)
def test_samples_that_tell_no_shape_are_refused(with_torch: Any, sample: Any, words: str) -> None:
    with_torch(MadeUp())
    with pytest.raises(ModelError, match=words):
        from_model(Module(lambda x: x * 3), sample)


# ---- torch itself


def test_modules_of_torch_are_read() -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    rows = np.random.default_rng(2).uniform(-1, 1, (12, 2, 8)).astype(np.float32)
    for module in (
        nn.TransformerEncoderLayer(8, 2, 8, batch_first=True),
        nn.Sequential(nn.Flatten(), nn.Linear(16, 4), nn.GELU()).double(),
    ):
        graph = from_model(module, rows)
        dtype = next(module.parameters()).dtype
        with torch.no_grad():
            wanted = module.eval()(torch.from_numpy(rows).to(dtype)).numpy()
        np.testing.assert_allclose(graph.predict(rows)["output"], wanted, atol=1e-5)


def test_conditions_of_a_module_of_torch_are_refused() -> None:
    torch = pytest.importorskip("torch")

    class Two(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(ModelError, match=r"Two: torch\.export cannot tell"):
        from_model(Two(), SAMPLE)
