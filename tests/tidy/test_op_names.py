"""Only the declarations know an op by name."""

from __future__ import annotations

from tidy import op_names, tree

OPS = op_names.names()
# `ops` declares them; tests, the generator of the ops page and the like are not the engine.
_OTHERS = ("crates/ops/", "crates/testing/")


def _is_other(name: str) -> bool:
    """Whether a file under `src` is no part of the engine, or holds tests alone."""
    return name.startswith(_OTHERS) or name.endswith("tests.rs")


def _spelled() -> dict[str, list[str]]:
    """Files that spell names of ops, in strings of Rust or in comparisons of Python."""
    found = {}
    for path in tree.files(".rs", ".py"):
        name, source = tree.relative(path), tree.text(path)
        if name.startswith("python/cloakwork/"):
            found[name] = op_names.judged_in_python(source, OPS)
        elif name.startswith("crates/") and "/src/" in name and not _is_other(name):
            found[name] = op_names.spelled_in_rust(source, OPS)
    return {name: words for name, words in found.items() if words}


def test_the_names_are_those_of_the_list() -> None:
    assert len(OPS) > 150
    assert {"copy", "modmul", "uniform_field"} <= OPS


def test_nothing_outside_the_declarations_spells_an_op_but_for_a_reason() -> None:
    spelled = _spelled()
    others = {name: words for name, words in spelled.items() if name not in op_names.SPELLS}
    assert others == {}, "name the declaration (cloakwork_ops::named), or say the reason"
    assert op_names.SPELLS.keys() - spelled.keys() == set(), "reasons for nothing"


def test_a_spelled_name_is_found_in_code_and_not_in_words_or_tests() -> None:
    source = 'let a = "copy"; // "ntt"\nf("the copy");\n#[cfg(test)]\nmod tests { g("msm") }\n'
    assert op_names.spelled_in_rust(source, OPS) == ["copy"]
    python = 'if op == "ntt" or op in ("msm", x):\n    f("copy")\nmatch op:\n    case "add": pass\n'
    assert sorted(op_names.judged_in_python(python, OPS)) == ["add", "msm", "ntt"]
