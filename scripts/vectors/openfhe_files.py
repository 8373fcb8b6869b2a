"""Files of OpenFHE in JSON.

With Python 3.10: pip install numpy openfhe==1.6.1.0.22.4; python scripts/vectors/openfhe_files.py.
Toy parameters: the secret key is in the file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import openfhe

DEGREE = 32


def made(digits: int) -> dict[str, Any]:
    """The files of one context."""
    given = openfhe.CCParamsCKKSRNS()
    given.SetMultiplicativeDepth(2)
    given.SetScalingModSize(30)
    given.SetFirstModSize(45)
    given.SetRingDim(DEGREE)
    given.SetBatchSize(DEGREE // 2)
    given.SetSecurityLevel(openfhe.SecurityLevel.HEStd_NotSet)
    given.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
    given.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
    given.SetNumLargeDigits(digits)
    context = openfhe.GenCryptoContext(given)
    for name in ("PKE", "KEYSWITCH", "LEVELEDSHE"):
        context.Enable(getattr(openfhe.PKESchemeFeature, name))
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [1])
    values = [i % 7 - 3.0 for i in range(DEGREE // 2)]
    x = context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(values))
    square = context.Rescale(context.EvalMult(x, x))
    objects = {"parameters": context, "public": keys.publicKey, "secret": keys.secretKey}
    objects |= {"ciphertext": x, "square": square}
    with tempfile.TemporaryDirectory() as folder:
        for name, held in objects.items():
            openfhe.SerializeToFile(f"{folder}/{name}", held, openfhe.JSON)
        tag = keys.secretKey.GetKeyTag()
        context.SerializeEvalMultKey(f"{folder}/relin", openfhe.JSON, tag)
        context.SerializeEvalAutomorphismKey(f"{folder}/galois", openfhe.JSON, tag)
        found = {path.name: json.loads(path.read_bytes()) for path in Path(folder).iterdir()}
    return {"values": values, **dict(sorted(found.items()))}


def write() -> None:
    """Write tests/vectors/files_openfhe.json."""
    file = {
        "source": f"OpenFHE {openfhe.__version__}, its Python wheel",
        "url": "https://pypi.org/project/openfhe",
        "generated_by": "scripts/vectors/openfhe_files.py",
        "cases": [made(3), made(2)],
    }
    path = Path(__file__).parents[2] / "tests" / "vectors" / "files_openfhe.json"
    path.write_text(json.dumps(file, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write()
