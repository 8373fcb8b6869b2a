"""Points of curves as dtypes of the tensor, against affine arithmetic on integers."""

from __future__ import annotations

import operator

import cloakwork as cw
import pytest
from cloakwork import zk
from cloakwork.errors import ParamError

from python import zk_oracles as oracle

SIZES = oracle.BYTES
CURVES = oracle.CURVES
PAIRINGS = ["bn254", "bls12_381"]


@pytest.mark.parametrize("name", CURVES)
def test_points_go_in_and_come_out(name: str) -> None:
    curve = zk.curve(name)
    p = oracle.P[CURVES[name][0]]
    one = curve.g1_generator.item()
    points = [oracle.multiply_point(k, one, p) for k in range(4)]
    a = cw.asarray(points, dtype=f"{name}.g1")
    assert a.tolist() == points
    assert points[0] is None
    assert cw.asarray([points[:2], points[2:]], dtype=curve.g1).tolist() == [points[:2], points[2:]]
    assert [bool(point) for point in a] == [False, True, True, True]
    size = SIZES[CURVES[name][0]]
    encoded = b"".join(
        bytes(2 * size) if q is None else b"".join(c.to_bytes(size, "little") for c in q)
        for q in points
    )
    assert a.to_bytes() == encoded
    assert cw.asarray(encoded, dtype=a.dtype).tolist() == points
    with pytest.raises(TypeError):
        int(a[1])


@pytest.mark.parametrize("name", PAIRINGS)
def test_points_of_twists_go_in_and_come_out_and_add(name: str) -> None:
    curve = zk.curve(name)
    one = curve.g2_generator.item()
    two = cw.asarray([one, None], dtype=curve.g2)
    assert two.tolist() == [one, None]
    assert (two + two == 2 * two).tolist() == [True, True]
    (x0, x1), last = one
    with pytest.raises(ParamError, match=r"obj\[0\]: .*not on the curve"):
        cw.asarray([((x1, x0), last)], dtype=curve.g2)


def test_a_curve_without_a_pairing_has_no_twist() -> None:
    assert zk.curve("pallas").g2 is None
    with pytest.raises(ParamError, match="pairing"):
        _ = zk.curve("pallas").g2_generator


def test_the_curves_of_a_cycle_have_each_others_fields() -> None:
    pallas, vesta = zk.curve("pallas"), zk.curve("vesta")
    assert (pallas.fr, pallas.fq) == (vesta.fq, vesta.fr)


@pytest.mark.parametrize("name", CURVES)
def test_what_is_no_point_is_refused_by_its_place(name: str) -> None:
    curve = zk.curve(name)
    x, y = curve.g1_generator.item()
    p = oracle.P[CURVES[name][0]]
    for wrong in [(x + p, y), (x, -y), (1, 2, 3), 5, "text"]:
        with pytest.raises(ParamError, match=r"obj\[1\]: "):
            cw.asarray([(x, y), wrong], dtype=curve.g1)


@pytest.mark.parametrize("name", CURVES)
def test_points_have_multiples(name: str) -> None:
    curve = zk.curve(name)
    p, r = oracle.P[CURVES[name][0]], oracle.P[CURVES[name][1]]
    one = curve.g1_generator.item()
    points = [oracle.multiply_point(k, one, p) for k in (0, 1, 2, 5)]
    a = cw.asarray(points, dtype=curve.g1)
    for k in (0, 1, 7, r - 1, -3):
        expected = [oracle.multiply_point(k % r, point, p) for point in points]
        assert (k * a).tolist() == expected
        assert (a * k).tolist() == expected
    scalars = cw.asarray([2, 3, 0, r - 1], dtype=curve.fr.dtype)
    products = [
        oracle.multiply_point(k, point, p)
        for k, point in zip(scalars.tolist(), points, strict=True)
    ]
    assert (scalars * a).tolist() == products == (a * scalars).tolist()
    with pytest.raises(TypeError):
        operator.add(a, 1)


def test_points_are_shown_by_coordinates() -> None:
    points = cw.asarray([(1, 2), None], dtype="bn254.g1")
    assert repr(points) == "Tensor([(1, 2), infinity], dtype=bn254.g1)"


@pytest.mark.parametrize("name", CURVES)
def test_points_add_and_compare(name: str) -> None:
    curve = zk.curve(name)
    p = oracle.P[CURVES[name][0]]
    one = curve.g1_generator.item()
    points = [oracle.multiply_point(k, one, p) for k in (0, 1, 2, 2, 5)]
    others = [
        oracle.multiply_point(k, one, p) for k in (3, 0, 2, -2 % oracle.P[CURVES[name][1]], 1)
    ]
    a, b = (cw.asarray(list(given), dtype=curve.g1) for given in (points, others))
    sums = [oracle.multiply_point(k, one, p) for k in (3, 1, 4, 0, 6)]
    assert (a + b).tolist() == sums
    assert (a + b - b).tolist() == points
    assert (a - a).tolist() == [None] * 5
    negated = -a
    assert (-negated).tolist() == points
    assert (a == b).tolist() == [False, False, True, False, False]
    assert (a + a == 2 * a).tolist() == [True] * 5


@pytest.mark.parametrize("name", CURVES)
def test_points_off_the_curve_or_outside_of_the_group_are_refused(name: str) -> None:
    curve = zk.curve(name)
    x, y = curve.g1_generator.item()
    with pytest.raises(ParamError, match=r"obj\[1\]: .*not on the curve"):
        cw.asarray([(x, y), (x, y + 1)], dtype=curve.g1)


def test_a_point_of_the_curve_alone_is_not_in_the_group() -> None:
    # x = 4 gives a point of y^2 = x^3 + 4 of an order other than r; p = 3 mod 4, so roots are
    # powers.
    p = oracle.P["bls12_381.fq"]
    square = (4**3 + 4) % p
    root = pow(square, (p + 1) // 4, p)
    assert root * root % p == square
    assert oracle.multiply_point(oracle.P["bls12_381.fr"], (4, root), p) is not None
    with pytest.raises(ParamError, match=r"obj\[0\]: .*not in the group of prime order"):
        cw.asarray([(4, root)], dtype="bls12_381.g1")
