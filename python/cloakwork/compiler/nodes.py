"""The nodes of a Graph: every model is lowered to these five kinds.

A value has a name and a shape without the batch axis.  Row-major flattening is the order of its
elements; a reader may see the same elements in another shape, so that reshaping is no node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler import functions
from cloakwork.errors import ModelError
from cloakwork.wording import installing

try:
    from scipy import sparse
except ModuleNotFoundError as missing:
    raise ModelError(f"compiling needs scipy: {installing('models')}") from missing

Floats = NDArray[np.float64]

__all__ = [
    "Affine",
    "Evaluate",
    "Function",
    "Geometry",
    "Input",
    "Node",
    "OfOneVariable",
    "Product",
    "Source",
]


@dataclass(frozen=True)
class Geometry:
    """A convolution or pooling: (channels, height, width), of 1-D ones (channels, 1, width).

    kernel, strides, dilations   (height, width)
    pads                         (top, left, bottom, right)
    """

    inputs: tuple[int, int, int]
    outputs: tuple[int, int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1


@dataclass(frozen=True)
class Source:
    """The nodes of the model that a node comes from, for reports and layouts."""

    names: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    geometry: Geometry | None = None

    def __add__(self, other: Source) -> Source:
        """Both, in order; a geometry survives if it is the only one, or both are equal."""
        geometries = {g for g in (self.geometry, other.geometry) if g is not None}
        geometry = geometries.pop() if len(geometries) == 1 else None
        pairs = dict.fromkeys(zip(self.names + other.names, self.kinds + other.kinds, strict=True))
        return Source(tuple(n for n, _ in pairs), tuple(k for _, k in pairs), geometry)

    def __str__(self) -> str:
        return " + ".join(
            f"{kind} {name}".strip() for name, kind in zip(self.names, self.kinds, strict=True)
        )


class Node(Protocol):
    """output = the node's values, of the shape without the batch axis."""

    @property
    def output(self) -> str:
        """The name of the value."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape without the batch axis."""

    @property
    def source(self) -> Source:
        """Where it comes from."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the values that it reads."""

    @property
    def size(self) -> int:
        """The number of its elements."""

    def check(self, sizes: Mapping[str, int]) -> None:
        """ModelError unless it fits the values that it reads, given their sizes."""

    def values(self, read: Mapping[str, Floats]) -> Floats:
        """Its values float64 [batch, size], given those that it reads, [batch, sizes]."""


@dataclass(frozen=True, eq=False)
class _Named:
    output: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def place(self) -> str:
        """How messages name the node."""
        return f"{type(self).__name__} {self.output!r}"

    def _check_size(self, name: str, got: int, expected: int) -> None:
        if got != expected:
            raise ModelError(f"{self.place}: expected {expected} elements of {name!r}, found {got}")


@dataclass(frozen=True, eq=False)
class Input(_Named):
    """A value that the client encrypts."""

    source: Source = field(default=Source(), kw_only=True)

    @property
    def inputs(self) -> tuple[str, ...]:
        """None."""
        return ()

    def check(self, sizes: Mapping[str, int]) -> None:
        """Accept any."""

    def values(self, read: Mapping[str, Floats]) -> Floats:
        """Those that were given."""
        return read[self.output]


@dataclass(frozen=True, eq=False)
class Affine(_Named):
    """y = sum_i A_i x_i + b.

    terms   pairs of the name of x_i and A_i, a scipy.sparse.csr_array float64 [size, size of x_i];
            no name twice
    bias    float64 [size]
    """

    terms: tuple[tuple[str, Any], ...]
    bias: Floats
    source: Source = field(default=Source(), kw_only=True)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the x_i."""
        return tuple(name for name, _ in self.terms)

    @property
    def nonzeros(self) -> int:
        """The stored elements of all A_i."""
        return sum(int(matrix.nnz) for _, matrix in self.terms)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Matrices and bias fit, and are finite float64."""
        if self.bias.shape != (self.size,) or self.bias.dtype != np.float64:
            raise ModelError(
                f"{self.place}: expected a bias float64 [{self.size}], found {self.bias.dtype} "
                f"{list(self.bias.shape)}"
            )
        if len(set(self.inputs)) != len(self.terms) or not self.terms:
            raise ModelError(f"{self.place}: expected different inputs, found {self.inputs}")
        for name, matrix in self.terms:
            if not isinstance(matrix, sparse.csr_array) or matrix.dtype != np.float64:
                raise ModelError(f"{self.place}: expected csr_array float64, found {matrix!r}")
            if matrix.shape != (self.size, sizes[name]):
                raise ModelError(
                    f"{self.place}: expected a matrix [{self.size}, {sizes[name]}] for {name!r}, "
                    f"found {list(matrix.shape)}"
                )
        if not all(np.isfinite(x).all() for x in [self.bias, *(m.data for _, m in self.terms)]):
            raise ModelError(f"{self.place}: expected finite weights")

    def values(self, read: Mapping[str, Floats]) -> Floats:
        """As defined."""
        return np.asarray(sum((matrix @ read[x].T).T for x, matrix in self.terms) + self.bias)


@dataclass(frozen=True, eq=False)
class Product(_Named):
    """y = a b, element by element; a may be b."""

    a: str
    b: str
    source: Source = field(default=Source(), kw_only=True)

    @property
    def inputs(self) -> tuple[str, ...]:
        """A and b."""
        return (self.a, self.b)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Both have the result's size."""
        for name in self.inputs:
            self._check_size(name, sizes[name], self.size)

    def values(self, read: Mapping[str, Floats]) -> Floats:
        """As defined."""
        return read[self.a] * read[self.b]


@dataclass(frozen=True, eq=False)
class OfOneVariable(_Named):
    """A function of each element of `input`."""

    input: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """The one."""
        return (self.input,)

    def check(self, sizes: Mapping[str, int]) -> None:
        """The input has the result's size."""
        self._check_size(self.input, sizes[self.input], self.size)


@dataclass(frozen=True, eq=False)
class Function(OfOneVariable):
    """y = kind(input), a kind of `functions.FUNCTIONS`; all its parameters are given."""

    kind: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    source: Source = field(default=Source(), kw_only=True)

    def check(self, sizes: Mapping[str, int]) -> None:
        """The kind and its parameters are known."""
        super().check(sizes)
        functions.check(self.place, self.kind, self.parameters)

    def values(self, read: Mapping[str, Floats]) -> Floats:
        """ModelError where they are not finite."""
        return functions.apply(self.place, self.kind, self.parameters, read[self.input])


@dataclass(frozen=True, eq=False)
class Evaluate(OfOneVariable):
    """y = polynomial(input), a fhe.Polynomial."""

    polynomial: Any
    source: Source = field(default=Source(), kw_only=True)

    def check(self, sizes: Mapping[str, int]) -> None:
        """The polynomial can be called."""
        super().check(sizes)
        if not callable(self.polynomial):
            raise ModelError(
                f"{self.place}: expected a fhe.Polynomial, found {type(self.polynomial).__name__}"
            )

    def values(self, read: Mapping[str, Floats]) -> Floats:
        """As defined, also outside of the polynomial's domain."""
        return np.asarray(self.polynomial(read[self.input]), dtype=np.float64)
