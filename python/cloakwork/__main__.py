"""The command line as a module: `python -m cloakwork`."""

from __future__ import annotations

import sys

from cloakwork.cli import main

if __name__ == "__main__":
    sys.exit(main())
