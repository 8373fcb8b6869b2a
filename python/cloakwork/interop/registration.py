"""Calls that tell other libraries of tensors."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

import cloakwork
from cloakwork._core import Tensor
from cloakwork.errors import ParamError


def register_einops() -> None:
    """Make `einops.rearrange`, `reduce`, `repeat`, `pack`, `unpack` and `einsum` take tensors.

    They compute with Cloakwork's functions, so also in a trace and on devices.  einops looks for
    backends among the subclasses of its own; its layers do not take tensors.  ParamError where
    einops is not installed.
    """
    _einops_backend()


def register_dask() -> None:
    """Make `percentile` of dask's arrays take tensors as chunks; their other functions do unasked.

    `dask.array.from_array(x, asarray=False)` keeps tensors.  ParamError where dask is not
    installed.
    """
    _loaded("dask.array.dispatch").percentile_lookup.register(Tensor, _percentiles)


# einops keeps no reference to a backend that it has not used.
@cache
def _einops_backend() -> type:
    """A backend of einops whose framework is Cloakwork."""
    base: type = _loaded("einops._backends").AbstractBackend
    return type("CloakworkBackend", (_EinopsBackend, base), {"framework_name": "cloakwork"})


def _loaded(module: str) -> Any:
    """A module of an optional library; ParamError where that is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise ParamError(library, "not installed", f"pip install {library}") from error


class _EinopsBackend:
    """The functions that einops calls, beside methods that tensors have by NumPy's names."""

    def is_appropriate_type(self, tensor: object) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: np.ndarray[Any, Any]) -> Tensor:
        return cloakwork.asarray(x)

    def to_numpy(self, x: Tensor) -> np.ndarray[Any, Any]:
        return np.asarray(x)

    def arange(self, start: int, stop: int) -> Tensor:
        return cloakwork.arange(start, stop)

    def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
        return cloakwork.stack(tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return cloakwork.expand_dims(x, new_position)

    def tile(self, x: Tensor, repeats: tuple[int, ...]) -> Tensor:
        return cloakwork.tile(x, repeats)

    def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
        return cloakwork.concat(tensors, axis=axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.kind in "fc"

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        return cloakwork.einsum(pattern, *x)


def _percentiles(x: Tensor, q: Any, method: Any = "linear") -> tuple[Tensor | None, int]:
    """The percentiles of one chunk, and its number of elements."""
    found = cloakwork.percentile(x, q, method=method) if x.size else None
    return found, x.size
