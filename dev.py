#!/usr/bin/env python3
"""Everything a developer does, from nothing but Python: `python3 dev.py --help`."""

import os
import sys

# This file stays readable to old interpreters, so that they get the next sentence, not a traceback.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "dev.py: needs Python 3.11 or newer, this is "
        + ".".join(str(part) for part in sys.version_info[:3])
        + ". Install a newer one (Debian, Ubuntu: apt install python3; or https://www.python.org),"
        + " then: python3.11 dev.py ..."
    )

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from scripts.dev.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
