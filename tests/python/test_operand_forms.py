"""Each public function takes each form of operand as it takes a tensor, or refuses it by name.

The functions are found by introspection: one that is new is among them, and fails until its
operands are described in `operand_forms.py`, if they are not the usual ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import CloakworkError, InternalError
from python.operand_forms import (
    CALLS,
    CANDIDATES,
    CONVERSIONS,
    FORMS,
    NESTED,
    NOT_OF_NUMPY,
    NUMBERS,
    OF_COUNTS,
    OF_DTYPES,
    OF_OTHERS,
    PLAIN,
    REFUSED,
    Function,
    functions,
)

FUNCTIONS = {function.name: function for function in functions()}
every_function = pytest.mark.parametrize("name", FUNCTIONS)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def described(function: Function) -> dict[str, Any]:
    """Arguments, as NumPy's arrays, with which the function computes."""
    own = CALLS.get(function.name, CALLS.get(function.name.split(".")[-1].split(" ")[0]))
    plain = {
        n: PLAIN[n]
        for n, (_, _, is_open) in function.parameters.items()
        if n in PLAIN and not is_open and n not in function.arrays
    }
    tried = (
        [own]
        if own is not None
        else [
            plain | {n: [one, one] if function.several(n) else one for n in function.arrays}
            for one in CANDIDATES
        ]
    )
    why: object = None
    for arguments in tried:
        ordered = {n: arguments[n] for n in function.parameters if n in arguments}
        try:
            function(given(function, ordered, cw.asarray))
        except Exception as error:
            why = error
            continue
        return ordered
    raise AssertionError(f"{function.name}: describe its operands in CALLS: {why!r}")


@cache
def base(name: str) -> dict[str, Any]:
    return described(FUNCTIONS[name])


def given(
    function: Function,
    arguments: dict[str, Any],
    make: Any,
    only: str = "",
    others: Any = cw.asarray,
) -> dict[str, Any]:
    """The arguments with tensors for arrays, and what `make` makes of those of one name."""

    def changed(name: str, value: Any) -> Any:
        if name not in function.arrays:
            return value
        form = make if name == only else others
        return [form(one) for one in value] if function.several(name) else form(value)

    return {name: changed(name, value) for name, value in arguments.items()}


def same(found: Any, expected: Any) -> bool:
    """Whether results agree: classes, dtypes, shapes and elements."""
    if isinstance(expected, tuple | list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    if type(found) is not type(expected) or not isinstance(expected, cw.Tensor | cw.Residues):
        return type(found) is type(expected) and bool(found == expected)
    one, other = np.asarray(found), np.asarray(expected)
    is_float = other.dtype.kind in "fc"
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=is_float)


def is_named(error: Exception, *names: str) -> bool:
    """Whether an error says what was wrong with an argument, in words of Cloakwork's."""
    text = str(error)
    if isinstance(error, InternalError | AttributeError | NotImplementedError):
        return False
    is_ours = isinstance(error, CloakworkError) or "expected" in text or "out of range" in text
    return is_ours and any(name in text for name in names)


def is_taken(name: str, form: str) -> bool:
    """Whether a function means to take what others refuse."""
    return (
        (form == "residues" and (name in CONVERSIONS or name.startswith("Modulus.")))
        or (form in ("type", "masked") and name in OF_DTYPES)
        or (form == "uneven" and name == "histogram2d")  # the edges along both axes
        or (form in ("fraction", "huge") and name == "full_like")
    )


@every_function
def test_an_array_of_any_form_is_what_the_tensor_is(name: str) -> None:
    function, arguments = FUNCTIONS[name], base(name)
    expected = function(given(function, arguments, cw.asarray))
    wrong = {}
    for argument in arguments.keys() & set(function.arrays):
        for form, make in FORMS.items():
            if name in OF_DTYPES and "array" not in form.split():
                continue
            if form in NESTED.get(name, ()):
                continue
            try:
                found = function(given(function, arguments, make, argument))
            except Exception as error:
                wrong[argument, form] = repr(error)
                continue
            if not same(found, expected):
                wrong[argument, form] = f"{found!r}, expected {expected!r}"
    assert not wrong


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n[0].islower() and n not in NOT_OF_NUMPY])
def test_the_result_is_numpys(name: str) -> None:
    function, arguments = FUNCTIONS[name], base(name)
    numpys: Any = np
    for part in name.split("."):
        numpys = getattr(numpys, part)
    expected = replace(function, call=numpys)(given(function, arguments, np.copy, others=np.copy))
    assert close(function(given(function, arguments, cw.asarray)), expected)


def close(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple | list):
        return len(found) == len(expected) and all(map(close, found, expected))
    one, other = np.asarray(found), np.asarray(expected)
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-12, equal_nan=True)


# Elements of a field for an array: the result, or words of Cloakwork's.
@every_function
def test_elements_of_fields_are_taken_or_refused_in_words(name: str) -> None:
    function, arguments = FUNCTIONS[name], base(name)

    def elements(array: Any) -> cw.Tensor:
        counts = np.arange(1, np.size(array) + 1).reshape(np.shape(array))
        return cw.asarray(counts.tolist(), dtype="bn254.fr")

    wrong = {}
    for argument in [*function.arrays, "all of them"]:
        others = elements if argument == "all of them" else cw.asarray
        try:
            function(given(function, arguments, elements, argument, others=others))
        except (CloakworkError, TypeError) as error:
            if not is_named(error, "") and "dtype" not in str(error):
                wrong[argument] = repr(error)
    assert not wrong


@every_function
def test_what_is_no_array_is_refused_by_its_name(name: str) -> None:
    function, arguments = FUNCTIONS[name], base(name)
    wrong = {}
    for argument in arguments.keys() & set(function.arrays):
        for form, value in REFUSED.items():
            if value is None and function.parameters[argument][2]:
                continue
            if is_taken(name, form):
                continue
            changed = given(function, arguments, lambda _, value=value: value, argument)
            try:
                wrong[argument, form] = f"accepted: {function(changed)!r}"
            except Exception as error:
                names = {"savez": ("arr_", "named")}.get(name, (argument,))
                names = ("obj",) if name in CONVERSIONS else names
                if not is_named(error, *names, "dtype"):
                    wrong[argument, form] = repr(error)
    assert not wrong


@every_function
def test_a_number_of_any_form_is_what_the_tensor_is_or_refused(name: str) -> None:
    function, arguments = FUNCTIONS[name], base(name)
    wrong = {}
    for argument in arguments.keys() & set(function.arrays):
        for form, value in NUMBERS.items():
            tensor = given(function, arguments, lambda _, v=value: cw.asarray(v), argument)
            try:
                expected = function(tensor)
            except Exception as error:
                expected = error
            try:
                found = function(given(function, arguments, lambda _, v=value: v, argument))
            except Exception as error:
                if not isinstance(error, CloakworkError) and not is_named(error, ""):
                    wrong[argument, form] = repr(error)
                continue
            if isinstance(expected, Exception) and form in ("bool", "empty list"):
                continue
            if name in OF_COUNTS and form == "int":
                continue
            if isinstance(expected, Exception):
                wrong[argument, form] = f"{found!r}, but for a tensor {expected!r}"
            elif not same(found, expected):
                wrong[argument, form] = f"{found!r}, expected {expected!r}"
    assert not wrong


def test_a_function_whose_operands_are_not_known_has_to_be_described() -> None:
    def odd(x: cw.Tensor) -> int:
        return {"only": 1}[str(x)]

    with pytest.raises(AssertionError, match="odd: describe its operands in CALLS"):
        described(Function("odd", odd, {"x": ("Tensor", "placed", False)}))


def test_each_public_function_has_a_described_call() -> None:
    assert len(FUNCTIONS) > 250
    for name, function in FUNCTIONS.items():
        needed = {n for n, (_, _, is_open) in function.parameters.items() if not is_open}
        assert base(name).keys() >= needed | {*function.arrays}, name


# Numbers, sizes and axes: what is none is refused by the name of the argument.
NO_NUMBERS: dict[str, Any] = {
    "object": object(), "dict": {"a": 1}, "text": "ab", "fractions": np.array([1.5, 2.5]),
    "list of a text": ["a"],
}  # fmt: skip
PLAIN_TYPES = ("int", "float", "complex", "Axis", "Shape", "Sequence[int]", "SupportsIndex")


EVERY = {one.name: one for one in functions(all_of_them=True) if one.name not in OF_OTHERS}


@pytest.mark.parametrize("name", EVERY)
def test_what_is_no_number_is_refused_where_one_is_wanted(name: str) -> None:
    function = EVERY[name]
    usual = base(name) if name in FUNCTIONS else described(function)
    wrong = {}
    for argument, (text, _, _) in function.parameters.items():
        if argument in function.arrays or not any(word in text for word in PLAIN_TYPES):
            continue
        for form, value in NO_NUMBERS.items():
            if form == "fractions" and argument in ("constant_values", "range"):
                continue  # of both sides
            several = [value] if function.several(argument) else value
            arguments = given(function, usual, cw.asarray) | {argument: several}
            ordered = {n: arguments[n] for n in function.parameters if n in arguments}
            try:
                wrong[argument, form] = f"accepted: {function(ordered)!r}"
            except Exception as error:
                if not is_named(error, ""):
                    wrong[argument, form] = repr(error)
    assert not wrong
