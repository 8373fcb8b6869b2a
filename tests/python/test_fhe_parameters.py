"""Parameters: the choice of defaults, and refusals with reasons."""

from math import log2, prod
from typing import Any

import pytest
from cloakwork import fhe
from cloakwork.errors import ParamError
from cloakwork.modular.primes import is_prime, ntt_primes, primitive_root

# Security Guidelines 2024 (ePrint 2024/463), Table 5.2.
TABLE = {
    128: {10: 26, 11: 53, 12: 106, 13: 214, 14: 430, 15: 868, 16: 1747, 17: 3523},
    192: {11: 36, 12: 73, 13: 147, 14: 297, 15: 597, 16: 1199, 17: 2411},
    256: {11: 27, 12: 56, 13: 114, 14: 230, 15: 462, 16: 929, 17: 1866},
}
SMALL = ntt_primes(16, (20, 20, 20))


def make(scheme: str = "ckks", **changes: object) -> fhe.Parameters:
    fields: dict[str, object] = {
        "scheme": scheme, "degree": 16, "moduli": SMALL[:2], "special": SMALL[2:], "scale": 4.0,
        "plain_modulus": 0, "digit_limbs": 1, "gadget_base_log2": 0, "security": None,
    }  # fmt: skip
    if scheme == "bgv":
        fields |= {"scale": 0.0, "plain_modulus": 97}
    return fhe.Parameters(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("degree", {"degree": 12}),
        ("degree", {"degree": 4}),
        ("degree", {"degree": 1 << 18}),
        ("modulus_count", {"moduli": ()}),
        ("modulus_repeated", {"moduli": (SMALL[0], SMALL[0])}),
        ("modulus_repeated", {"special": SMALL[:1]}),
        ("modulus_range", {"moduli": (2**62 + 1,)}),
        ("modulus_range", {"moduli": (1,)}),
        ("modulus_not_ntt_friendly", {"moduli": (101,)}),
        ("modulus_not_prime", {"moduli": (33,)}),
        ("scale_range", {"scale": 0.5}),
        ("scale_range", {"scale": float("nan")}),
        ("scale_range", {"scale": 2.0**61}),
        ("scale_above_modulus", {"scale": 2.0**40}),
        ("digit_limbs", {"digit_limbs": 3}),
        ("digit_limbs", {"digit_limbs": 0}),
        ("special_too_small", {"digit_limbs": 2}),
        ("gadget_base_log2", {"special": (), "gadget_base_log2": 21}),
        ("gadget_base_log2", {"special": ()}),
        ("security", {"security": 100}),
        ("security_degree", {"security": 128}),
    ],
)
def test_each_invalid_choice_has_its_rule(rule: str, changes: dict[str, object]) -> None:
    with pytest.raises(ParamError) as raised:
        make(**changes)
    assert raised.value.rule == rule
    assert rule in str(raised.value)


@pytest.mark.parametrize(
    ("rule", "t"),
    [
        ("plain_modulus", 1),
        ("plain_modulus", 1 << 31),
        ("plain_modulus", SMALL[0]),
        ("plain_modulus_batching", 101),
        ("plain_modulus_batching", 33),
    ],
)
def test_plain_moduli_that_do_not_fit_are_refused(rule: str, t: int) -> None:
    with pytest.raises(ParamError) as raised:
        make("bgv", plain_modulus=t)
    assert raised.value.rule == rule


@pytest.mark.parametrize("security", [128, 192, 256])
def test_all_moduli_together_are_held_to_the_security_table(security: int) -> None:
    for log_degree, limit in TABLE[security].items():
        degree = 1 << log_degree
        assert fhe.modulus_log2_limit(degree, security) == limit
        count = -(-limit // 58)
        bits = [limit // count - 1] * (count - 1)
        if len(bits) < 2:
            continue
        held = fhe.ckks(degree, bits, [limit // count - 1], security=security, levels="manual")
        whole = held.parameters.moduli + held.parameters.special
        assert prod(whole) < 1 << limit
        with pytest.raises(ParamError, match=f"at most {limit} at degree {degree}") as raised:
            fhe.ckks(degree, bits, [bits[0]] * 3, security=security, levels="manual")
        assert raised.value.rule == "security_modulus"
        fhe.ckks(degree, bits, [bits[0]] * 3, insecure=True, levels="manual")


def test_degrees_below_the_table_are_refused() -> None:
    with pytest.raises(ParamError, match="security_degree"):
        fhe.ckks(512, [40, 30], [40])


def test_primes_of_fifty_bits_stay_below_the_fast_path_s_limit() -> None:
    for context in (
        fhe.ckks(2**15, [50] + [40] * 10, [50] * 3),
        fhe.ckks(2**15, [50] * 11, [50] * 4),
        fhe.bgv(2**14, 65537, [49] * 7, [50]),
    ):
        parameters = context.parameters
        everything = parameters.moduli + parameters.special
        assert len(set(everything)) == len(everything)
        for q in everything:
            assert q < 1 << 50
            assert q % (2 * parameters.degree) == 1
            assert is_prime(q)


@pytest.mark.parametrize("levels", [10, 20, 30])
def test_scales_stay_near_each_other_down_the_whole_chain(levels: int) -> None:
    for bits in (40, 50):
        context = fhe.ckks(2**15, [50] + [bits] * levels, [50] * 3, insecure=True)
        for scale in context.scales:
            assert abs(log2(scale / context.parameters.scale)) < 2e-3
        # If the first modulus has no room for the scale, the second is needed too.
        assert context.lowest == (bits == 50)


def test_bgv_prefers_primes_that_leave_plaintexts_alone() -> None:
    parameters = fhe.bgv(2**14, 65537, [49] * 7, [50]).parameters
    assert all(q % 65537 == 1 for q in parameters.moduli)
    # With too few bits for that it takes others.
    small = fhe.bgv(2**10, 65537, [24, 24], [25], insecure=True).parameters
    assert all(q % 2048 == 1 for q in small.moduli)


def test_primes_are_taken_as_they_are_given() -> None:
    primes = ntt_primes(2**10, (50, 40, 40, 50))
    context = fhe.ckks(2**10, primes[:3], primes[3:], insecure=True)
    assert context.parameters.moduli == primes[:3]
    assert context.parameters.special == primes[3:]
    assert context.parameters.scale == 2.0**40


def test_digits_follow_the_special_moduli_or_what_is_asked_for() -> None:
    assert len(fhe.ckks(2**15, [50] + [40] * 10, [50] * 3).parameters.digits) == 4
    assert len(fhe.ckks(2**15, [50] + [40] * 10, [50] * 3, digits=11).parameters.digits) == 11
    with pytest.raises(ParamError, match="digits"):
        fhe.ckks(2**15, [50] + [40] * 10, [50] * 3, digits=12)
    with pytest.raises(ParamError, match="special_too_small"):
        fhe.ckks(2**15, [50] + [40] * 10, [50] * 3, digits=1)


def test_a_chain_whose_scales_would_run_away_is_refused() -> None:
    with pytest.raises(ParamError, match="scale_chain"):
        fhe.ckks(2**13, [50, 48, 48, 48], [50], scale=2.0**20, insecure=True)
    fhe.ckks(2**13, [50, 48, 48, 48], [50], scale=2.0**20, insecure=True, levels="manual")


def test_wrong_words_are_refused() -> None:
    with pytest.raises(ParamError, match="levels"):
        fhe.ckks(2**13, [50, 40], [50], levels="some")  # type: ignore[arg-type]
    with pytest.raises(ParamError, match="bound"):
        fhe.ckks(2**13, [50, 40], [50], bound=0.0)
    with pytest.raises(ParamError, match="modulus_bits"):
        fhe.ckks(2**13, [13, 40], [50])
    with pytest.raises(ParamError, match="modulus_count"):
        fhe.ckks(2**13, [], [50])
    with pytest.raises(ParamError, match="too_few_primes"):
        fhe.ckks(8192, [16] * 9, [50], insecure=True)


def test_the_description_says_what_the_security_rests_on() -> None:
    text = fhe.ckks(2**15, [50] + [40] * 10, [50] * 3).describe()
    for phrase in ("degree 32768", "16384 slots", "hybrid, 4 digits", "at most 868", "128 bits"):
        assert phrase in text
    assert "not checked" in fhe.ckks(64, [50, 40], insecure=True).describe()
    assert "gadget" in fhe.ckks(64, [50, 40], insecure=True).describe()
    assert "mod 65537" in fhe.bgv(64, 65537, [50, 40], [50], insecure=True).describe()


def test_fingerprints_tell_parameters_apart() -> None:
    prints = {
        make().fingerprint,
        make(scale=8.0).fingerprint,
        make(special=(), gadget_base_log2=8).fingerprint,
        make("bgv").fingerprint,
    }
    assert len(prints) == 4
    assert make().fingerprint == make().fingerprint


def test_contexts_of_one_set_of_parameters_share_their_tables() -> None:
    assert fhe.ckks(64, [50, 40], insecure=True) is fhe.ckks(64, [50, 40], insecure=True)


# Carmichael numbers and strong pseudoprimes to several bases; 2^61 - 1 is prime.
@pytest.mark.parametrize(
    ("candidate", "prime"),
    [
        (0, False), (1, False), (2, True), (3, True), (37, True), (41, True), (561, False),
        (3215031751, False), (3825123056546413051, False), (2**61 - 1, True),
        ((2**31 - 1) * (2**30 - 35), False),
    ],
)  # fmt: skip
def test_is_prime_is_exact_on_hard_numbers(candidate: int, prime: bool) -> None:
    assert is_prime(candidate) is prime


@pytest.mark.parametrize("order", [2, 64, 16384])
def test_primitive_root_has_exactly_its_order(order: int) -> None:
    (q,) = ntt_primes(8192, (50,))
    root = primitive_root(order, q)
    assert pow(root, order, q) == 1
    assert pow(root, order // 2, q) == q - 1


@pytest.mark.parametrize("scheme", ["ckks", "bgv"])
def test_the_way_out_of_security_is_insecure(scheme: str) -> None:
    def toy(**given: Any) -> fhe.Context:
        return (
            fhe.ckks(64, [40, 30], **given) if scheme == "ckks" else fhe.bgv(64, 257, [40], **given)
        )

    assert toy(insecure=True).parameters.security is None
    with pytest.raises(ParamError, match=r"security: got None, .*insecure=True"):
        toy(security=None)
    with pytest.raises(ParamError, match="insecure: got True, expected no security=192 with it"):
        toy(security=192, insecure=True)
    with pytest.raises(ParamError, match=r"insecure=True (accepts|to skip)"):
        toy()
    with pytest.raises(ParamError, match=r"insecure=True (accepts|to skip)"):
        fhe.ckks(2**13, [50] * 5)
