"""The base of readers of all libraries: the secret's owner, and facts that files leave out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, prod
from typing import Any, Protocol

from cloakwork._core import Tensor
from cloakwork.errors import CloakworkError, LoadError
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.context import Context
from cloakwork.fhe.estimates import noise as estimates
from cloakwork.fhe.estimates.bounds import Bound, Stated
from cloakwork.fhe.interop.seal_format import Reader
from cloakwork.fhe.parameters import Parameters
from cloakwork.modular.negacyclic import integers


class Owner(Protocol):
    """Keys of any kind: their fingerprint says whose secret it is."""

    @property
    def key(self) -> str:
        """The secret's fingerprint."""


def key_of(library: str, context: Context, owner: Owner | None) -> str:
    """The owner's fingerprint; without one, a name that all of the context's objects share."""
    return f"{library}:{context.parameters.fingerprint[:24]}" if owner is None else owner.key


def ckks_ciphertext(
    reader: Reader, common: dict[str, Any], scale: float, stated: tuple[float | None, Stated | None]
) -> CkksCiphertext:
    """A ciphertext; `stated`: its noise and the bound of its values, if the caller knows them."""
    context, (noise, bound) = common["context"], stated
    assert isinstance(context, CkksContext)
    if not 0 < scale < inf:
        raise reader.wrong("scale", "a positive number", scale)
    if noise is None:
        noise = estimates.reached(context.parameters, common["level"], 1.0)
    given = bound if bound is not None else context.bound
    held = Bound.stated(1.0 if given is None else given)
    return CkksCiphertext(**common, noise=noise, scale=scale, bound=held)


def weights(own: Parameters, exponent: int, factor: int = 1) -> Tensor:
    """[special + k]: a factor's power, times that of P in the limbs of the chain."""
    special = prod(own.special)
    found = [pow(factor, exponent, p) for p in own.special]
    return integers(found + [pow(factor * special, exponent, q) for q in own.moduli])


@contextmanager
def refusing(reader: Reader) -> Iterator[None]:
    """LoadError for whatever a file's contents raise."""
    try:
        yield
    except LoadError:
        raise
    except (CloakworkError, TypeError, ValueError, OverflowError) as error:
        raise LoadError(f"{reader.path}: {error}") from error
