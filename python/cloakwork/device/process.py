"""The process of a driver: the engine starts it, with a socket as its standard input.

It needs the extension alone, so it is run as a file: `python -I -S process.py CORE PARENT`, with
the file of the extension and the number of the process that started it.
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader


def main(core: str, parent: str) -> None:
    """Serve the parent until it ends."""
    loader = ExtensionFileLoader("_core", core)
    spec = spec_from_loader("_core", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    module.serve_driver(int(parent))


if __name__ == "__main__":
    main(*sys.argv[1:])
