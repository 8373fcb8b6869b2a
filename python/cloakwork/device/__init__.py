"""Devices: the drivers of vendors' chips, their headers, and the facts of this machine.

>>> import cloakwork as cw
>>> "nothing" in [driver.name for driver in cw.device.drivers()]
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloakwork.lazy import lazily

if TYPE_CHECKING:
    from cloakwork.device.namespace import *  # noqa: F403 (the names are listed there)

__getattr__, __dir__ = lazily(__name__)
