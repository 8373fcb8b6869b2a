"""Softmax, with a constant mask or without, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.importing.activations import applied, multiplied, scaled
from cloakwork.compiler.importing.linear import encrypted_matmul, summed
from cloakwork.compiler.importing.values import Call, Secret, handles
from cloakwork.compiler.nodes import Affine, Function, Node, Product

Floats = NDArray[np.float64]

# Exporters add -inf or the least float of a type to what is masked: exp of it is 0.  Nothing that
# is encrypted, and no input, makes up for it.
_MASKED = -1e30
# Inputs, and values of most functions, that a mask hides; and functions as large as what they read.
_USUAL = 1e12
_LINEAR = ("abs", "celu", "elu", "gelu", "gelu_tanh", "leaky_relu", "mish", "relu", "selu", "silu",
           "softplus")  # fmt: skip


@handles("Softmax")
def softmax(call: Call) -> Secret:
    """exp(x) over its sum.  No maximum is subtracted: the sample's range bounds exp."""
    x = call.secret(0)
    axis = call.axis(int(call.attribute("axis", 1 if call.version < 13 else -1)), x)
    axes = tuple(range(axis, len(x.shape))) if call.version < 13 else (axis,)
    kept = _unmasked(call, x)
    if not kept.any(axis=axes).all():
        raise call.wrong("an element that is not masked in each row", "rows without any")
    return _softmax(call, x, axes, kept)


def _unmasked(call: Call, x: Secret) -> NDArray[np.bool_]:
    """Of x's shape: what is not a constant far below all others, plus something."""
    nodes = call.builder.nodes
    node = next(node for node in nodes if node.output == x.name)
    if not isinstance(node, Affine):
        return np.ones(x.shape, dtype=np.bool_)
    bias = np.asarray(node.bias, dtype=np.float64).ravel()
    masked = bias <= _MASKED
    if masked.any():
        # A mask that an input takes back, as 1e9 m - 1e9, is none.
        masked &= _largest(nodes, x.name) < 1.5 * np.abs(bias)
    return ~masked.reshape(x.shape)


def _largest(nodes: Sequence[Node], name: str) -> Floats:
    """A bound of each element of a value, its constant included, for usual inputs."""
    needed, bounds = {name}, dict[str, Floats]()
    for node in reversed(nodes):
        if node.output in needed:
            needed.update(node.inputs)
    for node in nodes:
        if node.output not in needed:
            continue
        found = np.full(node.size, _USUAL)
        if isinstance(node, Function) and node.kind in _LINEAR:
            found += 2 * bounds[node.inputs[0]]
        elif isinstance(node, Affine):
            found = np.abs(np.asarray(node.bias, dtype=np.float64)).ravel() + np.zeros(node.size)
            for term, matrix in node.terms:
                found += abs(matrix) @ bounds[term]
        elif isinstance(node, Product):
            first, second = (bounds[own] for own in node.inputs)
            found = first * second
        bounds[node.output] = found
    return bounds[name]


def _softmax(call: Call, x: Secret, axes: Sequence[int], kept: NDArray[np.bool_]) -> Secret:
    """Over some axes, of the elements that are kept: others are 0, as are rows without any."""
    some = np.flatnonzero(kept)
    weights = applied(call, call.selected(x, some.reshape(1, -1)), "exp")
    places = np.full(kept.size, -1, dtype=np.int64)
    places[some] = np.arange(some.size)
    weights = call.selected(weights, places.reshape(x.shape))
    total = summed(call, weights, axes, keep=True)
    filled = kept.any(axis=tuple(axes), keepdims=True)
    if not filled.all():
        # 1 / 1 instead of 1 / 0, times 0.
        total = scaled(call, total, 1.0, np.where(filled, 0.0, 1.0)[0])
    inverse = applied(call, total, "reciprocal")
    spread = np.broadcast_to(call.indices(inverse), x.shape)
    return multiplied(call, weights, call.selected(inverse, spread))


@handles("Attention")
def attention(call: Call) -> Secret:
    """softmax(scale Q K^T + mask) V by heads, for constant masks and without a cache of keys.

    Q, K and V are [batch, heads, length, size], or [batch, length, heads * size]; several heads of
    Q may share one of K and V.
    """
    for place, what in ((4, "past keys"), (5, "past values"), (6, "lengths of keys")):
        if call.has(place):
            raise call.wrong(f"no {what}", f"an input number {place}", "give the whole sequence")
    if call.outputs > 1:
        raise call.wrong("one output", "keys, values or scores as well")
    given = [call.secret(index) for index in range(3)]
    ranks = {len(x.shape) for x in given}
    if ranks not in ({3}, {4}):
        raise call.wrong("[batch, length, size] or [batch, heads, length, size]",
                         [list(x.shape) for x in given])  # fmt: skip
    flat = ranks == {3}
    q, k, v = (_by_heads(call, x, index) for index, x in enumerate(given)) if flat else given
    k, v = (_shared(call, x, q.shape[1]) for x in (k, v))
    if k.shape[3] != q.shape[3] or k.shape[:3] != v.shape[:3]:
        raise call.wrong("keys of the size of queries, and a value for each",
                         [list(x.shape) for x in (q, k, v)])  # fmt: skip
    scale = float(call.attribute("scale", 1 / sqrt(q.shape[3])))
    turned = call.selected(k, np.swapaxes(call.indices(k), 2, 3))
    scores = encrypted_matmul(call, scaled(call, q, scale), turned)
    kept, bias = _mask(call, scores)
    cap = float(call.attribute("softcap", 0.0))
    if cap:
        if bias.any() or not kept.all():
            raise call.wrong("a softcap without a mask, or a mask without", "both")
        scores = scaled(call, applied(call, scaled(call, scores, 1 / cap), "tanh"), cap)
    if bias.any():
        scores = scaled(call, scores, 1.0, bias[0])
    found = encrypted_matmul(call, _softmax(call, scores, (3,), kept), v)
    if not flat:
        return found
    whole = call.indices(found).transpose(0, 2, 1, 3)
    return call.selected(found, whole.reshape(1, whole.shape[1], -1))


def _by_heads(call: Call, x: Secret, index: int) -> Secret:
    """[1, heads, length, size] of [1, length, heads * size]."""
    name = "kv_num_heads" if index else "q_num_heads"
    heads = int(call.attribute(name, 0))
    if heads < 1 or x.shape[2] % heads:
        raise call.wrong(f"a {name} that divides {x.shape[2]}", heads)
    whole = call.indices(x).reshape(1, x.shape[1], heads, -1)
    return call.selected(x, whole.transpose(0, 2, 1, 3))


def _shared(call: Call, x: Secret, heads: int) -> Secret:
    """With as many heads as queries have, each of which has a number of these."""
    if heads % x.shape[1]:
        raise call.wrong(f"a number of heads that divides {heads}", x.shape[1])
    return call.selected(x, np.repeat(call.indices(x), heads // x.shape[1], axis=1))


def _mask(call: Call, scores: Secret) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Of the scores' shape: what is kept, and what is added to it."""
    kept, bias = np.ones(scores.shape, dtype=np.bool_), np.zeros(scores.shape)
    finite = np.zeros(scores.shape, dtype=np.bool_)
    if call.has(3):
        given: NDArray[Any] = call.constant(3)
        try:
            # Keys beyond a mask are masked.
            missing = scores.shape[3] - given.shape[-1] if given.ndim else 0
            wide = [(0, 0)] * (given.ndim - 1) + [(0, max(missing, 0))]
            no = False if given.dtype.kind == "b" else -np.inf
            padded = np.pad(given, wide, constant_values=no) if missing > 0 else given
            spread = np.broadcast_to(padded, scores.shape)
        except ValueError:
            raise call.wrong(f"a mask that broadcasts to {list(scores.shape)}",
                             list(given.shape)) from None  # fmt: skip
        kept = spread if given.dtype.kind == "b" else spread > _MASKED
        if given.dtype.kind != "b":
            bias, finite = np.where(kept, spread, 0.0), ~kept & np.isfinite(spread)
    queries, keys = np.indices(scores.shape[2:])
    if call.attribute("is_causal", 0):
        kept = kept & (keys <= queries)
    for name, ahead in (("left", queries - keys), ("right", keys - queries)):
        size = int(call.attribute(f"{name}_window_size", -1))
        if size < -1:
            raise call.wrong(f"a {name}_window_size of -1 or more", size)
        kept = kept & (ahead <= size) if size >= 0 else kept
    if (finite.any(axis=3) & ~kept.any(axis=3)).any():
        # Of equal numbers, however small, softmax makes equal shares: only -inf makes zeros.
        raise call.wrong("an element that is not masked in each row", "rows without any")
    return np.array(kept), np.asarray(bias, dtype=np.float64)
