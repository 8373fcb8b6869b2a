"""How tensors are shown."""

from __future__ import annotations

import numpy as np

from cloakwork import _core

# Tensors of more elements are abbreviated, as NumPy does it.
_THRESHOLD = 1000


def tensor(value: _core.Tensor, traced: bool) -> str:
    """Show a tensor as NumPy would show an array, with its dtype's short name.

    A shape is shown where the elements do not tell it.
    """
    if traced or value.is_secret:
        elements = "<traced>" if traced else "<secret>"
        return f"Tensor({elements}, shape={value.shape}, dtype={value.dtype})"
    elements = np.array2string(
        np.asarray(value), separator=", ", prefix="Tensor(", threshold=_THRESHOLD
    )
    shown = "" if 0 < value.size <= _THRESHOLD else f", shape={value.shape}"
    return f"Tensor({elements}{shown}, dtype={value.dtype})"
