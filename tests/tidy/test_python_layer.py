"""Python expresses intent: no element loops, and access to the machine only by `_core`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tidy import tree
from tidy.python_layer import layer_findings

PACKAGE = tree.ROOT / "python" / "cloakwork"
MODULES = list(tree.files(".py", under="python/"))
_NATIVE = (".so", ".pyd", ".dylib", ".dll", ".pyx", ".c", ".cc", ".cpp", ".rs")


def foreign_natives(names: list[str]) -> list[str]:
    """Return the native files, and the stubs of native modules, that are not `_core`'s."""
    stubs = [
        name for name in names if name.endswith(".pyi") and name.removesuffix("i") not in names
    ]
    natives = [name for name in names if name.endswith(_NATIVE)]
    return [name for name in stubs + natives if name.split(".")[0] != "_core"]


# A line about long work waits in a thread, which computes nothing.
_SPARED = {"python/cloakwork/patience.py": "import of threading"}


@pytest.mark.parametrize("path", MODULES, ids=tree.relative)
def test_python_leaves_computing_to_the_lower_layers(path: Path) -> None:
    spared = _SPARED.get(tree.relative(path))
    found = layer_findings(tree.text(path))
    assert [one for one in found if not (spared and one.endswith(spared))] == []


@pytest.mark.parametrize(
    "source",
    [
        "import ctypes",
        "import os, threading",
        "from concurrent.futures import ThreadPoolExecutor",
        "def f():\n    import multiprocessing.pool as p",
        "from pickle import loads",
        "from pickle import PickleBuffer, loads",
        "from functools import cached_property, reduce",
        "for i in range(len(a)): b[i] = a[i]",
        "c = [a[i] for i in range(0, len(a), 2)]",
        "for i in range(a.size): pass",
        "for x in a.tolist(): pass",
        "for x in a.flat: pass",
        "f = np.vectorize(g)",
        "with np.nditer(a) as it: pass",
        "with open(name, 'w') as file: pass",
        "data = path.read_bytes()",
        "path.with_suffix('.part').write_text(text)",
        "with path.open('rb') as file: pass",
        "array = np.load(path, allow_pickle=False)",
        "array.tofile(path)",
        "os.replace(part, path)",
        "shutil.copy(source, folder)",
        "handle, name = tempfile.mkstemp()",
    ],
)
def test_each_trespass_is_found(source: str) -> None:
    assert len(layer_findings(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nfrom . import array\nfrom .threading import x",
        "from pickle import PickleBuffer",
        "for step in program.steps: print(step)",
        "for limb in range(limbs): total = total + x[limb]",
        "n = len(a)\nm = a.size",
        "null = os.open(os.devnull, os.O_WRONLY)\nprogram = heal.load(path)\nkeys.save(path)",
    ],
)
def test_what_is_allowed_passes(source: str) -> None:
    assert layer_findings(source) == []


def test_core_is_the_only_native_module() -> None:
    names = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file()]
    # Sources for users, which nothing here compiles.
    spared = ("__pycache__", "device/templates/")
    assert foreign_natives([n for n in names if not any(part in n for part in spared)]) == []


def test_another_native_module_would_be_found() -> None:
    good = ["_core.abi3.so", "_core.pyi", "heal.py", "heal.pyi", "py.typed"]
    assert foreign_natives(good) == []
    assert foreign_natives([*good, "_fast.pyi", "fhe/ntt.so"]) == ["_fast.pyi", "fhe/ntt.so"]
