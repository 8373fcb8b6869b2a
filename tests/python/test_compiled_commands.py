"""A model goes from its ONNX file through compile, keygen, encrypt, run, decrypt and query."""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.cli import main
from cloakwork.serving import Limits, ServedProgram, create_app
from onnx import TensorProto, helper, numpy_helper
from python.serving_setup import running

SEED = np.random.default_rng(14)
FIRST, LAST = SEED.normal(0, 0.3, (8, 5)), SEED.normal(0, 0.5, (5, 3))
SAMPLE = SEED.uniform(-1, 1, (40, 8))


def plain(x: Any) -> Any:
    """The model in NumPy: two layers with a square between."""
    hidden: Any = x.astype(np.float32) @ FIRST.astype(np.float32)
    return (hidden * hidden) @ LAST.astype(np.float32)


def save_onnx(path: Path) -> None:
    weights = {"first": FIRST, "last": LAST}
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["hidden"]),
        helper.make_node("Mul", ["hidden", "hidden"], ["square"]),
        helper.make_node("MatMul", ["square", "last"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a compiled model, its keys and inputs."""
    held = tmp_path_factory.mktemp("model")
    save_onnx(held / "m.onnx")
    np.save(held / "sample.npy", SAMPLE)
    np.save(held / "x.npy", SAMPLE[3])
    line = ["compile", str(held / "m.onnx"), "--data", str(held / "sample.npy")]
    assert main([*line, "-o", str(held / "m.cwk")]) == 0
    assert main([*line, "-o", str(held / "many.cwk"), "--optimize", "throughput"]) == 0
    for name in ("m", "many"):
        assert main(["keygen", str(held / f"{name}.cwk"), "-o", str(held / f"{name}.keys")]) == 0
    return held


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def place(folder: Path) -> Iterator[str]:
    models = [ServedProgram(folder / f"{name}.cwk") for name in ("m", "many")]
    with running(create_app(models, Limits(), folder=folder / "store")) as url:
        yield url


def test_one_sample_goes_through_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encrypt", "m.cwk", "m.keys", "x.npy", "-o", "x.ct"]) == 0
    assert main(["run", "m.cwk", "--keys", "m.keys", "--input", "x.ct", "-o", "y.ct"]) == 0
    assert main(["decrypt", "m.keys", "y.ct", "-o", "y.npy"]) == 0, capsys.readouterr().err
    np.testing.assert_allclose(np.load("y.npy"), plain(SAMPLE[3:4]), atol=1e-3)


def test_many_samples_go_through_files(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("batch.npy", SAMPLE[:7])
    assert main(["encrypt", "many.cwk", "many.keys", "batch.npy", "-o", "b.ct"]) == 0
    assert main(["run", "many.cwk", "--keys", "many.keys", "--input", "b.ct", "-o", "c.ct"]) == 0
    assert main(["decrypt", "many.keys", "c.ct", "-o", "c.npy", "--samples", "7"]) == 0
    np.testing.assert_allclose(np.load("c.npy"), plain(SAMPLE[:7]), atol=1e-3)
    capsys.readouterr()
    assert main(["decrypt", "many.keys", "c.ct", "--samples", "0"]) == 2
    assert "samples: got 0" in capsys.readouterr().err


@pytest.mark.parametrize(("keys", "rows"), [("m.keys", 1), ("many.keys", 7)])
def test_a_server_of_both_models_is_queried(
    place: str, keys: str, rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("q.npy", SAMPLE[:rows])
    assert main(["query", place, keys, "q.npy", "-o", "r.npy"]) == 0, capsys.readouterr().err
    np.testing.assert_allclose(np.load("r.npy"), plain(SAMPLE[:rows]), atol=1e-3)


def test_the_report_is_printed_as_words_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    line = "compile m.onnx --data sample.npy -o again.cwk"
    assert main(line.split()) == 0
    words = capsys.readouterr().out
    assert "degree" in words
    assert main([*line.split(), "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_a_model_for_a_device_has_that_devices_ops(capsys: pytest.CaptureFixture[str]) -> None:
    line = "compile m.onnx --data sample.npy -o device.cwk --for sim:0"
    assert main(line.split()) == 0
    assert "in the ops of sim:0" in capsys.readouterr().err
    program = cw.load("device.cwk")
    assert "host" not in program.coverage(device="sim:0", fallback=False).runs
    client, server = fhe.load_model("device.cwk").split()
    found = client.decrypt(server.run(client.encrypt(SAMPLE[5])))
    np.testing.assert_allclose(found, plain(SAMPLE[5:6]), atol=1e-3)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("compile none.onnx --data sample.npy -o z.cwk", "none.onnx"),
        ("compile m.onnx --data none.npy -o z.cwk", "none.npy"),
        ("compile m.onnx --data sample.npy -o z.onnx", ".cwk"),
        ("compile m.onnx --data wide.npy -o z.cwk", "9"),
        ("compile m.onnx --data nan.npy -o z.cwk", "nan"),
        ("compile m.onnx --data sample.npy --data sample.npy -o z.cwk", "NAME=FILE.npy"),
        ("compile m.onnx --data x=sample.npy --data x=sample.npy -o z.cwk", "x once"),
        ("compile m.onnx --data sample.npy --optimize speed -o z.cwk", "optimize"),
        ("compile m.onnx --data sample.npy --margin -1 -o z.cwk", "margin"),
        ("compile m.onnx --data sample.npy --precision 0 -o z.cwk", "precision"),
        ("compile m.onnx --data sample.npy --degree 1000 -o z.cwk", "degree"),
        ("compile m.onnx --data sample.npy --for gpu:9 -o z.cwk", "gpu:9"),
        ("compile x.npy --data sample.npy -o z.cwk", "x.npy"),
        ("encrypt m.cwk m.keys far.npy -o z.ct", "is outside of"),
        ("encrypt m.cwk m.keys sample.npy -o z.ct", "one sample"),
        ("encrypt m.cwk many.keys x.npy -o z.ct", "another file"),
        ("decrypt m.keys x.ct", "expected the results of m, y, got x"),
    ],
)
def test_a_wrong_command_line_is_said(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("wide.npy", np.zeros((4, 9)))
    np.save("nan.npy", np.full((4, 8), np.nan))
    np.save("far.npy", SAMPLE[0] + 100)
    main(["encrypt", "m.cwk", "m.keys", "x.npy", "-o", "x.ct"])
    capsys.readouterr()
    assert main(line.split()) == 2
    assert said.lower() in capsys.readouterr().err.lower()
    assert not Path("z.cwk").exists()
    assert not Path("z.ct").exists()


SERVER = """
import sys
from cloakwork import fhe
from cloakwork.serving import ServedProgram
model = ServedProgram("m.cwk")
inputs = model.read(open("x.ct", "rb").read(), insecure=False)
keys = fhe.load("m.keys/eval.key", expect="evaluation keys")
result, = model.run([inputs], keys, lambda done, total: None, 1)
open("served.ct", "wb").write(result)
loaded = [name for name in sys.modules if name in ("cloakwork.fhe.keys.keys", "cloakwork.compiler")]
assert not loaded, loaded
"""


def test_the_server_of_a_compiled_model_loads_no_class_with_a_secret() -> None:
    assert main(["encrypt", "m.cwk", "m.keys", "x.npy", "-o", "x.ct"]) == 0
    subprocess.run([sys.executable, "-c", SERVER], check=True)
    assert main(["decrypt", "m.keys", "served.ct", "-o", "served.npy"]) == 0
    np.testing.assert_allclose(np.load("served.npy"), plain(SAMPLE[3:4]), atol=1e-3)


def test_values_outside_of_the_compiled_range_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "compile m.onnx --data few.npy -o narrow.cwk --margin 0 --no-guard"
    few = np.vstack([SAMPLE[:2] / 4, np.eye(8), -np.eye(8)])
    corners = np.array(list(product([-1.0, 1.0], repeat=8)))
    largest = np.abs(plain(corners)).max(axis=1)
    assert largest.max() > 2 * np.abs(plain(few)).max()
    np.save("few.npy", few)
    np.save("other.npy", corners[largest.argmax()])
    assert main(line.split()) == 0
    assert main(["keygen", "narrow.cwk", "-o", "narrow.keys"]) == 0
    assert main(["encrypt", "narrow.cwk", "narrow.keys", "other.npy", "-o", "n.ct"]) == 0
    assert (
        main(["run", "narrow.cwk", "--keys", "narrow.keys", "--input", "n.ct", "-o", "o.ct"]) == 0
    )
    capsys.readouterr()
    main(["decrypt", "narrow.keys", "o.ct"])
    shown = capsys.readouterr().err
    assert "outside of the range" in shown or "far beyond" in shown
    assert ".py" not in shown
