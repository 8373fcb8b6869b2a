"""Zero-knowledge proofs: circom's circuits under Groth16, and programs of the instruction set.

`ProgramBuilder` writes programs of threads, streams and events instruction by instruction,
`Program` loads, checks and runs them; `program` and `compile` make programs of Python functions
over tensors (`docs/zk.md`).  `groth16` proves and verifies; `read_r1cs`, `read_wtns` and
`read_zkey` open the files that circom and snarkjs write.  `field` and `curve` give the parameters
of fields and curves; `Transcript`, `poseidon`, `permute_expression`, `uniform` and `blind` are
further building blocks of provers.
"""

from typing import TYPE_CHECKING

from cloakwork.lazy import lazily

if TYPE_CHECKING:
    from cloakwork.zk.namespace import *  # noqa: F403 (the names are listed there)
else:
    __getattr__, __dir__ = lazily(__name__)
