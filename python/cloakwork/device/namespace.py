"""The names of `cloakwork.device`, loaded at the first use of one of them."""

from __future__ import annotations

from cloakwork.device.comparison import Comparison, Difference, diff
from cloakwork.device.conformance import Failure, OpResult, Report, Speed, conform
from cloakwork.device.custom import CustomOp, custom_ops, load_ops
from cloakwork.device.headers import include_dir
from cloakwork.device.loading import Driver, drivers, load_driver
from cloakwork.device.python_device import PythonDevice, register, takes

__all__ = [
    "Comparison",
    "CustomOp",
    "Difference",
    "Driver",
    "Failure",
    "OpResult",
    "PythonDevice",
    "Report",
    "Speed",
    "conform",
    "custom_ops",
    "diff",
    "drivers",
    "include_dir",
    "load_driver",
    "load_ops",
    "register",
    "takes",
]
