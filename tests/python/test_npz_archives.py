"""Archives of arrays that unpack to more than they say, that overlap, or that are damaged."""

import struct
import tracemalloc
import zipfile
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core
from cloakwork.errors import LoadError
from cloakwork.numpy_names import archives


def array(count: int) -> bytes:
    return _core.npy_bytes(cw.zeros(count, dtype="uint8"))


def written(path: Path, sizes: dict[str, int], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method, compresslevel=9) as archive:
        for name, size in sizes.items():
            archive.writestr(f"{name}.npy", array(size))
    return path


def test_compressed_arrays_stay_within_the_stated_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "b.npz", {"x": 1 << 20, "y": 1 << 19})
    whole = len(array(1 << 20)) + len(array(1 << 19))
    enough = whole - 32 * path.stat().st_size
    monkeypatch.setattr(archives, "_FREE_BYTES", enough)
    assert [len(one) for one in cw.load(path).values()] == [1 << 20, 1 << 19]
    monkeypatch.setattr(archives, "_FREE_BYTES", enough - 1)
    monkeypatch.setattr(archives, "_member", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(LoadError, match=rf"at most {whole - 1} bytes .* got {whole}: .*unzip"):
        cw.load(path)


def test_no_more_is_unpacked_than_the_directory_says(tmp_path: Path) -> None:
    path = written(tmp_path / "b.npz", {"x": 1 << 26})
    memory = bytearray(path.read_bytes())
    sized = struct.pack("<I", len(array(1 << 26)))
    for place in (memory.index(sized), memory.rindex(sized)):
        memory[place : place + 4] = struct.pack("<I", 1000)
    path.write_bytes(memory)
    assert len(memory) < 1 << 17
    tracemalloc.start()
    try:
        with pytest.raises(LoadError, match=r"b\.npz"):
            cw.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_stored_arrays_of_any_size_are_read_from_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_FREE_BYTES", 0)
    monkeypatch.setattr(archives, "_MOST_RATIO", 0)
    monkeypatch.setattr(archives, "_PIECE_BYTES", 1000)
    x = np.random.default_rng(1).normal(size=5000)
    np.savez(tmp_path / "s.npz", x=x, y=x[:7])
    found = cw.load(tmp_path / "s.npz")
    assert np.array_equal(found["x"], x)
    assert np.array_equal(found["y"], x[:7])


def test_arrays_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "s.npz", {"x": 5000}, zipfile.ZIP_STORED)
    memory = path.read_bytes()
    start, end = memory.index(b"PK\x01\x02"), memory.index(b"PK\x05\x06")
    entry = memory[start:end]
    both = entry + entry.replace(b"x.npy", b"y.npy")
    tail = bytearray(memory[end:])
    struct.pack_into("<HHI", tail, 8, 2, 2, len(both))
    path.write_bytes(memory[:start] + both + bytes(tail))
    with pytest.raises(LoadError, match=r"s\.npz: expected arrays within \d+ bytes, got"):
        cw.load(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused_before_they_unpack(method: int, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"'x\.npy': expected a stored or deflated array"):
        cw.load(written(tmp_path / "x.npz", {"x": 1 << 20}, method))


@pytest.mark.parametrize("cut", [(4, 20), (30, 46), (0, 0), (-22, -6), (-40, -24), (60, 61)])
def test_cut_archives_are_refused(cut: tuple[int, int], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(6.0))
    memory = (tmp_path / "a.npz").read_bytes()
    first, last = cut
    spoilt = memory[:first] + memory[last:] if last else memory[: len(memory) // 2]
    (tmp_path / "b.npz").write_bytes(spoilt)
    with pytest.raises(LoadError, match=r"b\.npz"):
        cw.load(tmp_path / "b.npz")


def test_damaged_archives_raise_no_error_of_pythons_own(tmp_path: Path) -> None:
    path = written(tmp_path / "a.npz", {"x": 3, "y": 4})
    memory = path.read_bytes()
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(400):
        spoilt = bytearray(memory)
        for _ in range(random.integers(1, 5)):
            spoilt[4 + random.integers(len(spoilt) - 4)] = random.choice([0, 1, 127, 128, 255])
        path.write_bytes(spoilt)
        try:
            cw.load(path)
        except LoadError:
            refused += 1
    assert refused > 200


def test_an_archive_of_no_array_and_one_of_too_few_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "none.npz")
    assert (tmp_path / "none.npz").stat().st_size == 22
    assert cw.load(tmp_path / "none.npz") == {}
    for cut in (21, 4):
        (tmp_path / "cut.npz").write_bytes((tmp_path / "none.npz").read_bytes()[:cut])
        with pytest.raises(LoadError, match=r"cut\.npz"):
            cw.load(tmp_path / "cut.npz")
