"""Functions of one variable, and products and comparisons of encrypted values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.building import diagonal, identity
from cloakwork.compiler.importing.values import Call, Handler, Known, Secret, handles

_NO_LIMIT = 1e30
_SIMPLE = {
    "Abs": "abs", "Asinh": "asinh", "Atan": "atan", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Log": "log", "Mish": "mish", "Reciprocal": "reciprocal", "Relu": "relu",
    "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Softplus": "softplus",
    "Softsign": "softsign", "Sqrt": "sqrt", "Tanh": "tanh",
}  # fmt: skip


def applied(call: Call, x: Secret, kind: str, **parameters: float) -> Secret:
    """kind(x), element by element."""
    for name, value in parameters.items():
        if not np.isfinite(value):
            raise call.wrong(f"a finite {name}", value)
    return replace(x, name=call.builder.function(x.name, kind, **parameters))


def scaled(call: Call, x: Secret, scale: Any = 1.0, offset: Any = 0.0) -> Secret:
    """Scale x + offset, for numbers or arrays that broadcast to x's shape without the batch."""
    weights, bias = (
        np.broadcast_to(np.asarray(own, dtype=np.float64), x.inner) for own in (scale, offset)
    )
    return call.affine([(x.name, diagonal(weights))], bias, x.inner, x.batch)


def combined(call: Call, values: Sequence[Secret], weights: Sequence[float]) -> Secret:
    """A weighted sum of values of one shape."""
    terms = [
        (value.name, identity(call.builder.size(value.name), weight))
        for value, weight in zip(values, weights, strict=True)
    ]
    return call.affine(terms, 0.0, values[0].inner, values[0].batch)


def multiplied(call: Call, a: Secret, b: Secret) -> Secret:
    """A b, element by element."""
    return replace(a, name=call.builder.product(a.name, b.name))


def _simple(kind: str) -> Handler:
    return lambda call: applied(call, call.encrypted(0, merged=True), kind)


for _kind, _own in _SIMPLE.items():
    handles(_kind)(_simple(_own))


@handles("LeakyRelu")
def leaky_relu(call: Call) -> Secret:
    """Alpha x below 0."""
    return applied(
        call, call.encrypted(0, merged=True), "leaky_relu", slope=call.attribute("alpha", 0.01)
    )


@handles("Elu")
def elu(call: Call) -> Secret:
    """Alpha (e^x - 1) below 0."""
    return applied(call, call.encrypted(0, merged=True), "elu", alpha=call.attribute("alpha", 1.0))


@handles("Celu")
def celu(call: Call) -> Secret:
    """Alpha (e^(x / alpha) - 1) below 0."""
    alpha = float(call.attribute("alpha", 1.0))
    if alpha == 0.0 or not np.isfinite(alpha):
        raise call.wrong("an alpha other than 0", alpha)
    return applied(call, call.encrypted(0, merged=True), "celu", alpha=alpha)


@handles("Selu")
def selu(call: Call) -> Secret:
    """Gamma times an Elu."""
    given = {name: float(call.attributes[name]) for name in ("alpha", "gamma")
             if name in call.attributes}  # fmt: skip
    if not np.isfinite(list(given.values())).all():
        raise call.wrong("finite parameters", given)
    return applied(call, call.encrypted(0, merged=True), "selu", **given)


@handles("PRelu")
def prelu(call: Call) -> Secret:
    """Slope x below 0: slope x + (1 - slope) relu(x)."""
    x, slope = call.encrypted(0, merged=True), call.weights(1)
    slope = spread(call, slope, x)
    above = scaled(call, applied(call, x, "relu"), 1 - slope)
    return combined(call, [scaled(call, x, slope), above], [1.0, 1.0])


@handles("Gelu")
def gelu(call: Call) -> Secret:
    """Exact, or by tanh."""
    kinds = {"none": "gelu", "tanh": "gelu_tanh"}
    given = call.attribute("approximate", "none")
    if given not in kinds:
        raise call.wrong(f"approximate of {sorted(kinds)}", given)
    return applied(call, call.encrypted(0, merged=True), kinds[given])


@handles("Swish")
def swish(call: Call) -> Secret:
    """X sigmoid(alpha x)."""
    alpha, x = float(call.attribute("alpha", 1.0)), call.encrypted(0, merged=True)
    if alpha == 0.0:
        return scaled(call, x, 0.5)
    return scaled(call, applied(call, scaled(call, x, alpha), "silu"), 1 / alpha)


@handles("HardSigmoid")
def hard_sigmoid(call: Call) -> Secret:
    """Alpha x + beta, clipped to [0, 1]."""
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    return clipped(call, scaled(call, call.encrypted(0, merged=True), alpha, beta), 0.0, 1.0)


@handles("HardSwish")
def hard_swish(call: Call) -> Secret:
    """X times x / 6 + 1 / 2, clipped to [0, 1]."""
    x = call.encrypted(0, merged=True)
    return multiplied(call, x, clipped(call, scaled(call, x, 1 / 6, 0.5), 0.0, 1.0))


@handles("Clip")
def clip(call: Call) -> Secret:
    """Between two constants, either of which may be missing."""
    low, high = (call.setting(name, index) for name, index in (("min", 1), ("max", 2)))
    # Exporters write "no limit" as infinity, or as the largest float.
    low = None if low is not None and low <= -_NO_LIMIT else low
    high = None if high is not None and high >= _NO_LIMIT else high
    return clipped(call, call.encrypted(0, merged=True), low, high)


def clipped(call: Call, x: Secret, low: float | None, high: float | None) -> Secret:
    """Relu(x - low) - relu(x - high) + low."""
    if low is None and high is None:
        return x
    if low is None:
        assert high is not None
        over = applied(call, scaled(call, x, 1.0, -high), "relu")
        return combined(call, [x, over], [1.0, -1.0])
    above = applied(call, scaled(call, x, 1.0, -low), "relu")
    if high is None:
        return scaled(call, above, 1.0, low)
    if not low <= high:
        raise call.wrong("min <= max", f"{low} and {high}")
    over = applied(call, scaled(call, x, 1.0, -high), "relu")
    return scaled(call, combined(call, [above, over], [1.0, -1.0]), 1.0, low)


@handles("Tan")
def tangent(call: Call) -> Secret:
    """Sin(x) / cos(x), of arguments between two poles."""
    x = call.encrypted(0, merged=True)
    inverse = applied(call, applied(call, x, "cos"), "reciprocal")
    return multiplied(call, applied(call, x, "sin"), inverse)


@handles("Acos", "Asin")
def arcsine(call: Call) -> Secret:
    """Atan(x / sqrt(1 - x^2)), of arguments between -1 and 1; pi / 2 less that."""
    x = call.encrypted(0, merged=True)
    inverse = applied(call, scaled(call, multiplied(call, x, x), -1.0, 1.0), "rsqrt")
    found = applied(call, multiplied(call, x, inverse), "atan")
    return found if call.kind == "Asin" else scaled(call, found, -1.0, np.pi / 2)


@handles("Acosh")
def area_cosine(call: Call) -> Secret:
    """Log(x + sqrt(x^2 - 1)), of arguments above 1."""
    x = call.encrypted(0, merged=True)
    root = applied(call, scaled(call, multiplied(call, x, x), 1.0, -1.0), "sqrt")
    return applied(call, combined(call, [x, root], [1.0, 1.0]), "log")


@handles("Atanh")
def area_tangent(call: Call) -> Secret:
    """(log(1 + x) - log(1 - x)) / 2, of arguments between -1 and 1."""
    x = call.encrypted(0, merged=True)
    sides = [applied(call, scaled(call, x, sign, 1.0), "log") for sign in (1.0, -1.0)]
    return combined(call, sides, [0.5, -0.5])


@handles("Shrink")
def shrunk(call: Call) -> Secret:
    """X - bias above lambd, x + bias below -lambd, else 0.

    Relu(x - lambd) - relu(-x - lambd), with a jump at both ends where lambd is not the bias.
    """
    x = call.encrypted(0, merged=True)
    lambd, bias = float(call.attribute("lambd", 0.5)), float(call.attribute("bias", 0.0))
    if not (np.isfinite(bias) and np.isfinite(lambd) and lambd >= 0):
        raise call.wrong("a finite bias, and a lambd of 0 or more", (bias, lambd))
    beyond = [scaled(call, x, sign, -lambd) for sign in (1.0, -1.0)]
    soft = combined(call, [applied(call, own, "relu") for own in beyond], [1.0, -1.0])
    if bias == lambd:
        return soft
    # Step(-y) is 1 up to the end itself, where the op is 0: of both ends the sum of 1 is left.
    inside = [applied(call, scaled(call, own, -1.0), "step") for own in beyond]
    jump = lambd - bias
    return combined(call, [soft, *inside], [1.0, -jump, jump])


@handles("Pow")
def power(call: Call) -> Secret:
    """Positive integers by repeated squares; 1/2, -1/2 and -1 by their functions."""
    x, exponents = (
        call.encrypted(0, merged=True),
        np.unique(spread(call, call.weights(1), call.encrypted(0, merged=True))),
    )
    if exponents.size != 1:
        raise call.wrong("one exponent for all elements", f"{exponents.size}")
    exponent = float(exponents[0])
    known = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}
    if exponent in known:
        return applied(call, x, known[exponent])
    if not exponent.is_integer() or not 1 <= exponent <= 64:
        raise call.wrong("an exponent of 1/2, -1/2, -1 or 1 to 64", exponent)
    return raised(call, x, int(exponent))


def raised(call: Call, x: Secret, exponent: int) -> Secret:
    """A positive power, in ceil(log2(exponent)) products one after the other."""
    if exponent == 1:
        return x
    half = raised(call, x, exponent // 2)
    rest = half if exponent % 2 == 0 else raised(call, x, exponent - exponent // 2)
    return multiplied(call, half, rest)


def spread(call: Call, values: NDArray[Any], x: Secret) -> NDArray[np.float64]:
    """A constant, broadcast to x's shape without the batch."""
    try:
        found = np.broadcast_to(values, x.shape)
    except ValueError:
        raise call.wrong(f"a constant that broadcasts to {list(x.shape)}", values.shape) from None
    return np.asarray(one_input(found, x.batch), dtype=np.float64)


@handles("Mul")
def mul(call: Call) -> Secret:
    """By a constant, or of two encrypted values."""
    a, b = together(call)
    if isinstance(a, Secret) and isinstance(b, Secret):
        return _product_or_silu(call, a, b)
    x, weights = (a, b) if isinstance(a, Secret) else (b, a)
    assert isinstance(x, Secret)
    assert isinstance(weights, Known)
    return scaled(call, x, weights.array)


def _product_or_silu(call: Call, a: Secret, b: Secret) -> Secret:
    """X sigmoid(x) is one function."""
    for x, gate in ((a, b), (b, a)):
        node = next((node for node in call.builder.nodes if node.output == gate.name), None)
        if node and node.inputs == (x.name,) and getattr(node, "kind", None) == "sigmoid":
            return applied(call, x, "silu")
    return multiplied(call, a, b)


@handles("Div")
def div(call: Call) -> Secret:
    """By a constant, or by an encrypted value's reciprocal."""
    if any(isinstance(x, Known) and x.array.dtype.kind in "iu" for x in call.inputs):
        raise call.wrong("a quotient of floats", "one of integers, which drops fractions")
    a, b = together(call)
    if isinstance(b, Known):
        assert isinstance(a, Secret)
        if not b.array.all():
            raise call.wrong("divisors other than 0", "0")
        return scaled(call, a, 1.0 / b.array)
    inverse = applied(call, b, "reciprocal")
    if isinstance(a, Secret):
        return multiplied(call, a, inverse)
    return scaled(call, inverse, a.array)


def together(call: Call) -> tuple[Secret | Known, Secret | Known]:
    """Both operands, broadcast to one shape: constants float64 without the batch.

    Shapes broadcast from the last axis on, so that encrypted operands have the same number of axes
    after the batch.
    """
    shape, batch = broadcast(call)
    spreads = [_spread_to(call, index, shape, batch) for index in (0, 1)]
    return spreads[0], spreads[1]


def broadcast(call: Call) -> tuple[tuple[int, ...], int | None]:
    """The shape of all operands together, and its batch axis."""
    values = [call.value(index) for index, _ in enumerate(call.inputs)]
    shapes = [getattr(value, "shape", ()) for value in values]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise call.wrong("shapes that broadcast", shapes) from None
    batch = _batch_together(call, [value for value in values if isinstance(value, Secret)], shape)
    call.check_batch(shape, batch)
    call.check_elements(shape)
    return shape, batch


def _batch_together(call: Call, values: list[Secret], shape: Sequence[int]) -> int | None:
    """The batch axis of operands that are broadcast to a shape."""
    apart = [value for value in values if value.batch is not None]
    if len(apart) < len(values) and {value.shape for value in apart} != {tuple(shape)}:
        return None
    after = {len(value.shape) - value.place for value in apart}
    if len(after) > 1:
        found = [(list(value.shape), value.batch) for value in values]
        hint = "transpose one of them, so that their batch axes meet"
        raise call.wrong("operands with one batch axis", f"shapes and batch axes {found}", hint)
    return len(shape) - after.pop()


def _spread_to(call: Call, index: int, shape: tuple[int, ...], batch: int | None) -> Secret | Known:
    value = call.value(index)
    if isinstance(value, Secret):
        return call.selected(value, np.broadcast_to(call.indices(value), shape), batch)
    weights = call.weights(index, masks=call.kind == "Add")
    return Known(np.asarray(one_input(np.broadcast_to(weights, shape), batch)))


def one_input(array: NDArray[Any], batch: int | None) -> NDArray[Any]:
    """A constant for one input: without the batch axis."""
    return array if batch is None else np.take(array, 0, batch)
