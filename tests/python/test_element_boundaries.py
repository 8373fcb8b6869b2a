"""Every boundary refuses invalid elements: a number at the prime, a point off the curve or group.

With a point of small order among the bases, a multi-scalar multiplication reveals the scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, cli, ops, zk
from cloakwork.errors import CloakworkError, ParamError
from python.not_elements import NOT_ELEMENTS, Coordinates, words_of
from python.zk_oracles import P


def rows(dtype: str, bad: Coordinates) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Two valid elements, zero or infinity, and one invalid element."""
    words = np.zeros((3, max(_core.dtype(dtype).itemsize // 8, 1)), np.uint64)
    words[2] = words_of(dtype, bad)
    return words


def memory(dtype: str, bad: Coordinates) -> bytes:
    """The same as they would lie in memory: in Montgomery form, but for Goldilocks."""
    if dtype == "goldilocks" or any(x in P.values() for x in bad):
        return rows(dtype, bad).tobytes()
    p = P[dtype.replace("g1", "fq").replace("g2", "fq")]
    radix = 1 << (64 * -(-p.bit_length() // 64))
    return rows(dtype, tuple(x * radix % p for x in bad)).tobytes()


def as_words(dtype: str, bad: Coordinates, _: Path) -> None:
    cw.asarray(rows(dtype, bad), dtype=dtype)


def as_bytes(dtype: str, bad: Coordinates, _: Path) -> None:
    cw.asarray(rows(dtype, bad).view(np.uint8), dtype=dtype)


def as_an_op(dtype: str, bad: Coordinates, _: Path) -> None:
    ops.from_canonical(cw.asarray(rows(dtype, bad)), dtype)


def as_a_traced_constant(dtype: str, bad: Coordinates, _: Path) -> None:
    words = cw.asarray(rows(dtype, bad))
    cw.trace(lambda x: (ops.from_canonical(words, dtype), x), cw.zeros(1))


def as_words_that_a_program_gets(dtype: str, bad: Coordinates, _: Path) -> None:
    program = cw.trace(lambda words: ops.from_canonical(words, dtype), cw.asarray(rows(dtype, bad)))
    program.run(cw.asarray(rows(dtype, bad)))


def identity(dtype: str) -> zk.Program:
    b = zk.ProgramBuilder()
    b.ret(b.input("srs", zk.tensor(dtype, 3)))
    return b.build()


def as_an_input(dtype: str, bad: Coordinates, _: Path) -> None:
    identity(dtype).run({"srs": rows(dtype, bad)})


def as_an_npy_input(dtype: str, bad: Coordinates, folder: Path) -> None:
    np.save(folder / "srs.npy", rows(dtype, bad))
    identity(dtype).run({"srs": folder / "srs.npy"})


def as_an_argument(dtype: str, bad: Coordinates, _: Path) -> None:
    function = zk.program(inputs={"srs": zk.tensor(dtype, 3)})(lambda srs: srs)
    function(rows(dtype, bad))


def as_a_constant_of_integers(dtype: str, bad: Coordinates, _: Path) -> None:
    b = zk.ProgramBuilder()
    flat = [*(0,) * 2 * len(bad), *bad]
    b.ret(b.constant("srs", zk.tensor(dtype, 3), flat))
    b.build().validate()


def as_a_constant_of_bytes(dtype: str, bad: Coordinates, _: Path) -> None:
    held = rows(dtype, bad).tobytes()
    zk.Program.parse(
        f'program version=1\nconstant srs type={dtype}<3> file="srs.bin" bytes={len(held)}\n'
        "main {\nLoadConstant src=srs dst=c\nReturn id=c\n}\n",
        {"srs.bin": held},
    ).validate()


def as_a_constant_of_text(dtype: str, bad: Coordinates, _: Path) -> None:
    values = ", ".join(map(str, [*(0,) * 2 * len(bad), *bad]))
    zk.Program.parse(
        f"program version=1\nconstant srs type={dtype}<3> values=[{values}]\n"
        "main {\nLoadConstant src=srs dst=c\nReturn id=c\n}\n"
    ).validate()


def as_memory(dtype: str, bad: Coordinates, _: Path) -> None:
    _core.from_buffer(memory(dtype, bad), dtype, (3,))


def as_a_pickle(dtype: str, bad: Coordinates, _: Path) -> None:
    good = cw.zeros(3, dtype=dtype)
    function, (_data, *rest) = good.__reduce_ex__(2)
    assert function(bytes(good.nbytes), *rest).shape == (3,)
    function(memory(dtype, bad), *rest)


def good_elements(dtype: str) -> Any:
    if dtype.endswith(("g1", "g2")):
        curve, group = dtype.split(".")
        point = getattr(zk.curve(curve), f"{group}_generator").reshape(1)
        return cw.concat([point, point + point, -point])
    return cw.asarray([1, 2, 3], dtype=dtype)


BOUNDARIES: list[Callable[[str, Coordinates, Path], None]] = [
    as_words, as_bytes, as_an_op, as_a_traced_constant, as_words_that_a_program_gets, as_an_input,
    as_an_npy_input, as_an_argument, as_a_constant_of_integers, as_a_constant_of_bytes,
    as_a_constant_of_text, as_memory, as_a_pickle,
]  # fmt: skip


@pytest.mark.parametrize("what", NOT_ELEMENTS)
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda boundary: boundary.__name__)
def test_what_is_no_element_is_refused_by_its_place(
    boundary: Callable[[str, Coordinates, Path], None], what: str, tmp_path: Path
) -> None:
    dtype, bad, why = NOT_ELEMENTS[what]
    with pytest.raises(CloakworkError, match=why) as caught:
        boundary(dtype, bad, tmp_path)
    text = str(caught.value)
    assert "[2]" in text or "element 2" in text
    if "input" in boundary.__name__ or "argument" in boundary.__name__:
        assert "srs" in text
    if "constant_of" in boundary.__name__:
        assert "constants.srs" in text


@pytest.mark.parametrize("dtype", sorted({dtype for dtype, _, _ in NOT_ELEMENTS.values()}))
def test_elements_cross_the_same_boundaries(dtype: str, tmp_path: Path) -> None:
    good = good_elements(dtype)
    words = np.asarray(good.to_words())
    assert bool(cw.all(cw.asarray(words, dtype=dtype) == good))
    assert bool(cw.all(identity(dtype).run({"srs": words})["srs"] == good))
    function, arguments = good.__reduce_ex__(2)
    assert bool(cw.all(function(*arguments) == good))
    traced = cw.trace(lambda x: (good, x), cw.zeros(1))
    traced._core.save_container(tmp_path / "p.cwk")
    assert _core.Program.load(tmp_path / "p.cwk").findings() == []


def test_the_command_line_refuses_them_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "srs.npy", rows("bls12_381.g1", (0, 2)))
    identity("bls12_381.g1").save(tmp_path / "program")
    line = ["run", str(tmp_path / "program" / "program.json")]
    assert cli.main([*line, "--input", f"srs={tmp_path / 'srs.npy'}"]) == 2
    assert "input srs[2]" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["bn254.fr", "bn254.g1"])
def test_memory_of_elements_is_lent_to_nobody(dtype: str) -> None:
    elements = good_elements(dtype)
    with pytest.raises(BufferError, match="words"):
        memoryview(elements)
    with pytest.raises(BufferError, match="words"):
        elements.__dlpack__()
    # Unwritten memory is zero, never the contents of a former tensor.
    for _ in range(20):
        assert cw.empty(5, dtype=dtype).tolist() in ([0] * 5, [None] * 5)
    with pytest.raises(ParamError, match=r"memory: .*element 1"):
        _core.from_buffer(bytes(32) + b"\xff" * 32, "bn254.fr", (2,))
