"""OpenFHE as a side of benches/model_peers.py: CKKS with its default techniques, at 128 bits.

OpenFHE has no layer for models.  Logistic regression is its `EvalInnerProduct`; the matrices of a
network are written here, by diagonals in baby steps, hoisted, and giant steps.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import Any

import numpy as np
import openfhe
from model_side import Work, given
from serve import serve, status_bytes

# Slots in use, and levels.
SHAPES = {"logistic": (32, 1), "network": (64, 3)}
BABY = 8


class OpenFHE:
    """A model on one ciphertext of few slots, which repeat."""

    def __init__(self, case: str, arrays: dict[str, Any]) -> None:
        self._case, (self._slots, depth) = case, SHAPES[case]
        parameters = openfhe.CCParamsCKKSRNS()
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetScalingModSize(50)
        parameters.SetBatchSize(self._slots)
        self._context = openfhe.GenCryptoContext(parameters)
        for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE, openfhe.ADVANCEDSHE):
            self._context.Enable(feature)
        self.degree = self._context.GetRingDimension()
        self._order = self._context.GetCyclotomicOrder()
        if case == "logistic":
            self._weights = self._plain(arrays["weights"][0])
            self._bias = float(arrays["bias"][0])
            return
        self._first = self._matrix(arrays["w0"])
        self._last = self._matrix(np.pad(arrays["w1"], ((0, 6), (0, 0))))
        self._biases = [self._plain(_repeated(arrays[b], self._slots)) for b in ("b0", "b1")]

    def keygen(self) -> None:
        """All keys of a client."""
        openfhe.ClearEvalMultKeys()
        self._context.ClearEvalAutomorphismKeys()
        self._keys = self._context.KeyGen()
        secret = self._keys.secretKey
        if self._case == "logistic":
            self._context.EvalSumKeyGen(secret)
            return
        self._context.EvalMultKeyGen(secret)
        self._context.EvalRotateKeyGen(secret, [*range(1, BABY), 8, 16, 24, 32])

    def encrypt(self, x: Any) -> Any:
        """One input."""
        return self._context.Encrypt(self._keys.publicKey, self._plain(x))

    def run(self, x: Any) -> Any:
        """An inner product, or two matrices with squares between them."""
        context = self._context
        if self._case == "logistic":
            return context.EvalAdd(context.EvalInnerProduct(x, self._weights, 32), self._bias)
        inside = context.EvalAdd(self._product(self._first, x), self._biases[0])
        scores = self._product(self._last, context.EvalSquare(inside))
        return context.EvalAdd(scores, self._biases[1])

    def decrypt(self, result: Any) -> Any:
        """Probabilities, or the scores of a network."""
        plain = self._context.Decrypt(result, self._keys.secretKey)
        plain.SetLength(16)
        found = np.array(plain.GetRealPackedValue())
        if self._case == "network":
            return found[:10]
        positive = 1 / (1 + np.exp(-found[0]))
        return np.array([1 - positive, positive])

    def sizes(self, encrypted: Any, result: Any) -> dict[str, float]:
        """Bytes of files."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")

            def size(of: Any) -> float:
                assert openfhe.SerializeToFile(path, of, openfhe.BINARY)
                return float(os.path.getsize(path))

            assert self._context.SerializeEvalAutomorphismKey(path, openfhe.BINARY)
            keys = float(os.path.getsize(path))
            if self._case == "network":
                assert self._context.SerializeEvalMultKey(path, openfhe.BINARY)
                keys += os.path.getsize(path)
            return {
                "key_bytes": keys,
                "input_bytes": size(encrypted),
                "result_bytes": size(result),
            }

    def _plain(self, values: Any) -> Any:
        padded = np.zeros(self._slots)
        padded[: len(values)] = values
        return self._context.MakeCKKSPackedPlaintext(padded.tolist())

    def _matrix(self, weights: Any) -> list[list[Any]]:
        """Diagonals of [rows, columns], in groups of BABY, rotated back by their giant step."""
        rows, columns = weights.shape
        k = np.arange(self._slots)
        diagonals = [weights[k % rows, (k + d) % columns] for d in range(rows)]
        return [
            [self._plain(np.roll(diagonals[g + b], g)) for b in range(BABY)]
            for g in range(0, rows, BABY)
        ]

    def _product(self, groups: list[list[Any]], x: Any) -> Any:
        """`weights @ x`, repeated: of half of the columns, then of the others by one fold."""
        context, digits = self._context, self._context.EvalFastRotationPrecompute(x)
        turned = [x] + [context.EvalFastRotation(x, b, self._order, digits) for b in range(1, BABY)]
        sums = []
        for number, group in enumerate(groups):
            terms = [context.EvalMult(turned[b], plain) for b, plain in enumerate(group)]
            sums.append(_added(context, terms))
            if number:
                sums[-1] = context.EvalRotate(sums[-1], number * BABY)
        total = _added(context, sums)
        return context.EvalAdd(total, context.EvalRotate(total, len(groups) * BABY))


def _added(context: Any, terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = context.EvalAdd(total, term)
    return total


def _repeated(bias: Any, slots: int) -> Any:
    """A bias for a period of a power of two."""
    period = 1 << (len(bias) - 1).bit_length()
    return np.tile(np.pad(bias, (0, period - len(bias))), slots // period)


def main() -> None:
    """Serve keys, encryption, runs and decryption."""
    wanted, arrays = given(sys.argv[1])
    start = float(status_bytes("VmHWM"))
    began = time.process_time()
    own = OpenFHE(wanted["case"], arrays)
    facts = {"compile": time.process_time() - began, "start_bytes": start}
    facts["settings"] = f"degree {own.degree:,}, depth {SHAPES[wanted['case']][1]}, scale 50 bits"
    serve(Work(wanted, arrays["x"], own).operations(), facts)


if __name__ == "__main__":
    main()
