"""The process of a driver: the engine starts it, with a socket as its standard input.

It needs the extension alone, so it is run as a file: `python -I -S process.py CORE PARENT`, with
the file of the extension and the number of the process that started it.  With `ops LIBRARY` in
place of the number it writes the declarations of ops that the library exports, and ends.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader


def main(core: str, parent: str, library: str = "") -> None:
    """Serve the parent until it ends, or write a library's declarations."""
    loader = ExtensionFileLoader("_core", core)
    spec = spec_from_loader("_core", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    if parent != "ops":
        module.serve_driver(int(parent))
        return
    # What the library prints goes to standard error.
    answer = os.dup(1)
    os.dup2(2, 1)
    left = (module.driver_ops(library) or "").encode()
    while left:
        left = left[os.write(answer, left) :]


if __name__ == "__main__":
    main(*sys.argv[1:])
