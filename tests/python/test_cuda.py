"""Programs on `cuda:0` as users run them, over a made-up driver of NVIDIA's, and its reasons."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping

import pytest
from python.command_line import COMMAND
from python.made_up_cuda import variables

# Large enough that a GPU is worth its transfers.
PROGRAM = """
import os
import cloakwork as cw
import numpy as np

X = np.arange(256 * 256).reshape(256, 256) % 1009
program = cw.trace(lambda x: (cw.sort(x @ x), cw.sum(x)), cw.asarray(X))
there = (np.sort(X @ X), X.sum())

def is_right():
    found = program.run(cw.asarray(X), device="cuda:0").outputs
    return all(np.array_equal(np.asarray(one), other) for one, other in zip(found, there))

def reason():
    try:
        program.run(cw.asarray(X), device=os.environ.get("DEVICE", "cuda:0"))
    except (cw.errors.DeviceError, cw.errors.RunError) as error:
        return str(error)
"""
NONE = "no NVIDIA driver: libcuda.so.1 is not found, or cannot be loaded"
FORKED = "CUDA does not work in a process that was forked after its parent used CUDA; start"


def said(code: str, environment: Mapping[str, str]) -> str:
    """The output of a process that runs the program and some more, and ends by itself."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(code)],
        env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_gives_the_same_on_a_gpu_on_every_run() -> None:
    code = """
        assert "cuda:0@" in program.plan_text(device="cuda:0")
        print([is_right() for _ in range(3)])
    """
    assert said(code, variables("devices=2 seed=5")) == "[True, True, True]\n"


@pytest.mark.parametrize(
    ("settings", "device", "words"),
    [
        ("devices=0", "cuda:0", "the NVIDIA driver lists no GPU, with CUDA_VISIBLE_DEVICES=7"),
        ("devices=2", "cuda:3", "there are 2 GPUs, cuda:0 to cuda:1, with CUDA_VISIBLE_DEVICES=7"),
        ("init=3", "cuda:0", FORKED),
        ("init=34", "cuda:0", "libcuda.so.1 is the toolkit's stub, not the NVIDIA driver: take"),
        ("init=999", "cuda:0", "the NVIDIA driver does not work: cuInit: CUDA_ERROR_UNKNOWN"),
        ("capability=7.5", "cuda:0", "its compute capability is 7.5, and this build's kernels"),
        ("old", "cuda:0", "the NVIDIA driver is too old: libcuda.so.1 lacks cuGraphExecDestroy"),
        ("none", "cuda:0", NONE),
    ],
)
def test_a_gpu_that_cannot_be_had_says_why(settings: str, device: str, words: str) -> None:
    found = variables("" if settings == "old" else settings, old=settings == "old")
    if settings == "none":
        found = dict(os.environ)
    found |= {"DEVICE": device, "CUDA_VISIBLE_DEVICES": "7"}
    text = said("print(reason())", found)
    assert text.startswith(f"unknown device {device!r}; {words}"), text
    assert "; available: cpu, sim:<i>" in text


def test_a_library_of_kernels_that_is_none_is_named() -> None:
    found = variables(kernels=False) | {"CLOAKWORK_CUDA_KERNELS": "/nowhere/kernels.so"}
    text = said("print(reason())", found)
    assert text.startswith("unknown device 'cuda:0'; CLOAKWORK_CUDA_KERNELS=/nowhere/kernels.so: ")


def test_a_forked_child_is_told_at_once_and_its_parent_goes_on() -> None:
    code = """
        import sys

        before = is_right()
        child = os.fork()
        if child == 0:
            print(reason())
            sys.stdout.flush()
            os._exit(0)
        print(os.waitpid(child, 0)[1], before, is_right())
    """
    told, well = said(code, variables("seed=9")).splitlines()
    assert told.startswith(f"unknown device 'cuda:0'; {FORKED}")
    assert well == "0 True True"


ADDRESS = "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_a_kernel_that_breaks_the_context_of_this_process_breaks_all_later_calls() -> None:
    first, second = said("print(reason()); print(reason())", variables("break_in=sort:700")).split(
        "\n"
    )[:2]
    for told in (first, second):
        assert ADDRESS in told
        assert "it does nothing more for this process: start another one, with `--isolate`" in told


def test_a_kernel_that_breaks_the_context_of_another_process_is_named() -> None:
    code = """
        from cloakwork.device import load_driver

        driver = load_driver("cuda:0", isolate=True)
        print(driver.isolated, driver.devices)
        print(reason())
        print(reason())
        os.environ["MADE_UP_CUDA"] = ""
        print(is_right())
    """
    isolated, *told, goes_on, _ = said(code, variables("break_in=sort:700")).split("\n")
    assert isolated == "True ('cuda:0',)"
    assert told[0] == told[1]
    assert re.match(r"step \d+: sort: cuda:0: cu\w+Synchronize: " + ADDRESS, told[0])
    last = r"the last kernel of the queue was (sort_i64\w*) of \w+, in `launch` of \1"
    assert re.search(last, told[0])
    assert goes_on == "True"


def test_a_gpu_is_isolated_before_its_first_use_or_not_at_all() -> None:
    code = """
        from cloakwork.device import load_driver

        print(is_right())
        try:
            load_driver("cuda:0", isolate=True)
        except cw.errors.DeviceError as error:
            print(error)
    """
    told = said(code, variables())
    assert "is used by this process already; isolate it before its first use" in told
    code = """
        from cloakwork.device import load_driver

        try:
            load_driver("cuda:3", isolate=True)
        except cw.errors.DeviceError as error:
            print(error)
    """
    assert "there are 2 GPUs, cuda:0 to cuda:1" in said(code, variables("devices=2"))


def test_conform_goes_on_behind_a_kernel_that_breaks_the_context() -> None:
    # Calls of the driver may take long on a busy machine.
    patient = ["--timeout", "300", "--seconds", "300"]
    words = ["--quick", "--ops", "modsum,sort,modmul", "--json", *patient]
    done = subprocess.run(
        [*COMMAND, "conform", "cuda:0", *words],
        env=variables("break_in=sort_:700"), capture_output=True, text=True, check=False,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    ops = {op["op"]: op for op in json.loads(done.stdout)["ops"]}
    assert [name for name, op in ops.items() if op["failure"] is None] == ["modmul", "modsum"]
    failed = ops["sort"]["failure"]["failed"]
    assert ADDRESS in failed
    assert "in `launch` of sort_" in failed


def listed(environment: Mapping[str, str], *options: str) -> str:
    """What `cloakwork devices` prints."""
    done = subprocess.run(
        [*COMMAND, "devices", *options],
        env=environment, capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    return done.stdout


def test_a_build_gives_the_driver_its_own_kernels_or_says_that_it_has_none() -> None:
    told = said("print(reason())", variables(kernels=False))
    found = json.loads(listed(variables(kernels=False), "--json"))[0]
    own = found["drivers"]
    if own:  # built after `dev.py cuda`; the made-up driver refuses machine code of GPUs
        (replaced,) = json.loads(listed(variables(), "--json"))[0]["drivers"]
        assert set(own[0]["kernels"]) == set(replaced["kernels"])
        assert "cannot load this build's kernels for compute capability 9.0" in told
    else:
        reason = "this build has no CUDA kernels; build again after `python3 dev.py cuda`"
        assert reason in told
        assert found["machine"]["gpu_reason"] == reason


def test_gpus_are_listed_with_their_kernels_or_the_reason_why_they_are_not() -> None:
    (driver,) = json.loads(listed(variables("devices=3"), "--json"))[0]["drivers"]
    assert driver["devices"] == ["cuda:0", "cuda:1", "cuda:2"]
    assert {"modmul", "ntt"} <= set(driver["kernels"])
    assert "cuda:0, cuda:1" in listed(variables("devices=2"))
    without = json.loads(listed(os.environ, "--json"))[0]
    assert without["drivers"] == []
    assert without["machine"]["gpu_reason"].startswith("no NVIDIA driver: ")
