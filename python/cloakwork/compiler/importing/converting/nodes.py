"""Nodes of ONNX, appended one by one, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.compiler.importing.reading import ML_DOMAIN, OWN_DOMAIN, onnx_module
from cloakwork.compiler.importing.trees import up_to
from cloakwork.errors import ModelError

Floats = NDArray[np.float64]

__all__ = ["Nodes", "Rows"]


class Nodes:
    """A graph under construction; each method returns the name of the value that it adds.

    x         the name of the input [batch, width]
    convert   an estimator of so many features as a model
    """

    def __init__(self, width: int, convert: Callable[[Any, int], Any]) -> None:
        self.x, self.width, self.convert = "X", width, convert
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.parts = 0

    def constant(self, values: ArrayLike) -> str:
        """A tensor of float64."""
        name = f"c{len(self.tensors)}"
        array = np.asarray(values, dtype=np.float64)
        self.tensors.append(onnx_module().numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one result."""
        name = f"{kind}{len(self.nodes)}"
        make = onnx_module().helper.make_node
        self.nodes.append(make(kind, list(inputs), [name], name, domain=domain, **attributes))
        return name

    def own(self, kind: str, *inputs: str, **tables: ArrayLike) -> str:
        """A step of the client for which ONNX has none, with tables of float64 or texts."""
        tensor = onnx_module().numpy_helper.from_array
        made = {
            name: own if isinstance(own, str) else tensor(np.asarray(own, np.float64), name)
            for name, own in tables.items()
        }
        return self.op(kind, *inputs, domain=OWN_DOMAIN, **made)

    def columns(self, features: ArrayLike | None, x: str = "") -> str:
        """A value [batch, n], by default the input, at these places; all of them for None."""
        places = np.arange(self.width) if features is None else np.asarray(features, np.int64)
        if not x and np.array_equal(places, np.arange(self.width)):
            return self.x
        return self.gathered(places, x)

    def gathered(self, places: NDArray[np.int64], x: str = "") -> str:
        """A value, by default the input, at places, by a node of its own."""
        name = f"c{len(self.tensors)}"
        self.tensors.append(onnx_module().numpy_helper.from_array(places, name))
        return self.op("Gather", x or self.x, name, axis=1)

    def take_columns(self, taken: Sequence[tuple[str, NDArray[np.int64]]]) -> None:
        """Let the client give these columns of the input, each of a `gathered` value, as one."""
        whole = np.unique(np.concatenate([places for _, places in taken]))
        own = self.own("Columns", self.x, columns=whole)
        self.nodes.insert(0, self.nodes.pop())
        for name, places in taken:
            node = self.giver(name, "Gather")
            found = np.searchsorted(whole, places)
            tensor = next(one for one in self.tensors if one.name == node.input[1])
            tensor.CopyFrom(onnx_module().numpy_helper.from_array(found, tensor.name))
            node.input[0] = own

    def joined(self, values: Sequence[str]) -> str:
        """Values [batch, ...] beside each other."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=1)

    def part(self, estimator: Any, features: ArrayLike | None = None) -> list[str]:
        """The results of an estimator, of all features or of those at these places."""
        width = self.width if features is None else np.size(features)
        return self.part_of(estimator, self.columns(features), int(width))

    def part_of(self, estimator: Any, x: str, width: int) -> list[str]:
        """The results of an estimator of a value [batch, width]."""
        model = self.convert(estimator, width)
        own = onnx_module().compose.add_prefix(model, f"part {self.parts} ", rename_inputs=False)
        self.parts += 1
        (read,) = own.graph.input
        for node in own.graph.node:
            names = [x if name == read.name else name for name in node.input]
            node.ClearField("input")
            node.input.extend(names)
        self.nodes += own.graph.node
        self.tensors += own.graph.initializer
        return [output.name for output in own.graph.output]

    def affine(self, x: str, matrix: ArrayLike, bias: ArrayLike = 0.0) -> str:
        """X matrix + bias, for a matrix [n, m]."""
        found = self.op("MatMul", x, self.constant(matrix))
        bias = np.asarray(bias, dtype=np.float64)
        return self.op("Add", found, self.constant(bias)) if bias.any() else found

    def gaussians(self, x: str, vectors: Floats, gamma: float) -> str:
        """exp(-gamma |x - v|^2) for each row v of the vectors."""
        squares = self.op("Mul", x, x)
        near = self.affine(x, 2 * gamma * vectors.T, -gamma * np.square(vectors).sum(axis=1))
        far = self.affine(squares, np.full(vectors.T.shape, -gamma))
        return self.op("Exp", self.op("Add", near, far))

    def label(self, scores: str, classes: Any, kind: str = "ArgMax", **options: Any) -> str:
        """The class of the largest score, or with ArgMin of the least; options of the node."""
        index = self.op(kind, scores, axis=1, keepdims=0, **options)
        names = np.asarray(classes)
        if names.dtype.kind == "f":
            if not (names == np.round(names)).all():
                raise ModelError(f"classes: expected whole numbers or texts, found {names[:4]}")
            names = names.astype(np.int64)
        values: dict[str, Any] = (
            {"values_int64s": names.astype(np.int64).tolist()}
            if names.dtype.kind in "biu"
            else {"values_strings": [str(one) for one in names]}
        )
        keys = list(range(len(names)))
        return self.op("LabelEncoder", index, domain=ML_DOMAIN, keys_int64s=keys, **values)

    def inside(self, scores: str) -> str:
        """1 for scores of 0 and above, else -1."""
        return self.label(self.affine(scores, [[1.0, -1.0]]), [1, -1])

    def giver(self, name: str, kind: str) -> Any:
        """The node that gives a value, which must be of a kind."""
        found = next((node for node in reversed(self.nodes) if name in node.output), None)
        while found is not None and found.op_type == "Identity":
            name = found.input[0]
            found = next((node for node in reversed(self.nodes) if name in node.output), None)
        if found is None or found.op_type != kind:
            raise ModelError(f"expected a result of {kind}, found {found and found.op_type}")
        return found

    def trees(self, rows: dict[str, list[Any]], targets: int, base: ArrayLike, x: str = "") -> str:
        """The sum of trees; `rows` are the lists of a TreeEnsembleRegressor, without prefixes."""
        made: dict[str, Any] = {}
        tensor = onnx_module().numpy_helper.from_array
        for name, values in rows.items():
            prefixed = name if name.startswith("target") else f"nodes_{name}"
            if name in ("values", "target_weights"):
                array = np.asarray(values, dtype=np.float64)
                made[f"{prefixed}_as_tensor"] = tensor(array, name)
            else:
                made[prefixed] = values
        found = self.op(
            "TreeEnsembleRegressor", x or self.x, domain=ML_DOMAIN, n_targets=targets, **made
        )
        start = np.broadcast_to(np.asarray(base, dtype=np.float64), (targets,))
        return self.op("Add", found, self.constant(start)) if start.any() else found

    def model(self, name: str, outputs: dict[str, str], opsets: dict[str, int]) -> Any:
        """The graph, with outputs by their names, each from a value."""
        onnx = onnx_module()
        helper, double = onnx.helper, onnx.TensorProto.DOUBLE
        ends = [
            helper.make_node("Identity", [value], [name], f"{name} of the model")
            for name, value in outputs.items()
        ]
        given = helper.make_tensor_value_info("X", double, [None, self.width])
        found = [helper.make_tensor_value_info(name, double, None) for name in outputs]
        graph = helper.make_graph([*self.nodes, *ends], name, [given], found, self.tensors)
        imported = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        imported += [helper.make_opsetid(OWN_DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=imported)


class Rows:
    """The lists of a TreeEnsembleRegressor."""

    def __init__(self) -> None:
        names = (
            "treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
            "target_treeids", "target_nodeids", "target_ids", "target_weights",
        )  # fmt: skip
        self.lists: dict[str, list[Any]] = {name: [] for name in names}
        self.count = 0

    def add(self, nodes: Iterable[tuple[int, float, int, int]], leaves: dict[int, Any]) -> None:
        """A tree: (feature, threshold, left, right) of its nodes, of which leaves have values.

        leaves   by node: a value for each target, or (target, value) of one alone
        """
        own = self.lists
        for number, (feature, threshold, left, right) in enumerate(nodes):
            is_leaf = number in leaves
            row = (
                self.count, number, 0 if is_leaf else feature, 0.0 if is_leaf else threshold,
                "LEAF" if is_leaf else "BRANCH_LEQ", 0 if is_leaf else left,
                0 if is_leaf else right,
            )  # fmt: skip
            for name, value in zip(own, row, strict=False):
                own[name].append(value)
        for number, values in leaves.items():
            pairs = [values] if isinstance(values, tuple) else enumerate(np.ravel(values))
            for target, value in pairs:
                own["target_treeids"].append(self.count)
                own["target_nodeids"].append(number)
                own["target_ids"].append(int(target))
                own["target_weights"].append(float(value))
        self.count += 1

    def add_fitted(self, tree: Any, values: Callable[[int], Any], features: Any = None) -> None:
        """A fitted tree of scikit-learn, with the value of each leaf; features by their places.

        It compares features as float32 with thresholds of float64.
        """
        left, right = tree.children_left.tolist(), tree.children_right.tolist()
        places = range(int(tree.n_features)) if features is None else features
        nodes = [
            (int(places[max(feature, 0)]), float(threshold), a, b)
            for feature, threshold, a, b in zip(
                tree.feature.tolist(), up_to(tree.threshold).tolist(), left, right, strict=True
            )
        ]
        self.add(nodes, {number: values(number) for number, a in enumerate(left) if a < 0})
