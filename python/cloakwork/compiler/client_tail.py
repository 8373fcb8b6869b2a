"""Steps of the client on decrypted outputs: labels, probabilities, the largest score.

The steps are data (JSON), so that they stand in the file of a compiled model and are read without
the model's own format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler import functions
from cloakwork.compiler.client_ensembles import ENSEMBLE_KINDS
from cloakwork.compiler.client_features import FEATURE_KINDS, of_length_one
from cloakwork.errors import ModelError
from cloakwork.strict import Member

Values = NDArray[Any]

# What steps raise for values or parameters that do not fit.
_FAULTS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError,
)  # fmt: skip
# What numbers may be cast to.
_NUMBERS = {
    "bool", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64",
}  # fmt: skip

__all__ = ["CLIENT_KINDS", "ClientStep", "ClientTail", "rounded"]


@dataclass(frozen=True)
class ClientStep:
    """output = kind(inputs, parameters), arrays [batch, ...]; the parameters are JSON."""

    output: str
    kind: str
    inputs: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def renamed(self, names: Mapping[str, str]) -> ClientStep:
        """The same step of values that have other names."""
        inputs = tuple(names.get(name, name) for name in self.inputs)
        return ClientStep(names.get(self.output, self.output), self.kind, inputs, self.parameters)


@dataclass(frozen=True)
class ClientTail:
    """Steps from the decrypted outputs of a Graph to the results of the model.

    results   names of outputs or of steps, in the model's order
    """

    results: tuple[str, ...]
    steps: tuple[ClientStep, ...] = ()

    def check(self, outputs: Sequence[str]) -> None:
        """ModelError unless each step is of a known kind and reads outputs or earlier steps."""
        known = set(outputs)
        for step in self.steps:
            place = f"client step {step.output!r}"
            if step.kind not in CLIENT_KINDS:
                raise ModelError(
                    f"{place}: expected one of {sorted(CLIENT_KINDS)}, found {step.kind!r}"
                )
            self._check_known(place, step.inputs, known)
            if step.output in known:
                raise ModelError(f"{place}: expected a name of its own, found it twice")
            known.add(step.output)
        if not self.results:
            raise ModelError("the model has no results")
        self._check_known("the results", self.results, known)

    @staticmethod
    def _check_known(place: str, names: Sequence[str], known: set[str]) -> None:
        for name in names:
            if name not in known:
                raise ModelError(f"{place}: expected values of {sorted(known)}, found {name!r}")

    def needed(self) -> ClientTail:
        """The same results, without steps on which none depends."""
        wanted, kept = set(self.results), list[ClientStep]()
        for step in reversed(self.steps):
            if step.output in wanted:
                wanted.update(step.inputs)
                kept.append(step)
        return ClientTail(self.results, tuple(reversed(kept)))

    def run(
        self,
        outputs: Mapping[str, Values],
        after: Callable[[str, Sequence[Values], Values], Values] = lambda kind, inputs, own: own,
    ) -> dict[str, Values]:
        """The results, arrays [batch, ...], from decrypted outputs [batch, ...].

        after   of the kind, the arguments and the result of a step: what it is taken for

        ModelError where a step does not accept its values or parameters.
        """
        values = dict(outputs)
        for step in self.steps:
            arguments = [np.asarray(values[name]) for name in step.inputs]
            try:
                found = CLIENT_KINDS[step.kind](*arguments, **step.parameters)
                values[step.output] = after(step.kind, arguments, np.asarray(found))
            except ModelError:
                raise
            except _FAULTS as error:
                raise ModelError(f"client step {step.output!r}, {step.kind}: {error}") from error
        return {name: values[name] for name in self.results}

    def to_json(self) -> dict[str, Any]:
        """A form that `read` reads."""
        return {
            "results": list(self.results),
            "steps": [
                {
                    "output": step.output,
                    "kind": step.kind,
                    "inputs": list(step.inputs),
                    "parameters": dict(step.parameters),
                }
                for step in self.steps
            ],
        }

    @classmethod
    def read(cls, note: Member) -> ClientTail:
        """The inverse of `to_json`; LoadError names the place."""
        results, steps = note.members("results", "steps")
        found = []
        for step in steps.parts():
            output, kind, inputs, parameters = step.members(
                "output", "kind", "inputs", "parameters"
            )
            names = tuple(name.of(str) for name in inputs.parts())
            given = dict(parameters.of(dict))
            found.append(ClientStep(output.of(str), kind.of(str), names, given))
        return cls(tuple(name.of(str) for name in results.parts()), tuple(found))

    def describe(self, place: str = "client: ") -> str:
        """One line a step, or nothing."""
        return "\n".join(
            f"{place}{step.output} = {step.kind}({', '.join(step.inputs)})" for step in self.steps
        )


def _argmax(x: Values, axis: int = 1, keepdims: bool = False, last: bool = False) -> Values:
    """The index of the largest element; of several, the first, or the last."""
    if last:
        found = x.shape[axis] - 1 - np.argmax(np.flip(x, axis), axis, keepdims=keepdims)
    else:
        found = np.argmax(x, axis, keepdims=keepdims)
    return np.asarray(found)


def _argmin(x: Values, axis: int = 1, keepdims: bool = False, last: bool = False) -> Values:
    return _argmax(-x, axis, keepdims, last)


def _top_indices(x: Values, k: int, axis: int = -1, largest: bool = True) -> Values:
    """The indices of the k largest or smallest elements, in order; equal ones by index."""
    if not 1 <= k <= x.shape[axis]:
        raise ValueError(f"expected a k of 1 to {x.shape[axis]}, found {k}")
    order = np.argsort(-x if largest else x, axis=axis, kind="stable")
    return np.asarray(np.take(order, np.arange(k), axis=axis))


def _top_values(x: Values, k: int, axis: int = -1, largest: bool = True) -> Values:
    return np.asarray(np.take_along_axis(x, _top_indices(x, k, axis, largest), axis))


def _hardmax(x: Values, axis: int = 1) -> Values:
    """1 at the first of the largest elements, else 0."""
    found = np.zeros(x.shape)
    np.put_along_axis(found, _argmax(x, axis, keepdims=True), 1.0, axis)
    return found


def _softmax(x: Values, axis: int = 1) -> Values:
    weights = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True))


def _log_softmax(x: Values, axis: int = 1) -> Values:
    low = x - x.max(axis=axis, keepdims=True)
    return np.asarray(low - np.log(np.exp(low).sum(axis=axis, keepdims=True)))


def _sigmoid(x: Values) -> Values:
    return np.asarray(0.5 + 0.5 * np.tanh(np.asarray(x, dtype=np.float64) / 2))


def _labels(x: Values, classes: Sequence[int | str]) -> Values:
    """classes[x], of indices x."""
    return np.asarray(np.array(classes)[np.asarray(x, dtype=np.int64)])


def _both_classes(x: Values) -> Values:
    """[1 - x, x] of the second class's values x: [batch] or [batch, 1]."""
    column = x.reshape(len(x), 1)
    return np.concatenate([1 - column, column], axis=1)


def _above(x: Values, threshold: float = 0.0, inclusive: bool = False) -> Values:
    """1 where x exceeds the threshold (or equals it, if inclusive), else 0."""
    return np.asarray(x >= threshold if inclusive else x > threshold, dtype=np.int64)


def _reshape(x: Values, shape: Sequence[int]) -> Values:
    """To [batch, *shape]."""
    return x.reshape(len(x), *shape)


def _affine(x: Values, scale: float = 1.0, offset: float = 0.0) -> Values:
    return np.asarray(x * scale + offset)


def _average(*x: Values, weights: Sequence[float]) -> Values:
    """The weighted sum of values of one shape."""
    if len({one.shape for one in x}) != 1:
        raise ValueError(f"expected values of one shape, found {[one.shape for one in x]}")
    return np.asarray(np.tensordot(np.asarray(weights, dtype=np.float64), np.stack(x), 1))


def _cast(x: Values, to: str) -> Values:
    if to not in _NUMBERS:
        raise ValueError(f"expected one of {sorted(_NUMBERS)}, found {to!r:.40}")
    return x.astype(to)


def _quantized(
    x: Values,
    scale: Sequence[float],
    zero: Sequence[float],
    low: int,
    high: int,
    axis: int = 1,
) -> Values:
    """Whole numbers low to high, in float64: x / scale, rounded to even, plus zero.

    The quotient is one of float32, as ONNX has it.  Scale and zero are one number each, or one for
    each place along the axis.
    """
    return rounded(x, _along(scale, x, axis), _along(zero, x, axis), (low, high))


def rounded(x: Any, scale: Any, zero: Any, edges: tuple[int, int]) -> NDArray[np.float64]:
    """Of x / scale in float32, rounded to even, plus zero, between two numbers."""
    with np.errstate(over="ignore"):
        quotient = (np.asarray(x, dtype=np.float64) / scale).astype(np.float32)
    return np.asarray(np.clip(np.rint(quotient.astype(np.float64)) + zero, *edges))


def _dequantized(x: Values, scale: Sequence[float], zero: Sequence[float], axis: int = 1) -> Values:
    """(x - zero) scale: the inverse of `_quantized` but for rounding."""
    whole = np.asarray(x, dtype=np.float64)
    return (whole - _along(zero, x, axis)) * _along(scale, x, axis)


def _along(numbers: Sequence[float], x: Values, axis: int) -> Values:
    """One number, or numbers along an axis of x, so that they broadcast to it."""
    own = np.asarray(numbers, dtype=np.float64)
    if own.ndim != 1:
        raise ValueError(f"expected a list of numbers, found the shape {list(own.shape)}")
    if own.size == 1:
        return own.reshape([1] * x.ndim)
    if not 0 < axis < x.ndim or own.size != x.shape[axis]:
        raise ValueError(
            f"expected a number for each place along axis {axis} of {list(x.shape[1:])}, found "
            f"{own.size}"
        )
    return own.reshape([-1 if place == axis else 1 for place, _ in enumerate(x.shape)])


def _won(x: Values, classes: int) -> Values:
    """[batch, classes, classes] of scores [batch, pairs]: 1 at [i, j] where i won against j.

    Pairs i < j are in the order (0, 1), (0, 2), ...; i wins by a score above 0.
    """
    _check_pairs(x, classes)
    found = np.zeros((len(x), classes, classes), dtype=np.int64)
    for score, (i, j) in zip(x.T, combinations(range(classes), 2), strict=True):
        found[:, i, j] = score > 0
        found[:, j, i] = 1 - found[:, i, j]
    return found


def _check_pairs(x: Values, classes: int) -> None:
    pairs = classes * (classes - 1) // 2
    if x.ndim != 2 or x.shape[1] != pairs:
        raise ValueError(f"expected {pairs} scores for {classes} classes, found {x.shape}")


def _votes(x: Values, classes: int) -> Values:
    """[batch, classes]: how many others each class won against."""
    return np.asarray(_won(x, classes).sum(axis=2))


def _one_vs_rest(x: Values, classes: int) -> Values:
    """[batch, classes]: votes plus the sum of scores, squeezed below 1/3, for equal votes.

    scikit-learn's decision_function_shape="ovr".
    """
    found = _votes(x, classes).astype(np.float64)
    sums = np.zeros_like(found)
    for score, (i, j) in zip(x.T, combinations(range(classes), 2), strict=True):
        sums[:, i] += score
        sums[:, j] -= score
    return np.asarray(found + sums / (3 * (np.abs(sums) + 1)))


def _pairwise_probabilities(
    x: Values, classes: int, slopes: Sequence[float], offsets: Sequence[float]
) -> Values:
    """[batch, classes] of scores of pairs, by Platt's sigmoid of each: 1 / (1 + exp(a x + b)).

    T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for Multi-class Classification by
    Pairwise Coupling", 2004: the p of sum 1 with the least sum of (r_ji p_i - r_ij p_j)^2, i != j.
    """
    _check_pairs(x, classes)
    each = np.clip(_sigmoid(-(x * np.asarray(slopes) + np.asarray(offsets))), 1e-7, 1 - 1e-7)
    r = np.zeros((len(x), classes, classes))
    for values, (i, j) in zip(each.T, combinations(range(classes), 2), strict=True):
        r[:, i, j], r[:, j, i] = values, 1 - values
    system = np.zeros((len(x), classes + 1, classes + 1))
    system[:, :classes, :classes] = -r * r.transpose(0, 2, 1)
    places = np.arange(classes)
    system[:, places, places] = (r**2).sum(axis=1)
    system[:, :classes, classes] = system[:, classes, :classes] = 1.0
    wanted = np.zeros((len(x), classes + 1, 1))
    wanted[:, classes] = 1.0
    return np.asarray(np.linalg.solve(system, wanted)[:, :classes, 0])


def _linear(
    *x: Values, matrices: Sequence[Mapping[str, Any]], bias: Sequence[float], shape: Sequence[int]
) -> Values:
    """The sum of A_i x_i, and a bias [size], as `nodes.Affine`; weights by row and column."""
    offset = np.asarray(bias, dtype=np.float64)
    found = np.repeat(offset[:, np.newaxis], len(x[0]), axis=1)
    for values, matrix in zip(x, matrices, strict=True):
        rows, columns = (_indices(matrix[name]) for name in ("rows", "columns"))
        weights = np.asarray(matrix["weights"], dtype=np.float64)
        read = values.reshape(len(values), -1).T[columns]
        np.add.at(found, rows, weights[:, np.newaxis] * read)
    return found.T.reshape(-1, *shape)


def _indices(given: Sequence[int]) -> NDArray[np.int64]:
    found = np.asarray(given, dtype=np.int64)
    if (found < 0).any():
        raise ValueError("expected indices of 0 or more")
    return found


def _product(a: Values, b: Values | None = None, *, shape: Sequence[int]) -> Values:
    """Element by element; of one value its square.  Infinite where the model's is."""
    other = a if b is None else b
    if len(a) != len(other):
        raise ValueError(f"expected one batch, found {len(a)} and {len(other)}")
    with np.errstate(all="ignore"):
        return (a.reshape(len(a), -1) * other.reshape(len(a), -1)).reshape(-1, *shape)


def _function(x: Values, name: str, options: Mapping[str, float], shape: Sequence[int]) -> Values:
    """A function of `functions.FUNCTIONS`; infinite or NaN where the model is."""
    functions.check("function", name, options)
    with np.errstate(all="ignore"):
        found = functions.FUNCTIONS[name].define(np.asarray(x, dtype=np.float64), **options)
    return found.reshape(-1, *shape)


# Each takes arrays [batch, ...] and parameters of JSON.
CLIENT_KINDS: dict[str, Callable[..., Values]] = {
    **FEATURE_KINDS,
    **ENSEMBLE_KINDS,
    "above": _above,
    "affine": _affine,
    "argmax": _argmax,
    "argmin": _argmin,
    "average": _average,
    "both_classes": _both_classes,
    "cast": _cast,
    "dequantized": _dequantized,
    "exp": lambda x: np.asarray(np.exp(x)),
    "function": _function,
    "hardmax": _hardmax,
    "identity": lambda x: x,
    "labels": _labels,
    "linear": _linear,
    "log_softmax": _log_softmax,
    "normalize": of_length_one,
    "one_vs_rest": _one_vs_rest,
    "product": _product,
    "pairwise_probabilities": _pairwise_probabilities,
    "quantized": _quantized,
    "reshape": _reshape,
    "sigmoid": _sigmoid,
    "sign": lambda x: np.asarray(np.sign(x)),
    "softmax": _softmax,
    "tanh": lambda x: np.asarray(np.tanh(x)),
    "top_indices": _top_indices,
    "top_values": _top_values,
    "votes": _votes,
}
