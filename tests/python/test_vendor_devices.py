"""Devices in C, C++ and Python: built as their makers build them, equal to the host."""

from __future__ import annotations

import math
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.cli import main
from cloakwork.device.loading import split_names
from cloakwork.device.signatures import SIGNATURES
from cloakwork.errors import CloakworkError
from python.fhe_setup import ckks, unit_slots

from python import device_builds as builds

needs_compilers = pytest.mark.skipif(not builds.has_compilers(), reason="no compiler for drivers")

BIG = [2305843009218281473, 2305843009218936833]
RNG = np.random.default_rng(13)


def residues(*shape: int) -> np.ndarray:
    return RNG.integers(0, min(BIG), shape)


@pytest.fixture(params=builds.LANGUAGES)
def device(request: pytest.FixtureRequest) -> str:
    if request.param != "python" and not builds.has_compilers():
        pytest.skip("no compiler for drivers")
    return builds.example(request.param)


def equal_on(device: str, function: object, *given: object) -> cw.programs.report.Report:
    """The program's results there and on the host are the same; the report of the run there."""
    program = cw.trace(function, *given)
    there, here = program.run(*given, device=device), program.run(*given)
    for ours, expected in zip(there.outputs, here.outputs, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(expected))
    return there.report


M, K = 8, 2
Q = np.array(BIG)
TABLE = residues(K, M)
PERM = np.array([0, 4, 2, 6, 1, 5, 3, 7])
A = residues(3, M, 2, K)
DIGITS = RNG.integers(-128, 128, (3, M, 2, 1)).astype(np.int8)


def small(dtype: type) -> np.ndarray:
    """Words of both signs beyond the moduli."""
    return RNG.integers(-1000, 1000, (4, 5, 3)).astype(dtype)


def views(x: cw.Tensor) -> cw.Tensor:
    """A view with a broken, a negative and a permuted stride."""
    return cw.permute_dims(x[::2, ::-1, :], (2, 0, 1))


Q3 = [89, 97, 101]
CALLS = {
    "modmul": (ops.modmul, residues(3, 5, 2), residues(5, 2), Q),
    "modmul_scalar": (lambda a: ops.modmul(a, 7, BIG[0]), residues(4, 4)),
    "modmul_signs": (lambda a, b: ops.modmul(a, b, 97), small(np.int64), small(np.int64)),
    "modmul_i32": (
        ops.modmul,
        small(np.int32),
        small(np.int32),
        np.array(Q3, np.int32),
    ),
    "modmul_views": (lambda a, b: ops.modmul(views(a), views(b), 97), small(int), small(int)),
    "modsum": (ops.modsum, residues(3, 5, 2), residues(5, 2), Q),
    "modsum_signs": (lambda a, b: ops.modsum(a, b, 97), small(int), small(int)),
    "mod": (ops.mod, small(int), np.full((4, 5, 3), 7)),
    "modneg": (ops.modneg, small(int), np.array(Q3)),
    "axis_modsum": (lambda a, q: ops.axis_modsum(a, 1, q), residues(3, 5, 2), Q),
    "axis_modsum_0": (lambda a, q: ops.axis_modsum(a, 0, q), small(int), np.array(Q3)),
    "ntt": (lambda a, q, t: ops.ntt(a, q, t, perm=cw.asarray(PERM)), A, Q, TABLE),
    "ntt_bare": (lambda a, q, t: ops.ntt(a, q, t, skip_perm=True), A, Q, TABLE),
    "ntt_tile": (lambda a, q, t: ops.ntt(a, q, t, tile=True, skip_perm=True), DIGITS, Q, TABLE),
    "ntt_last": (
        lambda a, q, t: ops.ntt(cw.permute_dims(a, (0, 2, 3, 1)), q, t, axis=-1, skip_perm=True),
        A,
        Q,
        TABLE,
    ),
    "intt": (
        lambda a, q, t, n: ops.intt(a, q, t, n, perm=cw.asarray(PERM)),
        A,
        Q,
        TABLE,
        residues(K),
    ),
    "intt_bare": (ops.intt, A, Q, TABLE, residues(K)),
    "modsum_i32": (
        lambda a: ops.modsum(a, a, 2147483647),
        RNG.integers(2**30, 2**31 - 1, (3, 4)).astype(np.int32),
    ),
    "modmul_axis_sum": (
        lambda a, b, q: ops.modmul_axis_sum(a, b, q, True, perm=cw.asarray(PERM)),
        residues(2, 3, K, M),
        residues(3, K, M),
        Q,
    ),
    "modmul_axis_sum_bare": (
        lambda a, b, q: ops.modmul_axis_sum(a, b, q, False),
        residues(2, 3, K, M),
        residues(3, K, M),
        Q,
    ),
    "g_decomp": (lambda a: ops.g_decomp(a, 7, 9), residues(3, 4)),
    "g_decomp_signs": (lambda a: ops.g_decomp(a, 30, 5), small(np.int64)),
    "g_decomp_full_q": (lambda a, q: ops.g_decomp_full_q(a, q, 16, 8), residues(3, K, 5), Q),
    "take_along_axis": (
        lambda a, i: ops.take_along_axis(a, i, 1),
        small(int),
        np.array([[[0], [-1], [3]]]),
    ),
    "contiguous": (lambda a: ops.copy(views(a)), small(np.int64)),
    "abs": (ops.abs, small(np.int32)),
}


@pytest.mark.parametrize("call", CALLS)
def test_every_op_is_that_of_the_host_whatever_strides_and_signs(device: str, call: str) -> None:
    function, *arrays = CALLS[call]
    equal_on(device, function, *(cw.asarray(array) for array in arrays))


@needs_compilers
def test_the_device_in_cpp_has_every_op_of_heal_and_none_runs_on_the_host() -> None:
    device = builds.example("cpp")
    for name in ("ntt", "intt", "modmul_axis_sum", "axis_modsum", "g_decomp_full_q", "modmul"):
        function, *arrays = CALLS[name]
        report = equal_on(device, function, *(cw.asarray(array) for array in arrays))
        assert report.elsewhere == [], name


@needs_compilers
def test_a_shim_gives_an_implementation_its_own_tensors_and_memory() -> None:
    device = str(builds.built(builds.SHIM, name="shim"))
    a, b = cw.asarray(residues(3, 5, 2)), cw.asarray(residues(5, 2))
    report = equal_on(device, lambda a, b: ops.modmul(a, b, cw.asarray(Q)), a, b)
    assert report.elsewhere == []
    narrow = [cw.asarray(array) for array in CALLS["modmul_i32"][1:]]
    assert [step.op for step in equal_on(device, ops.modmul, *narrow).elsewhere] == ["modmul"]
    with pytest.raises(CloakworkError, match=r"shim:0: .*: the chip does not like 13"):
        equal_on(device, lambda a: ops.modmul(a, a, 13), a)
    big = cw.asarray(np.zeros(1 << 23, np.int64))
    with pytest.raises(CloakworkError, match=r"shim:0: cannot allocate memory: the chip is full"):
        equal_on(device, lambda a: ops.modmul(a, a, 97), big)


def test_an_encrypted_circuit_is_that_of_the_host(device: str) -> None:
    keys = ckks(64, 2)
    x = keys.encrypt(unit_slots(keys, 3))
    program = cw.trace(lambda x: (x * x).rescale().rotate(1) + x * 0.5, x)
    there, here = (program.run(x, device=name).outputs[0] for name in (device, "cpu"))
    np.testing.assert_array_equal(keys.decrypt(there), keys.decrypt(here))


def test_a_transcript_runs_with_what_the_device_lacks_on_the_host(
    device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(cw.heal.sample()), "--verify", "--device", device]) == 0
    assert "all as expected" in capsys.readouterr().out


@needs_compilers
def test_a_comma_in_the_path_of_a_file_is_part_of_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    library = folder / "libcomma.so"
    library.write_bytes(builds.built(builds.C_EXAMPLE, name="comma").read_bytes())
    assert split_names(f"{library}:0,sim:1") == [f"{library}:0", "sim:1"]
    assert split_names("sim:0, sim:1") == ["sim:0", "sim:1"]
    a = cw.asarray(residues(4))
    equal_on(str(library), lambda a: ops.modsum(a, a, 97), a)
    assert main(["run", str(cw.heal.sample()), "--verify", "--device", f"{library}:0"]) == 0
    assert "all as expected" in capsys.readouterr().out


@needs_compilers
def test_a_library_is_listed_with_its_devices_and_kernels(
    capsys: pytest.CaptureFixture[str],
) -> None:
    library = builds.built(builds.C_EXAMPLE, name="inc")
    driver = cw.device.load_driver(library)
    assert (driver.file, driver.devices) == (str(library), ("inc:0",))
    assert driver.kernels == ("axis_modsum", "copy", "modmul", "modsum")
    assert main(["devices"]) == 0
    assert "inc:0" in capsys.readouterr().out


def test_every_signature_of_a_method_is_of_a_kernel_of_the_processor() -> None:
    kernels = {kernel for kernel, *_ in cw._core.kernel_types()}
    assert SIGNATURES.keys() <= kernels


class Plain(cw.device.PythonDevice):
    """Every op of HEAL, with Python's integers."""

    name = "plain_python"

    def modmul(self, out, a, b, q):  # type: ignore[no-untyped-def]
        out[...] = self._rest(a.astype(object) * b, q)

    def axis_modsum(self, out, a, q):  # type: ignore[no-untyped-def]
        total = np.zeros(out.shape, object)
        for s in range(a.shape[-1]):
            total = self._rest(total + a[..., s], q)
        out[...] = total

    def modmul_axis_sum(self, out, a, b, q, perm):  # type: ignore[no-untyped-def]
        places = np.arange(out.shape[2]) if perm is None else perm
        sums = (a.astype(object) * b[:, places]).sum(axis=-1)
        out[:, :, places] = (out[:, :, places] + sums) % q[:, None].astype(object)

    def gather(self, out, a, indices):  # type: ignore[no-untyped-def]
        out[...] = np.take_along_axis(a, indices[..., None], -1)[..., 0]

    def fill(self, out, value):  # type: ignore[no-untyped-def]
        out[...] = value

    def g_decomp(self, out, a, bits):  # type: ignore[no-untyped-def]
        for j in range(out.shape[-1]):
            out[..., j] = (a.astype(object) >> (j * bits)) & ((1 << bits) - 1)

    def g_decomp_full_q(self, out, a, q, bits):  # type: ignore[no-untyped-def]
        moduli = [int(modulus) for modulus in q]
        whole = math.prod(moduli)
        parts = [whole // m * pow(whole // m, -1, m) for m in moduli]
        number = (a.astype(object) * np.array(parts, object)).sum(axis=-1) % whole
        for j in range(out.shape[-1]):
            out[..., j] = ((number >> (j * bits)) & ((1 << bits) - 1)).astype(np.uint64)

    def ntt(self, out, a, q, psi, perm):  # type: ignore[no-untyped-def]
        for k, modulus in enumerate(map(int, q)):
            rows = a[:, :, k].astype(object) % modulus
            groups, half = 1, rows.shape[-1] // 2
            while half:
                parts = rows.reshape(*rows.shape[:-1], groups, 2, half)
                twiddles = psi[k, groups : 2 * groups, None].astype(object)
                low, high = parts[..., 0, :].copy(), parts[..., 1, :] * twiddles
                parts[..., 0, :], parts[..., 1, :] = (low + high) % modulus, (low - high) % modulus
                groups, half = 2 * groups, half // 2
            out[:, :, k] = rows if perm is None else rows[..., perm]

    def _rest(self, a, q):  # type: ignore[no-untyped-def]
        return np.where(a < 0, -(-a % q), a % q)


@pytest.fixture(scope="module")
def plain() -> str:
    return cw.device.register(Plain())


@pytest.mark.parametrize("call", CALLS)
def test_methods_get_views_as_the_page_lists_them(plain: str, call: str) -> None:
    function, *arrays = CALLS[call]
    report = equal_on(plain, function, *(cw.asarray(array) for array in arrays))
    if call.partition("_")[0] in {"ntt", "axis", "g"}:
        assert report.elsewhere == []
