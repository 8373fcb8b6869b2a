"""Groth16 verifiers as contracts for Ethereum, and the calls that hand them proofs.

`solidity` and `vyper` write the text of a contract for one verifying key, `calldata` the arguments
of its `verifyProof` (`docs/verifiers.md`).
"""

from typing import TYPE_CHECKING

from cloakwork.lazy import lazily

if TYPE_CHECKING:
    from cloakwork.zk.export.namespace import *  # noqa: F403 (the names are listed there)
else:
    __getattr__, __dir__ = lazily(__name__)
