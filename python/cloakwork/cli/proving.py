"""The functions behind the commands for proofs; they return the exit status."""

from __future__ import annotations

from pathlib import Path

from cloakwork import files
from cloakwork.cli.progress import Bar, busy
from cloakwork.cli.words import DIFFERS, Invocation, in_words, print_json, say, say_memory, wrote
from cloakwork.device.loading import place_name
from cloakwork.errors import ParamError
from cloakwork.programs.options import check_folder

SYSTEMS = ("groth16", "plonk")


def setup(
    r1cs: Path,
    out: Path,
    vkey: Path | None = None,
    *,
    system: str = "groth16",
    ptau: Path | None = None,
    asked: Invocation,
) -> int:
    """Make keys: Groth16's without a ceremony, PLONK's from one."""
    with in_words(asked):
        if system not in SYSTEMS:
            raise ParamError("system", system, " or ".join(SYSTEMS))
        if (ptau is None) == (system == "plonk"):
            needs = {
                "plonk": "a file of powers of tau, which PLONK keys are made from",
                "groth16": "nothing: Groth16 keys are made without a ceremony here",
            }
            raise ParamError("ptau", "none" if ptau is None else str(ptau), needs[system])
        if ptau is not None:
            from cloakwork.zk.plonk.setting import setup as setup_plonk

            with busy("making keys"):
                setup_plonk(r1cs, ptau, out, vkey=vkey)
            wrote(one for one in (out, vkey) if one is not None)
            return 0
        files.claim([out, vkey], [r1cs])
        from cloakwork.zk.groth16 import setting

        with busy("making keys"):
            setting.setup(r1cs, out, vkey=vkey)
        say(
            "there was no ceremony: the maker of this key can prove false statements. "
            "For keys that others trust: snarkjs powersoftau, groth16 setup, zkey contribute"
        )
        wrote(one for one in (out, vkey) if one is not None)
    return 0


def prove(  # noqa: PLR0913 (one parameter an option)
    zkey: Path,
    witness: Path,
    *,
    asked: Invocation,
    out: Path = Path("proof.json"),
    public: Path = Path("public.json"),
    r1cs: Path | None = None,
    check: bool = True,
    device: str = "cpu",
    threads: int | None = None,
    memory_budget: str | None = None,
    spill_dir: Path | None = None,
    profile: Path | None = None,
) -> int:
    """Print the memory that a proof needs, and prove."""
    with in_words(asked):
        files.claim([out, public, profile], [zkey, witness, r1cs])
        check_folder(spill_dir)
        from cloakwork.zk.circom import systems
        from cloakwork.zk.circom.statements import save

        place = place_name(device)
        prover = systems.prover_of(zkey)
        program = prover.program(threads=threads, memory_budget=memory_budget)
        say_memory(program, threads, memory_budget, device=place)
        with Bar("proving") as progress:
            proof, signals = systems.prove(
                prover, witness, r1cs=r1cs, check=check, device=place, threads=threads,
                memory_budget=memory_budget, spill_dir=spill_dir, profile=profile or False,
                progress=progress,
            )  # fmt: skip
        save(proof, signals, out, public)
        wrote([out, public, *([profile] if profile else [])])
    return 0


def vkey(zkey: Path, out: Path, *, asked: Invocation) -> int:
    """Write the verifying key that a proving key holds."""
    with in_words(asked):
        files.claim([out], [zkey])
        from cloakwork.zk.circom.systems import read_zkey

        read_zkey(zkey, check=False).verifying_key.save(out)
        wrote([out])
    return 0


def verify(vkey: Path, public: Path, proof: Path, *, asked: Invocation) -> int:
    """Say whether a proof holds."""
    with in_words(asked):
        from cloakwork.zk.circom import systems

        holds = systems.verify(vkey, public, proof)
        if asked.as_json:
            print_json({"holds": holds})
        else:
            print("OK" if holds else "INVALID")
    return 0 if holds else DIFFERS
