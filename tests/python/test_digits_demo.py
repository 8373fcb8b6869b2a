"""The digits model, plain and encrypted, and the demo from end to end."""

import subprocess
import sys
from pathlib import Path

import cloakwork as cw
import numpy as np
import onnx
import onnx.reference
import pytest
from cloakwork import fhe
from cloakwork.demo import digits as demo
from cloakwork.errors import ModelError
from cloakwork.models import SquareMlp, load_digits, load_digits_model
from cloakwork.models import digits as digits_module
from python.device_builds import example_or_host
from python.fhe_setup import ckks
from rich.console import Console

MODEL_PATH = Path(digits_module.__file__).parent / "digits.onnx"


def test_the_digits_come_with_split_source_and_licence() -> None:
    digits = load_digits()
    assert digits.images.shape == (1797, 64)
    assert (digits.images.min(), digits.images.max()) == (0.0, 1.0)
    both = np.concatenate((digits.train_index, digits.test_index))
    np.testing.assert_array_equal(np.sort(both), np.arange(1797))
    assert "UCI Machine Learning Repository" in digits.source
    assert "CC BY 4.0" in digits.licence


def test_the_plain_model_is_right_on_96_percent_of_the_test_half() -> None:
    digits, model = load_digits(), load_digits_model()
    images, labels = digits.images[digits.test_index], digits.labels[digits.test_index]
    assert (model.plain(images).argmax(axis=1) == labels).mean() >= 0.96
    hidden = images @ model.hidden_weight.T + model.hidden_bias
    assert np.abs(hidden).max() <= 8


def test_the_model_computes_what_onnx_says() -> None:
    images = load_digits().images[:50]
    reference = onnx.reference.ReferenceEvaluator(onnx.load(str(MODEL_PATH)))
    (expected,) = reference.run(None, {"pixels": images.astype(np.float32)})
    np.testing.assert_allclose(load_digits_model().plain(images), expected, atol=1e-4)


def _without_square(model: onnx.ModelProto) -> None:
    del model.graph.node[1]


def _product_of_others(model: onnx.ModelProto) -> None:
    model.graph.node[1].input[1] = "pixels"


def _untransposed(model: onnx.ModelProto) -> None:
    del model.graph.node[0].attribute[:]


def _without_bias(model: onnx.ModelProto) -> None:
    del model.graph.initializer[1]


def _short_bias(model: onnx.ModelProto) -> None:
    bias = onnx.numpy_helper.from_array(np.zeros(3, dtype=np.float32), "hidden.bias")
    model.graph.initializer[1].CopyFrom(bias)


def _narrow_output(model: onnx.ModelProto) -> None:
    weight = onnx.numpy_helper.from_array(np.zeros((10, 31), dtype=np.float32), "output.weight")
    model.graph.initializer[2].CopyFrom(weight)


def _wrong_shape(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[:] = [7, 9]


def _negative_shape(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[:] = [-32, -64]


def _text_weights(model: onnx.ModelProto) -> None:
    name = model.graph.initializer[0].name
    texts = onnx.helper.make_tensor(name, onnx.TensorProto.STRING, [1], [b"1"])
    model.graph.initializer[0].CopyFrom(texts)


def _missing_weights(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL


def _no_number(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[0]
    weights = onnx.numpy_helper.to_array(tensor).copy()
    weights[0, 0] = np.nan
    tensor.CopyFrom(onnx.numpy_helper.from_array(weights, tensor.name))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_without_square, "expected the nodes Gemm, Mul, Gemm"),
        (_product_of_others, "expected Mul to square the first Gemm"),
        (_untransposed, "transB"),
        (_without_bias, "expected a stored weight and bias"),
        (_short_bias, "do not fit"),
        (_narrow_output, "gives 32 values and the second takes 31"),
        (_wrong_shape, r"tensor '.*': expected numbers for the shape \[7, 9\]"),
        (_negative_shape, "expected lengths of 0 or more"),
        (_text_weights, "expected real numbers"),
        (_missing_weights, "found them in another"),
        (_no_number, "expected finite numbers"),
    ],
)
def test_other_graphs_are_refused(spoil: object, message: str, tmp_path: Path) -> None:
    model = onnx.load(str(MODEL_PATH))
    assert callable(spoil)
    spoil(model)
    path = tmp_path / "spoilt.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=message):
        SquareMlp.from_onnx(path)


@pytest.mark.parametrize("content", [None, b"no model", MODEL_PATH.read_bytes()[:5000]])
def test_unreadable_models_are_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.onnx"):
        SquareMlp.from_onnx(path)


def test_the_encrypted_model_agrees_with_the_plain_one_on_a_toy_ring() -> None:
    keys = ckks(64, 3)
    images = load_digits().images[:32]
    model = load_digits_model()
    logits = model.encrypted(keys.encrypt(images.T, batch=True, bound=(0.0, 1.0)))
    assert logits.level == keys.context.parameters.level - model.levels
    distance = np.abs(keys.decrypt(logits).real.T - model.plain(images)).max()
    assert distance < 1e-4
    assert distance < 2.0 ** -logits.precision_estimate()


def test_the_traced_model_computes_the_same_residues() -> None:
    keys = ckks(64, 3)
    model = load_digits_model()
    features = keys.encrypt(load_digits().images[:32].T, batch=True)
    eager = model.encrypted(features)
    program = cw.trace(model.encrypted, features)
    result = program.to_heal().run(verify=True)
    (traced,) = program.results(result.outputs)
    assert (traced.level, traced.scale) == (eager.level, eager.scale)
    assert not result.mismatches
    np.testing.assert_array_equal(np.asarray(traced.data), np.asarray(eager.data))


def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    console = Console(quiet=True)
    report = demo.run(tmp_path, console=console)
    assert report.passed
    assert report.images == 899
    assert report.agreement >= 0.995
    assert report.logit_error <= 1e-3
    assert report.accuracy_encrypted >= 0.96
    assert report.parameters.security == 128
    assert report.logit_error < 2.0**-report.precision_bits
    assert set(report.seconds) == set(demo.PHASES)
    transcript, device = cw.heal.load(report.transcript), example_or_host("cpp")
    assert not transcript.run(verify=True, device=device).mismatches


def test_a_report_that_breaks_a_promise_has_not_passed() -> None:
    report = demo.DigitsReport(demo.demo_context().parameters, Path("unused"))
    logits = np.eye(10)
    report.compare(logits, logits, np.arange(10))
    assert report.passed
    report.mismatches = 1
    assert not report.passed
    report.mismatches = 0
    report.compare(logits + 0.01, logits, np.arange(10))
    assert not report.passed
    report.compare(logits[::-1], logits, np.arange(10))
    assert report.agreement == 0.0
    assert not report.passed


def test_the_demo_is_held_to_128_bits() -> None:
    parameters = demo.demo_context().parameters
    assert parameters.security == 128
    whole = parameters.modulus_log2 + parameters.special_log2
    assert whole <= fhe.modulus_log2_limit(parameters.degree)


def test_the_demo_model_needs_no_onnx_and_is_the_one_in_the_onnx_file() -> None:
    without = "import sys; sys.modules['onnx'] = None; from cloakwork.models import *; "
    program = without + "print(load_digits_model().plain(load_digits().images[:3]).sum())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    stored, read = load_digits_model(), SquareMlp.from_onnx(MODEL_PATH)
    for name in ("hidden_weight", "hidden_bias", "output_weight", "output_bias"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(read, name))
    assert float(done.stdout) == stored.plain(load_digits().images[:3]).sum()
