"""Circuits drawn at random, encrypted and in plain, one operation after another.

Every result is decrypted: CKKS must keep its precision, BGV and BFV must be exact, and a refusal
must be an error. From tests/, `python -m python.fhe_random --results 2000` tries any number of
results.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from cloakwork import fhe
from cloakwork.errors import CloakworkError, NoiseError
from numpy.typing import NDArray
from python.fhe_setup import T, centred, rolled

Values = NDArray[Any]
Pair = tuple[Any, Values]
Step = Callable[["Circuit"], Pair]

# Operations of a circuit, of one over a large ring, and ciphertexts that it begins with.
_LENGTH, _LARGE_LENGTH, _INPUTS = 12, 4, 3
# Values beyond this are not followed: floats of the reference lose their bits.
_LARGEST = 2.0**40


@dataclass
class Tally:
    """The number of results, and those that broke a promise."""

    results: int = 0
    refused: int = 0
    slack: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        slack = np.array(self.slack or [0.0])
        quantiles = ", ".join(f"{q:.1f}" for q in np.quantile(slack, [0, 0.1, 0.5, 0.9, 1]))
        return (
            f"{self.results} results, {self.refused} refused, {len(self.broken)} broken; bits that "
            f"estimates are below what is measured (quantiles 0, 10, 50, 90, 100 %): {quantiles}"
        )


@dataclass
class Circuit:
    """Ciphertexts with their values, and the random source that chooses the next operation."""

    keys: fhe.Keys
    generator: np.random.Generator
    pool: list[Pair]

    def any(self) -> Pair:
        """One of the last few."""
        return self.pool[-1 - int(self.generator.integers(min(4, len(self.pool))))]

    def integer(self, low: int, high: int) -> int:
        """From low to high - 1."""
        return int(self.generator.integers(low, high))

    def reals(self, size: float, *shape: int) -> Values:
        """Of up to a size, of one sign or both."""
        low = self.generator.choice([-size, 0.0])
        return np.asarray(self.generator.uniform(low, size, shape))

    @property
    def row(self) -> int:
        """Slots that rotate together."""
        return self.keys.context.parameters.degree // 2


def _product(own: Circuit) -> Pair:
    (x, a), (y, b) = own.any(), own.any()
    return x * y, a * b


def _square(own: Circuit) -> Pair:
    x, a = own.any()
    return (x * x, a * a) if own.integer(0, 2) else (x.square(), a * a)


def _sum(own: Circuit) -> Pair:
    (x, a), (y, b) = own.any(), own.any()
    return x + y, a + b


def _difference(own: Circuit) -> Pair:
    (x, a), (y, b) = own.any(), own.any()
    return x - y, a - b


def _inner_sum(own: Circuit) -> Pair:
    x, a = own.any()
    count = own.integer(1, 9) if own.integer(0, 2) else own.row
    turn = rolled if own.keys.context.parameters.scheme != "ckks" else _turned
    return x.inner_sum(count), sum(turn(a, i) for i in range(count))


def _turned(values: Values, step: int) -> Values:
    return np.roll(values, -step, axis=-1)


def _scalar(own: Circuit) -> Pair:
    x, a = own.any()
    number: Any = own.integer(-9, 10)
    if own.integer(0, 2):
        number = float(own.generator.normal())
    if own.integer(0, 5) == 0:
        number = complex(own.generator.normal(), own.generator.normal())
    return (x * number, a * number) if own.integer(0, 2) else (number - x, number - a)


def _array(own: Circuit) -> Pair:
    x, a = own.any()
    values = own.reals(2.0, a.shape[-1])
    if own.integer(0, 4) == 0:
        values = values * np.exp(2j * np.pi * own.generator.random(a.shape[-1]))
    return (x * values, a * values) if own.integer(0, 3) else (x + values, a + values)


def _rotation(own: Circuit) -> Pair:
    x, a = own.any()
    step = own.integer(-3, 8)
    return x.rotate(step), _turned(a, step)


def _conjugate(own: Circuit) -> Pair:
    x, a = own.any()
    return x.conjugate(), a.conj()


def _level(own: Circuit) -> Pair:
    x, a = own.any()
    choice = own.integer(0, 3)
    if choice == 0:
        return x.rescale(), a
    return (x.relinearize() if choice == 1 else x.lower(max(x.level - 1, 0))), a


def _neighbours(own: Circuit) -> Pair:
    """Sums with equal errors: they must not be treated as independent."""
    x, a = own.any()
    return x + x.rotate(1) + x.rotate(2), a + _turned(a, 1) + _turned(a, 2)


def _matrix(own: Circuit) -> Pair:
    x, a = own.any()
    width = 2 ** own.integer(1, 5)
    values = own.reals(1.0, width, width)
    if own.integer(0, 4) == 0:
        # Of rank 1: all rows make the same error.
        values = np.ones((width, 1)) * own.reals(1.0, 1, width)
    if own.integer(0, 5) == 0:
        values = values * (1 - 0.5j)
    layout = "tiled" if own.integer(0, 4) == 0 else "blocks"
    matrix = fhe.Matrix(own.keys.context, values, layout=layout)
    own.keys.add(matrix.rotations)
    if layout == "tiled":
        first = a.reshape(-1, a.shape[-1])[0, :width]
        x, a = own.keys.encrypt(matrix.pack(first)), np.tile(first, a.shape[-1] // width)
    else:
        x = x.using(own.keys.evaluation).with_packing(matrix.packing)
    product = np.einsum("mn,bn->bm", values, a.reshape(-1, width))
    return matrix @ x, product.reshape(a.shape)


def _polynomial(own: Circuit) -> Pair:
    x, a = own.any()
    degree = own.integer(1, 8)
    polynomial = fhe.Polynomial(own.reals(1.0, degree + 1))
    return polynomial(x), polynomial(a)


def _function(own: Circuit) -> Pair:
    x, a = own.any()
    low, high = x.bound.low.min() - 0.125, x.bound.high.max() + 0.125
    wave = own.generator.uniform(0, 2)
    function = fhe.chebyshev(lambda v: np.sin(wave * v), own.integer(2, 16), (low, high))
    return function(x), function(a)


def _known(own: Circuit) -> Pair:
    """The user's knowledge of the values."""
    x, a = own.any()
    if np.iscomplexobj(a) and np.abs(a.imag).any():
        return x.with_bound(float(np.abs(a).max()) + 0.01), a
    return x.with_bound(float(a.real.min()) - 0.01, float(a.real.max()) + 0.01), a


def _plaintext(own: Circuit) -> Pair:
    """Of any scale, and twice: the same plaintext is off by the same."""
    x, a = own.any()
    context, values = own.keys.context, own.reals(1.0, a.shape[-1])
    if own.integer(0, 3) == 0:
        # Coefficients of few values are regular, and so is their rounding.
        values[own.integer(1, 4) :] = 0.0
    if own.integer(0, 3) == 0:
        near = x.scale * (1 + 2.0**-31 * own.integer(-1, 2))
        plaintext = context.encode(values, level=x.level, scale=near)
        return x + plaintext + plaintext, a + 2 * values
    scale = 2.0 ** own.generator.uniform(8, 45)
    plaintext = context.encode(values, level=x.level, scale=scale)
    if own.integer(0, 2):
        return x * plaintext, a * values
    return x * plaintext * plaintext, a * values * values


def _few_bits(own: Circuit) -> Pair:
    """Operands of NumPy's smaller types."""
    x, a = own.any()
    kind = (np.float16, np.float32, np.complex64, np.int8)[own.integer(0, 4)]
    shape = () if own.integer(0, 2) else (a.shape[-1],)
    operand = (own.generator.uniform(1, 9, shape) * own.generator.choice([-1, 1])).astype(kind)
    exact = operand.astype(np.complex128 if kind is np.complex64 else np.float64)
    choice = own.integer(0, 4)
    if choice < 2:
        return x / operand, a / exact
    return (x * operand, a * exact) if choice == 2 else (operand - x, exact - a)


def _conjugates(own: Circuit) -> Pair:
    """Phases that cancel: all of the message is in few coefficients, down to the last level."""
    x, a = own.any()
    step, number = own.integer(0, 3), 2 ** own.integer(0, 12)
    product = (x * (x.rotate(step) if step else x).conjugate()).rescale()
    return product.lower(0) * number, number * a * _turned(a, step).conj()


def _spread(own: Circuit) -> Pair:
    """One ciphertext, or values, as all rows of a batch."""
    x, a = own.any()
    count = 2 ** own.integer(1, 5)
    zeros = np.zeros((count, a.shape[-1]))
    choice = own.integer(0, 6)
    if choice == 0:
        return own.keys.encrypt(np.tile(a, (count, 1)), batch=True), np.tile(a, (count, 1))
    if choice == 1:
        return x * (zeros + 0.5), a * (zeros + 0.5)
    if choice == 2:
        return x * own.keys.encrypt(zeros + 1, batch=True), a * (zeros + 1)
    others = zeros if choice == 3 else own.reals(1.0, *zeros.shape)
    rows = others if choice < 5 else own.keys.encrypt(others, batch=True)
    return x + rows, a + others


def _rows(own: Circuit) -> Pair:
    """The common part of a batch's rows remains in their sums, whatever operations precede."""
    rows = Circuit(own.keys, own.generator, [_spread(own)])
    for _ in range(own.integer(0, 4)):
        step = ROW_STEPS[own.integer(0, len(ROW_STEPS))]
        rows.pool.append(step(rows))
    x, a = rows.pool[-1]
    if a.ndim == 1:
        return x, a
    choice = own.integer(0, 6)
    if choice == 0:
        return x.sum(axis=0), a.sum(axis=0)
    if choice == 1:
        return x[-1], a[-1]
    if choice == 2:
        numbers = own.reals(1.0, len(a))
        return x.add_constants(numbers)[0], a[0] + numbers[0]
    weights = own.reals(1.0, own.integer(1, 4), len(a))
    if choice == 3:
        weights = np.ones_like(weights)
    return x.weighted_sums(weights)[0], weights[0] @ a


ROW_STEPS: list[Step] = [
    _square, _sum, _difference, _inner_sum, _scalar, _array, _rotation, _conjugate, _level,
    _neighbours, _matrix, _polynomial, _plaintext, _few_bits, _conjugates,
]  # fmt: skip
CKKS_STEPS: list[Step] = [
    _product, _product, _square, _sum, _difference, _inner_sum, _scalar, _array, _rotation,
    _conjugate, _level, _neighbours, _matrix, _matrix, _polynomial, _function, _known, _plaintext,
    _few_bits, _conjugates, _rows, _rows, _rows,
]  # fmt: skip


def _int_scalar(own: Circuit) -> Pair:
    x, a = own.any()
    number = own.integer(-T, T)
    return (x * number, a * number) if own.integer(0, 3) else (number - x, number - a)


def _int_array(own: Circuit) -> Pair:
    x, a = own.any()
    values = own.generator.integers(-T, T, len(a))
    if own.integer(0, 3) == 0:
        # The largest polynomial: all of its coefficients are t // 2.
        values = own.keys.context.batching.slots(np.full((1, len(a)), T // 2))[0]
    return (x * values, a * centred(values)) if own.integer(0, 3) else (x + values, a + values)


def _int_rotation(own: Circuit) -> Pair:
    x, a = own.any()
    step = own.integer(-3, 8)
    if step == 0:
        return x.rotate_columns(), np.roll(a, len(a) // 2)
    return x.rotate_rows(step), rolled(a, step)


def _int_aligned(own: Circuit) -> Pair:
    """Factors that know of each other: p(X) p(1 / X) is positive wherever noise is looked at."""
    x, a = own.any()
    turned, expected = x.rotate_columns(), np.roll(a, len(a) // 2)
    if own.integer(0, 3) == 0:
        turned, expected = turned + x, expected + a
    return x * turned, a * centred(expected)


def _int_level(own: Circuit) -> Pair:
    x, a = own.any()
    return (x.mod_switch() if own.integer(0, 2) else x.relinearize()), a


def _int_matrix(own: Circuit) -> Pair:
    x, a = own.any()
    width = 2 ** own.integer(1, 4)
    values = own.generator.integers(-T, T, (width, width))
    matrix = fhe.Matrix(own.keys.context, values)
    own.keys.add(matrix.rotations)
    x = x.using(own.keys.evaluation).with_packing(matrix.packing)
    rows = np.einsum("mn,bn->bm", centred(values), a.reshape(-1, width))
    return matrix @ x, rows.reshape(-1)


def _int_polynomial(own: Circuit) -> Pair:
    x, a = own.any()
    coefficients = own.generator.integers(-100, 100, own.integer(2, 6))
    value = np.zeros_like(a)
    for coefficient in coefficients[::-1]:
        value = centred(value * a + int(coefficient))
    return fhe.Polynomial(coefficients)(x), value


def _int_double(own: Circuit) -> Pair:
    """The last one, grown on and on until it is refused."""
    x, a = own.pool[-1]
    return (x + x) * 12345, 2 * a * 12345


BGV_STEPS: list[Step] = [
    _product, _square, _sum, _difference, _inner_sum, _int_scalar, _int_array, _int_rotation,
    _int_level, _int_matrix, _int_polynomial, _int_double, _int_aligned,
]  # fmt: skip
LARGE_STEPS: list[Step] = [
    _product, _square, _sum, _int_scalar, _int_array, _int_rotation, _int_aligned, _int_aligned,
]  # fmt: skip


@cache
def ckks_keys(kind: int) -> fhe.Keys:
    """Parameters of a kind: rings, key switching, scales, by hand or not."""
    degree, special = (64, 256, 1024)[kind % 3], (2, 1, 0, 3)[kind % 4]
    moduli = ([50, *[40] * 6], [60, *[45] * 4], [40, *[30] * 5])[kind % 5 % 3]
    levels: Any = "manual" if kind % 7 == 6 else "auto"
    context = fhe.ckks(degree, moduli, [60] * special, insecure=True, levels=levels)
    return context.keygen(rotations=[1, 2, 4, -1])


@cache
def bgv_keys(kind: int) -> fhe.Keys:
    """Parameters of a kind."""
    return _integer_keys(fhe.bgv, kind)


@cache
def bfv_keys(kind: int) -> fhe.Keys:
    """The same of BFV; some moduli are not 1 mod t."""
    return _integer_keys(fhe.bfv, kind)


def _integer_keys(scheme: Callable[..., fhe.Context], kind: int) -> fhe.Keys:
    degree, special = (64, 256, 1024)[kind % 3], (2, 1, 0, 3)[kind % 4]
    levels: Any = "manual" if kind % 7 == 6 else "auto"
    limbs = 1 + kind % 5
    moduli: list[int] = [50] * limbs
    if scheme is fhe.bfv and kind % 8 == 0:
        picker = fhe.chain.Picker(degree, set())
        moduli = [picker.prime(44 + kind % 7) for _ in moduli]
    context = scheme(degree, T, moduli, [60] * special, insecure=True, levels=levels)
    return context.keygen(rotations=[1, 2, 4, -1])


@cache
def large_bgv_keys(kind: int) -> fhe.Keys:
    """Rings of degrees 2^12 to 2^14 whose moduli just suffice for a product or just do not."""
    degree, bits = 2 ** (12 + kind % 3), 41 + 2 * (kind % 11)
    moduli = [bits] if kind % 2 else [bits // 2 + 1, bits // 2 + 14]
    return fhe.bgv(degree, T, moduli, [60], insecure=True).keygen(rotations=[1, 2, -1])


@cache
def large_bfv_keys(kind: int) -> fhe.Keys:
    """The same of BFV, whose products need more."""
    degree, bits = 2 ** (12 + kind % 3), 30 + kind % 11
    context = fhe.bfv(degree, T, [bits] * (2 + kind % 2), [bits + 2], insecure=True)
    return context.keygen(rotations=[1, 2, -1])


def ckks_circuit(seed: int) -> Circuit:
    """Real and complex inputs, at their bounds and below, and all the same."""
    generator = np.random.default_rng(seed)
    keys = ckks_keys(seed % 60)
    pool: list[Pair] = []
    for _ in range(_INPUTS):
        size = float(generator.choice([0.25, 1.0, 1.0, 4.0]))
        kind, slots = generator.integers(4), keys.context.slots
        values = generator.uniform(-size, size, slots)
        if kind == 0:
            values = size * np.exp(2j * np.pi * generator.random(slots))
        if kind == 1:
            values = np.full(slots, float(generator.choice([-size, size])))
        bound: Any = None if generator.integers(2) else size
        if kind == 2:
            values, bound = np.abs(values), (0.0, size)
        encrypt = keys.encrypt if generator.integers(2) else keys.public.encrypt
        pool.append((encrypt(values, bound=bound).using(keys.evaluation), values))
    return Circuit(keys, generator, pool)


def bgv_circuit(seed: int, keys: fhe.Keys) -> Circuit:
    """Integers mod t, and small ones."""
    generator = np.random.default_rng(seed)
    pool: list[Pair] = []
    for _ in range(_INPUTS):
        reach = int(generator.choice([2, 100, T]))
        values = centred(generator.integers(-reach, reach, keys.context.slots))
        encrypt = keys.encrypt if generator.integers(2) else keys.public.encrypt
        pool.append((encrypt(values).using(keys.evaluation), values))
    return Circuit(keys, generator, pool)


def steps_of(
    own: Circuit, steps: list[Step], tally: Tally, length: int = _LENGTH
) -> Iterator[tuple[str, Any, Values]]:
    """(name, ciphertext, values) of every operation that is not refused."""
    for _ in range(length):
        step = steps[own.integer(0, len(steps))]
        try:
            x, values = step(own)
        except CloakworkError:
            tally.refused += 1
            continue
        if np.abs(values).max() < _LARGEST:
            yield step.__name__, x, values


def follow_ckks(seed: int, tally: Tally) -> None:
    """One circuit; every result that decrypts is within its estimate."""
    own = ckks_circuit(seed)
    for name, x, values in steps_of(own, CKKS_STEPS, tally):
        tally.results += 1
        own.pool.append((x, values))
        try:
            found = own.keys.decrypt(x)
        except NoiseError as error:
            tally.refused += 1
            # The secret must accept everything that the estimate allows.
            if np.isfinite(x.precision_estimate()) and "estimate" not in str(error):
                tally.broken.append(f"seed {seed}, {name}, {x}: refused: {error}")
            continue
        measured = -np.log2(max(float(np.abs(found - values).max()), 2.0**-1000))
        # Values that may have outgrown the modulus and, the secret says, did not, are as good.
        promised = x._bits()
        tally.slack.append(measured - promised)
        if measured < promised:
            tally.broken.append(f"seed {seed}, {name}, {x}: {measured:.1f} bits")
        outside = np.abs(values) > x.bound.magnitude * (1 + 1e-9) + 1e-12
        more = 1e-9 * (1 + np.abs(values).max())
        low, high = values.real < x.bound.low - more, values.real > x.bound.high + more
        if (outside | low | high).any():
            tally.broken.append(f"seed {seed}, {name}, {x}: values beyond {x.bound}")


def follow_bgv(seed: int, tally: Tally) -> None:
    """One circuit; every result that decrypts is exact."""
    own = bgv_circuit(seed, bgv_keys(seed % 60))
    _follow_exact(seed, own, tally, steps_of(own, BGV_STEPS, tally))


def follow_bfv(seed: int, tally: Tally) -> None:
    """The same under BFV."""
    own = bgv_circuit(seed, bfv_keys(seed % 60))
    _follow_exact(seed, own, tally, steps_of(own, BGV_STEPS, tally))


def follow_large_bfv(seed: int, tally: Tally) -> None:
    """The same over large rings, with moduli that just suffice or do not."""
    own = bgv_circuit(seed, large_bfv_keys(seed % 66))
    _follow_exact(seed, own, tally, steps_of(own, LARGE_STEPS, tally, _LARGE_LENGTH))


def follow_large_bgv(seed: int, tally: Tally) -> None:
    """The same over large rings, in which the common part of factors weighs sqrt(N)."""
    own = bgv_circuit(seed, large_bgv_keys(seed % 66))
    _follow_exact(seed, own, tally, steps_of(own, LARGE_STEPS, tally, _LARGE_LENGTH))


def _follow_exact(
    seed: int, own: Circuit, tally: Tally, results: Iterator[tuple[str, Any, Values]]
) -> None:
    for name, x, values in results:
        tally.results += 1
        own.pool.append((x, centred(values)))
        try:
            found = own.keys.decrypt(x)
        except NoiseError:
            tally.refused += 1
            continue
        tally.slack.append(own.keys.noise_budget(x) - x.noise_budget())
        if tally.slack[-1] < 0 or not np.array_equal(found, centred(values)):
            exact = np.array_equal(found, centred(values))
            tally.broken.append(f"seed {seed}, {name}, {x}: exact {exact}, {tally.slack[-1]:.1f}")


def tally_of(follow: Callable[[int, Tally], None], results: int, seed: int) -> Tally:
    """Circuits from a seed on, until they have enough results."""
    tally = Tally()
    while tally.results < results:
        follow(seed, tally)
        seed += 1
    return tally


def main() -> None:
    """Print the tally for this many results of each scheme."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    large = ("BGV, degrees 2^12 to 2^14", follow_large_bgv)
    exact = (("BGV", follow_bgv), large, ("BFV", follow_bfv))
    further = ("BFV, degrees 2^12 to 2^14", follow_large_bfv)
    for name, follow in (("CKKS", follow_ckks), *exact, further):
        tally = tally_of(follow, options.results, options.seed)
        print(f"{name}: {tally}", *tally.broken[:20], sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
