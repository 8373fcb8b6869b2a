"""What the core's tables say of fields and curves: primes, orders, groups."""

from __future__ import annotations

from typing import TypedDict

from cloakwork import _core


class FieldFacts(TypedDict):
    """A prime field: the prime, and whose powers the roots of unity are."""

    modulus: int
    generator: int


class GroupFacts(TypedDict):
    """A group of points: parts of a coordinate, and x and y of the generator, part by part."""

    dtype: _core.DType
    parts: int
    generator: list[int]


class CurveFacts(TypedDict):
    """A curve y^2 = x^3 + b: names of its fields, and its groups by the names of their dtypes."""

    b: int
    fr: str
    fq: str
    groups: dict[str, GroupFacts]


FIELDS = _core.fields()
CURVES = _core.curves()
# The primes of the fields that are dtypes, by name.
MODULI = {name: facts["modulus"] for name, facts in FIELDS.items()}
# The orders of the groups of points, which are the primes of scalars, by curve.
ORDERS = {name: MODULI[facts["fr"]] for name, facts in CURVES.items()}
