"""Programs whose tensors wait on disk, and programs whose steps run in another order."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import MemoryBudgetError, ParamError, SecretError
from numpy.typing import NDArray
from python.command_line import COMMAND

WORDS = 8192
TENSORS = 24


def sorted_sums(a: NDArray[np.int64]) -> NDArray[np.int64]:
    """The result of `program`: sorted tensors added up, forwards and backwards."""
    parts = [np.sort((a * a + i) % (1009 + i)) for i in range(TENSORS)]
    total = np.zeros_like(a)
    for part in [*parts, *parts[::-1]]:
        total = (total * 3 + part) % 1_000_003
    return total


def program(a: Any) -> Any:
    parts = [cw.sort((a * a + i) % (1009 + i)) for i in range(TENSORS)]
    total = cw.zeros_like(a)
    for part in [*parts, *parts[::-1]]:
        total = (total * 3 + part) % 1_000_003
    return total


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spill") / "sums.cwk"
    a = cw.asarray(np.arange(WORDS) * 7919 % 4099)
    cw.trace(program, a).to_transcript(inputs=[a]).save(path)
    return path


def expected() -> NDArray[np.int64]:
    return sorted_sums(np.arange(WORDS) * 7919 % 4099)


@pytest.mark.parametrize("seed", [None, 0, 1, 2**64 - 1])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_order_of_tasks_gives_the_same_bytes(
    path: Path, threads: int, seed: int | None
) -> None:
    result = cw.heal.load(path).run(threads=threads, schedule_seed=seed)
    assert np.array_equal(np.asarray(result.outputs[0]), expected())


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_is_no_word_is_refused(path: Path, seed: int) -> None:
    with pytest.raises(ParamError, match="schedule_seed"):
        cw.heal.load(path).run(schedule_seed=seed)


@pytest.mark.parametrize("threads", [1, 3])
def test_half_of_the_memory_gives_the_same_bytes(path: Path, threads: int, tmp_path: Path) -> None:
    transcript = cw.heal.load(path)
    _, peak = transcript.memory(threads=threads)
    text, fitted = transcript.memory(threads=threads, memory_budget=peak // 2)
    assert fitted <= peak // 2
    assert "on disk" in text
    result = transcript.run(threads=threads, memory_budget=peak // 2, spill_dir=tmp_path)
    assert np.array_equal(np.asarray(result.outputs[0]), expected())
    memory = result.report.memory
    assert memory["peak_bytes"] <= peak // 2
    assert memory["reloaded_bytes"] >= memory["spilled_bytes"] > 0
    assert list(tmp_path.iterdir()) == []


def test_a_secret_does_not_wait_on_disk() -> None:
    a = cw.asarray(np.arange(WORDS) * 7919 % 4099)
    traced = cw.trace(program, a)
    _, peak = traced.memory(threads=1)
    secret = cw.asarray(np.arange(WORDS) * 7919 % 4099)
    secret.mark_secret()
    with pytest.raises(SecretError, match="must not spill to disk"):
        traced.run(secret, threads=1, memory_budget=peak // 2)
    assert traced.run(secret, threads=1).outputs


def test_too_little_memory_is_refused_with_what_is_needed(path: Path) -> None:
    transcript = cw.heal.load(path)
    with pytest.raises(MemoryBudgetError, match="with as much as possible on disk") as caught:
        transcript.run(memory_budget="100KiB")
    least = caught.value.least_bytes
    assert least is not None
    assert caught.value.budget_bytes < least < caught.value.peak_bytes
    result = transcript.run(memory_budget=least)
    assert np.array_equal(np.asarray(result.outputs[0]), expected())
    with pytest.raises(MemoryBudgetError):
        transcript.run(memory_budget=least - 1)


def test_a_folder_that_is_not_there_is_named(path: Path, tmp_path: Path) -> None:
    transcript = cw.heal.load(path)
    _, peak = transcript.memory()
    missing = tmp_path / "missing"
    for budget in (None, peak // 2):
        with pytest.raises(ParamError, match=f"spill_dir: got {missing}"):
            transcript.run(memory_budget=budget, spill_dir=missing)
    assert transcript.run(memory_budget=peak // 2).outputs


def test_a_full_disk_is_an_error_and_the_engine_goes_on(path: Path, tmp_path: Path) -> None:
    script = f"""
import resource, sys
import cloakwork as cw
transcript = cw.heal.load({str(path)!r})
_, peak = transcript.memory(threads=1)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
try:
    transcript.run(threads=1, memory_budget=peak // 2, spill_dir={str(tmp_path)!r})
except cw.errors.RunError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
print(len(transcript.run(threads=1, memory_budget=peak // 2).outputs))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    message, outputs = done.stdout.splitlines()
    assert "File too large" in message
    assert str(tmp_path) in message
    assert (done.returncode, outputs) == (0, "1")


def test_the_command_line_says_what_waits_on_disk(path: Path, tmp_path: Path) -> None:
    _, peak = cw.heal.load(path).memory(threads=2)
    profile = tmp_path / "profile.json"
    options = [
        "--threads", "2", "--memory-budget", str(peak // 2), "--spill-dir", str(tmp_path),
        "--schedule-seed", "7", "--profile", str(profile), "--verify",
    ]  # fmt: skip
    done = subprocess.run(
        [*COMMAND, "run", str(path), *options], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "on disk" in done.stderr
    events = json.loads(profile.read_text())["traceEvents"]
    names = {event["name"] for event in events if event["ph"] == "X"}
    assert {"to_disk", "from_disk"} <= names
    tracks = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"segments", "cpu, 2 threads"} <= tracks
