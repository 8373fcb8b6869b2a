"""The names of `cloakwork.device`, loaded at the first use of one of them."""

from __future__ import annotations

from cloakwork.device.drivers import Driver, drivers, load_driver
from cloakwork.device.headers import include_dir

__all__ = ["Driver", "drivers", "include_dir", "load_driver"]
