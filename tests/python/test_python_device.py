"""Classes as devices: which are refused, and what runs on them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.cli import main
from cloakwork.device import PythonDevice, register, takes
from cloakwork.errors import DriverError, ParamError


def of(name: str, **methods: Any) -> PythonDevice:
    """An instance of a class with these methods."""
    device = type("Device", (PythonDevice,), {"name": name, **methods})()
    assert isinstance(device, PythonDevice)
    return device


def test_a_method_that_is_no_kernel_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ParamError, match=r"Device\.modmull: got modmull, .*such as modmul"):
        register(of("near", modmull=lambda self, out, a, b, q: None))
    with pytest.raises(
        ParamError, match=r"Device\.xyzzy: got xyzzy, expected the name of a kernel"
    ):
        register(of("near", xyzzy=lambda self, out: None))


def test_a_method_with_other_arguments_is_refused_with_those_expected() -> None:
    with pytest.raises(ParamError, match=r"Device\.modmul: .* expected arguments for out, a, b, q"):
        register(of("few", modmul=lambda self, out, a, b: None))


def test_dtypes_that_no_row_has_are_refused() -> None:
    @takes("float64")
    def modmul(self: Any, out: Any, a: Any, b: Any, q: Any) -> None: ...

    with pytest.raises(ParamError, match=r"takes: got float64, expected int32, int64"):
        register(of("dtypes", modmul=modmul))


def test_names_follow_the_rules_of_drivers() -> None:
    def add(self: Any, out: Any, a: Any, b: Any) -> None:
        np.add(a, b, out=out)

    for name in ("Big", "cpu", "9lives"):
        with pytest.raises(DriverError):
            register(of(name, add=add))
    assert register(of("once_only", add=add)) == "once_only:0"
    with pytest.raises(DriverError, match="loaded already"):
        register(of("once_only", add=add))
    with pytest.raises(DriverError, match="expected kernel rows, got none"):
        register(of("empty"))


def test_a_method_gets_the_dtypes_that_it_takes_and_the_host_does_the_rest() -> None:
    seen = []

    @takes("int32")
    def add(self: Any, out: Any, a: Any, b: Any) -> None:
        seen.append((out.dtype.name, a.dtype.name, a.flags.writeable, out.flags.writeable))
        np.add(a, b, out=out)

    device = register(of("narrow", add=add))
    for dtype in (np.int32, np.int64):
        x = np.arange(10, dtype=dtype)
        (result,) = cw.trace(lambda x: x + x, cw.asarray(x)).run(x, device=device).outputs
        np.testing.assert_array_equal(np.asarray(result), 2 * x)
    assert seen == [("int32", "int32", False, True)]


def test_broadcast_operands_have_strides_of_zero() -> None:
    seen = []

    def add(self: Any, out: Any, a: Any, b: Any) -> None:
        seen.append((out.shape, b.shape, b.strides))
        np.add(a, b, out=out)

    device = register(of("broadcast", add=add))
    x, row = np.arange(12).reshape(3, 4), np.arange(4)
    (result,) = (
        cw.trace(lambda x, y: x + y, cw.asarray(x), cw.asarray(row))
        .run(x, row, device=device)
        .outputs
    )
    np.testing.assert_array_equal(np.asarray(result), x + row)
    assert seen == [((3, 4), (3, 4), (0, 8))]


def test_runs_of_several_threads_do_not_block_each_other() -> None:
    def add(self: Any, out: Any, a: Any, b: Any) -> None:
        np.add(a, b, out=out)

    register(of("threads", devices=2, add=add))
    program = cw.trace(lambda x: x + x, cw.asarray(np.arange(1000)))
    wrong: list[int] = []

    def work(number: int) -> None:
        x = np.arange(1000) + number
        for _ in range(20):
            (result,) = program.run(x, device=f"threads:{number % 2}").outputs
            if not np.array_equal(np.asarray(result), 2 * x):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_a_method_may_use_the_processors_ops() -> None:
    def multiply(self: Any, out: Any, a: Any, b: Any) -> None:
        product = cw.asarray(a.copy()) * cw.asarray(b.copy())
        out[...] = cw.trace(lambda x: x + 0, product).run(product).outputs[0]

    device = register(of("nested", multiply=multiply))
    x = np.arange(20)
    (result,) = cw.trace(lambda x: x * x, cw.asarray(x)).run(x, device=device).outputs
    np.testing.assert_array_equal(np.asarray(result), x * x)


def test_a_file_and_a_class_name_a_device_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chip.py"
    file.write_text(
        "import numpy as np\n"
        "from cloakwork.device import PythonDevice\n"
        "class Chip(PythonDevice):\n"
        "    name = 'of_file'\n"
        "    def modmul(self, out, a, b, q):\n"
        "        out[...] = a.astype(object) * b % q\n"
    )
    for _ in range(2):
        assert main(["run", str(cw.heal.sample()), "--verify", "--device", f"{file}:Chip"]) == 0
    capsys.readouterr()
    assert main(["run", str(cw.heal.sample()), "--device", f"{file}:Chop"]) == 2
    assert "expected a PythonDevice of the name Chop" in capsys.readouterr().err
    assert main(["run", str(cw.heal.sample()), "--device", f"{tmp_path}/none.py:Chip"]) == 2
    assert "there is no such file" in capsys.readouterr().err
