"""A compiled model, run on encrypted inputs directly and as a HEAL transcript that was saved.

The demonstrations of models do so: `fhe.compile` makes the program, the client encrypts; the
program is expanded into HEAL's ops, saved, read back, checked and run; the client decrypts what the
transcript computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.demo.stage import Phases

Floats = NDArray[np.float64]

PHASES = (
    "compile", "make keys", "encrypt", "run directly", "write transcript", "check transcript",
    "run transcript", "decrypt",
)  # fmt: skip


@dataclass(frozen=True)
class Replayed:
    """The results of a transcript.

    scores       [n, *shape]: the decrypted output of the model, before what the client computes
    same         whether its ciphertexts are those of the program itself, to the bit
    findings     errors and warnings of its check, and `mismatches` of its run
    peak_bytes   the planned peak of the run
    """

    scores: Floats
    same: bool
    findings: int
    mismatches: int
    peak_bytes: int


def replayed(
    phases: Phases, model: CompiledModel, inputs: Floats, path: Path, threads: int | None
) -> Replayed:
    """Run the model on inputs [n, *shape], encrypted all at once; leave a transcript at `path`."""
    client, server = model.split()
    with phases.phase("make keys"):
        client.keygen()
    with phases.phase("encrypt"):
        encrypted = client.encrypt(inputs)
    with phases.phase("run directly"):
        direct = server.run(encrypted, threads=threads)
    with phases.phase("write transcript"):
        model.to_heal(encrypted).save(path)
    with phases.phase("check transcript"):
        transcript = cw.heal.load(path)
        findings = len(transcript.check())
    with phases.phase("run transcript"):
        result = transcript.run(verify=True, threads=threads)
    found = model.results(result.outputs, encrypted)
    with phases.phase("decrypt"):
        (scores,) = client.outputs(found, len(inputs)).values()
    same = all(np.array_equal(found[name].data, direct[name].data) for name in direct)
    return Replayed(scores, same, findings, len(result.mismatches), result.report.peak_bytes)
