"""The parts of `dev.py`. Standard library only: they run before anything is installed.

console      what the developer sees: steps, timings, errors in words
toolchain    what must already be on the machine, and how to get it
environment  .venv, the requirements in it, and the built extension
interpreters the Pythons of this machine
peers        what benchmarks compare with
pythons      the extension under every supported Python
aarch64      the portable kernels on another architecture
matrix       both of these
commands     demo, test, check, ...: the table that `dev.py --help` prints
"""
