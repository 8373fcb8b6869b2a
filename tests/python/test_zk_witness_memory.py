"""The memory of a process after a witness contains no wire that only the circuit computed."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cloakwork import zk
from python.test_zk_wiping import PRIME, found_in, in_both_forms, linux, waiting

VECTORS = Path(__file__).parents[1] / "vectors" / "witness"
# Numbers of the circuit `bus` whose product is a wire that is neither input nor output.
TAG, K = (random.Random(seed).getrandbits(126) | 1 << 125 for seed in (1, 2))

GENERATE = """
from cloakwork import zk
held = zk.WitnessGenerator(wasm, optimize=optimize).witness(inputs)
"""
RELEASE = GENERATE + "del held\n"
REFUSE = """
from cloakwork import zk
from cloakwork.errors import WitnessError
try:
    zk.generate_witness(wasm, inputs)
except WitnessError:
    pass
"""
COMMAND = """
from cloakwork.cli import main
assert main(["witness", wasm, inputs, "-o", out, "-q"]) == 0
"""


@pytest.fixture
def names(tmp_path: Path) -> dict[str, object]:
    bus = json.loads((VECTORS / "bus.json").read_text())
    bus["q"]["tag"], bus["k"] = str(TAG), str(K)
    (tmp_path / "i.json").write_text(json.dumps(bus))
    return {
        "wasm": str(VECTORS / "bus.wasm"), "inputs": str(tmp_path / "i.json"),
        "out": str(tmp_path / "w.wtns"), "optimize": False,
    }  # fmt: skip


def needles() -> dict[bytes, str]:
    return in_both_forms({"product": TAG * K % PRIME})


@linux
def test_a_witness_that_is_held_is_found(names: dict[str, object]) -> None:
    with waiting(GENERATE, **names) as child:
        assert found_in(child, needles()) == {"product, as it is written"}


@linux
@pytest.mark.parametrize("code", [RELEASE, COMMAND])
@pytest.mark.parametrize("optimize", [False, True])
def test_nothing_is_left_of_a_witness(code: str, optimize: bool, names: dict[str, object]) -> None:
    with waiting(code, **{**names, "optimize": optimize}) as child:
        assert found_in(child, needles()) == set()


@linux
def test_nothing_is_left_of_a_refused_witness(names: dict[str, object], tmp_path: Path) -> None:
    # The assertion fails after the product of `arrays`: check = k * k.
    given = {"a": [0] * 6, "k": str(K)}
    (tmp_path / "i.json").write_text(json.dumps(given))
    names["wasm"] = str(VECTORS / "arrays.wasm")
    with waiting(REFUSE, **names) as child:
        assert found_in(child, in_both_forms({"square": K * K % PRIME})) == set()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_compiles_and_computes() -> None:
    given = {"a": [1, 0, 0, 0, 0, 0], "k": 5}
    before = zk.WitnessGenerator(VECTORS / "arrays.wasm", log=lambda line: None)
    before.witness(given)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            after = zk.WitnessGenerator(VECTORS / "arrays.wasm", log=lambda line: None)
            words = [np.asarray(one.witness(given).words) for one in (before, after)]
            status = 0 if np.array_equal(*words) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SMALL_STACK = """
import sys, threading
from cloakwork import zk
from cloakwork.errors import RunError

def work():
    try:
        zk.generate_witness(sys.argv[1], {"a": [[1, 2], [3, 4], [5, 6]], "k": 7}, log=len)
    except RunError as error:
        print(error)

threading.stack_size(512 << 10)
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@linux
def test_a_thread_whose_stack_is_too_small_is_told_so() -> None:
    # In a process of its own: the system hands out the larger stacks of ended threads again.
    command = [sys.executable, "-c", SMALL_STACK, str(VECTORS / "arrays.wasm")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert re.search(r"stack has \d+ KiB left.*threading\.stack_size", done.stdout)


def test_the_words_of_a_witness_that_is_read_are_secret() -> None:
    assert zk.read_wtns(VECTORS / "arrays.wtns").words.is_secret
