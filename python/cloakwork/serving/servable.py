"""Programs that a server runs: saved recordings whose inputs and results are ciphertexts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cloakwork import _core, files
from cloakwork.errors import KeyMismatchError, MissingKeyError, ParamError, ServingError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.files import container, sets
from cloakwork.fhe.files.storage import load_any
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.streams import from_bytes
from cloakwork.lazy import public
from cloakwork.programs import notes
from cloakwork.programs.program import Program
from cloakwork.sending import Constant
from cloakwork.serving import refusals, rows

if TYPE_CHECKING:
    from cloakwork.fhe.keys.evaluation import EvaluationKeys

Progress = Callable[[int, int], object]
_PIECE_BYTES = 1 << 24
# Room for the description of a ciphertext in its file.
_HEAD_BYTES = 1 << 13
_WORD_BYTES = 8


@public("cloakwork.serving")
class Servable(Protocol):
    """A model as a server sees it: it computes on the bytes of ciphertexts, and has no secret."""

    @property
    def name(self) -> str:
        """The name in the server's addresses."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits for the program and its constants."""

    @property
    def parameters(self) -> Parameters:
        """The parameters of its ciphertexts and keys."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the evaluation keys that it uses."""

    def describe(self) -> dict[str, Any]:
        """Its inputs, results and keys, as JSON's types."""

    def peak_bytes(self, threads: int | None) -> int:
        """The planned memory of a run, without keys."""

    @property
    def input_bytes(self) -> int:
        """The inputs of a request in memory."""

    @property
    def result_bytes(self) -> int:
        """The longest file of results."""

    def read(self, body: bytes, *, insecure: bool) -> Mapping[str, Ciphertext]:
        """The inputs in a body, checked: errors as of `fhe.load` and `Program.run`."""

    def grouped(self, requests: Sequence[Mapping[str, Ciphertext]]) -> list[list[int]]:
        """The numbers of requests of the same keys that one run can serve, in their order."""

    def run(
        self,
        requests: Sequence[Mapping[str, Ciphertext]],
        keys: EvaluationKeys | None,
        progress: Progress,
        threads: int | None,
    ) -> list[bytes | ServingError]:
        """The file of the results of each request, or its refusal."""

    def forget(self, keys: EvaluationKeys) -> None:
        """Drop everything that was prepared for these keys."""


@public("cloakwork.serving")
class ServedProgram(Constant):
    """A recorded program, from its file, as a model of a server.

    One ciphertext is sent and returned as its own file, several as a `CiphertextSet`.  A program of
    batches, whose rows are computed alike, takes smaller ones, and serves several in one run.
    """

    _stays = "it is bound to its file: send the path, or the program that cw.load gives"

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        """Load a program that `Program.save` wrote; its name is by default the file's.

        Raises LoadError for another file, ParamError for a program that a server cannot run for
        others: with inputs that are no ciphertexts, or with a ciphertext of one secret in it.
        """
        from cloakwork.programs import loading

        program = loading.load(path, checksums=files.is_container(path))
        if not isinstance(program, Program):
            raise ParamError("model", str(path), "a recorded program, of cw.trace or fhe.compile")
        self._program = program
        self.name = Path(path).stem if name is None else name
        self.fingerprint = _digest(str(path))
        self._inputs, self._results, self._keys = _parts(program, str(path))
        held = program._core.notes()
        has_note = notes.MODEL in held
        self._note = (
            notes.read(program._core, notes.MODEL, str(path)).of(dict) if has_note else None
        )
        batches = [*self._inputs.values(), *self._results.values()]
        # A batch of a compiled model is one sample in several ciphertexts, or many in slots.
        self._rows = rows.rows_of(batches) if self._note is None else None
        self._rows_are_alike: bool | None = None

    @property
    def parameters(self) -> Parameters:
        """The parameters of its ciphertexts."""
        return next(iter(self._inputs.values())).context.parameters

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the evaluation keys that it uses."""
        bundles = self._program._signature.bundles
        return bundles[self._keys].needs if self._keys is not None else ()

    def describe(self) -> dict[str, Any]:
        """Its inputs, results and keys, as JSON's types; `model` is a compiled model's note."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "parameters": self.parameters.fingerprint,
            "inputs": {name: one.described() for name, one in self._inputs.items()},
            "outputs": {name: one.described() for name, one in self._results.items()},
            "keys": list(self.needs),
            "model": self._note,
        }

    def peak_bytes(self, threads: int | None) -> int:
        """The planned memory of a run, without keys."""
        return self._program.memory(threads=threads)[1]

    @property
    def input_bytes(self) -> int:
        """The inputs of a request in memory: their words."""
        return sum(held_bytes(one) for one in self._inputs.values())

    @property
    def result_bytes(self) -> int:
        """The longest file of results: their words in memory, and their heads."""
        held = sum(held_bytes(one) for one in self._results.values())
        return held + _HEAD_BYTES * (1 + len(self._results))

    def read(self, body: bytes, *, insecure: bool) -> dict[str, Ciphertext]:
        """The inputs in a body, by name; each must match the example of the recording."""
        check_kind(body, "ciphertext", sets.KIND)
        held = from_bytes(body, insecure=insecure)
        given = {next(iter(self._inputs)): held} if isinstance(held, Ciphertext) else dict(held)
        if given.keys() != self._inputs.keys():
            wanted, got = ", ".join(self._inputs), ", ".join(given)
            if isinstance(held, Ciphertext):
                got = "one ciphertext without a name"
            hint = "send a CiphertextSet with these names"
            raise ServingError(refusals.SENSELESS, "inputs", wanted, got, hint)
        if self._rows is not None:
            rows.check(given, self._rows)
        for name, one in given.items():
            one.carried(self._inputs[name])
        return given

    def grouped(self, requests: Sequence[Mapping[str, Ciphertext]]) -> list[list[int]]:
        """The numbers of requests that one run serves: one each, unless it is one of rows."""
        if self._rows is None or self._rows_are_alike is False:
            return [[number] for number, _ in enumerate(requests)]
        return rows.groups(requests, self._rows)

    def run(
        self,
        requests: Sequence[Mapping[str, Ciphertext]],
        keys: EvaluationKeys | None,
        progress: Progress,
        threads: int | None,
    ) -> list[bytes | ServingError]:
        """The file of the results of each request, or its refusal."""

        def run(inputs: Mapping[str, Ciphertext]) -> Mapping[str, Ciphertext]:
            given: dict[str, Any] = dict(inputs)
            if self._keys is not None and keys is not None:
                given[self._keys] = keys
            done = self._program.run(given, progress=progress, threads=threads, profile=False)
            return done.named

        if self._rows is None:
            return [_file(run(request)) for request in requests]
        if self._rows_are_alike is None:
            self._rows_are_alike = rows.are_alike(run, self._inputs, requests[0], self._rows)
        if self._rows_are_alike:
            results = run(rows.joined(self._inputs, requests, self._rows))
            return [_file(one) for one in rows.parted(results, requests)]
        return [self._whole(run, request, self._rows) for request in requests]

    @staticmethod
    def _whole(
        run: Callable[[Mapping[str, Ciphertext]], Mapping[str, Ciphertext]],
        request: Mapping[str, Ciphertext],
        wanted: int,
    ) -> bytes | ServingError:
        """The results of a request to a program whose rows are not computed alike."""
        got = rows.count(request)
        if got == wanted:
            return _file(run(request))
        hint = "its rows depend on each other, or on their places: send all of them"
        words = f"{wanted} ciphertexts", f"{got}"
        return ServingError(refusals.SENSELESS, "batch", *words, hint)

    def forget(self, keys: EvaluationKeys) -> None:
        """Drop the plan for these keys."""
        self._program.forget(keys)


def _file(results: Mapping[str, Ciphertext]) -> bytes:
    """The file of one ciphertext, or of several by name."""
    if len(results) == 1:
        return next(iter(results.values())).to_bytes()
    return sets.CiphertextSet(results).to_bytes()


def _parts(
    program: Program, path: str
) -> tuple[dict[str, Ciphertext], dict[str, Ciphertext], str | None]:
    """The examples of inputs, those of results, and the name of the evaluation keys."""
    own = program._signature
    inputs = {name: own.examples.get(name) for name in program._parameters}
    results = dict(zip(program.outputs, program.returned, strict=False))
    for name, one in (inputs | results).items():
        if not isinstance(one, Ciphertext):
            allowed = f"ciphertexts alone, for inputs and results: {name} is a tensor"
            raise ParamError("model", path, allowed)
    secrets = {one.key for one in (*inputs.values(), *results.values()) if one is not None}
    if not inputs or not results or len(secrets) > 1 or len(own.bundles) > 1 or own.tied:
        allowed = "a program of one client's ciphertexts, and of no other ciphertext"
        raise ParamError("model", path, allowed)
    return inputs, results, next(iter(own.bundles), None)  # type: ignore[return-value]


def held_bytes(ciphertext: Ciphertext) -> int:
    """The bytes of a ciphertext in memory."""
    return prod(ciphertext.data.shape) * _WORD_BYTES


def _digest(path: str) -> str:
    """BLAKE2b of a file, piece by piece."""
    mapped, found = _core.map_file(path), blake2b(digest_size=16)
    for begin in range(0, mapped.shape[0], _PIECE_BYTES):
        found.update(memoryview(mapped[begin : begin + _PIECE_BYTES]))
    return found.hexdigest()


def check_kind(beginning: bytes, *kinds: str) -> container.Head:
    """The head of a file of one of these kinds; ServingError for a secret key and others."""
    name = Path("the body")
    found = container.head(name, beginning)
    if found.kind == "secret key":
        hint = "keep it: delete other copies, and if this one left your machine, make new keys"
        wanted = " or ".join(kinds)
        raise ServingError(refusals.KIND, "a secret key", wanted, "a secret key, not read", hint)
    if found.kind not in kinds:
        hint = "send the file of encrypt, or of keygen's evaluation keys"
        raise ServingError(refusals.KIND, "the file", " or ".join(kinds), found.kind, hint)
    return found


def check_keys(model: Servable, keys: EvaluationKeys, inputs: Mapping[str, Ciphertext]) -> None:
    """KeyMismatchError and MissingKeyError unless the keys serve the model and the inputs."""
    wanted, got = model.parameters.fingerprint, keys.context.parameters.fingerprint
    if wanted != got:
        hint = f"upload keys that were made for the model {model.name}"
        raise KeyMismatchError("keys", "parameters", wanted, got, hint)
    for one in inputs.values():
        if one.key != keys.key:
            hint = "name the evaluation keys of the secret that encrypted the inputs"
            raise KeyMismatchError("keys", "key", one.key, keys.key, hint)
    if missing := set(model.needs) - keys.tensors().keys():
        raise MissingKeyError(f"the model needs {min(missing)}, the keys do not have it")


def load_keys(path: Path, *, insecure: bool) -> EvaluationKeys:
    """The evaluation keys of a file, and of no file of another kind."""
    found: EvaluationKeys = load_any(path, expect="evaluation keys", insecure=insecure)
    return found
