"""Serving models on encrypted inputs: a FastAPI application, and an httpx client.

docs/serving.md describes both.  The server's modules load no class that holds a secret.
"""

from typing import TYPE_CHECKING, Any

from cloakwork.serving.limits import Limits, ProverLimits, ServerLimits
from cloakwork.serving.servable import Servable, ServedProgram

if TYPE_CHECKING:
    from cloakwork.serving.app import create_app
    from cloakwork.serving.client import ProgramClient, client_of
    from cloakwork.serving.model_client import ModelClient
    from cloakwork.serving.protocol import uvicorn_config
    from cloakwork.serving.proving.app import create_prover_app
    from cloakwork.serving.proving.client import RemoteProver
    from cloakwork.serving.proving.keys import ServedProver
    from cloakwork.serving.remote import Remote

__all__ = [
    "Limits",
    "ModelClient",
    "ProgramClient",
    "ProverLimits",
    "Remote",
    "RemoteProver",
    "Servable",
    "ServedProgram",
    "ServedProver",
    "ServerLimits",
    "client_of",
    "create_app",
    "create_prover_app",
    "uvicorn_config",
]

# These need packages of the extra `serve`, or are for clients alone.
_OPTIONAL = {
    "ModelClient": "model_client",
    "ProgramClient": "client",
    "Remote": "remote",
    "RemoteProver": "proving.client",
    "ServedProver": "proving.keys",
    "client_of": "client",
    "create_app": "app",
    "create_prover_app": "proving.app",
    "uvicorn_config": "protocol",
}


def __getattr__(name: str) -> Any:
    if name not in _OPTIONAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cloakwork.serving.optional import imported

    globals()[name] = getattr(imported(f"{__name__}.{_OPTIONAL[name]}"), name)
    return globals()[name]
