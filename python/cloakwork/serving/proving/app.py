"""The addresses of a server of proofs: provers and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response

from cloakwork.serving.base import application
from cloakwork.serving.bodies import JSON
from cloakwork.serving.limits import ProverLimits
from cloakwork.serving.proving.jobs import ProverService
from cloakwork.serving.proving.keys import ServedProver
from cloakwork.serving.tokens import Guard

_ADDRESSES = "/v1/provers, /v1/jobs/ID"


def create_prover_app(
    provers: Sequence[ServedProver],
    limits: ProverLimits | None = None,
    *,
    folder: str | Path,
    token: str | None = None,
) -> FastAPI:
    """An application that proves; `uvicorn_config` says how it is served.

    folder   where jobs wait, with their inputs, and where their ends are kept: for this server
             alone.  Jobs of an earlier server with this folder go on
    token    that every request must have, as `Authorization: Bearer TOKEN`; /health and
             /ready stay open

    Raises ParamError for provers of one name, for a memory limit in which a proof does not fit, and
    for a token that is short.
    """
    guard = None if token is None else Guard(token)
    service = ProverService(provers, limits or ProverLimits(), Path(folder))
    app = application(service, guard, _ADDRESSES)
    _provers(app, service)
    _jobs(app, service)
    return app


def _provers(app: FastAPI, service: ProverService) -> None:
    @app.get("/v1/provers")
    async def provers() -> list[dict[str, Any]]:
        return [one.describe() for one in service.provers.values()]

    @app.get("/v1/provers/{prover}")
    async def prover(prover: str) -> dict[str, Any]:
        return service.prover(prover).describe()

    @app.get("/v1/provers/{prover}/verifying-key")
    async def verifying_key(prover: str) -> Response:
        return Response(service.prover(prover).verifying_key, media_type=JSON)


def _jobs(app: FastAPI, service: ProverService) -> None:
    @app.put("/v1/provers/{prover}/jobs/{job}")
    async def begin(request: Request, prover: str, job: str) -> Response:
        found = await service.begin(request, prover, job)
        return await service.outcome(request, found)

    @app.get("/v1/jobs/{job}")
    async def state(job: str) -> dict[str, Any]:
        return service.runs.get(job).describe()

    @app.get("/v1/jobs/{job}/result")
    async def result(request: Request, job: str) -> Response:
        return await service.outcome(request, service.runs.get(job))

    @app.delete("/v1/jobs/{job}")
    async def cancel(job: str) -> dict[str, Any]:
        return (await service.cancel(job)).describe()
