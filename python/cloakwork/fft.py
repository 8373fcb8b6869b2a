"""Discrete Fourier transforms of any length along any axes: the array API's extension.

`norm` selects the direction that divides by the length n: "backward" the inverse, "forward" the
forward one; with "ortho" both divide by sqrt(n).  Integers are converted to float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cloakwork import _core, ops
from cloakwork._core import Tensor, float64
from cloakwork.array_api.common import (
    COMPLEX_OF,
    REAL_OF,
    axes_of,
    axis_of,
    cast,
    real_number,
    shape_of,
    whole,
)
from cloakwork.array_api.creation import arange, zeros
from cloakwork.array_api.datatypes import FLOATING, KINDS
from cloakwork.array_api.elementwise.parts import conj
from cloakwork.array_api.manipulation import concat, moveaxis, roll
from cloakwork.errors import DTypeError, ParamError
from cloakwork.tensors.arrays import of_array
from cloakwork.tensors.conversion import DTypeLike, on_device, placed

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"]
# Each norm in the order of the ops' codes, and the norm of the opposite direction.
_OPPOSITE: dict[Norm, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@of_array
def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform along an axis, which is cut or padded with zeros to `n` elements: complex.

    >>> import cloakwork as cw
    >>> cw.fft.fft(cw.asarray([1.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=c128)
    """
    line, place = _line(_complex(x), n, axis)
    return moveaxis(ops.fft(line, _code(norm)), -1, place)


@of_array
def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `fft`.

    >>> import cloakwork as cw
    >>> cw.real(cw.fft.ifft(cw.asarray([4.0, 0.0, 0.0, 0.0])))
    Tensor([1., 1., 1., 1.], dtype=f64)
    """
    line, place = _line(_complex(x), n, axis)
    return moveaxis(ops.ifft(line, _code(norm)), -1, place)


@of_array
def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The first `n // 2 + 1` elements of the transform of real numbers.

    >>> import cloakwork as cw
    >>> cw.real(cw.fft.rfft(cw.asarray([1.0, 1.0, 1.0, 1.0])))
    Tensor([4., 0., 0.], dtype=f64)
    """
    line, place = _line(_real(x), n, axis)
    return moveaxis(ops.rfft(line, _code(norm)), -1, place)


@of_array
def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `rfft`: `n` real numbers, by default an even number.

    >>> import cloakwork as cw
    >>> cw.fft.irfft(cw.asarray([4.0, 0.0, 0.0]))
    Tensor([1., 1., 1., 1.], dtype=f64)
    """
    count = 2 * (x.shape[axis_of(axis, x.ndim)] - 1) if n is None else whole(n, "n")
    if count < 1:
        raise ParamError("n", count, "1 or more")
    line, place = _line(_complex(x), count // 2 + 1, axis)
    return moveaxis(ops.irfft(line, count, _code(norm)), -1, place)


@of_array
def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform of a Hermitian-symmetric signal: `n` real numbers.

    `x` holds its first `n // 2 + 1` elements.

    >>> import cloakwork as cw
    >>> cw.fft.hfft(cw.asarray([1.0, 0.0, 0.0]))
    Tensor([1., 1., 1., 1.], dtype=f64)
    """
    return irfft(conj(_complex(x)), n=n, axis=axis, norm=_OPPOSITE[_known(norm)])


@of_array
def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `hfft`: `n // 2 + 1` complex numbers.

    >>> import cloakwork as cw
    >>> cw.real(cw.fft.ihfft(cw.asarray([1.0, 1.0, 1.0, 1.0])))
    Tensor([1., 0., 0.], dtype=f64)
    """
    return conj(rfft(x, n=n, axis=axis, norm=_OPPOSITE[_known(norm)]))


@of_array
def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The transform along several axes, or all, each cut or padded to its size in `s`.

    >>> import cloakwork as cw
    >>> cw.real(cw.fft.fftn(cw.asarray([[1.0, 0.0], [0.0, 0.0]])))
    Tensor([[1., 1.],
            [1., 1.]], dtype=f64)
    """
    for place, size in _sizes(x, s, axes):
        x = fft(x, n=size, axis=place, norm=norm)
    return x


@of_array
def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `fftn`.

    >>> import cloakwork as cw
    >>> cw.real(cw.fft.ifftn(cw.asarray([[4.0, 0.0], [0.0, 0.0]])))
    Tensor([[1., 1.],
            [1., 1.]], dtype=f64)
    """
    for place, size in _sizes(x, s, axes):
        x = ifft(x, n=size, axis=place, norm=norm)
    return x


@of_array
def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """`rfft` along the last of several axes, or of all, and `fft` along the others.

    >>> import cloakwork as cw
    >>> cw.fft.rfftn(cw.ones((4, 4))).shape
    (4, 3)
    """
    *others, (place, size) = _some(_sizes(x, s, axes))
    x = rfft(x, n=size, axis=place, norm=norm)
    for place, size in others:
        x = fft(x, n=size, axis=place, norm=norm)
    return x


@of_array
def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `rfftn`: real, with an even size of the last axis unless said otherwise.

    >>> import cloakwork as cw
    >>> cw.fft.irfftn(cw.fft.rfftn(cw.ones((2, 2))))
    Tensor([[1., 1.],
            [1., 1.]], dtype=f64)
    """
    *others, (place, size) = _some(_sizes(x, s, axes))
    for axis, count in others:
        x = ifft(x, n=count, axis=axis, norm=norm)
    return irfft(x, n=size, axis=place, norm=norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """The frequencies of a transform of `n` samples with spacing `d`, in cycles: float64.

    >>> import cloakwork as cw
    >>> cw.fft.fftfreq(4)
    Tensor([ 0.  ,  0.25, -0.5 , -0.25], dtype=f64)
    """
    n, d = whole(n, "n"), real_number(d, "d")
    return _frequencies([arange((n + 1) // 2), arange(-(n // 2), 0)], n * d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """The frequencies of `rfft` of `n` samples with spacing `d`, in cycles: float64.

    >>> import cloakwork as cw
    >>> cw.fft.rfftfreq(4)
    Tensor([0.  , 0.25, 0.5 ], dtype=f64)
    """
    n, d = whole(n, "n"), real_number(d, "d")
    return _frequencies([arange(n // 2 + 1)], n * d, dtype, device)


@of_array
def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The transform with frequency 0 in the middle of those axes, or of all.

    >>> import cloakwork as cw
    >>> cw.fft.fftshift(cw.asarray([0, 1, -2, -1]))
    Tensor([-2, -1,  0,  1], dtype=i64)
    """
    places = axes_of(axes, x.ndim)
    return roll(x, tuple(x.shape[axis] // 2 for axis in places), axis=places)


@of_array
def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> import cloakwork as cw
    >>> cw.fft.ifftshift(cw.asarray([-2, -1, 0, 1]))
    Tensor([ 0,  1, -2, -1], dtype=i64)
    """
    places = axes_of(axes, x.ndim)
    return roll(x, tuple(-(x.shape[axis] // 2) for axis in places), axis=places)


def _complex(x: Tensor) -> Tensor:
    x = x if x.dtype.name in FLOATING else cast(x, float64)
    return x if x.dtype.name in REAL_OF else ops.astype(x, COMPLEX_OF[x.dtype.name])


def _real(x: Tensor) -> Tensor:
    if x.dtype.name in REAL_OF:
        raise DTypeError("x", x.dtype.name, "real numbers")
    return x if x.dtype.name in FLOATING else cast(x, float64)


def _line(x: Tensor, n: int | None, axis: int) -> tuple[Tensor, int]:
    """The tensor with that axis last and `n` elements long, and the axis' position."""
    place = axis_of(axis, x.ndim)
    line = moveaxis(x, place, -1)
    size = x.shape[place]
    count = size if n is None else whole(n, "n")
    if count < 1:
        raise ParamError("n", count, "1 or more")
    if count > size:
        padding = zeros((*line.shape[:-1], count - size), x.dtype)
        return concat([line, padding], axis=-1), place
    return line[..., :count], place


def _code(norm: Norm) -> int:
    """The op's code of a norm."""
    return list(_OPPOSITE).index(_known(norm))


def _known(norm: Norm) -> Norm:
    if norm not in _OPPOSITE:
        raise ParamError("norm", repr(norm), "'backward', 'ortho' or 'forward'")
    return norm


def _sizes(
    x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None
) -> list[tuple[int, int | None]]:
    """The axes, and their sizes in the transform."""
    if s is not None and axes is None:
        raise ParamError("axes", None, "axes, where s is given")
    places = axes_of(None if axes is None else shape_of(axes, "axes"), x.ndim)
    if s is None:
        return [(place, None) for place in places]
    if len(s) != len(places):
        raise ParamError("s", tuple(s), f"a size for each of {len(places)} axes")
    return [(place, None if size == -1 else size) for place, size in zip(places, s, strict=True)]


def _some(sizes: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    if not sizes:
        raise ParamError("axes", "none", "one axis or more")
    return sizes


def _frequencies(
    places: list[Tensor], length: float, dtype: DTypeLike | None, device: str | None
) -> Tensor:
    on_device(device)
    wanted = float64 if dtype is None else _core.dtype(dtype)
    if wanted.name not in KINDS["real floating"]:
        raise DTypeError("dtype", wanted.name, "float32 or float64")
    return placed(cast(cast(concat(places), float64) / length, wanted), device)
