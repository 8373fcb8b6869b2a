"""What each option of `serve-prover` sets, for the test that every option reaches its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cloakwork.cli import prover_server
from cloakwork.serving import ProverLimits

_LINE = "serve-prover k.zkey"


def _rows() -> dict[tuple[str, str], tuple[Any, str, str, Any]]:
    given: list[tuple[str, str, Any]] = [
        ("wasm", "c.wasm", ["c.wasm"]),
        ("port", "7000", 7000),
        ("host", "::1", "::1"),
        ("store", "new", Path("new")),
        ("token-file", "t", Path("t")),
        ("ssl-certfile", "c.pem", Path("c.pem")),
        ("ssl-keyfile", "k.pem", Path("k.pem")),
        ("insecure", "", True),
        ("threads", "3", ProverLimits(threads=3)),
        ("parallel", "2", ProverLimits(parallel=2)),
        ("queue", "5", ProverLimits(queue=5)),
        ("memory-budget", "3GiB", ProverLimits(memory_bytes=3 << 30)),
        ("jobs-quota", "2GiB", ProverLimits(jobs_bytes=2 << 30)),
        ("run-seconds", "9", ProverLimits(run_seconds=9.0)),
        ("result-seconds", "9", ProverLimits(result_seconds=9.0)),
        ("held-quota", "2GiB", ProverLimits(held_bytes=2 << 30)),
        ("client-quota", "1GiB", ProverLimits(client_bytes=1 << 30)),
        ("connections", "5", ProverLimits(connections=5)),
        ("client-connections", "5", ProverLimits(client_connections=5)),
        ("head-seconds", "3", ProverLimits(head_seconds=3.0)),
        ("idle-seconds", "3", ProverLimits(idle_seconds=3.0)),
        ("request-seconds", "3", ProverLimits(request_seconds=3.0)),
        ("read-seconds", "3", ProverLimits(read_seconds=3.0)),
        ("least-rate", "2KiB", ProverLimits(rate_bytes=2048)),
    ]
    return {
        ("serve-prover", f"--{name}"): (
            prover_server, "start", f"{_LINE} --{name} {word}".rstrip(), value,
        )
        for name, word, value in given
    }  # fmt: skip


PROVER_SERVER = _rows()
