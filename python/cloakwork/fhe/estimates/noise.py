"""Estimates of noise: log2 of the standard deviation of an error in the canonical embedding.

An error is a polynomial e with integer coefficients; its size is that of the complex numbers
e(zeta), zeta a primitive 2N-th root of unity, so sqrt(N) times that of its coefficients.  There,
products of polynomials are products of these numbers.

Under CKKS the unit is given by TAIL_LOG2, a twelfth of the bound on errors: Gaussian errors, which
reach fewer deviations, count correspondingly less.

The squares of independent fresh errors add up.  Errors already in a circuit may be correlated (the
same ciphertext twice), so that the errors themselves are added; this keeps the estimate valid.
"""

from __future__ import annotations

from math import inf, log2, pi

from cloakwork.fhe.parameters import ERROR_SIGMA, Parameters

# The largest of N / 2 slots in standard deviations, as a power of two, except with a chance of
# 2^-15 up to degree 2^16.  An error times the secret is a product of two Gaussian-like numbers in
# each slot: it exceeds k deviations with a chance of about sqrt(pi k) e^-2k, a Gaussian with
# e^-k^2.
TAIL_LOG2 = log2(12.0)
# An error without a secret factor is Gaussian, and stays below 4.6 deviations: it counts
# correspondingly less.  The squares of both kinds' bounds add up, as those of deviations do.
_GAUSSIAN_LOG2 = log2(4.6 / 12.0)
# Coefficients this near to half the modulus, in bits, are not distinguished from wrapped ones.
WRAPPED_LOG2 = 0.1
# Relative precision of the floating-point transforms of encoding and decoding, with some room.
FLOAT_LOG2 = -48.0

_SIGMA_LOG2 = log2(ERROR_SIGMA)
# Rounding to an integer has variance 1 / 12; a uniform ternary coefficient has 2 / 3.
_ROUNDING = 1.0 / 12.0
_TERNARY = 2.0 / 3.0


def total(*terms: float) -> float:
    """log2 of the sum of 2^term: for errors that may be correlated."""
    largest = max(terms)
    if abs(largest) == inf:
        return largest
    return largest + log2(sum(2.0 ** (term - largest) for term in terms))


def independent(*terms: float) -> float:
    """log2 of the root of the sum of squares."""
    return total(*(2 * term for term in terms)) / 2


def encoding(parameters: Parameters) -> float:
    """CKKS: rounding of every coefficient to an integer."""
    return log2(parameters.degree * _ROUNDING) / 2 + _GAUSSIAN_LOG2


def fresh_secret(parameters: Parameters) -> float:
    """Encryption with the secret: one Gaussian coefficient each."""
    return _gaussian(parameters) + (0.0 if parameters.plain_modulus else _GAUSSIAN_LOG2)


def fresh_public(parameters: Parameters) -> float:
    """Encryption with the public key: e0 + e1 s + u e."""
    return _gaussian(parameters) + log2(4 * parameters.degree / 3 + 1) / 2


def rounding(parameters: Parameters, limbs: int, parts: int = 2) -> float:
    """Division by `limbs` moduli at once, of a ciphertext of that many parts.

    The remainders of `limbs` moduli add up to a number within limbs / 2, each uniform.
    """
    degree = parameters.degree
    secret = _TERNARY * degree
    # 1, s and s^2 for parts 0, 1 and 2; the square of |s|^2 has twice its mean squared, and its
    # product with an error reaches 2.2 times as many deviations as TAIL_LOG2 says.
    weights = sum((1.0, secret, 2 * 2.2**2 * secret * secret)[:parts])
    return log2(limbs * _ROUNDING * degree * weights) / 2 + _plain_log2(parameters)


def key_switch(parameters: Parameters, level: int) -> float:
    """The error that a key switch adds, without the rounding of its last division.

    Hybrid: sum over digits of digit * error / P.  Gadget: digits in [0, 2^w) and no division.
    """
    half = log2(parameters.degree) + _SIGMA_LOG2 + _plain_log2(parameters)
    if not parameters.special:
        base, limbs = parameters.gadget_base_log2, level + 1
        digits = max(sum(map(log2, parameters.moduli[:limbs])) / base, 1.0)
        # Digits have a mean: at the zeta nearest 1 their polynomials are N 2^w / pi.
        return half + base + log2(digits * parameters.degree) / 2 - log2(pi)
    terms = []
    for number, digit in enumerate(parameters.digits):
        start = number * parameters.digit_limbs
        own = digit[: max(level + 1 - start, 0)]
        if own:
            terms.append(sum(map(log2, own)) + log2(len(own) * _ROUNDING) / 2)
    switched = half + independent(*terms) - parameters.special_log2
    return independent(switched, rounding(parameters, len(parameters.special)))


def reached(parameters: Parameters, level: int, bound: float, terms: int = 1) -> float:
    """CKKS: the noise of any circuit with known properties, from public facts alone.

    The circuit takes public-key encryptions from the top of the chain to `level`; each level is a
    sum of at most `terms` products of values within `bound`, relinearized (rotations count as
    terms) and rescaled.  The server's statements about a ciphertext are not used.
    """
    scale, size = log2(parameters.scale), log2(bound)
    noise = independent(fresh_public(parameters), encoding(parameters))
    for place in range(parameters.fresh_level, level, -1):
        product = total(1 + size + scale + noise, 2 * noise + TAIL_LOG2)
        grown = log2(terms) + total(product, key_switch(parameters, place))
        last = log2(parameters.moduli[place])
        noise = independent(grown - last, rounding(parameters, len(parameters.special) + 1))
    return total(noise, log2(terms) + key_switch(parameters, level))


def _gaussian(parameters: Parameters) -> float:
    return _SIGMA_LOG2 + log2(parameters.degree) / 2 + _plain_log2(parameters)


def _plain_log2(parameters: Parameters) -> float:
    """Errors are multiples of t under BGV."""
    return log2(parameters.error_multiple)
