"""The client of a server of proofs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from time import monotonic
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from cloakwork import files, strict
from cloakwork.errors import LoadError, ParamError, ProofError, ServingError
from cloakwork.lazy import public
from cloakwork.serving import names
from cloakwork.serving.answers import DESCRIPTION_BYTES, Answer
from cloakwork.serving.connection import CONFLICT, Connection, Progress
from cloakwork.zk.circom.statements import Proof, Public, Source
from cloakwork.zk.circom.statements import VerifyingKey as Groth16Key
from cloakwork.zk.circom.verifying import system_of

if TYPE_CHECKING:
    from cloakwork.zk import plonk

    AnyKey = Groth16Key | plonk.VerifyingKey
    AnyProof = Proof | plonk.Proof

_BINARY, _JSON = "application/octet-stream", "application/json"
# The first bytes of a .wtns file.
_WITNESS = b"wtns"


@public("cloakwork.serving")
class RemoteProver(Connection):
    """A server of proofs, by its address.

    Requests carry ids: one that is repeated after a lost connection, or after the server was
    started again, returns the proof of the first.
    """

    def provers(self) -> list[dict[str, Any]]:
        """The descriptions of the server's provers."""
        answer = self._asked("GET", "/v1/provers")
        found: list[dict[str, Any]] = answer.told(list)
        if not all(_is_described(one) for one in found):
            raise answer.strange()
        return found

    def verifying_key(self, prover: str | None = None) -> AnyKey:
        """The verifying key, by the server's word; take your own where proofs must convince you."""
        name = self._name(prover)
        answer = self._asked("GET", f"/v1/provers/{name}/verifying-key")
        try:
            return _key(answer.content)
        except LoadError:
            raise answer.strange() from None

    def prove(
        self,
        witness: str | PathLike[str] | bytes | Mapping[str, Any],
        *,
        vkey: Source | AnyKey,
        prover: str | None = None,
        priority: int = 0,
        progress: Progress | None = None,
    ) -> tuple[AnyProof, Public]:
        """A proof, and its public signals.

        witness    a .wtns file or its bytes, or, of a prover with the circuit's program, a JSON
                   file of inputs, its bytes, or a mapping.  The server sees it
        vkey       the verifying key under which the answer must hold, or its file
        prover     by default the server's only one
        priority   from -1000 to 1000: waiting jobs with a higher one begin first
        progress   called now and then with the number of finished steps and of all steps

        Raises ServingError for a refusal, and where no answer came within the timeout; ProofError
        for an answer that does not hold.
        """
        contents, kind = _body(witness)
        key = _key(vkey)
        name, job = self._name(prover), uuid4().hex
        until = monotonic() + self._timeout
        options = {"priority": str(priority)} | ({} if progress is None else {"wait": "0"})
        address, most = f"/v1/provers/{name}/jobs/{job}", DESCRIPTION_BYTES

        run = f"/v1/jobs/{job}"

        def begin() -> Answer:
            headers = {"Content-Type": kind}
            try:
                return self._repeated(
                    "PUT", address, until, most, content=contents, params=options, headers=headers
                )
            except ServingError as error:
                # A server that proved it, and was started again, has its result and no inputs.
                if error.status != CONFLICT:
                    raise
                return self._repeated("GET", f"{run}/result", until, most)

        found = self._finished(begin, begin(), run, until, most, progress)
        return _read(found, key, f"the proof of {name}")

    def _name(self, prover: str | None) -> str:
        """The prover's name, or that of the server's only one."""
        if prover is not None:
            return names.check(prover, "prover")
        found = [str(one["name"]) for one in self.provers()]
        if len(found) != 1:
            raise ParamError("prover", "none", f"the name of one of them: {', '.join(found)}")
        return found[0]


def _is_described(one: object) -> bool:
    """Whether a description has a name that can stand in addresses."""
    name = one.get("name") if isinstance(one, dict) else None
    if not isinstance(name, str):
        return False
    try:
        names.check(name, "prover")
    except ParamError:
        return False
    return True


def _body(witness: object) -> tuple[bytes, str]:
    """The bytes of a request, and their type."""
    if isinstance(witness, Mapping):
        return json.dumps(dict(witness)).encode(), _JSON
    if isinstance(witness, bytes | bytearray | memoryview):
        held = bytes(witness)
    elif isinstance(witness, str | PathLike):
        held = files.read(fspath(witness))
    else:
        allowed = "a file, its bytes, or a mapping of inputs"
        raise ParamError("witness", type(witness).__name__, allowed)
    return held, _BINARY if held.startswith(_WITNESS) else _JSON


def _key(vkey: Source | AnyKey) -> AnyKey:
    """A verifying key of any system: the object itself, or its file."""
    from cloakwork.zk import plonk

    if isinstance(vkey, Groth16Key | plonk.VerifyingKey):
        return vkey
    if system_of(vkey) == "plonk":
        return plonk.VerifyingKey.load(vkey)
    return Groth16Key.load(vkey)


def _read(answer: bytes, vkey: AnyKey, place: str) -> tuple[AnyProof, Public]:
    """The proof and the public signals of an answer, which must hold."""
    from cloakwork.zk import groth16, plonk

    try:
        told = strict.parsed(answer, place)
        right = isinstance(told, dict) and told.keys() == {"proof", "public"}
        # Text would be taken for the path of a file.
        if not right or not isinstance(told["proof"], dict) or not _is_texts(told["public"]):
            raise LoadError(f"{place}: expected a proof and public signals, got other JSON")
        public = Public.load(told["public"], vkey.curve)
        if isinstance(vkey, Groth16Key):
            proof: AnyProof = Proof.load(told["proof"], vkey.curve)
            holds = groth16.verify(vkey, public, cast("Proof", proof))
        else:
            proof = plonk.Proof.load(told["proof"])
            holds = plonk.verify(vkey, public, proof)
    except (LoadError, ProofError, ParamError) as error:
        raise ServingError(0, place, "a proof", str(error), "check the address") from None
    if not holds:
        raise ProofError(f"{place}: expected one that holds under vkey, got one that does not")
    return proof, public


def _is_texts(given: object) -> bool:
    """Whether public signals are a list of text, as snarkjs writes them."""
    return isinstance(given, list) and all(isinstance(one, str) for one in given)
