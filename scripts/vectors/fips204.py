"""The transform of ML-DSA (FIPS 204, algorithms 41 and 42) as dilithium-py computes it."""

from __future__ import annotations

from dilithium_py.polynomials.polynomials import PolynomialRing

from scripts.vectors.files import edge_input, long_input, made_by, write_file


def write() -> None:
    """Write the file: q = 8380417, degree 256, zeta = 1753, in bit-reversed order."""
    ring = PolynomialRing()
    first, second = edge_input(ring.n, ring.q), long_input(ring.n, ring.q)[::-1]
    a, b = ring(first), ring(second)
    product = (a.to_ntt() * b.to_ntt()).from_ntt()
    cases = [
        {"input": first, "ntt": _reduced(a.to_ntt(), ring.q)},
        {"input": second, "ntt": _reduced(b.to_ntt(), ring.q)},
    ]
    provenance = {
        "source": "FIPS 204, Module-Lattice-Based Digital Signature Standard, appendix B and"
        " algorithms 41 and 42, as implemented by dilithium-py",
        "url": "https://doi.org/10.6028/NIST.FIPS.204, https://pypi.org/project/dilithium-py",
        "generated_by": made_by("fips204.py", "dilithium-py"),
    }
    contents = {
        "degree": ring.n,
        "modulus": ring.q,
        "root": 1753,
        "zetas": ring.ntt_zetas,
        "cases": cases,
        "product": _reduced(product, ring.q),
    }
    write_file("ntt_fips204.json", provenance, contents)


def _reduced(polynomial: object, modulus: int) -> list[int]:
    return [number % modulus for number in polynomial.coeffs]  # type: ignore[attr-defined]
