"""TenSEAL as a side of benches/model_peers.py: vectors, with the calls of its tutorials.

Logistic regression with degree 4,096 and `dot`, as in its tutorial, but with a scale of 30 bits: 20
cost as much and leave errors of up to 0.9 here.  A network with degree 8,192, a modulus of 36 bits
for each of three levels, and `mm`.  Vectors repeat over all
slots, which `mm` relies on, but a sum with a plain vector does not repeat it (its issue 462): the
hidden bias is encrypted.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tenseal
from model_side import Work, given
from serve import serve, status_bytes

PARAMETERS = {"logistic": (4096, [36, 30, 36]), "network": (8192, [50, 36, 36, 36, 50])}


class TenSEAL:
    """A model as vectors and matrices."""

    def __init__(self, case: str, arrays: dict[str, Any]) -> None:
        self._case, self.degree, self.bits = case, *PARAMETERS[case]
        if case == "logistic":
            self._weights, self._bias = arrays["weights"][0].tolist(), float(arrays["bias"][0])
        else:
            self._first, self._last = arrays["w0"].T.tolist(), arrays["w1"].T.tolist()
            self._biases = [arrays[name].tolist() for name in ("b0", "b1")]

    def keygen(self) -> None:
        """A context with all keys of a client."""
        scheme = tenseal.SCHEME_TYPE.CKKS
        self._context = tenseal.context(scheme, self.degree, -1, self.bits, n_threads=1)
        self._context.global_scale = 2.0 ** self.bits[1]
        self._context.generate_galois_keys()
        if self._case == "network":
            self._hidden_bias = tenseal.ckks_vector(self._context, self._biases[0])

    def encrypt(self, x: Any) -> Any:
        """One input."""
        return tenseal.ckks_vector(self._context, x.tolist())

    def run(self, x: Any) -> Any:
        """Products of vectors and matrices."""
        if self._case == "logistic":
            return x.dot(self._weights) + self._bias
        inside = x.mm(self._first) + self._hidden_bias
        return inside.square().mm(self._last) + self._biases[1]

    def decrypt(self, result: Any) -> Any:
        """Probabilities, or the scores of a network."""
        found = np.array(result.decrypt())
        if self._case == "network":
            return found
        positive = 1 / (1 + np.exp(-found[0]))
        return np.array([1 - positive, positive])

    def sizes(self, encrypted: Any, result: Any) -> dict[str, float]:
        """Bytes as they are sent."""
        keys = self._context.serialize(save_public_key=False, save_secret_key=False)
        sent = {"key_bytes": keys}
        sent |= {"input_bytes": encrypted.serialize(), "result_bytes": result.serialize()}
        return {name: float(len(data)) for name, data in sent.items()}


def main() -> None:
    """Serve keys, encryption, runs and decryption."""
    wanted, arrays = given(sys.argv[1])
    start = float(status_bytes("VmHWM"))
    own = TenSEAL(wanted["case"], arrays)
    facts = {"settings": f"degree {own.degree:,}, moduli {own.bits}", "start_bytes": start}
    serve(Work(wanted, arrays["x"], own).operations(), facts)


if __name__ == "__main__":
    main()
