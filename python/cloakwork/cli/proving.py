"""The functions behind the commands for proofs; they return the exit status."""

from __future__ import annotations

from pathlib import Path

from cloakwork import files
from cloakwork.cli.progress import Bar, busy
from cloakwork.cli.words import (
    DIFFERS,
    Invocation,
    in_words,
    print_json,
    say,
    say_memory,
    wrote,
)
from cloakwork.device.loading import place_name
from cloakwork.errors import LoadError
from cloakwork.programs.options import check_folder
from cloakwork.wording import shown


def setup(r1cs: Path, out: Path, vkey: Path | None = None, *, asked: Invocation) -> int:
    """Make Groth16 keys without a ceremony."""
    with in_words(asked):
        files.claim([out, vkey], [r1cs])
        from cloakwork.zk.groth16 import setting

        with busy("making keys"):
            setting.setup(r1cs, out, vkey=vkey)
        say(
            "there was no ceremony: the maker of this key can prove false statements. "
            "For keys that others trust: cloakwork ptau, setup groth16, zkey contribute"
        )
        wrote(one for one in (out, vkey) if one is not None)
    return 0


def setup_plonk(r1cs: Path, powers: Path, out: Path, vkey: Path | None, asked: Invocation) -> int:
    """Make a PLONK key, which needs no ceremony of its own."""
    with in_words(asked):
        files.claim([out, vkey], [r1cs, powers])
        from cloakwork.zk.plonk import setting

        with busy("making the key"):
            setting.setup(r1cs, powers, out, vkey=vkey)
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

        key = read_zkey(zkey, check=False).verifying_key
        say_if_forgeable(key)
        key.save(out)
        wrote([out])
    return 0


def say_if_forgeable(key: object) -> None:
    """Say so where everyone knows a key's delta."""
    from cloakwork.zk.circom.statements import VerifyingKey

    if isinstance(key, VerifyingKey) and key.delta2 == key.gamma2:
        say(
            "cloakwork: nobody has contributed to this key, its delta is its gamma: everyone can "
            "prove false statements under it: cloakwork zkey contribute"
        )


def verify(vkey: Path, public: Path, proof: Path, *, asked: Invocation) -> int:
    """Say whether a proof holds."""
    with in_words(asked):
        from cloakwork.zk.circom import verifying

        holds = verifying.verify(vkey, public, proof)
        if asked.as_json:
            print_json({"holds": holds})
        else:
            print("OK" if holds else "INVALID")
    return 0 if holds else DIFFERS


def verify_batch(vkey: Path, folder: Path, *, asked: Invocation) -> int:
    """Say which of a folder's proofs do not hold."""
    with in_words(asked):
        from cloakwork.zk.groth16 import batching

        pairs = _pairs(folder)
        answers = batching.verify_many(vkey, pairs.values())
        holds = dict(zip(pairs, answers, strict=True))
        wrong = [name for name, answer in holds.items() if not answer]
        if asked.as_json:
            print_json({"holds": not wrong, "proofs": holds})
        else:
            for name in wrong:
                print(f"INVALID {shown(name)}")
            print(f"OK: {len(pairs)}" if not wrong else f"INVALID: {len(wrong)} of {len(pairs)}")
    return DIFFERS if wrong else 0


def _pairs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Public signals and proofs of a folder, by name, in order."""
    parts: dict[str, dict[str, Path]] = {"public": {}, "proof": {}}
    for path in sorted(folder.iterdir()):
        part = "proof" if ".proof" in path.name else "public"
        name, _, rest = path.name.rpartition(f".{part}")
        if not name or (rest and not rest.startswith(".")):
            continue
        if rest.count(".") > 1:
            raise LoadError(
                f"{path}: expected NAME.{part} and one ending, such as .json, got {rest}: rename "
                "it, or move it elsewhere"
            )
        if name in parts[part]:
            raise LoadError(f"{folder}: {name} has two files of its {part}: {path.name}, too")
        parts[part][name] = path
    for one, other in (("proof", "public"), ("public", "proof")):
        for name, path in parts[one].items():
            if name not in parts[other]:
                raise LoadError(f"{path}: expected its {name}.{other}.json beside it, got none")
    if not parts["proof"]:
        raise LoadError(f"{folder}: expected proofs, NAME.proof.json, got none")
    return {name: (parts["public"][name], path) for name, path in parts["proof"].items()}
