"""Polynomials as residues: their layout in memory, constant tables, and the evaluator's steps."""
