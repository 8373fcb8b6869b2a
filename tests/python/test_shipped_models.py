"""The data and networks in the package: shapes, licences, and the accuracies that are stated."""

from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import pytest
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError
from cloakwork.models import (
    NETWORKS,
    load_cancer,
    load_digits,
    load_fashion,
    load_reviews,
    network_path,
)
from cloakwork.models.sentiment import words_of
from cloakwork.models.stored import pack, unpack
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _logits(name: str, given: Floats) -> Floats:
    """The network's results, computed by the reference of the ONNX standard."""
    model = onnx.load(str(network_path(name)))
    (value,) = model.graph.input
    evaluator = onnx.reference.ReferenceEvaluator(model)
    return evaluator.run(None, {value.name: given.astype(np.float32)})[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_names_its_training_data_and_licence(name: str) -> None:
    model = onnx.load(str(network_path(name)))
    onnx.checker.check_model(model, full_check=True)
    texts = {entry.key: entry.value for entry in model.metadata_props}
    assert len(texts["training_data"]) > 50
    assert texts["training_data_licence"].startswith(("CC BY 4.0", "MIT, Copyright"))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_imported_as_onnx_defines_it(name: str) -> None:
    graph = from_model(network_path(name))
    (given,) = graph.inputs
    images = np.random.default_rng(5).random((2, *given.shape))
    (found,) = graph.predict(images).values()
    np.testing.assert_allclose(found, _logits(name, images), atol=1e-4)


def test_a_network_that_does_not_come_with_the_package_is_refused() -> None:
    with pytest.raises(ModelError, match="network 'lenet': expected one of cancer, digits_cnn"):
        network_path("lenet")


@pytest.mark.parametrize(("name", "right"), [("digits_mlp", 876), ("digits_cnn", 884)])
def test_networks_for_digits_are_right_as_often_as_stated(name: str, right: int) -> None:
    digits = load_digits()
    images = digits.images[digits.test_index].reshape(-1, 1, 8, 8)
    found = _logits(name, images).argmax(axis=1)
    assert (found == digits.labels[digits.test_index]).sum() == right


@pytest.mark.parametrize(("name", "right"), [("fashion_mlp", 901), ("fashion_cnn", 897)])
def test_networks_for_fashion_are_right_as_often_as_stated(name: str, right: int) -> None:
    fashion = load_fashion()
    assert (_logits(name, fashion.planes).argmax(axis=1) == fashion.labels).sum() == right


def test_resnet_20_is_right_on_187_of_the_first_200_pictures_and_keeps_its_relus_in_range() -> None:
    fashion = load_fashion()
    pixels = fashion.framed[:200].astype(np.float32)
    model = onnx.load(str(network_path("resnet20")))
    relus = [node for node in model.graph.node if node.op_type == "Relu"]
    assert len(relus) == 19
    model.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(node.input[0]) for node in relus
    )
    logits, *given = onnx.reference.ReferenceEvaluator(model).run(None, {"pixels": pixels})
    assert (logits.argmax(axis=1) == fashion.labels[:200]).sum() == 187
    assert max(np.abs(values).max() for values in given) < 9.5


def test_resnet_20_has_as_many_weights_as_its_authors_say() -> None:
    stored = onnx.load(str(network_path("resnet20"))).graph.initializer
    weights = sum(np.prod(tensor.dims) for tensor in stored if tensor.data_type == 1)
    # 0.27 million; a scale and a shift of each normalisation became one bias.
    assert weights == 269_722 - 688


def test_the_network_for_cancer_gives_the_chances_of_the_table() -> None:
    cancer = load_cancer()
    chances = _logits("cancer", cancer.standardised)[:, 0]
    np.testing.assert_allclose(chances, 1 / (1 + np.exp(-cancer.scores())), atol=1e-6)
    assert ((chances > 0.5) == cancer.labels).sum() == 252


def test_the_network_for_reviews_is_right_as_often_as_stated() -> None:
    reviews = load_reviews()
    embedded = reviews.embed(reviews.sentences)
    logits = _logits("sentiment", embedded)[:, 0]
    assert len(logits) == 1000
    assert ((logits > 0) == reviews.labels).sum() == 832
    np.testing.assert_allclose(reviews.scores(embedded), logits, atol=1e-5)


def test_sentences_are_clearly_rated_and_their_licence_is_stated() -> None:
    reviews = load_reviews()
    assert np.abs(reviews.ratings).min() >= 1
    assert len(reviews.words) == len(reviews.vectors) == len(set(reviews.words)) == 6000
    assert np.abs(reviews.vectors).max() <= 3
    assert reviews.licence.startswith("MIT")


def test_words_after_a_negation_differ_from_the_same_words_alone() -> None:
    assert words_of("I don't like it at all, but it WORKS!") == [
        "i", "don't", "not_like", "not_it", "not_at", "all", "but", "it", "works", "!",
    ]  # fmt: skip


def test_a_sentence_without_known_words_is_zeros_and_none_gives_no_rows() -> None:
    reviews = load_reviews()
    embedded = reviews.embed(["", "?? qwzx", "qwzx"])
    assert embedded.shape == (3, 32)
    np.testing.assert_array_equal(embedded[0], 0)
    np.testing.assert_array_equal(embedded[2], 0)
    assert embedded[1].any()
    assert reviews.embed([]).shape == (0, 32)


def test_framed_pictures_have_the_shape_of_cifar_10() -> None:
    fashion = load_fashion()
    assert fashion.framed.shape == (1000, 3, 32, 32)
    np.testing.assert_array_equal(fashion.framed[:, 2, 2:-2, 2:-2], fashion.images)
    assert fashion.framed[:, :, [0, 1, -2, -1]].max() == 0
    assert (fashion.images.min(), fashion.images.max()) == (0.0, 1.0)
    assert len(fashion.names) == len(set(fashion.labels)) == 10


def test_packed_arrays_keep_their_shapes_and_dtypes(tmp_path: Path) -> None:
    arrays = {"one": np.array(2.5), "table": np.arange(6, dtype=np.int8).reshape(2, 3).T}
    pack(tmp_path / "some.zip", arrays, {"source": "here"})
    found, texts = unpack(tmp_path / "some.zip")
    assert texts == {"source": "here"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].shape, found[name].dtype) == (array.shape, array.dtype)
