"""Any call of any op gives a tensor or an error of Cloakwork's, at once and under a trace alike."""

import inspect
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.errors import CloakworkError, InternalError, OpTypeError
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = [(), (0,), (1,), (2,), (4,), (2, 2), (1, 4), (4, 1), (2, 4, 1, 2), (1, 2, 2, 4), (2, 2, 4)]
INTS = [-(2**63), -17, -3, -1, 0, 1, 2, 3, 5, 17, 97, 2**62, 2**62 + 1, 2**63 - 1, 2**64]
LISTS: list[Any] = [
    [], [2], [4], [-1], [2, 2], [0], [1] * 17, [slice(0, 1)], [0, slice(0, 2, 1)], [2**60], "ab",
]  # fmt: skip
OTHERS: list[Any] = [None, "i64", "i8", "f32", "none", True, 1.5, b"x", np.zeros(2), {}]
NAMES = sorted(ops.__all__)


@st.composite
def tensors(draw: st.DrawFn) -> cw.Tensor:
    shape, dtype = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(["i64", "i32", "i8", "u64"]))
    count = int(np.prod(shape))
    low = 0 if dtype == "u64" else -3
    words = draw(st.lists(st.integers(low, 97), min_size=count, max_size=count))
    tensor = cw.asarray(np.array(words, dtype=np.int64).reshape(shape), dtype)
    if draw(st.booleans()) and tensor.ndim > 1:
        tensor = tensor.moveaxis(0, -1)
    return tensor


ANYTHING = st.one_of(
    tensors(), tensors(), st.sampled_from(INTS), st.sampled_from(LISTS), st.sampled_from(OTHERS)
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[Any], dict[str, Any]]:
    """An op with likely and unlikely arguments."""
    name = draw(st.sampled_from(NAMES))
    likely = {
        "Tensor": tensors(), "int": st.sampled_from(INTS[1:12]), "bool": st.booleans(),
        "DType | str": st.sampled_from(["i64", "i32", "i8"]), "Sizes":
        st.sampled_from(LISTS), "Tensor | int": tensors() | st.sampled_from(INTS[4:12]),
    }  # fmt: skip
    positional, named = [], {}
    for parameter in inspect.signature(getattr(ops, name)).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            if draw(st.integers(0, 3)) == 0:
                named[parameter.name] = draw(ANYTHING)
        elif draw(st.integers(0, 9)) == 0:
            positional.append(draw(ANYTHING))
        else:
            positional.append(draw(likely[str(parameter.annotation)]))
    return name, positional, named


def outcome(call: Any) -> Any:
    """The elements of what a call gives, or the kind of error."""
    try:
        return np.asarray(call())
    except InternalError:
        raise
    except (CloakworkError, MemoryError) as error:
        return type(error)


@settings(max_examples=600, deadline=None)
@given(calls())
def test_any_call_ends_well_and_a_trace_agrees(call: tuple[str, list[Any], dict[str, Any]]) -> None:
    name, positional, named = call
    op = getattr(ops, name)
    given_tensors = [v for v in [*positional, *named.values()] if isinstance(v, cw.Tensor)]
    copies = [cw.asarray(tensor.numpy()) for tensor in given_tensors]
    now = outcome(lambda: op(*positional, **named))
    if not copies:
        return

    def again(*traced: cw.Tensor) -> cw.Tensor:
        left = iter(traced)
        swap = [next(left) if isinstance(v, cw.Tensor) else v for v in positional]
        keyed = {k: next(left) if isinstance(v, cw.Tensor) else v for k, v in named.items()}
        result: cw.Tensor = op(*swap, **keyed)
        return result

    traced = outcome(lambda: cw.trace(again, *copies).run(*copies, profile=False).outputs[0])
    if isinstance(now, np.ndarray):
        # A tensor of one integer may stand for an integer, but has no value while it is traced.
        if traced is OpTypeError and any(tensor.size == 1 for tensor in copies):
            return
        assert isinstance(traced, np.ndarray), traced
        np.testing.assert_array_equal(traced, now, strict=True)
    else:
        assert isinstance(traced, type), f"{now} at once, {traced!r} under a trace"


def test_every_op_is_reached_by_good_calls() -> None:
    reached: set[str] = set()

    @settings(max_examples=4000, deadline=None, database=None)
    @given(calls())
    def collect(call: tuple[str, list[Any], dict[str, Any]]) -> None:
        name, positional, named = call
        if isinstance(outcome(lambda: getattr(ops, name)(*positional, **named)), np.ndarray):
            reached.add(name)

    collect()
    assert len(reached) >= 15, sorted(set(NAMES) - reached)


def test_too_many_arguments_are_counted() -> None:
    with pytest.raises(CloakworkError, match="at most 1 arguments"):
        cw._core.Op("contiguous")(cw.zeros(1, "i64"), 1)
