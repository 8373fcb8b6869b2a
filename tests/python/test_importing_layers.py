"""Normalisations of groups, convolutions of three axes, and the client's choice of the largest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.compiler.description import Description
from cloakwork.compiler.importing import from_model
from cloakwork.errors import LoadError, ModelError
from cloakwork.strict import Member
from python.onnx_models import expected, model_of, node

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
DRAW = np.random.default_rng(0)


@pytest.mark.parametrize("attributes", [{}, {"largest": 0}, {"axis": 1}, {"axis": -2},
                                        {"sorted": 0}])  # fmt: skip
@pytest.mark.parametrize("k", [1, 2])
def test_the_client_picks_the_largest_elements(attributes: dict[str, Any], k: int) -> None:
    nodes = [node("MatMul", "x m", "a"), node("TopK", "a k", "y z", **attributes)]
    constants = {"m": DRAW.normal(size=(4, 3)), "k": np.array([k])}
    model = model_of(nodes, (2, 4), constants, outputs=["y", "z"])
    graph = from_model(model)
    assert [step.kind for step in graph.client_tail.steps] == ["top_values", "top_indices"]
    x = DRAW.normal(size=(5, 2, 4))
    found = graph.predict(x)
    for own, wanted in zip(found.values(), expected(model, x), strict=True):
        np.testing.assert_allclose(own, wanted)
    assert found["z"].dtype == np.int64


@pytest.mark.parametrize("largest", [0, 1])
def test_of_equal_elements_the_first_comes_first(largest: int) -> None:
    made = node("TopK", "x k", "v y", largest=largest)
    model = model_of([made], (6,), {"k": np.array([4])})
    x = np.array([[1.0, 2.0, 1.0, 2.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    found = from_model(model).predict(x)["y"]
    np.testing.assert_array_equal(found, expected(model, x)[0])
    assert found[1].tolist() == [0, 1, 2, 3]


def test_the_largest_of_probabilities_are_picked_after_them() -> None:
    nodes = [node("Softmax", "x", "a", axis=-1), node("TopK", "a k", "b i"),
             node("Cast", "b", "y", to=1), node("Cast", "i", "j", to=7)]  # fmt: skip
    model = model_of(nodes, (5,), {"k": np.array([3])}, outputs=["y", "j"])
    graph = from_model(model)
    assert [type(each).__name__ for each in graph.nodes] == ["Input"]
    x = DRAW.normal(size=(4, 5))
    for own, wanted in zip(graph.predict(x).values(), expected(model, x), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-6)


def test_older_opsets_state_how_many_as_an_attribute() -> None:
    model = model_of([node("TopK", "x", "y z", k=2, axis=1)], (4,), opset=9, outputs=["z"])
    found = from_model(model).predict(np.array([[1.0, 3.0, 2.0, 0.0]]))["z"]
    assert found.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("TopK", "x seven", "y z")], "a k of 1 to 4, found \\[7\\]"),
        ([node("TopK", "x none", "y z")], "a k of 1 to 4, found \\[0\\]"),
        ([node("TopK", "x half", "y z")], "a k of 1 to 4, found \\[0.5\\]"),
        ([node("TopK", "x two", "y z")], "a k of 1 to 4, found \\[1, 2\\]"),
        ([node("TopK", "x one", "y z", axis=0)], "an axis of one input, found the batch axis 0"),
        ([node("TopK", "x one", "y z", axis=2)], "an axis of 2, found 2"),
        ([node("TopK", "x x", "y z")], "a constant as input number 1"),
        ([node("TopK", "x one", "a z"), node("Mul", "a a")], "end the model with it"),
        ([node("Transpose", "x", "t", perm=[1, 0]), node("TopK", "t one", "y z")],
         "the TopK': expected the batch axis in front"),
    ],
)  # fmt: skip
def test_elements_that_no_client_picks_are_refused(nodes: list[Any], words: str) -> None:
    constants = {"seven": np.array([7]), "none": np.array([0]), "half": np.array([0.5]),
                 "two": np.array([1, 2]), "one": np.array([1])}  # fmt: skip
    with pytest.raises(ModelError, match=words):
        from_model(model_of(nodes, (4,), constants))


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("top_values", {"k": 9}),
        ("top_values", {"k": 0}),
        ("top_values", {"k": -1}),
        ("top_indices", {"k": 2.5}),
        ("top_indices", {"k": "2"}),
        ("top_indices", {"k": [1]}),
        ("top_indices", {"k": 1 << 80}),
        ("top_indices", {"k": 1, "axis": 7}),
        ("top_indices", {"k": 1, "axis": 1 << 80}),
        ("top_indices", {"k": 1, "axis": None}),
        ("top_indices", {}),
        ("top_indices", {"k": 1, "of": 2}),
    ],
)
def test_stored_steps_with_wrong_numbers_are_refused(kind: str, parameters: Any) -> None:
    tail = ClientTail(("s",), (ClientStep("s", kind, ("x",), parameters),))
    stored = ClientTail.read(Member("x", json.loads(json.dumps(tail.to_json()))))
    with pytest.raises(ModelError, match=f"client step 's', {kind}"):
        stored.run({"x": np.ones((2, 3))})


@pytest.fixture(scope="module")
def picked() -> tuple[CompiledModel, Any, Any]:
    """A compiled model that ends with the two largest of three scores."""
    nodes = [node("MatMul", "x m", "a"), node("TopK", "a k", "y z")]
    constants = {"m": DRAW.normal(size=(4, 3)), "k": np.array([2])}
    model = model_of(nodes, (4,), constants, outputs=["y", "z"])
    sample = DRAW.normal(size=(30, 4))
    return fhe.compile(model, sample, **SMALL), model, sample


def test_the_client_picks_from_what_it_decrypts(picked: tuple[CompiledModel, Any, Any]) -> None:
    compiled, model, sample = picked
    client, server = compiled.split()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    values, indices = expected(model, sample[:1])
    np.testing.assert_allclose(found["y"], values, atol=0.05)
    np.testing.assert_array_equal(found["z"], indices)


def test_a_description_of_unknown_steps_is_refused(picked: tuple[CompiledModel, Any, Any]) -> None:
    own = picked[0].description
    assert Description.read(Member("note", json.loads(own.to_json()))).tail == own.tail
    step = replace(own.tail.steps[0], kind="top_secret")
    note = json.loads(replace(own, tail=replace(own.tail, steps=(step,))).to_json())
    with pytest.raises(LoadError, match=r"steps that the client can compute.*top_secret"):
        Description.read(Member("note", note))


@pytest.mark.parametrize(
    ("kind", "count"), [("GroupNormalization", 2), ("InstanceNormalization", 4)]
)
def test_an_encrypted_normalisation_gives_what_the_model_gives(kind: str, count: int) -> None:
    attributes = {"num_groups": 2} if count == 2 else {}
    nodes = [node(kind, "x c d", "a", epsilon=0.5, **attributes), node("Flatten", "a", "b"),
             node("MatMul", "b m", "y")]  # fmt: skip
    draw = np.random.default_rng(1)
    constants = {"c": draw.normal(size=count), "d": draw.normal(size=count),
                 "m": draw.normal(size=(16, 2))}  # fmt: skip
    model = model_of(nodes, (4, 2, 2), constants)
    sample = draw.uniform(-1, 1, size=(40, 4, 2, 2))
    client, server = fhe.compile(model, sample, precision=0.05, **SMALL).split()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    np.testing.assert_allclose(found, expected(model, sample[:1])[0], atol=0.2)


def test_an_encrypted_convolution_of_three_axes_gives_what_the_model_gives() -> None:
    nodes = [
        node("Conv", "x c", "a", pads=[1, 0, 0, 0, 0, 1]),
        node("Mul", "a a", "b"),
        node("AveragePool", "b", "d", kernel_shape=[1, 2, 2]),
        node("Flatten", "d"),
    ]
    draw = np.random.default_rng(2)
    model = model_of(nodes, (1, 3, 3, 3), {"c": draw.normal(size=(2, 1, 2, 2, 2))})
    assert all(each.source.geometry is None for each in from_model(model).nodes)
    sample = draw.uniform(-1, 1, size=(20, 1, 3, 3, 3))
    client, server = fhe.compile(model, sample, **SMALL).split()
    found = client.decrypt(server.run(client.encrypt(sample[0])))
    np.testing.assert_allclose(found, expected(model, sample[:1])[0], atol=0.05)
