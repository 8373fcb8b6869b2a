"""The memory of a process after a PLONK proof contains neither the witness nor the blinding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cloakwork import _core, zk
from cloakwork.fields.parameters import ORDERS
from python.test_zk_wiping import found_in, in_both_forms, linux, waiting

VECTORS = Path(__file__).parents[1] / "vectors"
KEY = VECTORS / "plonk" / "bn128" / "mixed.zkey"
WITNESS = VECTORS / "groth16" / "bn128" / "mixed1.wtns"
PRIME = ORDERS["bn254"]
PROVE = """
from cloakwork import zk
proof, public = zk.plonk.prove(key, witness, check=False, **options)
"""
FAIL = """
from cloakwork import zk
from cloakwork.errors import WitnessError
try:
    zk.plonk.prove(key, witness, check=False)
except WitnessError:
    pass
"""
UNWIPED = "_core.wiped = lambda function: function()\n"


def needles() -> dict[bytes, str]:
    """Long values of private wires, and b1 to b11 where they are long, by description."""
    words = np.asarray(zk.read_wtns(WITNESS).words)
    wires = [int.from_bytes(row.tobytes(), "little") for row in words]
    named = {f"wire {at}": value for at, value in enumerate(wires) if at > 3 and value > 2**200}
    drawn = [
        int.from_bytes(
            np.asarray(_core.random_words((1, 4), bytes([seed] * 32))).tobytes(), "little"
        )
        % 2**254
        for seed in range(100)
    ]
    blinding = [number for number in drawn if number < PRIME][:11]
    assert named
    assert len(blinding) == 11
    named |= {f"b{at + 1}": value for at, value in enumerate(blinding) if value > 2**200}
    return in_both_forms(named)


@linux
def test_without_wiping_a_proof_leaves_the_blinding_or_the_witness() -> None:
    names: dict[str, object] = {"key": str(KEY), "witness": str(WITNESS), "options": {}}
    with waiting(UNWIPED + PROVE, **names) as child:
        assert found_in(child, needles())


@linux
@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 2}])
def test_nothing_is_left_of_a_proof(options: dict[str, int]) -> None:
    names: dict[str, object] = {"key": str(KEY), "witness": str(WITNESS), "options": options}
    with waiting(PROVE, **names) as child:
        assert found_in(child, needles()) == set()


@linux
def test_nothing_is_left_of_a_wrong_witness(tmp_path: Path) -> None:
    words = np.asarray(zk.read_wtns(WITNESS).words)
    wires = [int.from_bytes(row.tobytes(), "little") for row in words]
    short = next(at for at, value in enumerate(wires) if at > 3 and value <= 2**200)
    wires[short] += 1
    zk.write_wtns("bn254", wires, tmp_path / "wrong.wtns")
    names: dict[str, object] = {"key": str(KEY), "witness": str(tmp_path / "wrong.wtns")}
    with waiting(FAIL, **names) as child:
        assert found_in(child, needles()) == set()
