"""No element changes silently at a boundary: integers, masks, elements of fields."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import files, ops, zk
from cloakwork.errors import CloakworkError, DTypeError, InputError, ParamError

TOO_LONG = {"f32": 2**24 + 1, "f64": 2**53 + 1, "c64": 2**24 + 1, "c128": 2**53 + 1}


def ways_in(values: list[Any], folder: Path) -> dict[str, object]:
    """Numbers as all that becomes an input of a program."""
    found: dict[str, object] = {
        "a list": values, "a tuple": tuple(values), "nested": [values], "a list of scalars":
        [np.int64(v) if isinstance(v, int) and abs(v) < 2**63 else v for v in values],
        "objects": np.array(values, dtype=object), "among floats": [*values[:-1], 0.5],
    }  # fmt: skip
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        np.save(folder / "x.npy", array)
        found |= {"a file": folder / "x.npy", "an array": array, "a tensor": cw.asarray(array)}
    return found


@pytest.mark.parametrize("dtype", TOO_LONG)
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_a_float_does_not_hold_are_refused_by_all_ways_in(
    dtype: str, sign: int, tmp_path: Path
) -> None:
    first = TOO_LONG[dtype]
    for wrong in (first, 2**63 - 1, 2**64 - 1, 2**70 + 1):
        for way, given in ways_in([sign * wrong, 1], tmp_path).items():
            shape = (1, 2) if way == "nested" else 2
            program = cw.trace(lambda a: a, cw.zeros(shape, dtype))
            with pytest.raises((ParamError, InputError), match="input a: ") as raised:
                program.run({"a": given})
            if way not in {"an array", "a tensor"}:
                words = f"integers that do not survive, expected integers that {dtype} holds"
                assert words in str(raised.value), way
    for right in (first - 1, first + 1, 2**62, 0):
        program = cw.trace(lambda a: a, cw.zeros(2, dtype))
        for given in ([sign * right, 3], (sign * right, 3.0)):
            assert program.run({"a": given})["out0"].tolist() == [sign * right, 3]
    program.run({"a": [1e20, float("nan")]})
    program.run({"a": [float(first), 2]})
    fractions = cw.trace(lambda a: a, cw.zeros(3, dtype)).run({"a": [0.1, True, -7]})["out0"]
    np.testing.assert_allclose(np.asarray(fractions), [0.1, 1, -7], rtol=1e-7)


def test_the_dtype_of_the_value_is_what_is_wrong(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1 + 2j, 3]))
    program = cw.trace(lambda a: a, cw.zeros(2, "f64"))
    for given in (tmp_path / "x.npy", [1 + 2j, 3]):
        with pytest.raises(DTypeError, match=r"input a: got c128, expected f64 of shape \[2\]"):
            program.run({"a": given})
    for text in (["1", "2"], np.array(["1", "2"]), np.array(["1", None])):
        with pytest.raises(CloakworkError, match="input a: "):
            program.run({"a": text})


MASKED_WAYS: list[Callable[[cw.Tensor, Any], object]] = [
    lambda _, masked: cw.asarray(masked),
    lambda _, masked: cw.asarray(masked, dtype="f32"),
    lambda _, masked: cw.asarray([masked, masked]),
    lambda _, masked: cw.tensor(masked),
    lambda t, masked: t + masked,
    cw.add,
    lambda t, masked: t.copy().__setitem__(slice(None), masked),
    lambda t, masked: cw.trace(lambda a: a, t).run({"a": masked}),
]


def test_a_masked_array_is_refused_wherever_arrays_come_in() -> None:
    t = cw.asarray([1.0, 2.0])
    words = np.ma.masked_array(np.eye(2, 4, dtype=np.uint64), mask=False)
    values = [1.0, 2.0]
    for masked in (np.ma.masked_array(values, mask=[False, True]), np.ma.masked_array(values)):
        for enter in MASKED_WAYS:
            with pytest.raises(ParamError, match=r"got a masked array.*\.filled\(value\)"):
                enter(t, masked)
        assert cw.asarray(masked.data).tolist() == [1, 2]
        assert cw.asarray(masked.filled(7)).shape == (2,)
    with pytest.raises(ParamError, match="got a masked array"):
        cw.asarray(words, dtype="bn254.fr")


@pytest.mark.parametrize("dtype", ["bn254.fr", "goldilocks", "babybear", "bn254.g1"])
def test_elements_of_fields_are_saved_as_what_inputs_are(dtype: str, tmp_path: Path) -> None:
    held = cw.asarray([(1, 2), None] if dtype == "bn254.g1" else [5, 7], dtype=dtype)
    files.save_npy(tmp_path / "x.npy", held)
    words = files.load_npy(tmp_path / "x.npy")
    assert words.tolist() == ops.to_canonical(held).tolist()
    again = cw.trace(lambda a: a, held).run({"a": tmp_path / "x.npy"})["out0"]
    assert again.tolist() == held.tolist()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.asarray(words))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2.0], r"values\[1\]: got a float, expected an integer"),
        (["1"], r"values\[0\]: got a str"),
        ([None], r"values\[0\]: got a NoneType"),
        ("12", "values: got a str, expected integers"),
        (b"ab", "values: got a bytes"),
        (5, "values: got a int"),
    ],
)
def test_a_witness_is_of_integers(values: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(ParamError, match=words) as raised:
        zk.write_wtns("bn254", values, tmp_path / "w.wtns")
    assert "2.0" not in str(raised.value), "values may be secrets"
    with pytest.raises(CloakworkError, match="curve: got 'bn256', expected bn254 or"):
        zk.write_wtns("bn256", [1], tmp_path / "w.wtns")
    assert list(tmp_path.iterdir()) == []
    zk.write_wtns("bn254", [np.int64(1), True, -1, 2**300], tmp_path / "w.wtns")
    assert zk.read_wtns(tmp_path / "w.wtns").wires == 4
