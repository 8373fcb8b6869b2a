"""Checks of a client on decrypted results, before it takes them for those of the model."""

from __future__ import annotations

from collections.abc import Mapping
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.description import Description, Guard
from cloakwork.compiler.ports import Port
from cloakwork.errors import NoiseError, OutsideError

__all__ = ["OutsideWarning", "check_results"]

Floats = NDArray[np.float64]

# Results beyond their range by this many times its length are not results any more.
_WRAPPED = 16.0
# Noise brings results beyond a range that is proven by at most this share of its length, and norms
# by this share of their limit.
_NOISE, _NORM_NOISE = 0.05, 0.25


class OutsideWarning(UserWarning):
    """A decrypted result is outside of the range for which the model was compiled."""


def check_results(described: Description, slots: Mapping[str, Floats], batch: int) -> None:
    """Check decrypted slots [n] or [ciphertexts, n] by name, of so many samples.

    Raises OutsideError for norms above their limit, NoiseError for values that no result has.
    OutsideWarning where only the sample's range is known, and values are outside.
    """
    guard = described.guard
    if guard is not None and guard.port is not None:
        _check_norms(guard, slots[guard.port.name], batch)
    for port in described.outputs:
        values = port.values_of(slots[port.name], batch).reshape(batch, port.size)
        _check_range(port, values, proven=guard is not None)


def _check_norms(guard: Guard, slots: Floats, batch: int) -> None:
    """OutsideError for a norm above its limit, in any slot; NoiseError for what is no norm.

    What one sample of a batch makes of a ciphertext that it outgrows, all of them have.  The first
    norm that is above its limit has room in the modulus, so that it does not wrap around.
    """
    port = guard.port
    assert port is not None
    limit = float(port.high[0])
    # Signs that are a little beyond 1 make doubts negative.
    shares = [_NORM_NOISE] * len(guard.of) + [1.0] * len(guard.doubts)
    most = limit * np.array(shares)
    low, high = port.spread(slots)
    if (high > limit).any():
        place = int((high > limit).argmax())
        rows = np.flatnonzero(port.values_of(slots, batch)[:, place] > limit)
        row = int(rows[0]) if len(rows) else batch
        alone = "" if batch == 1 else "; without it the others have results"
        raise OutsideError(f"sample {row}: the input {_failed(guard, place)}{alone}")
    if (low < -most).any() or (port.layout is not None and (high - low > most).any()):
        hint = "give inputs like the sample, and results of this model alone"
        raise NoiseError("decrypt", None, hint, "a norm is not one that the model computes")


def _failed(guard: Guard, place: int) -> str:
    """The meaning of an element of the guard above its limit, and the remedy."""
    if place < len(guard.of):
        return (
            f"brings {guard.of[place]} out of the range for which the model was compiled, and "
            "results would be wrong: compile with inputs like it in the sample, or a larger margin"
        )
    return (
        f"is so near to thresholds of {guard.doubts[place - len(guard.of)]} that the encrypted "
        "comparisons do not tell on which side it is: compile with a smaller precision= for finer "
        "ones, or with guard=False to get mixtures of both sides"
    )


def _check_range(port: Port, values: Floats, *, proven: bool) -> None:
    """Of values [batch, size] in the units of the program."""
    low, high = float((port.low / port.units).min()), float((port.high / port.units).max())
    room = (_NOISE if proven else _WRAPPED) * max(high - low, abs(high), abs(low))
    outside = ~((low - room <= values) & (values <= high + room))
    beyond = outside if outside.any() else (values < low) | (values > high)
    if not beyond.any() or (proven and not outside.any()):
        return
    # Neither message has decrypted values in it, which are secret.
    least, most = port.range_of(int(beyond.any(axis=0).argmax()))
    known_range = f"the range {least:.4g} to {most:.4g} for which the model was compiled"
    if outside.any():
        what = f"a result is {'' if proven else 'far '}beyond {known_range}"
        hint = f"{port.name}: give inputs like the sample, and results of this model alone"
        raise NoiseError("decrypt", None, hint, what)
    warn(
        f"result {port.name!r}: values are outside of {known_range}; its approximations may be "
        "wrong there: compile with a wider sample, bounds or margin",
        OutsideWarning,
        stacklevel=4,
    )
