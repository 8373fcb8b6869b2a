"""Every op as a function.

Called on tensors with elements, an op computes at once; called inside a function that
`cloakwork.trace` runs, it becomes a step of the program.  `out` is written and returned; where
it is left out, a new tensor is.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from cloakwork._core import DType, Op, Tensor  # noqa: F401 (declarations name them)
from cloakwork.lazy import declared

# As in the stub; by its full name, as an op is called slice.
Sizes = int | Sequence[int | builtins.slice]

_get, _names = declared(__name__, Op)


def __getattr__(name: str) -> Any:
    try:
        return _get(name)
    except AttributeError:
        # Ops of vendors are declared while the program runs: docs/custom-ops.md.
        from cloakwork.device.custom import function

        found = function(name)
        if found is None:
            raise
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    from cloakwork.device.custom import custom_ops

    return sorted({*_names(), *(op.name for op in custom_ops())})
