"""The command as a process of its own."""

import sys

_MAIN = "import sys; from cloakwork.cli import main; sys.exit(main())"
COMMAND = [sys.executable, "-c", _MAIN]
# Ctrl-C ends it even if the test runner ignores that signal, which children inherit.
INTERRUPTIBLE = [
    sys.executable,
    "-c",
    f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {_MAIN}",
]
