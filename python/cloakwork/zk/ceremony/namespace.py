"""The names of `cloakwork.zk.ceremony`; loaded when one is asked for."""

from cloakwork.zk.ceremony.contributions import Beacon, Contribution
from cloakwork.zk.ceremony.keys import KeyCeremony, beacon_key, contribute_key, read_key
from cloakwork.zk.ceremony.keys_verifying import verify_key
from cloakwork.zk.ceremony.powers import beacon, contribute, new
from cloakwork.zk.ceremony.powers_file import PowersOfTau, read
from cloakwork.zk.ceremony.preparing import prepare
from cloakwork.zk.ceremony.setting import setup
from cloakwork.zk.ceremony.verifying import verify

__all__ = [
    "Beacon",
    "Contribution",
    "KeyCeremony",
    "PowersOfTau",
    "beacon",
    "beacon_key",
    "contribute",
    "contribute_key",
    "new",
    "prepare",
    "read",
    "read_key",
    "setup",
    "verify",
    "verify_key",
]
