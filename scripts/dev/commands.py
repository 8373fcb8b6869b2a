"""The commands of `dev.py`: one function each, and the table that names them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scripts.dev import cuda as kernels
from scripts.dev import cuda_driver, cuda_shim, glibc, locks, rust_tests
from scripts.dev import gpu_check as gpu
from scripts.dev import gpu_stage as stage
from scripts.dev import matrix as matrices
from scripts.dev import notices as notices_of_crates
from scripts.dev import release_check as releases
from scripts.dev import sanitize as sanitizers
from scripts.dev import sdist as sources
from scripts.dev.console import INTERRUPTED, ROOT, DevError, Words, call, call_or_fail, say
from scripts.dev.environment import (
    PROFILE,
    PYTHON,
    VENV,
    ensure_built,
    ensure_environment,
    environment,
    processors,
)
from scripts.dev.peers import ensure_peers
from scripts.dev.toolchain import find_tool, require_all, require_rust

Args = Sequence[str]
_PYTHON_SOURCES = ("dev.py", "scripts", "python", "tests", "benches", "examples")
_HOW_TO_CALL = "`python3 dev.py shell` or `. .venv/bin/activate` makes `cloakwork` a command"
# Tests of large parameters take some gigabytes each.
_TEST_PROCESSES = 4
_ALL = "--all"
_CLANG_SOURCES = ("*.cc", "*.h", "*.cu", "*.cuh")


def demo(args: Args) -> int:
    """Build, then run a demo: digits, or the one named (merkle, dot, sharpen)."""
    ensure_built(locks.DEMO)
    named = args[:1] if args and not args[0].startswith("-") else ["digits"]
    rest = args[1:] if args and not args[0].startswith("-") else args
    status = call([VENV / "bin" / "cloakwork", "demo", *named, *rest], environment())
    if status == 0:
        say(_HOW_TO_CALL)
    return status


def test(args: Args) -> int:
    """Build, then run every test, with --all large cases too; with other words, pytest alone."""
    ensure_built()
    if args and list(args) != [_ALL]:
        return call([PYTHON, "-m", "pytest", *args], environment())
    say("Rust's tests")
    large = {"CLOAKWORK_TEST_ALL": "1"} if args else {}
    rust_tests.run(require_rust(), PROFILE, environment() | large)
    say("Python's tests")
    processes = min(processors(), _TEST_PROCESSES)
    # Tests of a file have fixtures in common.
    spread = ["-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder"]
    # A gate gives one answer; a random order is for those who look for what tests share.
    spread += [] if args else ["--order-seed", "file"]
    return call([PYTHON, "-m", "pytest", "tests", "-q", *spread, *args], environment())


def setup(args: Args) -> int:
    """Make .venv, install the requirements, build the extension into it."""
    _refuse(args, "setup")
    require_all()
    ensure_built()
    say(f"ready: {_relative(VENV)}/bin/cloakwork, {_relative(PYTHON)}")
    say(_HOW_TO_CALL)
    return 0


def shell(args: Args) -> int:
    """Open a shell in which `cloakwork` is a command; with arguments, run only these."""
    ensure_built(locks.DEMO)
    command = list(args) or [os.environ.get("SHELL") or "/bin/sh"]
    if not args:
        say(f"{command[0]} with `cloakwork` and its `python` on the path; `exit` leaves it")
    sys.stdout.flush()
    env = environment()
    os.chdir(ROOT)
    try:
        # The shell replaces this process, so that it owns Ctrl-C and the terminal.
        os.execvpe(command[0], command, env)
    except OSError as error:
        raise DevError(f"cannot start {command[0]}: {error.strerror}") from None


def check(args: Args) -> int:
    """Lint, check types, formatting and generated files; change nothing."""
    _refuse(args, "check")
    ensure_environment()
    cargo = require_rust()
    python = _existing(_PYTHON_SOURCES)
    # Those that leave cores idle run beside those that compile.
    small: list[tuple[str, Words]] = [
        ("ruff check", [VENV / "bin" / "ruff", "check", *python]),
        ("ruff format", [VENV / "bin" / "ruff", "format", "--check", *python]),
        ("mypy", [PYTHON, "-m", "mypy"]),
        ("cargo fmt", [cargo, "fmt", "--all", "--check"]),
    ]
    large: list[tuple[str, Words]] = [
        ("cargo clippy", _clippy(cargo)),
        ("generated files", _generate(cargo, ["--check"])),
    ]
    clang_format = _clang_format("--dry-run", "--Werror")
    if clang_format:
        small.append(("clang-format", clang_format))
    if find_tool("cargo-deny"):  # its rules are held by tests/tidy, too: it compiles for minutes
        rules: Words = [cargo, "deny", "--offline", "check", "licenses", "bans", "sources"]
        large.append(("cargo deny", rules))
    with ThreadPoolExecutor(1) as beside:
        passing = [(name, beside.submit(_passes, name, command)) for name, command in small]
        failed = []
        for name, command in large:
            say(name)
            if call(command, environment()) != 0:
                failed.append(name)
    failed += [name for name, passed in passing if not passed.result()]
    count = len(small) + len(large)
    if failed:
        hint = "`dev.py fix` formats, `dev.py gen` regenerates"
        raise DevError(f"{len(failed)} of {count} failed: {', '.join(failed)}; {hint}", 1)
    say(f"all {count} checks pass")
    return 0


def _passes(name: str, command: Words) -> bool:
    """Run a check, and show at once what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    say("\n".join([name, *(part.strip() for part in (done.stdout, done.stderr) if part.strip())]))
    return done.returncode == 0


def fix(args: Args) -> int:
    """Format all, apply the lints' safe corrections; --snapshots accepts what tests pin."""
    if list(args) == ["--snapshots"]:
        return _accept_snapshots(require_rust())
    if args:
        raise DevError(f"fix takes --snapshots or no argument, got: {' '.join(args)}")
    ensure_environment()
    cargo = require_rust()
    python = _existing(_PYTHON_SOURCES)
    # `check` reports findings that need a human.
    call_or_fail([VENV / "bin" / "ruff", "check", "--fix", "--exit-zero", *python], environment())
    call_or_fail([VENV / "bin" / "ruff", "format", *python], environment())
    call_or_fail([cargo, "fmt", "--all"], environment())
    clang_format = _clang_format("-i")
    if clang_format:
        call_or_fail(clang_format)
    return 0


def _accept_snapshots(cargo: str) -> int:
    """Rewrite the expectations after programs under tests, and the plans beside them."""
    scope = ["--locked", *rust_tests.SCOPE, "--profile", PROFILE, "--quiet"]
    env = {**environment(), "UPDATE_EXPECT": "1"}
    call_or_fail([cargo, "test", *scope, "--test", "programs", "--test", "passes"], env)
    say("expectations are rewritten: review `git diff tests`")
    return 0


def gen(args: Args) -> int:
    """Rewrite the generated files; with --check, fail if they are stale."""
    if list(args) not in ([], ["--check"]):
        raise DevError(f"gen takes --check or no argument, got: {' '.join(args)}")
    return call(_generate(require_rust(), args), environment())


def lock(args: Args) -> int:
    """Lock what builds and tests install; --upgrade [NAME...] takes newer Python packages."""
    locks.renew(args)
    return 0


def notices(args: Args) -> int:
    """Write THIRD-PARTY-NOTICES.txt, of the crates in the library, after these changed."""
    _refuse(args, "notices")
    notices_of_crates.write()
    return 0


def bench(args: Args) -> int:
    """Build, then run the benchmarks; --json FILE, --against BUILD, --compare A.json B.json."""
    if not {"--compare", "-h", "--help"}.isdisjoint(args):
        ensure_environment()
    else:
        ensure_built()
        if _wants_peers(args):
            ensure_peers()
    return call([PYTHON, ROOT / "benches" / "run.py", *args], environment())


def fuzz(args: Args) -> int:
    """Run the seeded fuzz loops (--seeds N, --start S) over programs and all readers of files."""
    cargo = require_rust()
    ensure_built()
    call_or_fail(_binary(cargo, "fuzz", args), environment())
    return call([PYTHON, "-m", "scripts.dev.fuzz_files", *args], environment())


def sanitize(args: Args) -> int:
    """Run all tests that call kernels under AddressSanitizer and UndefinedBehaviorSanitizer."""
    _refuse(args, "sanitize")
    return sanitizers.sanitize()


def matrix(args: Args) -> int:
    """Run the build under every supported Python here; check kernels and crates for aarch64."""
    ensure_built()
    return matrices.run(args)


def cuda(args: Args) -> int:
    """Compile the CUDA kernels, all or those named; `cuda check` runs them on this processor.

    `cuda --toolkit FOLDER` makes them anew in a folder of `gpu-stage`, by the nvcc on the path.
    """
    if list(args) == ["check"]:
        ensure_built()
        cuda_shim.check()
        cuda_driver.check()
    elif args and args[0] == "--toolkit":
        if len(args) < 2:
            raise DevError("cuda --toolkit takes a folder of `dev.py gpu-stage`, and modules")
        stage.rebuild(Path(args[1]).resolve(), args[2:])
    else:
        kernels.build(args)
        say("cuda: `dev.py setup` and `dev.py wheel` embed them")
    return 0


def gpu_stage(args: Args) -> int:
    """Make the folder that `gpu-check` takes to a machine with a GPU: target/gpu, or another."""
    return stage.run(args)


def gpu_check(args: Args) -> int:
    """Check and measure a GPU: --built FOLDER of `gpu-stage`, --out DIR, --only PART."""
    return gpu.run(args)


def sdist(args: Args) -> int:
    """Make the source distribution; check that it has every file that the build read."""
    _refuse(args, "sdist")
    ensure_built()
    sources.check()
    return 0


def release_check(args: Args) -> int:
    """Run what a release needs beyond the gate, all or the parts named; note what passed."""
    return releases.run(args)


def wheel(args: Args) -> int:
    """Build the wheel with full optimisation into dist/, for glibc 2.28 and newer."""
    ensure_environment(locks.DEMO)
    require_all()
    say(f"the wheel is built {kernels.what_builds_hold()}")
    dist = ROOT / "dist"
    link = glibc.link_arguments()
    options: Words = ["--locked", "--release", "--out", dist, *args]
    maturin: Words = [VENV / "bin" / "maturin", "build", *options]
    env = {**environment(), "CLOAKWORK_BUILD_ISA": "all"}
    status = call([*maturin, "--", *link] if link else maturin, env)
    if status == 0 and link:
        say(f"{glibc.check_wheels(dist)} needs glibc 2.28 or newer")
    return status


@dataclass(frozen=True)
class Command:
    """A word of the command line and its action."""

    name: str
    run: Callable[[Args], int]

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.run.__doc__ or "").strip().splitlines()[0]


_FUNCTIONS = (
    demo, test, setup, shell, check, fix, gen, lock, notices, bench, fuzz, sanitize, matrix, cuda,
    gpu_stage, gpu_check, sdist, wheel, release_check,
)  # fmt: skip
COMMANDS = tuple(Command(function.__name__.replace("_", "-"), function) for function in _FUNCTIONS)


def main(argv: Args) -> int:
    """Run one command; return its exit status. Expected failures are messages, not tracebacks."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0 if argv else 2
    command = next((command for command in COMMANDS if command.name == argv[0]), None)
    if command is None:
        print(f"dev.py: no command named {argv[0]}\n\n{_usage()}", file=sys.stderr)
        return 2
    if argv[1:] in (["-h"], ["--help"]):
        print(f"python3 dev.py {command.name}: {command.summary}")
        return 0
    try:
        return command.run(argv[1:])
    except DevError as error:
        sys.stdout.flush()
        print(f"dev.py: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("dev.py: interrupted", file=sys.stderr)
        return INTERRUPTED


def _usage() -> str:
    lines = [f"  {command.name:<13}  {command.summary}" for command in COMMANDS]
    return "\n".join(["usage: python3 dev.py COMMAND [ARGUMENTS]", "", *lines])


def _refuse(args: Args, command: str) -> None:
    if args:
        raise DevError(f"{command} takes no arguments, got: {' '.join(args)}")


def _existing(names: Sequence[str]) -> list[str]:
    return [name for name in names if (ROOT / name).exists()]


def _relative(path: Path) -> Path:
    return path.relative_to(ROOT)


def _wants_peers(args: Args) -> bool:
    """Whether a call of the benchmarks includes the one whose peers pip installs."""
    takes_value = ("--json", "--repeat", "--against")
    before = ["", *args]
    words = [word for last, word in zip(before, args, strict=False) if last not in takes_value]
    names = [word for word in words if not word.startswith("-")]
    return "--against" not in args and (not names or "fhe" in names)


def _clippy(cargo: str) -> Words:
    scope = ["--locked", "--workspace", "--all-targets", "--profile", PROFILE, "--quiet"]
    return [cargo, "clippy", *scope, "--", "-D", "warnings"]


def _generate(cargo: str, args: Args) -> Words:
    return _binary(cargo, "gen", args)


def _binary(cargo: str, name: str, args: Args) -> Words:
    """Return the call of one of the developer's programs in crates/testing."""
    package = ["-p", "cloakwork-testing", "--bin", name, "--profile", PROFILE]
    return [cargo, "run", "--locked", "--quiet", *package, "--", *args]


def _clang_format(*options: str) -> Words | None:
    """Return the call of clang-format over C++ and CUDA, or say that it is not installed."""
    found = shutil.which("clang-format")
    if found is None:
        say("clang-format is not installed: C++ formatting is left as it is")
        return None
    trees = [ROOT / tree for tree in ("csrc", "cuda", "tests/portable")]
    files = sorted(path for tree in trees for glob in _CLANG_SOURCES for path in tree.rglob(glob))
    return [found, *options, *files]
