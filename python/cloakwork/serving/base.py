"""The application around a service: its life, its refusals, and the addresses that all have.

Every refusal is JSON with `error`, `expected`, `got` and `hint`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from cloakwork.errors import CloakworkError, ServingError
from cloakwork.serving import bodies, refusals
from cloakwork.serving.service import Service
from cloakwork.serving.tokens import Guard

_TICK_SECONDS = 0.25

log = logging.getLogger("cloakwork.serving")


def application(service: Service, guard: Guard | None, addresses: str) -> FastAPI:
    """An application with /health, /ready and /v1/status.

    guard       what refuses requests without a token
    addresses   there are, for the refusal of others
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        cleaning = asyncio.create_task(_clean(service))
        yield
        cleaning.cancel()
        await asyncio.gather(cleaning, return_exceptions=True)
        await service.stop()

    app = FastAPI(
        title="cloakwork", lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None
    )
    _common(app, service)
    app.state.door, app.state.limits = service.door, service.limits
    if guard is not None:
        app.add_middleware(guard.before)
    app.add_middleware(bodies.framed_once)
    app.add_exception_handler(ClientDisconnect, _left)

    async def refused(_: Request, error: Exception) -> Response:
        return _refusal(error, addresses)

    for kind in (HTTPException, CloakworkError, OSError, Exception):
        app.add_exception_handler(kind, refused)
    return app


async def _clean(service: Service) -> None:
    """Close connections that are late, and remove what expired, some times a second."""
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        try:
            service.door.tick(monotonic())
            service.expire()
        except OSError as error:
            log.error("files cannot be removed: %s", error.strerror)
        except Exception:
            # It goes on: without it no deadline holds.
            log.error("cleaning failed", exc_info=True)


def _refusal(error: Exception, addresses: str) -> Response:
    if isinstance(error, HTTPException):
        wanted = f"an address of this server: {addresses}"
        refusal = ServingError(error.status_code, "address", wanted, str(error.detail), "")
    elif isinstance(error, OSError):
        log.error("storage: %s", error.strerror)
        refusal = refusals.busy("storage", "room for files", "an error of the disk", 30)
    else:
        refusal = refusals.of(error)
        if refusal.status == refusals.INTERNAL:
            log.error("a request failed", exc_info=error)
    retry = refusal.retry_seconds
    headers = {} if retry is None else {"Retry-After": str(retry)}
    return JSONResponse(refusals.as_json(refusal), refusal.status, headers)


async def _left(_: Request, __: Exception) -> Response:
    """The answer that nobody reads: the client left before its body was read."""
    return Response(status_code=refusals.GONE)


def _common(app: FastAPI, service: Service) -> None:
    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> JSONResponse:
        if service.is_ready():
            return JSONResponse({"status": "ready"})
        raise refusals.busy("the server", "room for a request", "none at the moment", 5)

    @app.get("/v1/status")
    async def status() -> dict[str, Any]:
        return service.status()
