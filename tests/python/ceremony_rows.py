"""Options of the commands for ceremonies: the function that each reaches, and with what."""

from __future__ import annotations

from typing import Any

from cloakwork.zk import ceremony

CEREMONIES: dict[tuple[str, str], tuple[Any, str, str, str]] = {
    ("ptau contribute", "--name"): (ceremony, "contribute", "ptau contribute a b --name n", "n"),
    ("ptau contribute", "--entropy"): (ceremony, "contribute", "ptau contribute a b -e e", "e"),
    ("ptau beacon", "--name"): (ceremony, "beacon", "ptau beacon a b 00 10 --name n", "n"),
    ("zkey contribute", "--name"): (
        ceremony,
        "contribute_key",
        "zkey contribute a b --name n",
        "n",
    ),
    ("zkey contribute", "--entropy"): (ceremony, "contribute_key", "zkey contribute a b -e e", "e"),
    ("zkey beacon", "--name"): (ceremony, "beacon_key", "zkey beacon a b 00 10 --name n", "n"),
}
