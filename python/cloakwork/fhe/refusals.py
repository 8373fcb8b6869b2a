"""What people type on encrypted values that cannot be: each is an error that names what can.

Whether a value is large, zero or true is nobody's to see here, so that nothing decides by it, and
polynomials are all that there is to compute: other functions are approximated by them.
"""

from __future__ import annotations

from typing import Any, NoReturn

from cloakwork.errors import EncryptedValueError

_APPROXIMATED = "fhe.chebyshev({}, degree, domain)(x) approximates it for x within the domain"
_DECRYPTED = "decrypt first: keys.decrypt(x)"
_SIGN = (
    "encrypted values decide nothing.  Under CKKS fhe.chebyshev(lambda d: np.tanh(20 * d), degree, "
    "domain)(x - y) approximates the sign of a difference; what is decrypted can be compared"
)
_RECIPROCAL = _APPROXIMATED.format("lambda v: 1 / v")
_ONE_BY_ONE = (
    "one ciphertext holds its slots together: x.rotate(i) brings slot i to the front, x * mask "
    "keeps some, x.shape says how many there are; batches have a length and take indices"
)


def refuse(op: str, hint: str) -> NoReturn:
    """The error for an operation that encrypted values do not have."""
    raise EncryptedValueError(op, hint)


def refuse_function(name: str) -> NoReturn:
    """The error for a function of NumPy's."""
    known = {
        "maximum": "lambda v: np.maximum(v, 0)", "minimum": "lambda v: np.minimum(v, 0)",
        "reciprocal": "lambda v: 1 / v",
    }  # fmt: skip
    if name in ("matmul", "dot", "inner", "vdot", "vecdot", "matvec", "vecmat", "einsum"):
        refuse(f"np.{name}", "fhe.Matrix(context, weights) @ x multiplies by a matrix")
    if name in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"):
        refuse(f"np.{name}", _SIGN)
    if name in ("floor_divide", "remainder", "fmod", "divmod"):
        refuse(f"np.{name}", _rounded())
    refuse(f"np.{name}", _APPROXIMATED.format(known.get(name, f"np.{name}")))


def _rounded() -> str:
    return f"there is no rounding of encrypted values: {_DECRYPTED}"


class Refusals:
    """Operators and conversions that Python offers and encryption does not."""

    def __lt__(self, other: object) -> NoReturn:
        refuse("x < y", _SIGN)

    def __le__(self, other: object) -> NoReturn:
        refuse("x <= y", _SIGN)

    def __gt__(self, other: object) -> NoReturn:
        refuse("x > y", _SIGN)

    def __ge__(self, other: object) -> NoReturn:
        refuse("x >= y", _SIGN)

    def __eq__(self, other: object) -> bool:
        """No value is equal: an error for what could be one, as `is` tells objects apart."""
        if other is None or isinstance(other, str | bytes):
            return False
        refuse("x == y", f"{_SIGN}; `is` tells whether two names are one ciphertext")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise EncryptedValueError("bool(x)", f"encrypted values decide nothing: {_DECRYPTED}")

    def __int__(self) -> NoReturn:
        refuse("int(x)", _DECRYPTED)

    def __float__(self) -> NoReturn:
        refuse("float(x)", _DECRYPTED)

    def __complex__(self) -> NoReturn:
        refuse("complex(x)", _DECRYPTED)

    def __round__(self, digits: object = None) -> NoReturn:
        refuse("round(x)", _rounded())

    def __abs__(self) -> NoReturn:
        refuse("abs(x)", f"{_APPROXIMATED.format('np.abs')}; x.square() needs no approximation")

    def __floordiv__(self, other: object) -> NoReturn:
        refuse("x // y", _rounded())

    __rfloordiv__ = __floordiv__

    def __mod__(self, other: object) -> NoReturn:
        refuse("x % y", f"{_rounded()}; BGV computes mod its plain_modulus by itself")

    __rmod__ = __mod__

    def __divmod__(self, other: object) -> NoReturn:
        refuse("divmod(x, y)", _rounded())

    __rdivmod__ = __divmod__

    def __rtruediv__(self, other: object) -> NoReturn:
        refuse("y / x", _RECIPROCAL)

    def __rpow__(self, other: object) -> NoReturn:
        refuse("y ** x", _APPROXIMATED.format("lambda v: y ** v"))

    def __matmul__(self, other: object) -> NoReturn:
        refuse("x @ y", "fhe.Matrix(context, weights.T) @ x multiplies by a matrix, (x * y).sum() "
               "is a product of vectors")  # fmt: skip

    def __rmatmul__(self, other: object) -> NoReturn:
        refuse("weights @ x", "fhe.Matrix(context, weights) @ x multiplies by a matrix")

    def __contains__(self, value: object) -> bool:
        refuse_indices()

    def __array__(self, *_: Any, **__: Any) -> None:
        refuse("np.asarray(x)", _DECRYPTED)


def refuse_indices() -> NoReturn:
    """The error for the elements of one ciphertext."""
    refuse("x[i], len(x) or a loop over x", _ONE_BY_ONE)


def refuse_quotient(exact: bool) -> NoReturn:
    """The error for what is divided by something that is no number."""
    if exact:
        hint = "BGV computes mod t: x * pow(n, -1, t) divides by n what n divides"
        refuse("x / n", hint)
    refuse("x / y", f"{_RECIPROCAL}, and a product follows")


def refuse_power(exponent: object) -> NoReturn:
    """The error for an exponent that is no whole number from 0 on."""
    shown = exponent if isinstance(exponent, int | float) else "y"
    refuse(f"x ** {shown}", _APPROXIMATED.format(f"lambda v: v ** {shown}"))
