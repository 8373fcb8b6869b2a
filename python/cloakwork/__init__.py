"""Cloakwork runs encrypted-AI programs: checked first, then fast, then explained.

>>> import cloakwork as cw
>>> q = cw.asarray([17, 257])
>>> cw.ops.modmul(cw.asarray([16, 256]), cw.asarray([2, 2]), q)
Tensor([ 15, 255], dtype=i64)

`cloakwork.heal` loads, checks and runs HEAL's transcripts; `trace` records programs from Python;
`cloakwork.fhe` holds CKKS and BGV.

The package is itself a namespace of the Python array API standard, 2025.12: `cloakwork.sum`,
`cloakwork.float32`, `cloakwork.linalg`.

Names are loaded when one is asked for, and so is NumPy: a command that computes without them does
not wait for them.
"""

from typing import TYPE_CHECKING

from cloakwork._core import __version__ as __version__
from cloakwork.lazy import lazily
from cloakwork.methods import attach as _attach

if TYPE_CHECKING:
    from cloakwork.namespace import *  # noqa: F403 (the names are listed there)
else:
    __getattr__, __dir__ = lazily(__name__)

_attach()
