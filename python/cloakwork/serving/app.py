"""The addresses of a server of models: models, evaluation keys, runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from cloakwork.serving.base import application
from cloakwork.serving.desk import Desk
from cloakwork.serving.limits import Limits
from cloakwork.serving.servable import Servable
from cloakwork.serving.tokens import Guard

_ADDRESSES = "/v1/models, /v1/keys/KEYS, /v1/runs/ID"


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
    app = application(desk, guard, _ADDRESSES)
    _models(app, desk)
    _keys(app, desk)
    _runs(app, desk)
    return app


def _models(app: FastAPI, desk: Desk) -> None:
    @app.get("/v1/models")
    async def models() -> list[dict[str, Any]]:
        return [desk.described[name] for name in desk.models]

    @app.get("/v1/models/{model}")
    async def model(model: str) -> dict[str, Any]:
        return desk.described[desk.model(model).name]


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
