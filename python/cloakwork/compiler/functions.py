"""The functions of one variable that a Graph may apply, each with its definition in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ModelError

Floats = NDArray[np.float64]

__all__ = ["FUNCTIONS", "FunctionKind", "apply", "check"]


@dataclass(frozen=True)
class FunctionKind:
    """A function of one real variable.

    define      its values on float64 arrays, given the parameters by name
    parameters  their default values
    domain      (low, high) where it is defined; a bound at which it is not finite is excluded
    """

    define: Callable[..., Floats]
    parameters: Mapping[str, float] = field(default_factory=dict)
    domain: tuple[float, float] = (-inf, inf)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 + 0.5 * np.tanh(x / 2))


def _erf(x: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(erf(x))


def _softplus(x: Floats) -> Floats:
    return np.logaddexp(0.0, x)


def _gelu(x: Floats) -> Floats:
    return x * 0.5 * (1 + _erf(x / sqrt(2)))


def _gelu_tanh(x: Floats) -> Floats:
    return np.asarray(0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))))


def _leaky_relu(x: Floats, slope: float) -> Floats:
    return np.where(x < 0, slope * x, x)


def _elu(x: Floats, alpha: float) -> Floats:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0.0)), x)


def _celu(x: Floats, alpha: float) -> Floats:
    return np.maximum(x, 0.0) + alpha * np.expm1(np.minimum(x, 0.0) / alpha)


def _selu(x: Floats, alpha: float, gamma: float) -> Floats:
    return gamma * _elu(x, alpha)


def _step(x: Floats) -> Floats:
    return np.asarray(x >= 0, dtype=np.float64)


FUNCTIONS: dict[str, FunctionKind] = {
    "abs": FunctionKind(np.abs),
    "asinh": FunctionKind(np.arcsinh),
    "atan": FunctionKind(np.arctan),
    "celu": FunctionKind(_celu, {"alpha": 1.0}),
    "cos": FunctionKind(np.cos),
    "cosh": FunctionKind(np.cosh),
    "elu": FunctionKind(_elu, {"alpha": 1.0}),
    "erf": FunctionKind(_erf),
    "exp": FunctionKind(np.exp),
    "gelu": FunctionKind(_gelu),
    "gelu_tanh": FunctionKind(_gelu_tanh),
    "leaky_relu": FunctionKind(_leaky_relu, {"slope": 0.01}),
    "log": FunctionKind(np.log, domain=(0.0, inf)),
    "mish": FunctionKind(lambda x: np.asarray(x * np.tanh(_softplus(x)))),
    "reciprocal": FunctionKind(lambda x: np.asarray(1 / x)),
    "relu": FunctionKind(lambda x: np.maximum(x, 0.0)),
    "rsqrt": FunctionKind(lambda x: np.asarray(1 / np.sqrt(x)), domain=(0.0, inf)),
    # The parameters are ONNX's, of Klambauer and others, "Self-Normalizing Neural Networks", 2017.
    "selu": FunctionKind(
        _selu, {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}
    ),
    "sigmoid": FunctionKind(_sigmoid),
    "sign": FunctionKind(np.sign),
    "silu": FunctionKind(lambda x: x * _sigmoid(x)),
    "sin": FunctionKind(np.sin),
    "sinh": FunctionKind(np.sinh),
    "softplus": FunctionKind(_softplus),
    "softsign": FunctionKind(lambda x: np.asarray(x / (1 + np.abs(x)))),
    "sqrt": FunctionKind(np.sqrt, domain=(0.0, inf)),
    # 1 where x >= 0, so that step(t - x) says whether x <= t.
    "step": FunctionKind(_step),
    "tanh": FunctionKind(np.tanh),
}


def check(place: str, kind: str, parameters: Mapping[str, Any]) -> None:
    """ModelError unless the kind is of the table and its parameters are those that it takes."""
    if kind not in FUNCTIONS:
        raise ModelError(f"{place}: expected one of {sorted(FUNCTIONS)}, found {kind!r}")
    taken = FUNCTIONS[kind].parameters
    if parameters.keys() != taken.keys():
        raise ModelError(
            f"{place}: expected the parameters {sorted(taken)}, found {sorted(parameters)}"
        )
    for name, value in parameters.items():
        if not isfinite(value):
            raise ModelError(f"{place}: expected a finite {name}, found {value}")


def apply(place: str, kind: str, parameters: Mapping[str, float], x: Floats) -> Floats:
    """The values of a function; ModelError names the first argument without a finite value."""
    with np.errstate(all="ignore"):
        found = FUNCTIONS[kind].define(x, **parameters)
    outside = ~np.isfinite(found)
    if outside.any():
        raise ModelError(
            f"{place}: {kind} of {x[outside][0]:.6g} is not finite; give inputs like those that "
            "the model was trained on"
        )
    return found
