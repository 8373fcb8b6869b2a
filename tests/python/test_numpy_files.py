"""Arrays in files, by NumPy's names: read by content, never unpickled, written whole."""

import zipfile
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import LoadError, ParamError

from .numpy_oracle import ALL, same


@pytest.mark.parametrize("dtype", ALL)
def test_numpy_and_cloakwork_read_each_others_files(tmp_path: Path, dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    cw.save(tmp_path / "a", x)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), x)
    np.save(tmp_path / "b.npy", np.asfortranarray(x))
    same(cw.load(tmp_path / "b.npy"), x)
    cw.savez(tmp_path / "c", x, named=cw.asarray(x))
    with np.load(tmp_path / "c.npz") as archive:
        assert sorted(archive.files) == ["arr_0", "named"]
    np.savez_compressed(tmp_path / "d.npz", x, y=x)
    loaded = cw.load(tmp_path / "d.npz")
    assert list(loaded) == ["y", "arr_0"] or list(loaded) == ["arr_0", "y"]
    same(loaded["y"], x)


def test_the_contents_decide_not_the_name(tmp_path: Path) -> None:
    cw.save(tmp_path / "x.npy", [1, 2])
    (tmp_path / "x.npy").rename(tmp_path / "x.cwk")
    assert cw.load(tmp_path / "x.cwk").tolist() == [1, 2]
    program = cw.trace(lambda a: a + 1, cw.zeros(2))
    program.save(tmp_path / "p.cwk")
    (tmp_path / "p.cwk").rename(tmp_path / "p.npy")
    assert isinstance(cw.load(tmp_path / "p.npy"), cw.Program)


def test_objects_and_damaged_archives_are_refused(tmp_path: Path) -> None:
    objects = np.asarray([{}, []], dtype=object)
    np.save(tmp_path / "o.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "o.npz", objects)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("readme.txt", "text")
    np.savez(tmp_path / "d.npz", np.arange(100))
    whole = (tmp_path / "d.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:300])
    (tmp_path / "flipped.npz").write_bytes(whole[:400] + b"\xff" + whole[401:])
    for name in ("o.npy", "o.npz", "t.npz", "cut.npz", "flipped.npz"):
        with pytest.raises(LoadError, match=name):
            cw.load(tmp_path / name)


def test_options_of_programs_do_not_apply_to_arrays(tmp_path: Path) -> None:
    cw.save(tmp_path / "x.npy", [1, 2])
    with pytest.raises(ParamError, match="checksums"):
        cw.load(tmp_path / "x.npy", checksums=True)
    with pytest.raises(ParamError, match="generation"):
        cw.load(tmp_path / "x.npy", generation="1")
    with pytest.raises(ParamError, match="arr_0"):
        cw.savez(tmp_path / "x.npz", [1], arr_0=[2])


def test_archives_of_the_same_arrays_are_the_same(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        cw.savez(tmp_path / name, x=[1.0, 2.0])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
