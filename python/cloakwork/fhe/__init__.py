"""CKKS and BGV: encrypted arithmetic, written over Tensor operations.

>>> from cloakwork import fhe
>>> context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
>>> keys = context.keygen(rotations=[1])
>>> x = keys.encrypt([1.5, -2.0, 0.25])
>>> [round(float(value.real), 4) for value in keys.decrypt((x * x + 0.5).rotate(1))[:2]]
[4.5, 0.5625]

docs/fhe.md teaches them in a page; docs/threat-model.md says what they protect from.
"""

from cloakwork.fhe.bgv import BgvCiphertext, BgvContext
from cloakwork.fhe.bounds import Bound
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.context import Context
from cloakwork.fhe.evaluation import EvaluationKeys
from cloakwork.fhe.flooding import Flooding
from cloakwork.fhe.keys import Keys
from cloakwork.fhe.linear import Matrix
from cloakwork.fhe.packing import Packing
from cloakwork.fhe.parameters import ERROR_SIGMA, Parameters
from cloakwork.fhe.plaintext import Plaintext
from cloakwork.fhe.polynomial import Polynomial, chebyshev
from cloakwork.fhe.public import PublicKey
from cloakwork.fhe.schemes import bgv, ckks
from cloakwork.fhe.security import InsecureWarning, modulus_log2_limit
from cloakwork.fhe.slots import from_library, to_library
from cloakwork.fhe.storage import load_any as load
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
    "bgv",
    "chebyshev",
    "ckks",
    "from_bytes",
    "from_library",
    "load",
    "modulus_log2_limit",
    "to_library",
]
