"""CKKS and BGV: encrypted arithmetic, written over Tensor operations.

>>> from cloakwork import fhe
>>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
>>> keys = context.keygen(rotations=[1])
>>> x = keys.encrypt([1.5, -2.0, 0.25])
>>> [round(float(value.real), 4) for value in keys.decrypt((x * x + 0.5).rotate(1))[:2]]
[4.5, 0.5625]

docs/fhe.md is a tutorial; docs/threat-model.md says what they protect from.
"""

from cloakwork.fhe.bgv import BgvCiphertext, BgvContext
from cloakwork.fhe.bgv.sizes import Sizes
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits.matrix import Matrix
from cloakwork.fhe.circuits.polynomial import Polynomial, chebyshev
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.context import Context
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.encoding.slots import from_library, to_library
from cloakwork.fhe.estimates.bounds import Bound
from cloakwork.fhe.files.storage import load_any as load
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.flooding import Flooding
from cloakwork.fhe.keys.keys import Keys
from cloakwork.fhe.keys.public import PublicKey
from cloakwork.fhe.parameters import ERROR_SIGMA, Parameters
from cloakwork.fhe.schemes import bgv, ckks
from cloakwork.fhe.security import InsecureWarning, modulus_log2_limit
from cloakwork.fhe.streams import from_bytes

__all__ = [
    "ERROR_SIGMA",
    "BgvCiphertext",
    "BgvContext",
    "Bound",
    "Ciphertext",
    "CkksCiphertext",
    "CkksContext",
    "Context",
    "EvaluationKeys",
    "Flooding",
    "InsecureWarning",
    "Keys",
    "Matrix",
    "Packing",
    "Parameters",
    "Plaintext",
    "Polynomial",
    "PublicKey",
    "Sizes",
    "bgv",
    "chebyshev",
    "ckks",
    "from_bytes",
    "from_library",
    "load",
    "modulus_log2_limit",
    "to_library",
]
