"""Linear nodes without an indexing of their own: their matrix, by ONNX's reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.building import selection
from cloakwork.compiler.importing.mended import evaluator_of
from cloakwork.compiler.importing.reading import onnx_module
from cloakwork.compiler.importing.values import Call, Known, Secret, handles
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]
_SEED = 1
# Each element of the operand takes an evaluation, of a millisecond or more.
_MOST_COLUMNS = 1 << 14
# The reference computes these in Python's loops: an evaluation takes longer.
_FEWER = {"GridSample": 1 << 8, "ScatterElements": 1 << 12, "ScatterND": 1 << 12}
# These may only move elements, which takes some evaluations.
_MOVING = ("Compress", "GatherND", "MaxUnpool", "ReverseSequence", "ScatterElements", "ScatterND",
           "TensorScatter", "Trilu")  # fmt: skip
_MOST_MOVED = 1 << 18
# The inputs that tell how large results are.
_LENGTHS = {"AffineGrid": 1, "Col2Im": 1, "DFT": 1, "MaxUnpool": 2}
# What the reference's own rounding may differ by, of what an element is made from, and of the
# largest, for those that cancel.
_ROUNDING, _CANCELLED = 1e-5, 1e-12
# The reductions of a scatter that are linear.
_LINEAR = ("none", b"none", "add", b"add", "mul", b"mul")
# What random operands are multiplied by.
_SIZES = (1.0, -1.0, 1e3, -1e3)


@handles(
    "AffineGrid", "Col2Im", "Compress", "ConvTranspose", "CumSum", "DFT", "Einsum", "GatherND",
    "GridSample", "MaxUnpool", "Resize", "ReverseSequence", "STFT", "ScatterElements", "ScatterND",
    "TensorScatter", "Trilu",
)  # fmt: skip
def by_columns(call: Call) -> Secret:
    """A column for each element of the operand, and the result of zeros as bias.

    What only moves elements is traced on their indices instead.  What is not linear, or mixes the
    inputs of a batch, is found by random operands, and refused.
    """
    encrypted = [place for place, value in enumerate(call.inputs) if isinstance(value, Secret)]
    if len(encrypted) != 1 or call.outputs != 1:
        raise call.wrong("one encrypted operand and one output", (len(encrypted), call.outputs))
    x = call.secret(encrypted[0])
    size, run = call.builder.size(x.name), _evaluator(call, encrypted[0])
    most = _FEWER.get(call.kind, _MOST_COLUMNS)
    _check_size(call, size, max(most, _MOST_MOVED) if call.kind in _MOVING else most)
    if call.kind.startswith("Scatter") and call.attribute("reduction", "none") not in _LINEAR:
        own = f"reduction {call.attribute('reduction', 'none')!r}"
        raise call.wrong("a node that is linear in its operand", own)
    place = _LENGTHS.get(call.kind)
    if place is not None and call.has(place) and isinstance(call.value(place), Known):
        lengths = np.abs(call.weights(place)).ravel()
        call.check_elements([1, *lengths.tolist()])
    bias = run(np.zeros(x.shape))
    call.check_batch(bias.shape)
    call.check_elements(bias.shape)
    matrix = _moved(run, bias, x)
    if matrix is None:
        _check_size(call, size, most)
        call.check_weights(size * bias.size)
        matrix = _columns(run, bias, x)
    _check_linear(call, run, matrix, bias, x)
    return call.affine([(x.name, matrix)], bias, bias.shape[1:])


def _check_size(call: Call, size: int, most: int) -> None:
    if size > most:
        raise call.wrong(f"at most {most} elements", size, "use a smaller input")


def _moved(run: Callable[[Floats], Floats], bias: Floats, x: Secret) -> Any:
    """The matrix of what moves elements among constants; None for what computes something."""
    size = int(np.prod(x.shape))
    own, draw = np.arange(1.0, size + 1), np.random.default_rng(_SEED).normal(size=size)
    first, second, drawn = (run(one.reshape(x.shape)).ravel() for one in (own, own + size, draw))
    constant = (first == second) & (first == bias.ravel())
    places = np.where(constant, -1, first - 1)
    if not (constant | ((second - first == size) & np.isin(places, own - 1))).all():
        return None
    matrix = selection(places.astype(np.int64), size)
    # A mean of elements may be the number of another.
    return matrix if (matrix @ draw == np.where(constant, 0.0, drawn)).all() else None


def _columns(run: Callable[[Floats], Floats], bias: Floats, x: Secret) -> Any:
    """The matrix by the results of unit vectors."""
    size, columns = int(np.prod(x.shape)), []
    for place in range(size):
        unit = np.zeros(size)
        unit[place] = 1.0
        found = (run(unit.reshape(x.shape)) - bias).ravel()
        columns.append(sparse.csc_array(found[:, None]))
    return sparse.csr_array(sparse.hstack(columns))


def _evaluator(call: Call, encrypted: int) -> Callable[[Floats], Floats]:
    """The node as a function of its encrypted operand [1, ...]."""
    onnx = onnx_module()
    names = [
        "" if value is None else "x" if place == encrypted else f"c{place}"
        for place, value in enumerate(call.inputs)
    ]
    constants = {
        name: value.array.astype(np.float64) if value.array.dtype.kind == "f" else value.array
        for name, value in zip(names, call.inputs, strict=True)
        if isinstance(value, Known)
    }
    node = onnx.helper.make_node(call.kind, names, ["y"], **call.attributes)
    opset = onnx.helper.make_opsetid("", call.version)
    evaluator = evaluator_of([node], dict.fromkeys(filter(None, names)), ["y"], [opset])

    def run(x: Floats) -> Floats:
        try:
            (found,) = evaluator.run(None, {**constants, "x": x})
        except Exception as error:  # any of NumPy's and the reference's own
            raise call.wrong("inputs and attributes that fit each other", error) from error
        return np.asarray(found, dtype=np.float64)

    return run


def _check_linear(
    call: Call, run: Callable[[Floats], Floats], matrix: Any, bias: Floats, x: Secret
) -> None:
    draw = np.random.default_rng(_SEED)
    pair = draw.normal(size=(2, *x.shape[1:]))
    flat = pair.reshape(2, -1)
    wanted = (matrix @ flat.T).T + bias.ravel()
    # Of each element, as a large constant elsewhere must not hide that it is off.
    most = (abs(matrix) @ np.abs(flat).T).T + np.abs(bias.ravel())
    allowed = _ROUNDING * most + _CANCELLED * max(float(most.max(initial=0.0)), 1.0)
    # Of a maximum with a constant, one sign and size may look linear.
    for size in _SIZES:
        own = size * (wanted[0] - bias.ravel()) + bias.ravel()
        off = np.abs(run(size * pair[:1]).ravel() - own)
        if not (off <= abs(size) * allowed[0]).all():
            raise call.wrong("a node that is linear in its operand", "one that is not")
    if call.kind == "Resize" or call.state.single:
        return  # Its sizes may be those of one input; they leave the first axis as it is.
    try:
        both = run(pair)
    except ModelError as error:
        hint = "export the model for a batch of 1, with a fixed first axis"
        raise call.wrong("a node that takes a batch", "one for a batch of 1", hint) from error
    fits = both.shape == (2, *bias.shape[1:])
    if not fits or not (np.abs(both.reshape(2, -1) - wanted) <= allowed).all():
        hint = "keep elements of different inputs apart"
        raise call.wrong("a node that works on each input of a batch", "one that mixes them", hint)
