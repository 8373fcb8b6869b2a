"""A build of Cloakwork as a side: it prepares cases and runs the requested one, once.

Argument: a JSON list of `[name, setup, statement, times]`. A case whose setup or statement fails in
this build is not an operation of it; `missing` among the facts gives the reason.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import cloakwork as cw
from facts import facts
from serve import serve


def main(cases: list[tuple[str, str, str, int]]) -> None:
    """Prepare all cases and serve them."""
    cw.set_threads(1)
    operations: dict[str, Callable[[], object]] = {}
    missing = {}
    for name, setup, statement, times in cases:
        try:
            work = prepared(setup, statement)
            work(range(1))
        except Exception as error:  # any error of a build without the names
            missing[name] = f"{type(error).__name__}: {error}"
        else:
            operations[name] = partial(repeated, work, times)
    serve(operations, {"missing": missing, **facts()})


def prepared(setup: str, statement: str) -> Callable[[Any], None]:
    """Make a function that runs a statement once for each item of its argument."""
    names: dict[str, Any] = {}
    exec(setup, names)
    exec(f"def work(items):\n    for _ in items:\n        {statement}\n", names)
    work: Callable[[Any], None] = names["work"]
    return work


def repeated(work: Callable[[Any], None], times: int) -> None:
    """Run a statement `times` times."""
    work(itertools.repeat(None, times))


if __name__ == "__main__":
    main([tuple(case) for case in json.loads(sys.argv[1])])
