"""Names of models and provers, which stand in a server's addresses."""

from __future__ import annotations

from cloakwork.errors import ParamError

# Signs that end a part of an address, or quote others.
_SIGNS = "/?#%"


def check(name: str, what: str = "model") -> str:
    """The name; ParamError for one that cannot stand in an address."""
    if not name or name in {".", ".."} or any(sign in name for sign in _SIGNS):
        raise ParamError(what, name, f"a name in addresses: without any of {_SIGNS}")
    if not name.isprintable():
        raise ParamError(what, repr(name), "a name in addresses: of printable characters")
    return name
