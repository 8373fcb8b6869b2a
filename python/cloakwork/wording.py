"""Names in messages, and the packages that a message asks for."""

from __future__ import annotations

from collections.abc import Iterable

# Names that a message lists.
_SHOWN = 8


def listed(names: Iterable[object], most: int = _SHOWN) -> str:
    """Names with commas between them; of many the first, and how many others there are.

    >>> listed("abc"), listed(range(70), 2)
    ('a, b, c', '0, 1 and 68 more')
    """
    every = list(map(str, names))
    # One name takes no more room than the words for it.
    if len(every) <= most + 1:
        return ", ".join(every)
    return f"{', '.join(every[:most])} and {len(every) - most} more"


def kind_of(value: object) -> str:
    """The class of a value, with its module unless it is Python's own.

    >>> kind_of(3), kind_of(kind_of)
    ('a int', 'a function')
    >>> from pathlib import PurePosixPath
    >>> kind_of(PurePosixPath("x")).startswith("a pathlib.")
    True
    """
    cls = type(value)
    place = "" if cls.__module__ == "builtins" else f"{cls.__module__}."
    return f"a {place}{cls.__qualname__}"


def quoted(names: Iterable[str]) -> str:
    """The names as a list in Python, of many the first.

    >>> quoted(["x", "a b"])
    "['x', 'a b']"
    """
    return f"[{listed(map(repr, names))}]"


def shown(text: str) -> str:
    r"""Text of a file or a server, safe for a terminal: control characters as escapes.

    >>> shown("clear\x1b[2J")
    'clear\\x1b[2J'
    """
    return text if text.isprintable() else repr(text)[1:-1]


def installing(extra: str) -> str:
    """The command that installs the packages of an extra; the project is on no package index.

    >>> installing("serve")
    'python -m pip install ".[serve]" in the checkout of Cloakwork'
    """
    return f'python -m pip install ".[{extra}]" in the checkout of Cloakwork'
