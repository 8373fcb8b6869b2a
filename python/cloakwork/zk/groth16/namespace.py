"""The names of `cloakwork.zk.groth16`; loaded when one is asked for."""

from cloakwork.zk.circom.statements import save
from cloakwork.zk.groth16.batching import verify_many
from cloakwork.zk.groth16.proving import Prover, prove
from cloakwork.zk.groth16.setting import setup
from cloakwork.zk.groth16.verifying import verify

__all__ = ["Prover", "prove", "save", "setup", "verify", "verify_many"]
