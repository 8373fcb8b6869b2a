"""The commands for proofs over files of circom and snarkjs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork.cli import proving
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Json, MemoryBudget, Profile, Quiet, SpillDir, Threads

_VkeyFile = Annotated[
    Path, typer.Argument(help="The verifying key: snarkjs's vkey.json.", show_default=False)
]
_PublicFile = Annotated[
    Path, typer.Argument(help="The public signals: public.json.", show_default=False)
]
_ProofFile = Annotated[Path, typer.Argument(help="The proof: proof.json.", show_default=False)]
_ZkeyFile = Annotated[
    Path, typer.Argument(help="The proving key: circuit.zkey.", show_default=False)
]
_WtnsFile = Annotated[Path, typer.Argument(help="The witness: witness.wtns.", show_default=False)]
_R1csFile = Annotated[
    Path, typer.Argument(help="The circuit: what circom --r1cs writes.", show_default=False)
]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (setup, vkey, prove, verify):
        app.command(cls=Command)(command)


def setup(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    r1cs: _R1csFile,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the proving key goes.")],
    vkey: Annotated[Path | None, typer.Option(help="Where the verifying key goes.")] = None,
    system: Annotated[
        str, typer.Option(help="groth16, without a ceremony, or plonk, from --ptau.")
    ] = "groth16",
    ptau: Annotated[
        Path | None,
        typer.Option(help="Powers of tau of a ceremony, snarkjs's .ptau: for --system plonk."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make keys for a circuit: Groth16's WITHOUT a ceremony, not for others' trust, or PLONK's.

    PLONK keys are those that snarkjs plonk setup makes of the same powers of tau, byte for byte.
    """
    status = proving.setup(r1cs, out, vkey, system=system, ptau=ptau, asked=context.obj)
    raise typer.Exit(status)


def prove(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    zkey: _ZkeyFile,
    witness: _WtnsFile,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the proof goes.")] = Path(
        "proof.json"
    ),
    public: Annotated[Path, typer.Option(help="Where the public signals go.")] = Path(
        "public.json"
    ),
    r1cs: Annotated[
        Path | None,
        typer.Option(help="The circuit: names the first constraint that a wrong witness fails."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            help="Refuse a key whose proofs may tell the witness; --no-check trusts the key."
        ),
    ] = True,
    device: Annotated[str, typer.Option(help="Where to run; see `cloakwork devices`.")] = "cpu",
    threads: Threads = None,
    memory_budget: MemoryBudget = None,
    spill_dir: SpillDir = None,
    profile: Profile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Prove that a witness satisfies a circuit, under Groth16 or PLONK, as the key says.

    snarkjs verifies the proof. The memory that the proof needs is printed first. It does not count
    the key and the witness, which are mapped and read from their files, nor the check against
    --r1cs.
    """
    status = proving.prove(
        zkey, witness, out=out, public=public, r1cs=r1cs, check=check, device=device,
        threads=threads, memory_budget=memory_budget, spill_dir=spill_dir, profile=profile,
        asked=context.obj,
    )  # fmt: skip
    raise typer.Exit(status)


def vkey(
    context: typer.Context,
    zkey: _ZkeyFile,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the verifying key goes.")] = Path(
        "vkey.json"
    ),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the verifying key of a proving key, as snarkjs zkey export verificationkey does."""
    raise typer.Exit(proving.vkey(zkey, out, asked=context.obj))


def verify(
    context: typer.Context,
    vkey: _VkeyFile,
    public: _PublicFile,
    proof: _ProofFile,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say whether a proof of Groth16 or PLONK holds: OK, or INVALID and exit status 1."""
    raise typer.Exit(proving.verify(vkey, public, proof, asked=context.obj))
