"""Groth16 over BN254 and BLS12-381, on snarkjs's files.  Source: J. Groth, eprint 2016/260.

`prove` gives proofs that snarkjs verifies, `verify` judges those of snarkjs; `setup` makes keys
without a ceremony, which is for tests and for whoever is prover and verifier at once.
"""

from cloakwork.zk.groth16.proving import Prover, prove
from cloakwork.zk.groth16.setting import setup
from cloakwork.zk.groth16.verifying import verify

__all__ = ["Prover", "prove", "setup", "verify"]
