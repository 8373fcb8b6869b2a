"""Cases that any build of Cloakwork can run: statements over the objects of a setup.

They are source, not functions: a build whose package lacks a name leaves out only that case, and a
loop over a statement of 100 ns has no call overhead.
"""

from __future__ import annotations

from dataclasses import dataclass

_NS, _US, _MS = ("ns", 1e9), ("us", 1e6), ("ms", 1e3)


@dataclass(frozen=True)
class Case:
    """`times` runs of a statement are one sample; the figure is that of one of `steps` in it."""

    name: str
    setup: str
    statement: str
    times: int
    unit: tuple[str, float] = _NS
    steps: int = 1


_IMPORTS = "import cloakwork as cw, numpy as np\nfrom cloakwork import ops\n"
_ONE = _IMPORTS + "a = cw.asarray([1.0]); b = cw.asarray([2.0])"
_FOUR = (
    _IMPORTS
    + "n = np.array([1.0, 2.0, 3.0, 4.0]); a = cw.asarray(n); b = cw.asarray(n, copy=True)\n"
    + "mask = a > 2.0; i = cw.asarray([2, 0]); j = cw.asarray([1, 2, 3, 4], 'i32')"
)
_WORDS = _IMPORTS + "a = cw.asarray([3, 5]); q = cw.asarray([17, 257]); out = a + a"
_SQUARE = _IMPORTS + "m = cw.asarray(np.eye(8))"


def _field(name: str, count: int) -> str:
    """Elements without a pattern: small numbers, squared four times."""
    small = f"cw.asarray(np.random.default_rng(0).integers(1, 2**62, {count}))"
    squares = "for _ in range(4): a = ops.square(a)"
    return f"{_IMPORTS}a = ops.astype({small}, {name!r})\n{squares}\nb = ops.square(a)"


def _chain(steps: int) -> str:
    return f"""{_IMPORTS}one = cw.asarray([1.0])
def chain(a):
    for _ in range({steps}):
        a = a + one
    return a
program = cw.trace(chain, one)
program.run(one, profile=False)
"""


def _container(steps: int) -> str:
    folder = "import tempfile, pathlib; kept = tempfile.TemporaryDirectory()\n"
    path = "path = pathlib.Path(kept.name) / 'chain.cwk'; program.save(path)"
    return _chain(steps) + folder + path


_DIGITS = """import contextlib, io, pathlib, tempfile
import cloakwork as cw
from cloakwork.demo import digits
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    digits.run(pathlib.Path(folder))
    transcript = cw.heal.load(next(pathlib.Path(folder).glob("*.json")))
"""

CALLS = (
    Case("a + b, one element", _ONE, "a + b", 20_000),
    Case("a + 1.0", _ONE, "a + 1.0", 20_000),
    Case("-a", _ONE, "-a", 20_000),
    Case("a == b", _ONE, "a == b", 20_000),
    Case("int32 + float64, 4 elements", _FOUR, "j + a", 5_000),
    Case("a[0]", _ONE, "a[0]", 5_000),
    Case("a[1:3]", _FOUR, "a[1:3]", 5_000),
    Case("a[0] = 2.0", _FOUR, "b[0] = 2.0", 2_000),
    Case("a[mask] = 2.0, 4 elements", _FOUR, "b[mask] = 2.0", 1_000),
    Case("a[[2, 0]] = 2.0", _FOUR, "b[i] = 2.0", 1_000),
    Case("a[mask], 4 elements", _FOUR, "a[mask]", 500),
    Case("a[[2, 0]]", _FOUR, "a[i]", 500),
    Case("reshape, 4 elements", _FOUR, "cw.reshape(a, (2, 2))", 2_000),
    Case("sum, 4 elements", _FOUR, "cw.sum(a)", 2_000),
    Case("mean, 4 elements", _FOUR, "cw.mean(a)", 2_000),
    Case("argmax, 4 elements", _FOUR, "cw.argmax(a)", 2_000),
    Case("sort, 4 elements", _FOUR, "cw.sort(a)", 2_000),
    Case("where, 4 elements", _FOUR, "cw.where(mask, a, a)", 2_000),
    Case("concat, 2 of 4 elements", _FOUR, "cw.concat([a, a])", 1_000),
    Case("stack, 2 of 4 elements", _FOUR, "cw.stack([a, a])", 1_000),
    Case("zeros(4)", _FOUR, "cw.zeros(4)", 2_000),
    Case("ones(4)", _FOUR, "cw.ones(4)", 1_000),
    Case("arange(10)", _FOUR, "cw.arange(10)", 1_000),
    Case("asarray of a NumPy array", _FOUR, "cw.asarray(n)", 2_000),
    Case("asarray of 4 numbers", _FOUR, "cw.asarray([1.0, 2.0, 3.0, 4.0])", 2_000),
    Case("astype float32, 4 elements", _FOUR, "cw.astype(a, cw.float32)", 2_000),
    Case("8 x 8 @ 8 x 8", _SQUARE, "m @ m", 1_000),
    Case("modmul, 2 words", _WORDS, "ops.modmul(a, a, q)", 2_000),
    Case("modsum into out, 2 words", _WORDS, "ops.modsum(a, a, q, out=out)", 2_000),
    Case("bn254.fr a + b, 4 elements", _field("bn254.fr", 4), "a + b", 5_000),
    Case("bn254.fr a * b, 4 elements", _field("bn254.fr", 4), "a * b", 5_000),
    Case("goldilocks a * b, 4 elements", _field("goldilocks", 4), "a * b", 5_000),
    Case("bn254.fr a * 3, 4 elements", _field("bn254.fr", 4), "a * 3", 1_000),
    Case("bn254.fr a ** 5, 4 elements", _field("bn254.fr", 4), "a ** 5", 1_000),
    Case("bn254.fr to words, 4", _field("bn254.fr", 4), "ops.to_canonical(a)", 1_000),
)

PROGRAMS = (
    Case("10 additions, run again", _chain(10), "program.run(one, profile=False)", 200, _US),
    Case("10 additions, result read", _chain(10), "program.run(one).outputs[0]", 200, _US),
    Case(
        "a step of 1000, run again", _chain(1000), "program.run(one, profile=False)", 50, _NS, 1000
    ),
    Case(
        "a step of 10^5, run again", _chain(10**5), "program.run(one, profile=False)", 2, _NS, 10**5
    ),
    Case("a step of 10^6, run again", _chain(10**6), "program.run(one)", 1, _NS, 10**6),
    Case("a step of 1000, trace", _chain(1000), "cw.trace(chain, one)", 3, _US, 1000),
    Case(
        "a step of 1000, trace and first run",
        _chain(1000),
        "cw.trace(chain, one).run(one, profile=False)",
        3,
        _US,
        1000,
    ),
    Case("a step of 1000, load the container", _container(1000), "cw.load(path)", 3, _US, 1000),
    Case("the digits' transcript", _DIGITS, "transcript.run(threads=1, profile=False)", 2, _MS),
)

_MSM = """
from cloakwork import zk
curve = zk.curve({curve!r})
points = ops.curve_mul(a, curve.g1_generator)
"""

FIELDS = (
    *(
        Case(f"{field} {word}, 2^14", _field(field, 1 << 14), call, 200, _NS, 1 << 14)
        for field in ("bn254.fr", "bls12_381.fr", "bls12_381.fq", "goldilocks", "babybear")
        for word, call in (("product", "ops.multiply(a, b)"), ("sum", "ops.add(a, b)"))
    ),
    *(
        Case(f"{field} transform, 2^12", _field(field, 1 << 12), "ops.field_ntt(a)", 50, _US)
        for field in ("bn254.fr", "goldilocks", "babybear")
    ),
    Case("bn254.fr inverses, 2^12", _field("bn254.fr", 1 << 12), "ops.reciprocal(a)", 50, _US),
    *(
        Case(
            f"{curve}.g1 msm, 2^10",
            _field(f"{curve}.fr", 1 << 10) + _MSM.format(curve=curve),
            "ops.msm(b, points)",
            4,
            _MS,
        )
        for curve in ("bn254", "bls12_381")
    ),
)

_LARGE = (
    _IMPORTS
    + """random = np.random.default_rng(1)
a, b = (cw.asarray(random.random(10**6, dtype=np.float32)) for _ in range(2))
s = a[:10**5]
m, n = (cw.asarray(random.random((size, size))) for size in (64, 256))
q = 2305843009218281473
x, y = (cw.asarray(random.integers(0, q, 2**15)) for _ in range(2))
"""
)

ARRAYS = (
    *(
        Case(f"{word}, 10^6 float32", _LARGE, call, 20, _US)
        for word, call in (
            ("a + b", "a + b"),
            ("sqrt", "cw.sqrt(a)"),
            ("exp", "cw.exp(a)"),
            ("sum", "cw.sum(a)"),
            ("max", "cw.max(a)"),
            ("a * b + a in a batch", "with cw.batch(): c = a * b + a"),
        )
    ),
    Case("sort, 10^5 float32", _LARGE, "cw.sort(s)", 5, _US),
    Case("64 x 64 @ 64 x 64, float64", _LARGE, "m @ m", 200, _US),
    Case("256 x 256 @ 256 x 256, float64", _LARGE, "n @ n", 5, _US),
    Case("modmul of 62 bits, 2^15", _LARGE, "ops.modmul(x, y, q)", 50, _US),
    Case("modsum of 62 bits, 2^15", _LARGE, "ops.modsum(x, y, q)", 100, _US),
)

_CKKS = """import numpy as np
from cloakwork import fhe
context = fhe.ckks(2**13, [45] + [38] * 3, [45], levels="manual")
keys = context.keygen(rotations=[1], conjugation=False)
values = np.random.default_rng(1).uniform(-1, 1, 2**12)
x, y, plain = keys.encrypt(values), keys.encrypt(values), context.encode(values)
product = x * y
"""

SCHEMES = tuple(
    Case(f"CKKS, degree 2^13, {word}", _CKKS, call, 5, _US)
    for word, call in (
        ("relinearize", "product.relinearize()"),
        ("rotate", "x.rotate(1)"),
        ("multiply and rescale", "(x * y).rescale()"),
        ("multiply by a plaintext and rescale", "(x * plain).rescale()"),
        ("encrypt", "keys.public.encrypt(plain)"),
        ("decrypt", "keys.decrypt_plaintext(x)"),
    )
)

GROUPS: dict[str, tuple[Case, ...]] = {
    "calls": CALLS,
    "programs": PROGRAMS,
    "arrays": ARRAYS,
    "fields": FIELDS,
    "schemes": SCHEMES,
}
