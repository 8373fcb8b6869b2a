"""A child forked while threads compute does everything that its parent does."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FORKING = Path(__file__).with_name("forking.py")
ROUNDS = 34


def alone(*command: str, limit_s: float = 800) -> str:
    """The output of a separate process; one that hangs is killed."""
    environment = os.environ | {"PYTHONPATH": str(FORKING.parents[1])}
    process = subprocess.run(
        [sys.executable, *command],
        capture_output=True, text=True, timeout=limit_s, check=False, env=environment,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_children_make_every_kind_of_call_whatever_threads_did_at_the_fork(tmp_path: Path) -> None:
    told = json.loads(alone(str(FORKING), str(tmp_path), str(ROUNDS)))
    assert told == {"well": ROUNDS, "rounds": ROUNDS, "told": []}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_of_multiprocessing_compute(method: str, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import multiprocessing
            import cloakwork as cw

            def total(start):
                return int(cw.sum(cw.sort(cw.arange(start, start + 200_000))))

            if __name__ == "__main__":
                here = total(0)
                with multiprocessing.get_context("{method}").Pool(2) as pool:
                    there = pool.map(total, [0, 0, 0])
                print(here, *there)
            """
        )
    )
    assert alone(str(script)).split() == [str(199_999 * 100_000)] * 4


def test_a_fork_in_a_forked_child_computes_too() -> None:
    code = """
        import os
        import cloakwork as cw

        def total():
            return int(cw.sum(cw.asarray([1.0] * 300_000) * 2))

        def generations(left):
            assert total() == 600_000
            if left == 0:
                return
            child = os.fork()
            if child == 0:
                try:
                    generations(left - 1)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
            assert total() == 600_000

        generations(3)
        print("all")
    """
    assert alone("-c", textwrap.dedent(code)) == "all\n"


def test_a_forked_child_runs_a_program_on_a_device_of_its_own() -> None:
    code = """
        import os
        import cloakwork as cw

        program = cw.trace(lambda x: cw.sum((x * 3 + 1) * x), cw.asarray([1] * 1000))

        def runs():
            for value in (1, 2, 3):
                (total,) = program.run(cw.asarray([value] * 1000), device="sim:0").outputs
                assert int(total) == 1000 * (3 * value + 1) * value

        runs()
        child = os.fork()
        if child == 0:
            try:
                runs()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        runs()
        print("both")
    """
    assert alone("-c", textwrap.dedent(code)) == "both\n"
