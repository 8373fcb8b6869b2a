"""The functions behind `witness` and `fullprove`; they return the exit status."""

from __future__ import annotations

from pathlib import Path

from cloakwork import files
from cloakwork.cli.progress import Bar
from cloakwork.cli.words import Invocation, in_words, note, safe, say_memory, wrote
from cloakwork.device.loading import place_name
from cloakwork.programs.options import check_folder
from cloakwork.zk.circom.limits import MEMORY_LIMIT_BYTES, TIMEOUT_SECONDS


def _log(line: str) -> None:
    """A line of the circuit's `log`, on standard error."""
    note(safe(line))


def witness(
    wasm: Path,
    inputs: Path,
    *,
    asked: Invocation,
    out: Path = Path("witness.wtns"),
    sym: Path | None = None,
    timeout: float = TIMEOUT_SECONDS,
    memory_limit: int | str = MEMORY_LIMIT_BYTES,
) -> int:
    """Compute a witness, and write it."""
    with in_words(asked):
        files.claim([out], [wasm, inputs, sym])
        from cloakwork.zk.circom.witnesses import generate_witness

        made = generate_witness(
            wasm, inputs, sym=sym, timeout=timeout, memory_limit=memory_limit, log=_log
        )
        try:
            made.save(out)
        finally:
            made.words.zeroize()
        wrote([out], curve=made.curve, wires=made.wires)
    return 0


def fullprove(  # noqa: PLR0913 (one parameter an option)
    wasm: Path,
    zkey: Path,
    inputs: Path,
    *,
    asked: Invocation,
    out: Path = Path("proof.json"),
    public: Path = Path("public.json"),
    r1cs: Path | None = None,
    sym: Path | None = None,
    timeout: float = TIMEOUT_SECONDS,
    memory_limit: int | str = MEMORY_LIMIT_BYTES,
    check: bool = True,
    device: str = "cpu",
    threads: int | None = None,
    memory_budget: str | None = None,
    spill_dir: Path | None = None,
) -> int:
    """Compute a witness, which is never written, and prove."""
    with in_words(asked):
        files.claim([out, public], [wasm, zkey, inputs, r1cs, sym])
        check_folder(spill_dir)
        from cloakwork.zk.circom import systems
        from cloakwork.zk.circom.statements import save
        from cloakwork.zk.circom.witnesses import generate_witness

        place = place_name(device)
        made = generate_witness(
            wasm, inputs, sym=sym, timeout=timeout, memory_limit=memory_limit, log=_log
        )
        try:
            prover = systems.prover_of(zkey)
            program = prover.program(threads=threads, memory_budget=memory_budget)
            say_memory(program, threads, memory_budget, device=place)
            with Bar("proving") as progress:
                proof, signals = systems.prove(
                    prover, made, r1cs=r1cs, check=check, device=place, threads=threads,
                    memory_budget=memory_budget, spill_dir=spill_dir, progress=progress,
                )  # fmt: skip
        finally:
            made.words.zeroize()
        save(proof, signals, out, public)
        wrote([out, public])
    return 0
