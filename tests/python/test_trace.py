"""Recorded programs against the same functions run at once."""

from collections.abc import Callable

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, ops
from cloakwork.errors import (
    CloakworkError,
    InputError,
    OpError,
    ParamError,
    SecretError,
    TraceError,
)
from python.heal_writer import Q

QS = cw.asarray(Q)
X = cw.asarray(np.arange(12).reshape(2, 3, 2) + 2**60)
Y = cw.asarray(np.arange(12).reshape(2, 3, 2) * 7919)
Function = Callable[..., cw.Tensor | tuple[cw.Tensor, ...] | list[cw.Tensor]]


def through_views(x: cw.Tensor, y: cw.Tensor) -> cw.Tensor:
    both = cw.empty((2, *x.shape), "i64")
    ops.modmul(x, y, QS, out=both[0])
    ops.modsum(both[0], y, QS, out=both[1])
    return both


def in_place(x: cw.Tensor, y: cw.Tensor) -> cw.Tensor:
    total = ops.modsum(x, 0, QS)
    ops.modsum(total, y, QS, out=total)
    ops.modneg(total, QS, out=total)
    return total


def accumulated(x: cw.Tensor, y: cw.Tensor) -> cw.Tensor:
    rows = ops.modmul_axis_sum(x.unsqueeze(0).moveaxis(1, 2), y.moveaxis(0, 1), QS, False, axis=-3)
    return ops.modmul_axis_sum(
        x.unsqueeze(0).moveaxis(1, 2), y.moveaxis(0, 1), QS, False, axis=-3, out=rows
    )


def layouts(x: cw.Tensor, y: cw.Tensor) -> tuple[cw.Tensor, ...]:
    return (
        x[0, ..., None, 1], x[:, 1:, ::2], x.moveaxis(0, 2).contiguous(), y.reshape(-1, 4),
        y.moveaxis(0, 2).reshape(3, 4), x[:1].squeeze(0).unsqueeze(-1).expand(-1, 3), x[...],
        x.flatten(), y.flatten(1, 2), ops.repeat_interleave(y, 2, 1),
        ops.pad_single_axis(x, 2, 1), ops.set_const_val(cw.zeros((2, 2), "i32"), 7),
    )  # fmt: skip


def constants(x: cw.Tensor, y: cw.Tensor) -> list[cw.Tensor]:
    made = ops.modsum(cw.asarray([[1, 2]]), cw.asarray([[3, 4]]), QS)
    wide = cw.asarray([5, 6]).unsqueeze(0).expand(0, 3)
    return [ops.modmul(x, made, QS), ops.modmul(y, wide, QS), ops.modmul(y, wide[1:2], QS)]


FUNCTIONS = [through_views, in_place, accumulated, layouts, constants]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_program_computes_what_its_function_does(function: Function, threads: int) -> None:
    given = (cw.asarray(X.numpy()), cw.asarray(Y.numpy()))
    now = function(*given)
    expected = [now] if isinstance(now, cw.Tensor) else list(now)
    program = cw.trace(function, X, Y)
    assert [f for f in program.check() if f.severity == "error"] == []
    outputs = program.run(X, Y, threads=threads).outputs
    for output, want in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(output), np.asarray(want), strict=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_transcript_of_it_verifies_also_after_saving(function: Function, tmp_path) -> None:
    transcript = cw.trace(function, X, Y).to_transcript([X, Y])
    assert transcript.run(verify=True).mismatches == []
    transcript.save(tmp_path / "t.cwk")
    assert cw.heal.load(tmp_path / "t.cwk").run(verify=True).mismatches == []
    if function is not layouts:  # which calls an op that HEAL has not
        transcript.save(tmp_path / "t.json")
        assert cw.heal.load(tmp_path / "t.json").run(verify=True).mismatches == []


def test_heals_form_has_only_heals_ops(tmp_path) -> None:
    transcript = cw.trace(ops.copy, X).to_transcript([X])
    with pytest.raises(CloakworkError, match=r"HEAL has no op copy; save as \.cwk"):
        transcript.save(tmp_path / "t.json")
    assert not (tmp_path / "t.json").exists()


def test_a_program_shows_its_inputs_and_text() -> None:
    program = cw.trace(lambda x, y: ops.modmul(x, y, QS), X, Y)
    assert program.inputs == ["x", "y"]
    assert "modmul %" in str(program)
    assert 'host_to_device input "x" i64[2, 3, 2]' in str(program)
    assert repr(program).startswith("Program(inputs=['x', 'y']")


def test_every_name_is_freed() -> None:
    for function in FUNCTIONS:
        assert not [f for f in cw.trace(function, X, Y).check() if f.code == "leak"]


def test_constants_are_stored_once() -> None:
    program = cw.trace(lambda x: ops.modmul(ops.modmul(x, 3, QS), 5, QS), X)
    assert program.inspect().host_bytes == 16


def test_a_constant_that_changes_is_a_new_constant() -> None:
    changing = cw.asarray([1, 1])

    def function(x: cw.Tensor) -> cw.Tensor:
        first = ops.modmul(x, changing, QS)
        np.asarray(changing)[...] = 2
        return ops.modsum(first, changing, QS)

    program = cw.trace(function, X)
    expected = (X.numpy().astype(object) + 2) % np.array(Q, dtype=object)
    np.testing.assert_array_equal(np.asarray(program.run(X).outputs[0]), expected.astype(np.int64))


def test_later_writes_to_a_constant_do_not_reach_the_program() -> None:
    factor = cw.asarray([3, 3])
    program = cw.trace(lambda x: ops.modmul(x, factor, QS), X)
    before = program.run(X).outputs[0].numpy()
    np.asarray(factor)[...] = 0
    np.testing.assert_array_equal(np.asarray(program.run(X).outputs[0]), before)


def test_later_writes_to_inputs_do_not_reach_a_transcript() -> None:
    mine = cw.asarray(X.numpy())
    transcript = cw.trace(lambda x: ops.modmul(x, 3, QS), X).to_transcript([mine])
    np.asarray(mine)[...] = 0
    assert transcript.run(verify=True).mismatches == []


def test_inputs_of_other_types_or_numbers_are_refused() -> None:
    program = cw.trace(lambda x, y: ops.modmul(x, y, QS), X, Y)
    with pytest.raises(InputError, match=r"input y: expected .*i64\[2, 3, 2\], got i64\[3, 2\]"):
        program.run(X, Y[0])
    with pytest.raises(InputError, match="got i32"):
        program.run(X, np.zeros((2, 3, 2), dtype=np.int32))
    with pytest.raises(ParamError, match=r"inputs: got 1, expected 2: x: i64\[2, 3, 2\], y: i64"):
        program.run(X)


def test_inputs_may_be_arrays_and_views_of_any_strides() -> None:
    program = cw.trace(lambda x: ops.modmul(x, 1, QS), X)
    moved = cw.asarray(np.moveaxis(X.numpy(), 0, 2).copy()).moveaxis(2, 0)
    for given in (X.numpy(), moved, cw.asarray(np.stack([X.numpy()] * 2))[1]):
        np.testing.assert_array_equal(np.asarray(program.run(given).outputs[0]), X.numpy())


def test_a_traced_tensor_has_no_elements() -> None:
    seen: list[str] = []

    def function(x: cw.Tensor) -> cw.Tensor:
        assert (x.shape, x.dtype, x.ndim, x.nbytes) == ((2, 3, 2), "i64", 3, 96)
        assert repr(x) == "Tensor(<traced>, shape=(2, 3, 2), dtype=i64)"
        wishes: list[Callable[[], object]] = [
            lambda: np.asarray(x), x.numpy, x.item, lambda: bool(x[0, 0, 0]), x.zeroize,
            x.mark_secret, lambda: cw.asarray(x, "i32"),
        ]  # fmt: skip
        for wish in wishes:
            with pytest.raises(TraceError, match="no elements") as raised:
                wish()
            seen.append(str(raised.value))
        with pytest.raises(BufferError):
            memoryview(x)
        return x

    cw.trace(function, X)
    assert len(seen) == 7


def test_mistakes_in_a_traced_call_are_found_at_the_call() -> None:
    def function(x: cw.Tensor) -> cw.Tensor:
        with pytest.raises(OpError, match="modmul: `q`"):
            ops.modmul(x, 1, 0)
        with pytest.raises(OpError, match=r"expected i64\[2, 3, 2\], got i32"):
            ops.modmul(x, x, cw.asarray(Q[:1]), out=cw.empty(x.shape, "i32"))
        with pytest.raises(OpError) as raised:
            ops.axis_modsum(x, 0, QS, out=x[0])
        assert raised.value.code == "aliasing"
        return x

    cw.trace(function, X)


def test_secrets_are_never_traced() -> None:
    secret = cw.asarray([1, 2])
    secret.mark_secret()
    for function in (
        lambda x: ops.modmul(x, secret, QS),
        lambda x: ops.modmul(x, secret[:1], QS),
        lambda x: ops.modmul(x, ops.modmul(secret, 2, QS), QS),
        lambda _: secret,
    ):
        with pytest.raises(SecretError, match="secret"):
            cw.trace(function, X)


def test_a_secret_may_be_an_input_but_not_data_of_a_transcript() -> None:
    secret = cw.asarray(X.numpy())
    secret.mark_secret()
    program = cw.trace(lambda x: ops.modmul(x, 1, QS), X)
    np.testing.assert_array_equal(np.asarray(program.run(secret).outputs[0]), X.numpy())
    with pytest.raises(SecretError, match="transcript"):
        program.to_transcript([secret])


def test_traces_do_not_nest_and_tensors_do_not_leave_them() -> None:
    with pytest.raises(TraceError, match="cannot trace another"):
        cw.trace(lambda x: cw.trace(lambda y: y, x).run(x).outputs[0], X)
    kept: list[cw.Tensor] = []
    cw.trace(lambda x: kept.append(x) or x, X)
    with pytest.raises(TraceError, match="only inside"):
        ops.modmul(kept[0], 1, QS)
    with pytest.raises(TraceError, match="only inside"):
        cw.trace(lambda x: ops.modmul(x, kept[0], QS), X)
    with pytest.raises(TraceError, match="only inside"):
        cw.trace(lambda _: kept[0], X)


def test_a_trace_that_fails_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        cw.trace(lambda _: 1 // 0, X)
    assert np.asarray(cw.zeros(2, "i64")).tolist() == [0, 0]
    assert cw.trace(lambda x: ops.modmul(x, 1, QS), X).run(X).outputs


@pytest.mark.parametrize(
    "draw",
    [
        lambda: cw.random.ternary((2,)),
        lambda: cw.random.gaussian((2,)),
        lambda: cw.random.uniform_mod((2,), 7),
    ],
)
def test_programs_contain_no_randomness(draw: Callable[[], cw.Tensor]) -> None:
    with pytest.raises(TraceError, match="randomness"):
        cw.trace(lambda _: draw(), X)


def test_results_are_not_written_into_tensors_from_outside() -> None:
    outside = cw.empty(X.shape, "i64")
    with pytest.raises(TraceError, match="make `out` inside"):
        cw.trace(lambda x: ops.modmul(x, 1, QS, out=outside), X)


@pytest.mark.parametrize("result", [None, 3, (), [], {}, (X, 3), {"a": 3}])
def test_functions_that_return_no_tensors_are_refused(result: object) -> None:
    with pytest.raises(TraceError, match="returns a Tensor"):
        cw.trace(lambda _: result, X)


def test_a_function_may_return_its_input_a_constant_or_one_value_twice() -> None:
    constant = cw.asarray([4, 5])
    program = cw.trace(lambda x: (x, constant, x), X)
    outputs = [np.asarray(output) for output in program.run(X).outputs]
    for got, expected in zip(outputs, (X.numpy(), constant.numpy(), X.numpy()), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_hints_reach_the_transcript_for_those_that_need_them() -> None:
    q, q_inv = cw.asarray([61, 97]), cw.asarray([[1, 22], [35, 1]])
    residues = cw.asarray([[[1234 % 61], [1234 % 97]]])
    program = cw.trace(lambda a: ops.g_decomp_full_q(a, q, 4, 4, q_inv=q_inv), residues)
    np.testing.assert_array_equal(
        np.asarray(program.run(residues).outputs[0])[0, :, 0], [2, 13, 4, 0]
    )
    assert program.inspect().host_bytes == 8 * (2 + 4)


def test_what_is_made_unrecorded_outlives_the_trace() -> None:
    made: list[cw.Tensor] = []

    def traced(x: cw.Tensor) -> cw.Tensor:
        made.append(_core.unrecorded(lambda: cw.asarray([1, 2, 3]) + 1))
        return x * made[0]

    program = cw.trace(traced, cw.zeros(3, "i64"))
    assert made[0].tolist() == [2, 3, 4]
    assert program.run([1, 1, 2]).outputs[0].tolist() == [2, 3, 8]
    assert "add" not in str(program)


def test_a_recording_goes_on_after_an_error_in_what_is_unrecorded() -> None:
    def traced(x: cw.Tensor) -> cw.Tensor:
        with pytest.raises(TraceError, match="can be used only inside"):
            _core.unrecorded(lambda: x + 1)
        return x + 1

    assert cw.trace(traced, cw.zeros(1, "i64")).run([4]).outputs[0].tolist() == [5]


class _Alike(str):
    """Text that is equal to itself alone."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


@pytest.mark.parametrize(
    "keys", [(1, "1"), (1,), ("a", None), (b"a",), (("a", "b"),), (_Alike("a"), _Alike("a"))]
)
def test_no_result_is_lost_by_its_key(keys: tuple[object, ...]) -> None:
    def returned(x: cw.Tensor) -> dict[object, cw.Tensor]:
        return {key: x + number for number, key in enumerate(keys)}

    assert len(returned(X)) == len(keys)
    with pytest.raises(TraceError, match=r"got the key .* different texts"):
        cw.trace(returned, X)
