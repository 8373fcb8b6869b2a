"""Python reaches kernels through Rust alone: every op is a launch that Rust chose and made."""

import ctypes
import importlib.machinery
from pathlib import Path

import cloakwork as cw
import pytest
from cloakwork import _core

UNARY = ["negative", "square", "sign", "sqrt", "exp", "floor", "isnan"]
BINARY = ["add", "multiply", "less", "maximum", "pow"]


def launches() -> int:
    last = _core.last_dispatch()
    return last[3] if last else 0


def test_each_call_is_one_launch_of_a_kernel_that_rust_chose() -> None:
    a = cw.asarray([1.0, 2.0, 3.0])
    for name in UNARY + BINARY:
        before = launches()
        getattr(cw, name)(*[a] * (1 if name in UNARY else 2))
        assert launches() == before + 1, name
        assert _core.last_dispatch()[0].startswith(f"{name}_f64_"), name


@pytest.mark.parametrize("count", [1, 1000, 200_000])
def test_a_kernel_is_chosen_once_whatever_the_size(count: int) -> None:
    a = cw.ones(count, dtype="f32")
    before = launches()
    _ = a + a
    assert launches() == before + 1


def test_kernels_cannot_be_called_around_rust() -> None:
    library = ctypes.CDLL(_core.__file__)
    kernel = _core.last_dispatch()[0] if _core.last_dispatch() else "add_f64_portable"
    for symbol in (f"cw_{kernel}", "cw_add_f64_portable", "cw_cpu_kernels", "add_f32_avx512"):
        with pytest.raises(AttributeError):
            getattr(library, symbol)


def test_there_is_one_extension_module() -> None:
    package = Path(cw.__file__).parent
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    native = {path.name for path in package.rglob("*") if path.name.endswith(suffixes)}
    assert native == {Path(_core.__file__).name}
