"""Polynomials for functions: of least error, of given error, and compositions of several."""
