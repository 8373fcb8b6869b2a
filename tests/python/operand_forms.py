"""Operands in every form that users type, and the public functions that take them.

The functions and their array arguments are found in the sources: a new public function is among
them.  `CALLS` describes those whose operands differ from each other.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import cloakwork as cw
import cloakwork.linalg
import numpy as np
from cloakwork import methods

# Words in the annotation of an argument that takes arrays, and of one that takes several.
_ARRAY = ("Tensor", "ArrayLike", "Operand", "Integers")
_ARRAYS = ("Pieces", "Arrays", "Sequence[ArrayLike", "Sequence[Tensor")

FLOATS, INTS, TRUTHS = np.array([1.5, 2.5, 4.0]), np.array([2, 0, 1]), np.array([True, False, True])
MATRIX, COMPLEX = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([1 + 2j, 3 - 1j])
CANDIDATES = (FLOATS, INTS, TRUTHS, MATRIX, COMPLEX, np.array([1.0, 2.0, 3.0, 4.0]))
_REMOVED_AT_EXIT = tempfile.TemporaryDirectory()
FOLDER = Path(_REMOVED_AT_EXIT.name)

# Values of arguments that are no arrays and have no default.
PLAIN: dict[str, Any] = {
    "axes": (0,), "axis": 0, "axis1": 0, "axis2": 0, "deg": 1, "destination": 0, "dims": (3, 3),
    "N": 3, "dtype": "float64", "func1d": lambda line: line, "indices_or_sections": 1, "kth": 1,
    "new_shape": (2, 2), "pad_width": 1, "repetitions": 2, "shape": (3,), "shift": 1, "source": 0,
    "n": 2, "n_rows": 3, "num": 3, "start": 1, "stop": 4, "low": 9, "subscripts": "i,i->i",
    "to": "complex128",
}  # fmt: skip
# Arguments of functions whose operands are not all alike.
CALLS: dict[str, dict[str, Any]] = {
    "append": {"x": INTS, "values": INTS},
    "bincount": {"x": INTS, "weights": FLOATS},
    "broadcast_to": {"x": FLOATS, "shape": (2, 3)},
    "delete": {"x": FLOATS, "obj": INTS[:2]},
    "diff": {"x": FLOATS, "prepend": FLOATS, "append": FLOATS},
    "expand_dims": {"x": FLOATS, "axis": 0},
    "full": {"shape": (2, 3), "fill_value": np.array(1.5)},
    "full_like": {"x": FLOATS, "fill_value": np.array(1.5)},
    "gradient": {"f": FLOATS, "varargs": (FLOATS,)},
    "histogram": {"x": FLOATS, "bins": FLOATS, "weights": FLOATS},
    "histogram2d": {
        "x": FLOATS,
        "y": FLOATS,
        "bins": FLOATS,
        "weights": FLOATS,
        "range": np.array([[0, 5], [0, 5]]),
    },
    "insert": {"x": FLOATS, "obj": INTS, "values": FLOATS},
    "lexsort": {"keys": [INTS, INTS]},
    "intt": {"x": np.array([1, 2, 3, 4]), "q": np.array(17)},
    "ntt": {"x": np.array([1, 2, 3, 4]), "q": np.array(17)},
    "matrix_rank": {"x": MATRIX, "rtol": np.array(0.25)},
    "mod": {"q": np.array([17, 257])},
    "nanpercentile": {"x": FLOATS, "q": np.array([25.0, 50.0])},
    "nanquantile": {"x": FLOATS, "q": np.array([0.25, 0.5])},
    "percentile": {"x": FLOATS, "q": np.array([25.0, 50.0])},
    "pinv": {"x": MATRIX, "rtol": np.array(0.25)},
    "quantile": {"x": FLOATS, "q": np.array([0.25, 0.5])},
    "ravel_multi_index": {"multi_index": [INTS, INTS], "dims": (3, 3)},
    "repeat": {"x": FLOATS, "repeats": INTS},
    "reshape": {"x": MATRIX, "shape": (4,)},
    "searchsorted": {"x1": FLOATS, "x2": FLOATS, "sorter": np.array([0, 1, 2])},
    "select": {"condlist": [TRUTHS, TRUTHS], "choicelist": [INTS, INTS], "default": INTS},
    "squeeze": {"x": FLOATS[None], "axis": 0},
    "take": {"x": FLOATS, "indices": INTS},
    "take_along_axis": {"x": FLOATS, "indices": INTS},
    "tensordot": {"x1": MATRIX, "x2": MATRIX},
    "uniform_mod": {"shape": (2, 2), "q": np.array([17, 257])},
    "unravel_index": {"indices": INTS, "shape": (3, 3)},
    "where": {"condition": TRUTHS, "x1": FLOATS, "x2": FLOATS},
    "Generator.choice": {"x": FLOATS, "p": np.array([0.25, 0.25, 0.5])},
    "Generator.uniform": {"low": FLOATS, "high": 2 * FLOATS},
    "Modulus.inverse": {"x": np.array([2, 3, 4])},
    "Modulus.ntt": {"x": np.array([1, 2, 3, 4])},
    "Modulus.intt": {"x": np.array([1, 2, 3, 4])},
    "Tensor.repeat": {"repeats": INTS},
    "Tensor.take": {"indices": INTS},
}
# Functions whose result has to be read in another way, and methods' objects.
READ: dict[str, Callable[..., Any]] = {
    "empty_like": lambda *args, **named: cw.empty_like(*args, **named).shape,
    "save": lambda x: (cw.save(FOLDER / "x.npy", x), cw.load(FOLDER / "x.npy"))[1],
    "savez": lambda *x, **named: (
        cw.savez(FOLDER / "x.npz", *x, **named),
        cw.load(FOLDER / "x.npz"),
    )[1],
    "mod": lambda q: cw.mod(q).moduli,
    "uniform_mod": lambda shape, q: cw.random.uniform_mod(shape, q).shape,
}
# Functions that take a dtype or an array, whose dtype they use: a list is none.
OF_DTYPES = ("can_cast", "finfo", "iinfo", "result_type")
# Conversions, which take all that is given; an integer stands for itself; or for a number of items.
CONVERSIONS = ("asarray", "array", "tensor")
OF_COUNTS = ("Generator.choice", "Generator.permutation")
# Functions of other things than arrays and numbers.
OF_OTHERS = {
    "dtype", "execute_batch", "execute_op", "from_dlpack", "isdtype", "load", "select_backend",
    "trace", "Modulus.power", "Modulus.q",
}  # fmt: skip
# Forms that are no arrays to a function, as to NumPy's: `block` nests lists alone.
NESTED = {"block": ("tuple",)}
# Functions that NumPy does not have, and those whose results differ: memory as it is, signs of
# vectors, dtypes, files.
NOT_OF_NUMPY = {
    "empty_like",
    "finfo",
    "iinfo",
    "intt",
    "linalg.eigh",
    "linalg.svd",
    "mod",
    "ntt",
    "random.uniform_mod",
    "result_type",
    "save",
    "savez",
    "tensor",
}


class Bare:
    """An array of another library: nothing but `__array__`."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.own = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self.own, dtype=dtype, copy=copy)


class Exporting:
    """An array of another library: nothing but DLPack."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.own = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.own.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.own.__dlpack_device__()


class Claiming(Bare):
    """An array that claims operators, as torch's do, and then answers none of them."""

    __array_priority__ = 1000.0

    def answer(self, other: object) -> Any:
        return NotImplemented

    __radd__ = __rsub__ = __rmul__ = __rmatmul__ = __rdivmod__ = __eq__ = __ne__ = answer
    __lt__ = __le__ = __gt__ = __ge__ = answer
    __hash__ = object.__hash__


def read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    made = array.copy()
    made.flags.writeable = False
    return made


def tuples(values: Any) -> Any:
    return tuple(map(tuples, values)) if isinstance(values, list) else values


# Each holds the elements of an array, and is to be taken as the array is.
FORMS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "array": np.copy,
    "strided array": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    "reversed array": lambda array: array[..., ::-1].copy()[..., ::-1] if array.ndim else array,
    "column-major array": lambda array: array.copy("F"),
    "big-endian array": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "read-only array": read_only,
    "list": lambda array: array.tolist(),
    "tuple": lambda array: tuples(array.tolist()),
    "list of NumPy's": lambda array: list(array) if array.ndim else array[()],
    "list of tensors": lambda array: list(map(cw.asarray, array)) if array.ndim else array,
    "__array__": Bare,
    "DLPack": Exporting,
    "claims operators": Claiming,
}
# One number in every form.
NUMBERS: dict[str, Any] = {
    "int": 2, "float": 0.5, "bool": True, "complex": 1 + 2j, "int64": np.int64(2),
    "float64": np.float64(0.5), "bool_": np.bool_(True), "complex128": np.complex128(1 + 2j),
    "int64 []": np.array(2), "float64 []": np.array(0.5), "float64 [1]": [0.5], "int64 [0]":
    np.zeros(0, np.int64), "empty list": [], "range": range(3),
}  # fmt: skip
# Nothing that a tensor could hold.
REFUSED: dict[str, Any] = {
    "None": None, "text": "abc", "object": object(), "dict": {"a": 1}, "set": {1, 2},
    "type": int, "fraction": Fraction(1, 2), "texts": ["a", "b"], "a text within": [1, "a"],
    "uneven": [[1, 2], [3]], "objects": [None, object()], "times": np.array(["2020"], "M8[D]"),
    "array of texts": np.array(["a"]), "halves": np.ones(3, np.float16),
    "masked": np.ma.masked_array([1, 2, 3], [0, 1, 0]), "huge": [2**70, 1, 2],
    "residues": cw.mod(17)([1, 2, 3]),
}  # fmt: skip


@dataclass(frozen=True)
class Function:
    """A public function or method with its array arguments."""

    name: str
    call: Callable[..., Any]
    # By name, in order: the text of the annotation, how it is passed, whether it may be left out.
    parameters: dict[str, tuple[str, str, bool]]

    @property
    def arrays(self) -> list[str]:
        """The arguments that take arrays."""
        return [name for name, (text, *_) in self.parameters.items() if _takes(text)]

    def several(self, name: str) -> bool:
        """Whether an argument is a sequence of arrays."""
        text, kind, _ = self.parameters[name]
        return kind.startswith("several") or text.startswith(_ARRAYS)

    def __call__(self, arguments: dict[str, Any]) -> Any:
        positional: list[Any] = []
        named = {}
        for name, value in arguments.items():
            kind = self.parameters[name][1]
            if kind == "several":
                positional.extend(value)
            elif kind == "several named":
                named.update({f"{name}{place}": one for place, one in enumerate(value)})
            elif kind == "named":
                named[name] = value
            else:
                positional.append(value)
        return self.call(*positional, **named)


def _takes(text: str) -> bool:
    return any(word in text for word in (*_ARRAY, *_ARRAYS))


def _resolved(text: str, module: str) -> str:
    """An annotation, with what its module's own names for types stand for."""
    if _takes(text) or not text:
        return text
    try:
        meant = repr(eval(text, vars(importlib.import_module(module))))
    except NameError:  # of a class that only type checkers import
        return text
    return f"{text}: Tensor" if "Tensor" in meant or "_SupportsArray" in meant else text


@cache
def _tree(module: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    path = importlib.import_module(module).__file__
    assert path is not None
    nodes = ast.parse(Path(path).read_text()).body
    return {n.name: n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def _parameters(node: ast.FunctionDef, module: str) -> dict[str, tuple[str, str, bool]]:
    found: dict[str, tuple[str, str, bool]] = {}

    def add(argument: ast.arg, kind: str, is_open: bool) -> None:
        text = "" if argument.annotation is None else ast.unparse(argument.annotation)
        found[argument.arg] = (_resolved(text, module), kind, is_open)

    args = node.args
    placed = args.posonlyargs + args.args
    first_open = len(placed) - len(args.defaults)
    for place, argument in enumerate(placed):
        kind = "placed" if place < len(args.posonlyargs) or place < first_open else "named"
        add(argument, kind, place >= first_open)
    if args.vararg is not None:
        add(args.vararg, "several", True)
    if args.kwarg is not None:
        add(args.kwarg, "several named", True)
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        add(argument, "named", default is not None)
    found.pop("self", None)
    return found


def _of_module(space: ModuleType) -> Iterator[Function]:
    prefix = space.__name__.removeprefix("cloakwork").lstrip(".")
    for name in space.__all__:
        value = getattr(space, name)
        if inspect.isclass(value) or inspect.ismodule(value) or not callable(value):
            continue
        if value.__module__ == "cloakwork._core":  # devices and threads
            continue
        node = _tree(value.__module__).get(value.__name__)
        assert isinstance(node, ast.FunctionDef), name
        parameters = _parameters(node, value.__module__)
        if name in ("save", "savez"):
            del parameters["path"]
        call = READ.get(name, value)
        yield Function(f"{prefix}.{name}" if prefix else name, call, parameters)


def _of_class(module: str, cls: str, make: Callable[[], Any]) -> Iterator[Function]:
    node = _tree(module)[cls]
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):

            def call(*args: Any, name: str = method.name, **named: Any) -> Any:
                return getattr(make(), name)(*args, **named)

            yield Function(f"{cls}.{method.name}", call, _parameters(method, module))


def _of_tensors() -> Iterator[Function]:
    for method in methods.METHODS:
        node = _tree(methods.__name__)[method.__name__]
        assert isinstance(node, ast.FunctionDef)
        for own in (FLOATS, INTS, MATRIX) if method.__name__ == "dot" else (FLOATS, INTS):

            def call(*args: Any, name: str = method.__name__, own: Any = own, **named: Any) -> Any:
                return getattr(cw.asarray(own.copy()), name)(*args, **named)

            shape = "" if own is FLOATS else f" of {own.dtype}{list(own.shape)}"
            yield Function(
                f"Tensor.{method.__name__}{shape}", call, _parameters(node, methods.__name__)
            )


def functions(*, all_of_them: bool = False) -> list[Function]:
    """All public functions and methods that take arrays, or all."""
    found = itertools.chain(
        *map(_of_module, (cw, cw.linalg, cw.fft, cw.random)),
        _of_tensors(),
        _of_class("cloakwork.random.generator", "Generator", lambda: cw.default_rng(1)),
        _of_class("cloakwork.modular.modulus", "Modulus", lambda: cw.mod(17)),
    )
    return [function for function in found if function.arrays or all_of_them]
