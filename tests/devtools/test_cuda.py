"""`dev.py cuda`: what it refuses after ptxas, and the digest by which builds know fatbins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.dev import cuda
from scripts.dev.console import DevError

SAID = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'cw_ntt_i64_cuda' for 'sm_90'
ptxas info    : Function properties for cw_ntt_i64_cuda
    0 bytes stack frame, {spills} bytes spill stores, 8 bytes spill loads
ptxas info    : Used 58 registers, used 1 barriers
ptxas info    : Function properties for helper
    {frame} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
TUNED = cuda.Module("ntt", Path("cuda/kernels/ntt/ntt.cu"))
UNITS = cuda.Module("words", Path("cuda/kernels/words/units.cu"))


def test_registers_frames_and_spills_are_read_from_what_ptxas_says() -> None:
    found = list(cuda.resources(SAID.format(spills=4, frame=96)))
    assert found == [
        cuda.Resources("cw_ntt_i64_cuda", registers=58, frame=0, spills=12),
        cuda.Resources("helper", registers=0, frame=96, spills=0),
    ]


def test_spills_of_tuned_kernels_and_large_frames_are_refused() -> None:
    spilling = list(cuda.resources(SAID.format(spills=4, frame=96)))
    cuda.refuse_waste(UNITS, spilling)
    with pytest.raises(DevError, match="cw_ntt_i64_cuda: spills 12 bytes"):
        cuda.refuse_waste(TUNED, spilling)
    large = list(cuda.resources(SAID.format(spills=0, frame=cuda.FRAME_BYTES + 8)))
    with pytest.raises(DevError, match=f"helper: a frame of {cuda.FRAME_BYTES + 8} bytes"):
        cuda.refuse_waste(UNITS, large)
    with pytest.raises(DevError, match="ptxas says nothing of its functions"):
        cuda.refuse_waste(UNITS, [])


def test_every_source_is_a_module_of_its_own_name() -> None:
    names = [module.name for module in cuda.modules()]
    assert {"words", "ntt", "msm"} <= set(names)
    assert len(set(names)) == len(names)


def test_an_unknown_module_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DevError, match=r"modules are contents, .* got nonesuch"):
        cuda.build(["nonesuch"])


def test_the_digest_changes_with_a_byte_and_with_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "ROOT", tmp_path)
    for folder in cuda.SOURCES:
        (tmp_path / folder).mkdir()
    file = tmp_path / "cuda" / "a.cu"
    file.write_text("x")
    # FNV-1a of "cuda/a.cux", as build.rs computes it.
    assert cuda.digest() == "105ac4ac5837c0f4"
    file.write_text("y")
    changed = cuda.digest()
    os.rename(file, tmp_path / "cuda" / "b.cu")
    assert len({changed, cuda.digest(), "105ac4ac5837c0f4"}) == 3
