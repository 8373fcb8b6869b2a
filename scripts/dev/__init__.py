"""The parts of `dev.py`. Standard library only: they run before anything is installed.

console      what the developer sees: steps, timings, errors in words
toolchain    what must already be on the machine, and how to get it
environment  .venv, the requirements in it, and the built extension
peers        what benchmarks compare with
commands     demo, test, check, ...: the table that `dev.py --help` prints
"""
