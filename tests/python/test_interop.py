"""einops, dask and xarray on tensors: each in a process of its own, skipped where not installed."""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec

import pytest

EINOPS = """
import einops, numpy, pytest, cloakwork as cw

array = numpy.arange(24.0).reshape(2, 3, 4)
x = cw.asarray(array)
with pytest.raises(RuntimeError, match="unknown to einops"):
    einops.rearrange(x, "a b c -> c a b")
cw.interop.register_einops()
cw.interop.register_einops()
calls = [
    lambda a: einops.rearrange(a, "a b c -> c (a b)"),
    lambda a: einops.rearrange(a, "a (b1 b) (c1 c) -> a b1 c1 b c", b1=3, c1=2),
    lambda a: einops.rearrange([a, a], "n a b c -> a (n c) b"),
    lambda a: einops.repeat(a, "a b c -> a (b 2) c d", d=3),
    lambda a: einops.reduce(a, "a b c -> c", "max"),
    lambda a: einops.pack([a, a[:, 0]], "a * c")[0],
    lambda a: einops.unpack(a, [[1], [2]], "a * c")[1],
    lambda a: einops.einsum(a, a, "a b c, a b c -> b"),
]
for name in ("min", "max", "sum", "mean", "prod"):
    calls.append(lambda a, name=name: einops.reduce(a, "a b (c 2) -> b c", name))
    calls.append(lambda a, name=name: einops.reduce(a, "a b c -> 1 b 1", name))
for call in calls:
    expected = call(array)
    found = call(x)
    assert type(found) is cw.Tensor
    numpy.testing.assert_allclose(numpy.asarray(found), expected)
    traced = cw.trace(call, x).run(x).outputs[0]
    numpy.testing.assert_allclose(numpy.asarray(traced), expected)
    there = call(cw.asarray(array, device="sim:0"))
    assert there.device == "sim:0"
    numpy.testing.assert_allclose(numpy.asarray(there), expected)
assert einops.reduce(x > 3, "a b c -> a", "any").tolist() == [True, True]
assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4}
assert type(einops.asnumpy(x)) is numpy.ndarray
with pytest.raises(einops.EinopsError):
    einops.reduce(x, "a b -> a", "sum")
with pytest.raises(NotImplementedError):
    einops.reduce(x > 1, "a b c -> a", "mean")
"""

DASK = """
import dask.array as da, numpy, cloakwork as cw

array = numpy.random.default_rng(4).random((6, 4))
calls = [
    lambda a: a.sum(axis=0), lambda a: a.mean(axis=1), lambda a: a.std(axis=0), lambda a: a.var(),
    lambda a: a.max(axis=0), lambda a: a.T + 1, lambda a: da.sin(a), lambda a: a @ a.T,
    lambda a: da.tensordot(a, a, axes=((0,), (0,))), lambda a: da.concatenate([a, a]),
    lambda a: a[1:, ::2], lambda a: da.where(a > 0.5, a, 0.0), lambda a: a.cumsum(axis=0),
    lambda a: da.median(a, axis=0), lambda a: da.einsum("ij,ij->i", a, a), lambda a: a.rechunk(1),
    lambda a: a.map_blocks(lambda block: block * 2),
    lambda a: da.linalg.svd(a.rechunk((6, 4)))[1],
]
def over(x, **options):
    return da.from_array(x, chunks=3, **options)

for number, call in enumerate(calls):
    expected = call(over(array)).compute()
    found = call(over(cw.asarray(array), asarray=False)).compute()
    assert type(found) is cw.Tensor, number
    numpy.testing.assert_allclose(numpy.asarray(found), expected, err_msg=str(number))
cw.interop.register_dask()
for method in ("linear", "lower", "nearest"):
    q = [0, 30, 100]
    expected = da.percentile(over(array[:, 0]), q, method=method).compute()
    found = da.percentile(over(cw.asarray(array[:, 0]), asarray=False), q, method=method).compute()
    numpy.testing.assert_allclose(numpy.asarray(found), expected)
"""

XARRAY = """
import numpy, pytest, xarray, cloakwork as cw

array = numpy.random.default_rng(5).random((2, 3, 4))
def over(data):
    return xarray.DataArray(data, dims=("a", "b", "c"), coords={"c": [3.0, 0.0, 2.0, 1.0]})

calls = [
    lambda x: x.sum("a"), lambda x: x.mean("b"), lambda x: x.median("a"), lambda x: x.std(),
    lambda x: x.quantile(0.3, "a"), lambda x: x.quantile([0.3, 0.7], ("a", "b")),
    lambda x: x.where(x > 0.5, 0.0), lambda x: x.where(x > 0.5, numpy.nan).mean("b"),
    lambda x: xarray.where(x > 0.5, x, 1.0), lambda x: x.where(x > 2.0, 0.0).fillna(1.0),
    lambda x: x.shift(a=1, fill_value=0.0), lambda x: x.pad(a=1, constant_values=0.0),
    lambda x: x.isin([array[0, 0, 0], 7.0]), lambda x: x.sortby("c"), lambda x: x.isel(b=[2, 0]),
    lambda x: x.cumsum("b"), lambda x: x.diff("b"),
    lambda x: xarray.concat([x, x], "a"), lambda x: x.stack(z=("a", "b")), lambda x: x.argmax("b"),
    lambda x: x.coarsen(c=2).mean(), lambda x: x.assign_coords(c=[0, 1, 0, 1]).groupby("c").mean(),
    lambda x: xarray.dot(x, x, dim="a"), lambda x: x + x.isel(a=0), lambda x: x.integrate("c"),
]
for number, call in enumerate(calls):
    expected, found = call(over(array)), call(over(cw.asarray(array)))
    assert type(found.data) is cw.Tensor, number
    numpy.testing.assert_allclose(numpy.asarray(found.data), expected.data, err_msg=str(number))
x = over(cw.asarray(array))
places = [0.5, 2.5]
expected = over(array).sortby("c").interp(c=places)
numpy.testing.assert_allclose(x.sortby("c").interp(c=places).values, expected.values)
for refused in (lambda: x.where(x > 0.5), lambda: x.shift(a=1)):
    with pytest.raises(TypeError, match="numpy dtype"):  # see docs/from-numpy.md
        refused()
numpy.testing.assert_array_equal(x.as_numpy().rolling(b=2).mean(), over(array).rolling(b=2).mean())
"""


def run(library: str, script: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_einops_takes_tensors_once_it_is_told_of_them() -> None:
    run("einops", EINOPS)


def test_dask_computes_on_tensors_as_chunks() -> None:
    run("dask", DASK)


def test_xarray_computes_on_tensors() -> None:
    run("xarray", XARRAY)


@pytest.mark.parametrize(
    ("library", "name"), [("einops", "register_einops"), ("dask", "register_dask")]
)
def test_a_missing_library_is_named(
    library: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cloakwork as cw
    from cloakwork.errors import ParamError
    from cloakwork.interop import registration

    register: Callable[[], None] = getattr(cw.interop, name)
    registration._einops_backend.cache_clear()
    for module in [module for module in sys.modules if module.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)  # so that its import fails
    with pytest.raises(ParamError, match=f"{library}: got not installed, expected pip install"):
        register()


def test_attributes_that_libraries_look_for() -> None:
    import cloakwork as cw
    import numpy as np

    assert cw.float32.type is np.float32
    assert cw.bool.type is np.bool_
    assert cw.zeros(1).__array_priority__ == np.zeros(1).__array_priority__
