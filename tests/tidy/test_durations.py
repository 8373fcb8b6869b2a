"""No test takes long without a reason, and the file of durations is about tests that exist."""

from __future__ import annotations

import ast

import pytest
from tidy import tree
from tidy.durations import LIMIT_S, WAYS_OUT, may_be_slow, merged, read


def test_tests_that_take_long_say_why(request: pytest.FixtureRequest) -> None:
    seconds = read()
    items = request.session.items
    slow = [item.nodeid for item in items if seconds.get(item.nodeid, 0.0) > LIMIT_S]
    unmarked = {item.nodeid for item in items if not may_be_slow(item)}
    found = {name: seconds[name] for name in slow if name in unmarked}
    assert found == {}, f"{found}: {WAYS_OUT}"


def test_shared_fixtures_stay_within_the_limit() -> None:
    found = {name: took for name, took in read().items() if "::fixture " in name if took > LIMIT_S}
    assert found == {}, f"{found}: use a smaller case"


def test_every_duration_is_that_of_a_test_or_a_fixture() -> None:
    found = []
    for name in read():
        file, _, rest = name.partition("::")
        defined = rest.partition("[")[0].removeprefix("fixture ").rpartition("::")[2]
        path = tree.ROOT / file
        if not path.is_file() or defined not in functions(tree.text(path)):
            found.append(name)
    assert found == [], "remove these lines of tests/durations.json"


def functions(source: str) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)}


def test_a_line_changes_only_where_a_test_does() -> None:
    saved = {"a": 2.0, "b": 2.0, "c": 1.1, "d": 4.0, "e": 3.0}
    measured = {"a": 2.7, "b": 2.9, "c": 0.7, "d": 0.4, "f": 0.9, "g": 1.26}
    assert merged(saved, measured) == {"a": 2.0, "b": 2.9, "c": 1.1, "e": 3.0, "g": 1.3}
