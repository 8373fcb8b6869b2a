"""A token that the clients of a server share: it says who may ask, and stays out of all texts."""

from __future__ import annotations

import re
import stat
from hashlib import sha256
from hmac import compare_digest
from os import PathLike, fspath
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from warnings import warn

from cloakwork import files
from cloakwork.errors import ParamError
from cloakwork.fhe.security import InsecureWarning

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# RFC 6750, 2.1, and long enough not to be guessed.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,4096}={0,2}")
_ALLOWED = "16 or more of A-Z a-z 0-9 . _ ~ + / - in one line, such as of: openssl rand -hex 32"
# Anyone may ask whether the server is up, and whether it takes requests.
_OPEN = frozenset({"/health", "/ready"})


def check(token: object, what: str) -> str:
    """The token; ParamError, which does not hold it, for one that cannot be sent or be guessed."""
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ParamError(what, "another text, which is not shown", _ALLOWED)
    return token


def read(path: str | PathLike[str]) -> str:
    """The token in a file or a pipe; ParamError for one without it.

    A file that others may read or change is an InsecureWarning.
    """
    mode = Path(path).stat().st_mode
    if stat.S_ISREG(mode) and mode & 0o077:
        named = f"mode {stat.S_IMODE(mode):04o}): chmod 600 {quote(fspath(path))}"
        warn(f"{path}: others may read or change this token ({named}", InsecureWarning, 2)
    text = files.read(path).decode("ascii", "replace").removesuffix("\n").removesuffix("\r")
    return check(text, f"token of {path}")


class Guard:
    """Refuses requests without the token, before anything of them is read.

    It keeps the token's digest alone, and compares digests in constant time.
    """

    def __init__(self, token: str) -> None:
        self._digest = _digest(check(token, "token").encode())

    def refuses(self, authorization: bytes | None) -> str | None:
        """The text that came instead of the token; None if it is the token."""
        if authorization is None:
            return "none"
        scheme, _, token = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return "another kind of authorization"
        return None if compare_digest(_digest(token.strip()), self._digest) else "another token"

    def before(self, app: ASGIApp) -> ASGIApp:
        """The application behind this guard."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["path"] not in _OPEN:
                given = dict(scope["headers"]).get(b"authorization")
                if (got := self.refuses(given)) is not None:
                    await _refusal(got)(scope, receive, send)
                    return
            await app(scope, receive, send)

        return guarded


def _refusal(got: str) -> ASGIApp:
    from fastapi.responses import JSONResponse

    from cloakwork.errors import ServingError
    from cloakwork.serving import refusals

    hint = "ask the server's owner for the token: query --token-file FILE, Remote(token=...)"
    found = ServingError(refusals.WHO, "token", "Authorization: Bearer TOKEN", got, hint)
    headers = {"WWW-Authenticate": "Bearer"}
    return JSONResponse(refusals.as_json(found), found.status, headers)


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()
