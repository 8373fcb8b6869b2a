"""The commands of proofs: what circom and snarkjs wrote, proved and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork.cli.words import DIFFERS, in_words

_VkeyFile = Annotated[
    Path, typer.Argument(help="The verifying key: snarkjs's vkey.json.", show_default=False)
]
_PublicFile = Annotated[
    Path, typer.Argument(help="The public signals: public.json.", show_default=False)
]
_ProofFile = Annotated[Path, typer.Argument(help="The proof: proof.json.", show_default=False)]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(verify)


def verify(context: typer.Context, vkey: _VkeyFile, public: _PublicFile, proof: _ProofFile) -> None:
    """Say whether a Groth16 proof holds: OK, or INVALID and exit status 1."""
    with in_words(context.obj):
        from cloakwork.zk import groth16

        holds = groth16.verify(vkey, public, proof)
    print("OK" if holds else "INVALID")
    if not holds:
        raise typer.Exit(DIFFERS)
