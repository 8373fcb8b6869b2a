"""CKKS: approximate arithmetic on encrypted real and complex numbers.

Cheon, Kim, Kim and Song, ePrint 2016/421, in the residue form of ePrint 2018/931.
"""

from cloakwork.fhe.ckks.ciphertext import CkksCiphertext
from cloakwork.fhe.ckks.context import CkksContext

__all__ = ["CkksCiphertext", "CkksContext"]
