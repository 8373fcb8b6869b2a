"""BGV: exact arithmetic on encrypted integers mod t (HEAL's RBGV).

Brakerski, Gentry and Vaikuntanathan, ePrint 2011/277; in residues, with plaintexts in the low
digits: c0 + c1 s = m + t e.
"""

from cloakwork.fhe.bgv.ciphertext import BgvCiphertext
from cloakwork.fhe.bgv.context import BgvContext

__all__ = ["BgvCiphertext", "BgvContext"]
