"""Results of a compiled model that others may see: what noise flooding needs to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.compiler.description import check_names
from cloakwork.errors import ModelError, ParamError
from cloakwork.fhe.keys.flooding import Request, check_queries

if TYPE_CHECKING:
    from cloakwork.compiler.description import Description
    from cloakwork.compiler.ports import Port
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.programs.program import Program


def requests(
    description: Description,
    program: Program | None,
    encrypted: Mapping[str, Ciphertext],
    batch: int | None,
    options: Mapping[str, Any],
) -> dict[str, Request] | None:
    """The flooding of each result; None without `queries`.

    program   of the model, as the client knows it: its estimates count if it was compiled in this
              process, and not if it comes from a file
    options   queries, security and noise_bits, as of `Keys.decrypt`

    Raises ParamError for options without `queries`, fewer queries than a result has ciphertexts,
    and results whose error the client does not know; ModelError for other results.
    """
    if Request.made(**options) is None:
        return None
    ports = description.outputs
    held = {port.name: encrypted[port.name] for port in ports if port.name in encrypted}
    check_names("results", held, {port.name for port in ports})
    check_queries(held.values(), options)
    slots = next(iter(held.values())).context.slots
    most = description.capacity(slots)
    count = most if batch is None else batch
    if not 1 <= count <= most:
        raise ModelError(f"batch: expected 1 to {most} samples, got {batch}")
    found = {}
    for port in ports:
        one = held[port.name]
        known = None
        # The estimate of a result that was computed here is known; a file's is a claim.
        if options["noise_bits"] is None and getattr(one, "claimed", False):
            known = _own(program)
        disclosed = _disclosed_slots(port, one.batch, slots, count)
        request = Request.made(slots=disclosed, program=known, **options)
        assert request is not None
        found[port.name] = request
    return found


def _own(program: Program | None) -> Program:
    """The program, if its estimates are the client's own."""
    if program is None or any(getattr(one, "claimed", False) for one in program.returned):
        allowed = (
            "log2 of a bound on the error of every slot, from your own knowledge: this model comes "
            "from a file or a server, whose writer may have understated its noise. "
            "context.circuit_noise computes a bound; the client of a model that you compiled in "
            "this process needs none"
        )
        raise ParamError("noise_bits", None, allowed)
    return program


def _disclosed_slots(
    port: Port, ciphertexts: int | None, slots: int, count: int
) -> NDArray[np.bool_]:
    """[slots]: those from which a result's values are read, in any of its ciphertexts."""
    numbers = np.arange(slots, dtype=np.float64)
    shape = (slots,) if ciphertexts is None else (ciphertexts, slots)
    read = port.values_of(np.broadcast_to(numbers, shape), count)
    held = np.zeros(slots, dtype=np.bool_)
    held[read.ravel().astype(np.int64)] = True
    return held
