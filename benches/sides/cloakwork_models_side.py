"""Cloakwork's compiler as a side of benches/model_peers.py: all defaults, one thread."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
from cloakwork import fhe
from cloakwork.compiler.building import Builder
from cloakwork.errors import OutsideError
from model_side import Work, given
from serve import serve, status_bytes
from trees import same_trees


class Cloakwork:
    """A compiled model and its two halves."""

    def __init__(self, case: str, arrays: dict[str, Any]) -> None:
        self.compiled = fhe.compile(_model(case, arrays), arrays["sample"])
        self._client, self._server = self.compiled.split()
        self._shape = arrays["plain"].shape[1:]

    def keygen(self) -> None:
        """Make all keys of a client."""
        self._client.keygen()

    def encrypt(self, x: Any) -> Any:
        """One input."""
        return self._client.encrypt(x)

    def run(self, encrypted: Any) -> Any:
        """The program, with the evaluation keys alone."""
        return self._server.run(encrypted, self._client.evaluation)

    def decrypt(self, result: Any) -> Any:
        """Probabilities, or the scores of a network; NaN where the client refuses the result."""
        try:
            found = self._client.decrypt(result)
        except OutsideError:
            return np.full(self._shape, np.nan)
        return (found["probabilities"] if isinstance(found, dict) else np.asarray(found))[0]

    def sizes(self, encrypted: Any, result: Any) -> dict[str, float]:
        """Bytes as they are sent."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "keys"
            self._client.evaluation.save(path)
            keys = float(path.stat().st_size)
        sent = {"input_bytes": encrypted, "result_bytes": result}
        return {"key_bytes": keys, **{name: float(len(x.to_bytes())) for name, x in sent.items()}}


def _model(case: str, arrays: dict[str, Any]) -> Any:
    if case in ("tree", "forest"):
        return same_trees(arrays)
    if case == "logistic":
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression().fit(arrays["sample"], arrays["labels"])
        model.coef_, model.intercept_ = arrays["weights"], arrays["bias"]
        return model
    builder = Builder(name="network")
    value = builder.input("x", arrays["w0"].shape[1:])
    inside = builder.affine([(value, arrays["w0"])], arrays["b0"])
    inside = builder.product(inside, inside)
    return builder.graph([builder.affine([(inside, arrays["w1"])], arrays["b1"])])


def main() -> None:
    """Compile, and serve keys, encryption, runs and decryption."""
    cw.set_threads(1)
    warnings.simplefilter("ignore")
    wanted, arrays = given(sys.argv[1])
    start = float(status_bytes("VmHWM"))
    import skl2onnx  # noqa: F401  # not a part of compiling

    began = time.process_time()
    own = Cloakwork(wanted["case"], arrays)
    taken = time.process_time() - began
    chosen = own.compiled.report.chosen
    settings = (
        f"degree {chosen.degree:,}, {chosen.depth} levels, run predicted {chosen.seconds:.3g} s"
    )
    facts = {"settings": settings, "start_bytes": start, "compile": taken}
    serve(Work(wanted, arrays["x"], own).operations(), facts)


if __name__ == "__main__":
    main()
