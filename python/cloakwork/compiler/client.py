"""The client's half of a compiled model: its keys, encryption and decryption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.checking import check_results
from cloakwork.compiler.description import Description, check_names
from cloakwork.compiler.disclosing import requests
from cloakwork.errors import (
    KeyMismatchError,
    ModelError,
    ParamError,
)
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.files.container import head_of
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.fhe.files.storage import load_known
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.flooding import Flooding, Request
from cloakwork.fhe.keys.keys import Keys
from cloakwork.sending import Secret
from cloakwork.wording import quoted

if TYPE_CHECKING:
    from cloakwork.programs.program import Program


class Client(Secret):
    """Encrypts the inputs of a compiled model, and decrypts its results.

    Keys are made by `keygen`, or at the first `encrypt`; `save` and `load` keep them.
    """

    _stays = (
        "it holds a secret, or makes one when it encrypts: send the model, whose `split` gives "
        "another client, and `evaluation`"
    )

    def __init__(
        self, description: Description, context: CkksContext, program: Program | None = None
    ) -> None:
        """Of a description; `program` is that of the model, if the client has it.

        Raises ModelError for a description of other parameters.
        """
        description.check_slots(context.slots)
        self.description, self.context, self._program = description, context, program
        self._keys: Keys | None = None

    def __repr__(self) -> str:
        own = self.description
        names = f"inputs={quoted(own.given)}, results={quoted(own.tail.results)}"
        return f"Client({own.name!r}, {names}{'' if self._keys is None else ', with a secret'})"

    @property
    def keys(self) -> Keys:
        """The client's keys, made when they are first needed."""
        return self._keys or self.keygen()

    @property
    def evaluation(self) -> EvaluationKeys:
        """The keys for the server."""
        return self.keys.evaluation

    def keygen(self, progress: Callable[[int, int], object] | None = None) -> Keys:
        """Fresh keys for this model: a secret, and the evaluation keys that it needs.

        progress   as of `Keys.add`
        """
        own, levels = self.description, self.description.levels
        keys = self.context.keygen(conjugation=False, relinearization=False)
        if levels is None:
            products = own.relinearization
            keys.add(own.rotations, relinearization=products, progress=progress)
            self._keys = keys
            return keys
        keys.add(levels.rotations, progress=progress)
        if levels.conjugation is not None:
            keys.add(conjugation=True, level=levels.conjugation)
        if levels.products is not None:
            keys.add(relinearization=True, level=levels.products)
        if levels.raising is not None:
            keys.add_encapsulation(levels.raising)
        self._keys = keys
        return keys

    def use(self, keys: Keys) -> Self:
        """Use these keys; KeyMismatchError for keys of other parameters."""
        mine, theirs = self.context.parameters.fingerprint, keys.context.parameters.fingerprint
        if mine != theirs:
            hint = "take keys that were made for this model"
            raise KeyMismatchError("use", "parameters", mine, theirs, hint)
        self._keys = keys
        return self

    def save(self, folder: str | Path) -> None:
        """Write secret.key, for the owner alone, and eval.key, for the server, to a folder.

        Raises ParamError for a folder with another secret, which would be lost.
        """
        target = Path(folder)
        held = target / "secret.key"
        if held.exists() and head_of(held).fields.get("key") != self.keys.key:
            raise ParamError("folder", str(folder), "one without another secret: none is replaced")
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.keys.evaluation.save(target / "eval.key")
        self.keys.save(target / "secret.key")

    def load(self, folder: str | Path) -> Self:
        """Use the keys that `save` wrote; LoadError for other files."""
        own = self.context.parameters
        keys = load_known(Path(folder) / "secret.key", own, expect="secret key")
        keys.adopt(load_known(Path(folder) / "eval.key", own, expect="evaluation keys"))
        return self.use(keys)

    def encrypt(
        self, x: Mapping[str, ArrayLike] | ArrayLike, *, clip: bool = False
    ) -> CiphertextSet:
        """The encrypted inputs.

        x      of one input itself, or by name: a sample [*shape], or a batch [b, *shape] of as many
               as `description.capacity`
        clip   bring values beyond an input's bounds to these, instead of refusing them

        Raises ModelError for values of another shape, NaN, or beyond the inputs' bounds.
        """
        samples = self.description.samples(x, self.context.slots, clip=clip)
        made: dict[str, Ciphertext] = {}
        for port in self.description.inputs:
            slots, batch = port.slots_of(samples[port.name], self.context.slots)
            made[port.name] = self.keys.encrypt(slots, bound=port.bound, batch=batch)
        return CiphertextSet(made)

    def decrypt(
        self,
        encrypted: Mapping[str, Ciphertext],
        batch: int | None = None,
        *,
        queries: int | None = None,
        security: int | None = None,
        noise_bits: float | None = None,
    ) -> NDArray[Any] | dict[str, NDArray[Any]]:
        """The results [batch, *shape], after what the client computes; of several, by name.

        batch        the samples of a throughput model that are wanted, by default as many as slots
        queries      for results that others may see, with noise flooding as of `Keys.decrypt`: how
                     many ciphertexts of results under this secret are disclosed in all
        security     bits of statistical security, by default 40; see `fhe.Flooding`
        noise_bits   log2 of a bound on the error of every slot, before the division by the scale.
                     A model that was compiled in this process has its own; one from a file or a
                     server needs it: what these state is not believed

        Raises OutsideError where an input brought values out of the range in which the program is
        the model, ModelError for other results, NoiseError for values that outgrew the modulus,
        KeyMismatchError for results of another secret.  Of models without such a check, warns with
        OutsideWarning of outputs beyond the range for which the model was compiled.  With
        `queries`, also ParamError for an unknown error, and NoiseError for values beyond their
        bound, and noise that would exceed them.
        """
        outputs = self.outputs(encrypted, batch)
        options = {"queries": queries, "security": security, "noise_bits": noise_bits}
        wanted = requests(self.description, self._program, encrypted, batch, options)
        if wanted is not None:
            outputs = self._disclosed(encrypted, batch, wanted)
        found = self.description.tail.run(outputs)
        return next(iter(found.values())) if len(found) == 1 else found

    def flooding(
        self,
        encrypted: Mapping[str, Ciphertext],
        batch: int | None = None,
        *,
        queries: int,
        security: int | None = None,
        noise_bits: float | None = None,
    ) -> dict[str, Flooding]:
        """The noise that `decrypt` adds with the same options, and what remains, by output.

        `precision` is about results: of outputs whose elements have sizes of their own, about the
        largest one.
        """
        options = {"queries": queries, "security": security, "noise_bits": noise_bits}
        wanted = requests(self.description, self._program, encrypted, batch, options)
        if wanted is None:
            raise ParamError("queries", None, "the number of disclosed decryptions")
        found = {name: one.flooding(encrypted[name]) for name, one in wanted.items()}
        sizes = {p.name: log2(p.units.max()) for p in self.description.encrypted_outputs}
        return {
            name: replace(one, precision=one.precision - sizes[name]) for name, one in found.items()
        }

    def _disclosed(
        self, encrypted: Mapping[str, Ciphertext], batch: int | None, wanted: Mapping[str, Request]
    ) -> dict[str, NDArray[np.float64]]:
        """The outputs with flooding noise."""
        count = self.description.capacity(self.context.slots) if batch is None else batch
        found = {}
        for port in self.description.outputs:
            slots = self.keys._disclosed(encrypted[port.name], wanted[port.name]).real
            found[port.name] = port.results_of(slots, count)
        return found

    def outputs(
        self, encrypted: Mapping[str, Ciphertext], batch: int | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """The decrypted outputs [batch, *shape] by name, before what the client computes.

        Checks and raises as `decrypt` does.
        """
        count, slots = self._samples(batch), self._slots(encrypted)
        check_results(self.description, slots, count)
        return {p.name: p.results_of(slots[p.name], count) for p in self.description.outputs}

    def unchecked(self, encrypted: Mapping[str, Ciphertext], batch: int) -> dict[str, Any]:
        """The decrypted outputs and norms [batch, *shape] by name, in the units of the program.

        Nothing is checked.
        """
        slots, ports = self._slots(encrypted), self.description.encrypted_outputs
        return {port.name: port.values_of(slots[port.name], batch) for port in ports}

    def _samples(self, batch: int | None) -> int:
        most = self.description.capacity(self.context.slots)
        count = most if batch is None else batch
        if not 1 <= count <= most:
            raise ModelError(f"batch: expected 1 to {most} samples, got {batch}")
        return count

    def _slots(self, encrypted: Mapping[str, Ciphertext]) -> dict[str, NDArray[np.float64]]:
        """The decrypted slots [n] or [ciphertexts, n] of all results, by name."""
        ports = self.description.encrypted_outputs
        check_names("results", encrypted, {port.name for port in ports})
        found = {}
        for port in ports:
            slots = self.keys.decrypt(encrypted[port.name], check=False).real
            count = port.size if port.layout is None else port.layout.count
            if slots.reshape(-1, slots.shape[-1]).shape != (count, self.context.slots):
                raise ModelError(
                    f"result {port.name!r}: expected {count} ciphertexts of {self.context.slots} "
                    f"slots, got {list(slots.shape)}: give results of this model"
                )
            found[port.name] = slots
        return found
