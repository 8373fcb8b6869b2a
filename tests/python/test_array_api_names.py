"""All names of the standard's 2025.12 release exist and are documented."""

import inspect
import itertools

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import DeviceError, DTypeError

NAMES = {
    "main": "__array_namespace_info__ abs acos acosh add all any arange argmax argmin argsort "
    "asarray asin asinh astype atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift "
    "bitwise_or bitwise_right_shift bitwise_xor bool broadcast_arrays broadcast_shapes "
    "broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos cosh "
    "count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal exp "
    "expand_dims expm1 eye finfo flip float32 float64 floor floor_divide from_dlpack full "
    "full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite "
    "isin isinf isnan less less_equal linspace log log10 log1p log2 logaddexp logical_and "
    "logical_not logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min "
    "minimum moveaxis multiply nan negative newaxis nextafter nonzero not_equal ones ones_like "
    "permute_dims pi positive pow prod real reciprocal remainder repeat reshape result_type roll "
    "round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take "
    "take_along_axis tan tanh tensordot tile tril triu trunc uint16 uint32 uint64 uint8 unique_all "
    "unique_counts unique_inverse unique_values unstack var vecdot where zeros zeros_like",
    "linalg": "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm "
    "matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot "
    "trace vecdot vector_norm",
    "fft": "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq "
    "rfftn",
}


@pytest.mark.parametrize("part", NAMES)
def test_every_name_of_the_standard_is_public(part: str) -> None:
    namespace = cw if part == "main" else getattr(cw, part)
    missing = set(NAMES[part].split()) - set(namespace.__all__)
    assert missing == set()


def test_every_public_function_has_an_example() -> None:
    for namespace in (cw, cw.linalg, cw.fft):
        functions = [getattr(namespace, name) for name in namespace.__all__]
        own = [f for f in functions if inspect.isfunction(f) and "backend" not in f.__module__]
        silent = [f.__name__ for f in own if ">>>" not in (f.__doc__ or "")]
        assert silent == []


def test_the_namespace_says_what_it_is() -> None:
    assert cw.__array_api_version__ == "2025.12"
    assert cw.asarray(1).__array_namespace__() is cw
    info = cw.__array_namespace_info__()
    assert info.devices()[0] == "cpu"
    assert info.default_device() == cw.asarray(1).device
    assert info.default_dtypes()["real floating"] == cw.zeros(1).dtype
    assert list(info.dtypes(kind=("bool", "real floating"))) == ["bool", "float32", "float64"]
    assert len(info.dtypes()) == 13
    assert info.capabilities()["max dimensions"] == 16


def test_devices_that_are_not_there_are_refused() -> None:
    for function in (cw.zeros, cw.asarray, cw.arange, cw.eye):
        with pytest.raises(DeviceError, match=r"cuda:0.*cpu"):
            function(1, device="cuda:0")


@pytest.mark.parametrize(
    "name", [dtype.name for dtype in cw.__array_namespace_info__().dtypes().values()]
)
def test_limits_and_kinds_of_dtypes(name: str) -> None:
    dtype, numpy = getattr(cw, name), np.dtype(name)
    assert cw.dtype(numpy) == dtype == cw.dtype(str(dtype)) == name
    assert cw.isdtype(dtype, ("bool", "numeric"))
    if numpy.kind in "iu":
        info, expected = cw.iinfo(dtype), np.iinfo(numpy)
        assert (info.bits, info.max, info.min) == (expected.bits, expected.max, expected.min)
        assert cw.isdtype(dtype, "integral")
    elif numpy.kind in "fc":
        limits, floats = cw.finfo(dtype), np.finfo(numpy)
        assert (limits.eps, limits.max, limits.bits) == (floats.eps, floats.max, floats.bits)
        assert limits.smallest_normal == floats.smallest_normal
        assert not cw.isdtype(dtype, "integral")


def test_promotion_is_numpys_where_numpys_is_exact() -> None:
    dtypes = list(cw.__array_namespace_info__().dtypes().values())
    for first in dtypes:
        for second in dtypes:
            kinds = {first.kind, second.kind}
            if kinds == {"i", "u"} and cw.uint64 in (first, second):
                with pytest.raises(TypeError):
                    cw.result_type(first, second)
                assert not cw.can_cast(first, second)
                continue
            expected = np.promote_types(first.name, second.name)
            assert cw.result_type(first, second) == expected
            assert cw.can_cast(first, second) == (expected == second)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((cw.int8, 1), cw.int8), ((cw.int8, 1.0), cw.float64), ((cw.float32, 1j), cw.complex64),
        ((cw.bool, 1), cw.int64), ((1, 2.0), cw.float64), ((True,), cw.bool),
        ((cw.float64, 1j), cw.complex128), ((cw.int8, 1j), cw.complex128),
    ],
)  # fmt: skip
def test_numbers_of_python_are_weak(arguments: tuple[object, ...], expected: cw.DType) -> None:
    assert cw.result_type(*arguments) == expected  # type: ignore[arg-type]  # any of those


def test_what_is_no_dtype_is_a_type_error_with_those_there_are() -> None:
    for wrong in ("i65", object, np.dtype("float16")):
        with pytest.raises(DTypeError, match="float32, float64"):
            cw.zeros(1, dtype=wrong)
    with pytest.raises(TypeError, match=r"real\(\) or imag\(\)"):
        cw.astype(cw.asarray([1j]), cw.float32)
    with pytest.raises(TypeError, match="integer dtype"):
        cw.iinfo(cw.float32)
    with pytest.raises(TypeError, match="floating dtype"):
        cw.finfo(cw.int32)


def test_result_type_of_several_is_numpys_in_any_order() -> None:
    codes = ["?", "i1", "i4", "u1", "u2", "u4", "f4", "f8", "c8", "c16"]
    for some in itertools.combinations_with_replacement(codes, 3):
        dtypes = [np.dtype(code) for code in some]
        expected = np.result_type(*dtypes).name
        for order in itertools.permutations(dtypes):
            assert cw.result_type(*(dtype.name for dtype in order)).name == expected, order
    parts = [cw.zeros(1, dtype=name) for name in ("int8", "u16", "f32")]
    assert cw.concat(parts).dtype == cw.stack(parts[::-1]).dtype == cw.float32
