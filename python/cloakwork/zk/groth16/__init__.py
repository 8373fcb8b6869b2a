"""Groth16 over BN254 and BLS12-381, on snarkjs's files.  Source: J. Groth, eprint 2016/260."""

from cloakwork.zk.groth16.verifying import verify

__all__ = ["verify"]
