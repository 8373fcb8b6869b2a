"""What the namespace says about itself."""

from __future__ import annotations

from cloakwork._core import DTYPES, DType, complex128, float64, int64
from cloakwork.array_api.datatypes import isdtype
from cloakwork.tensors.conversion import device_names, on_device

__array_api_version__ = "2025.12"
# Axes that a tensor may have.
_MAX_RANK = 16


class NamespaceInfo:
    """Devices, dtypes and abilities; see `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, bool | int]:
        """What is supported of what libraries may leave out."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MAX_RANK,
        }

    def default_device(self) -> str:
        """Where tensors are made."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """Where tensors can be."""
        return tuple(device_names())

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The dtypes of what is made of Python's numbers, and of indices."""
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
    """What devices, dtypes and abilities there are.

    >>> import cloakwork as cw
    >>> cw.__array_namespace_info__().default_device()
    'cpu'
    """
    return NamespaceInfo()
