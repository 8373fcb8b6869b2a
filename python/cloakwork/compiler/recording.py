"""Emitted functions as programs that hold no client's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.programs.program import Program
from cloakwork.programs.signature import Signature
from cloakwork.programs.tracing import record, without_elements

Emitted = Callable[[Mapping[str, CkksCiphertext]], dict[str, CkksCiphertext]]


def recorded(emitter: Emitted, inputs: Mapping[str, CkksCiphertext]) -> Program:
    """The program of an emitter, traced with ciphertexts by name; it keeps neither them nor keys.

    Its last input is the client's evaluation keys, if it needs any.
    """

    def function(*values: CkksCiphertext) -> dict[str, CkksCiphertext]:
        return emitter(dict(zip(inputs, values, strict=True)))

    program = record(function, inputs)
    own = program._signature
    examples = {name: _alone(without_elements(one)) for name, one in own.examples.items()}
    results = [_alone(one) for one in own.results]
    bundles = {name: replace(bundle, own={}) for name, bundle in own.bundles.items()}
    return Program(program._core, Signature(examples, results, bundles, own.tied))


def _alone(value: Any) -> Any:
    """A ciphertext without evaluation keys; anything else as it is."""
    return replace(value, evaluation=None) if isinstance(value, CkksCiphertext) else value
