"""Objects written to files that take fewer bytes than are given, or none."""

import io
import os
from pathlib import Path
from typing import Any, cast

import cloakwork as cw
import pytest
from cloakwork import fhe, files
from cloakwork.errors import ParamError, SaveError

DATA = bytes(range(256)) * 40


class Slow(io.RawIOBase):
    """A raw file that takes a few bytes at a time, and then none."""

    def __init__(self, at_once: int, room: int = 1 << 30, full: int | None = 0) -> None:
        self.at_once, self.room, self.full = at_once, room, full
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int | None:
        part = bytes(data)[: min(self.at_once, self.room - len(self.held))]
        self.held += part
        return len(part) or self.full


class Writer:
    """What has `write` and is no file: it keeps all, and says `answer`."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.held = answer, bytearray()

    def write(self, data: Any) -> Any:
        self.held += data
        return self.answer


def context() -> fhe.Context:
    return fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])


def program() -> cw.Program:
    return cw.trace(lambda a: a + cw.asarray([1.0, 2.0]), cw.zeros(2))


@pytest.mark.parametrize("make", [context, program])
def test_a_raw_file_gets_all_bytes(make: Any) -> None:
    made, raw = make(), Slow(7)
    made.save(raw)
    assert bytes(raw.held) == made.to_bytes()
    for full in (0, None):
        with pytest.raises(SaveError, match=r"the open file: .* expected one that blocks"):
            made.save(Slow(7, 20, full))


def test_a_pipe_that_does_not_block_is_refused_when_it_is_full() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    opened, taken = os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0)
    with opened, taken, pytest.raises(SaveError, match="bytes are left"):
        files.put(cast("Any", taken), bytes(1 << 20))


def test_other_writers_are_held_to_the_number_that_they_state(tmp_path: Path) -> None:
    for answer in (None, len(DATA), "written", True):
        writer = Writer(answer)
        files.put(cast("Any", writer), DATA)
        assert bytes(writer.held) == DATA
    for made in (context(), program()):
        with pytest.raises(SaveError, match="got one that took 3"):
            made.save(cast("Any", Writer(3)))
    with (tmp_path / "file").open("wb", buffering=0) as raw:
        files.put(cast("Any", raw), DATA)
        files.put(cast("Any", raw), b"")
    assert (tmp_path / "file").read_bytes() == DATA


def test_keys_and_ciphertexts_are_not_written_as_text() -> None:
    with pytest.raises(ParamError, match="open in binary"):
        context().save(cast("Any", io.StringIO()))
