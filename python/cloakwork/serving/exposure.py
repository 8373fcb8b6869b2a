"""Exposure of a server or a client to others: refused, unless it is said to be meant.

One rule for commands and Python: what travels past this machine goes over TLS, and a server that
other machines reach asks for a token.  `insecure` turns a refusal into an InsecureWarning.
"""

from __future__ import annotations

import os
import stat
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from shlex import quote
from warnings import warn

from cloakwork.errors import ParamError
from cloakwork.fhe.security import InsecureWarning

_OTHERS, _OTHERS_BESIDE_A_GROUP = 0o077, 0o027


def is_loopback(host: str) -> bool:
    """Whether an address stays in this machine; names but `localhost` (RFC 6761) may not.

    >>> [is_loopback(host) for host in ("127.0.0.1", "[::1]", "localhost", "0.0.0.0", "a.org")]
    [True, True, True, False, False]
    """
    bare = host.removeprefix("[").removesuffix("]").lower().removesuffix(".")
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    try:
        found = ip_address(bare)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback


def check_listening(host: str, *, has_tls: bool, has_token: bool, insecure: bool) -> None:
    """ParamError for a server that others reach without a token, or in plain."""
    if is_loopback(host) or (has_tls and has_token):
        return
    lacks = {"a token (--token-file)": has_token, "TLS (--ssl-certfile)": has_tls}
    missing = " and ".join(name for name, given in lacks.items() if not given)
    if insecure:
        warn(f"{host}: other machines reach this server without {missing}", InsecureWarning, 2)
        return
    hint = "127.0.0.1 behind a proxy that has both, or --insecure to accept it"
    raise ParamError("--host", f"{host} without {missing}", f"both, or {hint}")


def check_sending(
    scheme: str, host: str, what: str = "a token", *, has_secret: bool, insecure: bool
) -> None:
    """ParamError for a secret of a client that would travel to another machine in plain.

    what   it is, in words; it is not shown
    """
    if scheme == "https" or not has_secret or is_loopback(host):
        return
    if insecure:
        warn(f"{what} goes to http://{host}: everyone on its way reads it", InsecureWarning, 2)
        return
    hint = "everyone on the way reads it; insecure=True, --insecure in commands, sends it"
    raise ParamError("url", f"http://{host} with {what}", f"https://, as {hint}")


def check_private(path: Path, *, insecure: bool) -> None:
    """ParamError for a private key that others may read or change, as ssh has it.

    The group may read a key of root's, as systems keep them for servers.
    """
    found = path.stat()
    by_group = found.st_uid == 0 and os.geteuid() != 0
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode) or not mode & (
        _OTHERS_BESIDE_A_GROUP if by_group else _OTHERS
    ):
        return
    words = f"others may read or change this private key (mode {mode:04o})"
    mended = f"chmod 600 {quote(str(path))}"
    if insecure:
        warn(f"{path}: {words}: {mended}", InsecureWarning, 2)
        return
    allowed = f"a file for its owner alone: {mended}, and a new key if others may have read it"
    raise ParamError("--ssl-keyfile", f"{path}, {words}", f"{allowed}; --insecure accepts it")
