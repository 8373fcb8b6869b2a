"""Results of benchmarks: rows, their files, and the comparison of two builds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine
import pytest
from cases import GROUPS, Case
from measured import against, compare, files, rows
from measured.files import BenchFileError, Build, Results
from measured.rows import Row

from scripts.dev import commands
from scripts.dev.console import ROOT

CALM = (100.0, 101.0, 99.0, 100.0, 100.5, 99.5)


def build(*measured: Row) -> Build:
    return Build("1.0", "abc", "00ff", measured)


def scaled(factor: float, samples: tuple[float, ...] = CALM) -> Row:
    return Row("calls: a + b", "ns", tuple(sample * factor for sample in samples))


def table(before: Build, after: Build, in_turns: bool = False) -> list[str]:
    return list(compare.lines(before, after, in_turns))


def test_a_row_s_figure_is_its_median_and_its_spread_needs_four_samples() -> None:
    row = Row("x", "ns", (1.0, 2.0, 3.0, 4.0, 100.0))
    assert row.median == 3.0
    # Quartiles 2 and 4: 1.2533 x (4 - 2) / 1.349 / root of 5, over the median.
    assert row.spread == pytest.approx(0.27699, abs=1e-4)
    assert Row("x", "ns", (1.0, 2.0, 3.0)).spread is None


def test_rows_of_other_processes_are_collected_under_the_benchmark_s_name() -> None:
    code = "from measured.rows import record; record('inner', 'ms', 4.0)"

    def work() -> None:
        with rows.within("degree 8"):
            rows.record("product", "ns", 1.0, 2.0)
        rows.record("product", "ns", 3.0)
        rows.record("product", "ns", 5.0)
        subprocess.run([sys.executable, "-c", code], cwd=ROOT / "benches", check=True)

    assert rows.collected(work, "zk") == [
        Row("zk: degree 8, product", "ns", (1.0, 2.0)),
        Row("zk: product", "ns", (3.0, 5.0)),
        Row("zk: inner", "ms", (4.0,)),
    ]
    rows.record("nobody collects", "ns", 1.0)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    one, two = build(scaled(1.0)), Build("1.1", None, "11ee", (scaled(2.0),))
    results = Results(files.machine_facts(), (one, two))
    files.write(tmp_path / "results.json", results)
    assert files.read(tmp_path / "results.json") == results
    written = json.loads((tmp_path / "results.json").read_text())
    row = written["builds"][0]["rows"][0]
    assert (row["median"], row["unit"], row["samples"]) == (100.0, "ns", list(CALM))
    assert {"processor", "cores", "python", "load"} <= written["machine"].keys()


def damage(change: Callable[[dict[str, Any]], object]) -> str:
    row = {"name": "a", "unit": "ns", "samples": [1.0, 2.0]}
    whole: dict[str, Any] = {
        "format": files.FORMAT,
        "machine": {},
        "builds": [{"version": "1", "commit": None, "library": "0", "rows": [row]}],
    }
    change(whole)
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "expected JSON"),
        ("[1]", "the file: expected an object, got [1]"),
        (damage(lambda it: it.update(format="x")), f"format: expected \"{files.FORMAT}\", got 'x'"),
        (damage(lambda it: it.update(machine=3)), "machine: expected an object, got 3"),
        (damage(lambda it: it.update(builds=[])), "builds: expected a list that is not empty"),
        (damage(lambda it: it["builds"][0].pop("version")), "builds[0].version: expected a string"),
        (damage(lambda it: it["builds"][0].update(commit=7)), "builds[0].commit: expected a str"),
        (damage(lambda it: it["builds"][0]["rows"][0].update(unit="")), "rows[0].unit: expected a"),
        (
            damage(lambda it: it["builds"][0]["rows"][0].update(samples=[1, 0])),
            "builds[0].rows[0].samples[1]: expected a number above 0, got 0",
        ),
        (
            damage(lambda it: it["builds"][0]["rows"][0].update(samples=[True])),
            "samples[0]: expected a number above 0, got True",
        ),
        (
            damage(lambda it: it["builds"][0]["rows"].append(it["builds"][0]["rows"][0])),
            "builds[0].rows: expected each name once, got \"'a' twice\"",
        ),
    ],
)
def test_a_file_that_holds_no_results_is_refused_by_place(
    tmp_path: Path, text: str, place: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(BenchFileError) as caught:
        files.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert place in str(caught.value)
    assert "`dev.py bench --json FILE` writes such files" in str(caught.value)


def test_a_file_that_is_absent_or_cannot_be_written_is_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "x.json"
    with pytest.raises(BenchFileError, match=r"absent/x.json: cannot be read: No such file"):
        files.read(absent)
    with pytest.raises(BenchFileError, match=r"absent/x.json: cannot be written: No such file"):
        files.write(absent, Results({}, (build(scaled(1.0)),)))


def test_rows_stand_side_by_side_and_what_is_slower_is_marked() -> None:
    other = Row("calls: -a", "ns", CALM)
    shown = table(build(scaled(1.0), other), build(scaled(1.10), other))
    assert " ".join(shown[1].split()) == "calls: a + b 100 110 ns 1.100 0.8 % slower"
    assert " ".join(shown[2].split()) == "calls: -a 100 100 ns 1.000 0.8 %"
    assert shown[3] == "1 of 2 rows slower by more than 3% and the noise"


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.10, "slower"), (1.03, ""), (0.98, ""), (0.9, "faster")]
)
def test_three_percent_and_the_noise_are_allowed(factor: float, verdict: str) -> None:
    assert compare.pair(scaled(1.0), scaled(factor), in_turns=False).verdict == verdict


def test_what_noise_explains_is_not_marked() -> None:
    wild = (60.0, 140.0, 80.0, 120.0, 100.0, 100.0)
    pair = compare.pair(scaled(1.0, wild), scaled(1.10, wild), in_turns=False)
    assert pair.noise is not None
    assert pair.noise > 0.10
    assert pair.verdict == ""


def test_measured_in_turns_what_slows_both_down_cancels() -> None:
    wild = (60.0, 140.0, 80.0, 120.0, 100.0, 100.0)
    pair = compare.pair(scaled(1.0, wild), scaled(1.10, wild), in_turns=True)
    assert pair.noise == pytest.approx(0, abs=1e-9)
    assert pair.verdict == "slower"


def test_noise_of_few_samples_is_unknown_and_says_so() -> None:
    few = scaled(1.0, (100.0,))
    pair = compare.pair(few, scaled(1.5, (100.0,)), in_turns=False)
    assert (pair.noise, pair.verdict) == (None, "slower")
    assert " ? " in table(build(few), build(few))[1] + " "


def test_rows_of_one_build_alone_are_listed_and_none_in_common_is_refused() -> None:
    more = Row("calls: new", "ns", CALM)
    assert "only after: calls: new" in table(build(scaled(1.0)), build(scaled(1.0), more))
    with pytest.raises(BenchFileError, match="no row in common"):
        table(build(scaled(1.0)), build(more))
    with pytest.raises(BenchFileError, match=r"calls: a \+ b: expected one unit .* ns and us"):
        table(build(scaled(1.0)), build(Row("calls: a + b", "us", CALM)))


def test_two_files_of_one_build_are_compared_or_one_of_two(tmp_path: Path) -> None:
    one, two = build(scaled(1.0)), build(scaled(2.0))
    single, double = Results({}, (one,)), Results({}, (one, two))
    assert compare.of_files([tmp_path, tmp_path], [single, Results({}, (two,))]) == (
        one,
        two,
        False,
    )
    assert compare.of_files([tmp_path], [double]) == (one, two, True)
    with pytest.raises(BenchFileError, match="expected 2 of builds, got 1"):
        compare.of_files([tmp_path], [single])
    with pytest.raises(BenchFileError, match="expected 1 of builds, got 2"):
        compare.of_files([tmp_path, tmp_path], [single, double])


def test_machines_that_differ_are_told_but_for_their_load() -> None:
    here, there = {"cores": "2", "load": "0.1"}, {"cores": "64", "load": "9.9"}
    assert list(compare.differences(here, there)) == ["note: cores differs: 2 and 64"]


def other_build(folder: Path, loops: int) -> Path:
    """A package by our name whose work takes this many loops."""
    package = folder / "python" / "cloakwork"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        f"LOOPS = {loops}\n__version__ = 'other'\ndef set_threads(count): pass\n"
    )
    (package / "_core.py").write_text("")
    return folder


# A process whose clock goes by the work alone: what else the machine does changes no sample.
LOOP = Case(
    "a loop",
    """import time
import cloakwork as cw
clock = [0.0]
time.process_time = lambda: clock[0]
loops = getattr(cw, 'LOOPS', 10_000)""",
    "clock[0] += loops",
    2,
)
ABSENT = Case("what one lacks", "import cloakwork as cw\na = cw.asarray([1])", "a + a", 1)


def test_two_builds_are_measured_in_turns_and_cases_of_one_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = other_build(tmp_path, 40_000)
    before, after = against.measured("group", [LOOP, ABSENT], str(other), starts=2)
    assert (before.version, before.commit) == ("other", None)
    assert before.library != after.library
    assert [row.name for row in after.rows] == ["group: a loop"]
    assert len(before.rows[0].samples) == 2 * against.ROUNDS
    [pair] = compare.pairs(before, after, in_turns=True)
    assert pair.verdict == "faster"
    assert pair.ratio == pytest.approx(0.25)
    assert pair.noise == pytest.approx(0)
    told = capsys.readouterr().out
    assert told.count("left out") == 1
    assert f"group: what one lacks: left out, {other} has AttributeError: module" in told


def test_a_build_that_is_none_and_this_build_itself_are_refused(tmp_path: Path) -> None:
    with pytest.raises(against.BuildError, match="no package `cloakwork` in this folder"):
        against.measured("group", [LOOP], str(tmp_path), starts=1)
    with pytest.raises(against.BuildError, match="expected a folder with a built `cloakwork`"):
        against.measured("group", [LOOP], str(tmp_path / "absent"), starts=1)
    with pytest.raises(against.BuildError, match="that is this build itself"):
        against.measured("group", [LOOP], sys.executable, starts=1)


def test_every_case_has_a_name_of_its_own_and_source_that_compiles() -> None:
    for group in GROUPS.values():
        assert len({case.name for case in group}) == len(group)
        for case in group:
            compile(case.setup, case.name, "exec")
            compile(case.statement, case.name, "exec")
            assert min(case.times, case.steps) > 0


@pytest.mark.parametrize("group", ["calls", "fields", "schemes"])
def test_cases_run_in_this_build(group: str) -> None:
    small = [case for case in GROUPS[group] if "2^14" not in case.name]
    with against._this_build(small) as side:
        assert side.facts["missing"] == {}
        assert side.operations == [case.name for case in small]


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        ([], True),
        (["--json", "x"], True),
        (["fhe", "--repeat", "2"], True),
        (["zk", "--json", "fhe.json"], False),
        (["calls", "--against", "elsewhere"], False),
        (["--against", "fhe"], False),
    ],
)
def test_peers_are_installed_for_the_benchmark_that_has_them(args: list[str], wanted: bool) -> None:
    assert commands._wants_peers(args) is wanted


def test_figures_of_rust_s_examples_are_read_from_their_lines() -> None:
    speed = [
        "plain copy of 2^12 words: 0.150 ns a word",
        "modmul, moduli on the last axis, of 50 bits, 2^20 ns a word   portable 2.140  avx2 1.190",
        "ntt 2^12                                      ns a butterfly   avx512 0.470",
    ]
    assert list(engine.speed_rows(speed)) == [
        ("plain copy of 2^12 words", 0.15),
        ("modmul, moduli on the last axis, of 50 bits, 2^20, portable", 2.14),
        ("modmul, moduli on the last axis, of 50 bits, 2^20, avx2", 1.19),
        ("ntt 2^12, avx512", 0.47),
    ]
    overhead = [
        "verify   1234.5 ns a step",
        "peak 1.0 KiB (arena 64 B)",
        "run        31.0 ns a step, 40.1 with resolving addresses (profile: false)",
        "plan     2200.0 ns a step with 250 tasks",
        "tasks      62.0 ns a task, 31.0 a step, on 2 threads",
    ]
    assert list(engine.overhead_rows(overhead)) == [
        ("verify", 1234.5),
        ("run, profile: false", 31.0),
        ("plan, 250 tasks", 2200.0),
        ("tasks, 250 tasks, on 2 threads", 62.0),
    ]
    with pytest.raises(RuntimeError, match="printed no figure"):
        engine._recorded(engine.speed_rows(["Compiling"]))


def run_bench(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benches" / "run.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_line_compares_files_and_refuses_in_words(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, factor in zip(paths, (1.0, 1.5), strict=True):
        files.write(path, Results({"cores": "2"}, (build(scaled(factor)),)))
    done = run_bench("--compare", *map(str, paths))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1.500" in done.stdout
    assert "1 of 1 rows slower" in done.stdout
    paths[1].write_text("{}")
    for words, told in (
        (["--compare", *map(str, paths)], f"{paths[1]}: format: expected"),
        (["--compare", *map(str, paths), "c"], "--compare: expected one file or two, got 3"),
        (["overhed"], "no such benchmark here: overhed; there are: kernels, overhead, "),
        (["load", "--against", "x"], "no such benchmark here: load; there are: calls, programs, "),
    ):
        done = run_bench(*words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"dev.py bench: {told}")
