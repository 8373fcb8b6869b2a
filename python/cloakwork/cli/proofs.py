"""The commands for proofs over files of circom and snarkjs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork.cli import ceremonies, proving
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Json, MemoryBudget, Profile, Quiet, SpillDir, Threads

_VkeyFile = Annotated[
    Path, typer.Argument(help="The verifying key: snarkjs's vkey.json.", show_default=False)
]
_ZkeyFile = Annotated[
    Path, typer.Argument(help="The proving key: circuit.zkey.", show_default=False)
]
_WtnsFile = Annotated[Path, typer.Argument(help="The witness: witness.wtns.", show_default=False)]
# Setups from powers of tau, by system, and the files that they read.
_SETUPS = {"groth16": ceremonies.from_powers, "plonk": proving.setup_plonk}
_SETUP_FILES = 2


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (setup, vkey, prove, verify):
        app.command(cls=Command)(command)


def setup(
    context: typer.Context,
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[groth16|plonk] CIRCUIT [POWERS]",
            help="`groth16`, a circuit and prepared powers of tau: the key that its ceremony "
            "begins with. `plonk`, a circuit and powers of tau: its key. A circuit alone: a key of "
            "Groth16 WITHOUT a ceremony. Powers are not verified here: `cloakwork ptau verify`.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the proving key goes.")],
    vkey: Annotated[Path | None, typer.Option(help="Where the verifying key goes.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a circuit's key: from powers of tau, or WITHOUT a ceremony, for tests alone."""
    if len(given) == 1:
        raise typer.Exit(proving.setup(Path(given[0]), out, vkey, asked=context.obj))
    system, *paths = given
    make = _SETUPS.get(system)
    if make is None or len(paths) != _SETUP_FILES:
        systems = " or ".join(_SETUPS)
        raise typer.BadParameter(
            f"expected CIRCUIT, or {systems}, CIRCUIT and POWERS, got {' '.join(given)}"
        )
    raise typer.Exit(make(Path(paths[0]), Path(paths[1]), out, vkey, context.obj))


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
    public: Annotated[
        Path | None, typer.Argument(help="The public signals: public.json.", show_default=False)
    ] = None,
    proof: Annotated[
        Path | None, typer.Argument(help="The proof: proof.json.", show_default=False)
    ] = None,
    batch: Annotated[
        Path | None,
        typer.Option(
            help="A folder of proofs, each NAME.proof.json beside its NAME.public.json: all of "
            "them at once."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say whether proofs of Groth16 or PLONK hold: OK, or INVALID and exit status 1.

    Files of snarkjs, rapidsnark, gnark and arkworks are told by their contents.
    """
    if batch is None:
        if public is None or proof is None:
            missing = "PUBLIC" if public is None else "PROOF"
            raise typer.BadParameter(f"missing argument {missing}; --batch takes a folder")
        raise typer.Exit(proving.verify(vkey, public, proof, asked=context.obj))
    if public is not None:
        raise typer.BadParameter("got PUBLIC and --batch, expected the one or the other")
    raise typer.Exit(proving.verify_batch(vkey, batch, asked=context.obj))
