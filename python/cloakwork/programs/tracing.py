"""Recording programs from Python functions over tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cloakwork import _core
from cloakwork.errors import TraceError
from cloakwork.programs.clients import Client, Companions, Owner, recording
from cloakwork.programs.inputs import parameters_of
from cloakwork.programs.program import Program
from cloakwork.programs.signature import Bundle, Carrier, Signature

if TYPE_CHECKING:
    from cloakwork.programs.signature import Value


def trace(function: Callable[..., Any], *examples: Value) -> Program:
    """Record what `function` does with tensors of the examples' types.

    `function` is called once, with tensors that have a shape and a dtype and no elements, or with
    ciphertexts around such tensors.  Every op on them becomes a step.  Other tensors that it uses
    become constants, except evaluation keys, which become inputs: one program serves many clients.
    It must return a Tensor or a ciphertext, or a tuple, list or dict of them.

    Inputs have the names of the function's parameters; results are named `out0`, `out1`, ..., or
    like the fields of a named tuple or the keys of a dict.

    Raises TraceError if the function needs elements, randomness or a tensor of another trace, and
    SecretError if it uses a tensor that is marked as secret.

    >>> import cloakwork as cw
    >>> example = cw.zeros(3, "i64")
    >>> program = cw.trace(lambda a, b: cw.ops.modmul(a, b, 17), example, example)
    >>> program.run([1, 2, 3], [10, 10, 10]).outputs[0]
    Tensor([10,  3, 13], dtype=i64)
    >>> program.inputs, program.run({"b": [10, 10, 10], "a": [1, 2, 3]})["out0"].tolist()
    (['a', 'b'], [10, 3, 13])
    """
    names = parameters_of(function, len(examples))
    return record(function, dict(zip(names, examples, strict=True)))


def record(function: Callable[..., Any], examples: Mapping[str, Any]) -> Program:
    """`trace` with names for the inputs."""
    held = {
        name: value if isinstance(value, _core.Tensor | Carrier) else _as_tensor(value)
        for name, value in examples.items()
    }
    tensors = [v.carried() if isinstance(v, Carrier) else v for v in held.values()]
    returned: dict[str, Any] = {}

    def body(*traced: _core.Tensor) -> Any:
        result = function(*map(_traced, held.values(), traced))
        returned.update(_results_by_name(result))
        values = [v.carried() if isinstance(v, Carrier) else v for v in returned.values()]
        return values if returned else result

    with recording(examples) as met:
        core = _core.trace(body, tensors).renamed(list(examples), list(returned))
    carriers = [value if isinstance(value, Carrier) else None for value in returned.values()]
    tied = {one.key for one in carriers if one is not None and not isinstance(one.key, Owner)}
    results = [None if one is None else _around_nothing(one, one.companions) for one in carriers]
    wanted = [name for name in core.input_names() if name not in examples]
    bundles = {}
    for owner, name in met.owners.items():
        needs = tuple(one[len(name) + 1 :] for one in wanted if one.startswith(f"{name}."))
        if needs:
            bundles[name] = Bundle(owner, needs, {need: met.bundles[name][need] for need in needs})
    return Program(core, Signature(held, results, bundles, met.tied | tied))


def _as_tensor(value: Any) -> _core.Tensor:
    # Loads NumPy, which programs of tensors do not need.
    from cloakwork.tensors.conversion import asarray

    return asarray(value)


def without_elements(carrier: Carrier) -> Carrier:
    """The same around zeros that take no memory, without keys."""
    return _around_nothing(carrier, None)


def _around_nothing(carrier: Carrier, companions: Companions | None) -> Carrier:
    """The same around zeros that take no memory: its own tensor belongs to the trace."""
    from cloakwork.array_api.creation import zeros
    from cloakwork.array_api.manipulation import broadcast_to

    shape, dtype = carrier.carried().shape, carrier.carried().dtype
    nothing = broadcast_to(zeros((), dtype=dtype), shape)
    return carrier.carrying(nothing, Client(str(carrier.key), companions))


def _traced(example: Any, traced: _core.Tensor) -> Any:
    """The function's argument in place of an example: around a traced tensor, of any client."""
    if not isinstance(example, Carrier):
        return traced
    return example.carrying(traced, Client(Owner(example.key), example.companions))


def _results_by_name(result: Any) -> dict[str, Any]:
    """The results of a function by name; empty for results that the engine will refuse."""
    if isinstance(result, Carrier | _core.Tensor):
        return {"out0": result}
    if isinstance(result, Mapping):
        return _by_keys(result)
    if isinstance(result, tuple | list):
        fields = getattr(type(result), "_fields", ())
        return {
            fields[index] if fields else f"out{index}": value for index, value in enumerate(result)
        }
    return {}


def _by_keys(result: Mapping[Any, Any]) -> dict[str, Any]:
    """Results in a dict; TraceError for keys that are not distinct strings, such as 1 and "1"."""
    found: dict[str, Any] = {}
    for key, value in result.items():
        name = str.__str__(key) if isinstance(key, str) else None
        if name is None or name in found:
            raise TraceError(
                f"results of a traced function are called as its dict's keys are, got the key "
                f"{key!r} ({type(key).__name__}): return a dict whose keys are different texts"
            )
        found[name] = value
    return found
