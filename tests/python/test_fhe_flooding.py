"""Published decryptions: the amount and kind of noise, and the remaining precision."""

from math import log2
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import NoiseError, ParamError
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.keys import flooding
from python.fhe_setup import bgv, ckks, unit_slots
from python.test_fhe_files import resealed

KEYS = ckks()
CONTEXT = KEYS.context
DEGREE = CONTEXT.parameters.degree
A = unit_slots(KEYS, 1)


def recovered(ciphertext: fhe.CkksCiphertext, shown: np.ndarray) -> np.ndarray:
    """An attacker's guess of the secret: (message + error - c0) / c1, mod the first modulus."""
    basis = CONTEXT.tables.chain(0)
    q = basis.moduli[0]
    level, scale = ciphertext.level, ciphertext.scale
    message = np.asarray(CONTEXT.encode(shown, level=level, scale=scale).data)[:, 0].astype(object)
    c0, c1 = (np.asarray(ciphertext.data)[part, :, 0].astype(object) for part in (0, 1))
    inverses = np.array([pow(int(value), -1, q) for value in c1], dtype=object)
    values = ((message - c0) * inverses % q).astype(np.int64)
    found = np.asarray(basis.intt(cw.asarray(values[:, np.newaxis]).unsqueeze(0))).reshape(-1)
    return np.where(found > q // 2, found - q, found)


def test_one_exact_decryption_is_the_secret_and_a_flooded_one_is_not() -> None:
    # Li and Micciancio, ePrint 2020/1533.
    x = KEYS.encrypt(A)
    secret = np.asarray(KEYS._coefficients())
    np.testing.assert_array_equal(recovered(x, KEYS.decrypt(x)), secret)
    shown = KEYS.decrypt(x, queries=1, security=20)
    assert (recovered(x, shown) == secret).mean() < 0.05
    assert np.abs(shown - A).max() < 2.0**-8


@pytest.mark.parametrize("queries", [1, 1000, 2**20])
@pytest.mark.parametrize("security", [1, 20, 40])
@pytest.mark.parametrize("values", [1, 5, 128])
def test_noise_is_as_wide_as_the_corollary_says(queries: int, security: int, values: int) -> None:
    x = KEYS.encrypt(A[:values], scale=2.0**90)
    wanted = KEYS.flooding(x, queries=queries, security=security)
    assert wanted.values == values
    # The error of a slot, and the rounding of the transform of floats.
    error = 2 ** (x.noise + noise.TAIL_LOG2) + 2 ** (90 - 47 + x.size)
    assert 2**wanted.error == pytest.approx(error)
    norm = error * values**0.5
    corollary = (12 * queries) ** 0.5 * 2 ** (security / 2) * norm
    assert 1 <= 2**wanted.deviation / corollary < 1.05
    shown = [KEYS.decrypt(x, queries=queries, security=security) for _ in range(100 // values + 3)]
    errors = np.array(shown)[:, :values] - A[:values]
    assert not np.array(shown)[:, values:].any()
    # Real and imaginary parts have a deviation each.
    expected = 2**0.5 * 2**wanted.deviation / x.scale
    assert np.sqrt((np.abs(errors) ** 2).mean()) == pytest.approx(expected, rel=0.3)
    # One decryption exceeds the precision with a chance of 2^-15; none of these exceeds it by a
    # factor of 2.
    assert np.abs(errors).max() < 2 * 2.0**-wanted.precision < 32 * np.abs(errors).max()
    assert wanted.cost == pytest.approx(x.precision_estimate() - wanted.precision, abs=0.3)


@pytest.mark.parametrize("deviation", [0.0, 1.7, 2.5, 6.0, 11.3])
def test_narrow_gaussians_have_the_frequencies_of_discrete_ones(deviation: float) -> None:
    drawn = np.asarray(flooding.wide_gaussian((2**16,), deviation))
    sigma = 3.2 * np.prod([(1 + z * z) ** 0.5 for z in flooding.convolution(deviation)])
    assert 2.0**deviation <= sigma <= max(3.2, 2.0**deviation * 2**0.5)
    width = max(1, round(sigma / 2))
    bins = np.arange(-12, 13) * width
    centres = np.arange(-60 * width, 60 * width + 1)
    weights = np.exp(-(centres**2) / (2 * sigma**2))
    expected = np.histogram(centres, bins=bins, weights=weights / weights.sum())[0] * len(drawn)
    found = np.histogram(drawn, bins=bins)[0]
    kept = expected > 20
    chi = ((found - expected)[kept] ** 2 / expected[kept]).sum()
    assert chi < 3 * kept.sum()


@pytest.mark.parametrize("deviation", [8.0, 20.3, 33.3, 40.0, 48.77, 61.0, 80.0, 150.0])
def test_convolutions_end_near_the_deviation_and_are_allowed_at_each_step(
    deviation: float,
) -> None:
    own, weights = 3.2, flooding.convolution(deviation)
    # sqrt(ln(2 (1 + 2^100)) / pi) is the smoothing parameter, sqrt(2 pi) times a deviation.
    smooth = (np.log(2) * 101 / np.pi) ** 0.5 / (2 * np.pi) ** 0.5
    for weight in weights:
        assert (1 + weight**2) ** 0.5 * smooth <= own
        own *= (1 + weight**2) ** 0.5
    assert deviation <= log2(own) < deviation + (0.3 if deviation < 20 else 0.05)
    assert len(weights) <= 9


@pytest.mark.parametrize("deviation", [30.0, 41.5, 58.9])
def test_wide_gaussians_are_wide_in_every_bit(deviation: float) -> None:
    drawn = np.asarray(flooding.wide_gaussian((2**13,), deviation))
    scaled = drawn / 2.0**deviation
    assert scaled.std() == pytest.approx(1.0, rel=0.07)
    assert (scaled**4).mean() / scaled.var() ** 2 == pytest.approx(3.0, rel=0.2)
    assert abs(scaled.mean()) < 0.06
    # Low bits are not those that a float would leave: as many ones as zeros, in each of them.
    for bit in (0, 1, 7, 20):
        assert (drawn >> bit & 1).mean() == pytest.approx(0.5, abs=0.04)


def test_values_that_are_off_by_less_take_less_noise() -> None:
    weights = np.r_[np.full(4, 2.0**-10), np.ones(CONTEXT.slots - 4)]
    z = KEYS.encrypt(A) * weights
    first, all_of_it = z.with_packing(CONTEXT.packing(4)), z
    wanted = [KEYS.flooding(x, queries=1, security=10) for x in (first, all_of_it)]
    assert wanted[0].deviation < wanted[1].deviation - 4
    shown = KEYS.decrypt(first, queries=1, security=10)
    assert np.abs(shown[:4] - A[:4] * 2.0**-10).max() < 2.0 ** -wanted[0].precision


def test_what_a_file_claims_of_its_noise_is_not_believed(tmp_path: Path) -> None:
    x = KEYS.encrypt(A, scale=2.0**60)
    program = cw.trace(lambda x: x * 3 + x.rotate(1), x)
    (local,) = program.run(x).outputs
    local.save(tmp_path / "honest")
    forged = resealed(tmp_path / "honest", fields={"noise": -300.0})
    for path in (tmp_path / "honest", forged):
        z = KEYS.evaluation.load(path)
        for claimed in (z, z + x, x + z, z * 2, z.rotate(1), z.relinearize(), z - 1):
            with pytest.raises(ParamError, match=r"noise: got the claim of a file, .*program="):
                KEYS.decrypt(claimed, queries=1)
        wanted = KEYS.flooding(z, queries=1, program=program)
        assert wanted.deviation == KEYS.flooding(local, queries=1).deviation
        shown = KEYS.decrypt(z, queries=1, program=program)
        assert np.abs(shown - (3 * A + np.roll(A, -1))).max() < 2.0**-wanted.precision
        named = KEYS.flooding(z, queries=1, noise_bits=30.0)
        assert named.error == pytest.approx(30, abs=0.1)
        # A value that is not published needs no bound.
        assert np.abs(KEYS.decrypt(z) - KEYS.decrypt(local)).max() == 0


def test_programs_of_others_ciphertexts_say_no_more_than_their_files(tmp_path: Path) -> None:
    x = KEYS.encrypt(A)
    x.save(tmp_path / "x")
    z = KEYS.evaluation.load(tmp_path / "x")
    own, theirs = cw.trace(lambda x: x + 1, x), cw.trace(lambda x: x + 1, z)
    assert own.run(z).outputs[0].claimed
    assert not own.run(x).outputs[0].claimed
    with pytest.raises(ParamError, match="traced with examples of your own"):
        KEYS.decrypt(z, queries=1, program=theirs)
    with pytest.raises(ParamError, match="one with a result at level 3"):
        KEYS.decrypt(z.lower(3), queries=1, program=own)
    other = ckks(128)
    with pytest.raises(ParamError, match="of these parameters and this packing"):
        KEYS.decrypt(z, queries=1, program=cw.trace(lambda x: x + 1, other.encrypt([1.0])))
    with pytest.raises(ParamError, match="a program or a number, not both"):
        KEYS.decrypt(z, queries=1, program=own, noise_bits=20)


def test_a_bag_of_words_is_shown_with_30_bits_at_scale_40() -> None:
    keys = fhe.ckks(4096, [50, 40, 40], [50], insecure=True).keygen(rotations="all")
    generator = np.random.default_rng(3)
    words = (generator.random(keys.context.slots) < 0.02).astype(float)
    weights = generator.normal(size=keys.context.slots) / 16
    score = (keys.encrypt(words) * weights).sum()
    wanted = keys.flooding(score, queries=1, security=30)
    shown = keys.decrypt(score, queries=1, security=30)[0].real
    assert abs(shown - words @ weights) < 2.0**-wanted.precision < 2.0**-5


@pytest.mark.parametrize("terms", [1, 8])
def test_outlines_of_a_circuit_bound_its_error(terms: int) -> None:
    values, weights = np.cos(np.arange(CONTEXT.slots)), np.sin(np.arange(CONTEXT.slots))
    x, y = KEYS.public.encrypt(values).using(KEYS.evaluation), KEYS.public.encrypt(weights)
    level, plain = CONTEXT.parameters.level, values
    while level > 1:
        total = x * y
        for _ in range(terms - 1):
            total = total + x * y
        x, plain = total.rescale(), terms * plain * weights
        level = x.level
        most = CONTEXT.circuit_noise(level, bound=max(1.0, np.abs(plain).max()), terms=terms)
        found = np.abs(KEYS.decrypt(x) - plain).max() * x.scale
        assert log2(found) < most < log2(found) + 30
    wanted = KEYS.flooding(x, queries=1, security=10, noise_bits=most)
    assert wanted.error == pytest.approx(most, abs=0.1)
    with pytest.raises(ParamError, match="bound: got 0"):
        CONTEXT.circuit_noise(1, bound=0)


def test_noise_that_leaves_nothing_is_refused_with_what_to_do() -> None:
    x = KEYS.encrypt(A)
    with pytest.raises(NoiseError, match="begin with a larger scale, or take fewer queries"):
        KEYS.decrypt(x, queries=2**40, security=40)
    with pytest.raises(ParamError, match="security: got 128, expected less, or fewer queries"):
        KEYS.decrypt(x, queries=2**60, security=128)
    # A published value needs no room below the modulus, and fewer values need less noise.
    bottom = KEYS.encrypt(A).lower(0)
    one = bottom.with_packing(CONTEXT.packing(1))
    wanted = [KEYS.flooding(z, queries=1, security=20) for z in (bottom, one)]
    assert wanted[1].precision > wanted[0].precision + 3
    shown = KEYS.decrypt(one, queries=1, security=20)
    assert abs(shown[0] - A[0]) < 2.0 ** -wanted[1].precision
    assert not shown[1:].any()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"queries": 0}, "queries"), ({"queries": -1}, "queries"), ({"queries": 1.5}, "queries"),
        ({"queries": True}, "queries"), ({"queries": 2**65}, "queries"),
        ({"queries": 1, "security": 0}, "security"), ({"queries": 1, "security": 999}, "security"),
        ({"queries": 1, "noise_bits": -1.0}, "noise_bits"), ({"security": 40}, "queries"),
        ({"queries": 1, "noise_bits": float("nan")}, "noise_bits"), ({"noise_bits": 3}, "queries"),
        ({"queries": 1, "check": False}, "check"),
    ],
)  # fmt: skip
def test_requests_that_make_no_sense_are_refused(given: dict[str, Any], what: str) -> None:
    with pytest.raises(ParamError, match=what):
        KEYS.decrypt(KEYS.encrypt(A), **given)


def test_batches_are_as_many_queries_and_bgv_shows_no_error() -> None:
    batch = KEYS.encrypt(unit_slots(KEYS, 2, (3,)), batch=True, scale=2.0**60)
    with pytest.raises(ParamError, match="queries: got 2, expected 3 or more"):
        KEYS.decrypt(batch, queries=2)
    assert KEYS.decrypt(batch, queries=3).shape == (3, CONTEXT.slots)
    with pytest.raises(ParamError, match="BGV's results are exact"):
        bgv().decrypt(bgv().encrypt([1]), queries=1)
    # A known number has no noise; its published form has.
    nothing = KEYS.encrypt([1.0]) * 0
    assert 0.0 <= KEYS.flooding(nothing, queries=1).error < 1.0
