"""The crates: which may hold `unsafe`, and which may know which."""

from __future__ import annotations

import re
from typing import Any

from tidy.tree import code_only

UNSAFE_ALLOWED = {"csrc", "kernels", "devices", "run", "wasm", "py", "extension"}
FORBID_UNSAFE = "#![forbid(unsafe_code)]"
# A crate that needs `unsafe` in one file denies it, and allows it in that file alone.
UNSAFE_FILES = {
    "conformance": "crates/conformance/tests/planted/mod.rs",
    "formats": "crates/formats/src/files/mapping.rs",
    "process": "crates/process/src/fork.rs",
}
DENY_UNSAFE = "#![deny(unsafe_code)]"

# Where files are opened and written: those of users in one folder, a run's own in one file.
# The facts of Linux about the machine are read in one more.
FILES = (
    "crates/formats/src/files/",
    "crates/run/src/memory/spill_file.rs",
    "crates/devices/src/machine/linux.rs",
    "crates/testing/",
)
_FILE_CALLS = re.compile(
    r"\b(?:File::(?:open|create\w*|options)|OpenOptions::new|Mmap(?:Options)?::(?:map|new)"
    r"|fs::(?:read\w*|write|rename|copy|hard_link|remove_file|set_permissions))\b"
)

# Where Rust depends on the architecture: features of processors, and the clearing of registers.
ARCHITECTURES = ["crates/kernels/src/isa.rs", "crates/run/src/memory/wiping.rs"]
_ARCHITECTURE = re.compile(r"\b(?:target_arch|(?:std|core)::arch)\b")

# Where `py` reads the elements of tensors itself: those of a mapped file may be gone.
ELEMENTS = "crates/py/src/contents.rs"
_ELEMENT_CALLS = re.compile(
    r"\.(?:copy_to_host|own_copy|assign|freeze)\(|\bstorage\(\)\s*\.as_ref\(\)"
)

# Crates that each crate may list in [dependencies]: algebra <- ir <- ops <- verify <- passes <-
# plan <- run <- py. A reader of files does not need the meaning of ops, so formats depends on ir
# only; `instructions` maps a file's instructions to ops. Tracing works on existing tensors.
_ENGINE = {"ir", "ops", "formats", "instructions", "verify", "passes", "plan", "run", "kernels"}
MAY_DEPEND_ON: dict[str, set[str]] = {
    "process": set(),
    "algebra": set(),
    "ir": {"algebra", "process"},
    "library": {"algebra", "process"},
    "kernels": {"process", "ir", "library"},
    "ops": {"process", "ir", "library"},
    "formats": {"process", "ir"},
    "instructions": {"ir", "ops", "formats"},
    "verify": {"process", "ir", "ops"},
    "devices": {"process", "ir", "kernels"},
    "passes": {"process", "ir", "ops", "verify"},
    "plan": {"ir", "ops", "verify", "passes", "kernels", "devices"},
    "run": {"process", "ir", "ops", "verify", "plan", "kernels", "devices"},
    "trace": {"process", "ir", "ops", "verify", "run", "kernels"},
    "conformance": {"ir", "ops", "verify", "plan", "run", "kernels", "devices"},
    "wasm": set(),
    "py": {*_ENGINE, "process", "devices", "library", "trace", "conformance", "wasm"},
    "csrc": set(),
    "extension": {"py", "csrc"},
    "testing": {*_ENGINE, "devices", "conformance", "csrc"},
}
_PREFIX = "cloakwork-"

# Locks of the standard library stay held in a forked child if the parent's other threads hold them:
# `process` has safe ones. These locks belong to one run, or to one traced function, which the child
# does not continue; the first are those of devices, which a child opens again.
OWN_LOCKS = (
    "crates/devices/src/isolate/",
    "crates/devices/src/sim/",
    "crates/process/src/",
    "crates/py/src/functions.rs",
    "crates/run/src/exec/devices.rs",
    "crates/trace/src/recording.rs",
    "crates/run/src/schedule/",
    "crates/run/src/tests/schedule.rs",
    "crates/run/src/share.rs",
    "crates/run/src/tests/share.rs",
    "crates/run/src/sync.rs",
)
# Crates that may use rayon's threads: its own pool does not exist in a forked child.
MAY_NAME_RAYON = {"process", "run"}
_LOCK = re.compile(r"\b(Mutex|RwLock|OnceLock|LazyLock|LazyCell|Condvar|Barrier|Once)\b")
_SYNC = re.compile(r"\bstd::sync::(\{[^}]*\}|\w+)")


def unsafe_lines(source: str) -> list[int]:
    """Return the numbers of the lines with the keyword `unsafe`, comments and strings aside."""
    lines = code_only(source).splitlines()
    return [number for number, line in enumerate(lines, 1) if re.search(r"\bunsafe\b", line)]


def file_lines(source: str) -> list[int]:
    """Return the numbers of the lines that open, write or map files, tests aside."""
    code = code_only(source).split("#[cfg(test)]", maxsplit=1)[0]
    lines = code.splitlines()
    return [number for number, line in enumerate(lines, 1) if _FILE_CALLS.search(line)]


def architecture_lines(source: str) -> list[int]:
    """Return the numbers of the lines that are for one architecture, tests aside."""
    code = code_only(source).split("#[cfg(test)]", maxsplit=1)[0]
    lines = code.splitlines()
    return [number for number, line in enumerate(lines, 1) if _ARCHITECTURE.search(line)]


def element_lines(source: str) -> list[int]:
    """Return the numbers of the lines that read a tensor's elements."""
    lines = code_only(source).splitlines()
    return [number for number, line in enumerate(lines, 1) if _ELEMENT_CALLS.search(line)]


def lock_findings(path: str, source: str) -> list[str]:
    """Return the locks of the standard library that a file of the engine names."""
    if path.startswith(OWN_LOCKS):
        return []
    named = _SYNC.findall(code_only(source))
    return [lock for names in named for lock in _LOCK.findall(names)]


def dependency_findings(crate: str, manifest: dict[str, Any]) -> list[str]:
    """Return the edges that point the wrong way. Tests of any crate may use these two."""
    if crate not in MAY_DEPEND_ON:
        return [f"crate {crate} has no row in MAY_DEPEND_ON: decide what it may know"]
    allowed = MAY_DEPEND_ON[crate]
    findings = []
    tables = [manifest, *manifest.get("target", {}).values()]
    for table in tables:
        for section in ("dependencies", "build-dependencies", "dev-dependencies"):
            tests_only = {"testing", "csrc"} if section == "dev-dependencies" else set()
            for name in sorted(_own_crates(table.get(section, {})) - allowed - tests_only):
                findings.append(f"{crate} may not depend on {name} ({section})")
    return findings


def _own_crates(dependencies: dict[str, Any]) -> set[str]:
    names = set()
    for key, value in dependencies.items():
        package = value.get("package", key) if isinstance(value, dict) else key
        if package.startswith(_PREFIX):
            names.add(package.removeprefix(_PREFIX))
    return names
