"""Operations that encrypted values do not support: errors that name the alternatives.

The server cannot see whether a value is large, zero or true, so that nothing can depend on it.
Only polynomials can be computed: CKKS approximates other functions by polynomials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from cloakwork.errors import EncryptedValueError

if TYPE_CHECKING:
    from cloakwork.fhe.context import Context

_DECRYPTED = "decrypt first: keys.decrypt(x)"
_ROUNDED = f"encrypted values cannot be rounded: {_DECRYPTED}"
_UNDECIDED = "encrypted values decide nothing"
_PRODUCTS = "(context, weights{}) @ x multiplies by a matrix"
_ONE_BY_ONE = (
    "one ciphertext holds its slots together: x.rotate(i) brings slot i to the front, x * mask "
    "keeps some, x.shape says how many there are; batches have a length and take indices"
)
_MATRICES = ("matmul", "dot", "inner", "vdot", "vecdot", "matvec", "vecmat", "einsum", "tensordot")
_COMPARISONS = ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")
_DIVISIONS = ("floor_divide", "remainder", "fmod", "divmod", "rint", "floor", "ceil", "trunc")
# Functions of two values that depend only on the first if the second is known.
_HALVES = {"maximum": "np.maximum(v, 0)", "minimum": "np.minimum(v, 0)"}


def refuse(op: str, hint: str) -> NoReturn:
    """The error for an operation that encrypted values do not support."""
    raise EncryptedValueError(op, hint)


class Refusals:
    """Python's operators and conversions that encrypted values do not support."""

    context: Context

    def _approximated(self, function: str) -> str:
        """The alternative for a function of one value."""
        scheme = self.context.parameters.scheme
        if scheme != "ckks":
            return (
                f"{scheme.upper()} computes sums and products mod t, and fhe.Polynomial of "
                "integers; CKKS approximates functions, by "
                f"fhe.chebyshev({function}, degree, domain)(x)"
            )
        return f"fhe.chebyshev({function}, degree, domain)(x) approximates it within the domain"

    def _sign(self) -> str:
        about = self._approximated("lambda d: np.tanh(20 * d)").replace(")(x)", ")(x - y)")
        return f"{_UNDECIDED}.  {about}: the sign of a difference; compare decrypted values instead"

    def refuse_ufunc(self, name: str, operands: int) -> NoReturn:
        """The error for an element-wise function of NumPy's."""
        op = f"np.{name}"
        if name in _COMPARISONS:
            refuse(op, self._sign())
        if name in _DIVISIONS:
            refuse(op, _ROUNDED)
        if operands == 1 or name in _HALVES:
            function = f"lambda v: {_HALVES[name]}" if name in _HALVES else op
            refuse(op, self._approximated(function))
        self.refuse_function(name)

    def refuse_function(self, name: str) -> NoReturn:
        """The error for any other function of NumPy's."""
        if name in _MATRICES:
            refuse(f"np.{name}", f"fhe.Matrix{_PRODUCTS.format('')}")
        known = "operators, x.sum(), x.rotate(n), x[i] of a batch"
        refuse(f"np.{name}", f"ciphertexts have {known}; decrypt them to use NumPy's functions")

    def refuse_quotient(self, divisor: object) -> NoReturn:
        """The error for a divisor that is not a number."""
        scheme = self.context.parameters.scheme
        if scheme != "ckks" and not isinstance(divisor, Refusals):
            refuse(
                "x / n",
                f"{scheme.upper()} computes mod t: x * pow(n, -1, t) divides by n what n divides",
            )
        refuse("x / y", f"{self._approximated('lambda v: 1 / v')}, and a product follows")

    def refuse_power(self, exponent: object) -> NoReturn:
        """The error for an exponent that is not a nonnegative integer."""
        shown = exponent if isinstance(exponent, int | float) else "y"
        refuse(f"x ** {shown}", self._approximated(f"lambda v: v ** {shown}"))

    def refuse_indices(self) -> NoReturn:
        """The error for indexing or iterating over one ciphertext."""
        refuse("x[i], len(x) or a loop over x", _ONE_BY_ONE)

    def __lt__(self, other: object) -> NoReturn:
        refuse("x < y", self._sign())

    def __le__(self, other: object) -> NoReturn:
        refuse("x <= y", self._sign())

    def __gt__(self, other: object) -> NoReturn:
        refuse("x > y", self._sign())

    def __ge__(self, other: object) -> NoReturn:
        refuse("x >= y", self._sign())

    def __eq__(self, other: object) -> bool:
        """False for None and strings; an error for values: encrypted values cannot be compared."""
        if other is None or isinstance(other, str | bytes):
            return False
        refuse("x == y", f"`is` compares the identity of ciphertexts; {self._sign()}")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise EncryptedValueError("bool(x)", f"{_UNDECIDED}: {_DECRYPTED}")

    def __int__(self) -> NoReturn:
        refuse("int(x)", _DECRYPTED)

    def __float__(self) -> NoReturn:
        refuse("float(x)", _DECRYPTED)

    def __complex__(self) -> NoReturn:
        refuse("complex(x)", _DECRYPTED)

    def __round__(self, digits: object = None) -> NoReturn:
        refuse("round(x)", _ROUNDED)

    def __abs__(self) -> NoReturn:
        refuse("abs(x)", f"{self._approximated('np.abs')}; x.square() needs no approximation")

    def __floordiv__(self, other: object) -> NoReturn:
        refuse("x // y", _ROUNDED)

    __rfloordiv__ = __floordiv__

    def __mod__(self, other: object) -> NoReturn:
        refuse("x % y", f"{_ROUNDED}; BGV and BFV values are modulo plain_modulus already")

    __rmod__ = __mod__

    def __divmod__(self, other: object) -> NoReturn:
        refuse("divmod(x, y)", _ROUNDED)

    __rdivmod__ = __divmod__

    def __rtruediv__(self, other: object) -> NoReturn:
        refuse("y / x", self._approximated("lambda v: 1 / v"))

    def __rpow__(self, other: object) -> NoReturn:
        refuse("y ** x", self._approximated("lambda v: y ** v"))

    def __matmul__(self, other: object) -> NoReturn:
        vectors = "(x * y).sum() is a product of vectors"
        refuse("x @ y", f"fhe.Matrix{_PRODUCTS.format('.T')}, {vectors}")

    def __rmatmul__(self, other: object) -> NoReturn:
        refuse("weights @ x", f"fhe.Matrix{_PRODUCTS.format('')}")

    def __contains__(self, value: object) -> bool:
        self.refuse_indices()

    def __array__(self, *_: Any, **__: Any) -> None:
        refuse("np.asarray(x)", _DECRYPTED)
