"""Cloakwork's own side, in a process like the others'.

Argument: a JSON object with `degree`, `moduli` and `special` (bits), and `threads`, a list:
operations on more than one thread are named `rotate@2`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import fhe
from serve import serve, status_bytes

HOISTED = 4


def main(wanted: dict[str, Any]) -> None:
    """Make keys and ciphertexts and serve operations on them."""
    start = {"start_bytes": float(status_bytes("VmHWM"))}
    cw.set_threads(1)
    context = fhe.ckks(wanted["degree"], wanted["moduli"], wanted["special"], levels="manual")
    keys = context.keygen(rotations=[1], conjugation=False)
    values = np.random.default_rng(1).uniform(-1, 1, wanted["degree"] // 2)
    x, y, plain = keys.encrypt(values), keys.encrypt(values), context.encode(values)
    product = x * y
    operations: dict[str, Callable[[], object]] = {
        "relinearize": product.relinearize,
        "rotate": lambda: x.rotate(1),
        "rotate_many": lambda: x.rotate_many([1] * (HOISTED + 1)),
        "multiply": lambda: rescaled(x, y),
        "multiply_plain": lambda: rescaled(x, plain),
        "encrypt": lambda: keys.public.encrypt(plain),
        "decrypt": lambda: keys.decrypt_plaintext(x),
    }
    for threads in wanted["threads"]:
        for name in ("rotate", "multiply"):
            operations[f"{name}@{threads}"] = on(threads, operations[name])
    serve(operations, {"hoisted": HOISTED, **start, **key_bytes(keys)})


def rescaled(x: fhe.Ciphertext, y: fhe.Ciphertext | fhe.Plaintext) -> fhe.Ciphertext:
    """The product, relinearized if it needs to be, over its last modulus."""
    return (x * y).rescale()


def on(threads: int, run: Callable[[], object]) -> Callable[[], object]:
    """Run the operation on this many threads, and reset to one."""

    def threaded() -> None:
        cw.set_threads(threads)
        run()
        cw.set_threads(1)

    return threaded


def key_bytes(keys: fhe.Keys) -> dict[str, float]:
    """A rotation key in memory, and in a file."""
    evaluation = keys.evaluation
    one = fhe.EvaluationKeys(keys.context, keys.key, None, evaluation.galois)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "key")
        one.save(path)
        on_disk = float(os.path.getsize(path))
    return {"key_bytes": float(one.size_bytes), "key_file_bytes": on_disk}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
