"""Kernels under AddressSanitizer and UndefinedBehaviorSanitizer: their own tests, instrumented."""

from __future__ import annotations

import json
import subprocess

from scripts.dev.console import ROOT, DevError, call, say
from scripts.dev.environment import environment
from scripts.dev.toolchain import require_rust

_TARGET = "x86_64-unknown-linux-gnu"
_CXXFLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -g1"
_LINK = ("-Wl,--no-as-needed", "-lasan", "-lubsan")
# Compares what plain objects import, which instrumented ones do not share.
_LEFT_OUT = ("symbols",)


def sanitize() -> int:
    """Build the kernels with both sanitizers and run their tests on every instruction set."""
    cargo = require_rust()
    runtime = subprocess.run(
        ["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not runtime.startswith("/"):
        raise DevError("sanitize needs g++ with its sanitizers (Debian: apt install g++)")
    variables = {
        "CXXFLAGS": _CXXFLAGS,
        "CARGO_TARGET_DIR": str(ROOT / "target" / "sanitize"),
        "RUSTFLAGS": " ".join(f"-C link-arg={flag}" for flag in _LINK),
    }
    say("building the kernels' tests with sanitizers")
    build = [cargo, "test", "-p", "cloakwork-kernels", "--target", _TARGET, "--no-run"]
    made = _run([*build, "--message-format", "json"], variables)
    failed = 0
    for name, executable in _executables(made):
        if name in _LEFT_OUT:
            continue
        say(name)
        options = {"ASAN_OPTIONS": "detect_leaks=0", "LD_PRELOAD": runtime}
        failed += call([executable, "--quiet"], {**environment(), **options}) != 0
    say("no finding" if failed == 0 else f"{failed} failed")
    return 1 if failed else 0


def _run(command: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment(), **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise DevError("building the kernels with sanitizers failed", done.returncode)
    return done.stdout


def _executables(messages: str) -> list[tuple[str, str]]:
    found = []
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message.get("profile", {}).get("test"):
            found.append((message["target"]["name"], message["executable"]))
    return found
