"""The workloads of HEAL's published transcripts, with expected values from Python's integers.

Expected values come from the definitions: sums over powers of psi, the Chinese remainder theorem,
digits by shifts. They use no code of Cloakwork.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from python.heal_writer import HealWriter, Name, Q

N, K, BATCH = 16, len(Q), 5
BITS = 4
PRODUCT = Q[0] * Q[1]
DIGITS = -(-PRODUCT.bit_length() // BITS)
Objects = np.ndarray[Any, np.dtype[np.object_]]
BITREV = [int(f"{i:04b}"[::-1], 2) for i in range(N)]
MODULI = np.array(Q, dtype=object)


def residues(seed: int, *shape: int) -> np.ndarray:
    """Residues modulo each of Q, along a last axis."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, q, shape) for q in Q], axis=-1)


def objects(array: np.ndarray) -> Objects:
    return array.astype(object)


def i64(array: Objects) -> np.ndarray:
    return array.astype(np.int64)


def root(q: int) -> int:
    """A primitive root of order 2 N."""
    candidates = (pow(g, (q - 1) // (2 * N), q) for g in range(2, 1000))
    return next(psi for psi in candidates if pow(psi, N, q) == q - 1)


PSI = [root(q) for q in Q]


def powers(psi: int, q: int) -> Objects:
    """The negacyclic transform as a matrix: row j has psi^(i (2 j + 1))."""
    rows = [[pow(psi, i * (2 * j + 1), q) for i in range(N)] for j in range(N)]
    return np.array(rows, dtype=object)


def table(exponent: int) -> np.ndarray:
    """Row k has PSI[k]^(exponent bitrev i); Fortran order, as in published files."""
    rows = [
        [pow(psi, exponent * i % (2 * N), q) for i in BITREV] for psi, q in zip(PSI, Q, strict=True)
    ]
    return np.asfortranarray(np.array(rows, dtype=np.int64))


def slices(*sizes: int) -> list[Any]:
    return [slice(0, size, 1) for size in sizes]


class Context:
    """The uploads at the start of every transcript."""

    def __init__(self, writer: HealWriter) -> None:
        writer.segment("upload_inf_context")
        self.q = writer.upload(Q)
        self.perm = writer.upload(BITREV)
        self.pairs = writer.upload([[i, b] for i, b in enumerate(BITREV) if i < b])
        self.log2q = writer.upload([q.bit_length() for q in Q])
        self.mu = writer.upload([(1 << 124) // q for q in Q])
        self.psi, self.psi_inv = writer.upload(table(1)), writer.upload(table(-1))
        self.n_inv = writer.upload([pow(N, -1, q) for q in Q])
        inverses = [[1 if p == q else pow(q, -1, p) for q in Q] for p in Q]
        self.q_inv = writer.upload(np.array(inverses))
        self.level_inv = writer.upload([pow(2**60, -1, q) for q in Q])
        writer.segment(None)


def matmul() -> HealWriter:
    """An encrypted matrix product: broadcast into a fresh tensor, then a sum over an axis."""
    writer, ciphertext, weights = HealWriter(), residues(1, 1, 28, 1, N), residues(2, 10, 28, 1, N)
    q, x, w = writer.upload(Q), writer.upload(ciphertext), writer.upload(weights)
    product = writer.empty([10, 28, 1, N, K])
    writer.op("_modmul_ttt", x, w, q, product, out=product)
    total = writer.empty([10, 1, N, K])
    writer.op("axis_modsum", product, -4, q, total, out=total)
    writer.free(product)
    writer.steps.append(("SEGMENT_START", "download_ct_1"))
    writer.download(total, i64((objects(ciphertext) * objects(weights)).sum(axis=1) % MODULI))
    writer.segment(None)
    return writer


def ciphertext_product() -> HealWriter:
    """Ciphertext times ciphertext: parts are written through views whose base is freed early."""
    writer, a, b = HealWriter(), residues(3, 2, BATCH, N), residues(4, 2, BATCH, N)
    q, x, y = writer.upload(Q), writer.upload(a), writer.upload(b)
    whole, cross = writer.empty([3, BATCH, N, K]), writer.empty([BATCH, N, K])

    def part(tensor: Name, index: int) -> Name:
        entries = [index, *slices(BATCH, N, K)]
        return writer.op("get_slice", tensor, entries, out=writer.new_name())

    (x0, x1), (y0, y1) = ([part(t, i) for i in range(2)] for t in (x, y))
    first, middle, last = (part(whole, i) for i in range(3))
    for tensor in (whole, x, y):
        writer.free(tensor)
    for left, right, out in ((x0, y0, first), (x1, y1, last), (x0, y1, middle), (x1, y0, cross)):
        writer.op("_modmul_ttt", left, right, q, out, out=out)
    writer.op("_modsum_ttt", middle, cross, q, middle, out=middle)
    (a0, a1), (b0, b1) = objects(a), objects(b)
    for tensor, value in ((first, a0 * b0), (middle, a0 * b1 + a1 * b0), (last, a1 * b1)):
        writer.download(tensor, i64(value % MODULI))
    return writer


def digits_of(writer: HealWriter, context: Context, part: Name) -> Name:
    """Bring a part [BATCH, N, K] back to coefficients, then into digits [BATCH, DIGITS, 1, N]."""
    back = writer.empty([BATCH, N, 1, K])
    part = writer.op("reshape", part, [BATCH, N, 1, K], out=writer.new_name())
    given = (context.perm, context.pairs, context.q, context.log2q, context.mu)
    writer.op(
        "intt", part, *given, context.psi_inv, context.n_inv, back, False, out=back
    )  # fmt: skip
    entries = [*slices(BATCH, N), 0, *slices(K)]
    part = writer.op("get_slice", back, entries, out=writer.new_name())
    part = writer.op("moveaxis", part, -1, 1, out=writer.new_name())
    part = writer.op("contiguous", part, out=writer.new_name())
    buffer = writer.empty([BATCH * DIGITS * N], "int8")
    int8 = "torch.int8"
    digits = Name(writer.new_name().name, int8)
    writer.op("reshape", buffer, [BATCH, DIGITS, N], out=digits)
    writer.op(
        "apply_g_decomp_relative_to_full_q", part, context.q, context.q_inv, DIGITS, BITS, 60,
        context.level_inv, digits, out=digits,
    )  # fmt: skip
    flat = writer.op("flatten", digits, 0, 1, out=Name(writer.new_name().name, int8))
    shape = [BATCH, DIGITS, 1, N]
    return writer.op("reshape", flat, shape, out=Name(writer.new_name().name, int8))


def key_switch() -> HealWriter:
    """A key switch: digits of the last part, transformed, times an evaluation key."""
    writer = HealWriter()
    context = Context(writer)
    key, parts = residues(5, N, 2, DIGITS), residues(6, 3, BATCH, N)
    k, c = writer.upload(key), writer.upload(parts)
    writer.segment("compute_block_1")
    last = writer.op("get_slice", c, [2, *slices(BATCH, N, K)], out=writer.new_name())
    digits = digits_of(writer, context, last)
    spread = writer.empty([BATCH, DIGITS, K, N])
    given = (context.perm, context.pairs, context.q, context.log2q, context.mu, context.psi)
    writer.op("ntt", digits, -1, *given, spread, True, True, out=spread)
    halves = []
    for half in range(2):
        entries = [*slices(N), half, *slices(DIGITS, K)]
        b = writer.op("get_slice", k, entries, out=writer.new_name())
        b = writer.op("moveaxis", b, 0, -1, out=writer.new_name())
        out = writer.empty([BATCH, K, N])
        given = (context.q, context.log2q, context.mu, context.perm)
        writer.op("modmul_axis_sum", spread, b, *given, out, True, -1, out=out)
        out = writer.op("moveaxis", out, -1, 1, out=writer.new_name())
        out = writer.op("contiguous", out, out=writer.new_name())
        own = writer.op("get_slice", c, [half, *slices(BATCH, N, K)], out=writer.new_name())
        halves.append(writer.op("_modsum_ttt", out, own, context.q, out, out=out))
    writer.segment(None)
    expected_digits, expected = switched(objects(parts), objects(key))
    writer.download(digits, expected_digits.astype(np.int8).reshape(BATCH, DIGITS, 1, N))
    for half, value in zip(halves, expected, strict=True):
        writer.download(half, value)
    return writer


def switched(parts: Objects, key: Objects) -> tuple[Objects, list[np.ndarray]]:
    """The digits, and both parts of the result, by definition."""
    whole = np.zeros((BATCH, N), dtype=object)
    for k, (psi, q) in enumerate(zip(PSI, Q, strict=True)):
        inverse = powers(pow(psi, -1, q), q).T * pow(N, -1, q)
        rest = PRODUCT // q
        whole += parts[2, :, :, k] @ inverse.T % q * rest * pow(rest, -1, q)
    whole %= PRODUCT
    digits = np.stack([whole >> BITS * j & (1 << BITS) - 1 for j in range(DIGITS)], axis=1)
    halves = []
    for half in range(2):
        limbs = [
            ((digits @ powers(PSI[k], q).T) * key[:, half, :, k].T).sum(axis=1)
            + parts[half, ..., k]
            for k, q in enumerate(Q)
        ]
        halves.append(i64(np.stack(limbs, axis=-1) % MODULI))
    return digits, halves


def rotate_and_sum() -> HealWriter:
    """Rotations by slot permutations, through tensors of rank 14."""
    writer, a = HealWriter(), residues(7, 2, BATCH, N)
    turns = np.stack([np.roll(np.arange(N), -(1 << i)) for i in range(3)])
    q, current, table = writer.upload(Q), writer.upload(a), writer.upload(turns)
    wide = [1] * 10 + [2, BATCH, N, K]
    expected = objects(a)
    for i, turn in enumerate(turns):
        picked = writer.op("get_slice", table, [i, *slices(N)], out=writer.new_name())
        picked = writer.op("reshape", picked, [1] * 12 + [N, 1], out=writer.new_name())
        source = writer.op("reshape", current, wide, out=writer.new_name())
        moved = writer.empty(wide)
        writer.op("take_along_axis", source, picked, -2, moved, out=moved)
        moved = writer.op("reshape", moved, [2, BATCH, N, K], out=writer.new_name())
        negative, total = writer.empty([2, BATCH, N, K]), writer.empty([2, BATCH, N, K])
        writer.op("_modneg_tt", moved, q, negative, out=negative)
        current = writer.op("_modsum_ttt", current, negative, q, total, out=total)
        expected = (expected - expected[:, :, turn]) % MODULI
    writer.download(current, i64(expected))
    return writer


def first_generation() -> HealWriter:
    """The older argument forms: ntt without an axis, expand with the repeat before the axis."""
    writer, a = HealWriter(), residues(8, 3, N, 4)
    context = Context(writer)
    x, out = writer.upload(a), writer.empty([3, N, 4, K])
    given = (context.perm, context.pairs, context.q, context.log2q, context.mu, context.psi)
    writer.op("ntt", x, *given, out, False, False, out=out)
    limbs = [
        np.einsum("ji,biu->bju", powers(psi, q), objects(a)[..., k])
        for k, (psi, q) in enumerate(zip(PSI, Q, strict=True))
    ]
    writer.download(out, i64(np.stack(limbs, axis=-1) % MODULI))
    row = writer.upload(np.arange(8).reshape(2, 1, 4))
    wide = writer.op("expand", row, 3, 1, out=writer.new_name())
    writer.download(wide, np.arange(8).reshape(2, 1, 4).repeat(3, axis=1))
    return writer


PATTERNS = [matmul, ciphertext_product, key_switch, rotate_and_sum, first_generation]


def commented(writer: HealWriter) -> str:
    """The simplified form as the documents print it: with a comment before each step."""
    lines = json.dumps(writer.simplified(), indent=2)
    return lines.replace("\n  {\n", '\n  // a "step"\n  {\n')


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("form", ["typed", "simplified", "commented", "saved", "container"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_published_work_gives_what_the_definitions_say(
    pattern: Callable[[], HealWriter], form: str, threads: int, tmp_path: Path
) -> None:
    writer = pattern()
    path = writer.write(tmp_path / "t.json")
    if form == "simplified":
        path.write_text(json.dumps(writer.simplified()))
    elif form == "commented":
        path.write_text(commented(writer))
    elif form in {"saved", "container"}:
        target = tmp_path / f"copy.{'json' if form == 'saved' else 'cwk'}"
        cw.heal.load(path).save(target)
        path = target
    result = cw.heal.load(path).run(verify=True, threads=threads)
    assert result.mismatches == []
    assert result.outputs
