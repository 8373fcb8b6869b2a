"""OpenFHE's wheel, a portable build. It contains a library for CPython 3.10 only.

Argument: a JSON object with `degree` and `moduli` (bits of the chain).  Three digits, its default,
special primes of its own choice; rescaling when told (FIXEDMANUAL).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable

import openfhe
from serve import serve, status_bytes


def main(wanted: dict) -> None:
    """Make the requested objects and serve operations on them."""
    start = {"start_bytes": float(status_bytes("VmHWM"))}
    degree, moduli = wanted["degree"], wanted["moduli"]
    context, keys = context_of(degree, moduli)
    values = [0.5 - (i % 7) / 8 for i in range(degree // 2)]
    plain = context.MakeCKKSPackedPlaintext(values)
    x, y = (context.Encrypt(keys.publicKey, plain) for _ in range(2))
    product = context.EvalMultNoRelin(x, y)
    order, hoisted = 2 * degree, context.EvalFastRotationPrecompute(x)
    operations: dict[str, Callable[[], object]] = {
        "relinearize": lambda: context.Relinearize(product),
        "rotate": lambda: context.EvalRotate(x, 1),
        "hoist": lambda: context.EvalFastRotationPrecompute(x),
        "hoisted": lambda: context.EvalFastRotation(x, 1, order, hoisted),
        "multiply": lambda: context.Rescale(context.EvalMult(x, y)),
        "multiply_plain": lambda: context.Rescale(context.EvalMult(x, plain)),
        "encrypt": lambda: context.Encrypt(keys.publicKey, plain),
        "decrypt": lambda: context.Decrypt(keys.secretKey, x),
    }
    serve(operations, {**start, "key_file_bytes": key_file_bytes(context)})


def context_of(degree: int, moduli: list[int]) -> tuple:
    """A context with the keys for a product and for a rotation by one."""
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetRingDim(degree)
    parameters.SetMultiplicativeDepth(len(moduli) - 1)
    parameters.SetScalingModSize(moduli[-1])
    parameters.SetFirstModSize(moduli[0])
    parameters.SetScalingTechnique(openfhe.FIXEDMANUAL)
    parameters.SetKeySwitchTechnique(openfhe.HYBRID)
    parameters.SetSecurityLevel(openfhe.HEStd_NotSet)
    context = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        context.Enable(feature)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [1])
    return context, keys


def key_file_bytes(context: openfhe.CryptoContext) -> float:
    """Bytes of the rotation key on disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "key")
        assert context.SerializeEvalAutomorphismKey(path, openfhe.BINARY)
        return float(os.path.getsize(path))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
