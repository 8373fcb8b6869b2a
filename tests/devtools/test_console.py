"""Signs of progress of a long step, and output on terminals of any encoding."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from scripts.dev import console
from scripts.dev.console import PROGRESS, progress_line, say, step

LOG = """🍹 Building a mixed python/rust project
  Downloaded memchr v2.7.4
   Compiling memchr v2.7.4
warning: `memchr` (lib) generated 1 warning
   Compiling cloakwork-run v0.1.0 (/a folder/crates/run)
warning: `cloakwork-run` (lib) generated 1 warning
"""
UNITS = "csrc 1/43 kernels/table.cc\ncsrc 17/43 kernels/curve/avx2.cc\n"


def test_the_last_crate_and_both_counts_are_shown_while_cargo_compiles() -> None:
    assert progress_line(LOG, UNITS) == "Rust: run, 2 crates · C++: 17 of 43 units"


def test_a_part_that_has_not_begun_is_not_shown() -> None:
    assert progress_line(LOG, "") == "Rust: run, 2 crates"
    assert progress_line("   Compiling memchr v2.7.4\n", "") == "Rust: memchr, 1 crate"
    assert progress_line(LOG[: LOG.index("   Compiling")], UNITS) == "Downloaded memchr v2.7.4"


def test_a_line_that_is_half_written_does_not_count() -> None:
    assert progress_line(LOG + "   Compiling clo", UNITS + "csrc 18") == progress_line(LOG, UNITS)


def test_after_cargo_the_last_line_is_shown() -> None:
    done = LOG + "    Finished `fast` profile [optimized] target(s) in 6m 02s\n"
    assert progress_line(done + "🛠 Installed cloakwork\n\n", UNITS) == "🛠 Installed cloakwork"


def test_another_tool_s_last_line_is_shown_up_to_a_length() -> None:
    assert progress_line("Collecting numpy\nCompiling is what pip says\n", "").startswith("Compil")
    assert len(progress_line("x" * 300, "")) == 80
    assert progress_line("", "") == "..."


def test_a_step_shows_the_units_of_this_run_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "_HEARTBEAT_SECONDS", 0.05)
    units = tmp_path / "units"
    units.write_text("csrc 43/43 of the last run\n")
    script = f"""
        echo '   Compiling one v1'; sleep 0.2
        echo 'csrc 1/9 a.cc' >> "${PROGRESS}"; echo '   Compiling two v1'; sleep 0.2"""
    step("building", ["sh", "-c", script], tmp_path / "log", {"PATH": "/bin", PROGRESS: str(units)})
    shown = capsys.readouterr().out
    assert "Rust: one, 1 crate\n" in shown
    assert "Rust: two, 2 crates · C++: 1 of 9 units\n" in shown
    assert "43 of 43" not in shown


def test_a_character_that_the_terminal_lacks_does_not_end_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    say("in /opt/Übung · 2 crates")
    assert terminal.buffer.getvalue().endswith(b"in /opt/?bung ? 2 crates\n")
