"""Every op as a function.

Called on tensors with elements, an op computes at once; called inside a function that
`cloakwork.trace` runs, it becomes a step of the program.  `out` is written and returned; where
it is left out, a new tensor is.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from cloakwork._core import DType, Op, Tensor  # noqa: F401 (declarations name them)
from cloakwork.lazy import declared

# As in the stub; by its full name, as an op is called slice.
Sizes = int | Sequence[int | builtins.slice]

__getattr__, __dir__ = declared(__name__, Op)
