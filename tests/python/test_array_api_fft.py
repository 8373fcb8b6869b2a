"""Discrete Fourier transforms."""

from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from python.numpy_oracle import same

NORMS = ["backward", "ortho", "forward"]
RNG = np.random.default_rng(3)


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    array = RNG.standard_normal(shape)
    if dtype.startswith("c"):
        array = array + 1j * RNG.standard_normal(shape)
    return array.astype(dtype)


def near(actual: cw.Tensor, expected: np.ndarray[Any, Any]) -> None:
    same(actual, expected, 1e-4 if expected.dtype.name in ("float32", "complex64") else 1e-11)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("size", [None, 1, 5, 12, 16])
def test_transforms_along_an_axis(name: str, norm: Any, wide: bool, size: int | None) -> None:
    is_real = name in ("rfft", "ihfft")
    dtype = ("float64" if wide else "float32") if is_real else "complex128" if wide else "complex64"
    array = values((3, 12, 2), dtype)
    for axis in (1, -1):
        expected = getattr(np.fft, name)(array, n=size, axis=axis, norm=norm)
        near(getattr(cw.fft, name)(cw.asarray(array), n=size, axis=axis, norm=norm), expected)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("sizes", [None, (4, 6), (3, 5)])
def test_transforms_along_axes(name: str, norm: Any, sizes: Any) -> None:
    array = values((3, 4, 6), "float64" if name == "rfftn" else "complex128")
    for axes in ((0, 2), (1, 0)):
        expected = getattr(np.fft, name)(array, s=sizes, axes=axes, norm=norm)
        near(getattr(cw.fft, name)(cw.asarray(array), s=sizes, axes=axes, norm=norm), expected)
    if sizes is None:
        expected = getattr(np.fft, name)(array, norm=norm)
        near(getattr(cw.fft, name)(cw.asarray(array), norm=norm), expected)


@pytest.mark.parametrize("count", [1, 4, 5])
def test_frequencies_and_their_order(count: int) -> None:
    near(cw.fft.fftfreq(count, d=0.5), np.fft.fftfreq(count, d=0.5))
    near(cw.fft.rfftfreq(count, d=0.5, dtype="f32"), np.fft.rfftfreq(count, d=0.5).astype("f4"))
    array = np.arange(count * 2).reshape(2, count)
    for axes in (None, 1, (0, 1)):
        same(cw.fft.fftshift(cw.asarray(array), axes=axes), np.fft.fftshift(array, axes=axes))
        same(cw.fft.ifftshift(cw.asarray(array), axes=axes), np.fft.ifftshift(array, axes=axes))


def test_real_numbers_and_integers_are_transformed_too() -> None:
    near(cw.fft.fft(cw.asarray([1, 2, 3])), np.fft.fft([1, 2, 3]))
    near(cw.fft.rfft(cw.asarray([1, 2, 3])), np.fft.rfft([1, 2, 3]))


def test_what_cannot_be_transformed() -> None:
    with pytest.raises(TypeError, match="real numbers"):
        cw.fft.rfft(cw.asarray([1j]))
    with pytest.raises(ValueError, match="norm"):
        cw.fft.fft(cw.asarray([1.0]), norm="none")  # type: ignore[arg-type]  # no such norm
    with pytest.raises(ValueError, match="n: got 0"):
        cw.fft.fft(cw.asarray([1.0]), n=0)
    with pytest.raises(ValueError, match="axes"):
        cw.fft.fftn(cw.asarray([1.0]), s=(1,))
