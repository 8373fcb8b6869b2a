"""Zero-knowledge proofs: circom's circuits proved and verified under Groth16.

`groth16` proves and verifies; `read_r1cs`, `read_wtns` and `read_zkey` open the files that circom
and snarkjs write.
"""

from cloakwork.zk import groth16
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
from cloakwork.zk.statements import Proof, Public, VerifyingKey

__all__ = [
    "Circuit",
    "Matrix",
    "Proof",
    "ProvingKey",
    "Public",
    "VerifyingKey",
    "Witness",
    "groth16",
    "read_r1cs",
    "read_wtns",
    "read_zkey",
    "write_r1cs",
    "write_wtns",
]
