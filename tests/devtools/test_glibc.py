"""Wheels that older systems load: linked against an old C library."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.dev import glibc
from scripts.dev.console import ROOT, DevError
from scripts.dev.toolchain import find_tool

LISTING = """
     5: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND pthread_create@GLIBC_2.34 (4)
     6: 0000000000000000     0 FUNC    WEAK   DEFAULT  UND gettid@GLIBC_2.30 (7)
     7: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND free@GLIBC_2.2.5 (2)
     8: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__
   101: 0000000000084b30   100 FUNC    GLOBAL DEFAULT   16 hypot@@GLIBC_2.35
   102: 0000000000084a30    90 FUNC    GLOBAL DEFAULT   16 hypot@GLIBC_2.2.5
   103: 00000000001d2680     8 OBJECT  GLOBAL DEFAULT   33 stdout@@GLIBC_2.2.5
   104: 0000000000012340    12 FUNC    GLOBAL DEFAULT   16 secret@@GLIBC_PRIVATE
   105: 0000000000084b30   100 FUNC    GLOBAL DEFAULT   16 fresh@@GLIBC_2.36
"""
on_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or shutil.which("readelf") is None,
    reason="there is no glibc here, or no readelf",
)


def test_what_is_too_new_is_found_and_what_is_weak_let_be() -> None:
    found = list(glibc.symbols(LISTING))
    assert [(s.name, s.node) for s in glibc.too_new(found)] == [("pthread_create", "GLIBC_2.34")]


def test_of_each_function_the_newest_old_version_is_taken() -> None:
    kept = glibc.as_it_was(glibc.symbols(LISTING))
    assert {name: symbol.node for name, symbol in kept.items()} == {
        "hypot": "GLIBC_2.2.5",
        "stdout": "GLIBC_2.2.5",
    }
    assert kept["stdout"].is_data
    assert kept["stdout"].size == 8


_LIBRARY = """
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <dlfcn.h>
static void* work(void* value) { return value; }
long size_of(const char* path) { struct stat64 s; return stat64(path, &s) ? -1 : s.st_size; }
double length(double a, double b) { return hypot(a, b) + exp(0 * a) - pow(b, 0); }
int threads(void) {
  pthread_t thread;
  return pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0) || !dlsym(0, "malloc");
}
"""
_CALLS = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
library.length.restype = ctypes.c_double
library.length.argtypes = [ctypes.c_double, ctypes.c_double]
library.size_of.restype = ctypes.c_long
print(library.length(3, 4), library.threads())
print(library.size_of(sys.argv[1].encode()) == os.stat(sys.argv[1]).st_size)
"""


@on_glibc
def test_a_library_that_is_linked_so_needs_nothing_new_and_works(tmp_path: Path) -> None:
    words = [str(word) for word in glibc.link_arguments()]
    arguments = [word.removeprefix("link-arg=") for word in words if word != "-C"]
    (tmp_path / "a.c").write_text(_LIBRARY)
    made = tmp_path / "a.so"
    command = ["cc", "-shared", "-fPIC", "-fno-builtin", str(tmp_path / "a.c"), "-o", str(made)]
    subprocess.run([*command, *arguments, "-lm", "-lpthread", "-ldl"], check=True)
    needed = glibc.listed(made)
    assert {"hypot", "pthread_create", "dlsym"} <= {symbol.name for symbol in needed}
    assert glibc.too_new(needed) == []
    done = subprocess.run(
        [sys.executable, "-c", _CALLS, str(made)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "5.0 0\nTrue\n"


_RUST = """
#[unsafe(no_mangle)]
pub extern "C" fn probe(a: f64, b: f64) -> f64 {
    let waited = std::thread::Builder::new().name("w".into()).stack_size(1 << 20);
    let sum = waited.spawn(move || a.hypot(b) + a.exp().ln() + a.powf(b).log2()).unwrap();
    let size = std::fs::metadata("/proc/self").is_ok() && std::fs::symlink_metadata("/").is_ok();
    sum.join().unwrap() + f64::from(u8::from(size))
}
"""
_PROBE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.probe.restype = ctypes.c_double
library.probe.argtypes = [ctypes.c_double, ctypes.c_double]
print(library.probe(3, 4))
"""


@on_glibc
def test_a_library_of_rust_needs_nothing_new_and_works(tmp_path: Path) -> None:
    rustc = find_tool("rustc")
    if rustc is None:
        pytest.skip("rustc is not installed")
    (tmp_path / "a.rs").write_text(_RUST)
    made = tmp_path / "a.so"
    command = [rustc, "--edition=2024", "--crate-type=cdylib", "-O", str(tmp_path / "a.rs")]
    words = [str(word) for word in glibc.link_arguments()]
    subprocess.run([*command, "-o", str(made), *words], check=True)
    needed = glibc.listed(made)
    assert {"pthread_create", "__xstat64", "hypot"} & {symbol.name for symbol in needed}
    assert glibc.too_new(needed) == []
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(made)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(5 + 3 + 6.339850002884624 + 1)


@on_glibc
def test_the_extension_needs_nothing_that_was_not_there() -> None:
    extension = ROOT / "python" / "cloakwork" / "_core.abi3.so"
    was = glibc.LATER_NAMES.union(
        *(glibc.as_it_was(glibc.listed(glibc._library(name))) for name in glibc._LIBRARIES)
    )
    new = {symbol.name for symbol in glibc.too_new(glibc.listed(extension))}
    assert new - was == set()


@on_glibc
def test_a_wheel_that_needs_something_new_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <pthread.h>\nvoid* p = (void*)pthread_create;\n")
    subprocess.run(
        ["cc", "-shared", "-fPIC", str(tmp_path / "a.c"), "-o", str(tmp_path / "a.so")], check=True
    )
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.write(tmp_path / "a.so", "a.so")
    if not glibc.too_new(glibc.listed(tmp_path / "a.so")):
        pytest.skip("this machine's own C library is old enough")
    with pytest.raises(
        DevError, match=r"a\.so needs more than glibc 2\.28: pthread_create@GLIBC_2"
    ):
        glibc.check_wheels(tmp_path)
