"""Modules and folders of the Python package import each other in one direction."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath

from tidy import tree
from tidy.imports import cycle, folder_graph, imported, module_graph

PUBLIC = {"backend", "errors", "fft", "heal", "ops"}
OF_THE_PACKAGE = {
    "__init__", "__main__", "files", "lazy", "methods", "namespace", "once", "patience",
    "recognition", "sending", "strict", "wording",
}  # fmt: skip


def modules() -> dict[str, str]:
    """The package's modules by name, with their sources."""
    found = {}
    for path in tree.files(".py", under="python/"):
        parts = PurePosixPath(path.relative_to(tree.ROOT / "python")).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = tree.text(path)
    return found


GRAPH = module_graph(modules())


def test_no_modules_import_each_other() -> None:
    assert cycle(GRAPH) == []


def test_no_folders_import_each_other() -> None:
    assert cycle(folder_graph(GRAPH)) == []


def test_public_modules_alone_stand_beside_the_folders() -> None:
    package = tree.ROOT / "python" / "cloakwork"
    beside = {path.stem for path in tree.files(".py") if path.parent == package}
    assert beside == PUBLIC | OF_THE_PACKAGE


def test_cycles_are_found_through_names_of_modules_and_in_modules() -> None:
    sources = {
        "p.a.one": "from p.b import two",
        "p.b.two": "from p.b.three import name",
        "p.b.three": "if x:\n    import p.a.one",
    }
    graph = module_graph(sources)
    assert set(cycle(graph)) == set(sources)
    assert set(cycle(folder_graph(graph))) == {"p.a", "p.b"}
    sources["p.b.three"] = "import p.b.two"
    assert set(cycle(folder_graph(module_graph(sources)))) == set()


def test_imports_for_type_checkers_and_inside_functions_load_nothing() -> None:
    source = "if TYPE_CHECKING:\n    from p import a\nelse:\n    import c\ndef f():\n    import b"
    assert imported(source) == {"c"}


def test_no_name_of_a_package_is_also_a_module_of_it() -> None:
    # `from package import name` would give the one or the other, by what was imported before.
    for source in (tree.ROOT / "python" / "cloakwork").rglob("namespace.py"):
        package = source.parent
        own = {path.stem for path in package.iterdir() if path.suffix in ("", ".py")}
        prefix = ".".join(package.relative_to(tree.ROOT / "python").parts)
        named = ast.parse(source.read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(named) if isinstance(node, ast.ImportFrom)]
        clashes = {
            alias.asname or alias.name
            for node in imports
            if node.module != prefix  # there a name is the module itself
            for alias in node.names
        } & own
        assert not clashes, f"{prefix}: {clashes}"
