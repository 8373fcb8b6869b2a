"""Membership in a Merkle tree, proved without revealing the leaf.

A circuit of three Poseidon hashes is compiled by circom over BN254 and over BLS12-381.  For each,
keys are made (without a ceremony: this is a demonstration), the witness is checked against all
constraints, a Groth16 proof is made and verified, and snarkjs verifies it too.  A proof for another
root must not hold.  Where node or npm is absent, the compiled circuit that comes with Cloakwork
serves, without other verifiers.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from cloakwork import files, zk
from cloakwork.demo.node import Missing, Node
from cloakwork.demo.stage import Phases, mebibytes, peak_bytes, plain_console, print_report

CIRCUITS = Path(__file__).with_name("circuits")
CURVES = ("bn128", "bls12381")

# The secret leaf, and its path to the root.
INPUTS = {
    "leaf": "20261121",
    "siblings": ["3", "1415926535", "897932384626433832795028841971"],
    "sides": ["0", "1", "1"],
}

_STEPS = ("compile circuit", "make witness", "make keys", "prove", "verify", "snarkjs verifies")
PHASES = ("fetch packages", *(f"{step}, {curve}" for curve in CURVES for step in _STEPS))


@dataclass
class CurveReport:
    """The results over one curve."""

    constraints: int = 0
    root: int = 0
    holds: bool = False
    other_root_holds: bool = True
    snarkjs_holds: bool | None = None

    @property
    def passed(self) -> bool:
        """Whether the proof holds for its root only, and all verifiers agree."""
        return self.holds and not self.other_root_holds and self.snarkjs_holds is not False


@dataclass
class MerkleReport:
    """The results of the demo."""

    folder: Path
    curves: dict[str, CurveReport] = field(default_factory=dict)
    missing: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all proofs are valid."""
        return len(self.curves) == len(CURVES) and all(
            report.passed for report in self.curves.values()
        )


def run(out_dir: Path, *, node: bool = True, console: Console | None = None) -> MerkleReport:
    """Run the demo, print its report, and leave all files in `out_dir`/merkle.

    node   compile with circom and verify with snarkjs, which npm brings into `out_dir`/node
    """
    console = console or plain_console()
    report = MerkleReport(out_dir / "merkle")
    report.folder.mkdir(parents=True, exist_ok=True)
    phases = Phases(PHASES, console)
    with phases.progress:
        with phases.phase("fetch packages"):
            tools = _tools(report, out_dir / "node", console) if node else None
        if not node:
            report.missing = "without node, as asked"
        for curve in CURVES:
            folder = report.folder / curve
            folder.mkdir(exist_ok=True)
            report.curves[curve] = _run_curve(phases, tools, curve, folder)
    report.seconds = phases.seconds
    _print(report, console)
    return report


def _tools(report: MerkleReport, folder: Path, console: Console) -> Node | None:
    """The external compiler and verifier; downloads are announced."""
    manifest = CIRCUITS / "package.json"
    try:
        if not Node.is_installed(manifest, folder):
            packages = ", ".join(
                f"{name} {version}"
                for name, version in json.loads(files.read(manifest))["dependencies"].items()
            )
            console.print(
                f"npm ci fetches {packages} into {folder}; --no-node does without",
                soft_wrap=True,
            )  # fmt: skip
        return Node.install(manifest, folder)
    except Missing as missing:
        report.missing = str(missing)
        return None


def _run_curve(phases: Phases, node: Node | None, curve: str, folder: Path) -> CurveReport:
    report = CurveReport()
    with phases.phase(f"compile circuit, {curve}"):
        _compile(node, curve, folder)
    with phases.phase(f"make witness, {curve}"):
        _witness(node, curve, folder)
    with phases.phase(f"make keys, {curve}"):
        circuit = zk.read_r1cs(folder / "merkle.r1cs")
        key = zk.groth16.setup(circuit, folder / "merkle.zkey", vkey=folder / "vkey.json")
    report.constraints = circuit.constraints
    with phases.phase(f"prove, {curve}"):
        proof, public = zk.groth16.prove(key, folder / "merkle.wtns", r1cs=circuit)
        zk.groth16.save(proof, public, folder / "proof.json", folder / "public.json")
    report.root = public.signals[0]
    statement = [folder / name for name in ("vkey.json", "public.json", "proof.json")]
    with phases.phase(f"verify, {curve}"):
        report.holds = zk.groth16.verify(*statement)
        report.other_root_holds = zk.groth16.verify(statement[0], [report.root ^ 1], statement[2])
    with phases.phase(f"snarkjs verifies, {curve}"):
        if node is not None:
            report.snarkjs_holds = _snarkjs(node, folder)
    return report


def _compile(node: Node | None, curve: str, folder: Path) -> None:
    if node is None:
        files.write(folder / "merkle.r1cs", files.read(CIRCUITS / curve / "merkle.r1cs"))
        return
    # The compiler, which runs in a sandbox, sees what lies under its working directory alone.
    library = folder / "circomlib"
    source = node.folder / "node_modules" / "circomlib" / "circuits"
    shutil.copytree(source, library, dirs_exist_ok=True)
    files.write(folder / "merkle.circom", files.read(CIRCUITS / "merkle.circom"))
    arguments = ["merkle.circom", "--r1cs", "--wasm", "--O1", "--prime", curve, "-l", "circomlib"]
    node.run("circom2", *arguments, at=folder)


def _witness(node: Node | None, curve: str, folder: Path) -> None:
    if node is None:
        files.write(folder / "merkle.wtns", files.read(CIRCUITS / curve / "merkle.wtns"))
        return
    files.write(folder / "input.json", json.dumps(INPUTS))
    program = str(Path("merkle_js") / "merkle.wasm")
    node.run("snarkjs", "wtns", "calculate", program, "input.json", "merkle.wtns", at=folder)


def _snarkjs(node: Node, folder: Path) -> bool:
    try:
        done = node.run(
            "snarkjs", "groth16", "verify", "vkey.json", "public.json", "proof.json", at=folder
        )
    except Missing:
        return False
    return "OK!" in done.stdout


def _print(report: MerkleReport, console: Console) -> None:
    rows, costs = [], []
    for curve, found in report.curves.items():
        theirs = {True: "OK", False: "INVALID", None: "was not asked"}[found.snarkjs_holds]
        rows += [
            (f"{curve}: constraints, all satisfied", f"{found.constraints}"),
            (f"{curve}: root, which is public", f"{str(found.root)[:24]}..."),
            (f"{curve}: proof verified by Cloakwork", "OK" if found.holds else "INVALID"),
            (f"{curve}: proof verified by snarkjs", theirs),
            (f"{curve}: holds for another root", "YES" if found.other_root_holds else "no"),
        ]
        costs += [
            (f"{step}, {curve}", f"{report.seconds[f'{step}, {curve}']:.2f} s")
            for step in ("make keys", "prove", "verify")
        ]
    costs.append(("peak memory", mebibytes(peak_bytes())))
    print_report(console, "Membership in a Merkle tree", rows, costs)
    if report.missing:
        console.print(
            f"{report.missing}: the circuit that comes with Cloakwork was proved, and verified "
            "by Cloakwork alone",
            soft_wrap=True,
        )
    console.print(f"files: {report.folder}", soft_wrap=True)
