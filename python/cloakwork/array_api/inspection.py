"""Inspection of the namespace: devices, dtypes and capabilities."""

from __future__ import annotations

from cloakwork._core import DTYPES, DType, complex128, float64, int64
from cloakwork.array_api.datatypes import isdtype
from cloakwork.lazy import public
from cloakwork.tensors.conversion import device_names, on_device

__array_api_version__ = "2025.12"
# The largest number of axes of a tensor.
_MAX_RANK = 16


@public("cloakwork")
class NamespaceInfo:
    """Devices, dtypes and capabilities; see `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, bool | int]:
        """The optional capabilities of the standard that are supported."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MAX_RANK,
        }

    def default_device(self) -> str:
        """The device on which tensors are created."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """The devices that can hold tensors."""
        return tuple(device_names())

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of tensors from Python's numbers, and of indices."""
        on_device(device)
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Every dtype by its name, or those of some kinds; see `isdtype`."""
        on_device(device)
        return {one.name: one for one in DTYPES if kind is None or isdtype(one, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """The devices, dtypes and capabilities of this namespace.

    >>> import cloakwork as cw
    >>> cw.__array_namespace_info__().default_device()
    'cpu'
    """
    return NamespaceInfo()
