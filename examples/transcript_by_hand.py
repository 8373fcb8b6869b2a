"""A transcript written with nothing but json and NumPy, checked and run; then one that is wrong.

    python examples/transcript_by_hand.py [folder for the files]

This is the simplified form of HEAL's documents: no dtypes, no `"__type__"`; they are inferred.
"""

import base64
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
from numpy.typing import ArrayLike


def host(array: ArrayLike) -> dict[str, Any]:
    """A host tensor: a .npy file in base64."""
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    data = base64.b64encode(file.getvalue()).decode()
    return {
        "arg_type": "HOST_TENSOR",
        "value": {"tensor_base64": {"type": "numpy", "data": data}},
    }


def tensor(name: int) -> dict[str, Any]:
    """A device tensor by its number."""
    return {"arg_type": "DEVICE_TENSOR", "value": {"inf_name": name}}


def step(name: str, args: list[dict[str, Any]], out: dict[str, Any]) -> dict[str, Any]:
    """One call."""
    return {"type": "DEVICE_OP", "op": {"name": name, "args": args, "out": out}}


def integer(value: int) -> dict[str, Any]:
    """An integer argument."""
    return {"arg_type": "INT", "value": value}


nothing = {"arg_type": "NONE", "value": None}
a, b = np.array([3, 5, 7]), np.array([10, 20, 30])
steps = [
    step("host_to_device", [host(a)], tensor(1)),
    step("host_to_device", [host(b)], tensor(2)),
    step("_modmul_ttc", [tensor(1), tensor(2), integer(97), tensor(2)], tensor(2)),
    step("device_to_host", [tensor(2), nothing], host(a * b % 97)),
]
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
right = folder / "right.json"
right.write_text(json.dumps(steps))
transcript = cw.heal.load(right)
print(transcript.text())
assert transcript.run(verify=True).mismatches == []

# One wrong number in the expected value, and a modulus that is none.
steps[3] = step("device_to_host", [tensor(2), nothing], host([30, 3, 0]))
wrong = folder / "wrong.json"
wrong.write_text(json.dumps(steps))
for mismatch in cw.heal.load(wrong).run(verify=True).mismatches:
    print(mismatch)

steps[2] = step("_modmul_ttc", [tensor(1), tensor(2), integer(0), tensor(2)], tensor(2))
refused = folder / "refused.json"
refused.write_text(json.dumps(steps))
for finding in cw.heal.load(refused).check():
    print(finding)
