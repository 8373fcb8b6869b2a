"""The client's half of a compiled model, by its description alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.client import Client
from cloakwork.compiler.description import Description
from cloakwork.errors import ParamError
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.fhe.keys.flooding import Disclosed
from cloakwork.lazy import public
from cloakwork.serving.client import ProgramClient, Values
from cloakwork.strict import Member
from cloakwork.wording import listed

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys


@public("cloakwork.serving")
class ModelClient(ProgramClient):
    """Encodes and decodes as `fhe.compile` decided, and computes the last steps of the model."""

    def __init__(
        self, described: Mapping[str, Any], place: str = "description", *, insecure: bool = False
    ) -> None:
        """Take the description of a compiled model; errors as of `ProgramClient`."""
        super().__init__(described, place, insecure=insecure)
        note, context = Member(f"{place}: model", described["model"]), self.context
        self._model = Description.read(note)
        if not isinstance(context, CkksContext):
            raise note.wrong("no model, as it is one of CKKS", "one beside integers")
        self._ckks = context
        self._model.check_slots(context.slots)
        for words, ports, held in (
            ("inputs", self._model.inputs, self._inputs),
            ("outputs", self._model.encrypted_outputs, self._outputs),
        ):
            if {port.name for port in ports} != held.keys():
                raise note.wrong(f"the {words} {listed(held)}", listed(p.name for p in ports))

    def _client(self) -> Client:
        return Client(self._model, self._ckks)

    @property
    def capacity(self) -> int:
        """The samples that one run takes, at most."""
        return self._model.capacity(self.context.slots)

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its inputs, by name."""
        return dict(self._model.given)

    @property
    def results(self) -> tuple[str, ...]:
        """The names of what `decrypt` returns."""
        return tuple(self._model.tail.results)

    def keygen(self, progress: Callable[[int, int], object] | None = None) -> Keys:
        """A fresh secret, with the evaluation keys that the model needs."""
        return self._client().keygen(progress)

    def encrypt(self, keys: Keys, values: Values) -> CiphertextSet:
        """Encrypt a sample, or a batch of as many as `capacity`; ModelError for other values."""
        return self._client().use(keys).encrypt(values)

    def samples_of(self, values: Values) -> int | None:
        """The number of samples in values, where one run takes many; else None."""
        if self.capacity == 1:
            return None
        name, shape = next(iter(self._model.given.items()))
        first = np.asarray(values[name] if isinstance(values, Mapping) else values)
        return len(first) if first.ndim > len(shape) else 1

    def decrypt(
        self,
        keys: Keys,
        file: bytes,
        samples: int | None = None,
        *,
        place: str = "the results",
        **disclosed: Unpack[Disclosed],
    ) -> dict[str, NDArray[Any]]:
        """The model's results [samples, ...], by name; OutsideWarning beyond their known range.

        disclosed   as of `ProgramClient.decrypt`
        """
        if samples is not None and not 1 <= samples <= self.capacity:
            raise ParamError("samples", samples, f"1 to {self.capacity}")
        held = self.opened(file, place)
        found = self._client().use(keys).decrypt(held, samples, **disclosed)
        return found if isinstance(found, dict) else {self._name(): found}

    def _name(self) -> str:
        """The name of an only result, after the last steps of the client."""
        return self._model.tail.results[0]
