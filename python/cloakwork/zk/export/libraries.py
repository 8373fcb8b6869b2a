"""Groth16 keys, proofs and public signals in the binary forms of gnark and arkworks."""

from __future__ import annotations

from os import PathLike

from cloakwork import files
from cloakwork.errors import LoadError, ParamError
from cloakwork.recognition import recognised
from cloakwork.zk.circom.files import ProvingKey, read_zkey
from cloakwork.zk.circom.statements import Proof, Public, VerifyingKey, is_text
from cloakwork.zk.forms import binary
from cloakwork.zk.groth16.algebra import point_bytes

# A proving key stands for its verifying key.
Statement = ProvingKey | VerifyingKey | Proof | Public
_KINDS: dict[str, binary.Kind] = {"vkey": "key", "proof": "proof", "public": "public"}


def gnark(statement: Statement, *, compressed: bool = True) -> bytes:
    """The bytes of gnark's `WriteTo`, or of its `WriteRawTo` where they are not compressed.

    gnark's verifying key has beta and delta in G1, too, which its verifier does not use: a proving
    key has them; of a verifying key they are written as infinity.  A proof has no commitments.
    """
    return _bytes("gnark", statement, compressed)


def arkworks(statement: Statement, *, compressed: bool = True) -> bytes:
    """The bytes of arkworks's `serialize_compressed`, or of its `serialize_uncompressed`."""
    return _bytes("arkworks", statement, compressed)


def _bytes(library: str, statement: Statement, compressed: bool) -> bytes:
    given: object = statement
    if not isinstance(given, Statement):
        expected = "a key, a proof or public signals: the objects of `cloakwork.zk`"
        raise ParamError("statement", f"a {type(given).__name__}", expected)
    form = binary.Form(library, statement.curve, compressed)
    if isinstance(statement, Proof):
        return binary.proof_bytes(form, (statement.a, statement.b, statement.c))
    if isinstance(statement, Public):
        return binary.public_bytes(form, statement.signals)
    key = statement.verifying_key if isinstance(statement, ProvingKey) else statement
    points = {
        "alpha1": key.alpha1, "beta2": key.beta2, "gamma2": key.gamma2, "delta2": key.delta2,
    }  # fmt: skip
    for name in ("beta1", "delta1"):
        if isinstance(statement, ProvingKey):
            points[name] = point_bytes(statement.points[name])
        else:
            points[name] = bytes(len(key.alpha1))
    return binary.key_bytes(form, points, key.ic)


def read(path: str | PathLike[str], curve: str | None = None) -> Statement:
    """A key, a proof or public signals: the file tells which, and in which form.

    curve   of public signals, whose files do not name it, and of rapidsnark's proofs

    Raises LoadError for another file, and ParamError where a curve is needed and not given.
    """
    name = files.name_of(path)
    data = files.read(name)
    if data.startswith(b"zkey"):
        return read_zkey(name, check=False)
    if is_text(data):
        found = recognised(name)
        kind = _KINDS.get("" if found is None else found.name)
    else:
        kinds = [kind for kind in _KINDS.values() if binary.forms_of(kind, data)]
        kind = kinds[0] if kinds else None
    if kind == "key":
        return VerifyingKey.load(name)
    if kind == "proof":
        return Proof.load(name, curve)
    if kind == "public":
        if curve is None:
            raise ParamError("curve", "None", "that of the signals, which their file does not name")
        return Public.load(name, curve)
    raise LoadError(
        f"{name}: expected a verifying key, a proving key, a proof or public signals of Groth16, "
        "in a form of snarkjs, rapidsnark, gnark or arkworks"
    )
