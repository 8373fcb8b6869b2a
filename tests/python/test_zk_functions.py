"""User functions: Python's own code as steps of programs."""

from __future__ import annotations

import threading
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.errors import FunctionError, ParamError, ProgramError

R = 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001
WORKERS = (1, 2, 3, 8)


def calling(function: Any, outs: int = 1, size: int = 4) -> zk.Program:
    """A program that calls a function on a rotation of its input, and returns its result."""
    b = zk.ProgramBuilder()
    x = b.input("x", zk.poly(size))
    b.function("own", function, outs=[zk.poly(size)] * outs, ins=[zk.poly(size)])
    results = [b.allocate(zk.poly(size), name=f"y{i}") for i in range(outs)]
    b.call("own", out=results, args=[x.rotate(1)])
    b.ret(*results)
    return b.build()


def test_a_function_sees_canonical_numbers_and_gives_such() -> None:
    program = calling(lambda x: [pow(v, 5, R) for v in x.tolist()])
    for workers in WORKERS:
        out = program.run({"x": [R - 1, 2, 3, 4]}, threads=workers).outputs["y0"]
        assert out.tolist() == [32, 243, 1024, R - 1]


def test_a_function_may_use_tensors_and_have_several_results() -> None:
    def both(x: cw.Tensor) -> tuple[cw.Tensor, list[int]]:
        return x * x, [int(v) + 1 for v in x.tolist()]

    outputs = calling(both, outs=2).run({"x": [1, 2, 3, 4]}).outputs
    assert outputs["y0"].tolist() == [4, 9, 16, 1]
    assert outputs["y1"].tolist() == [3, 4, 5, 2]


def test_results_go_into_windows_and_other_threads_may_call() -> None:
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", 6))
    ty = zk.tensor("u64", 6)
    b.function("sort", lambda x: sorted(x.tolist()), outs=[ty], ins=[ty])
    whole = b.allocate(ty, zero=True, name="whole")
    with b.fork() as thread:
        b.call("sort", out=[b.rotate(whole, 2)], args=[x])
    b.join(thread)
    b.ret(whole)
    program = b.build()
    for workers in WORKERS:
        outputs = program.run({"x": [5, 3, 9, 1, 0, 7]}, threads=workers).outputs
        assert outputs["whole"].tolist() == [3, 5, 7, 9, 0, 1]


def test_functions_run_on_the_calling_thread_in_the_programs_order() -> None:
    seen: list[tuple[int, int]] = []

    def note(x: cw.Tensor) -> cw.Tensor:
        seen.append((threading.get_ident(), int(x[0].item())))
        return x + 1

    b = zk.ProgramBuilder()
    ty = zk.tensor("u64", 4096)
    b.function("note", note, outs=[ty], ins=[ty])
    inputs = [b.input(f"x{i}", ty) for i in range(4)]
    results = [b.allocate(ty) for _ in inputs]
    for source, result in zip(inputs, results, strict=True):
        b.call("note", out=[result], args=[source])
    b.ret(*results)
    program = b.build()
    given = {f"x{i}": cw.full(4096, i, dtype=cw.uint64) for i in range(4)}
    for workers in WORKERS:
        seen.clear()
        outputs = program.run(given, threads=workers).outputs.values()
        assert [int(out[9].item()) for out in outputs] == [1, 2, 3, 4]
        assert seen == [(threading.get_ident(), i) for i in range(4)]


def test_what_a_function_raises_is_told_with_its_place_and_the_engine_goes_on() -> None:
    asked = []

    def fails(x: cw.Tensor) -> cw.Tensor:
        asked.append(1)
        if len(asked) == 1:
            raise ValueError("too small")
        return x

    program = calling(fails)
    with pytest.raises(FunctionError, match=r"main/3: function own: ValueError: too small") as told:
        program.run({"x": [1, 2, 3, 4]})
    assert isinstance(told.value.__cause__, ValueError)
    assert program.run({"x": [1, 2, 3, 4]}).outputs["y0"].tolist() == [2, 3, 4, 1]


def test_ctrl_c_in_a_function_stays_what_it_is() -> None:
    def stops(_: cw.Tensor) -> cw.Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calling(stops).run({"x": [1, 2, 3, 4]})


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        ([1, 2, 3], r"result 0 of own.*\[3\].*bn254.fr of shape \[4\]"),
        ([1, 2, 3, R], "own"),
        (None, "own"),
        (cw.ones(4), "own"),
    ],
)
def test_what_is_no_result_is_refused(gives: Any, words: str) -> None:
    with pytest.raises(FunctionError, match=words):
        calling(lambda _: gives).run({"x": [1, 2, 3, 4]})


def test_too_few_results_are_refused() -> None:
    with pytest.raises(FunctionError, match=r"results of own.*2, as its signature says"):
        calling(lambda x: (x,), outs=2).run({"x": [1, 2, 3, 4]})


def test_a_file_holds_the_signature_and_a_run_is_given_the_function() -> None:
    program = calling(lambda x: x)
    for text in (program.to_json(), program.to_text()):
        loaded = zk.Program.parse(text)
        assert loaded.to_json() == program.to_json()
        assert loaded.validate() == []
        given = {"x": [1, 2, 3, 4]}
        with pytest.raises(ParamError, match="no own"):
            loaded.run(given)
        with pytest.raises(ParamError, match="other"):
            loaded.run(given, functions={"own": abs, "other": abs})
        out = loaded.run(given, functions={"own": lambda x: x * 2})["y0"]
        assert out.tolist() == [4, 6, 8, 2]
    plain = zk.Program.parse("program version=1\nmain {\n  Return id=[]\n}\n")
    with pytest.raises(ParamError, match="calls no user function"):
        plain.run(functions={"own": abs})


HEAD = (
    "program version=1 curve=bn254\ninput x type=u64<4> device=cpu\nstream s device=sim:0\n"
    "function own outs=[u64<4>] ins=[u64<4>]\nfunction none outs=[] ins=[]\nmain {\n"
    "LoadInput src=x dst=x\nAllocate id=y device=cpu typ=u64<4>\n"
    "Allocate id=z device=cpu typ=u64<5>\nAllocate id=g device=sim:0 typ=u64<4> zero=true\n"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("FuncCall func=own arg_mut=[z] arg=[x]", r"V07.*u64\[4\], got u64\[5\]"),
        ("FuncCall func=own arg_mut=[y] arg=[]", "V07.*1 operands, got 0"),
        ("FuncCall func=own arg_mut=[y] arg=[g]", "V08.*on cpu.*got sim:0"),
        ("FuncCall func=own arg_mut=[y] arg=[x] stream=s", "V08.*a call in a thread"),
        ("FuncCall func=own arg_mut=[y] arg=[x] attrs={n=3}", "V07.*no attributes of own, got n"),
        ("FuncCall func=none arg_mut=[] arg=[]", "V07.*at least one result"),
        ("FuncCall func=other arg_mut=[y] arg=[x]", "V07.*a function that is known"),
    ],
)
def test_calls_that_do_not_fit_the_signature_are_found(line: str, words: str) -> None:
    tail = "\nDeallocate id=y\nDeallocate id=z\nDeallocate id=g\nReturn id=[]\n}\n"
    with pytest.raises(ProgramError, match=words):
        zk.Program.parse(HEAD + line + tail).validate()


def test_a_name_of_the_instruction_set_is_taken() -> None:
    text = "program version=1\nfunction ntt outs=[u64<4>] ins=[]\nmain {\n  Return id=[]\n}\n"
    with pytest.raises(ProgramError, match=r"V01.*user_functions.*no function of the instruction"):
        zk.Program.parse(text).validate()


def test_results_may_be_operands_and_are_two_registers() -> None:
    b = zk.ProgramBuilder()
    ty = zk.tensor("u8", 4)
    x = b.input("x", ty, consume=True)
    b.function("turn", lambda x: x.tolist()[::-1], outs=[ty], ins=[ty])
    b.function("two", lambda x: (x, x), outs=[ty, ty], ins=[ty])
    b.call("turn", out=[x], args=[x])
    b.ret(x)
    assert b.build().run({"x": [1, 2, 3, 4]})["x"].tolist() == [4, 3, 2, 1]
    b.call("two", out=[x, x], args=[x])
    with pytest.raises(ProgramError, match=r"V09.*\"x\" twice"):
        b.build()


def test_a_secret_is_no_result() -> None:
    def secret(x: cw.Tensor) -> cw.Tensor:
        made = x * 1
        made.mark_secret()
        return made

    with pytest.raises(FunctionError, match="must not return a secret tensor"):
        calling(secret).run({"x": [1, 2, 3, 4]})


def test_copies_for_functions_are_counted() -> None:
    program = calling(lambda x: x, size=4096)
    # The operand in one piece, its copy, the result and its copy.
    assert program.peak_memory() >= 4 * 4096 * 32
    assert "user functions 256.0 KiB" in program.memory()[0]


def adding(count: int) -> zk.Program:
    """A program that calls a function on `count` matrices, each transposed."""
    b = zk.ProgramBuilder()
    ty, turned = zk.tensor("u64", (2, 3)), zk.tensor("u64", (3, 2))
    inputs = [b.input(f"x{i}", ty) for i in range(count)]
    b.function("total", lambda *all: sum(all[1:], all[0]), outs=[turned], ins=[turned] * count)
    out = b.allocate(turned, name="out")
    b.call("total", out=[out], args=[b.view(x, "permute", [1, 0]) for x in inputs])
    b.ret(out)
    return b.build()


def test_eight_operands_in_any_strides_and_no_more() -> None:
    given = {f"x{i}": np.arange(6, dtype=np.uint64).reshape(2, 3) + i for i in range(8)}
    out = adding(8).run(given)["out"]
    assert np.array_equal(np.asarray(out), sum(given.values()).T)  # type: ignore[attr-defined]
    with pytest.raises(ProgramError, match=r"V07.*at most 8 operands"):
        adding(9)
