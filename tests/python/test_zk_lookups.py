"""halo2's permuted columns of a lookup, against its rule in Python's integers."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops, zk
from cloakwork.errors import ContentsError, OpError, ProgramError
from python.field_numbers import FIELDS, PRIMES, decode, encode, numbers
from python.zk_interpreter import Interpreter

FIELDS_OF_PROGRAMS = ["bn254.fr", "bls12_381.fr", "goldilocks", "babybear"]
WORKERS = (1, 2, 3)


def permuted(a: Sequence[int], t: Sequence[int], usable: int) -> tuple[list[int], list[int]]:
    """The rule as halo2's prover has it: counts of the table, and rows that repeat as a stack."""
    rows = sorted(a[:usable])
    left = Counter(t[:usable])
    table, repeated = [0] * len(a), []
    for row, value in enumerate(rows):
        if row and rows[row - 1] == value:
            repeated.append(row)
        else:
            assert left[value] > 0
            left[value] -= 1
            table[row] = value
    for value in sorted(left):
        for _ in range(left[value]):
            table[repeated.pop()] = value
    assert not repeated
    return rows + [0] * (len(a) - usable), table


def holds(field: str, a: Sequence[int], t: Sequence[int], usable: int) -> None:
    got = zk.permute_expression(encode(a, field), encode(t, field), usable)
    assert [decode(column) for column in got] == list(permuted(a, t, usable))


def columns(field: str, n: int, usable: int, seed: int) -> tuple[list[int], list[int]]:
    """A table, in which values may be twice, and inputs of which the usable ones are in it."""
    draw = random.Random(f"{field} {n} {usable} {seed}")
    t, a = numbers(field, n, seed), numbers(field, n, seed + 1)
    a[:usable] = [draw.choice(t[:usable]) for _ in range(usable)]
    return a, t


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 9, 100, 1023, 1024, 1025, 5000])
def test_columns_are_permuted_as_halo2_does(field: str, n: int) -> None:
    for usable in sorted({0, min(n, 1), n // 2, max(n - 6, 0), n}):
        holds(field, *columns(field, n, usable, seed=usable), usable)


@pytest.mark.parametrize("field", FIELDS)
def test_columns_with_a_pattern_are_permuted(field: str) -> None:
    n, usable = 1500, 1494
    p, draw = PRIMES[field], random.Random(3)
    ascending = [i * (p // n) for i in range(n)]
    shuffled = draw.sample(ascending[:usable], usable) + [p - 1] * (n - usable)
    for a, t in (
        ([p - 1] * n, numbers(field, n - 7) + [p - 1] * 7),  # all equal
        ([0] * n, [0] * n),  # all equal, and so is the table
        (shuffled, ascending),  # all distinct
        (ascending[:usable] + [1] * 6, shuffled),
        (ascending[::-1][6:] + [1] * 6, ascending[::-1][6:] + [2] * 6),
        ([5, 7] * (n // 2), [5] * (n // 2) + [7] * (n // 2)),  # the table repeats
        ([p - 1, 0, 1] * (n // 3), [1, 0, p - 1] * (n // 3)),
    ):
        holds(field, a, t, usable)


def test_each_row_is_the_inputs_or_that_is_the_row_before() -> None:
    field, n, usable = "bn254.fr", 1 << 14, (1 << 14) - 6
    a, t = columns(field, n, usable, seed=5)
    rows, table = map(decode, zk.permute_expression(encode(a, field), encode(t, field), usable))
    assert Counter(rows[:usable]) == Counter(a[:usable])
    assert Counter(table[:usable]) == Counter(t[:usable])
    for i in range(usable):
        assert table[i] == rows[i] or (i and rows[i] == rows[i - 1])
    assert (rows, table) == permuted(a, t, usable)


@pytest.mark.parametrize("field", FIELDS)
def test_columns_lie_anywhere(field: str) -> None:
    n, usable = 1100, 1090
    a, t = columns(field, n, usable, seed=1)
    x, y = (cw.flip(encode(column[::-1], field)) for column in (a, t))
    both = cw.stack((x, y), axis=1)
    expected = permuted(a, t, usable)
    for left, right in ((x, y), (both[:, 0], both[:, 1])):
        got = zk.permute_expression(left, right, usable)
        assert tuple(decode(column) for column in got) == expected
    wide = cw.zeros((n, 2), dtype=field)
    ops.permute_input(x, usable, out=wide[:, 1])
    rows = ops.lookup_rows(x, y, usable)
    turned = cw.flip(rows.copy())
    ops.permute_table(y, cw.flip(turned), out=wide[:, 0])
    assert (decode(wide[:, 1]), decode(wide[:, 0])) == expected


@pytest.mark.parametrize("usable", [0, 5, 6])
def test_results_lie_anywhere(usable: int) -> None:
    field, n = "goldilocks", 6
    a, t = columns(field, n, usable, seed=1)
    x, y = encode(a, field), encode(t, field)
    expected = permuted(a, t, usable)
    backward = [cw.zeros(n, dtype=field) for _ in range(2)]
    ops.permute_input(x, usable, out=cw.flip(backward[0]))
    ops.permute_table(y, ops.lookup_rows(x, y, usable), out=cw.flip(backward[1]))
    assert tuple(decode(column)[::-1] for column in backward) == expected


@pytest.mark.parametrize("field", FIELDS)
def test_threads_change_no_bit(field: str) -> None:
    n, usable = 9000, 8990
    x, y = (encode(column, field) for column in columns(field, n, usable, seed=2))
    results = []
    try:
        for threads in WORKERS:
            cw.set_threads(threads)
            results.append([decode(column) for column in zk.permute_expression(x, y, usable)])
    finally:
        cw.set_threads(None)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("places", [[0], [1, 8], [1499, 700], [1023, 1024], [9, 1493]])
def test_an_input_that_the_table_lacks_is_an_error_that_names_its_row(
    field: str, places: list[int]
) -> None:
    n, usable, p = 1500, 1494, PRIMES[field]
    t = [3 * i for i in range(n)]
    a = [random.Random(n).choice(t[:usable]) for _ in range(n)]
    t[usable:] = [1, 4, 7, p - 1, p - 2, p - 3]  # not among the usable rows
    for place, value in zip(places, (p - 1, 7), strict=False):
        a[place] = value
    x, y = encode(a, field), encode(t, field)
    wrong = [place for place in places if place < usable]
    with pytest.raises(OpError) as caught:
        zk.permute_expression(x, y, usable)
    message = str(caught.value)
    assert f"in row {min(wrong)} of the input" in message
    assert "add the value to the table" in message
    out = encode([1] * n, field)
    with pytest.raises(OpError, match=f"row {min(wrong)} "):
        ops.permute_table(y, ops.lookup_rows(x, y, usable), out=out)
    assert decode(out) == [1] * n
    for place in wrong:
        a[place] = 0
    holds(field, a, t, usable)  # rows after these need no place in the table


def test_the_first_of_equal_inputs_that_the_table_lacks_is_told() -> None:
    for a, row in (([1, 9, 8, 9, 8], 1), ([8, 9, 1, 9, 8], 0), ([1, 1, 1, 1, 9], 4)):
        x, y = encode(a, "goldilocks"), encode([1, 1, 2, 3, 5], "goldilocks")
        with pytest.raises(OpError, match=f"row {row} of the input"):
            zk.permute_expression(x, y, 5)


def test_what_is_no_lookup_is_refused() -> None:
    x = encode([1, 2, 3], "babybear")
    for usable, expected in ((-1, "an integer from 0"), (4, "0 to 3 rows")):
        with pytest.raises(OpError, match=f"`usable`: expected {expected}.*got {usable}"):
            zk.permute_expression(x, x, usable)
    with pytest.raises(OpError, match=r"shape \[3\]"):
        zk.permute_expression(x, x[:2], 2)
    with pytest.raises(OpError, match="babybear"):
        zk.permute_expression(x, encode([1, 2, 3], "goldilocks"), 2)
    with pytest.raises(OpError, match="axes"):
        ops.permute_input(cw.stack((x, x)), 1)
    with pytest.raises(OpError, match="rows below 3"):
        ops.permute_table(x, cw.asarray([0, 3]))
    with pytest.raises(OpError, match="at most 3 rows"):
        ops.permute_table(x, cw.asarray([0, 1, 2, 0]))


def agrees(program: zk.Program, inputs: dict[str, Any]) -> None:
    """The loaded program gives the slow interpreter's results, for any number of threads."""
    text = program.to_json()
    expected = Interpreter(json.loads(text), inputs).run()
    for workers in WORKERS:
        outputs = zk.Program.parse(text).run(inputs, threads=workers).outputs
        assert outputs.keys() == expected.keys()
        for name, tensor in outputs.items():
            got = np.asarray(tensor.tolist(), dtype=object)
            assert np.array_equal(got, expected[name]), (name, workers)


def lookup(field: str, n: int, usable: int) -> zk.Program:
    b = zk.ProgramBuilder()
    a, t = (b.input(name, zk.tensor(field, n)) for name in "at")
    outs = [b.allocate(zk.tensor(field, n)) for _ in range(2)]
    b.call("permute_expression", out=outs, args=[a, t], usable=usable)
    b.store(outs[0], "input")
    b.store(outs[1], "table")
    b.ret(a)
    return b.build()


@pytest.mark.parametrize("field", FIELDS_OF_PROGRAMS)
@pytest.mark.parametrize("n", [1, 8, 1024, 3000])
def test_programs_permute_lookups(field: str, n: int) -> None:
    for usable in {0, n - n // 3, n}:
        a, t = columns(field, n, usable, seed=n)
        program = lookup(field, n, usable)
        agrees(program, {"a": a, "t": t})
        outputs = program.run({"a": a, "t": t}).outputs
        got = [outputs["input"].tolist(), outputs["table"].tolist()]
        assert got == list(permuted(a, t, usable))


@pytest.mark.parametrize("outs", ["at", "ta", "xt", "tx", "ax", "xa"])
def test_results_may_be_the_operands(outs: str) -> None:
    field, n, usable = "bn254.fr", 40, 34
    b = zk.ProgramBuilder()
    inputs = {name: b.input(name, zk.tensor(field, n)) for name in "at"}
    own = {"x": b.allocate(zk.tensor(field, n))}
    for name, register in inputs.items():
        own[name] = b.allocate(zk.tensor(field, n))
        b.transfer(register, own[name])
    targets = [own[name] for name in outs]
    b.call("permute_expression", out=targets, args=[own["a"], own["t"]], usable=usable)
    for name, register in zip(("input", "table"), targets, strict=True):
        b.store(register, name)
    b.ret(inputs["a"])
    a, t = columns(field, n, usable, seed=4)
    agrees(b.build(), {"a": a, "t": t})


def test_columns_of_programs_may_be_windows_that_wrap() -> None:
    field, n, usable = "goldilocks", 64, 58
    a, t = columns(field, n, usable, seed=4)
    b = zk.ProgramBuilder()
    x, y = (b.input(name, zk.tensor(field, n)) for name in "at")
    wide = [b.allocate(zk.tensor(field, n)) for _ in range(2)]
    turned = [wide[0].rotate(5), wide[1].rotate(-9)]
    b.call("permute_expression", out=turned, args=[x.rotate(3), y.rotate(-4)], usable=usable)
    part = b.allocate(zk.tensor(field, n // 2))
    same = b.allocate(zk.tensor(field, n // 2))
    odd = b.slice(wide[0], 0, n, 2)
    b.call("permute_expression", out=[part, same], args=[odd, odd], usable=n // 2)
    for index, register in enumerate((*wide, part, same)):
        b.store(register, f"y{index}")
    b.ret(x)
    agrees(b.build(), {"a": [*a[-3:], *a[:-3]], "t": [*t[4:], *t[:4]]})


@pytest.mark.parametrize("row", [0, 3, 5])
def test_a_program_names_the_row_that_the_table_lacks(row: int) -> None:
    program = lookup("bn254.fr", 8, 6)
    a, t = [1, 2, 3, 1, 2, 3, 77, 78], [3, 2, 1, 4, 5, 6, 50, 51]
    program.run({"a": a, "t": t})
    a[row] = 50
    instructions = json.loads(program.to_json())["main"]
    at = [one.get("func") for one in instructions].index("permute_expression")
    for workers in WORKERS:
        with pytest.raises(ContentsError, match=f"row {row} of the input") as caught:
            program.run({"a": a, "t": t}, threads=workers)
        assert caught.value.place == f"main/{at}"
        assert str(caught.value).startswith(f"main/{at}: permute_table: ")
    a[row] = 1
    program.run({"a": a, "t": t})


def test_a_program_says_which_rows_are_usable() -> None:
    for usable in (-1, 9):
        with pytest.raises(ProgramError, match=r"attrs\.usable.*0 to 8"):
            lookup("bn254.fr", 8, usable)
    b = zk.ProgramBuilder()
    a = b.input("a", zk.tensor("bn254.fr", 8))
    out = b.allocate(zk.tensor("bn254.fr", 8))
    b.call("permute_expression", out=[out, out], args=[a, a], usable=8)
    b.ret(out)
    with pytest.raises(ProgramError, match="results that share no bytes"):
        b.build()
