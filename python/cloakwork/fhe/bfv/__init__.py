"""BFV: exact arithmetic on encrypted integers mod t, without levels to manage.

Brakerski, ePrint 2012/078; Fan and Vercauteren, ePrint 2012/144; in residues, with plaintexts at
the top of the modulus: c0 + c1 s = (Q / t) m + e.
"""

from cloakwork.fhe.bfv.ciphertext import BfvCiphertext
from cloakwork.fhe.bfv.context import BfvContext

__all__ = ["BfvCiphertext", "BfvContext"]
