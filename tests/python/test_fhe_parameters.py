"""Parameters: primes, and a named refusal for each way of being invalid."""

import pytest
from cloakwork.errors import CloakworkError, ParamError
from cloakwork.fhe import MODULUS_LOG2_LIMIT, Parameters
from cloakwork.primes import is_prime, ntt_primes, primitive_root
from hypothesis import given
from hypothesis import strategies as st

SMALL_PRIME = 97  # = 1 mod 32, so it serves degrees up to 16


@given(st.integers(min_value=0, max_value=20_000))
def test_is_prime_agrees_with_trial_division(candidate: int) -> None:
    divisors = (d for d in range(2, int(candidate**0.5) + 1) if candidate % d == 0)
    assert is_prime(candidate) == (candidate >= 2 and next(divisors, None) is None)


@pytest.mark.parametrize(
    ("candidate", "prime"),
    [
        (2**61 - 1, True),
        (2305843009218281473, True),
        (2305843009218936833, True),
        (3215031751, False),  # the least strong pseudoprime to 2, 3, 5 and 7
        (3825123056546413051, False),  # and the least to the first nine primes
        ((2**31 - 1) * (2**30 - 35), False),
    ],
)
def test_is_prime_is_exact_on_hard_numbers(candidate: int, prime: bool) -> None:
    assert is_prime(candidate) is prime


def test_primes_are_the_nearest_distinct_ntt_friendly_ones() -> None:
    chosen = ntt_primes(8192, (60, 40, 40, 40))
    assert len(set(chosen)) == 4
    for q, bits in zip(chosen, (60, 40, 40, 40), strict=True):
        assert q % 16384 == 1
        assert is_prime(q)
        nearer = range(2**bits + 1 - 16384 * (abs(q - 2**bits) // 16384), 2**bits + 1, 16384)
        assert all(not is_prime(n) or n in chosen for n in nearer)


@pytest.mark.parametrize("order", [2, 64, 16384])
def test_primitive_root_has_exactly_its_order(order: int) -> None:
    (q,) = ntt_primes(8192, (50,))
    root = primitive_root(order, q)
    assert pow(root, order, q) == 1
    assert pow(root, order // 2, q) == q - 1


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ("degree", (12, (97,), 4.0)),
        ("degree", (4, (97,), 4.0)),
        ("degree", (1 << 18, (97,), 4.0)),
        ("modulus_count", (16, (), 4.0)),
        ("modulus_repeated", (16, (97, 97), 4.0)),
        ("modulus_range", (16, (2**62 + 1,), 4.0)),
        ("modulus_range", (16, (1,), 4.0)),
        ("modulus_range", (16, (-31,), 4.0)),
        ("modulus_not_ntt_friendly", (16, (101,), 4.0)),
        ("modulus_not_prime", (16, (33,), 4.0)),
        ("scale_range", (16, (97,), 0.5)),
        ("scale_range", (16, (97,), float("nan"))),
        ("scale_range", (16, (97,), 2.0**61)),
        ("scale_above_modulus", (16, (97,), 97.0)),
    ],
)
def test_each_invalid_choice_has_its_rule(
    rule: str, arguments: tuple[int, tuple[int, ...], float]
) -> None:
    with pytest.raises(ParamError) as raised:
        Parameters(*arguments, gadget_base_log2=3, insecure=True)
    assert raised.value.rule == rule
    assert isinstance(raised.value, ValueError | CloakworkError)
    assert rule in str(raised.value)


@pytest.mark.parametrize("base_log2", [0, 7])
def test_gadget_digits_must_lie_below_each_modulus(base_log2: int) -> None:
    with pytest.raises(ParamError, match="gadget_base_log2"):
        Parameters(16, (SMALL_PRIME,), 4.0, gadget_base_log2=base_log2, insecure=True)


@pytest.mark.parametrize("bits", [14, 62])
def test_modulus_bits_out_of_range_are_refused(bits: int) -> None:
    with pytest.raises(ParamError, match="modulus_bits"):
        Parameters.with_bits(8192, (bits,), 10)


def test_running_out_of_primes_is_refused() -> None:
    with pytest.raises(ParamError, match="too_few_primes"):
        Parameters.with_bits(8192, (16,) * 9, 10, insecure=True)


@pytest.mark.parametrize(("degree", "limit_log2"), sorted(MODULUS_LOG2_LIMIT.items()))
def test_the_whole_modulus_is_held_to_the_security_table(degree: int, limit_log2: int) -> None:
    # The prime nearest 2^bits may lie above it, so one bit is left free.
    count = -(-limit_log2 // 60)
    bits = [limit_log2 // count - 1] * count
    assert Parameters.with_bits(degree, bits, 5).modulus_log2 < limit_log2
    too_many = [limit_log2 // count + 1] * count if count == 1 else [*bits, 60, 60]
    with pytest.raises(ParamError, match=f"at most {limit_log2} at degree {degree}") as raised:
        Parameters.with_bits(degree, too_many, 5)
    assert raised.value.rule == "security_modulus"
    assert Parameters.with_bits(degree, too_many, 5, insecure=True).insecure


def test_degrees_below_the_table_are_refused() -> None:
    with pytest.raises(ParamError, match="security_degree"):
        Parameters(16, (SMALL_PRIME,), 4.0, gadget_base_log2=3)
