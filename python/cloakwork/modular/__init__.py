"""Arithmetic modulo a word or several: residues with operators, and their transforms."""

from cloakwork.modular.modulus import Modulus, intt, mod, ntt
from cloakwork.modular.residues import Residues

__all__ = ["Modulus", "Residues", "intt", "mod", "ntt"]
