"""Cloakwork runs encrypted-AI programs: checked first, then fast, then explained.

>>> import cloakwork as cw
>>> q = cw.asarray([17, 257])
>>> cw.ops.modmul(cw.asarray([16, 256]), cw.asarray([2, 2]), q)
Tensor([ 15, 255], shape=(2,), dtype=i64)

`cloakwork.heal` loads, checks and runs HEAL's transcripts; `trace` records programs from Python;
`cloakwork.fhe` holds CKKS.
"""

from cloakwork import errors, heal, ops, random
from cloakwork._core import Tensor, __version__, devices
from cloakwork.arrays import asarray
from cloakwork.ops import empty, zeros
from cloakwork.program import Program, trace
from cloakwork.report import Finding, Inspection, Mismatch, Report, RunResult, WrongOp
from cloakwork.runs import RunOptions

__all__ = [
    "Finding",
    "Inspection",
    "Mismatch",
    "Program",
    "Report",
    "RunOptions",
    "RunResult",
    "Tensor",
    "WrongOp",
    "__version__",
    "asarray",
    "devices",
    "empty",
    "errors",
    "heal",
    "ops",
    "random",
    "trace",
    "zeros",
]
