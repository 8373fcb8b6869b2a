"""Demonstrations that run the whole of Cloakwork on real input."""
