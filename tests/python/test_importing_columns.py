"""Tables with names: columns in another order are refused, or found by their names."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.client_columns import ColumnNames, names_of
from cloakwork.compiler.client_head import ClientHead
from cloakwork.compiler.importing import from_model
from cloakwork.errors import LoadError, ModelError
from cloakwork.strict import Member

pytest.importorskip("skl2onnx")
from sklearn import compose, linear_model, model_selection, pipeline, preprocessing, tree

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
NAMES = ["age", "dose", "height"]
DRAW = np.random.default_rng(6)
X = DRAW.normal(size=(90, 3)) * [10.0, 1.0, 100.0]
Y = X @ [0.3, 4.0, -0.01] + 1.0


class Table:
    """What a DataFrame is here: columns with names, an array, and a selection of columns."""

    def __init__(self, values: Any, columns: Any) -> None:
        self.values, self.columns = np.asarray(values), list(columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values.astype(self.values.dtype if dtype is None else dtype)

    def __getitem__(self, names: list[str]) -> Table:
        return Table(self.values[:, [self.columns.index(name) for name in names]], names)


def named(estimator: Any) -> Any:
    """Fitted as to a table of these names, which scikit-learn takes of DataFrames alone."""
    own = estimator.fit(X, Y)
    first = own.steps[0][1] if hasattr(own, "steps") else own
    first.feature_names_in_ = np.array(NAMES, dtype=object)
    return own


def strict() -> Any:
    return named(pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge()))


def by_name() -> Any:
    parts = [("s", preprocessing.StandardScaler(), [0, 2]), ("p", "passthrough", [1])]
    return named(pipeline.make_pipeline(compose.ColumnTransformer(parts), linear_model.Ridge()))


WRONG: list[tuple[list[int], list[str], str]] = [
    ([1, 0, 2], ["dose", "age", "height"], "in this order, found another order"),
    ([0, 1, 2], ["age", "dose", "person 7"], "found no 'height'; give the columns"),
    ([0, 1], ["age", "dose"], "found no 'height'"),
    ([0, 1, 2, 0], [*NAMES, "person 7"], "in this order, found 1 besides"),
    ([0, 1, 2, 0], [*NAMES, "age"], "found one of them twice"),
]


@pytest.mark.parametrize(("places", "columns", "words"), WRONG)
def test_other_columns_than_those_of_the_fit_are_refused(
    places: list[int], columns: list[str], words: str
) -> None:
    other = Table(X[:, places], columns)
    with pytest.raises(ModelError, match=f"Pipeline: sample: expected the columns 'age'.*{words}"):
        from_model(strict(), other)
    graph = from_model(strict(), Table(X, NAMES))
    for given in (other, {"X": other}):
        with pytest.raises(ModelError, match=f"input 'X': expected the columns .*{words}") as error:
            graph.predict(given)
        assert "person" not in str(error.value)


def test_tables_in_order_and_arrays_give_what_the_estimator_gives() -> None:
    own = strict()
    graph = from_model(own, X)
    for given in (X, X.tolist(), Table(X, NAMES), Table(X, [0, 1, 2])):
        np.testing.assert_allclose(
            np.ravel(graph.predict(given)["variable"]), own.predict(X), rtol=1e-5, atol=1e-5
        )
    with pytest.raises(ModelError, match="names of columns that are all texts"):
        graph.predict(Table(X, ["age", 1, "height"]))


def test_columns_are_found_by_name_where_a_column_transformer_reads_them() -> None:
    own, graph = by_name(), from_model(by_name(), Table(X, NAMES))
    other = Table(np.stack([X[:, 2], Y, X[:, 0], X[:, 1]], 1), ["height", "cost", "age", "dose"])
    for model in (graph, from_model(own, other)):
        found = np.ravel(model.predict(other)["variable"])
        np.testing.assert_allclose(found, own.predict(X), rtol=1e-6)
    with pytest.raises(ModelError, match="found no 'dose'"):
        graph.predict(other[["height", "age"]])


def test_a_client_of_a_file_refuses_and_finds_columns(tmp_path: Path) -> None:
    for number, own in enumerate((strict(), by_name())):
        path = tmp_path / f"{number}.cwk"
        made = fhe.compile(own, Table(X, NAMES), **SMALL)
        assert made.report.client == ""
        made.save(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client, server = fhe.load_model(path, insecure=True).split()
        with client.keygen():
            for order in ([0, 1, 2], [1, 2, 0]):
                row = Table(X[4:5], NAMES)[[NAMES[place] for place in order]]
                if number == 0 and order[0]:
                    with pytest.raises(ModelError, match="found another order"):
                        client.encrypt(row)
                    continue
                found = client.decrypt(server.run(client.encrypt(row)))
                assert abs(found - own.predict(X[4:5])).max() < 0.01 * np.abs(Y).max()


@pytest.mark.parametrize("change", [
    lambda columns: columns.update(Z=columns["X"]),
    lambda columns: columns["X"]["names"].pop(),
    lambda columns: columns["X"].update(names=["age", "age", "dose"]),
    lambda columns: columns["X"].update(by_name=1),
    lambda columns: columns["X"].update(more=1),
])  # fmt: skip
def test_names_of_a_file_are_checked(change: Any) -> None:
    head = from_model(strict(), X).client_head
    assert head is not None
    note = json.loads(json.dumps(head.to_json()))
    assert ClientHead.read(Member("head", note), {"X"}) == head
    change(note["columns"])
    with pytest.raises(LoadError):
        ClientHead.read(Member("head", note), {"X"})


def test_boosters_have_the_names_of_their_own() -> None:
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    quiet = {"verbosity": -1, "num_leaves": 4}
    spaced = ["the age", "the dose", "height"]
    ours = [
        xgboost.train({"max_depth": 2}, xgboost.DMatrix(X + 0.01, Y, feature_names=NAMES), 3),
        lightgbm.train(quiet, lightgbm.Dataset(X, Y, feature_name=NAMES), 3),
        lightgbm.train(quiet, lightgbm.Dataset(X, Y, feature_name=spaced), 3),
    ]
    for booster, names in zip(ours, (NAMES, NAMES, spaced), strict=True):
        graph = from_model(booster, Table(X, names))
        assert graph.predict(Table(X, names))
        with pytest.raises(ModelError, match="found another order"):
            graph.predict(Table(X, names)[names[::-1]])
    plain = lightgbm.train(quiet, lightgbm.Dataset(X, Y), 3)
    assert from_model(plain, X).client_head == from_model(plain, Table(X, NAMES)).client_head


def test_columns_of_lists_and_of_rows_without_names_are_none() -> None:
    assert names_of([[1.0, 2.0]]) is None
    assert names_of((1.0, 2.0)) is None
    assert names_of(X) is None
    assert ColumnNames(("a", "b")).in_order([1.0, 2.0], "x") == [1.0, 2.0]


def test_frames_are_taken_as_scikit_learn_takes_them() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    search = model_selection.GridSearchCV(
        pipeline.make_pipeline(
            compose.ColumnTransformer(
                [("s", preprocessing.StandardScaler(), ["age", "height"])], remainder="passthrough"
            ),
            linear_model.Ridge(),
        ),
        {"ridge__alpha": [0.1, 1.0]},
    )
    for estimator in (linear_model.Ridge(), tree.DecisionTreeRegressor(max_depth=2), search):
        own = estimator.fit(frame, Y)
        graph = from_model(own, frame)
        tables = [
            frame, frame[NAMES[::-1]], frame[NAMES[:2]], frame.assign(more=1.0), frame.iloc[3:4],
        ]  # fmt: skip
        for table in tables:
            try:
                wanted = own.predict(table)
            except ValueError:
                with pytest.raises(ModelError, match="expected the columns"):
                    graph.predict(table)
                continue
            found = np.ravel(graph.predict(table)["variable"])
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        np.testing.assert_allclose(
            np.ravel(graph.predict(frame.iloc[3])["variable"]), own.predict(frame[3:4]), rtol=1e-5
        )
        if estimator is not search:
            with pytest.raises(ModelError, match="found another order"):
                graph.predict(frame.iloc[3][NAMES[::-1]])


@pytest.mark.parametrize("named", [True, False])
def test_bounds_of_named_columns_are_those_of_the_input(named: bool) -> None:
    low, high = X.min(axis=0) - 1, X.max(axis=0) + 1
    bounds: Any = {"X": (low, high)} if named else (low, high)
    made = fhe.compile(strict(), Table(X, NAMES), bounds=bounds, **SMALL)
    client, _ = made.split()
    with client.keygen(), pytest.raises(ModelError, match="'X'"):
        client.encrypt(Table(high[np.newaxis] + 1, NAMES))
