"""Fields and curves: their primes, orders and generators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cloakwork import _core
from cloakwork._core import DType, Tensor
from cloakwork.errors import DTypeError, ParamError
from cloakwork.fields.parameters import CURVES, FIELDS
from cloakwork.lazy import public

if TYPE_CHECKING:
    from cloakwork.tensors.conversion import DTypeLike


@public("cloakwork.zk")
@dataclass(frozen=True)
class Field:
    """A field: integers modulo `modulus`, or polynomials over them; tensors of `dtype`.

    Elements of an extension, of a `degree` above 1, are polynomials modulo
    `x^degree - nonresidue`; two-adicity, generator and roots of unity are those of its prime field.
    """

    dtype: DType
    modulus: int
    bits: int
    two_adicity: int
    generator: int
    degree: int = 1
    nonresidue: int | None = None

    def __call__(self, values: object) -> Tensor:
        """The tensor of integers in [0, modulus), or of nested lists of them.

        Elements of an extension are tuples of coefficients, that of 1 first, or integers.

        >>> from cloakwork import zk
        >>> field = zk.field("goldilocks.ext2")
        >>> (field([(1, 2), (3, 4)]) * field((0, 1))).tolist()
        [(14, 1), (28, 3)]
        """
        return _tensor(values, self.dtype)

    def root_of_unity(self, order: int) -> Tensor:
        """The root of unity of this order that transforms use: generator ** ((p - 1) / order).

        ParamError unless the order is a power of two that divides p - 1.
        """
        return self(self.root_number(order))

    def root_number(self, order: int) -> int:
        """The same as an integer in [0, modulus)."""
        if order < 1 or order & (order - 1) or order > 2**self.two_adicity:
            expected = f"a power of two up to 2^{self.two_adicity}"
            raise ParamError("order", order, expected)
        return pow(self.generator, (self.modulus - 1) // order, self.modulus)


@public("cloakwork.zk")
@dataclass(frozen=True)
class Curve:
    """A curve y^2 = x^3 + b: its groups' dtypes, and the fields of scalars and coordinates.

    `g2` are points of its twist; None where the curve has no pairing.
    """

    name: str
    fr: Field
    fq: Field
    g1: DType
    g2: DType | None

    @property
    def g1_generator(self) -> Tensor:
        """The standard generator of G1, as a 0-d tensor."""
        return self._generator(self.g1)

    @property
    def g2_generator(self) -> Tensor:
        """The standard generator of G2, as a 0-d tensor; ParamError for a curve without G2."""
        if self.g2 is None:
            raise ParamError("name", self.name, "a curve with a pairing, which has a G2")
        return self._generator(self.g2)

    def _generator(self, points: DType) -> Tensor:
        group = CURVES[self.name]["groups"][points.name]
        numbers, parts = group["generator"], group["parts"]
        coordinates = [tuple(numbers[at : at + parts]) for at in (0, parts)]
        point = tuple(part if parts > 1 else part[0] for part in coordinates)
        return _tensor(point, points)


def field(dtype: DTypeLike) -> Field:
    """The field of this dtype: docs/fields.md lists them.

    >>> from cloakwork import zk
    >>> zk.field("babybear").modulus
    2013265921
    """
    found = _core.dtype(dtype)
    if found.name not in FIELDS:
        raise DTypeError("dtype", found, f"a field: {', '.join(FIELDS)}")
    facts = FIELDS[found.name]
    modulus = facts["modulus"]
    even = modulus - 1
    return Field(
        found,
        modulus,
        bits=modulus.bit_length(),
        two_adicity=(even & -even).bit_length() - 1,
        generator=facts["generator"],
        degree=facts["degree"],
        nonresidue=facts["nonresidue"],
    )


def curve(name: str) -> Curve:
    """The curve of this name: docs/fields.md lists them.

    >>> from cloakwork import zk
    >>> zk.curve("bn254").g1
    cloakwork.bn254_g1
    """
    if name not in CURVES:
        raise ParamError("name", name, " or ".join(CURVES))
    facts = CURVES[name]
    g1, g2 = [*(group["dtype"] for group in facts["groups"].values()), None][:2]
    assert g1 is not None
    return Curve(name, field(facts["fr"]), field(facts["fq"]), g1, g2)


def _tensor(values: object, dtype: DType) -> Tensor:
    # Imported on demand, as it loads NumPy.
    from cloakwork.tensors.conversion import asarray

    return asarray(values, dtype=dtype)  # type: ignore[arg-type]
