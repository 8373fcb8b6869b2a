"""The processor time of tests: a limit for each, and a file of those that take long."""

from __future__ import annotations

import json
import resource
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[1] / "durations.json"
LIMIT_S = 10.0
"""A test that takes more is marked `slow(reason="...")`, or becomes a smaller case."""
_LISTED_FROM_S = 1.0
# Two measurements of a test differ by as much: the file changes where a test does.
_NOISE = 0.4
_STARTED = pytest.StashKey[float]()


class Durations:
    """A plugin of pytest that measures tests, and fixtures that tests share apart from them."""

    def __init__(self) -> None:
        self._measured: dict[str, float] = {}
        # Of shared fixtures that were made for the current test.
        self._shared_s = 0.0
        self._fixtures: dict[str, float] = {}
        self._above: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Measure a fixture that several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        start, before = cpu_s(), self._shared_s
        try:
            return (yield)
        finally:
            took = cpu_s() - start
            # Fixtures that this one asked for are a part of it.
            self._shared_s = before + took
            self._fixtures[f"{fixturedef.baseid}::fixture {fixturedef.argname}"] = took

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Start the clock."""
        self._shared_s = 0.0
        item.stash[_STARTED] = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Stop the clock."""
        try:
            return (yield)
        finally:
            took = cpu_s() - item.stash[_STARTED] - self._shared_s
            item.user_properties.append(("cpu_s", self._fixtures | {item.nodeid: took}))
            self._fixtures = {}
            if took > LIMIT_S and not may_be_slow(item):
                item.user_properties.append(("above_limit", took))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what this process or a worker of pytest-xdist has measured."""
        if report.when == "call":
            for key, value in report.user_properties:
                if key == "above_limit":
                    self._above.append(f"{report.nodeid} took {value:.0f} s of processor time")
                if key == "cpu_s" and isinstance(value, dict):
                    for name, seconds in value.items():
                        self._measured[name] = max(self._measured.get(name, 0.0), seconds)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name tests above the limit.

        None fails for its time: a slow processor, or whatever a clean tree makes for the first
        test that needs it, would turn the same tests red. The file of durations decides.
        """
        for line in sorted(self._above):
            terminalreporter.write_line(f"{line}, {WAYS_OUT}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, where that was asked for."""
        config = session.config
        if config.option.write_durations and not hasattr(config, "workerinput"):
            contents = merged(read(), self._measured)
            FILE.write_text(json.dumps(contents, indent=1) + "\n", "utf-8")


WAYS_OUT = 'above the limit: share fixtures, use a smaller case, or mark it `slow(reason="...")`'


def may_be_slow(item: pytest.Item) -> bool:
    """Whether a marker lifts the limit."""
    return any(item.get_closest_marker(name) for name in ("slow", "large"))


def cpu_s() -> float:
    """Processor time of this process, all its threads, and the children it has waited for."""
    both = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def read() -> dict[str, float]:
    """The seconds of slow tests by their ids, and of fixtures by `file::fixture name`."""
    found: dict[str, float] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return found


def merged(saved: Mapping[str, float], measured: Mapping[str, float]) -> dict[str, float]:
    """The file's new contents: tests that did not run, or took about as long, keep their lines."""
    found = dict(saved)
    for name, seconds in measured.items():
        before = found.pop(name, 0.0)
        if before and abs(seconds - before) <= _NOISE * before:
            found[name] = before
        elif seconds >= _LISTED_FROM_S:
            found[name] = round(seconds, 1)
    return dict(sorted(found.items()))
