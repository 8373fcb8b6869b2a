"""The commands that compute witnesses of circom's circuits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cloakwork.cli import witness as work
from cloakwork.cli.grouping import Command
from cloakwork.cli.options import Json, MemoryBudget, Quiet, SpillDir, Threads
from cloakwork.zk.circom.limits import TIMEOUT_SECONDS

_WasmFile = Annotated[
    Path,
    typer.Argument(
        help="The circuit's program: what circom --wasm writes, NAME_js/NAME.wasm.",
        show_default=False,
    ),
]
_ZkeyFile = Annotated[
    Path, typer.Argument(help="The proving key: circuit.zkey.", show_default=False)
]
_InputsFile = Annotated[
    Path, typer.Argument(help="The inputs by name: input.json.", show_default=False)
]
_Sym = Annotated[
    Path | None,
    typer.Option(help="What circom --sym writes: errors name missing and unknown inputs by it."),
]
_Timeout = Annotated[
    float, typer.Option(help="The longest time in seconds that the circuit's program may run.")
]
_MemoryLimit = Annotated[
    str, typer.Option(help="The most memory of the circuit's program, such as 1GiB.")
]


def add(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (witness, fullprove):
        app.command(cls=Command)(command)


def witness(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    wasm: _WasmFile,
    inputs: _InputsFile,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where the witness goes.")] = Path(
        "witness.wtns"
    ),
    sym: _Sym = None,
    timeout: _Timeout = TIMEOUT_SECONDS,
    memory_limit: _MemoryLimit = "4GiB",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compute the witness of a circom circuit, as snarkjs wtns calculate does, without Node.

    Lines that the circuit logs go to standard error, unless --quiet. The witness is secret.
    """
    status = work.witness(
        wasm, inputs, out=out, sym=sym, timeout=timeout, memory_limit=memory_limit,
        asked=context.obj,
    )  # fmt: skip
    raise typer.Exit(status)


def fullprove(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    wasm: _WasmFile,
    zkey: _ZkeyFile,
    inputs: _InputsFile,
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
    sym: _Sym = None,
    timeout: _Timeout = TIMEOUT_SECONDS,
    memory_limit: _MemoryLimit = "4GiB",
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compute a witness and prove under Groth16 or PLONK, without a file of the witness.

    It is `witness` and `prove` in one process; snarkjs verifies the proof.
    """
    status = work.fullprove(
        wasm, zkey, inputs, out=out, public=public, r1cs=r1cs, sym=sym, timeout=timeout,
        memory_limit=memory_limit, check=check, device=device, threads=threads,
        memory_budget=memory_budget, spill_dir=spill_dir, asked=context.obj,
    )  # fmt: skip
    raise typer.Exit(status)
