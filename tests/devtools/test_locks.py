"""Locks have what pyproject.toml asks for, on each machine; `dev.py lock` and pip's options."""

from __future__ import annotations

from pathlib import Path

import pytest
from devtools.lock_rules import entries, findings, requirements
from packaging.requirements import Requirement

from scripts.dev import commands, locks
from scripts.dev.console import DevError
from scripts.dev.locks import LOCKS, Lock

HASH = "--hash=sha256:" + "0" * 64
ASKED = [Requirement("near>=2,<3"), Requirement("far>=1; platform_machine == 'x86_64'")]
GOOD = f"""# A comment.
far==1.5 ; python_full_version < '3.12' and platform_machine == 'x86_64' \\
    {HASH} \\
    {HASH}
    # via
    #   -c scripts/dev/locks/dev.txt
far==1.6 ; python_full_version >= '3.12' and platform_machine == 'x86_64' \\
    {HASH}
near==2.1 \\
    {HASH}
"""
WHERE = "for Python 3.11, linux, x86_64: run `python3 dev.py lock`"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_has_what_pyproject_asks_for(lock: Lock) -> None:
    asked = requirements(lock, locks.pyproject())
    assert asked
    assert findings(lock.content().decode(), asked, lock.oldest or "3.11") == []


def test_every_group_of_pyproject_has_a_lock_and_every_lock_a_group() -> None:
    names = {lock.name for lock in LOCKS}
    assert set(locks.pyproject()["dependency-groups"]) == names
    assert {path.name for path in locks.FOLDER.iterdir()} == {f"{name}.txt" for name in names}


def test_the_small_locks_have_the_versions_of_the_large_one() -> None:
    stated = {
        lock: entries(lock.content().decode()) for lock in (locks.DEV, locks.DEMO, locks.SMOKE)
    }
    large = set(stated.pop(locks.DEV))
    for small in stated.values():
        assert set(small) < large


def test_a_lock_that_keeps_to_the_rules_has_no_finding() -> None:
    assert findings(GOOD, ASKED) == []


@pytest.mark.parametrize(
    ("was", "becomes", "finding"),
    [
        ("near==2.1", "nearby==2.1", f"near<3,>=2: got nothing {WHERE}"),
        ("near==2.1", "near==3.0", f"near<3,>=2: got 3.0 {WHERE}"),
        ("far==1.6 ; python_full_version >= '3.12' and", "far==1.6 ;", 'far>=1; platform_machine'
         f' == "x86_64": got 1.5, 1.6 {WHERE}'),
        ("near==2.1", "near>=2.1", "near>=2.1: expected one version, =="),
        ("near==2.1", "near==2.*", "near==2.*: expected one version, =="),
        (f"near==2.1 \\\n    {HASH}", "near==2.1", "near==2.1: expected SHA-256 hashes"),
        (f"near==2.1 \\\n    {HASH}", f"near==2.1 {HASH[:-1]}", "near==2.1: expected SHA-256"),
        ("# A comment.", "--index-url example.org", "names a place: --index-url example.org"),
        ("# A comment.", "-f wheels", "names a place: -f wheels"),
        ("# A comment.", "# from https://example.org/", "names a place: https://example.org/"),
        ("# A comment.", "#    via -r /opt/in.txt", "names a place: /opt/in.txt"),
        ("near==2.1", "near @ file:///near.whl", "names a place: file:///near.whl"),
    ],
)  # fmt: skip
def test_a_lock_that_breaks_a_rule_is_told(was: str, becomes: str, finding: str) -> None:
    broken = GOOD.replace(was, becomes)
    assert broken != GOOD
    assert findings(broken, ASKED)[0].startswith(finding)


def test_pip_refuses_what_a_lock_has_no_hash_of() -> None:
    words = list(map(str, locks.install("python", locks.DEMO)))
    assert words[:4] == ["python", "-m", "pip", "install"]
    assert {"--require-hashes", "--only-binary"} <= set(words)
    assert "--no-deps" not in words, "pip compares the lock with the packages' requirements"
    assert words[-2:] == ["--requirement", str(locks.DEMO.path)]
    assert "--no-deps" in locks.install("python", locks.CUDA)


def test_a_lock_that_is_absent_is_named_with_the_remedy() -> None:
    with pytest.raises(DevError, match=r"scripts/dev/locks/gone.txt: .* got: No such file.* git"):
        Lock("gone").content()


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ([], []),
        (["--upgrade"], ["--upgrade"]),
        (["--upgrade", "rich"], ["--upgrade-package", "rich"]),
    ],
)
def test_each_lock_is_written_by_uv_with_the_versions_it_has_or_newer(
    args: list[str], options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(locks, "_install_uv", lambda: Path("uv"))
    monkeypatch.setattr(locks, "require_rust", lambda: "cargo")
    monkeypatch.setattr(locks, "step", lambda _, words, __: called.append(words[1:]))
    assert commands.main(["lock", *args]) == 0
    assert called.pop(0) == ["update", "--workspace"], "crates keep their versions"
    assert called == [[*locks.compile_words(lock), *options] for lock in LOCKS]
    for words in called:
        assert {"--universal", "--generate-hashes", "--no-emit-index-url"} <= set(words)
    assert called[0][called[0].index("--python-version") + 1] == "3.11"


@pytest.mark.parametrize("args", [["--fresh"], ["rich"], ["--upgrade", "rich", "--all"]])
def test_other_words_are_refused(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["lock", *args]) == 2
    assert "dev.py: lock takes --upgrade, --upgrade NAME..." in capsys.readouterr().err
