"""The names of `cloakwork.zk.export`; loaded when one is asked for."""

from cloakwork.zk.export.calls import calldata
from cloakwork.zk.export.libraries import arkworks, gnark, read
from cloakwork.zk.export.solidity_text import solidity
from cloakwork.zk.export.vyper_text import vyper

__all__ = ["arkworks", "calldata", "gnark", "read", "solidity", "vyper"]
