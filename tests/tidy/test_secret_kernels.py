"""Python code that handles secrets uses kernels that the constant-time tests cover."""

from __future__ import annotations

import ast
import re

import pytest
from tidy import tree

LAUNCHES = tree.ROOT / "crates" / "kernels" / "tests" / "constant_time" / "launches.rs"
FHE = tree.ROOT / "python" / "cloakwork" / "fhe"
# Modules that hold a secret, or its mask.
MODULES = (
    "keys/flooding", "keys/keys", "keys/public", "keys/secrets", "rns/key_switching",
    "rns/samplers",
)  # fmt: skip
# Ops by their kernels; `copy` moves ciphertexts and public halves alone.
KERNELS = {"astype": "cast"}
PUBLIC = {"copy"}


def ops_of(source: str) -> set[str]:
    """Names of the ops that a module calls."""
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "ops"
    }


def numpy_calls(source: str) -> set[str]:
    """Functions of NumPy's that a module calls."""
    return {
        node.func.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "np"
    }


@pytest.mark.parametrize("module", MODULES)
def test_ops_on_secrets_are_tested_for_constant_time(module: str) -> None:
    tested = set(re.findall(r'"([a-z_]+)"', LAUNCHES.read_text()))
    called = ops_of((FHE / f"{module}.py").read_text()) - PUBLIC
    assert {KERNELS.get(op, op) for op in called} <= tested
    # NumPy names bytes here, and computes only values that are about to be published.
    if module != "keys/flooding":
        assert numpy_calls((FHE / f"{module}.py").read_text()) <= {"asarray", "ascontiguousarray"}


def test_kernels_that_passes_put_in_are_tested_for_constant_time() -> None:
    tested = set(re.findall(r'"([a-z_]+)"', LAUNCHES.read_text()))
    shown = "\n".join(path.read_text() for path in (tree.ROOT / "tests/passes").glob("*.cw"))
    changes = re.findall(r"^; after composites: (.*)$", shown, re.MULTILINE)
    put_in = set(re.findall(r"\+\d+ (\w+)", ", ".join(changes)))
    assert put_in
    assert put_in <= tested


def test_what_would_leak_is_seen() -> None:
    assert ops_of("def f(x): return ops.where(x, ops.modsum(x, 1, q), x)") == {"where", "modsum"}
    assert numpy_calls("shifted = np.array(found); shifted[np.equal(shifted, q)] = 0") == {
        "array", "equal",
    }  # fmt: skip
