"""Kernels only compute over raw pointers: in their source and in the built objects."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tidy import tree
from tidy.kernel_layer import source_findings, symbol_findings

# Part of vendors' drivers, which allocate: no kernel includes it.
KIT = "csrc/include/cloakwork/simple_device.h"
SOURCES = list(tree.files(".cc", ".h", ".inc", ".cu", ".cuh", under="csrc/"))
KERNELS = [path for path in SOURCES if tree.relative(path) != KIT]
# Objects are named by their source, `<isa>.cc`; kernels end in `_<isa>`.
ISA_SUFFIXES = ("_portable", "_scalar", "_avx2", "_avx512", "_avx512ifma", "_neon")


def archives() -> list[Path]:
    """Return the archives of the newest build of the kernels in each Cargo profile."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    newest: dict[Path, Path] = {}
    for folder in (tree.ROOT / target).glob("*/build/cloakwork-csrc-*/out"):
        found = newest.get(folder.parents[1])
        if any(folder.glob("*.a")) and (found is None or _time(found) < _time(folder)):
            newest[folder.parents[1]] = folder
    return [archive for folder in newest.values() for archive in sorted(folder.glob("*.a"))]


def _time(folder: Path) -> float:
    return max(archive.stat().st_mtime for archive in folder.glob("*.a"))


def test_no_kernel_includes_the_kit_of_drivers() -> None:
    name = Path(KIT).name
    assert [path for path in KERNELS if f"/{name}" in tree.text(path)] == []


@pytest.mark.parametrize("path", KERNELS, ids=tree.relative)
def test_kernels_neither_allocate_nor_throw_nor_print(path: Path) -> None:
    assert source_findings(tree.text(path)) == []


@pytest.mark.parametrize(
    "line",
    [
        "#include <vector>",
        "#include <Python.h>",
        '#include "Python.h"',
        "  #  include <string>",
        "auto* p = malloc(8);",
        "auto* p = new int[3];",
        "delete p;",
        "throw 1;",
        'printf("%d", 1);',
        "std::thread worker;",
        "static thread_local int scratch;",
        "#pragma omp parallel for",
        "if (n == 0) abort();",
        "if (__builtin_cpu_supports(level)) {}",
    ],
)
def test_each_trespass_in_a_source_is_found(line: str) -> None:
    assert [finding[:7] for finding in source_findings(f"int a;\n{line}\n")] == ["line 2:"]


def test_what_kernels_may_say_passes() -> None:
    source = """
#include <immintrin.h>
#include <stdint.h>
#include "cloakwork/abi.h"
// Writes new values; the caller frees them with free(p), and prints with printf().
struct Reducer {
  Reducer(const Reducer&) = delete;
};
static uint64_t renewed(uint64_t free_slots) { return free_slots; }
"""
    assert source_findings(source) == []


def test_the_built_kernels_import_nothing_and_export_only_themselves() -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not installed")
    built = archives()
    assert built, "the kernels are not built: run python3 dev.py setup first"
    listing = subprocess.run(
        [nm, *map(str, built)], capture_output=True, text=True, check=True
    ).stdout
    assert "cw_cpu_kernels" in listing, "the table of kernels is missing from the archives"
    assert symbol_findings(listing, ISA_SUFFIXES) == []


def test_a_template_with_external_linkage_is_found_in_a_real_object(tmp_path: Path) -> None:
    nm, compiler = shutil.which("nm"), shutil.which("c++")
    if nm is None or compiler is None:
        pytest.skip("nm or c++ is not installed")
    template = "template <class V> {} V Twice(V a) {{ return a + a; }}\n"
    kernel = 'extern "C" void cw_twice(long* a) { *a = Twice(*a); }\n'
    found = {}
    for linkage in ("static", "inline"):
        source = tmp_path / f"{linkage}.cc"
        source.write_text(template.format(linkage) + kernel)
        target = source.with_suffix(".o")
        subprocess.run([compiler, "-O0", "-c", source, "-o", target], check=True)
        answer = subprocess.run([nm, target], capture_output=True, text=True, check=True)
        found[linkage] = symbol_findings(answer.stdout, ISA_SUFFIXES)
    assert found["static"] == []
    assert found["inline"] == ["weak symbol _Z5TwiceIlET_S0_: give it internal linkage"]


def test_each_trespass_in_an_object_is_found() -> None:
    listing = """
x86_avx2.o:
0000000000000000 T add_avx2
0000000000000010 T cw_cpu_kernels
0000000000000020 t _ZL7Reducedm
                 U memcpy
                 U add_avx2
"""
    assert symbol_findings(listing, ISA_SUFFIXES) == []
    bad = (
        listing
        + """
0000000000000000 W _ZN2cw6ReduceEm
0000000000000000 V _ZTI3Foo
0000000000000000 T _ZN2cw3AddEm
0000000000000000 T helper
                 U malloc
                 U _Znwm
                 U pthread_create
                 U GOMP_parallel
"""
    )
    found = symbol_findings(bad, ISA_SUFFIXES)
    assert [finding.split(":")[0].split(",")[0] for finding in found] == [
        "exports _ZN2cw3AddEm",
        "exports helper",
        "needs GOMP_parallel",
        "needs _Znwm",
        "needs malloc",
        "needs pthread_create",
        "weak symbol _ZN2cw6ReduceEm",
        "weak symbol _ZTI3Foo",
    ]
