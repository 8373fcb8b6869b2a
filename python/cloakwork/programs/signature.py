"""Inputs and results that are not tensors: ciphertexts, and evaluation keys for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard, runtime_checkable

from cloakwork import _core
from cloakwork.errors import KeyMismatchError, MissingKeyError
from cloakwork.programs.clients import Client, Companions
from cloakwork.wording import listed


@runtime_checkable
class Carrier(Protocol):
    """An object around one tensor, such as a ciphertext: argument or result of a function."""

    @property
    def key(self) -> str:
        """The fingerprint of the secret that it belongs to."""

    @property
    def companions(self) -> Companions | None:
        """The evaluation keys that a program takes in addition."""

    def carried(self, example: Self | None = None) -> _core.Tensor:
        """Its tensor; an error unless it matches the example with which the program was traced."""

    def carrying(self, tensor: _core.Tensor, client: Client | None = None) -> Self:
        """The same object around another tensor; if given, with a client's secret and keys."""

    def described(self) -> dict[str, Any]:
        """Everything except its tensor, as JSON's types."""


def is_carrier(value: object) -> TypeGuard[Carrier]:
    """Whether it is an object around a tensor.

    The check of a protocol takes microseconds: tensors, the most frequent inputs, are spared it.
    """
    return not isinstance(value, _core.Tensor) and isinstance(value, Carrier)


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    # Inputs of programs: tensors, whatever `asarray` accepts, objects around tensors, and paths.
    Value = _core.Tensor | ArrayLike | Carrier | Companions | PathLike[str]


@dataclass(frozen=True)
class Bundle:
    """Evaluation keys that are inputs of a program.

    owner   the fingerprint of the secret whose ciphertexts they serve, in the examples
    needs   the names of the keys that the program uses
    own     the keys that it was recorded with; empty for a program from a file
    """

    owner: str
    needs: tuple[str, ...]
    own: Mapping[str, _core.Tensor] = field(default_factory=dict)

    def tensors(self, name: str, given: Companions | None, client: Client | None) -> dict[str, Any]:
        """The tensors of a client's keys; errors for missing keys and keys of another secret."""
        if given is None:
            raise MissingKeyError(
                f"input {name}: the program needs evaluation keys ({listed(self.needs)}): "
                "give them, or ciphertexts that have them"
            )
        if client is not None and client.key != given.key:
            hint = "give the evaluation keys of the ciphertexts' secret"
            raise KeyMismatchError("run", "key", client.key, given.key, hint)
        # A device gets them as constants of its plan.
        found = given.home.tensors()
        if missing := [need for need in self.needs if need not in found]:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            have = f"{len(found)} others" if found else "none"
            raise MissingKeyError(
                f"input {name}: the program needs {missing[0]}{more}, the evaluation keys have "
                f"{have}; make it with Keys.add: galois.g is the key of X -> X^g"
            )
        return {f"{name}.{need}": found[need] for need in self.needs}


@dataclass(frozen=True)
class Signature:
    """Facts about a program's inputs and results that its steps do not hold.

    examples   the ciphertexts that it was recorded with, by the input's name
    results    the ciphertexts that the function returned, without tensors; None for a tensor
    bundles    evaluation keys that are inputs, by the input's name
    tied       fingerprints of secrets whose values the program holds
    """

    examples: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[Carrier | None] = ()
    bundles: Mapping[str, Bundle] = field(default_factory=dict)
    tied: Collection[str] = ()

    @property
    def is_plain(self) -> bool:
        """Whether all inputs and results are tensors."""
        carriers = any(is_carrier(example) for example in self.examples.values())
        return not (carriers or self.bundles or any(one is not None for one in self.results))
