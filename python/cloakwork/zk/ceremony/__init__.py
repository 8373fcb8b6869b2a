"""Ceremonies of Groth16 in snarkjs's files: powers of tau, and from them keys of circuits.

No party knows the secrets unless all parties of a ceremony keep theirs.  `new`, `contribute`,
`beacon`, `prepare` and `verify` work on powers of tau, `setup` makes a circuit's key from them,
`contribute_key`, `beacon_key` and `verify_key` work on that key.  Source: S. Bowe, A. Gabizon and
I. Miers, eprint 2017/1050; the files are those of npm `snarkjs` 0.7.6.
"""

from typing import TYPE_CHECKING

from cloakwork.lazy import lazily

if TYPE_CHECKING:
    from cloakwork.zk.ceremony.namespace import *  # noqa: F403 (the names are listed there)
else:
    __getattr__, __dir__ = lazily(__name__)
