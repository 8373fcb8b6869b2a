"""Operators and assignments take each form of operand as a tensor, or refuse it by name.

Never does one of Python's defaults answer: unequal objects, a repeated list, a text.
"""

from __future__ import annotations

import builtins
import itertools
import operator
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError, DTypeError, ParamError
from python.operand_forms import FORMS, NUMBERS, REFUSED
from python.test_operand_forms import is_named, same

Operator = Callable[[Any, Any], Any]

NAMES = [name for name in dir(cw.Tensor) if name.startswith("__") and name not in dir(object)]
COMPARISONS = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]
# Those that take no operand, or one that is no array.
OTHERS = {
    "__abs__", "__array__", "__array_function__", "__array_namespace__", "__array_priority__",
    "__array_ufunc__", "__bool__", "__complex__", "__contains__", "__copy__", "__deepcopy__",
    "__delitem__", "__dlpack__", "__dlpack_device__", "__float__", "__getitem__", "__index__",
    "__int__", "__module__", "__invert__", "__iter__", "__len__", "__neg__", "__pos__", "__round__",
    "__setitem__", "__buffer__", "__release_buffer__",
}  # fmt: skip
BINARY: dict[str, Operator] = {
    name: getattr(operator, name, None) or getattr(builtins, name.strip("_"))
    for name in {*NAMES, *COMPARISONS} - OTHERS
    if not name.startswith(("__r", "__i")) or name.startswith("__rshift")
}
IN_PLACE: dict[str, Operator] = {
    name: getattr(operator, name) for name in {*NAMES} - OTHERS if name.startswith("__i")
}
FLOATS, INTS, TRUTHS = np.array([1.5, 2.0, 4.0]), np.array([2, 0, 1]), np.array([True, False, True])
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def is_bitwise(name: str) -> bool:
    return any(part in name for part in ("and", "or_", "xor", "shift"))


def operands(name: str) -> tuple[Any, Any]:
    """Arrays that the operator takes."""
    if is_bitwise(name):
        return INTS, INTS[::-1].copy()
    return (np.diag(FLOATS), np.diag(FLOATS) + 1) if "matmul" in name else (FLOATS, FLOATS[::-1])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(call: Operator, *operands: Any) -> Any:
    try:
        return call(*operands)
    except (CloakworkError, OverflowError, TypeError, ValueError) as error:
        return error


def test_each_operator_is_one_of_these() -> None:
    reflected = {name for name in NAMES if f"__{name[3:]}" in BINARY and name.startswith("__r")}
    assert {*NAMES} - OTHERS == ({*BINARY} - {*COMPARISONS}) | {*IN_PLACE} | reflected
    assert len(BINARY) == 20
    assert len(IN_PLACE) == 13


@pytest.mark.parametrize("name", sorted(BINARY))
@pytest.mark.parametrize("form", FORMS)
def test_an_array_of_any_form_is_what_the_tensor_is(name: str, form: str) -> None:
    a, b = operands(name)
    x, y, apply = cw.asarray(a), cw.asarray(b), BINARY[name]
    assert same(apply(x, FORMS[form](b)), apply(x, y))
    assert same(apply(FORMS[form](a), y), apply(x, y))
    np.testing.assert_allclose(np.asarray(apply(x, y)), apply(a, b), rtol=1e-15)


@pytest.mark.parametrize("name", sorted(IN_PLACE))
@pytest.mark.parametrize("form", FORMS)
def test_in_place_an_array_of_any_form_is_what_the_tensor_is(name: str, form: str) -> None:
    a, b = operands(name)
    expected = IN_PLACE[name](cw.asarray(a.copy()), cw.asarray(b))
    x = cw.asarray(a.copy())
    assert IN_PLACE[name](x, FORMS[form](b)) is x
    assert same(x, expected)


@pytest.mark.parametrize("name", sorted(BINARY))
@pytest.mark.parametrize("form", NUMBERS)
def test_a_number_of_any_form_is_what_numpy_takes_it_for(name: str, form: str) -> None:
    number = NUMBERS[form]
    for own in (FLOATS, INTS, TRUTHS, np.array(2), np.array([2, 3], np.uint8)):
        for order in (1, -1):
            pair: list[Any] = [own, number][::order]
            expected = outcome(BINARY[name], *pair)
            tensors = [cw.asarray(one) if one is own else one for one in pair]
            found = outcome(BINARY[name], *tensors)
            if isinstance(found, Exception):
                assert is_named(found, "") or "dtype" in str(found), found
                continue
            assert not isinstance(expected, Exception), (tensors, found)
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-15)


@pytest.mark.parametrize("name", sorted({*BINARY, *IN_PLACE}))
@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_array_is_refused(name: str, form: str) -> None:
    value, apply = REFUSED[form], {**BINARY, **IN_PLACE}[name]
    for x in (cw.asarray(operands(name)[0].copy()), cw.asarray(2)):
        if form == "residues" and name in BINARY and not hasattr(cw.Residues, f"__r{name[2:]}"):
            continue
        if form != "residues":
            with pytest.raises((TypeError, ValueError)) as found:
                apply(x, value)
            assert is_named(found.value, "x2")
        # Masked arrays answer first; texts have `%`, and fractions powers.
        answered = (form, name) in (("text", "__mod__"), ("fraction", "__pow__"))
        if name in IN_PLACE or form in ("masked", "residues") or answered:
            continue
        with pytest.raises((TypeError, ValueError)) as found:
            apply(value, x)
        # A comparison is asked of the other operand as its opposite.
        assert is_named(found.value, "x1", "x2" if name in COMPARISONS else "x1")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_comparisons_with_any_integer_have_numpys_answer(dtype: str) -> None:
    limits = np.iinfo(dtype)
    own = np.array([limits.min, 0, 1, limits.max], dtype)
    x = cw.asarray(own)
    near = [limits.min - 1, limits.min, 0, limits.max, limits.max + 1, -(2**70), 2**70]
    for name, number in itertools.product(COMPARISONS, near):
        assert BINARY[name](x, number).tolist() == BINARY[name](own, number).tolist()
        assert BINARY[name](number, x).tolist() == BINARY[name](number, own).tolist()
        traced = cw.trace(lambda t, f=BINARY[name], n=number: f(t, n), x)
        assert traced.run(x).outputs[0].tolist() == BINARY[name](own, number).tolist()
    for number in near:
        assert (number in x) == (number in own.tolist())
        assert cw.isin(x, number).tolist() == np.isin(own, number).tolist()
        for side in ("left", "right"):
            expected = np.searchsorted(own.astype(object), number, side)
            assert int(cw.searchsorted(x, number, side=side)) == expected
    assert cw.equal(cw.asarray([True, False]), 2**70).tolist() == [False, False]
    with pytest.raises(OverflowError, match="out of range for floats"):
        _ = cw.asarray([1.5]) < 10**400


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bounds_of_clip_may_be_any_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    own = np.array([limits.min, 0, 1, limits.max], dtype)
    bounds = [None, limits.min - 1, 1, limits.max, limits.max + 1]
    for low, high in itertools.product(bounds, bounds):
        if low is None and high is None:
            continue
        try:
            expected = np.clip(own, low, high)
        except OverflowError:
            with pytest.raises(OverflowError, match="out of range"):
                cw.clip(cw.asarray(own), low, high)
            continue
        found = cw.clip(cw.asarray(own), low, high)
        assert found.dtype == dtype
        assert found.tolist() == expected.tolist()


def test_no_list_and_no_text_is_repeated() -> None:
    two = cw.asarray(2)
    for given in ([1, 2], (1, 2), range(1, 3)):
        assert (two * given).tolist() == (given * two).tolist() == [2, 4]
        assert (two + given).tolist() == [3, 4]
    for given in ("ab", {1}, {1: 2}, None):
        for apply in (operator.mul, operator.add, operator.eq, operator.ne):
            with pytest.raises(DTypeError, match="expected a tensor, or numbers"):
                apply(two, given)
            with pytest.raises(DTypeError, match="expected a tensor, or numbers"):
                apply(given, two)
    x = cw.asarray([0.0, 1.0, 2.0])
    assert x[x == [0, 1, 5]].tolist() == [0.0, 1.0]
    assert (x != range(3)).tolist() == [False, False, False]
    assert [1, 7] in cw.asarray([[1, 2], [3, 4]])
    with pytest.raises(DTypeError, match="x2 of equal: got str"):
        _ = "a" in x


class Other:
    """A class that NumPy's arrays leave operators to."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return "answered"

    def __eq__(self, other: object) -> Any:
        return "equal"

    __rmatmul__ = __rdivmod__ = __radd__
    __hash__ = object.__hash__


class Ranked(Other):
    __array_ufunc__ = np.ndarray.__array_ufunc__
    __array_priority__ = 1.0


class Asking(Other):
    def __array_ufunc__(self, *given: Any, **options: Any) -> Any:  # type: ignore[override]
        return NotImplemented


@pytest.mark.parametrize("other", [Other(), Ranked(), Asking()])
def test_operands_that_claim_operators_answer_them(other: Any) -> None:
    x = cw.asarray([1, 2])
    assert x + other == x @ other == divmod(x, other) == "answered"
    assert (x == other) == "equal"
    with pytest.raises(DTypeError, match=f"x2 of multiply: got {type(other).__name__}"):
        _ = x * other
    with pytest.raises(DTypeError, match="x2 of add"):
        x += other


def test_fractions_and_decimals_are_no_elements() -> None:
    with pytest.raises(DTypeError, match="x1 of multiply: got Fraction"):
        _ = Fraction(1, 2) * cw.asarray([1.0])


def test_sequences_beside_elements_of_fields_hold_elements() -> None:
    p = cw.zk.field("bn254.fr").modulus
    x = cw.asarray([2, 3], dtype="bn254.fr")
    assert (x == [2, 3]).tolist() == operator.eq([2, 3], x).tolist() == [True, True]
    assert (x != (2, 4)).tolist() == [False, True]
    assert (x + range(1, 2)).tolist() == operator.add([1, 1], x).tolist() == [3, 4]
    assert ([1, 1] - x).tolist() == [p - 1, p - 2]
    assert (x * [[2], [3]]).tolist() == [[4, 6], [6, 9]]
    for exponents in ([2, 3], np.array([2, 3]), np.array([2, 3], np.uint64)):
        assert (x**exponents).tolist() == [4, 27]
    x += [1, 1]
    assert x.tolist() == [3, 4]
    with pytest.raises(ParamError, match=r"x2 of add\[1\]: got -1, expected an integer from 0"):
        operator.add(x, [1, -1])
    for exponent in (2.5, cw.asarray([1.5, 2.5]), np.array([0.5, 1.0])):
        with pytest.raises(DTypeError, match="integer"):
            _ = x**exponent
    with pytest.raises(ParamError, match="less than 2\\^63"):
        _ = x ** np.array([2**63, 1], np.uint64)
    with pytest.raises(TypeError, match=r"bn254\.fr"):
        _ = x + np.array([1, 2])


def test_sequences_beside_points_hold_points_or_scalars() -> None:
    one = cw.asarray((1, 2), dtype="bn254.g1")
    points = cw.stack([one, one + one])
    assert (points * [3, 2]).tolist() == ([3, 2] * points).tolist()
    assert (points * [3, 2]).tolist() == [(one * 3).item(), (one * 4).item()]
    assert (points == [one.item(), None]).tolist() == [True, False]
    assert operator.add(points, [None, one.item()]).tolist() == [one.item(), (one * 3).item()]
    for factor in (0.5, [0.5, 1.0], "ab"):
        with pytest.raises((DTypeError, ParamError)):
            _ = points * factor


def test_integers_have_no_negative_powers() -> None:
    for dtype in ("int8", "int64"):
        x = cw.asarray([2, 3], dtype)
        minus: list[Any] = [-1, cw.asarray([0, -1], dtype), cw.asarray(-1), [1, -2], np.array(-1)]
        for exponent in minus:
            for apply in (operator.pow, operator.ipow, cw.pow, np.power):
                with pytest.raises(ValueError, match=r"exponent: got a negative integer.*float64"):
                    apply(x, exponent)
    with pytest.raises(ValueError, match="exponent"):
        _ = 2 ** cw.asarray([1, -1])
    with cw.batch(), pytest.raises(ValueError, match="exponent"):
        _ = cw.asarray([2, 3]) ** cw.asarray([1, -1])
    assert (cw.asarray([2, 3]) ** cw.asarray([3, 0])).tolist() == [8, 1]
    assert (cw.asarray([2, 3], "uint8") ** cw.asarray([3, 0], "uint8")).tolist() == [8, 1]
    assert (cw.asarray([2.0, 4.0]) ** -1).tolist() == [0.5, 0.25]
    assert (cw.asarray([2, 4]) ** -1.0).tolist() == [0.5, 0.25]
    assert (cw.asarray([], "int64") ** cw.asarray([], "int64")).tolist() == []


@pytest.mark.parametrize("form", FORMS)
def test_an_assigned_value_of_any_form_is_what_the_tensor_is(form: str) -> None:
    for key in (slice(None), [0, 2, 1], cw.asarray([True, True, True])):
        expected, found = cw.zeros(3), cw.zeros(3)
        expected[key] = cw.asarray(FLOATS)
        found[key] = FORMS[form](FLOATS)
        assert same(found, expected)


@pytest.mark.parametrize("form", sorted({*FORMS} - {"tuple"}))
def test_a_key_of_any_form_is_what_the_tensor_is(form: str) -> None:
    for key in (INTS, TRUTHS):
        x = cw.asarray(FLOATS)
        assert x[FORMS[form](key)].tolist() == FLOATS[key].tolist()
        expected = np.zeros(3)
        expected[key], found = 7, cw.zeros(3)
        found[FORMS[form](key)] = 7
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("form", sorted({*REFUSED} - {"None", "residues"}))
def test_a_key_that_is_none_is_refused(form: str) -> None:
    with pytest.raises(CloakworkError):
        cw.zeros(3)[REFUSED[form]]


@pytest.mark.parametrize("form", sorted({*REFUSED} - {"fraction", "huge"}))
def test_an_assigned_value_that_is_no_array_is_refused(form: str) -> None:
    for key in (slice(None), [0, 2, 1], cw.asarray([True, True, True])):
        with pytest.raises((TypeError, ValueError)) as found:
            cw.zeros(3)[key] = REFUSED[form]
        assert is_named(found.value, "value")


def test_elements_of_a_broadcast_view_are_not_assigned() -> None:
    x = cw.asarray([1, 2])
    for key in (0, (0, 0), slice(None), [0], ..., cw.asarray([True, False, False])):
        view = cw.broadcast_to(x, (3, 2))
        with pytest.raises(ParamError, match=r"item assignment: .*x\.copy\(\)"):
            view[key] = 7
    with pytest.raises(ParamError, match="item assignment"):
        cw.broadcast_to(cw.asarray(5), (3,))[0] = 7
    assert x.tolist() == [1, 2]


def test_selected_integers_stay_exact() -> None:
    large = [2**60 + place for place in range(5)]
    for make, q in ((cw.quantile, 0.5), (cw.nanquantile, 0.5), (cw.percentile, 50)):
        for method in ("lower", "higher", "nearest"):
            found = make(large, q, method=method)
            assert (found.dtype, int(found)) == (cw.int64, large[2])
            several = make(large, [q, q], method=method)
            assert several.tolist() == [large[2]] * 2
    assert cw.quantile(cw.asarray([1, 2], "uint8"), 0.5).dtype == cw.float64
    matrix = [[2**30 + 1, 1], [1, 0]]
    expected = np.linalg.matrix_power(np.array(matrix, dtype=object), 2).tolist()
    assert cw.linalg.matrix_power(matrix, 2).tolist() == expected
    assert cw.linalg.matrix_power(cw.asarray(matrix, "int32"), 0).dtype == cw.int32
    assert cw.linalg.matrix_power([[2, 0], [0, 4]], -1).tolist() == [[0.5, 0.0], [0.0, 0.25]]
    with pytest.raises(TypeError, match="integer"):
        cw.linalg.matrix_power(np.eye(2), 2.5)


@pytest.mark.parametrize("form", FORMS)
def test_residues_take_integers_of_any_form(form: str) -> None:
    ring, other = cw.mod(17), np.array([16, 5, 20])
    x = ring([3, 5, 7])
    for name in ("__add__", "__sub__", "__mul__", "__eq__", "__ne__", "__truediv__"):
        expected = BINARY[name](x, ring(other))
        assert same(BINARY[name](x, FORMS[form](other)), expected)
        assert same(BINARY[name](FORMS[form](other), x), BINARY[name](ring(other), x))


@pytest.mark.parametrize("form", sorted({*REFUSED} - {"residues"}))
def test_residues_refuse_all_else(form: str) -> None:
    x = cw.mod(17)([1, 2, 3])
    for name in ("__add__", "__sub__", "__mul__", "__eq__", "__ne__", "__truediv__"):
        with pytest.raises((CloakworkError, TypeError), match=r"values: got|dtype"):
            BINARY[name](x, REFUSED[form])
