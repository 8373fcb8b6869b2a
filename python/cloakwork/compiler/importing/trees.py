"""Ensembles of decision trees: comparisons at all inner nodes at once, products along the paths.

A leaf is reached where every comparison on its path holds: the product of step(x - t) or of
1 - step(x - t).  All leaves are computed together, in ceil(log2(depth)) rounds of products.

Leaves stand in order, and an inner node stands in the place of the first leaf right of it, so that
what a leaf reads is no further away than its tree is wide: the maps from nodes to leaves have few
diagonals, however many trees there are.

Where x is so near to t that the encrypted step is between 0 and 1, a tree gives a mixture of leaves
with shares r that add up to 1, and deviates by at most (1 - r_i) s, where i is the right leaf and s
the spread of the tree's values.  A step of x on the right side of t is at least half right; by
induction over the path then 1 - r_i <= 3/2 (1 - sum r^2).  The sum of 3/2 (1 - sum r^2) s over the
trees is a doubt of the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.compiler.building import selection
from cloakwork.compiler.importing.reading import ML_DOMAIN
from cloakwork.compiler.importing.scores import classes_of, classified
from cloakwork.compiler.importing.values import Call, Secret, Value, handles

Floats = NDArray[np.float64]
# The numbers of a tree and of a node.
Key = tuple[Any, Any]
_MOST_NODES = 1 << 16
# What 1 - sum r^2 is multiplied by to bound 1 - r_i.
_DOUBT = 1.5
# Which comparison leads to the true branch: (whether x is above the threshold, inclusively).
_MODES = {"BRANCH_LEQ": (False, True), "BRANCH_LT": (False, False),
          "BRANCH_GTE": (True, True), "BRANCH_GT": (True, False)}  # fmt: skip


def up_to(thresholds: NDArray[Any], *, below: bool = False) -> Floats:
    """For thresholds t, the largest s of float64 such that float32(x) <= t, or below t, is x <= s.

    Thresholds beyond float32 stay as they are.
    """
    with np.errstate(over="ignore"):
        own = thresholds.astype(np.float32)
        outside = own >= thresholds if below else own > thresholds
        own = np.where(outside, np.nextafter(own, np.float32(-np.inf)), own)
        above = np.nextafter(own, np.float32(np.inf))
    middle = (own.astype(np.float64) + above.astype(np.float64)) / 2
    # Of two equally near ones, float32 takes the one whose last bit is 0.
    even = own.view(np.uint32) % 2 == 0
    found = np.where(even, middle, np.nextafter(middle, -np.inf))
    return np.asarray(np.where(np.isfinite(own) & np.isfinite(above), found, thresholds))


class _Trees:
    """Leaves with their paths: lists of (place of an inner node, whether it must hold)."""

    def __init__(self, call: Call) -> None:
        self.call = call
        names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                 "falsenodeids")  # fmt: skip
        lists = [_listed(call, f"nodes_{name}") for name in names]
        if len({len(each) for each in lists}) != 1 or not 1 <= len(lists[0]) <= _MOST_NODES:
            raise call.wrong(f"1 to {_MOST_NODES} nodes, of which all is stated",
                             [len(each) for each in lists])  # fmt: skip
        rows = list(zip(*lists, strict=True))
        self.rows = {(row[0], row[1]): row for row in rows}
        if len(self.rows) != len(rows):
            raise call.wrong("nodes of different numbers", "one twice in a tree")
        # The inner node in each place, None in that of a tree's first leaf.
        self.inner: list[Key | None] = []
        self.leaves: list[tuple[Key, list[tuple[int, bool]]]] = []
        # The number of each leaf's tree.
        self.trees: list[int] = []
        self.products: dict[tuple[str, str], str] = {}
        reached = {(row[0], row[5 + side]) for row in rows for side in (0, 1)
                   if row[4] != "LEAF"}  # fmt: skip
        for number, tree in enumerate(dict.fromkeys(row[0] for row in rows)):
            roots = [key for key in self.rows if key[0] == tree and key not in reached]
            if len(roots) != 1:
                raise call.wrong(f"one root of tree {tree}", len(roots))
            self._walk(roots[0])
            self.trees += [number] * (len(self.leaves) - len(self.trees))

    def _walk(self, root: Key) -> None:
        """Append a tree's leaves and inner nodes, from left to right."""
        waiting: list[tuple[Key, list[tuple[Key, bool]]]] = [(root, [])]
        seen: set[Key] = set()
        found, places = [], dict[Key, int]()
        while waiting:
            key, path = waiting.pop()
            if key in seen or key not in self.rows:
                raise self.call.wrong("a tree", f"node {key[1]} of tree {key[0]}, twice or missing")
            seen.add(key)
            row = self.rows[key]
            if row[4] != "LEAF":
                if row[4] not in _MODES:
                    raise self.call.wrong(f"a mode of {sorted(_MODES)}", row[4])
                waiting.append(((key[0], row[6]), [*path, (key, False)]))
                waiting.append(((key[0], row[5]), [*path, (key, True)]))
                continue
            # The node between this leaf and the one before is the last whose false branch it is in.
            node = next((node for node, holds in reversed(path) if not holds), None)
            if node is not None:
                places[node] = len(self.inner)
            self.inner.append(node)
            found.append((key, path))
        for key, path in found:
            self.leaves.append((key, [(places[node], holds) for node, holds in path]))

    def decisions(self, x: Secret) -> Secret:
        """[1, leaves]: 1 in a node's place where its comparison leads to its true branch."""
        call, size = self.call, self.call.builder.size(x.name)
        rows = [None if key is None else self.rows[key] for key in self.inner]
        features = np.array([-1 if row is None else int(row[2]) for row in rows])
        named = [int(row[2]) for row in rows if row is not None]
        if min(named) < 0 or max(named) >= size:
            raise call.wrong(f"features below {size}", max(named))
        # What stands in other places is read by no leaf, and far from a jump.
        thresholds = np.array([-1.0 if row is None else float(row[3]) for row in rows])
        modes = [(True, True) if row is None else _MODES[row[4]] for row in rows]
        if "nodes_values_as_tensor" not in call.attributes:
            # Of float32, as is what is compared with them.  An element is below t where it is at
            # most s, and so below the next number.
            strict = np.array([mode in ((False, False), (True, True)) for mode in modes])
            thresholds = np.where(
                strict,
                np.nextafter(up_to(thresholds, below=True), np.inf),
                up_to(thresholds),
            )
        # step(u) is 1 from u = 0 on; an exclusive comparison is 1 minus the opposite one.
        above = np.array([mode[0] == mode[1] for mode in modes])
        signs = np.where(above, 1.0, -1.0)
        matrix = selection(features, size)
        turned = sparse.csr_array(sparse.diags_array(signs)) @ matrix
        found = call.affine([(x.name, turned)], -signs * thresholds, (len(features),))
        steps = call.builder.function(found.name, "step")
        flips = np.array([not mode[1] for mode in modes])
        weights = np.where(flips, -1.0, 1.0)
        return Secret(call.builder.scaled(steps, weights, flips.astype(np.float64)), found.shape)

    def factors(self, x: Secret) -> list[str]:
        """Values [leaves], whose product is 1 at the leaf of each tree, else 0."""
        call, count = self.call, len(self.leaves)
        depth = max(len(path) for _, path in self.leaves)
        if depth == 0:
            matrix = sparse.csr_array((count, call.builder.size(x.name)))
            return [call.affine([(x.name, matrix)], np.ones(count), (count,)).name]
        decisions = self.decisions(x)
        return [self._factor(decisions, level) for level in range(depth)]

    def _product(self, factors: Sequence[str], weights: Floats | None = None) -> str:
        """The product of factors in rounds, the last times weights [leaves]."""
        builder, found = self.call.builder, list(factors)
        if weights is not None:
            found[-1] = builder.scaled(found[-1], weights)
        while len(found) > 1:
            pairs = list(zip(found[::2], found[1::2], strict=False))
            for pair in pairs:
                if pair not in self.products:
                    self.products[pair] = builder.product(*pair)
            found = [*(self.products[pair] for pair in pairs), *found[2 * len(pairs) :]]
        return found[0]

    def _factor(self, decisions: Secret, level: int) -> str:
        """[leaves]: the comparison at one depth of each path, 1 beyond its end."""
        places, signs, offsets = [], [], []
        for _, path in self.leaves:
            place, holds = path[level] if level < len(path) else (-1, True)
            places.append(place)
            signs.append(1.0 if holds else -1.0)
            offsets.append(1.0 if place < 0 or not holds else 0.0)
        size = self.call.builder.size(decisions.name)
        matrix = sparse.csr_array(sparse.diags_array(signs)) @ selection(places, size)
        return self.call.builder.affine([(decisions.name, matrix)], offsets)

    def sums(self, x: Secret, prefix: str, count: int, base: Floats) -> Secret:
        """[1, count]: the weights of the leaves that are reached, by class or target."""
        call = self.call
        names = ("treeids", "nodeids", "ids", "weights")
        lists = [_listed(call, f"{prefix}_{name}") for name in names]
        if len({len(each) for each in lists}) != 1:
            raise call.wrong("weights of leaves, of which all is stated",
                             [len(each) for each in lists])  # fmt: skip
        number = {key: place for place, (key, _) in enumerate(self.leaves)}
        weights = np.zeros((count, len(self.leaves)))
        for tree, node, target, weight in zip(*lists, strict=True):
            if (tree, node) not in number or not 0 <= target < count:
                raise call.wrong(f"weights of leaves for {count} results", (tree, node, target))
            weights[target, number[tree, node]] += weight
        kind = call.attribute("aggregate_function", "SUM")
        if kind not in ("SUM", "AVERAGE"):
            raise call.wrong("an aggregate_function of SUM or AVERAGE", kind)
        scale = 1.0 / len({key[0] for key, _ in self.leaves}) if kind == "AVERAGE" else 1.0
        factors = self.factors(x)
        if count == 1 and len(factors) > 1:
            # A sum without weights takes no level.
            weighted = self._product(factors, scale * weights[0])
            found = call.affine([(weighted, np.ones_like(weights))], base, (1,))
        else:
            found = call.affine([(self._product(factors), scale * weights)], base, (count,))
        self._doubt(found, factors, scale * weights)
        return found

    def _doubt(self, sums: Secret, factors: Sequence[str], weights: Floats) -> None:
        """A value that bounds how far mixtures of leaves are from the exact sums."""
        builder, trees = self.call.builder, np.array(self.trees)
        starts = np.flatnonzero(np.diff(trees, prepend=-1))
        lows, highs = (edge.reduceat(weights, starts, axis=1) for edge in (np.minimum, np.maximum))
        spreads = _DOUBT * (highs - lows).max(axis=0)
        if spreads.any():
            own = self._product(factors), self._product(factors, spreads[trees])
            square = builder.product(*own)
            terms = [(square, np.full((1, trees.size), -1.0))]
            builder.doubt(sums.name, terms, float(spreads.sum()))


def _listed(call: Call, name: str) -> list[Any]:
    """An attribute, as a list or as a tensor of doubles."""
    listed, tensor = list(call.attribute(name, [])), f"{name}_as_tensor"
    if tensor not in call.attributes:
        return listed
    if listed:
        raise call.wrong(f"either {name} or {tensor}", "both")
    found: list[Any] = np.ravel(call.attribute(tensor, [])).tolist()
    return found


def _base(call: Call, count: int) -> Floats:
    given = np.array(_listed(call, "base_values") or [0.0] * count, dtype=np.float64)
    if given.size not in (1, count):
        raise call.wrong(f"{count} base values", given.size)
    return np.broadcast_to(given, (count,)).copy()


@handles("TreeEnsembleRegressor", domain=ML_DOMAIN)
def regressor(call: Call) -> Secret:
    """Sums or averages of the leaves' values."""
    _check(call)
    if call.attribute("post_transform", "NONE") != "NONE":
        raise call.wrong("post_transform NONE", call.attribute("post_transform", ""))
    count = int(call.attribute("n_targets", 1))
    return _Trees(call).sums(call.secret(0), "target", count, _base(call, count))


@handles("TreeEnsembleClassifier", domain=ML_DOMAIN)
def classifier(call: Call) -> Sequence[Value]:
    """Sums of the leaves' weights; the client computes labels and probabilities."""
    _check(call)
    classes = classes_of(call)
    ids = list(call.attribute("class_ids", []))
    # Of two classes, all weights may be of one of them alone: of the second.
    alone = len(classes) == 2 and len(set(ids)) == 1
    count = 1 if alone else len(classes)
    call.attributes = {**call.attributes, "class_ids": [0] * len(ids)} if alone else call.attributes
    scores = _Trees(call).sums(call.secret(0), "class", count, _base(call, count))
    if alone and call.attribute("post_transform", "NONE") == "NONE":
        return classified(call, _both(call, scores), classes)
    return classified(call, scores, classes)


def _both(call: Call, scores: Secret) -> Secret:
    """[1 - p, p] of the second class's probability p."""
    return call.affine([(scores.name, [[-1.0], [1.0]])], [1.0, 0.0], (2,))


def _check(call: Call) -> None:
    """Branches for missing values are never taken: encrypted inputs are finite."""
    if len(call.secret(0).shape) != 2:
        raise call.wrong("features [batch, n]", list(call.secret(0).shape))
