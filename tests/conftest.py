"""How tests run: in a random order, with their processor time measured, large cases on demand."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

# Tests run on all cores: a pool of threads for linear algebra in each process would slow down all.
# NumPy reads this once, so that it is set before any import of it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from tidy.durations import Durations, read

# Hypothesis has limits of wall time, which say nothing on a busy machine.
settings.register_profile(
    "cloakwork", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("cloakwork")

_SEED = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cloakwork")
    group.addoption("--all", action="store_true", help="run large cases, too: those marked `large`")
    group.addoption(
        "--order-seed", metavar="N", help="repeat a random order; `file`: the longest files first"
    )
    group.addoption(
        "--write-durations", action="store_true", help="save processor times, tests/durations.json"
    )


def pytest_configure(config: pytest.Config) -> None:
    seed = config.option.order_seed
    if hasattr(config, "workerinput"):
        seed = config.workerinput["order_seed"]
    elif seed is None:
        seed = "file" if config.option.write_durations else str(random.randrange(1 << 32))
    config.stash[_SEED] = seed
    _keep_bytecode(config)
    config.pluginmanager.register(Durations())


def _keep_bytecode(config: pytest.Config) -> None:
    """Where no bytecode is to be written, hold it apart from the sources.

    Workers, and the hundreds of processes that tests start, would compile all modules again.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        folder = str(config.rootpath / "target" / "bytecode")
        os.environ.setdefault("PYTHONPYCACHEPREFIX", folder)
        sys.pycache_prefix, sys.dont_write_bytecode = os.environ["PYTHONPYCACHEPREFIX"], False


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All workers of pytest-xdist have one order."""
    node.workerinput["order_seed"] = node.config.stash[_SEED]


def pytest_sessionstart(session: pytest.Session) -> None:
    # Quiet runs print no header; workers have no reporter.
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"order of tests: --order-seed {session.config.stash[_SEED]}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave large cases out, and order the others."""
    for item in items:
        for marker in item.iter_markers("slow"):
            if not marker.kwargs.get("reason"):
                raise pytest.UsageError(f'{item.nodeid}: expected slow(reason="...")')
    large = [] if config.option.all else [i for i in items if i.get_closest_marker("large")]
    if large:
        config.hook.pytest_deselected(items=large)
        items[:] = [item for item in items if not item.get_closest_marker("large")]
    if config.stash[_SEED] == "file":
        _longest_first(items)
    else:
        items[:] = _shuffled(items, config.stash[_SEED])


def _longest_first(items: list[pytest.Item]) -> None:
    """Files by their known times: a long one that began last would leave the other cores idle."""
    known: Counter[str] = Counter()
    for name, seconds in read().items():
        known[name.partition("::")[0]] += seconds
    items.sort(key=lambda item: -known[item.nodeid.partition("::")[0]])


def _shuffled(items: list[pytest.Item], seed: str) -> list[pytest.Item]:
    """Files in a random order, and the tests of each: they stay together, as they share fixtures.

    Afterwards pytest brings together the tests of one value of a shared fixture's parameter.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    generator, order = random.Random(seed), list(files.values())
    generator.shuffle(order)
    for tests in order:
        generator.shuffle(tests)
    return [item for tests in order for item in tests]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(config: pytest.Config) -> Any:
    """Print failures' messages in full, as their last lines; the default is one line of 80."""
    verbose, config.option.verbose = config.option.verbose, 2
    try:
        return (yield)
    finally:
        config.option.verbose = verbose
