"""Default limits of a circuit's program; a module of its own, as the command line loads it."""

from __future__ import annotations

TIMEOUT_SECONDS = 300.0
# All that a program of WebAssembly can address.
MEMORY_LIMIT_BYTES = 4 << 30
