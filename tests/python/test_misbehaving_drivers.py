"""Libraries that are no good driver end with an error that names them and says what is wrong."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.device import load_driver
from cloakwork.errors import CloakworkError, DeviceError, DriverError

from python import device_builds as builds

pytestmark = pytest.mark.skipif(not builds.has_compilers(), reason="no compiler for drivers")

WRONG_TABLES = {
    "NO_SYMBOL": "expected the exported symbol cw_driver_table, got none",
    "NULL_TABLE": "expected a table",
    "WRONG_VERSION": r"expected version \d+ of the table, \d+ bytes, got version \d+",
    "WRONG_SIZE": r"expected version \d+ of the table, \d+ bytes, got version \d+, \d+ bytes",
    "UNKNOWN_CAPABILITY": "expected capabilities of device.h",
    "NO_NAME": "expected a name, got null",
    "BAD_NAME": "expected a name of 1 to 32 letters a-z, digits and _",
    "TAKEN_NAME": 'the name "cpu" has a meaning of its own',
    "NULL_COUNT": "expected the function count, got null",
    "NULL_KERNELS": "expected the function kernels, got null",
    "NULL_FEATURES": "expected the function features, got null",
    "NULL_FUNCTIONS": "expected functions",
    "NULL_FUNCTION": "got null as number 13 of `functions`",
    "NULL_ROWS": "expected 3 kernel rows, got null",
    "NULL_KERNEL": "kernel row 0 needs a kernel and a symbol",
    "NULL_SYMBOL": "kernel row 0 needs a kernel and a symbol",
    "DUPLICATE_SYMBOL": "expected a symbol of its own for each kernel row, got add_one twice",
    "BAD_DTYPE": "kernel row 0 .*dtype",
    "UNKNOWN_KERNEL": "kernel 'ad': expected the name of a kernel, such as add, or of an op",
}


@pytest.mark.parametrize("flag", WRONG_TABLES)
def test_a_wrong_table_is_refused_in_words_with_the_file(flag: str) -> None:
    name = "misbehaving" if flag in ("BAD_NAME", "TAKEN_NAME") else flag.lower()
    library = builds.built(builds.MISBEHAVING, f"-D{flag}", name=name)
    with pytest.raises(DriverError, match=WRONG_TABLES[flag]) as refused:
        load_driver(library)
    assert refused.value.driver == str(library)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    (tmp_path / "libtext.so").write_text("not a library")
    with pytest.raises(DriverError, match=r"libtext\.so: cannot be loaded: .*(ELF|short|header)"):
        load_driver(tmp_path / "libtext.so")
    with pytest.raises(DriverError, match="cannot be read"):
        load_driver(tmp_path / "nothing.so")


def test_two_libraries_of_one_name_are_refused() -> None:
    load_driver(builds.built(builds.MISBEHAVING, name="twice"))
    with pytest.raises(DriverError, match='a driver with the name "twice" is loaded already'):
        load_driver(builds.built(builds.MISBEHAVING, "-DFAILS=wait", name="twice"))


def summed(device: str) -> object:
    x = cw.asarray(np.arange(100))
    program = cw.trace(lambda x: x + x, x)
    return program.run(x, device=device)


def test_a_driver_that_behaves_runs_there() -> None:
    device = str(builds.built(builds.MISBEHAVING, name="behaving"))
    (result,) = summed(device).outputs  # type: ignore[attr-defined]
    np.testing.assert_array_equal(np.asarray(result), 2 * np.arange(100))


FAILURES = {
    "open": "cannot open the device: the chip is on fire",
    "allocate": "cannot allocate memory: the chip is on fire",
    "open_queue": "cannot open a queue: the chip is on fire",
    "upload": "cannot upload: the chip is on fire",
    "download": "cannot download: the chip is on fire",
    "launch": "cannot launch a kernel: the chip is on fire",
    "record": "cannot record an event: the chip is on fire",
    "wait": "cannot wait for an event: the chip is on fire",
    "finish": "cannot finish what it was given: the chip is on fire",
}


@pytest.mark.parametrize("function", FAILURES)
def test_the_error_of_each_function_is_told_with_its_text(function: str) -> None:
    library = builds.built(builds.MISBEHAVING, f"-DFAILS={function}", name=f"no_{function}")
    with pytest.raises(CloakworkError, match=f"no_{function}:0: {FAILURES[function]}"):
        summed(str(library))


@pytest.mark.parametrize("at", ["0", "72"])
def test_an_allocation_at_no_such_address_is_refused(at: str) -> None:
    library = builds.built(builds.MISBEHAVING, f"-DALLOCATES={at}", name=f"at_{at}")
    text = rf"at_{at}:0: cannot allocate memory: `allocate` returned 0, success, .* multiple of 64"
    with pytest.raises(CloakworkError, match=text):
        summed(str(library))


def test_the_kit_refuses_a_row_without_a_function() -> None:
    library = builds.built(builds.MISBEHAVING, "-DNULL_RUN", name="null_run")
    text = "null_run:0: cannot .*: the row of add_one has no function"
    with pytest.raises(CloakworkError, match=text):
        summed(str(library))


def test_devices_that_the_driver_does_not_have_are_refused() -> None:
    device = str(builds.built(builds.MISBEHAVING, name="single"))
    with pytest.raises(DeviceError, match=r"libsingle\.so:1.; available: .*single:0"):
        summed(f"{device}:1")


class Refusing(cw.device.PythonDevice):
    """A method that does what it must not."""

    def __init__(self, name: str, act: Callable[[np.ndarray, np.ndarray], None]) -> None:
        self.name, self._act = name, act

    def add(self, out: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        self._act(out, a)


def _raises(out: np.ndarray, a: np.ndarray) -> None:
    raise ZeroDivisionError("the rabbit is out")


def _interrupted(out: np.ndarray, a: np.ndarray) -> None:
    raise KeyboardInterrupt


def _wrong_shape(out: np.ndarray, a: np.ndarray) -> None:
    out[...] = np.zeros((3, 3))


def _writes_an_operand(out: np.ndarray, a: np.ndarray) -> None:
    a[...] = 0


ACTS = {
    "raises": (_raises, "ZeroDivisionError: the rabbit is out"),
    "wrong_shape": (_wrong_shape, "ValueError: could not broadcast"),
    "writes": (_writes_an_operand, "ValueError: assignment destination is read-only"),
}


@pytest.mark.parametrize("act", ACTS)
def test_an_exception_of_a_method_is_told_with_its_class_and_text(act: str) -> None:
    function, text = ACTS[act]
    device = cw.device.register(Refusing(f"python_{act}", function))
    with pytest.raises(CloakworkError, match=f"python_{act}:0: cannot .*: {text}"):
        summed(device)


def _until_interrupted(device: str) -> None:
    try:
        summed(device)
    except CloakworkError:
        # Python tells of a signal between two steps of its own.
        for _ in range(1000):
            pass


def test_an_interrupt_in_a_method_is_not_lost() -> None:
    device = cw.device.register(Refusing("python_interrupted", _interrupted))
    # Where a shell ignores the signal, so does what the shell starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _until_interrupted(device)
    finally:
        signal.signal(signal.SIGINT, before)
