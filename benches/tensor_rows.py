"""Everyday calls, as statements of Cloakwork and of NumPy, with the ratios that are asked.

Statements are source, so that a loop over one of 100 ns has no call of a function in it.  Names
with `n` are NumPy's, with `t` torch's, with `j` jax's.
"""

from __future__ import annotations

from dataclasses import dataclass

SETUP = """
import cloakwork as cw, numpy as np
from cloakwork import _core
rng = np.random.default_rng(1)
na1, nb1 = np.array([1.5]), np.array([2.5])
n8, nz8, n4 = np.arange(8.0), np.zeros(8), rng.random((4, 4))
nmask, nindex, nshort = n8 % 2 == 0, np.array([1, 3, 2]), n8.astype(np.float32)
nf, ng = (rng.uniform(0.1, 3, 10**5).astype(np.float32) for _ in range(2))
nd, nwide = rng.random(10**5), rng.random((316, 316))
nc = rng.random(10**5) + 1j * rng.random(10**5)
ni, nj = rng.integers(-10**9, 10**9, 10**5), rng.integers(1, 10**4, 10**5)
nplaces, nset = rng.integers(0, 10**5, 10**5), rng.integers(-10**9, 10**9, 1000)
nm, nm2, nx = rng.random(10**6), rng.random((1000, 1000)), rng.random(1000)
ns = rng.random((500, 500)); ns = ns + ns.T
own = lambda array: cw.asarray(array, copy=True)
a1, b1, a8, z8, a4 = own(na1), own(nb1), own(n8), own(nz8), own(n4)
mask, index, short = own(nmask), own(nindex), own(nshort)
f, g, d, wide, c, i, j = own(nf), own(ng), own(nd), own(nwide), own(nc), own(ni), own(nj)
places, some, m, m2, x, s = own(nplaces), own(nset), own(nm), own(nm2), own(nx), own(ns)
def batched(count):
    with cw.batch():
        made = a1
        for _ in range(count): made = made + b1
    return made
def at_once(count):
    made = a1
    for _ in range(count): made = made + b1
    return made
def numpys(count):
    made = na1
    for _ in range(count): made = made + nb1
    return made
listed = [("add", a1, b1)] + [("add", cw.Slot(k), b1) for k in range(999)]
chain = lambda count: cw.trace(lambda a: [a := a + b1 for _ in range(count)][-1], a1)
long, few = chain(1000), chain(10)
fused = cw.trace(lambda a, b, c: a * b + c, m, m, m)
def gelu_of(xp, x): return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
gelu = cw.trace(lambda x: gelu_of(cw, x), m)
"""

TORCH = """
import torch
torch.set_num_threads(threads)
t = torch.asarray
ta1, tb1, t8, tf, tg, tm, tm2 = t(na1), t(nb1), t(n8), t(nf), t(ng), t(nm), t(nm2)
"""

JAX = """
import jax
jax.config.update("jax_enable_x64", True)
jm = jax.numpy.asarray(nm)
jfused = jax.jit(lambda a, b, c: a * b + c)
jgelu = jax.jit(lambda x: gelu_of(jax.numpy, x))
"""


@dataclass(frozen=True)
class Row:
    """Statements of both sides; the figure is the time of one of `steps` in it.

    asked   NumPy's time over ours that is the aim
    """

    name: str
    ours: str
    theirs: str
    asked: float
    steps: int = 1
    torch: str = ""
    jax: str = ""


def _functions() -> tuple[Row, ...]:
    names = {"atan": "arctan"}
    asked = {"exp": 1.2, "log": 1.2, "sin": 1.2, "tanh": 1.2}
    functions = ("exp", "log", "sin", "tanh", "atan", "log1p", "log2", "log10", "expm1", "tan")
    return tuple(
        Row(
            f"{name}, f32 10^5", f"cw.{name}(f)", f"np.{names.get(name, name)}(nf)",
            asked.get(name, 1.0), torch=f"torch.{name}(tf)",
        )
        for name in functions
    )  # fmt: skip


SMALL = (
    Row("a + b, one element", "a1 + b1", "na1 + nb1", 2.2, torch="ta1 + tb1"),
    Row("a[0]", "a8[0]", "n8[0]", 0.8, torch="t8[0]"),
    Row("a[1:3]", "a8[1:3]", "n8[1:3]", 1, torch="t8[1:3]"),
    Row("a[0] = 2.0", "a8[0] = 2.0", "n8[0] = 2.0", 0.8, torch="t8[0] = 2.0"),
    Row("a += b, 8 elements", "z8 += z8", "nz8 += nz8", 1.5),
    Row("a[mask], 8 elements", "a8[mask]", "n8[nmask]", 1),
    Row("a[indices], 8 elements", "a8[index]", "n8[nindex]", 1),
    Row("where", "cw.where(mask, a8, z8)", "np.where(nmask, n8, nz8)", 1),
    Row("reshape", "cw.reshape(a8, (2, 4))", "np.reshape(n8, (2, 4))", 1),
    Row("a.reshape", "a8.reshape((2, 4))", "n8.reshape((2, 4))", 1),
    Row("astype", "cw.astype(a8, cw.float32)", "np.astype(n8, np.float32)", 1),
    Row("a.astype", "a8.astype(cw.float32)", "n8.astype(np.float32)", 1),
    Row("f32 + f64", "short + a8", "nshort + n8", 1),
    Row("4 x 4 @ 4 x 4", "a4 @ a4", "n4 @ n4", 1),
    Row("sum, 8 elements", "cw.sum(a8)", "np.sum(n8)", 1.5),
    Row("exp, 8 elements", "cw.exp(a8)", "np.exp(n8)", 1.5),
    Row("zeros(3)", "cw.zeros(3)", "np.zeros(3)", 0.7),
    Row("arange(10)", "cw.arange(10)", "np.arange(10)", 0.7),
    Row("concat", "cw.concat([a8, z8])", "np.concat([n8, nz8])", 0.7),
    Row("stack", "cw.stack([a8, z8])", "np.stack([n8, nz8])", 0.7),
    Row("asarray(array)", "cw.asarray(n8)", "np.asarray(n8)", 0.7),
    Row("np.asarray(a)", "np.asarray(a8)", "np.asarray(n8)", 0.7),
    Row("a ** 2, 8 elements", "a8 ** 2", "n8 ** 2", 1),
)
MANY = (
    Row("1,000 additions at once", "at_once(1000)", "numpys(1000)", 2.2, 1000),
    Row("1,000 additions in a batch", "batched(1000)", "numpys(1000)", 3, 1000),
    Row("4 additions in a batch", "batched(4)", "numpys(4)", 1, 4),
    Row("1,000 by execute_batch", "cw.execute_batch(listed)", "numpys(1000)", 3, 1000),
    Row("a program of 1,000", "long.run(a1, profile=False)", "numpys(1000)", 8, 1000),
    Row("a program of 10", "few.run(a1, profile=False)", "numpys(10)", 1.3),
)
ARRAYS = (
    *_functions(),
    Row("pow, f32 10^5", "cw.pow(f, g)", "np.pow(nf, ng)", 1, torch="torch.pow(tf, tg)"),
    Row("a ** 2, f32 10^5", "f ** 2", "nf ** 2", 1, torch="tf ** 2"),
    Row("max, f64 10^5", "cw.max(d)", "np.max(nd)", 1.2),
    Row("argmax", "cw.argmax(d)", "np.argmax(nd)", 1.2),
    Row("argmax, axis 1", "cw.argmax(wide, axis=1)", "np.argmax(nwide, axis=1)", 1.2),
    Row("take", "cw.take(d, places)", "np.take(nd, nplaces)", 1.2),
    Row("a.T copied", "cw.asarray(wide.T, copy=True)", "np.ascontiguousarray(nwide.T)", 1.2),
    Row("matrix norm", "cw.linalg.matrix_norm(wide)", "np.linalg.matrix_norm(nwide)", 1.2),
    Row("isin", "cw.isin(i, some)", "np.isin(ni, nset)", 1.2),
    Row("abs, c128", "cw.abs(c)", "np.abs(nc)", 1.2),
    Row("i64 //", "i // j", "ni // nj", 1.5),
    Row("i64 %", "i % j", "ni % nj", 1.5),
    Row("roll, 10^6", "cw.roll(m, 7)", "np.roll(nm, 7)", 1),
    Row("concat, 10^6", "cw.concat([m, m])", "np.concat([nm, nm])", 1),
    Row("copy, 10^6", "cw.asarray(m, copy=True)", "nm.copy()", 1),
    Row("A.T @ A, 1000", "m2.T @ m2", "nm2.T @ nm2", 1, torch="tm2.T @ tm2"),
    Row("matvec, 1000", "m2 @ x", "nm2 @ nx", 1),
    Row("eigh, 500", "cw.linalg.eigh(s)", "np.linalg.eigh(ns)", 1),
    Row("svdvals, 500", "cw.linalg.svdvals(s)", "np.linalg.svdvals(ns)", 1),
    Row(
        "a * b + c in a program, 10^6", "fused.run(m, m, m, profile=False)", "nm * nm + nm", 1,
        jax="jfused(jm, jm, jm).block_until_ready()",
    ),
    Row(
        "gelu in a program, 10^6", "gelu.run(m, profile=False)", "gelu_of(np, nm)", 1,
        jax="jgelu(jm).block_until_ready()",
    ),
)  # fmt: skip
