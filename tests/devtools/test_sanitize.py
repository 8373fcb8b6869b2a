"""`dev.py sanitize`: the files that it builds compile, and those that it leaves out exist."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from scripts.dev import sanitize
from scripts.dev.console import ROOT


@pytest.mark.skipif(shutil.which("g++") is None, reason="sanitize builds with g++ alone")
@pytest.mark.parametrize("flags", ["", "-fsanitize=undefined", "-fsanitize=address,undefined"])
def test_the_table_of_kernels_is_a_constant_with_and_without_sanitizers(flags: str) -> None:
    source = ROOT / "csrc" / "kernels" / "table.cc"
    folders = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'csrc' / 'include'}"]
    sets = [f"-DCW_WITH_{name}" for name in ("AVX2", "AVX512", "AVX512IFMA")]
    command = ["g++", "-std=c++17", "-fsyntax-only", *flags.split(), *sets, *folders, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_suites_that_are_left_out_and_crates_that_are_run_exist() -> None:
    crates = [name.removeprefix("cloakwork-") for name in sanitize._PACKAGES]
    assert {"kernels", "run", "testing"} <= set(crates)
    suites = {
        path.stem if path.is_file() else path.name
        for crate in crates
        for path in (ROOT / "crates" / crate / "tests").iterdir()
    }
    assert set(sanitize._LEFT_OUT) <= suites
    assert suites - set(sanitize._LEFT_OUT) >= {"conformance", "curve", "ntt", "sums"}
