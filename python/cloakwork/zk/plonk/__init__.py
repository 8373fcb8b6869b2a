"""PLONK over BN254 and BLS12-381, on snarkjs's files.

Source: A. Gabizon, Z. J. Williamson, O. Ciobotaru, eprint 2019/953, section 8.4, with the
transcript of snarkjs.

`prove` makes proofs that snarkjs verifies, `verify` verifies proofs of snarkjs; `setup` makes keys
from the powers of tau of a ceremony.
"""

from typing import TYPE_CHECKING

from cloakwork.lazy import lazily

if TYPE_CHECKING:
    from cloakwork.zk.plonk.namespace import *  # noqa: F403 (the names are listed there)
else:
    __getattr__, __dir__ = lazily(__name__)
