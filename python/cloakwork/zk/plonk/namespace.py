"""The names of `cloakwork.zk.plonk`; loaded when one is asked for."""

from cloakwork.zk.circom.statements import save
from cloakwork.zk.plonk.keys import ProvingKey, read_zkey
from cloakwork.zk.plonk.proving import Prover, prove
from cloakwork.zk.plonk.setting import setup
from cloakwork.zk.plonk.statements import Proof, VerifyingKey
from cloakwork.zk.plonk.verifying import verify

__all__ = [
    "Proof",
    "Prover",
    "ProvingKey",
    "VerifyingKey",
    "prove",
    "read_zkey",
    "save",
    "setup",
    "verify",
]
