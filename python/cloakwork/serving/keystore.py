"""Evaluation keys on the server's disk: received in parts, checked, removed when unused.

A key set is named by its fingerprint: the checksum at the end of its file, 64 hexadecimal digits.
`FINGERPRINT.part` grows while a client sends it; `FINGERPRINT.key` is a file that was received
whole, loaded strictly, and has this checksum.  A set that a run uses is never removed; where the
quota is short, the least recently used other set goes.  A file that was damaged on the disk is
removed when it is found, and its client is asked for it again.
"""

from __future__ import annotations

import logging
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TypeVar

from cloakwork.errors import LoadError, SaveError, ServingError
from cloakwork.fhe.files import container
from cloakwork.serving import refusals
from cloakwork.serving.ages import Ages
from cloakwork.serving.limits import Limits
from cloakwork.serving.partial import OwnFolder, Partial, checksum_of
from cloakwork.serving.servable import check_kind

log = logging.getLogger("cloakwork.serving")

_NAME = re.compile(r"[0-9a-f]{64}")
_MOST_HEAD = 1 << 22

T = TypeVar("T")


@dataclass
class KeySet:
    """A complete set: its file's length, and how many runs use it.

    verified   facts of the file when its checksum was right: it was not written since
    """

    fingerprint: str
    size_bytes: int
    pins: int = 0
    verified: tuple[int, ...] | None = None


@dataclass
class Upload:
    """A set that is being received.

    size_bytes   of the whole set
    busy         a request sends it, or it is being checked
    accepted     its head was read: it counts for the quota, and is stored
    """

    fingerprint: str
    size_bytes: int
    file: Partial
    touched: float = field(default_factory=monotonic)
    busy: bool = False
    accepted: bool = False
    beginning: bytearray = field(default_factory=bytearray)


class KeyStore:
    """The key sets of a folder, complete ones and parts, under the limits."""

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        parameters: set[str],
        removed: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Find the sets of an earlier server; unfinished ones continue where they ended.

        parameters   fingerprints of parameters for which keys are accepted
        removed      called with the fingerprint of each set that is removed
        """
        self.folder = OwnFolder(folder)
        self._folder, self._limits = folder, limits
        self._parameters, self._removed = parameters, removed
        self._sets: dict[str, KeySet] = {}
        self.uploads: dict[str, Upload] = {}
        self.ages = Ages(folder)
        for path in sorted(self._folder.iterdir()):
            facts = path.lstat()
            if not _NAME.fullmatch(path.stem) or path.suffix not in {".key", ".part"}:
                continue
            if not stat.S_ISREG(facts.st_mode):
                log.warning("%s... is no regular file, and not used", path.name[:8])
            elif path.suffix == ".key":
                self._sets[path.stem] = KeySet(path.stem, facts.st_size)
            else:
                # Its length is known when its client continues; until then, what it has counts.
                self.uploads[path.stem] = Upload(
                    path.stem, facts.st_size, Partial(path), accepted=True
                )

    def close(self) -> None:
        """Keep the ages, and give the folder back."""
        self._note(now=True)
        self.folder.close()

    def _note(self, *, now: bool = False) -> None:
        try:
            self.ages.note(self._sets, now=now)
        except (OSError, SaveError) as error:
            log.error("the ages of keys cannot be kept: %s", error)

    @staticmethod
    def check_name(fingerprint: str) -> None:
        """ServingError unless it can be the fingerprint of a key set."""
        if not _NAME.fullmatch(fingerprint):
            hint = "take the last 32 bytes of the file, in hexadecimal"
            wanted, got = "64 hexadecimal digits", f"{len(fingerprint)} characters"
            raise ServingError(refusals.BAD, "fingerprint", wanted, got, hint)

    def path(self, fingerprint: str) -> Path:
        """The file of a complete set."""
        return self._folder / f"{fingerprint}.key"

    def get(self, fingerprint: str) -> KeySet:
        """A complete set; ServingError, 404, for an unknown one, 409 for an incomplete one."""
        self.check_name(fingerprint)
        found = self._sets.get(fingerprint)
        if found is not None:
            self.ages.use(fingerprint)
            return found
        upload = self.uploads.get(fingerprint)
        place = f"keys {fingerprint[:8]}..."
        hint = f"send the file: PUT /v1/keys/{fingerprint}"
        if upload is None:
            wanted = "uploaded evaluation keys"
            got = "unknown ones: never uploaded, or forgotten (the least recently used go first)"
            hint = f"upload the file again: Remote.upload, PUT /v1/keys/{fingerprint}"
            raise ServingError(refusals.MISSING, place, wanted, got, hint)
        got = f"{upload.file.offset} of its bytes"
        raise ServingError(refusals.CONFLICT, place, "a complete upload", got, hint)

    @contextmanager
    def pinned(self, fingerprint: str | None) -> Iterator[None]:
        """Keep a complete set, if one is named, from being removed."""
        one = None if fingerprint is None else self.get(fingerprint)
        if one is None:
            yield
            return
        one.pins += 1
        try:
            yield
        finally:
            one.pins -= 1

    def has(self, fingerprint: str) -> bool:
        """Whether a set is complete."""
        return fingerprint in self._sets

    def is_whole(self, fingerprint: str) -> bool:
        """Whether a complete set's file is what was uploaded; read again where it was written."""
        one, facts = self._sets.get(fingerprint), self._facts(fingerprint)
        if one is None or facts is None:
            return False
        if one.verified != facts and checksum_of(self.path(fingerprint)) == fingerprint:
            one.verified = facts
        return one.verified == facts

    def _facts(self, fingerprint: str) -> tuple[int, ...] | None:
        """Facts of a file that change when it is written; None if it is not there."""
        try:
            found = self.path(fingerprint).lstat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def damaged(self, fingerprint: str) -> ServingError:
        """Remove a set whose file is not what was uploaded, also while runs wait for it.

        Returns the refusal that asks for the file again.
        """
        log.error("keys %s...: the file was damaged on the disk, and is removed", fingerprint[:8])
        if (one := self._sets.get(fingerprint)) is not None:
            self._drop(one)
        wanted, got = "uploaded evaluation keys", "a file that was damaged on the server's disk"
        hint = f"upload the file again: Remote.upload, PUT /v1/keys/{fingerprint}"
        place = f"keys {fingerprint[:8]}..."
        return ServingError(refusals.MISSING, place, wanted, got, hint)

    def state(self, fingerprint: str) -> dict[str, object]:
        """The progress of a set: state, offset and length; ServingError for an unknown one."""
        upload = self.uploads.get(fingerprint)
        if upload is None:
            size = self.get(fingerprint).size_bytes
            return {"state": "complete", "offset": size, "bytes": size}
        return {"state": "partial", "offset": upload.file.offset, "bytes": upload.size_bytes}

    def begin(self, fingerprint: str, first: int, total: int) -> Upload:
        """The upload that receives a part; to be given back with `end`.

        Raises ServingError: 413 for a set beyond its limit, 409 for a part that does not follow
        the last one or while another request sends it, 503 where the quota is in use.
        """
        self.check_name(fingerprint)
        most = min(self._limits.key_set_bytes, self._limits.keys_bytes)
        if total > most:
            hint = "make fewer rotation keys: rotations add up"
            wanted, got = f"at most {most} bytes", f"{total}"
            raise ServingError(refusals.LARGE, "key set", wanted, got, hint)
        upload = self.uploads.get(fingerprint)
        offset = 0 if upload is None else upload.file.offset
        place, hint = "Content-Range", f"ask GET /v1/keys/{fingerprint} where to continue"
        if upload is not None and upload.busy:
            got = "another one that is being sent"
            raise ServingError(refusals.CONFLICT, place, "one request at a time", got, hint, 1)
        if offset != first:
            wanted = f"bytes from {offset} on"
            # Bytes of a connection that was lost may arrive after the client asked for the offset.
            raise ServingError(refusals.CONFLICT, place, wanted, f"{first}", hint, 1)
        if upload is not None:
            self._reserve(total - upload.size_bytes)
        else:
            upload = Upload(fingerprint, total, Partial(self._folder / f"{fingerprint}.part"))
            self.uploads[fingerprint] = upload
        upload.size_bytes, upload.busy, upload.touched = total, True, monotonic()
        return upload

    def end(self, upload: Upload) -> None:
        """Give back an upload; one without any stored byte is forgotten."""
        upload.busy, upload.touched = False, monotonic()
        upload.beginning.clear()
        if not upload.file.offset:
            self.uploads.pop(upload.fingerprint, None)

    def received(self, upload: Upload, data: bytes) -> bytes:
        """The bytes to store next; none before the file's head was read and accepted.

        Raises ServingError and LoadError for a head to refuse, and 503 where the quota is in use:
        other sets are removed only for a set that can be used.
        """
        if upload.accepted:
            return data
        upload.beginning += data
        if not self._accepts(upload):
            return b""
        self._reserve(upload.size_bytes)
        upload.accepted = True
        held = bytes(upload.beginning)
        upload.beginning.clear()
        return held

    def _accepts(self, upload: Upload) -> bool:
        """Whether the head is complete; ServingError and LoadError for one to refuse."""
        beginning, name = bytes(upload.beginning), Path("the upload")
        if len(beginning) < 16:
            return False
        needed = container.head_bytes(name, beginning)
        if needed > _MOST_HEAD:
            raise LoadError(f"{name}: a head of {needed} bytes, at most {_MOST_HEAD} are read")
        if len(beginning) < needed:
            return False
        head = check_kind(beginning, "evaluation keys")
        if head.size_bytes != upload.size_bytes:
            hint = "state the length of the file"
            wanted, got = f"{head.size_bytes} bytes by its head", f"{upload.size_bytes}"
            raise ServingError(refusals.BAD, "the upload's length", wanted, got, hint)
        found = head.fields.get("fingerprint")
        if found not in self._parameters:
            hint = "make keys for a model of this server: GET /v1/models"
            wanted = f"parameters {' or '.join(sorted(self._parameters))}"
            raise ServingError(
                refusals.SENSELESS, "the keys' parameters", wanted, str(found)[:64], hint
            )
        return True

    def completed(self, upload: Upload) -> None:
        """Give a set that was received whole and checked its name."""
        fingerprint = upload.fingerprint
        upload.file.complete(self.path(fingerprint))
        self.uploads.pop(fingerprint, None)
        self._sets[fingerprint] = KeySet(fingerprint, upload.size_bytes)
        self._sets[fingerprint].verified = self._facts(fingerprint)
        self.ages.use(fingerprint)

    def discard(self, upload: Upload) -> None:
        """Remove an upload."""
        upload.file.discard()
        self.uploads.pop(upload.fingerprint, None)

    def remove(self, fingerprint: str) -> None:
        """Remove a set, or an upload; ServingError, 409, while it is used."""
        upload = self.uploads.get(fingerprint)
        pinned = upload.busy if upload is not None else self.get(fingerprint).pins
        if pinned:
            hint = "wait for its runs, or cancel them"
            raise ServingError(refusals.CONFLICT, "keys", "unused ones", "keys in use", hint)
        if upload is not None:
            self.discard(upload)
        else:
            self._drop(self._sets[fingerprint])

    def _drop(self, one: KeySet) -> None:
        self._sets.pop(one.fingerprint, None)
        self.ages.forget(one.fingerprint)
        self.path(one.fingerprint).unlink(missing_ok=True)
        self._removed(one.fingerprint)

    def _reserve(self, more: int) -> None:
        """Make room for bytes; the least recently used sets go that no run uses."""
        most, used = self._limits.keys_bytes, self.used_bytes + more
        unused = sorted((one for one in self._sets.values() if not one.pins), key=self._last_use)
        needed = used - sum(one.size_bytes for one in unused)
        if needed > most:
            got = f"{needed} bytes with those in use and those being uploaded"
            raise refusals.busy("key storage", f"at most {most} bytes", got, 30)
        for one in unused:
            if used <= most:
                return
            used -= one.size_bytes
            self._drop(one)

    @property
    def used_bytes(self) -> int:
        """Bytes on the disk, with those that uploads will need."""
        complete = sum(one.size_bytes for one in self._sets.values())
        parts = (one.size_bytes for one in self.uploads.values() if one.accepted)
        return complete + sum(parts)

    def expire(self) -> None:
        """Remove sets and uploads that were not used for too long."""
        now = self.ages.now
        for one in list(self._sets.values()):
            if not one.pins and now - self._last_use(one) > self._limits.key_seconds:
                self._try(self._drop, one)
        now = monotonic()
        for upload in list(self.uploads.values()):
            if not upload.busy and now - upload.touched > self._limits.upload_seconds:
                # One that cannot be removed is tried again as late.
                upload.touched = now
                self._try(self.discard, upload)
        self._note()

    @staticmethod
    def _try(remove: Callable[[T], None], one: T) -> None:
        """Remove one; an error of the disk is logged, and keeps none of the others."""
        try:
            remove(one)
        except OSError as error:
            log.error("a file of keys cannot be removed: %s", error.strerror)

    def _last_use(self, one: KeySet) -> float:
        return self.ages.last_use(one.fingerprint)
