"""`dev.py cuda`: what it refuses after ptxas, and which modules it makes again."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from scripts.dev import commands, cuda, cuda_sources, nvrtc
from scripts.dev.console import ROOT, DevError

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


def said(spills: int, frame: int) -> list[cuda.Resources]:
    """What ptxas says on the first target, and of no spills on the others."""
    first, *others = cuda.TARGETS
    text = SAID.replace("8 bytes spill loads", "{loads} bytes spill loads")
    clean = text.format(spills=0, loads=0, frame=frame)
    spilling = text.format(spills=spills, loads=8 if spills else 0, frame=frame)
    found = [*cuda.resources(spilling, first)]
    return found + [one for other in others for one in cuda.resources(clean, other)]


def test_registers_frames_and_spills_are_read_from_what_ptxas_says() -> None:
    found = list(cuda.resources(SAID.format(spills=4, frame=96), 90))
    assert found == [
        cuda.Resources(90, "cw_ntt_i64_cuda", registers=58, frame=0, spills=12),
        cuda.Resources(90, "helper", registers=0, frame=96, spills=0),
    ]


def test_builtin_functions_of_the_kernels_have_names_of_cuda() -> None:
    """`release-check` compiles all modules; what NVRTC would not know shows here."""
    text = (ROOT / "cuda" / "libc" / "builtins.h").read_text()
    made = re.findall(r"CW_BUILTIN\((\w+)\)\n", text)
    known = set(re.findall(r"__builtin_\w+", text))
    known |= {f"__builtin_{name}{single}" for name in made for single in ("", "f")}
    # NVRTC has the first; the others are of complex rows and of vectors, which GPUs lack.
    known |= {"__builtin_bit_cast", "__builtin_c", "__builtin_cpow", "__builtin_shufflevector"}
    used = {
        name
        for folder in ("csrc", "cuda")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".h", ".cu", ".cuh") and not {"simd", "shim"} & set(path.parts)
        for name in re.findall(r"__builtin_\w+", path.read_text())
    }
    assert len(used) > 20
    assert used - known == set()


def test_a_function_that_would_call_itself_for_ever_is_refused() -> None:
    text = """.visible .entry cw_sign_c64_cuda(
\t.param .u64 cw_sign_c64_cuda_param_0
)
{
$L__BB1_2:
\tbra.uni \t$L__BB1_2;
}
"""
    with pytest.raises(
        DevError, match="words: a loop without an end, at or behind cw_sign_c64_cuda"
    ):
        cuda.refuse_endless(UNITS, text)
    cuda.refuse_endless(UNITS, text.replace("bra.uni \t$L__BB1_2", "bra.uni \t$L__BB1_3"))


def test_spills_of_tuned_kernels_and_large_frames_are_refused() -> None:
    spilling = said(spills=4, frame=96)
    cuda.refuse_waste(UNITS, spilling)
    with pytest.raises(DevError, match="cw_ntt_i64_cuda on sm_80: spills 12 bytes"):
        cuda.refuse_waste(TUNED, spilling)
    in_memory = [cuda.Resources(target, "points", 255, 1600, 100) for target in cuda.TARGETS]
    cuda.refuse_waste(TUNED, in_memory)
    in_memory[0] = cuda.Resources(80, "points", 255, 1600, 101)
    with pytest.raises(DevError, match="points on sm_80: spills 101 bytes"):
        cuda.refuse_waste(TUNED, in_memory)
    large = said(spills=0, frame=cuda.FRAME_BYTES + 8)
    with pytest.raises(DevError, match=f"helper on sm_90: a frame of {cuda.FRAME_BYTES + 8} bytes"):
        cuda.refuse_waste(UNITS, large)
    on_one = [function for function in spilling if function.target == 80]
    with pytest.raises(DevError, match="ptxas says nothing of its functions"):
        cuda.refuse_waste(UNITS, on_one)


def test_every_source_is_a_module_of_its_own_name() -> None:
    names = [module.name for module in cuda.modules()]
    assert {"words", "ntt", "msm"} <= set(names)
    assert len(set(names)) == len(names)


def test_an_unknown_module_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DevError, match=r"modules are contents, .* got nonesuch"):
        cuda.build(["nonesuch"])


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that were compiled, of two that are made up: `one`, and `two`, which spills."""
    monkeypatch.setattr(cuda, "OUT", tmp_path / "out")
    (tmp_path / "out").mkdir()
    sources = [ROOT / "cuda" / "kernels" / name for name in ("rns/rns.cu", "ntt/ntt.cu")]
    known = [cuda.Module(name, path) for name, path in zip(("one", "two"), sources, strict=True)]
    monkeypatch.setattr(cuda, "modules", lambda: known)
    monkeypatch.setattr(cuda, "_install", lambda: tmp_path)
    names: list[str] = []

    def compile_nothing(_: Path, module: cuda.Module) -> list[cuda.Resources]:
        is_first = module.name not in names
        names.append(module.name)
        module.fatbin.write_text("code")
        spills = 8 if module.name == "two" and is_first else 0
        return [cuda.Resources(target, "kernel", 1, 0, spills) for target in cuda.TARGETS]

    monkeypatch.setattr(cuda, "_compile", compile_nothing)
    return names


def test_a_module_is_made_again_if_it_was_refused_or_its_sources_changed(
    made: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DevError, match=r"two wastes memory\n  - kernel on sm_80: spills 8 bytes"):
        cuda.build()
    assert "cuda: two is refused" in capsys.readouterr().out
    assert sorted(made) == ["one", "two"]
    assert not (cuda.OUT / "digest").exists()
    cuda.build()
    assert made[2:] == ["two"]
    assert cuda.what_builds_hold() == "with CUDA kernels, 0.0 MB"
    assert (cuda.OUT / "digest").read_text() == cuda_sources.digest()
    os.utime(cuda.OUT / "digest", (0, 0))
    cuda.build()
    assert len(made) == 3
    assert (cuda.OUT / "digest").stat().st_mtime == 0, "cargo would build all again"
    monkeypatch.setattr(cuda, "_OPTIONS", [*cuda._OPTIONS, "--other"])
    cuda.build(["one"])
    assert made[3:] == ["one"]
    assert (cuda.OUT / "digest").read_text() == ""
    assert cuda.what_builds_hold() == "without CUDA kernels: `dev.py cuda` makes them"


def test_compilers_that_cannot_be_installed_are_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> Path:
        raise DevError("`pip` failed")

    monkeypatch.setattr(cuda, "_install", fail)
    lacks = cuda.lacking()
    assert lacks == f"{' and '.join(cuda.WHEELS)} cannot be installed: `pip` failed"


def test_fatbins_of_modules_that_are_gone_are_removed(made: list[str]) -> None:
    (cuda.OUT / "gone.fatbin").write_text("code")
    cuda.build(["one"])
    assert [path.name for path in cuda.OUT.glob("*.fatbin")] == ["one.fatbin"]
    assert made == ["one"]


def test_a_toolkit_is_that_of_the_nvcc_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "cuda" / "bin"))
    with pytest.raises(DevError, match="no nvcc on the path"):
        cuda.toolkit()
    programs, libraries = tmp_path / "cuda" / "bin", tmp_path / "cuda" / "lib64"
    for folder in (programs, libraries):
        folder.mkdir(parents=True)
    (programs / "nvcc").write_text("#!/bin/sh\n")
    (programs / "nvcc").chmod(0o755)
    (libraries / nvrtc.LIBRARY).write_text("")
    with pytest.raises(DevError, match=rf"has no {nvrtc.LIBRARY} and .*its release is not that of"):
        cuda.toolkit()
    (libraries / nvrtc.BUILTINS).write_text("")
    assert cuda.toolkit() == cuda.Compilers(libraries, programs)


def test_a_toolkit_makes_modules_in_a_folder_of_the_stage(tmp_path: Path) -> None:
    with pytest.raises(DevError, match=r"takes a folder of `dev\.py gpu-stage`, and modules"):
        commands.cuda(["--toolkit"])
    with pytest.raises(DevError, match=r"not made by `dev.py gpu-stage`: stage.json"):
        commands.cuda(["--toolkit", str(tmp_path), "ntt"])
