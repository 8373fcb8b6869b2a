"""Transcripts that something else wrote: loaded, checked, run, compared, saved."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork.errors import (
    ContentsError,
    DeviceError,
    LoadError,
    MemoryBudgetError,
    ParamError,
    ProgramError,
)
from numpy.typing import NDArray
from python.heal_writer import HealWriter, Host, encoded, npy, small_transcript


def load(tmp_path: Path, document: Any) -> cw.heal.Transcript:
    path = tmp_path / "transcript.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return cw.heal.load(path)


def with_comments(document: Any) -> str:
    lines = json.dumps(document, indent=1).splitlines()
    return "\n".join(f"{line} // line {number}" for number, line in enumerate(lines))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    "form",
    [HealWriter.typed, HealWriter.simplified, lambda w: with_comments(w.simplified())],
    ids=["typed", "simplified", "with comments"],
)
def test_a_transcript_of_heal_gives_what_it_expects(
    form: Any, threads: int, tmp_path: Path
) -> None:
    transcript = load(tmp_path, form(small_transcript()))
    assert transcript.check() == []
    result = transcript.run(verify=True, threads=threads)
    assert result.mismatches == []
    assert [tensor.shape for tensor in result.outputs] == [(2, 2, 2)]


@pytest.mark.parametrize("suffix", ["json", "cwk"])
def test_a_saved_transcript_is_the_same_one(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"copy.{suffix}"
    load(tmp_path, small_transcript().typed()).save(path)
    copy = cw.heal.load(path)
    assert copy.check() == []
    assert copy.run(verify=True).mismatches == []


def test_what_is_saved_is_heals_form_field_for_field(tmp_path: Path) -> None:
    written = small_transcript().typed()
    path = tmp_path / "copy.json"
    load(tmp_path, small_transcript().simplified()).save(path)
    saved = json.loads(path.read_text())
    assert normal(saved) == normal(written)


def normal(document: Any) -> Any:
    """Names as numbers: HEAL's are, and a saved file may have either."""
    text = re.sub(r'"(inf_name|tensor_name)": "(\d+)"', r'"\1": \2', json.dumps(document))
    return json.loads(text)


def test_saving_needs_a_name_that_says_the_form(tmp_path: Path) -> None:
    transcript = load(tmp_path, small_transcript().typed())
    with pytest.raises(ParamError, match=r"ends in \.json, \.cwk or \.cw"):
        transcript.save(tmp_path / "copy.txt")
    with pytest.raises(FileNotFoundError):
        transcript.save(tmp_path / "no such folder" / "copy.json")


def wrong_by_one() -> tuple[HealWriter, NDArray[np.int64]]:
    writer = HealWriter()
    writer.segment("sums")
    values = np.arange(12).reshape(3, 4)
    a = writer.upload(values)
    out = writer.empty([3, 4])
    writer.op("_modsum_tcc", a, 1, 100, out, out=out)
    wrong = values + 1
    wrong[1, 2] = 0
    wrong[2, 0] = 0
    writer.download(out, wrong)
    return writer, values + 1


def test_a_mismatch_says_where_and_what(tmp_path: Path) -> None:
    writer, right = wrong_by_one()
    result = load(tmp_path, writer.typed()).run(verify=True)
    np.testing.assert_array_equal(np.asarray(result.outputs[0]), right)
    (mismatch,) = result.mismatches
    assert (mismatch.step, mismatch.segment, mismatch.name) == (4, "sums", "2")
    assert mismatch.written_by == (3, "_modsum_tcc")
    assert (mismatch.index, mismatch.got, mismatch.expected) == ([1, 2], "7", "0")
    assert (mismatch.different, mismatch.total) == (2, 12)
    assert str(mismatch) == mismatch.message
    assert "2 of 12" in mismatch.message


def test_bisection_blames_no_op_where_the_expected_value_is_wrong(tmp_path: Path) -> None:
    writer, _ = wrong_by_one()
    result = load(tmp_path, writer.typed()).run(bisect=True)
    assert len(result.mismatches) == 1
    assert result.wrong_op is None
    assert result.compared == "1 result compared with the slow references of their ops"


def test_shape_and_dtype_of_expected_values_count(tmp_path: Path) -> None:
    writer = HealWriter()
    a = writer.upload([1, 1, 1])
    writer.op("device_to_host", a, None, out=Host(np.array([1])))
    writer.op("device_to_host", a, None, out=Host(np.array([1, 1, 1], dtype=np.int32)))
    transcript = load(tmp_path, writer.typed())
    odd = [finding for finding in transcript.check() if finding.code == "expected-mismatch"]
    assert [finding.severity for finding in odd] == ["warning"] * 2
    assert transcript.run().mismatches == []
    differences = [(m.got, m.expected, m.index) for m in transcript.run(verify=True).mismatches]
    assert differences == [("i64[3]", "i64[1]", []), ("i64[3]", "i32[3]", [])]


def test_the_generation_can_be_said_where_the_ops_do_not_tell(tmp_path: Path) -> None:
    writer = HealWriter()
    a = writer.upload([[1, 2]])
    writer.download(writer.op("expand", a, 3, 0, out=writer.new_name()), [[1, 2]] * 3)
    path = writer.write(tmp_path / "t.json")
    assert [f.severity for f in cw.heal.load(path).check()].count("error") == 1
    assert cw.heal.load(path, generation="first").run(verify=True).mismatches == []
    with pytest.raises(cw.errors.ParamError, match="first or later"):
        cw.heal.load(path, generation="second")


def test_findings_come_all_at_once_with_their_place(tmp_path: Path) -> None:
    writer = HealWriter()
    a = writer.upload([1, 2, 3])
    writer.segment("wrong")
    short = writer.empty([2])
    writer.op("_modmul_tcc", a, 2, 7, short, out=short)
    writer.op("modmull", a, a, 7, short, out=short)
    writer.free(a)
    writer.free(a)
    writer.segment(None)
    transcript = load(tmp_path, writer.typed())
    errors = [finding for finding in transcript.check() if finding.severity == "error"]
    assert [(f.step, f.op, f.segment) for f in errors] == [
        (3, "_modmul_tcc", "wrong"), (4, "modmull", "wrong"), (6, "free", "wrong"),
    ]  # fmt: skip
    assert [f.code for f in errors] == ["shape", "unknown-op", "double-free"]
    assert "did you mean" in errors[1].hint + errors[1].message
    with pytest.raises(ProgramError) as raised:
        transcript.run()
    assert raised.value.errors == errors
    assert all(error.message in str(raised.value) for error in errors)


def test_what_a_program_computes_is_checked_while_it_runs(tmp_path: Path) -> None:
    writer = HealWriter()
    q = writer.upload([7, 7])
    writer.op("_modsum_tcc", q, -7, 100, q, out=q)
    writer.op("_modmul_ttt", q, q, q, q, out=q)
    writer.download(q, [0, 0])
    with pytest.raises(ContentsError, match="step 2: _modmul_ttt: `q`") as raised:
        load(tmp_path, writer.typed()).run()
    assert (raised.value.step, raised.value.call.code) == (2, "modulus")


def test_a_budget_is_kept_before_anything_runs(tmp_path: Path) -> None:
    transcript = load(tmp_path, small_transcript().typed())
    _, peak_bytes = transcript.memory()
    assert transcript.run(memory_budget=peak_bytes, verify=True).mismatches == []
    with pytest.raises(MemoryBudgetError) as raised:
        transcript.run(memory_budget=peak_bytes - 1)
    assert (raised.value.peak_bytes, raised.value.budget_bytes) == (peak_bytes, peak_bytes - 1)
    with pytest.raises(MemoryBudgetError):
        transcript.run(memory_budget="0.1KiB")


@pytest.mark.parametrize("budget", ["many", "-1", -1, "2 GiBs", ""])
def test_amounts_that_are_none_are_refused(budget: int | str, tmp_path: Path) -> None:
    with pytest.raises(ParamError, match="memory_budget"):
        load(tmp_path, small_transcript().typed()).run(memory_budget=budget)


def test_unknown_devices_are_named_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"unknown device 'gpu:0'.*; available: cpu"):
        load(tmp_path, small_transcript().typed()).run(device="gpu:0")


@pytest.mark.parametrize("threads", [0, -1, 5000])
def test_thread_counts_out_of_range_are_refused(threads: int, tmp_path: Path) -> None:
    with pytest.raises(ParamError, match=f"threads: got {threads}, expected 1 to 4096"):
        load(tmp_path, small_transcript().typed()).run(threads=threads)


def test_the_environment_sets_the_threads(tmp_path: Path, monkeypatch: Any) -> None:
    transcript = load(tmp_path, small_transcript().typed())
    monkeypatch.setenv("CLOAKWORK_THREADS", "3")
    assert transcript.run().report.threads == 3
    monkeypatch.setenv("CLOAKWORK_THREADS", "several")
    with pytest.raises(ParamError, match="CLOAKWORK_THREADS: got several"):
        transcript.run()


def test_the_report_adds_up(tmp_path: Path) -> None:
    report = load(tmp_path, small_transcript().typed()).run(threads=1).report
    steps = list(report.steps())
    assert len(steps) == report.planned_steps
    assert sum(op.calls for op in report.ops) == len(steps)
    assert sum(segment.calls for segment in report.segments) == len(steps)
    assert sum(s.operations for s in steps) == sum(op.operations for op in report.ops)
    assert sum(s.seconds for s in steps) == pytest.approx(sum(op.seconds for op in report.ops))
    assert {op.name for op in report.ops} == {"_modmul_ttt", "_modneg_tt", "device_to_host"}
    assert [s.name for s in report.segments] == ["compute_block_1", "download_ct_1"]
    # Beside the peak: the program's own tensors, and data on disk.
    beside = {"constant_bytes", "file_bytes", "disk_bytes", "spilled_bytes", "reloaded_bytes"}
    parts = report.memory.keys() - beside - {"peak_bytes"}
    assert report.peak_bytes == sum(report.memory[name] for name in parts)
    assert report.memory["constant_bytes"] > 0
    assert json.loads(json.dumps(report.to_json()))["memory"]["peak_bytes"] == report.peak_bytes


def test_a_run_without_a_profile_tells_no_times(tmp_path: Path) -> None:
    report = load(tmp_path, small_transcript().typed()).run(profile=False).report
    assert {op.seconds for op in report.ops} == {0.0}


def test_the_written_profile_is_events_that_nest(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    load(tmp_path, small_transcript().typed()).run(profile=path)
    events = json.loads(path.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    segments = [e for e in spans if e["cat"] == "segment"]
    assert [e["name"] for e in segments] == ["compute_block_1", "download_ct_1"]
    for step in (e for e in spans if e["cat"] == "op"):
        inside = [
            s for s in segments
            if s["ts"] <= step["ts"] and step["ts"] + step["dur"] <= s["ts"] + s["dur"] + 1e-6
        ]  # fmt: skip
        assert len(inside) == 1
    assert all(e["args"]["bytes"] >= 0 for e in events if e["ph"] == "C")
    assert not list(tmp_path.glob("*.part"))


def test_a_profile_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    calls: list[int] = []
    with pytest.raises(FileNotFoundError):
        load(tmp_path, small_transcript().typed()).run(
            profile=tmp_path / "none" / "profile.json", progress=lambda done, _: calls.append(done)
        )
    assert calls == []


def test_inspection_counts_calls_types_and_memory(tmp_path: Path) -> None:
    found = load(tmp_path, small_transcript().typed()).inspect(threads=1)
    assert {(use.op, use.runs_as, use.calls) for use in found.ops} == {
        ("host_to_device", "transfer", 3), ("empty", "allocation", 1), ("get_slice", "view", 2),
        ("_modmul_ttt", "kernel", 1), ("_modneg_tt", "kernel", 1),
        ("device_to_host", "transfer", 1),
    }  # fmt: skip
    assert found.coverage == {"allocation": 1, "kernel": 2, "transfer": 4, "view": 2}
    assert found.segments == [
        ("upload_inf_context", 3), ("compute_block_1", 5), ("download_ct_1", 1),
    ]  # fmt: skip
    assert found.dtypes == [("i64", 4, 8 * (2 + 4 + 2 + 8))]
    assert found.peak_bytes == found.memory["peak_bytes"] > 0
    assert found.host_bytes == 8 * (2 + 4 + 2 + 8)
    assert json.loads(json.dumps(found.to_json())) == found.facts


def test_composites_are_shown_as_expansions(tmp_path: Path) -> None:
    writer = HealWriter()
    a = writer.op("repeat_interleave", writer.upload([1, 2]), 2, 0, out=writer.new_name())
    writer.download(a, [1, 1, 2, 2])
    transcript = load(tmp_path, writer.typed())
    uses = {use.op: use for use in transcript.inspect().ops}
    assert uses["repeat_interleave"].runs_as == "expansion"
    assert uses["repeat_interleave"].kernels
    assert transcript.run(verify=True).mismatches == []


def test_the_progress_callable_hears_the_end_and_may_stop_the_run(tmp_path: Path) -> None:
    transcript = load(tmp_path, small_transcript().typed())
    heard: list[tuple[int, int]] = []
    transcript.run(progress=lambda done, total: heard.append((done, total)))
    assert heard[-1][0] == heard[-1][1] > 0

    def refuse(done: int, total: int) -> None:
        raise RuntimeError(f"enough at {done} of {total}")

    with pytest.raises(RuntimeError, match="enough"):
        transcript.run(progress=refuse)
    assert transcript.run(verify=True).mismatches == []


def test_files_that_are_no_programs_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "array.npy"
    np.save(path, np.zeros(3))
    with pytest.raises(LoadError, match="one NumPy array"):
        cw.heal.load(path)
    path.write_bytes(b"")
    with pytest.raises(LoadError, match="an empty file"):
        cw.heal.load(path)
    with pytest.raises(IsADirectoryError):
        cw.heal.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        cw.heal.load(tmp_path / "none")


def test_repeated_runs_give_the_same_outputs_and_share_no_memory(tmp_path: Path) -> None:
    transcript = load(tmp_path, small_transcript().typed())
    first, second = transcript.run().outputs[0], transcript.run().outputs[0]
    before = second.numpy()
    np.asarray(first)[...] = 0
    np.testing.assert_array_equal(np.asarray(second), before)
    assert transcript.run(verify=True).mismatches == []


def test_an_upload_has_the_dtype_that_its_pointer_names(tmp_path: Path) -> None:
    writer = HealWriter()
    a = writer.upload(np.array([1, 2, 3]))
    writer.download(writer.op("_modsum_tcc", a, 5, 7, a, out=a), [6, 0, 1])
    text = json.dumps(writer.typed())
    narrow = base64.b64encode(npy(np.array([1, 2, 3], dtype=np.int32))).decode()
    path = tmp_path / "t.json"
    path.write_text(text.replace(encoded(npy(np.array([1, 2, 3]))), narrow))
    assert path.read_text() != text
    assert cw.heal.load(path).run(verify=True).mismatches == []
