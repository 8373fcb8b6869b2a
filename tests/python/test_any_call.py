"""Any call of any op gives a tensor or an error of Cloakwork's, at once and under a trace alike."""

import doctest
import inspect
import math
import random
from collections.abc import Callable
from pathlib import Path
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
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@st.composite
def tensors(draw: st.DrawFn) -> cw.Tensor:
    shape, dtype = (
        draw(st.sampled_from(SHAPES)),
        draw(st.sampled_from(["i64", "i32", "int8", "u64", "f64"])),
    )
    count = int(np.prod(shape))
    low = 0 if dtype == "u64" else -3
    words = draw(st.lists(st.integers(low, 97), min_size=count, max_size=count))
    array = np.array(words, dtype=np.float64 if dtype == "f64" else np.int64).reshape(shape)
    tensor = cw.asarray(array, dtype)
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
        "DType | str": st.sampled_from(["i64", "i32", "int8"]), "Sizes":
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
    """The elements of a call's result, or the kind of error."""
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
        # A tensor of one integer may replace an integer, but has no value during a trace.
        if traced is OpTypeError and any(tensor.size == 1 for tensor in copies):
            return
        assert isinstance(traced, np.ndarray), traced
        np.testing.assert_array_equal(traced, now, strict=True)
    else:
        assert isinstance(traced, type), f"{now} at once, {traced!r} under a trace"


# Values for good calls. 632 bytes are a transcript.
GOOD_SHAPES = [
    (), (2,), (4,), (4,), (2, 2), (4, 4), (32,), (632,), (1, 4, 1, 1), (2, 4, 1, 2), (2, 2, 4),
]  # fmt: skip
GOOD_DTYPES = {
    "bool": bool, "i32": np.int32, "i64": np.int64, "uint8": np.uint8, "u64": np.uint64,
    "f64": np.float64, "c128": np.complex128, "bn254.fr": None, "goldilocks": None,
    "bn254.g1": None,
}  # fmt: skip


def good_tensor(draw: random.Random, shape: tuple[int, ...], dtype: str) -> cw.Tensor:
    count = math.prod(shape)
    if dtype == "bn254.g1":
        return ops.zeros(list(shape), dtype)
    kind = draw.randrange(3)
    if count > 32:
        words = [0] * count
    elif kind == 0:
        words = [17] * count
    else:
        words = [*range(count)] if kind == 1 else [draw.randrange(4) for _ in range(count)]
    if dtype == "bool":
        words = [word % 2 for word in words]
    if GOOD_DTYPES[dtype] is None:
        return cw.asarray(words, dtype).reshape(shape)
    array = np.array(words).reshape(shape)
    if dtype in ("f64", "c128") and shape[-2:] in ((2, 2), (4, 4)):
        array = array * 0.01 + np.eye(shape[-1])
    return cw.asarray(array.astype(GOOD_DTYPES[dtype]), dtype)


def good_call(draw: random.Random, name: str) -> tuple[list[Any], dict[str, Any]]:
    """Arguments that mostly fit together: one shape, one type."""
    shape, dtype = draw.choice(GOOD_SHAPES), draw.choice([*GOOD_DTYPES])
    others: dict[str, Callable[[], Any]] = {
        "int": lambda: draw.choice([0, 1, 2, 3, 4, 17, -1, -3]),
        "bool": lambda: draw.random() < 0.5,
        "DType | str": lambda: draw.choice([*GOOD_DTYPES]),
        "Sizes": lambda: draw.choice([[2], [4], [0], [2, 2], [], [1, 0], [slice(0, 1)]]),
    }

    def value(annotation: str) -> Any:
        if annotation in others:
            return others[annotation]()
        own = shape if draw.random() < 0.6 else draw.choice(GOOD_SHAPES)
        kind = dtype if draw.random() < 0.6 else draw.choice([*GOOD_DTYPES])
        return good_tensor(draw, own, kind)

    positional, named = [], {}
    for parameter in inspect.signature(getattr(ops, name)).parameters.values():
        if parameter.default is inspect.Parameter.empty:
            positional.append(value(str(parameter.annotation)))
        elif draw.random() < 0.2:
            named[parameter.name] = value(str(parameter.annotation))
    return positional, named


def is_found(name: str, attempts: int) -> bool:
    """Whether some call that is drawn is a good one."""
    draw = random.Random(name)
    for _ in range(attempts):
        positional, named = good_call(draw, name)
        try:
            getattr(ops, name)(*positional, **named)
        except InternalError:
            raise
        except (CloakworkError, MemoryError):
            continue
        return True
    return False


# Ops whose operands depend on each other, which random draws rarely satisfy: tables of roots, lists
# of indices, several shapes at once. Their documented calls are good calls.
DOCUMENTED = {
    "absorb", "absorb_write", "arange", "automorphism", "axis_modsum", "base_convert", "blind",
    "challenge", "from_canonical", "g_decomp_full_q", "intt", "irfft", "kate_div", "mod_down",
    "mod_up", "modmul_axis_sum", "modmuladd", "msm", "ntt", "permute", "philox_normal",
    "philox_uniform", "rescale", "scatter", "solve", "sparse_matvec", "transcript_finish",
    "uniform_field", "uniform_mod",
}  # fmt: skip
# Key switching takes ten tables that belong together: test_composites.py makes them.
ELSEWHERE = {"hybrid_key_switch", "key_switch", "relinearize"}


def test_every_op_is_reached_by_good_calls() -> None:
    searched = set(NAMES) - DOCUMENTED - ELSEWHERE
    assert sorted(name for name in searched if not is_found(name, 1500)) == []
    assert len(searched) + len(DOCUMENTED) + len(ELSEWHERE) == len(NAMES)


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_an_op_of_fitting_operands_is_reached_by_its_documented_call(name: str) -> None:
    text = (EXAMPLES / f"{name}.txt").read_text()
    assert f"ops.{name}(" in text
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    results = doctest.DocTestRunner(verbose=False).run(example)
    assert results.attempted > 0
    assert results.failed == 0


def test_a_required_dtype_is_refused_where_it_is_none() -> None:
    with pytest.raises(OpTypeError, match="astype: `dtype`: expected an element type, got nothing"):
        ops.astype(cw.zeros(2), None)


def test_too_many_arguments_are_counted() -> None:
    with pytest.raises(CloakworkError, match="at most 1 arguments"):
        cw._core.Op("contiguous")(cw.zeros(1, "i64"), 1)
