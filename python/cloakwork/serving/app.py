"""The server's addresses: models, evaluation keys, runs.

Every refusal is JSON with `error`, `expected`, `got` and `hint`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from cloakwork.errors import CloakworkError, ServingError
from cloakwork.serving import bodies, refusals
from cloakwork.serving.desk import Desk
from cloakwork.serving.limits import Limits
from cloakwork.serving.servable import Servable
from cloakwork.serving.tokens import Guard

_TICK_SECONDS = 0.25

log = logging.getLogger("cloakwork.serving")


def create_app(
    models: Sequence[Servable],
    limits: Limits | None = None,
    *,
    folder: str | Path,
    token: str | None = None,
) -> FastAPI:
    """An application that runs models on encrypted inputs; `uvicorn_config` says how it is served.

    folder   where clients' evaluation keys are kept, for this server alone
    token    that every request must have, as `Authorization: Bearer TOKEN`; /health and
             /ready stay open

    Raises ParamError for models of one name, for insecure parameters (unless the limits accept
    them), for a memory limit that the planned peaks exceed, and for a token that is short.
    """
    guard = None if token is None else Guard(token)
    desk = Desk(models, limits or Limits(), Path(folder))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        desk.engine.start()
        cleaning = asyncio.create_task(_clean(desk))
        yield
        cleaning.cancel()
        await asyncio.gather(cleaning, return_exceptions=True)
        await desk.engine.stop()
        desk.store.close()

    app = FastAPI(
        title="cloakwork", lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None
    )
    _models(app, desk)
    _keys(app, desk)
    _runs(app, desk)
    app.state.door, app.state.limits = desk.door, desk.limits
    if guard is not None:
        app.add_middleware(guard.before)
    app.add_middleware(bodies.framed_once)
    app.add_exception_handler(ClientDisconnect, _left)
    for kind in (HTTPException, CloakworkError, OSError, Exception):
        app.add_exception_handler(kind, _refused)
    return app


async def _clean(desk: Desk) -> None:
    """Close connections that are late, and remove what expired, some times a second."""
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        try:
            desk.door.tick(monotonic())
            desk.expire()
        except OSError as error:
            log.error("files of keys cannot be removed: %s", error.strerror)
        except Exception:
            # It goes on: without it no deadline holds.
            log.error("cleaning failed", exc_info=True)


async def _refused(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        wanted = "an address of this server: /v1/models, /v1/keys/KEYS, /v1/runs/ID"
        refusal = ServingError(error.status_code, "address", wanted, str(error.detail), "")
    elif isinstance(error, OSError):
        log.error("storage: %s", error.strerror)
        refusal = refusals.busy("storage", "room for keys", "an error of the disk", 30)
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


def _models(app: FastAPI, desk: Desk) -> None:
    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> JSONResponse:
        if desk.is_ready():
            return JSONResponse({"status": "ready"})
        raise refusals.busy("the server", "room for a request", "none at the moment", 5)

    @app.get("/v1/models")
    async def models() -> list[dict[str, Any]]:
        return [desk.described[name] for name in desk.models]

    @app.get("/v1/models/{model}")
    async def model(model: str) -> dict[str, Any]:
        return desk.described[desk.model(model).name]

    @app.get("/v1/status")
    async def status() -> dict[str, Any]:
        return desk.status()


def _keys(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/keys/{fingerprint}")
    async def state(fingerprint: str) -> dict[str, object]:
        return desk.store.state(fingerprint)

    @app.put("/v1/keys/{fingerprint}")
    async def upload(request: Request, fingerprint: str) -> JSONResponse:
        found = await desk.receive_keys(request, fingerprint)
        return JSONResponse(found, 201 if found["state"] == "complete" else 202)

    @app.delete("/v1/keys/{fingerprint}")
    async def remove(fingerprint: str) -> Response:
        desk.store.remove(fingerprint)
        return Response(status_code=204)


def _runs(app: FastAPI, desk: Desk) -> None:
    @app.put("/v1/models/{model}/runs/{run}")
    async def begin(request: Request, model: str, run: str) -> Response:
        found = await desk.begin(request, model, run)
        return await desk.outcome(request, found)

    @app.get("/v1/runs/{run}")
    async def state(run: str) -> dict[str, Any]:
        return desk.runs.get(run).describe()

    @app.get("/v1/runs/{run}/result")
    async def result(request: Request, run: str) -> Response:
        return await desk.outcome(request, desk.runs.get(run))

    @app.delete("/v1/runs/{run}")
    async def cancel(run: str) -> dict[str, Any]:
        found = desk.runs.get(run)
        found.cancel()
        return found.describe()
