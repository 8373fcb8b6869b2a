"""Matrices and polynomials of encrypted values."""
