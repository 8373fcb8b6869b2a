"""Columns of texts: the client turns them into places of categories, which it knows."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.compiler.client_head import ClientHead
from cloakwork.compiler.client_tail import ClientStep, ClientTail
from cloakwork.compiler.client_texts import TextColumn, merged
from cloakwork.compiler.importing import from_model
from cloakwork.errors import LoadError, ModelError
from cloakwork.strict import Member

pytest.importorskip("skl2onnx")
from sklearn import (
    calibration,
    compose,
    ensemble,
    impute,
    linear_model,
    model_selection,
    multiclass,
    multioutput,
    pipeline,
    preprocessing,
    tree,
)

SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}
DRAW = np.random.default_rng(5)
ROWS = 120
CITY = np.array(["Oslo", "Paris", "Rome", "Bern"], object)[DRAW.integers(0, 4, ROWS)]
SIZE = np.array(["s", "m", "l"], object)[DRAW.integers(0, 3, ROWS)]
AGE, INCOME = DRAW.normal(40, 10, ROWS), DRAW.normal(size=ROWS)
NAME = np.array([f"person {number}" for number in range(ROWS)], object)
TABLE = np.stack([CITY, SIZE, AGE.astype(object), INCOME.astype(object), NAME], axis=1)
HOLES = TABLE.copy()
HOLES[[3, 9], 0], HOLES[5, 2] = np.nan, np.nan
TEXTS = np.stack([CITY, SIZE], axis=1).astype(str)
Y = (CITY == "Oslo") + 2.0 * (SIZE == "l") + AGE / 10 + INCOME
MEAN = float(Y.mean())
TWO = Y > MEAN

Columns, OneHot = compose.ColumnTransformer, preprocessing.OneHotEncoder
Ordinal, Logistic, Ridge = (
    preprocessing.OrdinalEncoder,
    linear_model.LogisticRegression,
    linear_model.Ridge,
)
chain, scaled = pipeline.make_pipeline, preprocessing.StandardScaler
Search = model_selection.GridSearchCV


MODELS: dict[str, tuple[Any, Any, Any]] = {
    "columns": (chain(Columns([
        ("c", OneHot(handle_unknown="ignore"), [0]), ("o", Ordinal(categories=[["s", "m", "l"]]),
                                                      [1]), ("n", scaled(), [2, 3])]), Ridge()),
        TABLE, Y),
    "dropped": (chain(Columns([("c", OneHot(drop="first"), [0, 1]),
                               ("n", chain(impute.SimpleImputer(), scaled()), [2])]),
                      Logistic()), HOLES[10:], TWO[10:]),
    "filled": (chain(Columns([
        ("c", chain(impute.SimpleImputer(strategy="most_frequent"), OneHot()), [0, 1]),
        ("n", impute.SimpleImputer(), [2, 3])]), Logistic(max_iter=500)), HOLES, TWO),
    "filled beside numbers": (chain(impute.SimpleImputer(strategy="most_frequent"), Columns([
        ("n", scaled(), [3, 2]), ("c", OneHot(), [1, 0])]), Ridge()), HOLES[:, :4], Y),
    "filled beside empty columns": (chain(impute.SimpleImputer(strategy="most_frequent"), Columns([
        ("n", scaled(), [2]), ("c", OneHot(), [0, 1])]), Ridge()),
        np.concatenate([np.full((ROWS, 1), np.nan, object), HOLES[:, :3]], axis=1), Y),
    "missing is a category": (chain(Columns([("c", OneHot(), [0]),
                                             ("n", impute.SimpleImputer(), [2])]), Ridge()),
                              HOLES, Y),
    "targets": (chain(Columns([("c", preprocessing.TargetEncoder(random_state=0), [0, 1])]),
                      Ridge()), TABLE, Y),
    "two encoders": (chain(Columns([
        ("c", preprocessing.TargetEncoder(random_state=0), [0, 1]),
        ("d", OneHot(min_frequency=30, handle_unknown="infrequent_if_exist"), [0])]), Ridge()),
        TABLE, Y),
    "texts alone": (chain(OneHot(), Logistic()), TEXTS, TWO),
    "unread": (chain(Columns([("n", scaled(), [2, 3])]), Ridge()), TABLE, Y),
    "a vote": (ensemble.VotingClassifier([
        ("a", chain(Columns([("c", OneHot(), [0]), ("n", scaled(), [2])]), Logistic())),
        ("b", chain(Columns([("c", OneHot(), [1])]), Logistic()))], voting="soft"), TABLE, TWO),
    "a search": (Search(chain(Columns([("c", OneHot(), [0]), ("n", scaled(), [2])]), Ridge()),
                        {"ridge__alpha": [0.1, 1.0]}), TABLE, Y),
    "a random search": (Search(chain(Columns([("c", Ordinal(), [1])]), Search(Logistic(), {
        "C": [0.1, 1.0]})), {"gridsearchcv__cv": [2]}), TABLE, TWO),
    "against the rest": (multiclass.OneVsRestClassifier(
        chain(Columns([("c", OneHot(), [0]), ("n", scaled(), [2])]), Logistic())), TABLE, SIZE),
    "several targets": (multioutput.MultiOutputRegressor(
        chain(Columns([("c", OneHot(), [0]), ("n", scaled(), [2])]), Ridge())),
        TABLE, np.stack([Y, -2 * Y + AGE], axis=1)),
}  # fmt: skip


def fitted(name: str) -> tuple[Any, Any]:
    estimator, x, target = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(x, target), x


def expected(estimator: Any, rows: Any) -> Any:
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
    return np.asarray(getattr(estimator, method)(rows)).reshape(len(rows), -1)


def values_of(found: Any) -> Any:
    return found["probabilities"] if isinstance(found, dict) else found


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("name", MODELS)
def test_texts_give_what_the_estimator_gives(name: str) -> None:
    estimator, x = fitted(name)
    model = fhe.compile(estimator, x, **SMALL)
    found = from_model(estimator, x).predict(x)
    own = found.get("probabilities", found.get("variable"))
    assert own is not None
    np.testing.assert_allclose(own, expected(estimator, x), atol=1e-5 * np.abs(Y).max())
    client, server = model.split()
    with client.keygen():
        for place in (3, 20, 21):
            # As a row, and as a batch of one.
            given = x[place] if place == 20 else x[place : place + 1]
            got = values_of(client.decrypt(server.run(client.encrypt(given))))
            assert np.abs(got - expected(estimator, x[place : place + 1])).max() < 0.01


def test_unknown_texts_are_nothing_or_refused_without_being_told() -> None:
    lenient, x = fitted("columns")
    graph = from_model(lenient, x)
    row = x[4:5].copy()
    row[0, 0] = "Atlantis"
    np.testing.assert_allclose(
        np.ravel(graph.predict(row)["variable"]), lenient.predict(row), atol=1e-5
    )
    row[0, 1] = "xxl"
    words = r"input 'X', column 1: expected the categories 's', 'm', 'l', found another in row 0"
    with pytest.raises(ModelError, match=words) as refused:
        graph.predict(row)
    assert "xxl" not in str(refused.value)


@pytest.mark.parametrize(("change", "words"), [
    ((2, "forty"), "column 2: expected numbers, found others; texts need an encoder"),
    ((2, np.inf), "got NaN or infinity"),
    ((2, np.nan), "NaN"),
    ((1, np.nan), "column 1: expected the categories"),
    ((1, None), "column 1: expected the categories"),
    ((1, 7), "column 1: expected the categories"),
    ((1, b"s"), "column 1: expected texts, numbers, NaN or None, found other objects"),
    ((1, np.zeros(3)), "column 1: expected texts, numbers, NaN or None"),
    ((2, 10**400), "column 2: expected numbers, found others"),
])  # fmt: skip
def test_other_things_in_columns_are_refused(change: tuple[int, Any], words: str) -> None:
    estimator, x = fitted("columns")
    client, _ = fhe.compile(estimator, x, **SMALL).split()
    row = x[4].copy()
    row[change[0]] = change[1]
    with client.keygen(), pytest.raises(ModelError, match=words) as refused:
        client.encrypt(row)
    assert "forty" not in str(refused.value)


def encoding() -> Any:
    parts = [("c", OneHot(handle_unknown="ignore"), [0, 1]), ("n", scaled(), [2, 3])]
    return Columns(parts)


FILLED = impute.SimpleImputer(strategy="most_frequent")
UNSEEN: dict[str, tuple[Any, Any]] = {
    "calibrated": (calibration.CalibratedClassifierCV(chain(encoding(), Logistic()), cv=2), TWO),
    "a bag": (ensemble.BaggingRegressor(chain(encoding(), Ridge()), 2, random_state=0), Y),
    "filled in columns": (
        chain(Columns([("i", FILLED, [0, 1])]), OneHot(handle_unknown="ignore"), Ridge()), Y),
    "filled twice": (chain(Columns([("c", chain(FILLED, FILLED, OneHot(handle_unknown="ignore")),
                                     [0, 1])]), Ridge()), Y),
    "moved": (chain(Columns([("p", "passthrough", [1, 0])]),
                    Ordinal(handle_unknown="use_encoded_value", unknown_value=-1), Ridge()), Y),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_encoders_that_are_not_found_are_no_encoders_of_unknown_texts(name: str) -> None:
    """Else every text would be unknown to them, for the client and in the proof."""
    estimator, target = UNSEEN[name]
    with pytest.raises(ModelError, match="texts of column 0 that go to a OneHotEncoder"):
        from_model(estimator.fit(TABLE, target), TABLE)


WITHIN: dict[str, tuple[Any, Any]] = {
    "against the rest": (
        multiclass.OneVsRestClassifier(chain(encoding(), tree.DecisionTreeClassifier())), SIZE),
    "a search within": (
        ensemble.BaggingClassifier(Search(chain(encoding(), Logistic()), {"logisticregression__C":
                                          [1.0]}), 2, random_state=0), TWO),
    "boosted": (ensemble.AdaBoostRegressor(chain(encoding(), Ridge()), n_estimators=2), Y),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHIN)
def test_encoders_without_a_conversion_are_refused_without_their_texts(name: str) -> None:
    """The library that converts others would quote a category."""
    estimator, target = WITHIN[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = estimator.fit(TABLE, target)
        with pytest.raises(ModelError) as refused:
            from_model(own, TABLE)
    said = str(refused.value)
    assert not any(text in said for text in (*set(CITY), "person", "'s'", "'m'", "'l'", "skl2onnx"))
    assert "; " in said


@pytest.mark.parametrize("beside", [
    [("c", chain(impute.SimpleImputer(strategy="constant", fill_value="z"), OneHot()), [0])],
    [("c", OneHot(handle_unknown="ignore"), [0])],
    [],
])  # fmt: skip
def test_indicators_of_missing_texts_are_refused(beside: Any) -> None:
    parts = [("m", impute.MissingIndicator(features="all"), [0]), ("n", "passthrough", [3])]
    whole = chain(Columns([*parts, *beside]), Ridge()).fit(HOLES, Y)
    words = "no indicator of missing values in column 0" if beside else "texts of column 0 that go"
    with pytest.raises(ModelError, match=words):
        from_model(whole, HOLES)


def test_lists_keep_the_types_of_their_cells() -> None:
    estimator, x = fitted("missing is a category")
    graph, row = from_model(estimator, x), x[3]
    assert np.isnan(row[0])
    found = [
        np.ravel(graph.predict(one)["variable"]) for one in (row, row.tolist(), [row.tolist()])
    ]
    np.testing.assert_allclose(found, np.tile(estimator.predict(x[3:4]), (3, 1)), atol=1e-5)
    numbers, names = np.array([["7"], ["8"], ["8"]], object), np.array([1.0, 2.0, 3.0])
    lenient = chain(OneHot(handle_unknown="ignore"), Ridge()).fit(numbers, names)
    given = from_model(lenient, numbers).predict([[7]])["variable"]
    np.testing.assert_allclose(np.ravel(given), lenient.predict(np.array([[7]], object)), atol=1e-5)


def test_numbers_in_place_of_texts_are_refused() -> None:
    """Places of categories are no input: a user does not know them."""
    estimator, x = fitted("texts alone")
    graph = from_model(estimator, x)
    with pytest.raises(ModelError, match=r"expected texts in columns \[0, 1\], found numbers"):
        graph.predict(np.zeros((2, 2)))
    for wrong in (np.array([["Oslo"]]), np.array("Oslo"), np.array([[b"Oslo", b"s"]])):
        with pytest.raises(ModelError, match="expected numbers of shape"):
            graph.predict(wrong)


def test_a_model_of_texts_from_a_file_takes_texts(tmp_path: Path) -> None:
    estimator, x = fitted("filled")
    made = fhe.compile(estimator, x, **SMALL)
    made.save(tmp_path / "m.cwk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = fhe.load_model(tmp_path / "m.cwk", insecure=True)
    client, server = again.split()
    with client.keygen():
        for row in (x[3], x[5]):
            found = client.decrypt(server.run(client.encrypt(row)))["probabilities"]
            assert np.abs(found - estimator.predict_proba(row[np.newaxis])).max() < 0.01


def test_the_report_and_the_description_tell_which_texts_a_client_sees() -> None:
    made = fhe.compile(*fitted("columns"), **SMALL)
    assert "and 7 texts of columns [0, 1]" in made.report.client
    note = json.dumps(made.description.to_json())
    assert "Oslo" in note
    # A column that nothing reads, with names, is nowhere.
    assert "person" not in note


def test_heads_with_texts_are_checked() -> None:
    head = from_model(*fitted("columns")).client_head
    assert head is not None
    note = json.loads(json.dumps(head.to_json()))
    encrypted = set(head.steps.results)
    again = ClientHead.read(Member("head", note), encrypted)
    assert again == ClientHead.read(Member("head", again.to_json()), encrypted)

    def refused(change: Any) -> None:
        other = json.loads(json.dumps(note))
        change(other["texts"])
        with pytest.raises(LoadError):
            ClientHead.read(Member("head", other), encrypted)

    refused(lambda texts: texts.update(Z={}))
    refused(lambda texts: texts["X"].update({"99": texts["X"]["0"]}))
    refused(lambda texts: texts["X"].update({"-1": texts["X"]["0"]}))
    refused(lambda texts: texts["X"]["0"].update(strict=1))
    refused(lambda texts: texts["X"]["0"].update(categories=[1]))
    refused(lambda texts: texts["X"]["0"].update(missing=[0]))
    refused(lambda texts: texts["X"]["0"].update(missing=[4, 0]))
    refused(lambda texts: texts["X"]["0"].pop("missing"))
    refused(lambda texts: texts["X"]["0"].update(more=1))


def test_columns_with_different_categories_are_refused() -> None:
    other = OneHot(categories=[["Rome", "Oslo", "Bern", "Paris"]])
    whole = pipeline.FeatureUnion(
        [("a", Columns([("c", OneHot(), [0])])), ("b", Columns([("c", other, [0])]))]
    ).fit(TABLE)
    with pytest.raises(ModelError, match="column 0: expected the same categories"):
        from_model(whole, TABLE)
    lenient, strict = TextColumn(("a",), strict=False), TextColumn(("a",), strict=True)
    assert merged([{0: lenient}, {0: strict}])[0].strict
    assert merged([{0: strict}, {0: lenient}])[0].strict


def test_places_and_texts_are_inverse() -> None:
    column = TextColumn(("a", None, "b", None), False, nan=3, none=1)
    given = np.array(["b", np.nan, None, "a", "another", 5], dtype=object)
    places = column.places(given, "x")
    assert places.tolist() == [2.0, 3.0, 1.0, 0.0, -1.0, -1.0]
    back = column.texts(places)
    assert back[0] == "b"
    assert np.isnan(back[1])
    assert back[2:].tolist() == [None, "a", "another", "another"]


@pytest.mark.parametrize(("fill", "words"), [
    ({"strategy": "constant", "fill_value": "none", "add_indicator": True}, "a column of numbers"),
    ({"strategy": "constant", "fill_value": "none", "missing_values": "Oslo"}, "give NaN for what"),
    ({"strategy": "most_frequent", "missing_values": None}, "for texts beside numbers"),
    ({"strategy": "most_frequent", "keep_empty_features": True}, "without keep_empty_features"),
])  # fmt: skip
def test_fillings_of_texts_without_a_formula_are_refused(fill: Any, words: str) -> None:
    whole = chain(impute.SimpleImputer(**fill), OneHot(handle_unknown="ignore"))
    texts = TABLE[:, : 3 if "beside" in words or "keep" in words else 2]
    with pytest.raises(ModelError, match=words):
        from_model(whole.fit(texts), texts)


def test_numbers_that_texts_would_fill_stay_missing() -> None:
    """In place of a number no text is taken for one."""
    fill = impute.SimpleImputer(strategy="constant", fill_value="none")
    parts = [("c", OneHot(handle_unknown="ignore"), [0]), ("n", scaled(), [2])]
    whole = chain(fill, Columns(parts), Ridge()).fit(TABLE[:, :4], Y)
    graph, row = from_model(whole, TABLE[:, :4]), TABLE[:1, :4].copy()
    np.testing.assert_allclose(np.ravel(graph.predict(row)["variable"]), whole.predict(row))
    row[0, 2] = np.nan
    with pytest.raises(ModelError, match="found nan in row 0"):
        graph.predict(row)


def test_columns_of_a_frame_keep_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    names = ["city", "size", "age", "income", "name"]
    frame = pandas.DataFrame(dict(zip(names, TABLE.T, strict=True))).infer_objects()
    whole = chain(Columns([("c", OneHot(), ["city", "size"]), ("n", scaled(), ["age"])]), Ridge())
    whole.fit(frame, Y)
    client, server = fhe.compile(whole, frame, **SMALL).split()
    with client.keygen():
        found = client.decrypt(server.run(client.encrypt(frame.iloc[7])))
    assert abs(found - whole.predict(frame.iloc[7:8])).max() < 0.01


@pytest.mark.parametrize(("kind", "parameters"), [
    ("ballots", {"known": [[0, 10**12]], "weights": [1.0]}),
    ("columns", {"columns": [-1]}),
    ("columns", {"columns": [[0]]}),
    ("columns", {"columns": [0.5]}),
    ("columns", {"columns": [0] * 10**7}),
    ("missing", {"columns": [-1]}),
])  # fmt: skip
def test_steps_of_a_description_take_no_memory_and_no_places_from_the_end(
    kind: str, parameters: Any
) -> None:
    tail = ClientTail(("y",), (ClientStep("y", kind, ("x",), parameters),))
    with pytest.raises(ModelError, match=f"client step 'y', {kind}: expected"):
        tail.run({"x": np.zeros((8, 2))})
