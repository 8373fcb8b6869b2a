"""Files of a server's own folder that grow while a client sends them, and appear when complete.

The folder belongs to the server alone (mode 0700), so that its names are not those of users' files.
"""

from __future__ import annotations

import os
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import blake2b
from pathlib import Path

from cloakwork.errors import ParamError

_MODE = 0o600
_OTHERS_WRITE = 0o022
_CHECKSUM_BYTES = 32
_PIECE_BYTES = 1 << 20


class OwnFolder:
    """A folder for one server alone, locked until it is closed."""

    def __init__(self, path: Path) -> None:
        """Make it if needed, for its owner alone (mode 0700), and lock it.

        ParamError where that is not possible, for a folder that others may write to, and for one
        that another server uses.
        """
        self.path, self._handle = path, -1
        place = str(path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if path.stat().st_mode & _OTHERS_WRITE:
                allowed = f"a folder that its owner alone writes to: chmod go-w {place}"
                raise ParamError("folder", place, allowed)
            if not os.access(path, os.W_OK | os.X_OK):
                raise ParamError("folder", place, f"a folder to write to: chmod u+rwx {place}")
            self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            flock(self._handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            self.close()
            raise ParamError("folder", place, "one that no other server uses") from None
        except OSError as error:
            raise ParamError("folder", place, f"a folder to write to: {error.strerror}") from error

    def close(self) -> None:
        """Unlock it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        self.close()


class Partial:
    """A file that is being received: `path` while it grows, `done` once it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def offset(self) -> int:
        """The bytes that have arrived."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, data: bytes) -> None:
        """Write bytes at the end; all of them, or OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.path, flags, _MODE)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
        finally:
            os.close(handle)

    def complete(self, done: Path) -> None:
        """Sync it to the disk and give it its name."""
        _sync(self.path)
        self.path.rename(done)
        _sync(done.parent)

    def discard(self) -> None:
        """Remove it."""
        self.path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def checksum_of(path: Path) -> str | None:
    """The checksum of a file of keys, which it ends with; None for another file."""
    found, left = blake2b(digest_size=_CHECKSUM_BYTES), b""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            while piece := os.read(handle, _PIECE_BYTES):
                left += piece
                found.update(left[:-_CHECKSUM_BYTES])
                left = left[-_CHECKSUM_BYTES:]
        finally:
            os.close(handle)
    except OSError:
        return None
    return left.hex() if left == found.digest() else None
