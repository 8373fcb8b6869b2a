"""Worked examples of a tutorial, copied from it."""

from __future__ import annotations

from scripts.vectors.files import write_file


def write() -> None:
    """Write the file: degree 4, modulus 7681, psi = 1925, both orders, and a product."""
    provenance = {
        "source": "A. Satriawan, R. Mareta, H. Lee: A Complete Beginner Guide to the Number"
        " Theoretic Transform, the examples of negative-wrapped convolution",
        "url": "https://eprint.iacr.org/2024/585",
        "generated_by": "scripts/vectors/textbook.py, typed from the paper",
    }
    cases = [
        {
            "input": [1, 2, 3, 4],
            "natural": [1467, 2807, 3471, 7621],
            "bit_reversed": [1467, 3471, 2807, 7621],
        },
        {
            "input": [5, 6, 7, 8],
            "natural": [2489, 7489, 6478, 6607],
            "bit_reversed": [2489, 6478, 7489, 6607],
        },
    ]
    contents = {
        "degree": 4,
        "modulus": 7681,
        "root": 1925,
        "cases": cases,
        "product": [7625, 7645, 2, 60],
    }
    write_file("ntt_textbook.json", provenance, contents)
