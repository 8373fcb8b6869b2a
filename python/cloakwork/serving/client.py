"""The client's half of a recorded program: its keys, inputs to encrypt, results to decrypt.

It knows the program by its description alone, which `keygen` writes beside the secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from cloakwork import strict
from cloakwork.errors import EncodeError, LoadError, ParamError
from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.encoding.packing import PackedSlots
from cloakwork.fhe.files import container
from cloakwork.fhe.files.sets import KIND, CiphertextSet
from cloakwork.fhe.files.storage import from_description
from cloakwork.fhe.keys.evaluation import CONJUGATION
from cloakwork.fhe.keys.flooding import Disclosed, check_queries
from cloakwork.fhe.security import admit
from cloakwork.fhe.streams import of_known
from cloakwork.lazy import public
from cloakwork.sending import Secret
from cloakwork.strict import Member
from cloakwork.wording import listed, quoted

if TYPE_CHECKING:
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.keys.keys import Keys

_MEMBERS = "name", "fingerprint", "parameters", "inputs", "outputs", "keys", "model"
_GALOIS = re.compile("galois\\.([1-9][0-9]{0,9})")
_WORD_BYTES = 8
_DIGEST_BYTES = 16
# What a file states beside residues: names and estimates, which may be longer than described.
_MOST_HEAD = 1 << 16

Values = NDArray[Any] | Mapping[str, NDArray[Any]]


@public("cloakwork.serving")
class ProgramClient(Secret):
    """Encrypts as the examples with which a program was recorded, and decrypts its results.

    An input has the shape of its example's values; with the bound of the example, values beyond it
    are refused.
    """

    _stays = (
        "it holds a secret, or makes one when it encrypts: send the description, and `evaluation`"
    )

    def __init__(
        self, described: Mapping[str, Any], place: str = "description", *, insecure: bool = False
    ) -> None:
        """Take the description of a model: `ServedProgram.describe`, or a server's answer.

        insecure   accept, with an InsecureWarning, parameters with less than 128 bits of security

        Raises LoadError where it is not one, and, without `insecure`, for what it accepts; `place`
        names it.
        """
        note = Member(f"{place}: description", dict(described))
        name, fingerprint, parameters, inputs, outputs, keys, _ = note.members(*_MEMBERS)
        self._described = dict(described)
        self.name, self.fingerprint = name.of(str), fingerprint.octets(_DIGEST_BYTES).hex()
        if not self.name.isprintable() or not self.name:
            raise name.wrong("a name of printable characters")
        self._inputs, self._outputs = _examples(inputs), _examples(outputs)
        own = self.context.parameters
        every = [
            one.context.parameters for one in (*self._inputs.values(), *self._outputs.values())
        ]
        for each in set(every):
            admit(each, place, insecure=insecure)
        if any(each != own for each in every):
            raise note.wrong("inputs and outputs of the same parameters", "several")
        if parameters.of(str) != own.fingerprint:
            raise parameters.wrong(f"{own.fingerprint}, that of its inputs")
        self._needs = keys.texts()
        for need, one in zip(self._needs, keys.parts(), strict=True):
            self._step(need, one)

    def __repr__(self) -> str:
        names = f"inputs={quoted(self.inputs)}, results={quoted(self.results)}"
        return f"{type(self).__name__}({self.name!r}, {names})"

    def to_json(self) -> str:
        """The description as text, with a checksum, which `client_of` compares."""
        return json.dumps(
            self._described | {"checksum": _checksum(self._described)}, sort_keys=True
        )

    @property
    def context(self) -> Context:
        """The context of its ciphertexts."""
        return next(iter(self._inputs.values())).context

    @property
    def examples(self) -> Mapping[str, Ciphertext]:
        """The ciphertexts with which the program was recorded, around zeros, by input."""
        return self._inputs

    @property
    def results(self) -> tuple[str, ...]:
        """The names of what `decrypt` returns."""
        return tuple(self._outputs)

    @property
    def result_bytes(self) -> int:
        """The longest file of results: no answer of a server needs to be longer."""
        return _most_bytes(self._described["outputs"], self._outputs)

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its inputs, by name."""
        return {name: one.shape for name, one in self._inputs.items()}

    def keygen(self, progress: Callable[[int, int], object] | None = None) -> Keys:
        """A fresh secret, with just the evaluation keys that the program uses.

        progress   as of `Keys.add`
        """
        context = self.context
        keys = context.keygen(conjugation=False, relinearization=False)
        steps = [self._step(need, Member("keys", need)) for need in self._needs]
        rotations = [step for step in steps if isinstance(step, int)]
        products, conjugation = "relinearization" in steps, "conjugation" in steps
        keys.add(rotations, conjugation=conjugation, relinearization=products, progress=progress)
        return keys

    def _step(self, need: str, note: Member) -> int | str:
        """The steps of the rotation for which a key is, or another purpose; else LoadError."""
        if need == "relinearization":
            return need
        if (found := _GALOIS.fullmatch(need)) is not None:
            element = int(found[1])
            if element == self.context.element(CONJUGATION):
                return "conjugation"
            if element % 2 and element < 2 * self.context.parameters.degree:
                step = self.context.rotation_steps(element)
                if step is not None:
                    return step
        raise note.wrong("relinearization, or galois.G of a rotation or a conjugation")

    def encrypt(self, keys: Keys, values: Values) -> Ciphertext | CiphertextSet:
        """Encrypt the values of one input, or of all inputs by name.

        Raises ParamError for missing and unknown names, EncodeError for values of another shape,
        beyond their bound, or not finite; KeyMismatchError for keys of other parameters.
        """
        given = values if isinstance(values, Mapping) else dict.fromkeys(self._inputs, values)
        if given.keys() != self._inputs.keys() or not (
            isinstance(values, Mapping) or len(given) == 1
        ):
            got = listed(given) if isinstance(values, Mapping) else "one array"
            raise ParamError("inputs", got, f"an array for each of {listed(self._inputs)}")
        made = {
            name: _encrypted(keys, one, name, given[name]) for name, one in self.examples.items()
        }
        return next(iter(made.values())) if len(made) == 1 else CiphertextSet(made)

    def samples_of(self, values: Values) -> int | None:
        """The number of samples in values, where one run takes many; else None."""
        return None

    def decrypt(
        self,
        keys: Keys,
        file: bytes,
        samples: int | None = None,
        *,
        place: str = "the results",
        **disclosed: Unpack[Disclosed],
    ) -> dict[str, NDArray[Any]]:
        """The values of the results in a file that a run wrote, by name.

        Shape      of the values that each ciphertext holds; float64, int64 under BGV, and
                   complex128 where values may be complex
        samples    of a model that takes many: how many were encrypted
        place      where the file is from, for errors
        disclosed  queries, security and noise_bits: for results that others may see, as of
                   `Keys.decrypt`.  The noise that a description or a file states is not believed:
                   CKKS results need `noise_bits`

        Raises LoadError for another file, ParamError and others for results that are not those of
        the program, NoiseError for values that may be wrong.
        """
        if samples is not None:
            allowed = "none: this model takes one input at a time, or a batch of ciphertexts"
            raise ParamError("samples", samples, allowed)
        found = self.opened(file, place)
        check_queries(found.values(), disclosed)
        return {name: _decrypted(keys, one, disclosed) for name, one in found.items()}

    def opened(self, file: bytes, place: str = "the results") -> dict[str, Ciphertext]:
        """The ciphertexts in a file of results, by name; errors as of `decrypt`."""
        container.expect(file, place, "ciphertext", KIND)
        held = of_known(file, self.context.parameters, place)
        if isinstance(held, Ciphertext):
            held = {next(iter(self._outputs)): held}
        if not isinstance(held, Mapping) or held.keys() != self._outputs.keys():
            got = listed(held) if isinstance(held, Mapping) else type(held).__name__
            wanted = f"the results of {self.name}, {listed(self._outputs)}"
            raise LoadError(f"{place}: expected {wanted}, got {got}")
        for name, example in self._outputs.items():
            _check_form(f"{place}: {name}", held[name], example)
        return dict(held)


def client_of(
    described: Mapping[str, Any] | bytes | str, place: str, *, insecure: bool = False
) -> ProgramClient:
    """The client's half of a recorded program, or of a compiled model, by its description.

    described   `ServedProgram.describe`, or `to_json`; LoadError names the `place` of another
    insecure    accept, with an InsecureWarning, parameters with less than 128 bits of security
    """
    if isinstance(described, bytes | str):
        described = _whole(strict.parsed(described, place), place)
    if not isinstance(described, Mapping):
        raise LoadError(f"{place}: expected an object, got a {type(described).__name__}")
    if described.get("model") is None:
        return ProgramClient(described, place, insecure=insecure)
    from cloakwork.serving.model_client import ModelClient

    return ModelClient(described, place, insecure=insecure)


def longest_result(described: Mapping[str, Any], place: str) -> int:
    """The longest file of results of a described model, whatever its security."""
    outputs = Member(f"{place}: description", dict(described)).members(*_MEMBERS)[4]
    return _most_bytes(outputs.value, _examples(outputs))


def _most_bytes(described: Any, outputs: Mapping[str, Ciphertext]) -> int:
    told = len(json.dumps(described))
    size = sum(prod(one.data.shape) * _WORD_BYTES for one in outputs.values())
    return size + len(outputs) * _MOST_HEAD + 2 * told


def _whole(described: Any, place: str) -> Any:
    """A description without its checksum; LoadError where this differs.

    A changed digit of a scale would be a wrong result without any error.
    """
    if not isinstance(described, dict):
        return described
    left = {name: value for name, value in described.items() if name != "checksum"}
    if described.get("checksum") != _checksum(left):
        hint = "fetch it again from where keygen wrote it"
        raise LoadError(f"{place}: the checksum differs: the file was altered: {hint}")
    return left


def _checksum(described: Mapping[str, Any]) -> str:
    told = json.dumps(described, sort_keys=True).encode()
    return blake2b(told, digest_size=16).hexdigest()


def _examples(note: Member) -> dict[str, Ciphertext]:
    if not note.named():
        raise note.wrong("descriptions of ciphertexts by name")
    return {name: from_description(one.place, one.value) for name, one in note.named().items()}


def _encrypted(keys: Keys, example: Ciphertext, name: str, values: Any) -> Ciphertext:
    given = np.asarray(values)
    batch = example.batch is not None
    fewer = batch and given.ndim == len(example.shape) and 1 <= len(given) <= example.shape[0]
    if given.shape[batch:] != example.shape[batch:] or (batch and not fewer):
        takes = f"{example.shape}, or fewer rows" if batch else f"{example.shape}"
        raise EncodeError(f"{name}: values of shape {given.shape}; the model takes {takes}")
    slots = PackedSlots.of(example.packing.placed(given, name), example.packing)
    keys.context.check(example, "encrypt")
    if isinstance(example, CkksCiphertext):
        bound = example.bound
        real = not np.any(bound.imaginary)
        edges = (float(np.min(bound.low)), float(np.max(bound.high)))
        stated = edges if real else float(np.max(bound.magnitude))
        made = keys.encrypt(
            slots, level=example.level, scale=example.scale, bound=stated, batch=batch
        )
    else:
        made = keys.encrypt(slots, level=example.level, batch=batch)
    made.carried(example)
    return made


def _check_form(name: str, result: Ciphertext, example: Ciphertext) -> None:
    """LoadError and KeyMismatchError for a ciphertext that the program does not return."""
    example.context.check(result, "decrypt")
    if (example.batch is None) != (result.batch is None):
        raise LoadError(f"{name}: batch: expected {example.batch}, got {result.batch}")
    for what in ("level", "packing", "parts", "scale", "factor"):
        wanted, got = getattr(example, what, None), getattr(result, what, None)
        if wanted != got:
            raise LoadError(f"{name}: {what}: expected {wanted}, got {got}")


def _decrypted(keys: Keys, result: Ciphertext, disclosed: Disclosed) -> NDArray[Any]:
    values = result.packing.held(keys.decrypt(result, **disclosed))
    if isinstance(result, IntegerCiphertext):
        return values
    real = not np.any(cast("CkksCiphertext", result).bound.imaginary)
    return np.ascontiguousarray(values.real) if real else values
