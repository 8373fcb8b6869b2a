"""HEAL's 32-bit instantiations: moduli, tables and permutations in int32."""

from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from numpy.typing import NDArray
from python.heal_writer import HealWriter

Array = NDArray[np.int64]
M, PRIMES = 8, [97, 193]


def reversed_bits(count: int) -> Array:
    width = count.bit_length() - 1
    return np.array([int(format(i, f"0{width}b")[::-1], 2) for i in range(count)])


def roots(q: int) -> tuple[int, Array]:
    """A primitive 2M-th root of unity, and its powers in bit-reversed order."""
    psi = next(x for x in range(2, q) if pow(x, M, q) == q - 1)
    return psi, np.array([pow(psi, int(i), q) for i in reversed_bits(M)])


PERM = reversed_bits(M)
TABLES = np.stack([roots(q)[1] for q in PRIMES])
INVERSES = np.stack([[pow(int(x), -1, q) for x in roots(q)[1]] for q in PRIMES])
SCALES = np.array([pow(M, -1, q) for q in PRIMES])
A = np.random.default_rng(1).integers(0, 97, (2, M, 1, 2))


def transformed(a: Array) -> Array:
    """The sum that defines the transform, by Python's integers."""
    out = np.empty_like(a)
    for k, q in enumerate(PRIMES):
        psi = roots(q)[0]
        for j in range(M):
            terms = (a[:, i, :, k] * pow(psi, i * (2 * j + 1), q) for i in range(M))
            out[:, j, :, k] = sum(terms) % q
    return out


def _checked(writer: HealWriter, folder: Path, *, dtype: str) -> None:
    path = writer.write(folder / "t.json")
    held = cw.heal.load(path)
    assert not [finding for finding in held.check() if finding.severity == "error"]
    assert held.run(bisect=True).mismatches == []
    held.save(folder / "again.json")
    assert cw.heal.load(folder / "again.json").run(verify=True, threads=2).mismatches == []
    assert dtype in path.read_text()


@pytest.mark.parametrize("words", [np.int32, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_transforms_take_permutations_of_either_width(
    words: type[np.signedinteger], index: type[np.signedinteger], tmp_path: Path
) -> None:
    writer = HealWriter()
    a, q = writer.upload(A.astype(words)), writer.upload(np.array(PRIMES, words))
    perm = writer.upload(PERM.astype(index))
    psi, back = (writer.upload(table.astype(words)) for table in (TABLES, INVERSES))
    scales = writer.upload(SCALES.astype(words))
    name = np.dtype(words).name
    there, again = writer.empty([2, M, 1, 2], name), writer.empty([2, M, 1, 2], name)
    writer.op("ntt", a, -3, perm, None, q, None, None, psi, there, False, False, out=there)
    writer.download(there, transformed(A).astype(words))
    writer.op("intt", there, perm, None, q, None, None, back, scales, again, False, out=again)
    writer.download(again, A.astype(words))
    _checked(writer, tmp_path, dtype=np.dtype(index).name)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sums_of_products_take_permutations_of_either_width(
    index: type[np.signedinteger], tmp_path: Path
) -> None:
    generator = np.random.default_rng(2)
    a, b = generator.integers(0, 97, (3, 2, 2, M)), generator.integers(0, 97, (2, 2, M))
    expected = np.zeros((3, 2, M), np.int64)
    for n, place in enumerate(PERM):
        products = a[:, :, :, n] * b[None, :, :, place]
        expected[:, :, place] = products.sum(axis=1) % np.array(PRIMES)
    writer = HealWriter()
    x, y, q = writer.upload(a), writer.upload(b), writer.upload(PRIMES)
    perm, out = writer.upload(PERM.astype(index)), writer.empty([3, 2, M])
    args = (x, y, q, None, None, perm, out, True, -1)
    writer.op("modmul_axis_sum", *args, out=out)
    writer.download(out, expected)
    _checked(writer, tmp_path, dtype=np.dtype(index).name)


def test_permutations_by_row_that_a_program_computes() -> None:
    perms = np.stack([np.random.default_rng(seed).permutation(M) for seed in range(4)])
    a = np.arange(4 * M).reshape(4, M)
    expected = np.take_along_axis(a, perms, 1)
    for narrow in (perms.astype(np.int32), np.asfortranarray(perms.astype(np.int32))):
        eager = cw.ops.permute(cw.asarray(a), cw.asarray(narrow), elementwise_axis=0, perm_axis=1)
        np.testing.assert_array_equal(np.asarray(eager), expected)
    program = cw.trace(
        lambda a, p: cw.ops.permute(a, p + 0, elementwise_axis=0, perm_axis=1),
        a, perms.astype(np.int32),
    )  # fmt: skip
    result = program.run(a, perms.astype(np.int32))["out0"]
    np.testing.assert_array_equal(np.asarray(result), expected)
    wrong = perms.astype(np.int32)
    wrong[2, 3] = wrong[2, 4]
    with pytest.raises(cw.errors.CloakworkError, match="permutation"):
        program.run(a, wrong)
    with pytest.raises(cw.errors.CloakworkError, match="permutation"):
        cw.ops.permute(cw.asarray(a), cw.asarray(wrong), elementwise_axis=0, perm_axis=1)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint32])
def test_permutations_of_other_types_are_findings(dtype: type, tmp_path: Path) -> None:
    perms = np.arange(M, dtype=dtype).reshape(1, M)
    with pytest.raises(cw.errors.OpError, match="perms"):
        cw.ops.permute(
            cw.zeros((1, M), dtype="i64"), cw.asarray(perms), elementwise_axis=0, perm_axis=1
        )
