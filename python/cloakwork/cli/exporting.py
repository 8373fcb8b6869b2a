"""`cloakwork export`: Groth16 keys and proofs for Ethereum, and in the forms of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloakwork import files
from cloakwork.cli.grouping import Command, DemoGroup
from cloakwork.cli.options import Json, Quiet
from cloakwork.cli.proving import say_if_forgeable
from cloakwork.cli.words import Invocation, in_words, print_json, say, wrote

if TYPE_CHECKING:
    from cloakwork.zk.export.libraries import Statement

_KeyFile = Annotated[
    Path,
    typer.Argument(
        help="The verifying key, vkey.json, or the proving key, circuit.zkey.", show_default=False
    ),
]
_PublicFile = Annotated[
    Path, typer.Argument(help="The public signals: public.json.", show_default=False)
]
_ProofFile = Annotated[Path, typer.Argument(help="The proof: proof.json.", show_default=False)]
_Out = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="Where the text goes; by default to standard output."),
]
_StatementFile = Annotated[
    Path,
    typer.Argument(
        help="A verifying key, a proving key, a proof or public signals, in any known form.",
        show_default=False,
    ),
]
_OutFile = Annotated[Path, typer.Option("-o", "--out", help="Where the bytes go.")]
_Compressed = Annotated[
    bool, typer.Option("--compressed/--uncompressed", help="Points by x and a bit, or by x and y.")
]
_Curve = Annotated[
    str | None,
    typer.Option(help="Of public signals, which do not name theirs: bn254 or bls12_381."),
]

exports = typer.Typer(
    cls=DemoGroup,
    help="Write a Groth16 key or proof for Ethereum or another library.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(exports, name="export")


@exports.command(cls=Command)
def solidity(
    context: typer.Context,
    vkey: _KeyFile,
    out: _Out = None,
    name: Annotated[str, typer.Option(help="The contract's name.")] = "Groth16Verifier",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a contract in Solidity that verifies proofs under a key."""
    with in_words(context.obj):
        files.claim([out], [vkey])
        from cloakwork.zk import export
        from cloakwork.zk.export.sources import verifying_key

        key = verifying_key(vkey)
        say_if_forgeable(key)
        _put(export.solidity(key, name=name), out, context.obj)


@exports.command(cls=Command)
def vyper(
    context: typer.Context,
    vkey: _KeyFile,
    out: _Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a contract in Vyper that verifies proofs under a key."""
    with in_words(context.obj):
        files.claim([out], [vkey])
        from cloakwork.zk import export
        from cloakwork.zk.export.sources import verifying_key

        key = verifying_key(vkey)
        say_if_forgeable(key)
        _put(export.vyper(key), out, context.obj)


@exports.command(cls=Command)
def calldata(
    context: typer.Context,
    vkey: _KeyFile,
    public: _PublicFile,
    proof: _ProofFile,
    out: _Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the arguments of a contract's verifyProof, as snarkjs soliditycalldata does.

    A proof that does not hold is written, too, with a warning.
    """
    with in_words(context.obj):
        files.claim([out], [vkey, public, proof])
        from cloakwork.zk import export, groth16
        from cloakwork.zk.export.sources import verifying_key

        key = verifying_key(vkey)
        say_if_forgeable(key)
        text = export.calldata(key, public, proof)
        if not groth16.verify(key, public, proof):
            say("cloakwork: the proof does not hold: verifyProof will answer false")
        _put(f"{text}\n", out, context.obj)


@exports.command(cls=Command)
def snarkjs(
    context: typer.Context,
    file: _StatementFile,
    out: _OutFile,
    curve: _Curve = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a verifying key, a proof or public signals as snarkjs's JSON."""
    with in_words(context.obj):
        files.claim([out], [file])
        from cloakwork.zk import export
        from cloakwork.zk.circom.files import ProvingKey

        read = export.read(file, curve)
        statement = read.verifying_key if isinstance(read, ProvingKey) else read
        say_if_forgeable(statement)
        files.write(out, statement.to_json())
        wrote([out])


@exports.command(cls=Command)
def gnark(
    context: typer.Context,
    file: _StatementFile,
    out: _OutFile,
    compressed: _Compressed = True,
    curve: _Curve = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a verifying key, a proof or public signals as gnark's bytes.

    Give a proving key for a verifying key that has beta and delta in G1.
    """
    with in_words(context.obj):
        files.claim([out], [file])
        from cloakwork.zk import export

        files.write(out, export.gnark(_read(file, curve), compressed=compressed))
        wrote([out])


@exports.command(cls=Command)
def arkworks(
    context: typer.Context,
    file: _StatementFile,
    out: _OutFile,
    compressed: _Compressed = True,
    curve: _Curve = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a verifying key, a proof or public signals as arkworks's bytes."""
    with in_words(context.obj):
        files.claim([out], [file])
        from cloakwork.zk import export

        files.write(out, export.arkworks(_read(file, curve), compressed=compressed))
        wrote([out])


def _read(file: Path, curve: str | None) -> Statement:
    """A file's statement; say so where everyone can prove under it."""
    from cloakwork.zk import export

    found = export.read(file, curve)
    say_if_forgeable(getattr(found, "verifying_key", found))
    return found


def _put(text: str, out: Path | None, asked: Invocation) -> None:
    if out is not None:
        files.write(out, text)
        wrote([out])
    elif asked.as_json:
        print_json({"text": text})
    else:
        print(text, end="")
