"""The jobs of a prover on the disk: accepted ones survive the end of the process.

`ID.part` grows while a client sends inputs.  `ID.body` holds them whole, and `ID.job` says what
they are for: a job is accepted once both are on the disk.  `ID.done` holds its end; its inputs are
`ID.ORDER.gone` then, until they are overwritten and removed.  All files are for the server's owner
alone (mode 0600).
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from cloakwork import files, strict
from cloakwork.errors import LoadError, ServingError
from cloakwork.serving import refusals
from cloakwork.serving.partial import OwnFolder, Partial

log = logging.getLogger("cloakwork.serving")

_FORMAT, _VERSION = "cloakwork job", 1
_NAME = re.compile(r"[0-9a-f]{32}")
_PIECE_BYTES = 1 << 20
_MOST = 1 << 62
# Between the head of a file and the result after it.
_END = b"\n"


@dataclass(frozen=True)
class Facts:
    """The facts of a job.

    order   jobs were accepted in
    """

    prover: str
    kind: str
    priority: int
    order: int
    size_bytes: int


@dataclass(eq=False)
class Entry:
    """The files of a job; one thread alone changes them.

    result, failure   its end; None of one that waits
    removed           called with the path of inputs that are to be overwritten and removed
    """

    id: str
    folder: Path
    facts: Facts
    removed: Callable[[Path], None]
    result: bytes | None = None
    failure: ServingError | None = None
    _is_gone: bool = False

    @property
    def body(self) -> Path:
        """The inputs."""
        return self._path("body")

    def _path(self, ending: str) -> Path:
        return self.folder / f"{self.id}.{ending}"

    @property
    def is_over(self) -> bool:
        """Whether it has an end."""
        return self.result is not None or self.failure is not None

    def accept(self, received: Partial) -> None:
        """Keep what was received as its inputs; from now on it is a job."""
        received.complete(self.body)
        self._write("job", self._head(None))

    def end(self, result: bytes, failure: ServingError | None) -> None:
        """Keep its end, once, and remove its inputs; nothing of a job that was removed.

        Raises SaveError and OSError where its end cannot be kept.
        """
        if self._is_gone or self.is_over:
            return
        self._write("done", self._head(failure), result)
        self.result, self.failure = (result, None) if failure is None else (None, failure)
        self.remove_inputs()

    def discard(self) -> None:
        """Remove it, once: later files of its name are another job's."""
        if not self._is_gone:
            self._is_gone = True
            self.remove_inputs()
            self._path("done").unlink(missing_ok=True)

    def remove_inputs(self) -> None:
        """Take the inputs out of the job, to be overwritten."""
        gone = self.folder / f"{self.id}.{self.facts.order}.gone"
        self._path("job").unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            self.body.rename(gone)
            self.removed(gone)

    def digest(self, key: bytes) -> bytes:
        """The digest of its inputs under a key."""
        found, mapped = blake2b(key=key, digest_size=32), files.mapped(self.body)
        for begin in range(0, mapped.shape[0], _PIECE_BYTES):
            found.update(memoryview(mapped[begin : begin + _PIECE_BYTES]))
        return found.digest()

    def _head(self, failure: ServingError | None) -> bytes:
        facts: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, **vars(self.facts)}
        told = None if failure is None else refusals.as_json(failure) | {"status": failure.status}
        return json.dumps(facts | {"failure": told}).encode() + _END

    def _write(self, ending: str, *pieces: bytes) -> None:
        files.write(self._path(ending), pieces, private=True)


class Journal:
    """The jobs of a folder, for one server alone."""

    def __init__(self, folder: Path) -> None:
        """Find the jobs of an earlier server; errors as of `OwnFolder`.

        What a client had not sent whole is removed.
        """
        self._own, self.folder = OwnFolder(folder), folder
        self.entries: dict[str, Entry] = {}
        self._gone = [*folder.glob("*.gone")]
        self._receiving: dict[str, int] = {}
        paths = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.stem))
        jobs = [path for path in paths if path.suffix in (".done", ".job")]
        for path in jobs:
            if path.stem not in self.entries:
                self._find(path)
        accepted = {path.stem for path in jobs}
        for path in paths:
            if path.suffix == ".part" or (path.suffix == ".body" and path.stem not in accepted):
                remove_unfinished(path)
        self._next = 1 + max((one.facts.order for one in self.entries.values()), default=0)

    def close(self) -> None:
        """Give the folder back."""
        self._own.close()

    @property
    def size_bytes(self) -> int:
        """The bytes of all inputs, also of those that are being sent."""
        waiting = (one.facts.size_bytes for one in self.entries.values() if not one.is_over)
        return sum(waiting) + sum(self._receiving.values())

    def _find(self, path: Path) -> None:
        """Keep the job of a file; one that cannot be read stays where it is, and is told."""
        try:
            entry = _read(path, self._gone.append)
            if not entry.is_over and entry.body.stat().st_size != entry.facts.size_bytes:
                raise LoadError("its inputs have another length")
        except (LoadError, OSError) as error:
            log.error("job %s... cannot be read, and is left alone: %s", path.stem[:8], error)
            return
        self.entries[path.stem] = entry
        if entry.is_over:
            # The process ended between the result and the removal of the inputs.
            entry.remove_inputs()

    def wipe(self) -> None:
        """Overwrite and remove the inputs of jobs that are over; any thread may call it."""
        while self._gone:
            try:
                path = self._gone.pop()
            except IndexError:
                return
            try:
                remove_unfinished(path)
            except OSError:
                self._gone.append(path)
                raise

    @contextmanager
    def receiving(self, name: str, size_bytes: int) -> Iterator[Partial]:
        """The file for the inputs of a job, which one request alone has until the job is known.

        Raises ServingError, 503, while another request has it.
        """
        if name in self._receiving:
            raise refusals.busy("job id", "one request at a time", "another that sends inputs", 1)
        found = Partial(self.folder / f"{name}.part")
        found.discard()
        self._receiving[name] = size_bytes
        try:
            yield found
        finally:
            del self._receiving[name]

    def is_receiving(self, name: str) -> bool:
        """Whether a request sends the inputs of a job."""
        return name in self._receiving

    def entry(self, name: str, facts: tuple[str, str, int], size_bytes: int) -> Entry:
        """A job to be accepted; `facts` are prover, kind and priority."""
        own = Facts(*facts, order=self._next, size_bytes=size_bytes)
        self._next += 1
        return Entry(name, self.folder, own, self._gone.append)

    def forget(self, entry: Entry) -> None:
        """Remove a job."""
        entry.discard()
        if self.entries.get(entry.id) is entry:
            del self.entries[entry.id]


def _read(path: Path, removed: Callable[[Path], None]) -> Entry:
    """The job of a file; LoadError for any other file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise LoadError("it is no regular file")
    head, found, result = files.read(path).partition(_END)
    if not found:
        raise LoadError("it is cut off")
    note = strict.Member(path.name, strict.parsed(head, path.name)).of(dict)
    names = ("prover", "kind", "priority", "order", "size_bytes")
    if note.keys() != {"format", "version", "failure", *names}:
        raise LoadError("it has other members")
    if (note["format"], note["version"]) != (_FORMAT, _VERSION):
        raise LoadError("it is of another version")
    for name, kind in zip(names, (str, str, int, int, int), strict=True):
        if type(note[name]) is not kind or (kind is int and abs(note[name]) >= _MOST):
            raise LoadError(f"its {name} is wrong")
    entry = Entry(path.stem, path.parent, Facts(*(note[name] for name in names)), removed)
    if path.suffix == ".done":
        if note["failure"] is None:
            entry.result = result
        else:
            entry.failure = _failure(note["failure"])
    return entry


def _failure(told: object) -> ServingError:
    """The refusal of a job that failed."""
    names = ("error", "expected", "got", "hint")
    if not isinstance(told, dict) or told.keys() != {"status", *names}:
        raise LoadError("its failure is wrong")
    if type(told["status"]) is not int or not all(isinstance(told[one], str) for one in names):
        raise LoadError("its failure is wrong")
    return ServingError(told["status"], *(told[one] for one in names))


def remove_unfinished(path: Path) -> None:
    """Overwrite and remove a regular file."""
    if path.is_symlink() or not path.exists():
        return
    if stat.S_ISREG(path.lstat().st_mode):
        _overwrite(path)
        path.unlink()


def _overwrite(path: Path) -> None:
    """Overwrite inputs, which are secret; a medium may keep older copies of them."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        left = os.fstat(handle).st_size
        zeros = bytes(min(left, _PIECE_BYTES))
        while left > 0:
            left -= os.write(handle, zeros[:left])
        os.fsync(handle)
    finally:
        os.close(handle)
