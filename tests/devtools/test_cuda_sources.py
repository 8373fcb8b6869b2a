"""Sources of CUDA modules: the digest of all, by which builds know fatbins, and of one module."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.dev import cuda, cuda_sources
from scripts.dev.console import ROOT, DevError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root whose folders of sources are empty."""
    monkeypatch.setattr(cuda_sources, "ROOT", tmp_path)
    for folder in cuda_sources.FOLDERS:
        (tmp_path / folder).mkdir()
    return tmp_path


def test_the_digest_changes_with_a_byte_and_with_a_name(tree: Path) -> None:
    file = tree / "cuda" / "a.cu"
    file.write_text("x")
    # FNV-1a of "cuda/a.cux", as build.rs computes it.
    assert cuda_sources.digest() == "105ac4ac5837c0f4"
    file.write_text("y")
    changed = cuda_sources.digest()
    os.rename(file, tree / "cuda" / "b.cu")
    assert len({changed, cuda_sources.digest(), "105ac4ac5837c0f4"}) == 3


def test_a_module_is_of_the_files_that_it_includes_and_of_its_options(tree: Path) -> None:
    main, first, second = (tree / name for name in ("cuda/a.cu", "csrc/first.h", "csrc/second.h"))
    main.write_text('#include <stdint.h>\n#if 0\n  # include "first.h"\n#endif\n')
    first.write_text("#include <second.h>\n")
    second.write_text("")
    (tree / "csrc" / "other.h").write_text("")

    def digest(how: str = "-O3") -> str:
        return cuda_sources.digest_of(main, [tree / "cuda", tree / "csrc"], [], how)

    assert cuda_sources.files_of([main], [tree / "csrc"]) == {main, first, second}
    before = digest()
    (tree / "csrc" / "other.h").write_text("changed")
    assert digest() == before
    second.write_text("changed")
    after = digest()
    # A file that is found before another takes its place.
    (tree / "cuda" / "second.h").write_text("changed")
    assert len({before, after, digest(), digest("-O1")}) == 4


def test_an_include_whose_file_only_the_compiler_knows_is_refused(tree: Path) -> None:
    (tree / "cuda" / "a.cu").write_text("#include FILE_OF(a)\n")
    with pytest.raises(DevError, match=r"cuda/a\.cu: `#include FILE_OF\(a\)` hides a file"):
        cuda_sources.files_of([tree / "cuda" / "a.cu"], [])


def test_a_header_of_some_modules_concerns_these_alone() -> None:
    folders = [ROOT / folder for folder in cuda._INCLUDES]
    header = ROOT / "cuda" / "kernels" / "spaces.cuh"
    readers = {
        module.name
        for module in cuda.modules()
        if header in cuda_sources.files_of([module.source], folders)
    }
    assert readers == {"elementwise", "modular", "rns", "words"}
