"""The parts of `dev.py`. Standard library only: they run before anything is installed.

console      output for the developer: steps, timings, errors as text
toolchain    programs that the machine must have, and how to get them
environment  .venv, the requirements in it, and the built extension
interpreters the Pythons of this machine
peers        libraries that benchmarks compare with
pythons      the extension under every supported Python
aarch64      the portable kernels on another architecture
aarch64_rust cargo check of the crates for it
matrix       these three
commands     demo, test, check, ...: the table that `dev.py --help` prints
"""
