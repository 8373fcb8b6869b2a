"""Estimators of scikit-learn that are converted by formulas of our own, encrypted and compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.importing import from_model
from cloakwork.errors import ModelError, OutsideError

pytest.importorskip("skl2onnx")
from sklearn import (
    cluster,
    compose,
    covariance,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    kernel_approximation,
    kernel_ridge,
    linear_model,
    mixture,
    model_selection,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    random_projection,
    semi_supervised,
    svm,
    tree,
)

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
Floats = Any
GENERATOR = np.random.default_rng(0)
CLASSES = GENERATOR.integers(0, 3, 150)
X = GENERATOR.normal(size=(150, 4)) + 1.5 * np.eye(3, 4)[CLASSES]
NAMED = np.array(["ash", "birch", "cedar"])[CLASSES]
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def chain(*steps: Any) -> Any:
    return pipeline.make_pipeline(preprocessing.StandardScaler(), *steps)


STUMP = tree.DecisionTreeClassifier(max_depth=1)
RBF, WHITE = gaussian_process.kernels.RBF, gaussian_process.kernels.WhiteKernel
ESTIMATORS: dict[str, tuple[Any, Any]] = {
    "gaussian bayes": (naive_bayes.GaussianNB(), CLASSES),
    "gaussian bayes, scaled, named": (chain(naive_bayes.GaussianNB()), NAMED),
    "multinomial bayes": (naive_bayes.MultinomialNB(), CLASSES),
    "complement bayes": (naive_bayes.ComplementNB(), CLASSES),
    "bernoulli bayes": (naive_bayes.BernoulliNB(binarize=0.5), CLASSES == 1),
    "quadratic discriminant": (discriminant_analysis.QuadraticDiscriminantAnalysis(), CLASSES),
    "mixture": (mixture.GaussianMixture(2, random_state=0), None),
    "mixture, tied": (mixture.GaussianMixture(2, covariance_type="tied", random_state=0), None),
    "mixture, diagonal": (mixture.GaussianMixture(3, covariance_type="diag", random_state=0), None),
    "mixture, spheres": (mixture.GaussianMixture(2, covariance_type="spherical", random_state=0),
                         None),
    "k-means": (cluster.KMeans(3, random_state=0, n_init=2), None),
    "k-means in batches": (chain(cluster.MiniBatchKMeans(3, random_state=0, n_init=2)), None),
    "nearest centroid": (neighbors.NearestCentroid(), NAMED),
    "envelope": (covariance.EllipticEnvelope(random_state=0), None),
    "one against rest": (multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), NAMED),
    "machines against rest": (multiclass.OneVsRestClassifier(svm.LinearSVC()), CLASSES),
    "one against one other": (multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
                              CLASSES == 2),
    "process": (gaussian_process.GaussianProcessRegressor(2.0 * RBF(1.5) + WHITE(0.1)), Y),
    "process of lengths": (chain(gaussian_process.GaussianProcessRegressor(
        RBF([1.0, 2.0, 3.0, 4.0]) + WHITE(0.1), normalize_y=True)), Y),
    "polynomials": (chain(preprocessing.PolynomialFeatures(2), linear_model.Ridge()), Y),
    "products": (chain(preprocessing.PolynomialFeatures(3, interaction_only=True,
                                                        include_bias=False),
                       linear_model.Ridge()), Y),
    "kernel components": (chain(decomposition.KernelPCA(2, kernel="rbf", gamma=0.1)), None),
    "nystroem": (chain(kernel_approximation.Nystroem(n_components=8, random_state=0),
                       linear_model.Ridge()), Y),
    "isolation": (ensemble.IsolationForest(n_estimators=4, max_samples=16, max_features=2,
                                           random_state=0), None),
    "voting stumps": (ensemble.AdaBoostClassifier(STUMP, n_estimators=4, random_state=0),
                      CLASSES == 1),
    "voting trees": (ensemble.AdaBoostClassifier(tree.DecisionTreeClassifier(max_depth=2),
                                                 n_estimators=3, random_state=0), NAMED),
    "a bag of trees": (ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=2), 4,
                                                  max_features=2, random_state=0), CLASSES),
    "a bag of two classes": (chain(ensemble.BaggingClassifier(STUMP, 4, random_state=0)),
                             CLASSES == 1),
    "a bag of regressors": (ensemble.BaggingRegressor(tree.DecisionTreeRegressor(max_depth=2), 4,
                                                      random_state=0), Y),
    "a bag of linear models": (ensemble.BaggingClassifier(
        linear_model.LogisticRegression(), 3, max_features=2, random_state=0), CLASSES),
    "a bag of ridges": (ensemble.BaggingRegressor(linear_model.Ridge(), 3, max_features=3,
                                                  random_state=0), Y),
    "a vote": (ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB()),
         ("c", chain(linear_model.LogisticRegression()))], voting="soft", weights=[1, 2, 0.5]),
        NAMED),
    "a vote of two": (ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", naive_bayes.BernoulliNB())],
        voting="soft"), CLASSES == 1),
    "pairs": (multiclass.OneVsOneClassifier(svm.LinearSVC()), NAMED),
    "logistic pairs": (chain(multiclass.OneVsOneClassifier(linear_model.LogisticRegression())),
                       CLASSES),
    "one pair": (multiclass.OneVsOneClassifier(svm.LinearSVC()), CLASSES == 1),
    "exponential target": (compose.TransformedTargetRegressor(
        linear_model.Ridge(), func=np.log1p, inverse_func=np.expm1), Y**2),
    "scaled target": (compose.TransformedTargetRegressor(
        linear_model.Ridge(), transformer=preprocessing.StandardScaler()), Y),
    "two targets": (neural_network.MLPRegressor(hidden_layer_sizes=(5,), activation="tanh",
                                                max_iter=300, random_state=0),
                    np.stack([Y, X[:, 0]], axis=1)),
    "independent components": (decomposition.FastICA(2, random_state=0), None),
    "factors": (decomposition.FactorAnalysis(2), None),
    "sparse components": (chain(decomposition.SparsePCA(2, random_state=0),
                                linear_model.Ridge()), Y),
    "common vectors": (cross_decomposition.PLSSVD(1), np.stack([Y, X[:, 0]], axis=1)),
    "common components": (cross_decomposition.CCA(1), np.stack([Y, X[:, 0]], axis=1)),
    "waves": (chain(kernel_approximation.RBFSampler(n_components=6, random_state=0),
                    linear_model.Ridge()), Y),
    "hidden units": (neural_network.BernoulliRBM(3, random_state=0, n_iter=3), None),
    "projections": (random_projection.SparseRandomProjection(2, random_state=0), None),
    "bayes mixture": (mixture.BayesianGaussianMixture(n_components=2, random_state=0), None),
    "shifts": (cluster.MeanShift(), None),
    "subclusters": (cluster.Birch(n_clusters=3), None),
    "codes": (multiclass.OutputCodeClassifier(svm.LinearSVC(), random_state=0), NAMED),
    "kernel ridge": (kernel_ridge.KernelRidge(kernel="rbf", gamma=0.1), Y),
    "kernel ridge, linear": (kernel_ridge.KernelRidge(), np.stack([Y, X[:, 0]], axis=1)),
    "some features": (feature_selection.RFE(linear_model.LogisticRegression(),
                                            n_features_to_select=2), CLASSES),
    "chosen features": (chain(feature_selection.SequentialFeatureSelector(
        linear_model.Ridge(), n_features_to_select=2), linear_model.Ridge()), Y),
    "self-trained": (semi_supervised.SelfTrainingClassifier(linear_model.LogisticRegression()),
                     np.where(np.arange(150) % 5, CLASSES, -1)),
    "a search": (model_selection.RandomizedSearchCV(
        linear_model.Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2), Y),
    "histograms": (ensemble.HistGradientBoostingRegressor(max_iter=3, max_depth=2), Y),
    "histograms of counts": (ensemble.HistGradientBoostingRegressor(max_iter=3, max_depth=2,
                                                                    loss="poisson"), Y**2),
    "histograms of two": (ensemble.HistGradientBoostingClassifier(max_iter=3, max_depth=2),
                          CLASSES == 1),
    "histograms of three": (ensemble.HistGradientBoostingClassifier(max_iter=2, max_depth=2),
                            NAMED),
}  # fmt: skip
METHODS = ("predict_proba", "decision_function", "transform", "predict")


def fitted(name: str) -> tuple[Any, Floats]:
    estimator, target = ESTIMATORS[name]
    x = np.abs(X) if "nomial bayes" in name or "complement" in name else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(x, target), x


def as_dict(values: Any) -> dict[str, Floats]:
    return values if isinstance(values, dict) else {"": values}


def like(found: Floats, row: Floats, estimator: Any) -> bool:
    """Whether a result is what one of the estimator's methods gives, labels exactly."""
    for method in METHODS:
        if not hasattr(estimator, method):
            continue
        # Of one row SparsePCA makes a vector.
        expected = np.asarray(getattr(estimator, method)(np.stack([row, row])))[:1]
        if np.size(expected) != np.size(found):
            continue
        if expected.dtype.kind in "OU" or np.asarray(found).dtype.kind in "OU":
            if (np.ravel(found).astype(str) == np.ravel(expected).astype(str)).all():
                return True
        elif np.abs(np.ravel(found) - np.ravel(expected)).max() < 0.02 * max(
            1.0, float(np.abs(expected).max())
        ):
            return True
    return False


@pytest.mark.parametrize("name", ESTIMATORS)
def test_encrypted_results_are_those_of_the_estimator(name: str) -> None:
    estimator, x = fitted(name)
    model = fhe.compile(estimator, x, precision=0.01, **SMALL)
    client, server = model.split()
    told = 0
    for row in x[:6]:
        try:
            found = client.decrypt(server.run(client.encrypt(row)))
        except OutsideError:
            told += 1
            continue
        for result in as_dict(found).values():
            assert like(result, row, estimator)
    # Some rows are near thresholds of trees.
    assert told < 4


def test_variants_without_a_formula_are_refused_by_name() -> None:
    x = X[:, :2]
    others = {
        "Nystroem": chain(
            kernel_approximation.Nystroem(n_components=4, kernel="cosine"), linear_model.Ridge()
        ).fit(x, Y),
        "AdaBoostClassifier": ensemble.AdaBoostClassifier(svm.SVC(), n_estimators=2).fit(
            x, CLASSES
        ),
        "NearestCentroid": neighbors.NearestCentroid(metric="manhattan").fit(x, CLASSES),
    }
    for model in others.values():
        with pytest.raises(ModelError):
            from_model(model, x)


def test_what_no_converter_knows_is_named() -> None:
    class Odd(preprocessing.StandardScaler):  # type: ignore[misc]
        """A class of one's own."""

    for made in (Odd(), pipeline.make_pipeline(Odd(), linear_model.Ridge())):
        with pytest.raises(ModelError, match=r"found Odd without: docs/coverage\.md lists"):
            from_model(made.fit(X, Y), X)
    several = gaussian_process.GaussianProcessClassifier().fit(X, CLASSES)
    with pytest.raises(ModelError, match="skl2onnx cannot convert it: Only binary"):
        from_model(several, X)


def test_what_is_not_fitted_or_does_nothing_is_refused() -> None:
    for unfitted in (naive_bayes.GaussianNB(), ensemble.IsolationForest()):
        with pytest.raises(ModelError, match="fitted"):
            from_model(unfitted, X)
    with pytest.raises(ModelError, match="computes something"):
        from_model(pipeline.make_pipeline("passthrough").fit(X), X)


def test_clusters_within_a_pipeline_are_distances() -> None:
    for last, target in ((linear_model.Ridge(), Y), (naive_bayes.GaussianNB(), CLASSES)):
        own = pipeline.make_pipeline(cluster.KMeans(3, random_state=0, n_init=1), last)
        with pytest.raises(ModelError):
            from_model(own.fit(X, target), X)


def test_classes_may_be_whole_floats() -> None:
    own = naive_bayes.GaussianNB().fit(X, CLASSES.astype(np.float64))
    assert (from_model(own, X).predict(X)["label"] == own.predict(X)).all()
    own = naive_bayes.GaussianNB().fit(X, np.array(["0.5", "1.5", "2"])[CLASSES])
    assert (from_model(own, X).predict(X)["label"] == own.predict(X)).all()


def test_options_that_change_the_formula_are_never_ignored() -> None:
    categories = np.concatenate([X, CLASSES[:, np.newaxis]], axis=1)
    boosted = ensemble.HistGradientBoostingRegressor(max_iter=2, categorical_features=[4])
    if hasattr(neighbors.NearestCentroid(), "priors"):
        with pytest.raises(ModelError):
            from_model(neighbors.NearestCentroid(priors=[0.8, 0.1, 0.1]).fit(X, CLASSES), X)
    with pytest.raises(ModelError):
        from_model(boosted.fit(categories, Y), categories)


@pytest.mark.parametrize("binarize", [0.0, 0.7])
def test_features_at_the_threshold_of_bernoulli_bayes(binarize: float) -> None:
    """The client compares plain features exactly; the server's steps are refused next to it."""
    own = naive_bayes.BernoulliNB(binarize=binarize).fit(X, CLASSES)
    client, server = fhe.compile(own, X, **SMALL).split()
    for near in (0.0, 1e-12, -1e-12):
        row = X[0].copy()
        row[1] = binarize + near
        found = client.decrypt(server.run(client.encrypt(row)))["probabilities"]
        assert np.abs(found - own.predict_proba(row[None])).max() < 0.01
    reduced = pipeline.make_pipeline(decomposition.PCA(4), naive_bayes.BernoulliNB(binarize=0.1))
    reduced.fit(X, CLASSES)
    client, server = fhe.compile(reduced, X, **SMALL).split()
    (row,) = reduced[0].inverse_transform([[0.1, 1.0, -1.0, 1.0]])
    with pytest.raises(OutsideError, match="near to thresholds"):
        client.decrypt(server.run(client.encrypt(row)))


def test_classifiers_of_several_targets() -> None:
    several = np.stack([CLASSES == 0, CLASSES == 2], axis=1).astype(int)
    made = multioutput.MultiOutputClassifier(linear_model.LogisticRegression()).fit(X, several)
    client, server = fhe.compile(made, X, **SMALL).split()
    for row in X[:4]:
        found = client.decrypt(server.run(client.encrypt(row)))
        labels = [int(found[f"label {number}"][0]) for number in (0, 1)]
        assert labels == made.predict(row[None])[0].tolist()
        for number, shares in enumerate(made.predict_proba(row[None])):
            assert np.abs(found[f"probabilities {number}"] - shares).max() < 0.01


def test_a_search_for_several_targets_has_all_results() -> None:
    several = np.stack([CLASSES == 0, CLASSES == 2], axis=1).astype(int)
    searched = model_selection.RandomizedSearchCV(
        multioutput.MultiOutputClassifier(linear_model.LogisticRegression()),
        {"estimator__C": [0.1, 1.0]}, n_iter=2,
    )  # fmt: skip
    assert len(from_model(searched.fit(X, several), X).results) == 4


def test_neighbours_are_refused_by_name() -> None:
    for made in (neighbors.KNeighborsClassifier(3), chain(neighbors.KNeighborsRegressor(3))):
        with pytest.raises(ModelError, match=r"KNeighbors.*hand out its training data.*forest"):
            from_model(made.fit(X, CLASSES), X)


def test_what_others_make_is_refused_where_it_cannot_be_joined() -> None:
    hard = ensemble.VotingClassifier([("a", svm.SVC())], voting="hard")
    trees = tree.DecisionTreeRegressor(max_depth=1)
    for made, target in (
        (multiclass.OneVsOneClassifier(tree.DecisionTreeClassifier(max_depth=1)), CLASSES),
        (compose.TransformedTargetRegressor(trees, func=np.cbrt, inverse_func=lambda x: x**3), Y),
        (hard, CLASSES),
    ):
        with pytest.raises(ModelError):
            from_model(made.fit(X, target), X)


def test_degrees_of_features_up_to_eight() -> None:
    x = X[:, :2] / 3
    # Beyond 8 by skl2onnx's own nodes.
    for degree in (4, 5, 8, 9):
        made = pipeline.make_pipeline(
            preprocessing.PolynomialFeatures(degree), linear_model.LinearRegression()
        ).fit(x, Y)
        graph = from_model(made, x)
        found = next(iter(graph.run(x).values())).ravel()
        assert np.allclose(found, made.predict(x), rtol=1e-4, atol=1e-4)
        depth = sum("Product" in type(node).__name__ for node in graph.nodes)
        assert depth >= int(np.log2(degree))
