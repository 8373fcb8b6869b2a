"""Proofs as programs: within memory budgets, from the command line, and how little they load."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, cli, zk
from cloakwork.cli import commands, plain
from cloakwork.errors import MemoryBudgetError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.groth16 import Prover
from typer.main import get_command

COMMAND = """
import sys
from cloakwork.cli import main
status = main()
print(*[name for name in ("numpy", "rich", "typer") if name in sys.modules], status)
"""
CONSTRAINTS = 2**12 - 2


@dataclass
class Files:
    """A circuit's files."""

    folder: Path
    key: zk.ProvingKey

    def path(self, name: str) -> str:
        return str(self.folder / name)


def _matrix(starts: np.ndarray, columns: np.ndarray, values: np.ndarray) -> zk.Matrix:
    words = np.zeros((len(values), 4), np.uint64)
    words[:, 0] = values
    return zk.Matrix(*(cw.asarray(part) for part in (starts, columns, words)))


def chain(curve: str) -> tuple[zk.Circuit, list[int]]:
    """x_{i + 1} = x_i (x_i + i), with a public last value, and the wires for x_0 = 3."""
    own = np.arange(2, CONSTRAINTS + 2)
    ones, starts = np.ones(CONSTRAINTS), np.arange(CONSTRAINTS + 1)
    columns, values = np.stack([0 * own, own], 1), np.stack([np.arange(CONSTRAINTS), ones], 1)
    circuit = zk.Circuit(
        curve, CONSTRAINTS + 2, 1, 0, 1,
        _matrix(starts, own, ones),
        _matrix(2 * starts, columns.ravel(), values.ravel()),
        _matrix(starts, np.append(own[1:], 1), ones),
    )  # fmt: skip
    wires, prime = [3], ORDERS[curve]
    for at in range(CONSTRAINTS):
        wires.append(wires[at] * (wires[at] + at) % prime)
    return circuit, [1, wires[-1], *wires[:-1]]


@pytest.fixture(scope="module", params=["bn254", "bls12_381"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp(request.param)
    circuit, wires = chain(request.param)
    zk.write_r1cs(circuit, folder / "c.r1cs")
    zk.write_wtns(request.param, wires, folder / "c.wtns")
    key = zk.groth16.setup(folder / "c.r1cs", folder / "c.zkey")
    key.verifying_key.save(folder / "v.json")
    return Files(folder, key)


def least(program: cw.Program, threads: int) -> int:
    """The smallest budget that is accepted, found by halving."""
    refused, accepted = 0, program.memory(threads=threads)[1]
    while accepted - refused > 1:
        tried = (accepted + refused) // 2
        try:
            program.memory(threads=threads, memory_budget=tried)
            accepted = tried
        except MemoryBudgetError:
            refused = tried
    return accepted


@pytest.mark.parametrize("threads", [1, 2])
def test_a_proof_is_the_same_within_any_budget(files: Files, threads: int, tmp_path: Path) -> None:
    prover, witness = Prover(files.key), files.path("c.wtns")
    _, peak = prover.program(threads=threads).memory(threads=threads)
    whole, public = zk.groth16.prove(prover, witness, blinding=(5, 7), threads=threads)
    assert zk.groth16.verify(files.path("v.json"), public, whole)
    smallest = least(prover.program(threads=threads, memory_budget=1), threads)
    assert smallest < peak // 2
    spilled = []
    for budget in (peak, peak - 1, peak // 2, smallest):
        program = prover.program(threads=threads, memory_budget=budget)
        text, needed = program.memory(threads=threads, memory_budget=budget)
        assert needed <= budget
        spilled.append("on disk" in text)
        proof, _ = zk.groth16.prove(
            prover, witness, blinding=(5, 7), threads=threads, memory_budget=budget,
            spill_dir=tmp_path,
        )  # fmt: skip
        assert proof == whole
    assert (spilled[0], spilled[-1]) == (False, True)
    with pytest.raises(MemoryBudgetError, match=r"needs .* at its peak, .* the budget is") as found:
        zk.groth16.prove(prover, witness, threads=threads, memory_budget=smallest - 1)
    assert found.value.budget_bytes == smallest - 1
    # Buffers that were spilled to disk have left no data there.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", [{"device": "sim:0"}, {"devices": ["sim:0", "sim:1"]}])
def test_a_proof_is_the_same_on_devices(files: Files, where: cw.RunOptions) -> None:
    witness = files.path("c.wtns")
    here, _ = zk.groth16.prove(files.key, witness, blinding=(5, 7))
    there, _ = zk.groth16.prove(files.key, witness, blinding=(5, 7), **where)
    assert there == here


def test_a_key_is_not_copied_into_the_program(files: Files) -> None:
    # A trace uses frozen tensors without a copy.
    key = files.key
    held = [*key.points.values(), key.left.columns, key.left.values, key.right.values]
    assert all(tensor.is_frozen for tensor in held)


def test_the_command_prints_the_peak_and_keeps_to_a_budget(
    files: Files,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = _core.random_words
    monkeypatch.setattr(_core, "random_words", lambda shape: drawn(shape, bytes([2] * 32)))
    out, public, profile = (str(tmp_path / name) for name in ("p.json", "s.json", "t.json"))
    wanted = ["prove", files.path("c.zkey"), files.path("c.wtns"), "-o", out, "--public", public]
    text, peak = Prover(files.key).program().memory(threads=2)
    proofs, said = set(), []
    for more in ([], ["--profile", profile], ["--memory-budget", str(peak // 2)]):
        assert cli.main([*wanted, "--threads", "2", *more]) == 0
        proofs.add(Path(out).read_text())
        said.append(capsys.readouterr().err.splitlines()[0])
        Path(out).unlink()
        Path(public).unlink()
    assert len(proofs) == 1
    assert said[:2] == [f"memory: {text}"] * 2
    assert said[2].startswith("memory: peak ")
    events = json.loads(Path(profile).read_text())["traceEvents"]
    assert any("msm" in event["name"] for event in events)
    assert cli.main([*wanted, "--memory-budget", "100KiB"]) == 2
    err = capsys.readouterr().err
    assert "at its peak" in err
    assert "the budget is 100.0 KiB" in err
    assert list(tmp_path.iterdir()) == [Path(profile)]


def test_proofs_load_neither_tables_nor_numpy(files: Files, tmp_path: Path) -> None:
    out, public = str(tmp_path / "p.json"), str(tmp_path / "s.json")
    wanted = ["prove", files.path("c.zkey"), files.path("c.wtns"), "-o", out, "--public", public]
    checked = ["verify", files.path("v.json"), public, out]
    for line, said in ((wanted, "0"), (checked, "OK\n0"), (["run", "none"], "rich typer 2")):
        command = [sys.executable, "-c", COMMAND, *line]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout == f"{said}\n"


def test_plain_command_lines_mean_what_typer_makes_of_them() -> None:
    declared = get_command(commands.app).commands  # type: ignore[attr-defined]
    for name, (_, places, options) in plain.COMMANDS.items():
        params = [param for param in declared[name].params if param.name != "help"]
        arguments = [param.name for param in params if param.param_type_name == "argument"]
        assert arguments == list(places)
        spelled = [(param.name, (*param.opts, *param.secondary_opts)) for param in params]
        known = {word: name for name, words in spelled for word in words}
        own = {word: known[word] for word in known if word.startswith("-")}
        # A batch takes longer than typer's import.
        assert own.keys() - options.keys() == ({"--batch"} if name == "verify" else set())
        assert options.items() <= own.items()


@pytest.mark.parametrize(
    "line",
    [
        [], ["run", "x"], ["prove"], ["prove", "a"], ["prove", "a", "b", "c"], ["prove", "--help"],
        ["prove", "a", "b", "--threads", "two"], ["prove", "a", "b", "--threads", "-1"],
        ["prove", "a", "b", "-o"], ["prove", "a", "b", "--out=c"], ["--debug", "verify", "a"],
        ["verify", "a", "b", "c", "--profile", "d"],
    ],
)  # fmt: skip
def test_typer_reads_what_is_not_plain(line: list[str]) -> None:
    assert plain.read(line) is None


def test_a_plan_knows_how_long_sums_of_points_take(files: Files) -> None:
    text = Prover(files.key).program().plan_text(threads=2)
    found = re.search(r"(\d+) us on one thread", text)
    assert found is not None
    # Five sums of twenty windows or more, and no addition of points takes less than 60 ns.
    assert int(found[1]) > 5 * 20 * CONSTRAINTS * 60 // 1000


def test_a_proof_in_a_batch_is_made_at_once(files: Files) -> None:
    with cw.batch():
        a, _ = zk.groth16.prove(files.path("c.zkey"), files.path("c.wtns"), blinding=(5, 7))
    assert a == zk.groth16.prove(files.path("c.zkey"), files.path("c.wtns"), blinding=(5, 7))[0]


def test_a_number_too_long_to_be_one_of_threads_is_refused_in_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["prove", "a.zkey", "b.wtns", "--threads", "9" * 5000]) == 2
    assert "threads" in capsys.readouterr().err
