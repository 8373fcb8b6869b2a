"""Programs of HEIR: the text of its `lwe`, `ckks` and `bgv` dialects, run on ciphertexts.

HEIR (heir.dev) compiles functions of plain numbers to functions of ciphertexts.  `load` reads what
its pipelines `--mlir-to-ckks` and `--mlir-to-bgv` write, and makes a `Module` of it, whose
functions are recorded as programs.
"""

from cloakwork.fhe.heir.module import Module, load, loads

__all__ = ["Module", "load", "loads"]
