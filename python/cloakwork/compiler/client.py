"""The client's half of a compiled model: its keys, encryption and decryption."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.description import Description, check_names
from cloakwork.errors import KeyMismatchError, ModelError, NoiseError, ParamError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksContext
from cloakwork.fhe.files.container import head_of
from cloakwork.fhe.files.sets import CiphertextSet
from cloakwork.fhe.files.storage import load_any
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.keys import Keys

# Results beyond their range by this many times its length are not results any more.
_WRAPPED = 16.0


class OutsideWarning(UserWarning):
    """A decrypted result is outside of the range for which the model was compiled."""


class Client:
    """Encrypts the inputs of a compiled model, and decrypts its results.

    Keys are made by `keygen`, or at the first `encrypt`; `save` and `load` keep them.
    """

    def __init__(self, description: Description, context: CkksContext) -> None:
        self.description, self.context = description, context
        self._keys: Keys | None = None

    @property
    def keys(self) -> Keys:
        """The client's keys, made when they are first needed."""
        return self._keys or self.keygen()

    @property
    def evaluation(self) -> EvaluationKeys:
        """The keys for the server."""
        return self.keys.evaluation

    def keygen(self) -> Keys:
        """Fresh keys for this model: a secret, and the evaluation keys that it needs."""
        own, levels = self.description, self.description.levels
        if levels is None:
            self._keys = self.context.keygen(
                rotations=own.rotations, conjugation=False, relinearization=own.relinearization
            )
            return self._keys
        keys = self.context.keygen(levels.rotations, conjugation=False, relinearization=False)
        keys.add(conjugation=True, level=levels.conjugation)
        keys.add(relinearization=True, level=levels.products)
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
        insecure = not self.context.parameters.is_secure
        keys = load_any(Path(folder) / "secret.key", expect="secret key", insecure=insecure)
        keys.adopt(load_any(Path(folder) / "eval.key", expect="evaluation keys", insecure=insecure))
        return self.use(keys)

    def encrypt(self, x: Mapping[str, ArrayLike] | ArrayLike) -> CiphertextSet:
        """The encrypted inputs.

        x   of one input itself, or by name: a sample [*shape], or a batch [b, *shape] of as many
            as `description.capacity`

        Raises ModelError for values of another shape, NaN, or beyond the inputs' bounds.
        """
        samples = self.description.samples(x, self.context.slots)
        made: dict[str, Ciphertext] = {}
        for port in self.description.inputs:
            slots, batch = port.slots_of(samples[port.name], self.context.slots)
            bound = min(port.low, 0.0), max(port.high, 0.0)
            made[port.name] = self.keys.encrypt(slots, bound=bound, batch=batch)
        return CiphertextSet(made)

    def decrypt(
        self, encrypted: Mapping[str, Ciphertext], batch: int | None = None
    ) -> NDArray[Any] | dict[str, NDArray[Any]]:
        """The results [batch, *shape], after what the client computes; of several, by name.

        batch   the samples of a throughput model that are wanted, by default as many as slots

        Warns with OutsideWarning of outputs beyond the range for which the model was compiled.
        Raises ModelError for other results, NoiseError for values that outgrew the modulus,
        KeyMismatchError for results of another secret.
        """
        outputs = self.outputs(encrypted, batch)
        for port in self.description.outputs:
            _check_range(port.name, outputs[port.name], (port.low, port.high))
        found = self.description.tail.run(outputs)
        return next(iter(found.values())) if len(found) == 1 else found

    def outputs(
        self, encrypted: Mapping[str, Ciphertext], batch: int | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """The decrypted outputs [batch, *shape] by name, before what the client computes."""
        names = {port.name for port in self.description.outputs}
        check_names("results", encrypted, names)
        count = self.description.capacity(self.context.slots) if batch is None else batch
        if not 1 <= count <= self.description.capacity(self.context.slots):
            most = self.description.capacity(self.context.slots)
            raise ModelError(f"batch: expected 1 to {most} samples, got {batch}")
        found = {}
        for port in self.description.outputs:
            slots = self.keys.decrypt(encrypted[port.name], check=False).real
            found[port.name] = port.values_of(slots, count)
        return found


def _check_range(name: str, values: NDArray[np.float64], known: tuple[float, float]) -> None:
    low, high = known
    least, most = float(values.min()), float(values.max())
    room = _WRAPPED * max(high - low, abs(high), abs(low))
    # Neither message has decrypted values in it, which are secret.
    known_range = f"the range {low:.4g} to {high:.4g} for which the model was compiled"
    if not (low - room <= least and most <= high + room):
        what = f"a result is far beyond {known_range}"
        hint = f"{name}: give inputs like the sample, and results of this model alone"
        raise NoiseError("decrypt", None, hint, what)
    if least < low or most > high:
        warn(
            f"result {name!r}: values are outside of {known_range}; its approximations may be "
            "wrong there: compile with a wider sample, bounds or margin",
            OutsideWarning,
            stacklevel=4,
        )
