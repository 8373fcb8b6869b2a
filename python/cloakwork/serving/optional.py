"""Modules that need the packages of the extra `serve`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cloakwork.errors import ParamError
from cloakwork.wording import installing

_PACKAGES = {"fastapi", "h11", "httpx", "starlette", "uvicorn"}


def imported(module: str) -> Any:
    """A module; ParamError with pip's command where a package that it needs is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in _PACKAGES:
            raise
        allowed = f"the package {error.name}: {installing('serve')}"
        raise ParamError(error.name, "not installed", allowed) from error
