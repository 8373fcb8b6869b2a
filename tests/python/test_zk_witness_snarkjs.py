"""Witnesses of circomlib's circuits, compiled and computed by circom2 and snarkjs in node."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from cloakwork import zk
from cloakwork.demo import merkle
from cloakwork.demo.node import Missing, Node

ROOT = Path(__file__).parents[2]
CIRCUITS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "hash": ("mimcsponge", "MiMCSponge(2, 220, 3)", "bn128", {"ins": [1, -2], "k": "0x3"}),
    "compare": ("comparators", "LessThan(32)", "bls12381", {"in": [5, "77"]}),
    "choose": ("mux4", "MultiMux4(2)", "bn128", {
        "c": [list(range(16)), list(range(100, 116))], "s": [1, 0, 1, True],
    }),
    "curve": ("pedersen", "Pedersen(20)", "bn128", {"in": [1, 1, 0, 0] * 5}),
}  # fmt: skip


@pytest.fixture(scope="module")
def node() -> Node:
    try:
        return Node.install(merkle.CIRCUITS / "package.json", ROOT / "out" / "node")
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", CIRCUITS)
def test_witnesses_of_circomlib_equal_those_of_snarkjs(
    name: str, node: Node, tmp_path: Path
) -> None:
    library, main, prime, inputs = CIRCUITS[name]
    shutil.copytree(node.folder / "node_modules" / "circomlib" / "circuits", tmp_path / "lib")
    source = f'pragma circom 2.1.0;\ninclude "{library}.circom";\ncomponent main = {main};\n'
    (tmp_path / "c.circom").write_text(source)
    (tmp_path / "i.json").write_text(json.dumps(inputs))
    options = ["--wasm", "--sym", "--O1", "--prime", prime, "-l", "lib"]
    node.run("circom2", "c.circom", *options, at=tmp_path)
    node.run("snarkjs", "wtns", "calculate", "c_js/c.wasm", "i.json", "theirs.wtns", at=tmp_path)
    generator = zk.WitnessGenerator(
        tmp_path / "c_js" / "c.wasm", sym=tmp_path / "c.sym", optimize=False
    )
    generator.witness(tmp_path / "i.json").save(tmp_path / "ours.wtns")
    assert (tmp_path / "ours.wtns").read_bytes() == (tmp_path / "theirs.wtns").read_bytes()
