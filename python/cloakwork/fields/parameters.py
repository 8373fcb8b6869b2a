"""Parameters of fields and curves from the engine's table: primes, orders, groups."""

from __future__ import annotations

from typing import TypedDict

from cloakwork import _core


class FieldFacts(TypedDict):
    """A prime field: the prime, and the generator whose powers are the roots of unity."""

    modulus: int
    generator: int


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
# The primes of the fields that are dtypes, by name.
MODULI = {name: facts["modulus"] for name, facts in FIELDS.items()}
# The orders of the groups of points, which are the primes of the scalar fields, by curve.
ORDERS = {name: MODULI[facts["fr"]] for name, facts in CURVES.items()}
