"""Ciphertexts: what CKKS and BGV have in common."""

from cloakwork.fhe.ciphertext.ciphertext import Ciphertext

__all__ = ["Ciphertext"]
