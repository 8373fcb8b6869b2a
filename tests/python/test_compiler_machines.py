"""Support vector machines: against scikit-learn and ONNX's reference, in plain and encrypted."""

from typing import Any

import numpy as np
import onnx
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError
from onnx.reference import ReferenceEvaluator
from python.onnx_models import model_of, node
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

KERNELS = ("linear", "poly", "rbf", "sigmoid")
ML = "ai.onnx.ml"
# Of scikit-learn, for `probability=True` and what skl2onnx reads of it.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def data(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The flowers of so many kinds."""
    features, labels = (array[::2] for array in load_iris(return_X_y=True))
    kept = labels < classes
    return features[kept].astype(np.float32), labels[kept]


def written(model: Any) -> onnx.ModelProto:
    """The model as ONNX, without what makes scores of one class against the rest."""
    from skl2onnx import to_onnx

    target = {"": 18, ML: 3}
    return to_onnx(model, data(2)[0][:1], target_opset=target)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_machine_gives_what_the_reference_gives(kernel: str, classes: int) -> None:
    x, labels = data(classes)
    machine = SVC(kernel=kernel, coef0=0.5, decision_function_shape="ovo").fit(x, labels)
    model = written(machine)
    del model.graph.node[1:]
    for output, name in zip(model.graph.output, model.graph.node[0].output, strict=True):
        output.name = name
    label, scores = from_model(model).predict(x).values()
    wanted = ReferenceEvaluator(model).run(None, {"X": x})
    np.testing.assert_array_equal(label, wanted[0])
    np.testing.assert_allclose(scores, wanted[1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_several_classes_are_told_as_scikit_learn_does(kernel: str, shape: str) -> None:
    x, labels = data(3)
    texts = np.array(["setosa", "versicolor", "virginica"])[labels]
    last = SVC(kernel=kernel, decision_function_shape=shape)
    model = make_pipeline(StandardScaler(), last).fit(x, texts)
    label, scores = from_model(model).predict(x).values()
    np.testing.assert_array_equal(label, model.predict(x))
    np.testing.assert_allclose(scores, model.decision_function(x), rtol=1e-4, atol=1e-4)
    assert last.decision_function_shape == shape


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_scikit_learn(classes: int) -> None:
    x, labels = data(classes)
    model = SVC(probability=True, random_state=0).fit(x, labels)
    label, shares = from_model(model).predict(x).values()
    np.testing.assert_array_equal(label, model.predict(x))
    # LIBSVM stops its iteration at errors of 0.005 over the number of classes.
    np.testing.assert_allclose(shares, model.predict_proba(x), atol=0.005)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


_LINEAR = LinearSVR(loss="squared_epsilon_insensitive", dual=False)


@pytest.mark.parametrize(
    "model", [SVR(), NuSVR(kernel="poly"), _LINEAR, NuSVC(nu=0.1), LinearSVC()]
)
def test_other_machines_predict_as_scikit_learn_does(model: Any) -> None:
    x, labels = data(3)
    model.fit(x, labels if hasattr(model, "decision_function") else labels + x[:, 0])
    found = next(iter(from_model(model).predict(x).values())).ravel()
    np.testing.assert_allclose(found, model.predict(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_encrypted_flowers_get_the_same_labels(kernel: str) -> None:
    x, labels = data(3)
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel)).fit(x, labels)
    made = fhe.compile(model, x, optimize="throughput", degree=2**12, insecure=True)
    client, server = made.split()
    found = client.decrypt(server.run(client.encrypt(x)), len(x))
    plain, stated = made.plain(x), made.report.error
    # Scores of pairs: a label is certain where none of them is close to 0.
    certain = np.abs(pairs_of(model, x)).min(axis=1) > stated + made.report.approximation_error
    assert certain.mean() > 0.8
    name = next(iter(plain))
    np.testing.assert_array_equal(found[name][certain], model.predict(x)[certain])


def pairs_of(model: Any, x: np.ndarray) -> np.ndarray:
    """The scores of all pairs of classes."""
    model[-1].decision_function_shape = "ovo"
    return np.asarray(model.decision_function(x))


GOOD: dict[str, Any] = {
    "kernel_type": "RBF", "kernel_params": [0.5, 0.0, 3.0], "support_vectors": [1.0, 2, 3, 4],
    "coefficients": [1.0, -1.0], "rho": [0.25], "vectors_per_class": [1, 1],
    "classlabels_ints": [4, 7],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kernel_type": "CHI2"}, "kernel_type of"),
        ({"kernel_params": [0.5]}, "three kernel_params"),
        ({"kernel_type": "POLY", "kernel_params": [1.0, 0.0, 2.5]}, "degree 1 to 64"),
        ({"kernel_type": "POLY", "kernel_params": [1.0, 0.0, 1e9]}, "degree 1 to 64"),
        ({"kernel_params": [np.nan, 0.0, 3.0]}, "finite kernel_params"),
        ({"support_vectors": [1.0, 2, 3]}, "support vectors for 2 coefficients"),
        ({"support_vectors": [1.0, 2]}, "support vectors of 2 features"),
        ({"coefficients": [1.0, 2, 3]}, "1 x 2 coefficients"),
        ({"rho": [0.0, 1.0]}, "1 rho"),
        ({"vectors_per_class": [2]}, "LinearClassifier"),
        ({"vectors_per_class": [-1, 3]}, "support vectors of 2 classes"),
        ({"classlabels_ints": [1]}, "at least 2"),
        ({"post_transform": "PROBIT"}, "post_transform"),
        ({"prob_a": [1.0, 2.0], "prob_b": [0.0]}, "prob_a and prob_b"),
    ],
)
def test_nodes_that_contradict_themselves_are_refused(changes: Any, words: str) -> None:
    def machine(**attributes: Any) -> Any:
        made = node("SVMClassifier", "x", "label scores", domain=ML, **attributes)
        return from_model(model_of([made], (2,), outputs=["label", "scores"]))

    assert list(machine(**GOOD).predict(np.ones((3, 2)))) == ["label", "scores"]
    with pytest.raises(ModelError, match=words):
        machine(**{**GOOD, **changes})


def test_a_machine_for_outliers_is_refused_where_its_result_is_a_sign() -> None:
    own = {name: GOOD[name] for name in ("kernel_type", "kernel_params", "coefficients", "rho")}
    made = node("SVMRegressor", "x", "y", domain=ML, n_supports=2, one_class=1,
                support_vectors=GOOD["support_vectors"], **own)  # fmt: skip
    with pytest.raises(ModelError, match="compare it with 0 after decryption"):
        from_model(model_of([made], (2,)))


def test_an_estimator_for_outliers_gives_its_scores_and_signs() -> None:
    x, _ = data(3)
    model = OneClassSVM(nu=0.2).fit(x)
    label, scores = from_model(model).predict(x).values()
    np.testing.assert_allclose(scores.ravel(), model.decision_function(x), rtol=1e-4, atol=1e-4)
    assert (label.ravel() == model.predict(x)).mean() > 0.95
