"""`inspect` for files of circom and snarkjs: circuits and proving keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cloakwork import files
from cloakwork.cli import show
from cloakwork.cli.words import REFUSED, print_json
from cloakwork.errors import ParamError, ProofError
from cloakwork.wording import shown

_MAGIC_BYTES = 4
_KINDS = {b"r1cs": "circuit", b"zkey": "proving key"}
Facts = dict[str, str | int]


def kind(file: Path) -> str | None:
    """The kind of an inspectable file, by its first bytes."""
    if not file.is_file():
        return None
    return _KINDS.get(files.start(file, _MAGIC_BYTES))


def inspect(file: Path, options: Mapping[str, object], as_json: bool) -> int:
    """Print the parts of a circuit or a proving key, and whether a key passes its check."""
    what = kind(file)
    for name, value in options.items():
        if value:
            raise ParamError(name, value, f"nothing: {file.name} is a {what}, and no program")
    facts = _circuit(file) if what == "circuit" else _key(file)
    if as_json:
        print_json(facts)
    else:
        show.facts(facts, show.console())
    return 0 if facts.get("check", "passed") == "passed" else REFUSED


def _circuit(file: Path) -> Facts:
    from cloakwork.zk.circom.files import read_r1cs

    circuit = read_r1cs(file)
    return {
        "kind": "circuit",
        "curve": circuit.curve,
        "constraints": circuit.constraints,
        "wires": circuit.wires,
        "outputs": circuit.outputs,
        "public_inputs": circuit.public_inputs,
        "private_inputs": circuit.private_inputs,
        "entries_a": circuit.a.entries,
        "entries_b": circuit.b.entries,
        "entries_c": circuit.c.entries,
        "domain": circuit.domain,
    }


def _key(file: Path) -> Facts:
    from cloakwork.zk.circom.files import ProvingKey
    from cloakwork.zk.circom.systems import read_zkey

    key = read_zkey(file, check=False)
    check = "passed"
    try:
        key.check(groups=True)
    except ProofError as error:
        check = shown(str(error))
    facts: Facts
    if isinstance(key, ProvingKey):
        counts = {"entries_a": key.left.entries, "entries_b": key.right.entries}
        facts = {"protocol": "groth16", "curve": key.curve, "wires": key.wires}
    else:
        counts = {"additions": key.additions, "gates": key.gates}
        facts = {"protocol": "plonk", "curve": key.curve, "wires": key.circuit_wires}
    facts |= {"public": key.public, **counts, "domain": key.domain, "check": check}
    return {"kind": "proving key", **facts}
