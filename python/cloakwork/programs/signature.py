"""What a program takes and gives beside tensors: ciphertexts, and evaluation keys for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from cloakwork import _core
from cloakwork.errors import KeyMismatchError, MissingKeyError
from cloakwork.programs.clients import Client, Companions


@runtime_checkable
class Carrier(Protocol):
    """An object around one tensor, such as a ciphertext, that traced functions take and return."""

    @property
    def key(self) -> str:
        """The fingerprint of the secret that it belongs to."""

    @property
    def companions(self) -> Companions | None:
        """What a program takes beside it."""

    def carried(self, example: Self | None = None) -> _core.Tensor:
        """Its tensor; an error unless it is as the example was that a program was traced with."""

    def carrying(self, tensor: _core.Tensor, client: Client | None = None) -> Self:
        """The same object around another tensor; of a client, if one is given."""

    def described(self) -> dict[str, Any]:
        """All but its tensor, as JSON's types."""


if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    # What programs take: tensors, what becomes one, and objects around one.
    Value = _core.Tensor | ArrayLike | Carrier | Companions | PathLike[str]


@dataclass(frozen=True)
class Bundle:
    """Evaluation keys that a program takes.

    owner   the fingerprint of the secret whose ciphertexts they serve, in the examples
    needs   the names of those that the program uses
    own     those that it was recorded with; none where it comes from a file
    """

    owner: str
    needs: tuple[str, ...]
    own: Mapping[str, _core.Tensor] = field(default_factory=dict)

    def tensors(self, name: str, given: Companions | None, client: Client | None) -> dict[str, Any]:
        """The tensors of a client's keys; errors where some are missing or another's."""
        if given is None:
            needs = ", ".join(self.needs)
            raise MissingKeyError(
                f"input {name}: the program needs evaluation keys ({needs}): "
                "give them, or ciphertexts that have them"
            )
        if client is not None and client.key != given.key:
            hint = "give the evaluation keys of the ciphertexts' secret"
            raise KeyMismatchError("run", "key", client.key, given.key, hint)
        found = given.tensors()
        if missing := [need for need in self.needs if need not in found]:
            have = ", ".join(found) or "none"
            raise MissingKeyError(
                f"input {name}: the program needs {missing[0]}, the evaluation keys have {have}; "
                "make it with Keys.add: galois.g is the key of X -> X^g"
            )
        return {f"{name}.{need}": found[need] for need in self.needs}


@dataclass(frozen=True)
class Signature:
    """What is known of a program beside its steps.

    examples   objects around tensors that it was recorded with, by the input's name
    results    what the function returned, without tensors; None: a tensor
    bundles    evaluation keys that it takes, by the input's name
    tied       fingerprints of secrets that it holds something of
    """

    examples: Mapping[str, Any] = field(default_factory=dict)
    results: Sequence[Carrier | None] = ()
    bundles: Mapping[str, Bundle] = field(default_factory=dict)
    tied: Collection[str] = ()
