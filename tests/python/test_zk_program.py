"""Programs of the instruction set: built, saved, refused, and run against a slow interpreter."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import cli, zk
from cloakwork.errors import (
    AssertionFailedError,
    LoadError,
    ParamError,
    ProgramError,
)
from python.heal_writer import small_transcript
from python.zk_interpreter import FR, Interpreter, drawn

EXAMPLE = Path(__file__).parents[2] / "examples" / "zk" / "windows.json"
HAS_FIELDS = hasattr(cw.ops, "from_canonical") and hasattr(cw.ops, "uniform_field")
with_fields = pytest.mark.skipif(not HAS_FIELDS, reason="this build has no kernels of fields")
WORKERS = (1, 2, 3, 8)


def numbers(tensor: cw.Tensor) -> Any:
    """Elements as Python integers."""
    return np.asarray(tensor.tolist(), dtype=object)


def key_of(seed: int) -> bytes:
    return hashlib.blake2b(str(seed).encode(), digest_size=32, person=b"cloakwork seed").digest()


def predicted(program: zk.Program, inputs: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    def draw(domain: str, count: int, dtype: str) -> list[int]:
        return drawn(key_of(seed), domain, count, dtype)

    return Interpreter(json.loads(program.to_json()), inputs, draw).run()


def holds(program: zk.Program, inputs: dict[str, Any], seed: int = 0) -> None:
    """The program gives the interpreter's results, for any number of threads."""
    expected = predicted(program, inputs, seed)
    for workers in WORKERS:
        outputs = program.run(inputs, threads=workers, seed=seed).outputs
        assert outputs.keys() == expected.keys()
        for name, tensor in outputs.items():
            assert np.array_equal(numbers(tensor), expected[name]), (name, workers)


@with_fields
def test_the_example_gives_what_a_slow_interpreter_predicts() -> None:
    program = zk.Program.load(EXAMPLE)
    assert program.validate() == []
    holds(program, {"witness": [3, 1, 4, 1, 5, 9, 2, 6]}, seed=7)


def test_inspection_names_the_kernels_of_the_right_ops(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(EXAMPLE), "--json"]) == 0
    ops = {row["op"]: row for row in json.loads(capsys.readouterr().out)["ops"]}
    for op in ("add", "multiply", "uniform_field"):
        kernels = ops[op]["kernels"]
        assert kernels
        assert all(kernel.startswith((f"{op}_", "fill_")) for kernel in kernels)
    assert cli.main(["inspect", str(EXAMPLE), "--plan"]) == 0
    assert "add_bn254_fr" in capsys.readouterr().out


def test_the_example_is_read_alike_in_both_forms() -> None:
    program = zk.Program.load(EXAMPLE)
    assert zk.Program.parse(program.to_text()).to_json() == program.to_json()
    assert zk.Program.parse(program.to_json()).to_text() == program.to_text()
    assert program.inputs == ["witness"]
    assert program.to_dot().startswith("digraph")


def two_threads(device: str = "sim:0") -> zk.Program:
    """Fork, join, events, streams, windows of windows: over u64, so that any build runs it."""
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", 8))
    s = b.stream(device)
    there = b.allocate(zk.tensor("u64", 8), device=device)
    b.transfer(x, there, stream=s)
    copied = b.record(stream=s)
    with b.fork() as t:
        b.wait(copied)
        mine = b.allocate(zk.tensor("u64", 8))
        b.call("mul", out=[mine], args=[x, x.rotate(3)])
        done = b.record()
    turned = there.rotate(-2)
    part = b.slice(turned, 3, 8)
    total = b.allocate(zk.tensor("u64", 5), device=device)
    b.call("add", out=[total], args=[part, b.set_slice_meta(part, 6, 5)], stream=s)
    back = b.allocate(zk.tensor("u64", 5))
    b.transfer(total, back, stream=s)
    b.wait(b.record(stream=s))
    b.wait(done)
    b.call("add", out=[back], args=[back, mine[2:7]])
    b.store(mine, "squares")
    b.join(t)
    b.ret(back)
    return b.build()


@pytest.mark.parametrize("device", ["sim:0", "sim:7", "gpu:0", "gpu:1"])
def test_threads_streams_and_windows_give_what_the_interpreter_predicts(device: str) -> None:
    program = two_threads(device)
    holds(program, {"x": [3, 1, 4, 1, 5, 9, 2**63, 6]})
    assert program.peak_memory() > 0
    assert program.to_dot().count("->") > 10


@pytest.mark.parametrize("count", [2, 15, 16, 40])
def test_each_thread_may_know_its_register_from_the_one_that_is_forked_after_it(
    count: int,
) -> None:
    b = zk.ProgramBuilder()
    value = b.input("x", zk.tensor("u64", 4))
    threads, done = [], None
    for _ in range(count):
        with b.fork() as thread:
            if done is not None:
                b.wait(done)
            value, done = b.rotate(value, 1), b.record()
        threads.append(thread)
    assert done is not None
    b.wait(done)
    out = b.allocate(zk.tensor("u64", 4))
    b.transfer(value, out)
    for thread in threads:
        b.join(thread)
    b.ret(out)
    written = json.loads(b.build().to_json())
    del written["registers"]
    main = written["main"]
    places = [place for place, step in enumerate(main) if step["op"] == "Fork"]
    for place, step in zip(places, [main[place] for place in reversed(places)], strict=True):
        main[place] = step
    ran = zk.Program.parse(json.dumps(written)).run({"x": [1, 2, 3, 4]})
    assert ran[out.name].tolist() == np.roll([1, 2, 3, 4], count).tolist()


class Writer:
    """Random legal programs over u64: one thread writes, others read windows of its writes."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.b = zk.ProgramBuilder()
        self.n = self.draw.randint(1, 8)
        self.readable = [self.b.input("x", zk.tensor("u64", self.n))]

    def window(self) -> Any:
        """A view of any register, in up to three steps, of `n` elements again by a copy."""
        view = self.draw.choice(self.readable)
        for _ in range(self.draw.randint(0, 3)):
            size = view.type.shape[0]
            way = self.draw.randrange(3)
            if way == 0 and size == self.n:
                view = self.b.rotate(view, self.draw.randint(-20, 20))
            elif way == 1:
                start = self.draw.randint(0, size)
                view = self.b.slice(view, start, self.draw.randint(start, size))
            elif way == 2:
                length = self.draw.randint(0, self.n)
                view = self.b.set_slice_meta(view, self.draw.randint(-9, 9), length)
        return view

    def step(self) -> None:
        view = self.window()
        out = self.b.allocate(zk.tensor("u64", view.type.shape[0]))
        others = [r for r in self.readable if r.type.shape == view.type.shape]
        other = self.draw.choice([*others, view])
        way = self.draw.randrange(4)
        if way == 0:
            self.b.transfer(view, out)
        elif way == 1:
            self.b.call(self.draw.choice(["add", "sub", "mul"]), out=[out], args=[view, other])
        elif way == 2:
            expr = [["mul", "in0", "in1"], ["add", "t0", "in0"], ["neg", "t1"]]
            self.b.call("fused", out=[out], args=[view, other], expr=expr, outs=["t2"])
        else:
            wide = self.b.allocate(zk.tensor("u64", self.n))
            self.b.call("fill_one", out=[wide], repr="lagrange")
            self.b.transfer(view, out)
            target = self.b.rotate(wide, self.draw.randint(-9, 9))
            self.b.call("add", out=[target], args=[target, self.readable[0]])
            self.readable.append(wide)
        if out.type.shape == (self.n,):
            self.readable.append(out)
        self.b.store(out, f"y{len(self.b._tables['outputs'])}")

    def write(self) -> zk.Program:
        threads = []
        for _ in range(self.draw.randint(1, 3)):
            self.step()
            with self.b.fork() as thread:
                before = list(self.readable)
                self.step()
                self.readable = before
            threads.append(thread)
        for thread in threads:
            self.b.join(thread)
        self.b.ret(self.readable[-1])
        return self.b.build()


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_give_what_the_interpreter_predicts(seed: int) -> None:
    writer = Writer(seed)
    program = writer.write()
    values = [writer.draw.randrange(2**64) for _ in range(writer.n)]
    holds(program, {"x": np.array(values, dtype=np.uint64)})


@pytest.mark.parametrize("n", range(1, 9))
def test_rotations_are_numpys(n: int) -> None:
    values = np.arange(n, dtype=np.uint64)
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", n))
    for shift in range(-n, n + 1):
        out = b.allocate(zk.tensor("u64", n))
        b.transfer(b.rotate(x, shift), out)
        b.store(out, f"roll{shift}")
        back = b.allocate(zk.tensor("u64", n))
        b.transfer(x.rotate(shift), back)
        b.store(back, f"omega{shift}")
    b.ret(x)
    outputs = b.build().run({"x": values}).outputs
    for shift in range(-n, n + 1):
        assert np.array_equal(outputs[f"roll{shift}"], np.roll(values, shift))
        assert np.array_equal(outputs[f"omega{shift}"], np.roll(values, -shift))


def test_the_first_assertion_that_fails_is_named() -> None:
    b = zk.ProgramBuilder()
    x, y = (b.input(name, zk.tensor("u64", 3)) for name in "xy")
    b.assert_eq(x, y, "the inputs differ")
    b.print(x, "x")
    b.ret(x)
    program = b.build()
    outcome = program.run({"x": [1, 2, 3], "y": [1, 2, 3]})
    assert [(label, list(map(int, t))) for label, t in outcome.printed] == [("x", [1, 2, 3])]
    assert list(outcome.outputs) == [x.name]
    with pytest.raises(AssertionFailedError, match=r"main/2: the inputs differ: element 1"):
        program.run({"x": [1, 2, 3], "y": [1, 5, 3]})


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_what_is_shown_before_a_step_that_fails_is_logged(
    threads: int, caplog: pytest.LogCaptureFixture
) -> None:
    b = zk.ProgramBuilder()
    x, y = (b.input(name, zk.tensor("u64", 3)) for name in "xy")
    b.print(x, "first")
    total = b.allocate(x.type)
    b.call("add", out=[total], args=[x, y])
    b.print(total, "second")
    b.assert_eq(x, y, "the inputs differ")
    b.print(y, "third")
    b.ret(x)
    program = b.build()
    with caplog.at_level("INFO", "cloakwork.zk"):
        with pytest.raises(AssertionFailedError):
            program.run({"x": [1, 2, 3], "y": [1, 5, 3]}, threads=threads)
        shown = [record.message.partition(":")[0] for record in caplog.records]
        assert shown == ["first", "second"]
        assert "[2, 7, 6]" in caplog.records[1].message
        program.run({"x": [1, 2, 3], "y": [1, 2, 3]}, threads=threads)
    shown = [record.message.partition(":")[0] for record in caplog.records]
    assert shown == ["first", "second", "first", "second", "third"]


def test_an_assertion_is_a_step_that_stops_the_run_on_any_number_of_threads() -> None:
    called: list[int] = []
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", 4))
    y = b.input("y", zk.tensor("u64", 4))
    b.assert_eq(x.rotate(1), y)
    b.assert_eq(x, y, "never reached")
    b.function("late", lambda v: called.append(1) or v, outs=[zk.tensor("u64", 4)],
               ins=[zk.tensor("u64", 4)])  # fmt: skip
    out = b.allocate(zk.tensor("u64", 4))
    b.call("late", out=[out], args=[x])
    b.ret(out)
    program = b.build()
    for threads in (1, 2, 8):
        with pytest.raises(AssertionFailedError, match="main/3: values differ: element 2") as told:
            program.run({"x": [4, 1, 2, 3], "y": [1, 2, 9, 4]}, threads=threads)
        assert (told.value.index, told.value.message) == (2, "values differ")
    assert called == []
    with pytest.raises(AssertionFailedError, match="never reached: element 0"):
        program.run({"x": [4, 1, 2, 3], "y": [1, 2, 3, 4]})
    assert program.run({"x": [7] * 4, "y": [7] * 4}).outputs[out.name].tolist() == [7] * 4
    assert called == [1]


def test_findings_name_the_line_that_wrote_the_instruction() -> None:
    b = zk.ProgramBuilder(auto_free=False)
    x = b.input("x", zk.tensor("u64", 4))
    b.slice(x, 2, 9)  # out of bounds
    b.call("nonsense", out=[x])
    b.allocate(zk.tensor("u64", 4))  # never freed
    b.ret(x)
    with pytest.raises(ProgramError) as caught:
        b.build()
    rules = {finding.rule for finding in caught.value.errors}
    assert {"V06", "V07", "V10"} <= rules
    assert "test_zk_program.py:" in str(caught.value)


def test_inputs_must_be_as_declared() -> None:
    program = two_threads()
    with pytest.raises(ParamError, match="no x"):
        program.run({})
    with pytest.raises(ParamError, match="z"):
        program.run({"x": [0] * 8, "z": [1]})
    with pytest.raises(ParamError, match="shape"):
        program.run({"x": [0] * 7})


def test_programs_are_saved_with_their_constants(tmp_path: Path) -> None:
    b = zk.ProgramBuilder()
    table = np.arange(5, dtype=np.uint64)
    t = b.constant("table", zk.tensor("u64", 5), table.tobytes())
    out = b.allocate(zk.tensor("u64", 5))
    b.call("add", out=[out], args=[t, t])
    b.ret(out)
    b.build().save(tmp_path / "program")
    loaded = zk.Program.load(tmp_path / "program")
    assert np.array_equal(loaded.run().outputs[out.name], 2 * table)
    loaded.save(tmp_path / "again")
    held = (tmp_path / "again" / "program.json.constants").read_bytes()
    assert held == (tmp_path / "program" / "program.json.constants").read_bytes()
    assert table.tobytes() in held
    (tmp_path / "program" / "program.json.constants").write_bytes(b"short")
    with pytest.raises(ProgramError, match=r"constants\.table"):
        zk.Program.load(tmp_path / "program").validate()


def test_the_command_runs_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = two_threads()
    file = program.save(tmp_path)
    np.save(tmp_path / "x.npy", np.arange(8, dtype=np.uint64))
    profile = tmp_path / "profile.json"
    status = cli.main([
        "run", str(file), "--input", f"x={tmp_path / 'x.npy'}", "--threads", "2",
        "--profile", str(profile),
    ])  # fmt: skip
    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert "squares" in shown.out
    assert json.loads(profile.read_text())
    assert cli.main(["check", str(file)]) == 0
    assert cli.main(["run", str(file)]) == 2


@pytest.mark.parametrize("text", [b"{}", b'{"a": 1}', b"", b" ; a comment\n"])
def test_what_is_no_program_is_refused_by_parse_as_by_load(text: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(text)
    with pytest.raises(LoadError):
        zk.Program.load(file)
    with pytest.raises(LoadError, match=r"expected (a program: an object|the line program)"):
        zk.Program.parse(text)


def test_a_transcript_is_refused_by_parse(tmp_path: Path) -> None:
    path = small_transcript().write(tmp_path / "transcript.json")
    with pytest.raises(LoadError, match="expected"):
        zk.Program.parse(path.read_bytes())


def test_no_change_of_a_program_does_more_than_raise() -> None:
    """A damaged file is refused, or runs: other outcomes are errors."""
    draw = random.Random(1)
    text = two_threads().to_json()
    for _ in range(200):
        at = draw.randrange(len(text))
        cut = text[:at] + draw.choice(["", "0", "}", "x", '"', "-1", "null"]) + text[at + 1 :]
        try:
            zk.Program.parse(cut).validate()
        except (LoadError, ProgramError):
            continue


@with_fields
def test_blinding_writes_its_range_alone_and_depends_on_the_seed() -> None:
    b = zk.ProgramBuilder()
    x = b.input("x", zk.poly(8, "lagrange"))
    a = b.allocate(zk.poly(8, "lagrange"))
    b.transfer(x, a)
    b.blind(a.rotate(3), 2, 6)
    b.ret(a)
    program = b.build()
    holds(program, {"x": list(range(8))}, seed=3)
    runs = [program.run({"x": list(range(8))})[a.name].tolist() for _ in range(2)]
    assert runs[0] != runs[1]
    assert program.run({"x": [0] * 8}, seed=1).seeded


@with_fields
def test_scalars_have_two_meanings() -> None:
    b = zk.ProgramBuilder()
    p = b.input("p", zk.poly(4))
    s = b.constant("s", zk.scalar(), [7])
    for func in ("add", "sub"):
        for at in ("all", "constant_term"):
            for order in ([p, s], [s, p]):
                out = b.allocate(zk.poly(4))
                b.call(func, out=[out], args=order, scalar_at=at)
                b.store(out, f"{func}.{at}.{order[0].name}")
    b.ret(p)
    holds(b.build(), {"p": [1, 2, 3, 4]})


def test_tensors_wait_in_the_folder_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n = 1 << 14
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", n))
    turned = []
    for shift in range(8):
        turned.append(b.allocate(zk.tensor("u64", n)))
        b.call("add", out=[turned[-1]], args=[x, x.rotate(shift)])
    total = b.allocate(zk.tensor("u64", n))
    b.call("add", out=[total], args=[turned[0], turned[1]])
    for part in turned[2:]:
        b.call("mul", out=[total], args=[total, part])
    b.ret(total)
    program, values = b.build(), np.arange(n, dtype=np.uint64)
    half = program.peak_memory(threads=1) // 2
    expected = np.roll(values, 0) + values + values + np.roll(values, -1)
    for shift in range(2, 8):
        expected *= values + np.roll(values, -shift)
    outcome = program.run({"x": values}, threads=1, memory_budget=half, spill_dir=tmp_path)
    assert outcome.report.memory["spilled_bytes"] > 0
    assert np.array_equal(np.asarray(outcome[total.name]), expected)
    missing = tmp_path / "missing"
    with pytest.raises(ParamError, match="spill_dir: got"):
        program.run({"x": values}, threads=1, memory_budget=half, spill_dir=missing)
    path = program.save(tmp_path / "program")
    np.save(tmp_path / "x.npy", values)
    line = ["run", str(path), "--input", f"x={tmp_path / 'x.npy'}", "--threads", "1"]
    assert cli.main([*line, "--memory-budget", str(half), "--spill-dir", str(missing)]) == 2
    assert "--spill-dir: got" in capsys.readouterr().err


@with_fields
@pytest.mark.parametrize(
    ("ids", "outputs"),
    [
        (["a", "a"], ["a"]),
        (["t", "t.1"], ["t.0", "t.1"]),
        (["t.1", "t", "a"], ["t.1", "t.0", "a"]),
        (["t", "t"], ["t.0", "t.1"]),
    ],
)
def test_a_result_that_is_named_twice_is_one_result(ids: list[str], outputs: list[str]) -> None:
    text = f"""program version=1 curve=bn254
input x type=bn254.fr<4> device=cpu
main {{
LoadInput src=x dst=x
Allocate id=a device=cpu typ=bn254.fr<4>
FuncCall func=neg arg_mut=[a] arg=[x]
AssembleTuple vars=[x, a] dst=t
Return id=[{", ".join(ids)}]
}}
"""
    program = zk.Program.parse(text)
    x = [0, 1, 2, 3]
    values = {"a": [-v % FR["bn254.fr"] for v in x], "t.0": x}
    values["t.1"] = values["a"]
    found = program.run({"x": x}).outputs
    assert list(found) == outputs
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        name: values[name] for name in outputs
    }


COEFFICIENTS = {
    "goldilocks.ext2": [[3, 2**64 - 2**32], [0, 7], [2**63, 1]],
    "babybear.ext4": [[1, 2, 3, 4], [0, 0, 0, 2**31 - 2**27], [5, 0, 6, 0]],
}


@with_fields
@pytest.mark.parametrize("field", COEFFICIENTS)
def test_elements_of_extensions_are_lists_of_coefficients(field: str, tmp_path: Path) -> None:
    rows = COEFFICIENTS[field]
    text = f"""program version=1
input x type={field}<3> device=cpu
constant k type={field}<3> values={json.dumps(rows)}
constant flat type={field}<3> values={json.dumps([number for row in rows for number in row])}
main {{
LoadInput src=x dst=x
LoadConstant src=k dst=k
LoadConstant src=flat dst=flat
Return id=[x, k, flat]
}}
"""
    program = zk.Program.parse(text)
    elements = [tuple(row) for row in rows]
    np.save(tmp_path / "x.npy", np.asarray(rows, dtype=np.uint64))
    for given in (rows, elements, tmp_path / "x.npy"):
        outputs = program.run({"x": given}).outputs
        assert [tensor.tolist() for tensor in outputs.values()] == [elements] * 3
    again = zk.Program.parse(program.to_json())
    assert again.run({"x": rows})["k"].tolist() == elements
    # One coefficient for each element stands for itself alone, as everywhere.
    alone = program.run({"x": [row[0] for row in rows]})["x"].tolist()
    assert alone == [(row[0], *[0] * (len(row) - 1)) for row in rows]
    prime = FR[field.split(".", maxsplit=1)[0]]
    too_large = [[prime, *row[1:]] for row in rows]
    with pytest.raises(ParamError, match=r"input x\[0\]\[0\]: got an element that"):
        program.run({"x": too_large})
    for wrong in ([row[1:] for row in rows], rows[1:], [rows] * 3, [elements] * 3):
        with pytest.raises(ParamError, match=r"input x: got shape .*, expected .* of shape \[3\]"):
            program.run({"x": wrong})
    for wrong in (rows[1:], [row[1:] for row in rows], [rows]):
        changed = text.replace(f"values={json.dumps(rows)}", f"values={json.dumps(wrong)}")
        with pytest.raises(ProgramError, match=r"constants.k.*or a list for each element"):
            zk.Program.parse(changed).validate()


@with_fields
def test_points_are_lists_of_coordinates_in_constants() -> None:
    g = zk.curve("bn254").g2_generator
    ((x0, x1), (y0, y1)) = g.tolist()
    forms = ([x0, x1, y0, y1], [[x0, x1, y0, y1]], [[[x0, x1], [y0, y1]]])
    for values in forms:
        entry = {"type": "bn254.g2<1>", "values": [*values]}
        text = json.dumps({
            "format": "program", "version": 1, "constants": {"g": entry},
            "main": [{"op": "LoadConstant", "src": "g", "dst": "g"}, {"op": "Return", "id": "g"}],
        })  # fmt: skip
        assert zk.Program.parse(text).run()["g"].tolist() == [g.tolist()]
