"""The commands for ceremonies: powers of tau, and the keys of circuits made from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cloakwork import files
from cloakwork.cli.grouping import Command, DemoGroup
from cloakwork.cli.options import Json, Quiet
from cloakwork.cli.progress import busy
from cloakwork.cli.words import Invocation, in_words, invocation, note, print_json, wrote
from cloakwork.wording import shown

if TYPE_CHECKING:
    from cloakwork.zk.ceremony import Contribution

_OldPowers = Annotated[Path, typer.Argument(help="Powers of tau, .ptau.", show_default=False)]
_NewPowers = Annotated[Path, typer.Argument(help="Where the new ones go.", show_default=False)]
_OldKey = Annotated[Path, typer.Argument(help="A proving key, .zkey.", show_default=False)]
_NewKey = Annotated[Path, typer.Argument(help="Where the new one goes.", show_default=False)]
_Name = Annotated[str, typer.Option(help="A public name, up to 64 characters.")]
_Entropy = Annotated[
    str | None,
    typer.Option("-e", "--entropy", help="Further randomness, mixed with the system's."),
]
_Hash = Annotated[
    str, typer.Argument(help="Public randomness, hexadecimal digits.", show_default=False)
]
_Iterations = Annotated[
    int,
    typer.Argument(help="10 to 63: SHA-256 is applied 2^ITERATIONS times.", show_default=False),
]

ptau = typer.Typer(
    cls=DemoGroup, help="Powers of tau of a ceremony: snarkjs's .ptau files.",
    no_args_is_help=True, rich_markup_mode=None,
)  # fmt: skip
zkey = typer.Typer(
    cls=DemoGroup, help="Ceremonies of a circuit's Groth16 key: snarkjs's .zkey files.",
    no_args_is_help=True, rich_markup_mode=None,
)  # fmt: skip


def add(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(ptau, name="ptau")
    app.add_typer(zkey, name="zkey")


def from_powers(r1cs: Path, powers: Path, out: Path, vkey: Path | None, asked: Invocation) -> int:
    """Make a Groth16 key that a ceremony begins with."""
    with in_words(asked):
        files.claim([out, vkey], [r1cs, powers])
        from cloakwork.zk import ceremony

        with busy("making the key"):
            made = ceremony.setup(r1cs, powers, out, vkey=vkey)
        note(f"circuit hash: {made.circuit_hash.hex()}")
        note("nobody has contributed yet, so that everyone knows delta: cloakwork zkey contribute")
        written = [one for one in (out, vkey) if one is not None]
        wrote(written, circuit_hash=made.circuit_hash.hex())
    return 0


@ptau.command(cls=Command)
def new(
    context: typer.Context,
    curve: Annotated[str, typer.Argument(help="bn254 or bls12_381.", show_default=False)],
    power: Annotated[
        int, typer.Argument(help="1 to 28: circuits of up to 2^POWER rows.", show_default=False)
    ],
    file: _NewPowers,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Begin a ceremony: powers of tau to which nobody has contributed."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        with busy("writing powers of tau"):
            ceremony.new(curve, power, file)
        wrote([file])


@ptau.command(cls=Command, name="contribute")
def contribute_powers(
    context: typer.Context,
    source: _OldPowers,
    out: _NewPowers,
    name: _Name = "",
    entropy: _Entropy = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Multiply powers of tau by secrets that are drawn, used and overwritten."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        _made(out, lambda: ceremony.contribute(source, out, name=name, entropy=entropy or b""))


@ptau.command(cls=Command, name="beacon")
def beacon_powers(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    source: _OldPowers,
    out: _NewPowers,
    hash: _Hash,
    iterations: _Iterations,
    name: _Name = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """End a ceremony with public randomness."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        _made(out, lambda: ceremony.beacon(source, out, hash, iterations, name=name))


@ptau.command(cls=Command)
def prepare(
    context: typer.Context,
    source: _OldPowers,
    out: _NewPowers,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the Lagrange points that `setup groth16` needs (snarkjs: prepare phase2)."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        with busy("preparing powers of tau"):
            ceremony.prepare(source, out)
        wrote([out])


@ptau.command(cls=Command, name="verify")
def verify_powers(
    context: typer.Context,
    file: _OldPowers,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check powers of tau: each contribution, all points and hashes; exit status 2 if they fail."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        with busy("verifying powers of tau"):
            found = ceremony.verify(file)
        _tell(
            {"curve": found.curve, "power": found.power, "prepared": found.prepared},
            found.contributions,
            holds=True,
        )


@ptau.command(cls=Command)
def inspect(
    context: typer.Context,
    file: _OldPowers,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what powers of tau say of themselves; nothing is verified."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        found = ceremony.read(file)
        facts = {
            "curve": found.curve, "power": found.power, "ceremony_power": found.ceremony_power,
            "prepared": found.prepared,
        }  # fmt: skip
        _tell(facts, found.contributions, holds=False)


@zkey.command(cls=Command, name="contribute")
def contribute_key(
    context: typer.Context,
    source: _OldKey,
    out: _NewKey,
    name: _Name = "",
    entropy: _Entropy = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Multiply a key's delta by a secret that is drawn, used and overwritten."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        _made(out, lambda: ceremony.contribute_key(source, out, name=name, entropy=entropy or b""))


@zkey.command(cls=Command, name="beacon")
def beacon_key(  # noqa: PLR0913, PLR0917 (one parameter an option)
    context: typer.Context,
    source: _OldKey,
    out: _NewKey,
    hash: _Hash,
    iterations: _Iterations,
    name: _Name = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """End a key's ceremony with public randomness."""
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        _made(out, lambda: ceremony.beacon_key(source, out, hash, iterations, name=name))


@zkey.command(cls=Command, name="verify")
def verify_key(
    context: typer.Context,
    r1cs: Annotated[Path, typer.Argument(help="The circuit, .r1cs.", show_default=False)],
    powers: _OldPowers,
    file: _OldKey,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check that a key is the circuit's, from these powers; exit status 2 if it is not.

    The powers themselves are for `cloakwork ptau verify`.
    """
    with in_words(context.obj):
        from cloakwork.zk import ceremony

        with busy("verifying the key"):
            found = ceremony.verify_key(r1cs, powers, file)
        _tell({"circuit_hash": found.circuit_hash.hex()}, found.contributions, holds=True)


def _made(out: Path, make: Callable[[], Contribution]) -> None:
    with busy("contributing"):
        told = make()
    if not invocation().as_json:
        print(f"{shown(str(told))}: {told.hash.hex()}")
    wrote([out], contribution=_facts(told))


def _facts(told: Contribution) -> dict[str, object]:
    """A contribution as JSON's types."""
    facts: dict[str, object] = {"number": told.number, "name": told.name, "hash": told.hash.hex()}
    if told.challenge:
        facts["challenge"] = told.challenge.hex()
    if told.beacon is not None:
        facts["beacon"] = told.beacon.hash.hex()
        facts["iterations"] = told.beacon.iterations_log2
    return facts


def _tell(facts: dict[str, object], told: Sequence[Contribution], *, holds: bool) -> None:
    """Print a file's facts and its contributions."""
    if invocation().as_json:
        print_json(
            {**({"holds": True} if holds else {}), **facts, "contributions": [*map(_facts, told)]}
        )
        return
    for name, value in facts.items():
        print(f"{name}: {value}")
    for one in told:
        beacon = "" if one.beacon is None else f", beacon {one.beacon.hash.hex()}"
        print(f"{shown(str(one))}{beacon}: {one.hash.hex()}")
    if holds:
        print("OK")
