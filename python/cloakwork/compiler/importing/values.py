"""Values while a model is read: constants, encrypted ones, those of the client; and nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.building import Builder
from cloakwork.compiler.client_tail import ClientStep
from cloakwork.errors import ModelError

# A matrix of more weights is refused: it takes gigabytes before anything is encoded.
MOST_WEIGHTS = 1 << 28
# Elements of one value, in one input of the batch.
MOST_ELEMENTS = 1 << 24


@dataclass(frozen=True, eq=False)
class Known:
    """A constant of the model."""

    array: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.array.shape


@dataclass(frozen=True)
class Secret:
    """An encrypted value of the graph.

    shape   with a batch axis of length 1
    batch   the place of that axis: in front, but where a model has moved it for a while; None where
            a model for a batch of 1 has merged it with others, as attention does with its heads
    """

    name: str
    shape: tuple[int, ...]
    batch: int | None = 0

    @property
    def inner(self) -> tuple[int, ...]:
        """The shape without the batch axis."""
        return without_batch(self.shape, self.batch)

    @property
    def place(self) -> int:
        """The place of the batch axis of a value that has it apart."""
        assert self.batch is not None
        return self.batch


def without_batch(shape: Sequence[int], batch: int | None) -> tuple[int, ...]:
    """A shape without the axis of the batch."""
    return tuple(shape) if batch is None else (*shape[:batch], *shape[batch + 1 :])


@dataclass(frozen=True)
class Later:
    """A value that the client computes after decryption."""

    name: str


@dataclass(frozen=True)
class Early:
    """A value that the client computes before encryption.

    value   of the head's builder
    label   the model's name for it
    """

    value: Secret
    label: str


Value = Known | Secret | Later | Early


@dataclass
class Reading:
    """The state of an import.

    client   the names of nodes that the client computes, see `tails`
    single   whether the model is for a batch of 1 alone: then no node can mix inputs
    steps    its steps so far
    """

    builder: Builder
    client: frozenset[str] = frozenset()
    single: bool = False
    steps: list[ClientStep] = field(default_factory=list)

    def step(self, kind: str, inputs: Sequence[Secret | Later], **parameters: Any) -> Later:
        """Append a step of the client."""
        stem = self.builder.fresh(kind, len(self.steps))
        self.builder.reserved.add(stem)
        names = tuple(self._shaped(each) for each in inputs)
        self.steps.append(ClientStep(stem, kind, names, parameters))
        return Later(stem)

    def _shaped(self, value: Secret | Later) -> str:
        """The name of a value in its shape: what is encrypted may have another, of as many."""
        if isinstance(value, Later) or self.builder.shape(value.name) == value.inner:
            return value.name
        stem = self.builder.fresh("reshape", len(self.steps))
        self.builder.reserved.add(stem)
        shape = {"shape": list(value.inner)}
        self.steps.append(ClientStep(stem, "reshape", (value.name,), shape))
        return stem


@dataclass
class Call:
    """One node of the model with the values that it reads; None for an omitted input."""

    state: Reading
    place: str
    kind: str
    attributes: Mapping[str, Any]
    inputs: Sequence[Value | None]
    outputs: int
    version: int
    is_client: bool = False

    @property
    def builder(self) -> Builder:
        """Where nodes are appended."""
        return self.state.builder

    def wrong(self, expected: str, found: object, change: str = "") -> ModelError:
        """The error that names the node."""
        more = f"; {change}" if change else ""
        return ModelError(f"{self.place}: expected {expected}, found {found}{more}")

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute, or its default."""
        return self.attributes.get(name, default)

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input that must be there."""
        found = self.inputs[index] if index < len(self.inputs) else None
        if found is None:
            raise self.wrong(f"an input number {index}", "none")
        return found

    def encrypted(self, index: int, *, merged: bool = False) -> Secret:
        """An input that must be encrypted, with its batch axis anywhere.

        merged   whether that axis may be merged with others
        """
        found = self.value(index)
        if not isinstance(found, Secret):
            raise self.wrong(f"an encrypted input number {index}", _described(found))
        return found if merged else self.apart(found)

    def apart(self, x: Secret) -> Secret:
        """The same value; ModelError unless it has a batch axis, or one in front that can be it."""
        if x.batch is not None:
            return x
        if x.shape[:1] != (1,):
            raise self.wrong(
                "the batch axis apart from others",
                f"it merged in the shape {list(x.shape)}",
                "reshape to [batch, ...] before this node",
            )
        return replace(x, batch=0)

    def secret(self, index: int) -> Secret:
        """An input that must be encrypted, with its batch axis in front."""
        return self.in_front(self.encrypted(index))

    def in_front(self, x: Secret) -> Secret:
        """The same value; ModelError unless its batch axis is in front."""
        x = self.apart(x)
        if x.batch:
            raise self.wrong(
                "the batch axis in front",
                f"it at axis {x.batch} of {list(x.shape)}",
                f"transpose it to the front before this node, by Transpose(perm={to_front(x)})",
            )
        return x

    def constant(self, index: int) -> NDArray[Any]:
        """An input that must be a constant."""
        found = self.value(index)
        if not isinstance(found, Known):
            hint = "export the model with constant shapes and weights"
            raise self.wrong(f"a constant as input number {index}", _described(found), hint)
        return found.array

    def secrets(self) -> list[Secret]:
        """All inputs, which must be encrypted, with their batch axes in front."""
        return [self.secret(index) for index, _ in enumerate(self.inputs)]

    def integers(self, index: int) -> list[int]:
        """A constant of integers, such as a shape."""
        found = self.constant(index)
        if found.dtype.kind not in "iu":
            raise self.wrong("integers", found.dtype)
        listed: list[int] = found.ravel().tolist()
        return listed

    def weights(self, index: int, *, masks: bool = False) -> NDArray[np.float64]:
        """A constant of finite real numbers.

        masks   whether it may mask by -inf, for which exporters also take the least float32
        """
        found = self.constant(index)
        if found.dtype.kind not in "fiub":
            raise self.wrong("real numbers", found.dtype)
        floats = found.astype(np.float64)
        if masks:
            floats[np.isneginf(floats)] = np.finfo(np.float32).min
        if not np.isfinite(floats).all():
            raise self.wrong("finite weights", f"NaN or infinity in input number {index}")
        return floats

    def setting(self, name: str, index: int, default: Any = None) -> Any:
        """A setting that is an attribute in older opsets, a constant input in later ones."""
        if name in self.attributes:
            return self.attributes[name]
        if self.has(index):
            return self.constant(index).tolist()
        return default

    def any_axis(self, given: int, rank: int) -> int:
        """An axis counted from the front."""
        axis = given + rank if given < 0 else given
        if not 0 <= axis < rank:
            raise self.wrong(f"an axis of {rank}", given)
        return axis

    def axis(self, given: int, x: Secret) -> int:
        """An axis of x counted from the front; ModelError for the batch axis."""
        axis = self.any_axis(given, len(x.shape))
        if axis == x.batch:
            hint = "keep elements of different inputs apart"
            raise self.wrong("an axis of one input", f"the batch axis {axis}", hint)
        return axis

    def indices(self, value: Secret) -> NDArray[np.int64]:
        """[1, *shape]: the flat index of each element."""
        size = self.builder.size(value.name)
        return np.arange(size, dtype=np.int64).reshape(value.shape)

    def selected(self, value: Secret, indices: NDArray[np.int64], batch: int | None = 0) -> Secret:
        """The elements at flat indices, 0 where -1; the value itself where they agree.

        batch   the place of the batch axis in the shape of the indices, and of the result
        """
        self.check_batch(indices.shape, batch)
        self.check_elements(indices.shape)
        shape = tuple(indices.shape)
        flat = indices.ravel()
        name = value.name
        size = self.builder.size(value.name)
        if len(flat) != size or not np.array_equal(flat, np.arange(size)):
            name = self.builder.select(value.name, flat, without_batch(shape, batch))
        return Secret(name, shape, batch)

    def check_batch(self, shape: Sequence[int], batch: int | None = 0) -> None:
        """ModelError unless the batch axis is still there, or is known to be merged."""
        if batch is None:
            return
        if not batch < len(shape) or shape[batch] != 1:
            place = f"at axis {batch}" if batch else "in front"
            raise self.wrong(
                f"the batch axis to stay {place}",
                f"the shape {list(shape)}",
                "reshape to [batch, ...], and keep elements of different inputs apart",
            )

    def affine(self, terms: Any, bias: Any, shape: Sequence[int], batch: int | None = 0) -> Secret:
        """A new Affine; `shape` is without the batch, which the result has at an axis."""
        whole = tuple(shape) if batch is None else (*shape[:batch], 1, *shape[batch:])
        return Secret(self.builder.affine(terms, bias, tuple(shape)), whole, batch)

    def check_elements(self, shape: Sequence[int]) -> None:
        """ModelError for a value of more elements than any input may have."""
        count = prod(float(length) for length in shape)
        if not 0 < count <= MOST_ELEMENTS:
            raise self.wrong(f"1 to {MOST_ELEMENTS} elements", f"the shape {list(shape)}")

    def check_weights(self, count: int) -> None:
        """ModelError for a matrix that would take gigabytes."""
        if count > MOST_WEIGHTS:
            hint = "use a smaller layer or input"
            raise self.wrong(f"at most {MOST_WEIGHTS} products", count, hint)


def to_front(x: Secret) -> list[int]:
    """The order of axes that has the batch in front."""
    return [x.place, *(axis for axis, _ in enumerate(x.shape) if axis != x.batch)]


def _described(value: Value) -> str:
    if isinstance(value, Known):
        return "a constant"
    return "an encrypted value" if isinstance(value, Secret) else "a value of the client"


Handler = Callable[[Call], Sequence[Value] | Value]
# By domain ("" is ONNX's own) and kind.
HANDLERS: dict[tuple[str, str], Handler] = {}


def handles(*kinds: str, domain: str = "") -> Callable[[Handler], Handler]:
    """Register a function for nodes of these kinds."""

    def register(handler: Handler) -> Handler:
        for kind in kinds:
            HANDLERS[domain, kind] = handler
        return handler

    return register
