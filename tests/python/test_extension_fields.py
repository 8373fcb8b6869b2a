"""Extension fields against Python's integers, and against values of Plonky2 and Plonky3."""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from functools import reduce
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops, zk
from cloakwork.errors import OpError, ParamError, ProgramError
from python.zk_oracles import EXTENSIONS, PUBLISHED, Extension, Polynomial

NAMES = sorted(EXTENSIONS)


def elements(name: str, count: int, seed: int = 0) -> list[Polynomial]:
    """Random elements; many of their coefficients are 0, 1, p - 1 or near a power of two."""
    field, draw = Extension.of(name), random.Random(f"{name} {seed}")
    p = field.p
    edges = [0, 0, 1, p - 1, p - 2, p // 2, 1 << 31, (1 << 32) - 1]
    coefficient = [lambda: draw.choice(edges) % p, lambda: draw.randrange(p)]
    return [tuple(draw.choice(coefficient)() for _ in range(field.degree)) for _ in range(count)]


def tensor(values: Sequence[Polynomial] | Polynomial, name: str) -> cw.Tensor:
    return zk.field(name)(values if isinstance(values, tuple) else list(values))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_known_of_an_extension(name: str) -> None:
    base, degree, w = EXTENSIONS[name]
    own, prime = zk.field(name), zk.field(base)
    assert (own.modulus, own.degree, own.nonresidue) == (prime.modulus, degree, w)
    assert (prime.degree, prime.nonresidue) == (1, None)
    assert own.dtype.itemsize == degree * prime.dtype.itemsize == 16
    root = own.root_of_unity(1 << 10)
    assert root.item() == (int(prime.root_of_unity(1 << 10)), *[0] * (degree - 1))


@pytest.mark.parametrize("name", NAMES)
def test_elements_are_tuples_words_and_bytes(name: str) -> None:
    values, degree = elements(name, 12), EXTENSIONS[name][1]
    a = tensor(values, name)
    assert a.tolist() == values
    assert a[3].item() == values[3]
    words = np.asarray(a.to_words())
    assert words.tolist() == [list(value) for value in values]
    assert cw.asarray(words, dtype=name).tolist() == values
    size = a.dtype.itemsize // degree
    encoded = b"".join(c.to_bytes(size, "little") for value in values for c in value)
    assert a.to_bytes() == encoded
    assert cw.asarray(encoded, dtype=name).tolist() == values
    assert cw.asarray([values[:4], values[4:8]], dtype=name).shape == (2, 4)
    assert cw.asarray([5, values[0]], dtype=name).tolist()[0] == (5, *[0] * (degree - 1))
    assert str(values[0]) in repr(a)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_element_is_refused_by_its_place(name: str) -> None:
    field = Extension.of(name)
    good = field.element(1, 2)
    for wrong in ((*good[:-1], field.p), (1,), (*good, 1), -1, field.p, 1.5, None, (1.5, 2)):
        with pytest.raises(ParamError, match=r"obj\[1\]: .*from 0 to p - 1"):
            cw.asarray([good, wrong], dtype=name)
    words = np.array([good, (*good[:-1], field.p)], np.uint64)
    with pytest.raises(ParamError, match=r"obj\[1\]: got an element that is not below the prime"):
        cw.asarray(words, dtype=name)
    with pytest.raises(TypeError):
        int(tensor(good, name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [1, 7, 64, 1100])
def test_arithmetic_is_that_of_polynomials(name: str, count: int) -> None:
    field, a, b = Extension.of(name), elements(name, count, 1), elements(name, count, 2)
    x, y = tensor(a, name), tensor(b, name)
    pairs = list(zip(a, b, strict=True))
    zero, inverses = field.element(0), [field.inverse(v) for v in b]
    assert (x + y).tolist() == [field.add(u, v) for u, v in pairs]
    assert (x - y).tolist() == [field.sub(u, v) for u, v in pairs]
    assert (x * y).tolist() == [field.mul(u, v) for u, v in pairs]
    assert (-x).tolist() == [field.sub(zero, u) for u in a]
    assert ops.square(x).tolist() == [field.mul(u, u) for u in a]
    assert ops.reciprocal(y).tolist() == inverses
    assert (x / y).tolist() == [field.mul(u, v) for u, v in zip(a, inverses, strict=True)]
    assert (x == y).tolist() == [u == v for u, v in pairs]
    assert (x != x[0]).tolist() == [u != a[0] for u in a]
    assert (x[::-2] * y[0]).tolist() == [field.mul(u, b[0]) for u in a[::-2]]


@pytest.mark.parametrize("name", NAMES)
def test_powers_have_integer_exponents(name: str) -> None:
    field, a = Extension.of(name), elements(name, 9, 3)
    exponents = [0, 1, 2, 5, -1, -3, 2**62 + 1, 12, 12]
    got = ops.field_pow(tensor(a, name), cw.asarray(exponents))
    assert got.tolist() == [field.power(u, e) for u, e in zip(a, exponents, strict=True)]
    large = field.p**field.degree + 4
    assert (tensor(a, name) ** large).tolist() == [field.power(u, 5) for u in a]


@pytest.mark.parametrize("name", NAMES)
def test_the_published_generator_and_root_are_of_their_orders(name: str) -> None:
    field, (generator, factors, (root, order)) = Extension.of(name), PUBLISHED[name]
    one, group = field.element(1), field.p**field.degree - 1
    x = tensor(generator, name)
    assert (x**group).item() == one
    assert all((x ** (group // factor)).item() != one for factor in factors)
    assert (tensor(root, name) ** (order // 2)).item() == field.element(-1)


@pytest.mark.parametrize("name", NAMES)
def test_a_prime_fields_elements_and_integers_are_elements_of_its_extension(name: str) -> None:
    field, base = Extension.of(name), EXTENSIONS[name][0]
    a, numbers = elements(name, 20, 4), [v[0] for v in elements(name, 20, 5)]
    x, n = tensor(a, name), zk.field(base)(numbers)
    products = [field.mul(u, field.element(v)) for u, v in zip(a, numbers, strict=True)]
    for got in (x * n, n * x, x * ops.astype(n, name), x * cw.asarray(numbers, dtype=name)):
        assert got.dtype == name
        assert got.tolist() == products
    assert cw.result_type(x, n) == name
    assert (3 - x * 2).tolist() == [
        field.sub(field.element(3), field.mul(u, field.element(2))) for u in a
    ]
    x[0] = numbers[0]
    x += n
    assert x.tolist()[0] == field.element(2 * numbers[0])
    integers = np.array([-1, 5], np.int8)
    assert ops.astype(cw.asarray(integers), name).tolist() == [field.element(-1), field.element(5)]
    with pytest.raises(OpError, match=f"integers or {base}"):
        ops.astype(cw.asarray([1], dtype="koalabear"), name)
    with pytest.raises(OpError, match=f"{name} as {base}".replace(".", r"\.")):
        ops.astype(x, base)
    with pytest.raises(TypeError, match="astype"):
        operator.add(x, cw.asarray([1], dtype="koalabear"))


@pytest.mark.parametrize("name", NAMES)
def test_sums_and_products_along_axes(name: str) -> None:
    field, a = Extension.of(name), elements(name, 35, 6)
    x = cw.asarray([a[i : i + 7] for i in range(0, 35, 7)], dtype=name)
    columns = [a[i::7] for i in range(7)]
    assert ops.sum(x, [0]).tolist() == [reduce(field.add, column) for column in columns]
    assert ops.prod(x, [0]).tolist() == [reduce(field.mul, column) for column in columns]
    assert ops.sum(x, [0, 1]).item() == reduce(field.add, a)
    running = ops.cumulative_prod(tensor(a[:9], name), 0).tolist()
    assert running == [reduce(field.mul, a[: i + 1]) for i in range(9)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("log", [0, 1, 4, 8, 11])
def test_transforms_are_values_on_cosets(name: str, log: int) -> None:
    """Against the base field's transforms, coefficient by coefficient, and against the sum."""
    field, base, n = Extension.of(name), EXTENSIONS[name][0], 1 << log
    a, shift = elements(name, n, 7), elements(name, 1, 8)[0]
    x, s = tensor(a, name), tensor(shift, name)
    parts = [zk.field(base)([u[i] for u in a]) for i in range(field.degree)]
    transformed = zip(*(ops.field_ntt(part).tolist() for part in parts), strict=True)
    values = ops.field_ntt(x)
    assert values.tolist() == list(transformed)
    assert ops.field_ntt(values, inverse=True).tolist() == a
    powers, power = [], field.element(1)
    for _ in a:
        powers.append(power)
        power = field.mul(power, shift)
    turned = tensor([field.mul(u, v) for u, v in zip(a, powers, strict=True)], name)
    coset = ops.field_ntt(x, coset_shift=s)
    assert coset.tolist() == ops.field_ntt(turned).tolist()
    assert ops.field_ntt(coset, inverse=True, coset_shift=s).tolist() == a


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 129, 1100])
def test_polynomials_over_extensions(name: str, n: int) -> None:
    field, a = Extension.of(name), elements(name, n, 9)
    point = elements(name, 3, 10)[2]
    x, b = tensor(a, name), tensor(point, name)
    quotient, value = [field.element(0)] * n, field.element(0)
    for i in range(n - 1, -1, -1):
        quotient[i] = value
        value = field.add(a[i], field.mul(point, value))
    assert ops.evaluate(x, b).item() == value
    assert ops.kate_div(x, b).tolist() == quotient
    products, product = [], point
    for u in a:
        products.append(product)
        product = field.mul(product, u)
    assert ops.scan_mul(x, b).tolist() == products
    assert ops.powers(b, 130).tolist() == [field.power(point, i) for i in range(130)]
    assert ops.batch_invert(x).tolist() == [field.inverse(u) for u in a]


@pytest.mark.parametrize("name", NAMES)
def test_interpolation_and_sparse_products(name: str) -> None:
    field, xs, ys = Extension.of(name), elements(name, 6, 11), elements(name, 6, 12)
    through = ops.interpolate(tensor(xs, name), tensor(ys, name))
    assert [ops.evaluate(through, tensor(x, name)).item() for x in xs] == ys
    starts, columns = cw.asarray([0, 2, 3]), cw.asarray([5, 0, 1])
    got = ops.sparse_matvec(starts, columns, tensor(ys[:3], name), tensor(xs, name))
    terms = [field.mul(ys[k], xs[column]) for k, column in enumerate([5, 0, 1])]
    assert got.tolist() == [field.add(terms[0], terms[1]), terms[2]]


@pytest.mark.parametrize("name", NAMES)
def test_uniform_elements_are_those_of_the_prime_field_one_after_another(name: str) -> None:
    base, degree, _w = EXTENSIONS[name]
    drawn = zk.uniform((3, 7), name, seed=bytes(range(32)), domain=5)
    coefficients = zk.uniform((3, 7, degree), base, seed=bytes(range(32)), domain=5)
    assert [list(map(list, row)) for row in drawn.tolist()] == coefficients.tolist()
    blinded = cw.ones(9, dtype=name)
    zk.blind(blinded, 2, 6, seed=bytes(32))
    assert blinded.tolist()[2:6] == zk.uniform(4, name, seed=bytes(32)).tolist()
    assert blinded[6:].tolist() == cw.ones(3, dtype=name).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_what_takes_an_order_or_one_number_is_refused_by_name(name: str) -> None:
    x = tensor(elements(name, 8, 13), name)
    transcript = ops.transcript_new(1 << 10)
    calls: list[Any] = [
        lambda: ops.less(x, x),
        lambda: ops.permute_input(x, 8),
        lambda: ops.absorb(transcript, x),
        lambda: ops.challenge(transcript, 0, name),
        lambda: ops.poseidon(x),
        lambda: cw.sort(x),
    ]
    for call in calls:
        with pytest.raises((OpError, TypeError), match=name.replace(".", r"\.")):
            call()
    with pytest.raises(TypeError, match=name.replace(".", r"\.")):
        operator.lt(x, x)
    with pytest.raises((ParamError, TypeError), match=name.replace(".", r"\.")):
        zk.Transcript(name)


@pytest.mark.parametrize("name", NAMES)
def test_instruction_sets_give_the_same_elements(name: str) -> None:
    a, b = elements(name, 1700, 14), elements(name, 1700, 15)
    x, y, point = tensor(a, name), tensor(b, name), tensor(b[0], name)
    found = []
    for isa in cw.detect_devices().isas:
        with cw.select_backend(f"cpu_{isa}"):
            results = [x * y, x / y, x**11, ops.evaluate(x, point), ops.scan_mul(x, point)]
            results.append(ops.field_ntt(x[:1024], coset_shift=point))
            found.append([result.tolist() for result in results])
    assert all(results == found[0] for results in found)


@pytest.mark.parametrize("name", NAMES)
def test_extensions_in_programs_and_files(name: str, tmp_path: Any) -> None:
    base = EXTENSIONS[name][0]

    def f(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
        return (a + 3) * b - a**5 / (b + 1)

    a = tensor(elements(name, 5, 16), name)
    b = zk.field(base)([v[0] for v in elements(name, 5, 17)])
    program = cw.trace(f, a, b)
    assert program.run(a, b).outputs[0].tolist() == f(a, b).tolist()
    path = tmp_path / "program.cwk"
    program.save(path)
    assert cw.load(path).run(a, b).outputs[0].tolist() == f(a, b).tolist()
    with cw.batch():
        result = f(a, b)
    assert result.tolist() == f(a, b).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_extensions_in_programs_of_the_instruction_set(name: str) -> None:
    field, a, table = Extension.of(name), elements(name, 4, 18), elements(name, 4, 19)
    of_field = zk.poly(4, field=name)
    b = zk.ProgramBuilder()
    x, t, out = b.input("x", of_field), b.constant("t", of_field, table), b.allocate(of_field)
    b.call("mul", out=[out], args=[x, t])
    b.ret(out)
    expected = [field.mul(u, v) for u, v in zip(a, table, strict=True)]
    for program in (b.build(), zk.Program.parse(b.build().to_text())):
        assert program.run({"x": a}).outputs[out.name].tolist() == expected
    words = np.array(a, np.uint64)
    assert b.build().run({"x": words}).outputs[out.name].tolist() == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_orders_elements_of_an_extension_is_refused(name: str) -> None:
    of_field = zk.poly(4, field=name)
    b = zk.ProgramBuilder()
    x, permuted, table = b.input("x", of_field), b.allocate(of_field), b.allocate(of_field)
    b.call("permute_expression", out=[permuted, table], args=[x, x], usable=4)
    b.ret(permuted, table)
    with pytest.raises(ProgramError, match=name.replace(".", r"\.")):
        b.build().run({"x": elements(name, 4)})


@pytest.mark.parametrize("name", EXTENSIONS)
def test_refusals_say_what_came_what_is_expected_and_what_to_do(name: str) -> None:
    base = zk.field(name).dtype.name.partition(".")[0]
    a = cw.zeros((2, 2), dtype=name)
    with pytest.raises(TypeError, match=rf"elements of {name}, got {base}; .*astype\(value"):
        a[0, 0] = cw.ones((), dtype=base)
    a[0, 0] = cw.astype(cw.ones((), dtype=base), name)
    with pytest.raises(ParamError, match=r"got -1, expected \(c0, .*; reduce them modulo p"):
        cw.full(3, -1, dtype=name)
    with pytest.raises(OpError, match=r"got .*; a product over a field is a sum: cloakwork.sum"):
        a @ a
    b = zk.uniform((2, 3), name, seed=bytes(32))
    c = zk.uniform((3, 4), name, seed=bytes(32))
    product = cw.sum(b[..., :, :, None] * c[..., None, :, :], axis=-2)
    for i, j in np.ndindex(2, 4):
        assert product[i, j].tolist() == cw.sum(b[i] * c[:, j]).tolist()
