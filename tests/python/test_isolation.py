"""A driver in a process of its own: its crash and its hang are errors that say where."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.device import Driver, include_dir, load_driver
from cloakwork.errors import DeviceLostError, DriverError, ParamError

SOURCE = Path(__file__).parents[1] / "devices" / "hostile.c"
CLOAKWORK = str(Path(sys.executable).with_name("cloakwork"))
TIMEOUT_S = 3
"""Calls that hang end after it: short, and more than a call of a few microseconds ever takes."""
A = np.arange(8, dtype=np.int64)
B = np.arange(8, dtype=np.int64) + 3

Order = Callable[[str], None]


def compiled(folder: Path) -> Path:
    library = folder / "libhostile.so"
    command = ["cc", "-shared", "-fPIC", "-O1", f"-I{include_dir()}", "-o", str(library)]
    subprocess.run([*command, str(SOURCE)], check=True)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("orders") / "orders"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOSTILE_ORDERS", str(path))
        yield path


@pytest.fixture(scope="module")
def driver(library: Path, orders: Path) -> Driver:
    return load_driver(library, isolate=True, timeout=TIMEOUT_S)


@pytest.fixture
def order(driver: Driver, orders: Path) -> Iterator[Order]:
    yield orders.write_text
    orders.unlink(missing_ok=True)


def program() -> cw.Program:
    """A constant that is prepared, two kernels."""
    return cw.trace(lambda x: x * cw.asarray(B) + x, cw.asarray(A))


def run(program: cw.Program) -> None:
    (out,) = program.run(A, device="hostile:0").outputs
    np.testing.assert_array_equal(np.asarray(out), A * B + A)


def test_a_driver_that_behaves_gives_the_bits_of_the_host(driver: Driver) -> None:
    assert driver.isolated
    assert driver.devices == ("hostile:0", "hostile:1")
    hostile = program()
    for _ in range(3):
        run(hostile)
    assert "multiply_hostile" in hostile.plan_text(device="hostile:0")


BEFORE_RUNS = ["open", "allocate", "open_queue", "upload", "prepare"]
IN_RUNS = ["upload", "launch", "record", "wait", "finish", "download"]
AFTER_RUNS = ["close_queue", "release", "close"]
ENDS = {
    "segv": r"was killed by SIGSEGV \(signal 11\)",
    "abort": r"was killed by SIGABRT \(signal 6\)",
    "exit": "exited with status 0",
    "stack": r"was killed by SIG(SEGV|ABRT) \(signal \d+\)",
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("where", BEFORE_RUNS + IN_RUNS[1:])
def test_an_end_of_the_process_is_an_error_with_the_call(
    order: Order, where: str, how: str
) -> None:
    subject = program()
    order(f"{where} {how}")
    with pytest.raises(DeviceLostError, match=rf"its process {ENDS[how]} in `{where}`") as lost:
        subject.run(A, device="hostile:0")
    assert lost.value.device == "hostile:0"
    order("")
    run(subject)


@pytest.mark.parametrize("where", IN_RUNS)
def test_the_error_of_a_run_names_the_step_and_the_row(order: Order, where: str) -> None:
    subject = program()
    run(subject)
    order(f"{where} segv")
    with pytest.raises(DeviceLostError, match=f"in `{where}`") as lost:
        subject.run(A, device="hostile:0")
    if where == "launch":
        assert "`launch` of multiply_hostile" in lost.value.reason
        assert lost.value.step is not None
        assert re.match(r"step \d+: multiply: hostile:0: its process", str(lost.value))
    order("")
    run(subject)


@pytest.mark.parametrize("where", AFTER_RUNS)
def test_an_end_while_a_device_is_closed_is_no_error_of_a_run(order: Order, where: str) -> None:
    subject = program()
    run(subject)
    order(f"{where} abort")
    del subject
    order("")
    run(program())


def test_a_segment_that_cannot_be_built_is_an_error_of_the_second_run(order: Order) -> None:
    subject = program()
    run(subject)
    order("build segv")
    with pytest.raises(DeviceLostError, match="in `segments->build`"):
        subject.run(A, device="hostile:0")


@pytest.mark.parametrize("where", ["open", "launch", "finish", "upload", "build"])
def test_a_call_that_does_not_return_ends_after_the_timeout(order: Order, where: str) -> None:
    subject = program()
    run(subject)
    if where == "open":
        subject = program()
    order(f"{where} hang")
    begun = time.monotonic()
    words = rf"`(segments->)?{where}`.* did not return within {TIMEOUT_S} s, and its process was"
    with pytest.raises(DeviceLostError, match=words):
        subject.run(A, device="hostile:0")
    assert time.monotonic() - begun >= TIMEOUT_S
    order("")
    run(subject)


LATER = {
    "breaks": "the context is broken, in `launch` of add_hostile",
    "crashes": r"its process was killed by SIGSEGV \(signal 11\) in `finish` of add_hostile",
    "hangs": f"`finish` of add_hostile did not return within {TIMEOUT_S} s",
}


@pytest.mark.parametrize("how", LATER)
def test_a_launch_that_goes_wrong_after_it_returned_is_named(order: Order, how: str) -> None:
    subject = program()
    run(subject)
    order(f"add {how}")
    for _ in range(2):
        with pytest.raises(DeviceLostError, match=LATER[how]) as lost:
            subject.run(A, device="hostile:0")
        assert re.match(r"step \d+: add: hostile:0: ", str(lost.value))
    order("")
    run(subject)
    # What waits for each launch takes no segments; later runs do.
    order("build segv")
    with pytest.raises(DeviceLostError, match="in `segments->build`"):
        subject.run(A, device="hostile:0")


def test_a_fault_that_does_not_come_again_is_told_as_such(order: Order) -> None:
    subject = program()
    run(subject)
    order("add breaks_once")
    words = "hostile:0: the context is broken; with a wait after each launch, the same run ended"
    with pytest.raises(DeviceLostError, match=words):
        subject.run(A, device="hostile:0")
    run(subject)


def test_a_device_that_is_lost_in_this_process_says_what_to_do(
    library: Path, tmp_path: Path
) -> None:
    orders = tmp_path / "orders"
    orders.write_text("add breaks")
    cw.trace(lambda x: x + x, A).save(tmp_path / "p.cwk")
    np.save(tmp_path / "x.npy", A)
    done = subprocess.run(
        [CLOAKWORK, "run", str(tmp_path / "p.cwk"), "--device", str(library),
         "--input", f"x={tmp_path}/x.npy"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "HOSTILE_ORDERS": str(orders)},
    )  # fmt: skip
    assert done.returncode == 2
    told = "hostile:0: the context is broken; it does nothing more for this process: start another"
    assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("fds", "(lost its sockets|closed its connection).* after `(launch|record|finish)`"),
        ("noise", "a damaged answer"),
    ],
)
def test_a_library_that_damages_the_connection_is_told(order: Order, how: str, words: str) -> None:
    subject = program()
    run(subject)
    order(f"launch {how}")
    with pytest.raises(DeviceLostError, match=words):
        subject.run(A, device="hostile:0")
    order("")
    run(subject)


def test_processes_that_a_library_forks_end_with_its_own(library: Path, order: Order) -> None:
    def own() -> list[int]:
        # Tests of other libraries in this process have theirs.
        return [pid for pid in processes(os.getpid()) if str(library) in maps(pid)]

    subject = program()
    run(subject)
    order("launch fork")
    run(subject)
    assert len(own()) > 1
    order("launch abort")
    with pytest.raises(DeviceLostError, match="SIGABRT"):
        subject.run(A, device="hostile:0")
    assert until(lambda: not own())


def test_what_a_library_prints_goes_to_standard_error(
    order: Order, capfd: pytest.CaptureFixture[str]
) -> None:
    # The process keeps the standard error of when it started.
    order("launch abort")
    subject = program()
    with pytest.raises(DeviceLostError):
        subject.run(A, device="hostile:0")
    order("launch stdout")
    run(subject)
    told = capfd.readouterr()
    assert (told.out, "a word of the library" in told.err) == ("", True)


def test_sizes_and_features_that_cannot_be_are_refused(order: Order) -> None:
    order("prepared_bytes huge")
    with pytest.raises(
        (DeviceLostError, cw.errors.RunError), match=r"`prepared_bytes` of multiply"
    ):
        cw.trace(lambda x: x * cw.asarray(B[:5]), cw.asarray(A[:5])).run(A[:5], device="hostile:0")
    order("prepared_bytes segv")
    with pytest.raises(cw.errors.RunError, match=r"SIGSEGV \(signal 11\) in `prepared_bytes`"):
        cw.trace(lambda x: x * cw.asarray(B[:6]), cw.asarray(A[:6])).run(A[:6], device="hostile:0")


@pytest.mark.parametrize("where", ["cw_driver_table", "kernels", "count"])
def test_a_library_that_crashes_while_it_is_loaded_is_refused(
    library: Path, order: Order, tmp_path: Path, where: str
) -> None:
    other = shutil.copy(library, tmp_path / "libother.so")
    for how in ("segv", "hang"):
        order(f"{where} {how}")
        words = r"SIGSEGV \(signal 11\) in loading" if how == "segv" else "did not return within"
        with pytest.raises(DriverError, match=words):
            load_driver(other, isolate=True, timeout=TIMEOUT_S)


def test_timeouts_that_are_none_are_refused(library: Path) -> None:
    for seconds in (0, -1, float("nan"), float("inf"), 1e9):
        with pytest.raises(ParamError, match="timeout"):
            load_driver(library, isolate=True, timeout=seconds)
    with pytest.raises(ParamError, match="isolate"):
        load_driver(library, timeout=1)


def test_transfers_of_secrets_and_large_ones_arrive(driver: Driver) -> None:
    x = np.arange(3 << 20, dtype=np.int64)
    subject = cw.trace(lambda x: x + x, cw.asarray(x))
    (out,) = subject.run(x, device="hostile:0").outputs
    np.testing.assert_array_equal(np.asarray(out), x + x)
    secret = cw.asarray(A.copy())
    secret.mark_secret()
    (out,) = program().run(secret, device="hostile:0").outputs
    np.testing.assert_array_equal(np.asarray(out), A * B + A)


def test_no_descriptor_stays_open(driver: Driver) -> None:
    run(program())
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run(program())
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_forked_child_starts_a_process_of_its_own(driver: Driver) -> None:
    subject = program()
    run(subject)
    child = os.fork()
    if child == 0:
        try:
            run(subject)
            run(program())
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    run(subject)


def test_the_command_line_isolates_a_library(library: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.cwk"
    cw.trace(lambda x: x + x, A).save(file)
    orders = tmp_path / "orders"
    orders.write_text("launch segv")
    command = [CLOAKWORK, "run", str(file), "--device", str(library)]
    np.save(tmp_path / "x.npy", A)
    for extra, words in (
        (["--isolate"], "its process was killed by SIGSEGV (signal 11) in `launch` of add_hostile"),
        (["--timeout", "0"], "above 0"),
    ):
        done = subprocess.run(
            [*command, *extra, "--input", f"x={tmp_path}/x.npy"], capture_output=True, text=True,
            env={**os.environ, "HOSTILE_ORDERS": str(orders)}, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert words in done.stderr


WAITS = """
import signal
# Where a shell ignores it, so does what the shell starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, cloakwork as cw
from cloakwork.device import load_driver
load_driver({library!r}, isolate=True)
a = np.arange(8, dtype=np.int64)
subject = cw.trace(lambda x: x + x, cw.asarray(a))
subject.run(a, device="hostile:0")
open({orders!r}, "w").write("launch hang")
print("ready", flush=True)
subject.run(a, device="hostile:0")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_interrupted_or_killed_leaves_no_process(
    library: Path, tmp_path: Path, number: signal.Signals
) -> None:
    orders = tmp_path / "orders"
    script = WAITS.format(library=str(library), orders=str(orders))
    environment = {**os.environ, "HOSTILE_ORDERS": str(orders)}
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        (serving,) = processes(parent.pid)
        assert until(orders.with_suffix(".hangs").exists)
        parent.send_signal(number)
        try:
            _, errors = parent.communicate(timeout=300)
        finally:
            parent.kill()
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
    assert until(lambda: not Path(f"/proc/{serving}").exists())


def processes(parent: int) -> list[int]:
    """The processes that descend from one."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            pid = int(stat.parent.name)
            found += [pid, *processes(pid)]
    return found


def maps(pid: int) -> str:
    """The files that a process has in its memory; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""


def until(holds: Callable[[], bool]) -> bool:
    """Whether it holds within two minutes."""
    end = time.monotonic() + 120
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.mark.parametrize("command", ["conform", "diff"])
def test_a_crash_while_a_device_is_held_to_references_is_a_finding(
    library: Path, tmp_path: Path, command: str
) -> None:
    orders = tmp_path / "orders"
    program().save(tmp_path / "p.cwk")
    np.save(tmp_path / "x.npy", A)
    name = program().inputs[0]
    lines = {
        "conform": [str(library), "--ops", "add", "--quick"],
        "diff": [
            str(tmp_path / "p.cwk"),
            "--device",
            str(library),
            "--input",
            f"{name}={tmp_path / 'x.npy'}",
        ],
    }
    line = [CLOAKWORK, command, *lines[command], "--isolate", "--timeout", "60"]
    environment = {**os.environ, "HOSTILE_ORDERS": str(orders)}
    for how, words in (
        ("launch segv", "was killed by SIGSEGV (signal 11) in `launch`"),
        ("add breaks", "the context is broken, in `launch` of add_hostile"),
    ):
        orders.write_text(how)
        found = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
        assert found.returncode == 1, found.stderr
        assert words in " ".join(found.stdout.split())
    orders.write_text("")
    found = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 0, found.stdout + found.stderr


OWN_OPS = """
#include <stdio.h>
#include <stdlib.h>
const char* cw_driver_ops(void) {
  puts("a line of the library");
  if (getenv("CLOAKWORK_TEST_NO_OPS") != NULL) abort();
  return "[[op]]\\nname = \\"isolated_twice\\"\\ndoc = \\"out = a * 2\\"\\n"
         "operands = [{ name = \\"a\\", dtypes = [\\"i64\\"] }]\\n"
         "result = { dtype = \\"a\\" }\\n"
         "expansion = \\"%out = add %a, %a, %out\\"\\n";
}
"""


def test_the_ops_that_an_isolated_library_declares_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "ops.c"
    example = Path(__file__).parents[2] / "examples" / "devices" / "c" / "mychip.c"
    source.write_text(example.read_text().replace("mychip", "ownops") + OWN_OPS)
    library = tmp_path / "libownops.so"
    command = ["cc", "-shared", "-fPIC", f"-I{include_dir()}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    monkeypatch.setenv("CLOAKWORK_TEST_NO_OPS", "1")
    with pytest.raises(DriverError, match=r"reads its declarations .* ended by SIGABRT"):
        load_driver(library, isolate=True)
    monkeypatch.delenv("CLOAKWORK_TEST_NO_OPS")
    assert load_driver(library, isolate=True).isolated
    twice = cw.ops.isolated_twice(cw.asarray(A))
    np.testing.assert_array_equal(np.asarray(twice), 2 * A)
