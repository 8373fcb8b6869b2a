"""Programs saved in text form load as equal; content that the text form lacks is refused."""

from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, files, zk
from cloakwork.cli import main
from cloakwork.errors import LoadError, ParamError
from python.fhe_setup import ckks

ROOT = Path(__file__).parents[1]
FILES = sorted(file for folder in ("programs", "passes") for file in ROOT.glob(f"{folder}/**/*.cw"))


def container(program: cw.heal.Transcript | cw.Program, folder: Path, name: str) -> bytes:
    """The engine's container of a program, which has its names, data and steps."""
    program._core.save_container(folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_program_of_a_text_file_is_written_and_read_back_equal(
    file: Path, tmp_path: Path
) -> None:
    try:
        program = cw.load(file)
    except LoadError:
        pytest.skip("the file shows a mistake in the text itself")
    assert isinstance(program, cw.heal.Transcript | cw.Program)
    program.save(tmp_path / "copy.cw")
    copy = cw.load(tmp_path / "copy.cw")
    assert type(copy) is type(program)
    assert copy.text() == program.text()
    if "registers" not in program.text().split("\n"):  # containers hold programs of one thread
        assert container(copy, tmp_path, "b.cwk") == container(program, tmp_path, "a.cwk")


def random_constant(rng: np.random.Generator, dtype: str) -> cw.Tensor:
    shape = tuple(int(size) for size in rng.integers(0, 6, rng.integers(0, 3)))
    if dtype in {"bn254.fr", "babybear", "goldilocks.ext2"}:
        return zk.uniform(shape, dtype, seed=rng.bytes(32))
    if dtype == "bool":
        return cw.asarray(rng.random(shape) < 0.5)
    of_numpy = np.asarray(cw.zeros(1, _core.element_type(dtype))).dtype
    if rng.random() < 0.3:
        return cw.full(shape, int(rng.integers(0, 9)), dtype=of_numpy)
    octets = rng.bytes(int(np.prod(shape)) * of_numpy.itemsize)
    return cw.asarray(np.frombuffer(octets, dtype=of_numpy).reshape(shape))


DTYPES = (
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "c64", "c128", "bool",
    "bn254.fr", "babybear", "goldilocks.ext2",
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_of_any_dtype_keep_their_bits(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(dtype))
    for number in range(20):
        constant = random_constant(rng, dtype)
        program = cw.trace(lambda x, held=constant: (x + x, held), cw.zeros(2))
        program.save(tmp_path / "p.cw")
        copy = cw.load(tmp_path / "p.cw")
        assert isinstance(copy, cw.Program)
        assert (copy.inputs, copy.outputs) == (program.inputs, program.outputs)
        before, after = (p.run([1.0, 2.0]).outputs[1] for p in (program, copy))
        assert (before.dtype, before.shape) == (after.dtype, after.shape)
        assert files.npy_of(before) == files.npy_of(after), number


def test_names_that_are_no_words_survive(tmp_path: Path) -> None:
    for name in ("a b", 'quo"te', "line\nbreak", "tab\t", "ümlaut", "back\\slash", "\x7f", "'"):
        program = cw.trace(lambda x, name=name: {name: x + x}, cw.zeros(2))
        program.save(tmp_path / "p.cw")
        assert cw.load(tmp_path / "p.cw").outputs == [name]  # type: ignore[union-attr]


def test_a_transcript_is_converted_to_text_and_back(tmp_path: Path) -> None:
    first, text, back = cw.heal.sample(), tmp_path / "a.cw", tmp_path / "b.json"
    assert main(["convert", str(first), str(text)]) == 0
    assert main(["convert", str(text), str(back)]) == 0
    program = cw.heal.load(text)
    assert program.run(verify=True).mismatches == []
    assert program.text() == cw.heal.load(first).text() == cw.heal.load(back).text()


def test_the_text_form_of_a_program_with_ciphertexts_is_refused_by_their_names(
    tmp_path: Path,
) -> None:
    keys = ckks()
    program = cw.trace(lambda x: x + x, keys.encrypt([1.0]))
    with pytest.raises(ParamError, match=r"\.cwk: the text form does not hold .* of x, out0"):
        program.save(tmp_path / "p.cw")
    assert not (tmp_path / "p.cw").exists()
