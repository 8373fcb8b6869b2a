"""Zero-knowledge proofs: circom's circuits under Groth16, and programs of the instruction set.

`ProgramBuilder` writes programs of threads, streams and events instruction by instruction,
`Program` loads, checks and runs them (`docs/zk.md`).  `groth16` proves and verifies; `read_r1cs`,
`read_wtns` and `read_zkey` open the files that circom and snarkjs write.
"""

from cloakwork.zk import groth16
from cloakwork.zk.builder import ProgramBuilder
from cloakwork.zk.files import (
    Circuit,
    Matrix,
    ProvingKey,
    Witness,
    read_r1cs,
    read_wtns,
    read_zkey,
    write_r1cs,
    write_wtns,
)
from cloakwork.zk.program import Outcome, Program, run
from cloakwork.zk.statements import Proof, Public, VerifyingKey
from cloakwork.zk.values import bytes_of, point, points, poly, scalar, tensor, transcript

__all__ = [
    "Circuit",
    "Matrix",
    "Outcome",
    "Program",
    "ProgramBuilder",
    "Proof",
    "ProvingKey",
    "Public",
    "VerifyingKey",
    "Witness",
    "bytes_of",
    "groth16",
    "point",
    "points",
    "poly",
    "read_r1cs",
    "read_wtns",
    "read_zkey",
    "run",
    "scalar",
    "tensor",
    "transcript",
    "write_r1cs",
    "write_wtns",
]
