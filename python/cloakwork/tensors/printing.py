"""How tensors are printed."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing

from cloakwork import _core
from cloakwork.errors import TraceError

# Tensors of more elements are abbreviated, as in NumPy.
_THRESHOLD = 1000


def tensor(value: _core.Tensor, traced: bool) -> str:
    """Show a tensor as NumPy would show an array, with its dtype.

    The shape is shown where the printed elements do not determine it.
    """
    shown = "<traced>" if traced else elements(value, "Tensor(")
    tells = 0 < value.size <= _THRESHOLD and not traced and not value.is_secret
    shape = "" if tells else f", shape={value.shape}"
    device = "" if value.device == "cpu" else f", device={value.device}"
    return f"Tensor({shown}{shape}, dtype={value.dtype}{device})"


def elements(value: _core.Tensor, prefix: str) -> str:
    """The elements as NumPy prints them after `prefix`; `<secret>` or `<traced>` if hidden."""
    if value.is_secret:
        return "<secret>"
    try:
        array = _edges(value) if value.dtype.kind == "V" else np.asarray(value)
    except TraceError:
        return "<traced>"
    if value.dtype.kind == "V":
        return np.array2string(
            array,
            separator=", ",
            prefix=prefix,
            threshold=_THRESHOLD,
            formatter={"object": lambda element: "infinity" if element is None else str(element)},
        )
    return np.array2string(array, separator=", ", prefix=prefix, threshold=_THRESHOLD)


def _edges(value: _core.Tensor) -> np.typing.NDArray[np.object_]:
    """The elements as objects; of an abbreviated tensor, only the printed ones."""
    if value.size <= _THRESHOLD:
        return np.asarray(value)
    array = np.empty(value.shape, object)
    edge = np.get_printoptions()["edgeitems"]
    sides = [
        [slice(None)] if size <= 2 * edge else [slice(0, edge), slice(size - edge, size)]
        for size in value.shape
    ]
    for place in itertools.product(*sides):
        array[place] = np.asarray(value[place])
    return array
