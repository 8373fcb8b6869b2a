"""Programs with one defect each: one finding tells it, in the program's words, with its places."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import pytest
from cloakwork import zk
from cloakwork.errors import ContentsError, OpError, ProgramError
from cloakwork.programs.report import Finding

Tree = dict[str, Any]
Change = Callable[[Tree], None]

N = 8
LAGRANGE, COEF = zk.poly(N, "lagrange"), zk.poly(N, "coef")


def right() -> Tree:
    """A valid program: threads, blinding, a commitment and a transcript."""
    b = zk.ProgramBuilder(auto_free=False)
    x = b.input("x", LAGRANGE)
    srs = b.constant("srs", zk.points(N), [1, 2] * N)
    a = b.allocate(LAGRANGE, name="a")
    b.transfer(x, a)
    b.blind(a, 6, 8)
    with b.fork("t") as t:
        m = b.allocate(LAGRANGE, name="m")
        b.call("mul", out=[m], args=[x, x])
        done = b.record()
    b.wait(done)
    s = b.allocate(LAGRANGE, name="s")
    b.call("add", out=[s], args=[a, m])
    b.join(t)
    b.call("intt", out=[s])
    point = b.allocate(zk.point(), name="p")
    b.call("msm", out=[point], args=[s, srs])
    transcript = b.allocate(zk.transcript(room=128), name="T")
    b.call("transcript_new", out=[transcript])
    b.call("absorb_write", out=[transcript], args=[point])
    z = b.allocate(zk.scalar(), name="z")
    b.call("squeeze", out=[transcript, z])
    value = b.allocate(zk.scalar(), name="v")
    b.call("evaluate", out=[value], args=[s, z])
    b.call("absorb_write", out=[transcript], args=[value])
    proof = b.allocate(zk.bytes_of(64), name="proof")
    b.call("transcript_finish", out=[proof], args=[transcript])
    b.store(proof, "proof")
    for register in (a, m, s, point, transcript, z, value, proof):
        b.free(register)
    kept = b.allocate(zk.scalar(), name="kept")
    b.element(x, 0, out=kept)
    b.ret(kept)
    tree: Tree = json.loads(b.build().to_json())
    return tree


def findings(tree: Tree) -> list[Finding]:
    try:
        zk.Program.parse(json.dumps(tree)).validate()
    except ProgramError as error:
        return list(error.errors)
    return []


def at(tree: Tree, op: str, **fields: Any) -> int:
    """The place in main of the first instruction with these fields."""
    for index, instruction in enumerate(tree["main"]):
        if instruction["op"] == op and all(instruction.get(k) == v for k, v in fields.items()):
            return index
    raise AssertionError(f"no {op} with {fields}")


def get(tree: Tree, op: str, **fields: Any) -> Tree:
    found: Tree = tree["main"][at(tree, op, **fields)]
    return found


def drop(op: str, **fields: Any) -> Change:
    return lambda tree: tree["main"].pop(at(tree, op, **fields))


def put(before: tuple[str, Tree], *new: Tree) -> Change:
    """More instructions before one of main's."""

    def change(tree: Tree) -> None:
        index = at(tree, before[0], **before[1])
        lines = [{**one, "src_loc": f"new.py:{n}"} for n, one in enumerate(new)]
        tree["main"][index:index] = lines

    return change


def edit(op: str, which: Tree, **new: Any) -> Change:
    return lambda tree: get(tree, op, **which).update(new)


def allocate(name: str, kind: str = f"bn254.fr<{N}>", **more: Any) -> Tree:
    return {"op": "Allocate", "id": name, "device": "cpu", "typ": kind, **more}


def free(name: str) -> Tree:
    return {"op": "Deallocate", "id": name}


def call(func: str, out: list[str], args: list[str] | None = None, **attrs: Any) -> Tree:
    made: Tree = {"op": "FuncCall", "func": func, "arg_mut": out, "arg": args or []}
    return made | ({"attrs": attrs} if attrs else {})


def copy_of(src: str, dst: str) -> Tree:
    return {
        "op": "Transfer", "src_id": src, "dst_id": dst, "src_device": "cpu", "dst_device": "cpu",
    }  # fmt: skip


def sliced(src: str, dst: str, start: int, end: int) -> Tree:
    return {"op": "Slice", "src": src, "dst": dst, "start": start, "end": end}


RETURN = ("Return", {})
KEPT = ("Allocate", {"id": "kept"})
ADD = ("FuncCall", {"func": "add"})
FREE_A = ("Deallocate", {"id": "a"})


def thread(name: str, *inside: Tree) -> Tree:
    lines = [{**one, "src_loc": f"{name}.py:{n}"} for n, one in enumerate(inside)]
    return {"op": "Fork", "new_thread": name, "instructions": lines}


def in_thread(change: Callable[[list[Tree]], Any]) -> Change:
    return lambda tree: change(get(tree, "Fork")["instructions"])


def half_written(tree: Tree) -> None:
    part = [allocate("h"), sliced("h", "low", 0, 4), sliced("x", "from", 0, 4)]
    more = [copy_of("from", "low"), allocate("y"), call("square", ["y"], ["h"])]
    put(KEPT, *part, *more, free("h"), free("y"))(tree)


def half_written_by_a_thread(tree: Tree) -> None:
    inside = [sliced("h", "odd", 4, 8), sliced("x", "rest", 4, 8), copy_of("rest", "odd")]
    put(
        KEPT, allocate("h"), thread("u", *inside), {"op": "Join", "thread": "u"}, allocate("y"),
        call("square", ["y"], ["h"]), free("h"), free("y"),
    )(tree)  # fmt: skip


def race(tree: Tree) -> None:
    inside = [sliced("a", "part", 2, 5), sliced("x", "three", 0, 3), copy_of("three", "part")]
    put(ADD, thread("u", *inside))(tree)
    put(KEPT, {"op": "Join", "thread": "u"})(tree)
    tree["main"].insert(at(tree, "Deallocate"), tree["main"].pop(at(tree, "Join", thread="u")))


def two_cycles(tree: Tree) -> None:
    tree["events"] |= {"p0": {"kind": "thread"}, "p1": {"kind": "thread"}}
    record, wait = {"op": "Record", "event": "p0"}, {"op": "Wait", "event": "p1"}
    inside = [{"op": "Wait", "event": "p0"}, {"op": "Record", "event": "p1"}]
    put(KEPT, thread("u", *inside), wait, record, {"op": "Join", "thread": "u"})(tree)


def pools(tree: Tree) -> None:
    place = [{"pool": "cpu", "offset": offset} for offset in (0, 64)]
    put(KEPT, *(allocate(f"q{i}", at=p) for i, p in enumerate(place)), free("q0"), free("q1"))(tree)


def transcripts_race(tree: Tree) -> None:
    put(("FuncCall", {"func": "squeeze"}), thread("u", call("absorb", ["T"], ["kept"])))(tree)
    new = tree["main"].pop(at(tree, "Allocate", id="kept"))
    tree["main"].insert(2, new)
    tree["main"].insert(3, tree["main"].pop(at(tree, "Element")))
    join = {"op": "Join", "thread": "u"}
    tree["main"].insert(at(tree, "FuncCall", func="transcript_finish"), join)
    get(tree, "Allocate", id="T")["typ"] = "transcript<256>:blake2b:bn254"
    tree["registers"].pop("T")


def overlapping_user_function(tree: Tree) -> None:
    tree["user_functions"] = {"both": {"outs": ["bn254.fr<4>"] * 2, "ins": []}}
    views = [sliced("h", "low", 0, 4), sliced("h", "high", 3, 7)]
    put(KEPT, allocate("h", zero=True), *views, call("both", ["low", "high"]), free("h"))(tree)


def never_stored(tree: Tree) -> None:
    tree["outputs"]["more"] = "bn254.fr<8>"


SAME_DOMAIN = put(
    FREE_A, {"op": "Blind", "dst": "a", "start": 0, "end": 2, "domain": "d"},
    {"op": "Blind", "dst": "a", "start": 2, "end": 4, "domain": "d"},
)  # fmt: skip
SAME_ID = put(
    FREE_A, {"op": "Blind", "dst": "a", "start": 0, "end": 2, "id": "d"},
    {**call("random", ["a"]), "id": "d"},
)  # fmt: skip

# The error, its rule, a part of the message, and the change that causes it.
DEFECTS: list[tuple[str, str, str, Change]] = [
    ("memory is never freed", "V06", '"a"', drop("Deallocate", id="a")),
    ("memory is freed twice", "V05", "freed at", put(RETURN, free("a"))),
    ("memory is freed before its use", "V04", "freed at", lambda tree: tree["main"].insert(
        at(tree, "FuncCall", func="add"), tree["main"].pop(at(tree, "Deallocate", id="a")))),
    ("a use through a view comes after the free", "V04", "gave back", lambda tree: (
        put(FREE_A, sliced("a", "late", 0, 1))(tree),
        put(RETURN, allocate("w", "bn254.fr<1>"), copy_of("late", "w"), free("w"))(tree))),
    ("a wait is missing", "V02", "m", drop("Wait")),
    ("a join is missing", "V13", "t", drop("Join")),
    ("a record is missing", "V12", "e0", in_thread(lambda inside: inside.pop())),
    ("an event is recorded twice", "V12", "e0", in_thread(
        lambda inside: inside.append(inside[-1]))),
    ("an event is not declared", "V12", "e9", lambda tree: get(tree, "Wait").update(event="e9")),
    ("an event's declaration is broken", "V01", "events", lambda tree: tree["events"].update(
        e0={"kind": "thred"})),
    ("a wait cannot be read", "V01", "event", edit("Wait", {}, event=3)),
    ("threads wait for each other", "V14", "waits for", two_cycles),
    ("values are evaluated", "V07", "coefficients", drop("FuncCall", func="intt")),
    ("values and coefficients are added", "V07", "coefficients", put(
        FREE_A, allocate("y"), call("add", ["y"], ["x", "s"]), free("y"))),
    ("coefficients are multiplied element by element", "V07", "values", put(
        FREE_A, allocate("y"), call("square", ["y"], ["s"]), free("y"))),
    ("values are put into memory of coefficients", "V07", "coefficients", put(
        KEPT, allocate("y", "bn254.fr<8>:coef"), copy_of("x", "y"), free("y"))),
    ("a scalar is added to every coefficient", "V07", "scalar_at", put(
        ("FuncCall", {"func": "absorb_write", "arg": ["v"]}), allocate("y"),
        call("add", ["y"], ["s", "v"], scalar_at="all"), free("y"))),
    ("a constant term is added to values", "V07", "coefficients", put(
        ("FuncCall", {"func": "absorb_write", "arg": ["v"]}), allocate("y"),
        call("add", ["y"], ["x", "v"], scalar_at="constant_term"), free("y"))),
    ("what is blinded is out of range", "V11", "0 <= start", edit("Blind", {}, end=9)),
    ("two draws share a domain", "V21", "new.py:0", SAME_DOMAIN),
    ("two draws share an id", "V21", "new.py:0", SAME_ID),
    ("an id is spelled like another's place", "V21", "main/4", put(
        FREE_A, {"op": "Blind", "dst": "a", "start": 0, "end": 2, "id": "main/4"})),
    ("a domain is spelled like another's place", "V21", "main/4", put(
        FREE_A, {"op": "Blind", "dst": "a", "start": 0, "end": 2, "domain": "main/4"})),
    ("the hash is not the transcript's", "V07", "keccak256", edit(
        "FuncCall", {"func": "squeeze"}, attrs={"hash": "keccak256"})),
    ("a point of another curve is absorbed", "V07", "bls12_381.g1", lambda tree: (
        edit("Allocate", {"id": "T"}, typ="transcript<128>:blake2b:bn254")(tree),
        put(("FuncCall", {"func": "squeeze"}), allocate("w", "bls12_381.g1", zero=True),
            call("absorb", ["T"], ["w"]), free("w"))(tree))),
    ("a scalar of another curve is absorbed", "V07", "bls12_381.fr", put(
        ("FuncCall", {"func": "squeeze"}), allocate("w", "bls12_381.fr", zero=True),
        call("absorb", ["T"], ["w"]), free("w"))),
    ("a challenge is of another field", "V07", "bls12_381.fr", put(
        ("FuncCall", {"func": "squeeze"}), allocate("w", "bls12_381.fr"),
        call("squeeze", ["T", "w"]), free("w"))),
    ("plain bytes are squeezed", "V07", "transcript", put(
        KEPT, allocate("w", "bytes<64>", zero=True), allocate("y", "bn254.fr"),
        call("squeeze", ["w", "y"]), free("w"), free("y"))),
    ("the transcript has no room", "V19", "larger", lambda tree: (
        edit("Allocate", {"id": "T"}, typ="transcript<98>:blake2b:bn254")(tree),
        tree["registers"].pop("T"))),
    ("the proof has another length", "V19", "64", lambda tree: (
        edit("Allocate", {"id": "proof"}, typ="bytes<60>")(tree),
        tree["registers"].pop("proof"), tree["outputs"].update(proof={"Bytes": {}}))),
    ("two threads write a transcript", "V19", "any order", transcripts_race),
    ("an output is never stored", "V18", "more", never_stored),
    ("an output is not declared", "V18", "prof", edit("Store", {}, output="prof")),
    ("an input is not declared", "V18", "y", edit("LoadInput", {}, src="y")),
    ("an input's type is broken", "V01", "inputs.x", lambda tree: tree["inputs"]["x"].update(
        type="bn254.xy<8>")),
    ("a constant is cut short", "V18", "constants.srs", lambda tree: tree["constants"][
        "srs"].update(values=[1, 2] * 7)),
    ("two results are one register", "V09", "twice", put(
        FREE_A, allocate("w", "bn254.fr"), call("evaluate", ["w", "w"], ["s", "s", "z"]),
        free("w"))),
    ("two results overlap", "V09", "low", put(
        KEPT, allocate("h", zero=True), sliced("h", "low", 0, 4), sliced("h", "high", 3, 7),
        sliced("x", "in", 0, 4), call("permute_expression", ["low", "high"], ["in", "in"],
        usable=4), free("h"))),
    ("two results of a user function overlap", "V09", "high", overlapping_user_function),
    ("a result is an operand of a later step", "V09", '"z"', put(
        ("FuncCall", {"func": "absorb_write", "arg": ["v"]}), allocate("w", "bn254.fr"),
        call("evaluate", ["z", "w"], ["s", "s", "z"]), free("w"))),
    ("a result overlaps an operand", "V09", "one buffer", put(
        KEPT, allocate("h", zero=True), sliced("h", "low", 0, 4), sliced("h", "high", 2, 6),
        call("neg", ["low"], ["high"]), free("h"))),
    ("a function is unknown", "V07", "the functions are", edit(
        "FuncCall", {"func": "intt"}, func="inverse")),
    ("an operand is missing", "V07", "msm", edit("FuncCall", {"func": "msm"}, arg=["s"])),
    ("an operand is of another dtype", "V07", "u64", put(
        KEPT, allocate("u", f"u64<{N}>", zero=True), call("mul", ["u"], ["x", "u"]), free("u"))),
    ("a function of scalars gets a polynomial", "V07", "a scalar", put(
        KEPT, allocate("u", zero=True), call("scalar_inv", ["u"]), free("u"))),
    ("a function of elements gets points", "V07", "expected elements", put(
        KEPT, allocate("u", "bn254.g1", zero=True), call("neg", ["u"], ["u"]), free("u"))),
    ("an attribute is unknown", "V07", "attrs", edit(
        "FuncCall", {"func": "intt"}, attrs={"speed": 3})),
    ("sizes differ", "V07", "bn254.fr[8]", lambda tree: (
        edit("Allocate", {"id": "s"}, typ="bn254.fr<4>")(tree), tree["registers"].pop("s"),
        edit("FuncCall", {"func": "msm"}, arg=["x", "srs"])(tree),
        edit("FuncCall", {"func": "evaluate"}, func="index", arg=["x"], attrs={"index": 0})(tree),
    )),
    ("the coset's shift is zero", "V10", "other than 0", lambda tree: (
        tree["constants"].update(zero={"type": "bn254.fr", "values": ["0x0"]}),
        put(("FuncCall", {"func": "intt"}), {"op": "LoadConstant", "src": "zero", "dst": "o"})(
            tree),
        edit("FuncCall", {"func": "intt"}, arg=["o"])(tree))),
    ("a register is said to hold something else", "V07", "bn254.fr[8]", lambda tree: tree[
        "registers"]["a"].update(type="bn254.fr<4>")),
    ("operands lie on two devices", "V08", "sim:0", put(
        KEPT, allocate("y") | {"device": "sim:0"}, call("square", ["y"], ["x"]), free("y"))),
    ("a slice is out of range", "V10", "2:9", put(KEPT, sliced("x", "w", 2, 9))),
    ("a register is defined twice", "V03", "defined", put(
        ("Transfer", {}), allocate("a", "bn254.fr<8>:lagrange"))),
    ("a register is not defined", "V02", "A", edit("FuncCall", {"func": "add"}, arg=["A", "m"])),
    ("unwritten memory is read", "V02", "not written", drop("Transfer")),
    ("half of memory is written before it is read", "V02", "elements 4 to 7", half_written),
    ("half of memory is written by a thread", "V02", "elements 0 to 3", half_written_by_a_thread),
    ("an input is written", "V05", "consume", put(KEPT, call("neg", ["x"], ["x"]))),
    ("an owner is removed", "V06", "deallocate", lambda tree: get(
        tree, "Deallocate", id="a").update(op="RemoveRegister")),
    ("a view is freed", "V05", '"a"', put(FREE_A, sliced("a", "w", 0, 2), free("w"))),
    ("two threads touch the same bytes", "V15", 'elements 2 to 4 (bytes 64 to 160) of "a"', race),
    ("two tensors lie in one place", "V16", "bytes 64", pools),
    ("a segment does not end", "V20", "an end", put(KEPT, {"op": "SegmentStart", "name": "p"})),
    ("a field is unknown", "V01", "colour", edit("Transfer", {}, colour="red")),
    ("an instruction is unknown", "V01", "Dealocate", lambda tree: get(
        tree, "Deallocate", id="a").update(op="Dealocate")),
    ("a field is missing", "V01", "src_id", lambda tree: get(tree, "Transfer").pop("src_id")),
    ("an allocation's type is broken", "V01", "typ", lambda tree: get(
        tree, "Allocate", id="s").update(typ="bn254.fr<-8>")),
    ("nothing is returned", "V01", "Return", lambda tree: (
        tree["main"].pop(), tree["main"].append(free("kept")))),
]  # fmt: skip


def test_the_program_that_is_changed_is_right() -> None:
    assert findings(right()) == []


@pytest.fixture(scope="module")
def tree() -> Tree:
    return right()


@pytest.mark.parametrize(
    ("rule", "word", "change"), [defect[1:] for defect in DEFECTS], ids=[d[0] for d in DEFECTS]
)
def test_one_defect_is_one_finding(tree: Tree, rule: str, word: str, change: Change) -> None:
    changed = copy.deepcopy(tree)
    change(changed)
    found = findings(changed)
    shown = "\n".join(finding.message for finding in found)
    assert [finding.rule for finding in found] == [rule], shown
    assert word in shown
    # In the program's own words: names from lowering have a #, tensors of steps a %.
    assert "#" not in shown
    assert "%" not in shown
    assert not any(op in shown for op in ("host_to_device", "empty:", "free:", "set_const_val"))


def test_a_race_names_the_first_of_the_views_that_a_call_touches(tree: Tree) -> None:
    changed = copy.deepcopy(tree)
    places = (5, 2, 7, 0, 3, 6, 1, 4)
    views = [sliced("h", f"h{start}", start, start + 1) for start in places]
    inside = [call("zero", ["h"])]
    changed["user_functions"] = {"sum": {"outs": ["bn254.fr<1>"], "ins": ["bn254.fr<1>"] * N}}
    changed["user_functions"]["zero"] = {"outs": [f"bn254.fr<{N}>"], "ins": []}
    put(
        KEPT, allocate("h", zero=True), allocate("k", "bn254.fr<1>"), *views, thread("u", *inside),
        call("sum", ["k"], [view["dst"] for view in views]), {"op": "Join", "thread": "u"},
        free("h"), free("k"),
    )(changed)  # fmt: skip
    (finding,) = findings(changed)
    assert finding.rule == "V15"
    assert 'element 5 (bytes 160 to 192) of "h"' in finding.message


TWO_PLACES = {
    "V02": ("a wait is missing",),
    "V03": ("a register is defined twice",),
    "V04": ("memory is freed before its use", "a use through a view comes after the free"),
    "V05": ("memory is freed twice",),
    "V14": ("threads wait for each other",),
    "V15": ("two threads touch the same bytes",),
    "V16": ("two tensors lie in one place",),
    "V19": ("two threads write a transcript",),
    "V21": ("two draws share a domain", "an id is spelled like another's place"),
}


@pytest.mark.parametrize("name", [name for names in TWO_PLACES.values() for name in names])
def test_a_finding_about_two_instructions_says_where_both_were_written(
    tree: Tree, name: str
) -> None:
    changed = copy.deepcopy(tree)
    next(d for d in DEFECTS if d[0] == name)[3](changed)
    (finding,) = findings(changed)
    assert finding.written is not None
    assert finding.message.count("written at") >= 2, finding.message
    assert finding.message.endswith(f"(written at {finding.written})")


def test_what_is_cast_is_taken_by_the_programs_word() -> None:
    b = zk.ProgramBuilder()
    x = b.input("x", LAGRANGE)
    point = b.constant("point", zk.scalar(), [10])
    value = b.allocate(zk.scalar())
    b.call("evaluate", out=[value], args=[b.cast(x, "coef"), point])
    turned = b.allocate(zk.scalar())
    b.call("evaluate", out=[turned], args=[b.cast(x.rotate(3), "coef"), point])
    b.store(turned, "turned")
    b.ret(value)
    program = b.build()
    digits = [8, 7, 6, 5, 4, 3, 2, 1]
    outcome = program.run({"x": digits})
    assert int(outcome[value.name]) == 12345678
    assert int(outcome["turned"]) == 67812345
    assert zk.Program.parse(program.to_text()).to_json() == program.to_json()


def test_two_draws_of_a_traced_program_are_never_alike() -> None:
    """Not by a domain, not by parts that are programs: no word of the caller's counts."""

    @zk.program
    def part(a: zk.Lagrange[4]) -> cw.Tensor:
        zk.blind(a, 0, 4, domain=0)
        return a

    @zk.program
    def whole(a: zk.Lagrange[4]) -> list[cw.Tensor]:
        drawn = [zk.uniform(4, domain=0), zk.uniform(4, domain=0), zk.uniform((2, 2))]
        return [*drawn, part(cw.zeros(4, dtype=a.dtype)), part(cw.zeros(4, dtype=a.dtype))]

    for run in (whole, whole.eager):
        elements = [int(e) for t in run([0] * 4) for e in t.reshape((4,))]
        assert len(set(elements)) == 20
    assert whole.program.validate() == []


@pytest.mark.parametrize("run", ["eager", "traced", "instructions"])
def test_a_cosets_shift_is_not_zero(run: str) -> None:
    """Found when the value is known, and refused by the run when only the run knows it."""
    a = cw.asarray([1, 2, 3, 4], dtype="bn254.fr")
    zero = cw.asarray(0, dtype="bn254.fr")
    if run == "eager":
        with pytest.raises(OpError, match="elements other than 0"):
            cw.ops.field_ntt(a, coset_shift=zero)
        return
    if run == "traced":
        with pytest.raises(OpError, match="elements other than 0"):
            cw.trace(lambda a: cw.ops.field_ntt(a, coset_shift=zero), a).run(a)
        return
    b = zk.ProgramBuilder()
    x, shift = b.input("x", zk.poly(4)), b.input("shift", zk.scalar())
    y = b.allocate(zk.poly(4))
    b.transfer(x, y)
    b.call("ntt", out=[y], args=[shift])
    b.ret(y)
    program = b.build()
    with pytest.raises(ContentsError, match=r"main/4: .*elements other than 0"):
        program.run({"x": a, "shift": 0})
    assert program.run({"x": a, "shift": 1})[y.name].tolist() == cw.ops.field_ntt(a).tolist()


def test_a_traced_function_mixes_no_forms_but_by_a_cast() -> None:
    @zk.program
    def mixed(a: zk.Lagrange[4], x: zk.Scalar) -> cw.Tensor:
        return cw.ops.evaluate(a, x)

    @zk.program
    def said(a: zk.Lagrange[4], x: zk.Scalar) -> cw.Tensor:
        return cw.ops.evaluate(zk.as_coef(a), x)

    with pytest.raises(ProgramError, match=r"evaluate.*expected coefficients"):
        mixed([1, 2, 3, 4], 10)
    assert int(said([1, 2, 3, 4], 10)) == int(mixed.eager([1, 2, 3, 4], 10)) == 4321
