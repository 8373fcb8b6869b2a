"""Parameters of fields and curves from the engine's table: primes, orders, groups."""

from __future__ import annotations

from typing import TypedDict

from cloakwork import _core


class FieldFacts(TypedDict):
    """A field: the prime, and the generator whose powers are the roots of unity.

    degree      coefficients of an element; 1 in a prime field
    nonresidue  what x^degree is in an extension
    words       u64 words of an element's canonical form
    """

    modulus: int
    generator: int
    degree: int
    nonresidue: int | None
    words: int


class GroupFacts(TypedDict):
    """A group of points: the parts of a coordinate, and the generator's x and y, part by part."""

    dtype: _core.DType
    parts: int
    generator: list[int]


class CurveFacts(TypedDict):
    """A curve y^2 = x^3 + b: names of its fields, and its groups by names of their dtypes."""

    b: int
    fr: str
    fq: str
    groups: dict[str, GroupFacts]


FIELDS = _core.fields()
CURVES = _core.curves()
# The primes of the prime fields, by name.
MODULI = {name: facts["modulus"] for name, facts in FIELDS.items() if facts["degree"] == 1}
# The orders of the groups of points, which are the primes of the scalar fields, by curve.
ORDERS = {name: MODULI[facts["fr"]] for name, facts in CURVES.items()}
