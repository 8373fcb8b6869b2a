"""The names of `cloakwork.device`, loaded at the first use of one of them."""

from __future__ import annotations

from cloakwork.device.drivers import Driver, drivers, load_driver

__all__ = ["Driver", "drivers", "load_driver"]
