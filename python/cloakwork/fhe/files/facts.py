"""Statements of files and descriptions about contexts and ciphertexts, read strictly.

Every function takes the contents of a file, and raises LoadError that names the field.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from math import log2
from typing import Any, cast

from cloakwork.errors import ParamError
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.encoding.packing import Packing
from cloakwork.fhe.estimates.bounds import Bound, Stated
from cloakwork.fhe.files.container import Contents
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.samplers import SEED_BYTES
from cloakwork.strict import Member

# No chain has as many bits, so that no noise and no bound may, either.
MOST_BITS = float(1 << 20)
# Of a float's exponent.
_MOST_FLOAT = 1023.0
# low, high and three sizes.
_BOUND_NUMBERS = 5
# Moduli are below 2^62; all other whole numbers are smaller.
_MOST_WHOLE = (1 << 62) - 1
_MOST_COUNT = 1 << 40
_DIGEST_BYTES = 16
_NEEDED = (
    "scheme", "degree", "moduli", "special", "scale", "plain_modulus", "digit_limbs",
    "gadget_base_log2", "security",
)  # fmt: skip
# Only where they differ from their defaults.
_LATER = ("slot_order", "reserved")
_WHOLE = ("degree", "plain_modulus", "digit_limbs", "gadget_base_log2", "reserved")


def parameters_of(contents: Contents) -> Parameters:
    """The parameters, which must have the fingerprint that the file states."""
    note = contents.field("parameters")
    given = note.some_of((*_NEEDED, *_LATER), _NEEDED)
    found: dict[str, Any] = {
        name: given[name].whole(0, _MOST_WHOLE) for name in _WHOLE if name in given
    }
    for name in ("moduli", "special"):
        found[name] = tuple(one.whole(0, _MOST_WHOLE) for one in given[name].parts())
    found["scheme"] = given["scheme"].one_of("ckks", "bgv", "bfv")
    found["scale"] = given["scale"].exact()
    found["security"] = given["security"].optional(int)
    if "slot_order" in given:
        found["slot_order"] = given["slot_order"].of(str)
    try:
        parameters = Parameters(**found)
    except ParamError as error:
        raise contents.wrong("parameters", "ones that keep the rules", str(error)) from error
    if contents.field("fingerprint").of(str) != parameters.fingerprint:
        raise contents.wrong("fingerprint", "that of the parameters", "another")
    return parameters


def owner_of(contents: Contents) -> str:
    """The fingerprint of the secret, 32 hexadecimal digits."""
    return contents.field("key").octets(_DIGEST_BYTES).hex()


def levels_of(contents: Contents) -> Levels:
    """Whether levels are handled automatically."""
    return cast("Levels", contents.field("levels").one_of("auto", "manual"))


def context_bound(contents: Contents) -> Stated | None:
    """A context's bound of the values of its ciphertexts."""
    if contents.fields.get("bound") is None:
        return None
    note = contents.field("bound")
    if not isinstance(note.value, list):
        found: Stated = note.number()
    else:
        edges = [part.number() for part in note.parts()]
        if len(edges) != 2:
            raise note.wrong("a number, or two")
        found = edges[0], edges[1]
    try:
        Bound.stated(found)
    except ParamError as error:
        raise note.wrong(error.allowed, str(error.value)) from error
    return found


def values_of(contents: Contents) -> Bound:
    """The bound of a ciphertext's values; older files hold only their size."""
    size = estimate(contents, "size")
    if "values" not in contents.fields:
        return Bound.circle(2.0 ** min(size, _MOST_FLOAT))
    note = contents.field("values")
    numbers = [part.number() for part in note.parts()]
    if len(numbers) != _BOUND_NUMBERS:
        raise note.wrong("five numbers")
    low, high, imaginary, magnitude, rms = numbers
    if not (low <= high and imaginary >= 0 and magnitude >= 0 and rms >= 0):
        raise note.wrong("low, high and three sizes", repr(numbers))
    # Saved again, it gives the same file.
    return replace(Bound.from_numbers(low, high, imaginary, magnitude, rms), given=True)


def packing_fields(packing: Packing) -> dict[str, Any]:
    """The packing's fields in a file; the slots follow from the parameters."""
    names = ("length", "period", "count", "tiled")
    return {name: getattr(packing, name) for name in names}


def packing_of(contents: Contents, context: Context) -> Packing:
    """The packing of a ciphertext; all slots if the file states none."""
    if "packing" not in contents.fields:
        return context.whole
    note = contents.field("packing")
    length, period, count, tiled = note.members("length", "period", "count", "tiled")
    numbers = [one.whole(1, context.slots) for one in (length, period)]
    vectors = None if count.value is None else count.whole(1, context.slots)
    try:
        return context.packing(numbers[0], period=numbers[1], count=vectors, tiled=tiled.of(bool))
    except ParamError as error:
        raise note.wrong("one that fits into the slots", str(error)) from error


def estimate(contents: Contents, name: str) -> float:
    """log2 of a bound in a file; -inf for a bound of 0."""
    note = contents.field(name)
    found = note.number()
    if not found < MOST_BITS:
        raise note.wrong(f"a number below {MOST_BITS:.0f}")
    return found


def batch_of(contents: Contents) -> int | None:
    """The number of ciphertexts of a batch; None for one without the axis."""
    stated = contents.fields.get("batch") is not None
    return contents.field("batch").whole(1, _MOST_COUNT - 1) if stated else None


def equal_rows(batch: int | None) -> float:
    """The default for older files: as if all ciphertexts of a batch were equal."""
    return log2(batch) / 2 if batch is not None and batch > 1 else 0.0


def key_seeds(contents: Contents) -> dict[str, bytes]:
    """The seeds of evaluation keys; b"" for another library's key, which is stored whole."""
    return {name: key_seed(one) for name, one in contents.field("seeds").named().items()}


def key_seed(note: Member) -> bytes:
    """The seed of a key; b"" for another library's key, which is stored whole."""
    return b"" if note.value == "" else note.octets(SEED_BYTES)


def key_levels(contents: Contents, context: Context, names: Collection[str]) -> dict[str, int]:
    """The level of each key; older files hold keys of the highest level alone."""
    top = context.parameters.level
    if "key_levels" not in contents.fields:
        return dict.fromkeys(names, top)
    note = contents.field("key_levels")
    found = note.named()
    if found.keys() != set(names):
        raise note.wrong(f"those of {sorted(names)}", f"{sorted(found)}")
    return {name: level.whole(0, top) for name, level in found.items()}


def galois_element(contents: Contents, name: str, degree: int) -> int:
    """The Galois element that a key is named by."""
    found = int(name) if re.fullmatch("[1-9][0-9]{0,9}", name) else 0
    if not (found % 2 and found < 2 * degree):
        raise contents.wrong("seeds", "odd Galois elements below 2 N", repr(name)[:60])
    return found
