"""Types of registers, and values of inputs and outputs.

Field elements are canonical integers at this boundary: a value that is not reduced, or a point
that is not on its curve, is an error that names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from os import PathLike
from typing import Any, Literal

import numpy as np

from cloakwork import _core, ops
from cloakwork.errors import DTypeError, OpError, ParamError
from cloakwork.fields.elements import is_point, words_of
from cloakwork.fields.parameters import CURVES, FIELDS
from cloakwork.files import load_npy
from cloakwork.lazy import public
from cloakwork.tensors.conversion import asarray

Repr = Literal["coef", "lagrange"]
# Values of an input: a tensor, integers, u64 words, or the path of an .npy file of words.
Input = _core.Tensor | Sequence[Any] | int | np.ndarray[Any, Any] | PathLike[str]


@public("cloakwork.zk")
@dataclass(frozen=True)
class Type:
    """The type of a register: elements of `dtype` in `shape`; see `docs/zk.md` for its JSON.

    repr   the form of a polynomial: coefficients, or values at roots of unity
    json   the type in the file, if it is more than a tensor
    """

    dtype: str
    shape: tuple[int, ...] = ()
    repr: Repr | None = None
    json: str | None = None

    def to_json(self) -> Any:
        """The type as JSON's types."""
        if self.json is not None:
            return self.json
        tensor: dict[str, Any] = {"dtype": self.dtype, "shape": list(self.shape)}
        return {"Tensor": tensor | ({"repr": self.repr} if self.repr else {})}


def tensor(dtype: str, shape: Sequence[int] | int = ()) -> Type:
    """Elements of any dtype, such as `u64`."""
    return Type(dtype, (shape,) if isinstance(shape, int) else tuple(shape))


def poly(size: int, form: Repr | None = None, field: str = "fr", curve: str = "bn254") -> Type:
    """A polynomial of `size` elements of a field of the curve."""
    return Type(_field(field, curve), (size,), form)


def scalar(field: str = "fr", curve: str = "bn254") -> Type:
    """One element of a field."""
    return Type(_field(field, curve))


def points(size: int, group: str = "g1", curve: str = "bn254") -> Type:
    """Affine points of a group of the curve."""
    return Type(_group(group, curve), (size,))


def point(group: str = "g1", curve: str = "bn254") -> Type:
    """One affine point."""
    return Type(_group(group, curve))


def transcript(hash: str = "blake2b", curve: str = "bn254", room: int = 2**16) -> Type:
    """A Fiat-Shamir transcript with room for `room` bytes."""
    # Two counts, then the absorbed bytes and the proof.
    return Type("u8", (16 + 2 * room,), json=f"transcript<{room}>:{hash}:{curve}")


def bytes_of(size: int) -> Type:
    """An array of `size` bytes."""
    return Type("u8", (size,), json=f"bytes<{size}>")


def _field(field: str, curve: str) -> str:
    known = {"fr": CURVES[curve]["fr"], "fq": CURVES[curve]["fq"]} if curve in CURVES else {}
    return field if field in FIELDS else known.get(field, f"{curve}.{field}")


def _group(group: str, curve: str) -> str:
    return f"{curve}.{group}"


def is_canonical(dtype: str) -> bool:
    """Whether elements are written as canonical words: field elements and points."""
    return dtype in FIELDS or is_point(_core.element_type(dtype))


def words(dtype: str) -> int:
    """The number of u64 words of an element in canonical form."""
    known = _core.element_type(dtype)
    return words_of(known) if is_canonical(dtype) else -(-known.itemsize // 8)


def as_tensor(name: str, value: Input, dtype: str, shape: tuple[int, ...]) -> _core.Tensor:
    """The value given for an input, as a tensor.

    Takes a tensor of the input's type; integers, and coefficients in lists or tuples for elements
    of an extension; u64 words `[.., words]` in canonical form; or the path of an .npy file of
    either.  Raises ParamError that names the input, DTypeError for a wrong dtype.
    """
    if isinstance(value, PathLike) or (isinstance(value, str) and value.endswith(".npy")):
        value = np.asarray(load_npy(value))
    if isinstance(value, _core.Tensor) and value.dtype.code == dtype:
        made = value
    else:
        if isinstance(value, np.ndarray) and _is_words(value, dtype, shape):
            value = value.reshape(*shape, words(dtype))
        made = _converted(name, value, dtype, shape)
        made = _in_lists(made, value, shape)
    if tuple(made.shape) != shape:
        raise ParamError(f"input {name}", f"shape {list(made.shape)}", _wanted(dtype, shape))
    return made


def _wanted(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype} of shape {list(shape)}"


def _converted(name: str, value: Any, dtype: str, shape: tuple[int, ...]) -> _core.Tensor:
    wanted = _wanted(dtype, shape)
    try:
        made = asarray(value, dtype=_core.element_type(dtype))
    except DTypeError as error:
        # If the conversion refuses the dtype, the value's dtype is wrong.
        got = error.value if error.rule == "obj" else _dtype_of(value)
        raise DTypeError(f"input {name}", got, wanted) from error
    except ParamError as error:
        place = error.rule.removeprefix("obj")
        raise ParamError(f"input {name}{place}", error.value, error.allowed) from error
    except OpError as error:
        expected = f"{wanted}, or as words {error.expected}"
        raise ParamError(f"input {name}", error.got, expected) from error
    if made.dtype.kind in "fc" and not _keeps_integers(value, np.asarray(made)):
        allowed = f"integers that {dtype} holds exactly"
        raise ParamError(f"input {name}", "integers that do not survive", allowed)
    return made


def _in_lists(made: _core.Tensor, value: Any, shape: tuple[int, ...]) -> _core.Tensor:
    """The elements of an extension whose coefficients were given in lists, `[.., degree]`.

    Each integer was read as an element of its own, which the input's shape rules out.
    """
    degree = FIELDS[made.dtype.name]["degree"] if made.dtype.name in FIELDS else 1
    if degree == 1 or tuple(made.shape) != (*shape, degree) or isinstance(value, _core.Tensor):
        return made
    if np.asarray(value, dtype=object).shape != tuple(made.shape):
        return made
    canonical = np.asarray(ops.to_canonical(made))
    if canonical[..., 1:].any():
        return made
    return ops.from_canonical(asarray(canonical[..., 0].copy()), made.dtype)


def _dtype_of(value: Any) -> object:
    found = np.asarray(value).dtype
    return _core.dtype(found) if found.kind in "biufc" else found


def _keeps_integers(value: Any, made: np.ndarray[Any, Any]) -> bool:
    """Whether the integers among values are exact as floats."""
    given = np.asarray(value)
    if given.dtype.kind in "iu":
        # Rounded up, the greatest integer would compare equal to itself.
        below = made.real < 2.0 ** (8 * given.dtype.itemsize - (given.dtype.kind == "i"))
        with np.errstate(invalid="ignore"):
            return bool(np.all(below & (made.real.astype(given.dtype) == given)))
    if isinstance(value, np.ndarray | _core.Tensor) and given.dtype.kind != "O":
        return True
    # Python's numbers, which NumPy may have converted to floats: integers are written in digits.
    given = np.asarray(value, dtype=object)
    whole = np.strings.isdigit(np.strings.lstrip(given.astype(str), "-"))
    # Python compares integers with floats exactly.
    integers = np.array([*map(int, given[whole])], dtype=object)
    return bool(np.all(integers == made[whole].astype(object)))


def _is_words(array: np.ndarray[Any, Any], dtype: str, shape: tuple[int, ...]) -> bool:
    if not is_canonical(dtype) or array.dtype != np.uint64:
        return False
    each = words(dtype)
    if array.shape == (*shape, each):
        return True
    return each == 1 and array.shape == shape and prod(shape) == array.size
