"""CKKS, BGV and BFV: encrypted arithmetic, written over Tensor operations.

>>> from cloakwork import fhe
>>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
>>> keys = context.keygen(rotations=[1])
>>> x = keys.encrypt([1.5, -2.0, 0.25])
>>> [round(float(value.real), 4) for value in keys.decrypt((x * x + 0.5).rotate(1))[:2]]
[4.5, 0.5625]

docs/fhe.md is a tutorial; docs/threat-model.md says what they protect from.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cloakwork.fhe.approximation.comparison import relu, sign
from cloakwork.fhe.approximation.composition import Composition
from cloakwork.fhe.approximation.fitting import fit
from cloakwork.fhe.approximation.minimax import minimax
from cloakwork.fhe.bfv import BfvCiphertext, BfvContext
from cloakwork.fhe.bgv import BgvCiphertext, BgvContext
from cloakwork.fhe.bgv.sizes import Sizes
from cloakwork.fhe.bootstrapping import Bootstrapping, bootstrapping_context
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits.linear import LinearMap, LinearTransform
from cloakwork.fhe.circuits.matrix import Matrix
from cloakwork.fhe.circuits.polynomial import Polynomial, chebyshev
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.context import Context
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.encoding.slots import from_library, to_library
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.fhe.files.storage import load_any as load
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.public import PublicKey
from cloakwork.fhe.models import compile, load_model
from cloakwork.fhe.parameters import ERROR_SIGMA, Parameters
from cloakwork.fhe.schemes import bfv, bgv, ckks
from cloakwork.fhe.security import InsecureWarning, modulus_log2_limit
from cloakwork.fhe.streams import from_bytes

if TYPE_CHECKING:
    from cloakwork.fhe.keys.flooding import Flooding
    from cloakwork.fhe.keys.keys import Keys

__all__ = [
    "ERROR_SIGMA",
    "BfvCiphertext",
    "BfvContext",
    "BgvCiphertext",
    "BgvContext",
    "Bootstrapping",
    "Bound",
    "Ciphertext",
    "CiphertextSet",
    "CkksCiphertext",
    "CkksContext",
    "Composition",
    "Context",
    "EvaluationKeys",
    "Flooding",
    "InsecureWarning",
    "Keys",
    "LinearMap",
    "LinearTransform",
    "Matrix",
    "Packing",
    "Parameters",
    "Plaintext",
    "Polynomial",
    "PublicKey",
    "Sizes",
    "bfv",
    "bgv",
    "bootstrapping_context",
    "chebyshev",
    "ckks",
    "compile",
    "fit",
    "from_bytes",
    "from_library",
    "load",
    "load_model",
    "minimax",
    "modulus_log2_limit",
    "relu",
    "sign",
    "to_library",
]

# Classes that know a secret: a server's process, which never asks for them, does not load them.
_OF_CLIENTS = {"Flooding": "flooding", "Keys": "keys"}


def __getattr__(name: str) -> Any:
    if name not in _OF_CLIENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"{__name__}.keys.{_OF_CLIENTS[name]}"), name)
    return globals()[name]
