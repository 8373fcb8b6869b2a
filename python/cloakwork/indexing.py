"""Indexing by tensors and masks; what integers and slices show is a view and the engine's."""

from __future__ import annotations

from typing import Any

from cloakwork import _core, ops
from cloakwork.errors import TensorIndexError


def get(tensor: _core.Tensor, key: Any) -> _core.Tensor:
    """Elements that integer tensors or a mask pick: a copy."""
    view, index, shape, place = _resolve(tensor, key)
    flat = view.reshape(-1, *view.shape[view.ndim - place :]) if place else view.reshape(-1)
    rows = ops.take_along_axis(
        flat, _as_rows(index, flat.ndim), 0, ops.empty([index.size, *flat.shape[1:]], flat.dtype)
    )
    picked = rows.reshape([*shape, *flat.shape[1:]])
    return picked


def put(tensor: _core.Tensor, key: Any, value: Any) -> None:
    """Write to the elements that integer tensors or a mask pick."""
    raise NotImplementedError
