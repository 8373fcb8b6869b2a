"""Concrete-ML as a side of benches/model_peers.py: integers under TFHE.

Its documented defaults: 8 bits for linear models, 6 for trees (`tree_bits` overrides them), an
error of a bootstrapping of at most 2^-40, comparisons of trees rounded, sums over trees by the
client.  Networks by `compile_torch_model`, quantized after training, with 6 bits and accumulators
rounded to 6.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from model_side import Work, given
from serve import serve, status_bytes
from trees import same_trees

LINEAR_BITS, TREE_BITS, NETWORK_BITS = 8, 6, 6


class Concrete:
    """A compiled model: quantized inputs, a circuit, results as floats."""

    def __init__(self, wanted: dict[str, Any], arrays: dict[str, Any]) -> None:
        self._is_network = wanted["case"] == "network"
        if self._is_network:
            self._model, self.settings = _network(arrays)
        else:
            bits = wanted.get("tree_bits", TREE_BITS)
            self._model, bits = _trees(arrays, bits) if "shape" in arrays else _logistic(arrays)
            self.settings = f"n_bits={bits}"
            self._model.compile(arrays["sample"])
        self._circuit = self._model.fhe_circuit

    def keygen(self) -> None:
        """Make all keys of a client."""
        self._circuit.keygen(force=True)

    def encrypt(self, x: Any) -> Any:
        """One input."""
        return self._circuit.encrypt(self._model.quantize_input(x[None]))

    def run(self, encrypted: Any) -> Any:
        """The circuit, as `fhe="execute"` runs it."""
        return self._circuit.run(encrypted)

    def decrypt(self, result: Any) -> Any:
        """Probabilities, or the scores of a network."""
        found = self._model.dequantize_output(self._circuit.decrypt(result))
        return np.asarray(found if self._is_network else self._model.post_processing(found))[0]

    def in_plain(self, inputs: Any) -> Any:
        """The quantized model's results: the circuit's integers in plain."""
        if self._is_network:
            return self._model.forward(inputs, fhe="disable")
        return self._model.predict_proba(inputs, fhe="disable")

    def sizes(self, encrypted: Any, result: Any) -> dict[str, float]:
        """Bytes as they are sent."""
        keys = self._circuit.client.evaluation_keys
        sent = {"key_bytes": keys, "input_bytes": encrypted, "result_bytes": result}
        return {name: float(len(value.serialize())) for name, value in sent.items()}


def _logistic(arrays: dict[str, Any]) -> tuple[Any, int]:
    from concrete.ml.sklearn import LogisticRegression
    from sklearn.linear_model import LogisticRegression as Plain

    plain = Plain().fit(arrays["sample"], arrays["labels"])
    plain.coef_, plain.intercept_ = arrays["weights"], arrays["bias"]
    own = LogisticRegression.from_sklearn_model(plain, arrays["sample"], n_bits=LINEAR_BITS)
    return own, LINEAR_BITS


def _trees(arrays: dict[str, Any], bits: int) -> tuple[Any, int]:
    from concrete.ml.sklearn import DecisionTreeClassifier, RandomForestClassifier

    own = DecisionTreeClassifier if arrays["shape"][0] == 1 else RandomForestClassifier
    return own.from_sklearn_model(same_trees(arrays), arrays["sample"], n_bits=bits), bits


def _network(arrays: dict[str, Any]) -> tuple[Any, str]:
    import torch
    from concrete.ml.torch.compile import compile_torch_model

    class Squares(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(64, 32), torch.nn.Linear(32, 10)

        def forward(self, x: Any) -> Any:
            return self.last(self.first(x) ** 2)

    network = Squares()
    names = {"first.weight": "w0", "first.bias": "b0", "last.weight": "w1", "last.bias": "b1"}
    network.load_state_dict({name: torch.tensor(arrays[key]) for name, key in names.items()})
    sample, rounded = arrays["sample"].astype(np.float32), {"n_bits": NETWORK_BITS}
    module = compile_torch_model(
        network,
        sample,
        n_bits=NETWORK_BITS,
        rounding_threshold_bits={**rounded, "method": "approximate"},
    )
    return module, f"n_bits={NETWORK_BITS}, rounding_threshold_bits={NETWORK_BITS}, approximate"


def main() -> None:
    """Compile, and serve keys, encryption, runs and decryption."""
    warnings.simplefilter("ignore")
    wanted, arrays = given(sys.argv[1])
    start = float(status_bytes("VmHWM"))
    import concrete.ml.sklearn  # noqa: F401  # not a part of compiling

    began = time.process_time()
    own = Concrete(wanted, arrays)
    taken = time.process_time() - began
    facts = {"settings": f"{own.settings}, p_error 2^-40", "start_bytes": start, "compile": taken}
    np.save(Path(wanted["folder"]) / f"{wanted['name']}.quantized.npy", own.in_plain(arrays["x"]))
    serve(Work(wanted, arrays["x"], own).operations(), facts)


if __name__ == "__main__":
    main()
