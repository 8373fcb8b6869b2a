"""Random tensors for cryptography: the operating system's entropy, stretched by ChaCha20.

Nothing here can be seeded.  A program must not contain randomness, so that all of these raise
TraceError inside a function that is being traced.

`cloakwork.rand` and `cloakwork.randn` are for simulations: a seed repeats them.
"""

from cloakwork.random.secure import gaussian, ternary, uniform_mod

__all__ = ["gaussian", "ternary", "uniform_mod"]
