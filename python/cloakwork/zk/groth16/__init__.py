"""Groth16 over BN254 and BLS12-381, on snarkjs's files.  Source: J. Groth, eprint 2016/260.

`prove` makes proofs that snarkjs verifies, `verify` verifies proofs of snarkjs; `setup` makes keys
without a ceremony, for tests and for applications in which prover and verifier are one party.
"""

from typing import TYPE_CHECKING

from cloakwork.lazy import lazily

if TYPE_CHECKING:
    from cloakwork.zk.groth16.namespace import *  # noqa: F403 (the names are listed there)
else:
    __getattr__, __dir__ = lazily(__name__)
