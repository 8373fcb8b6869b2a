"""Witnesses by circom's WebAssembly, without Node.

A circuit's program is compiled once; each witness is computed in an instance of its own, which
reaches nothing of the host, is limited in time and memory, and is overwritten afterwards.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from os import PathLike

from cloakwork import _core, files
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError
from cloakwork.fields.parameters import ORDERS
from cloakwork.lazy import public
from cloakwork.programs.options import bytes_of
from cloakwork.recognition import expecting
from cloakwork.sending import Here
from cloakwork.wording import listed
from cloakwork.zk.circom.files import Witness
from cloakwork.zk.circom.inputs import Inputs, encoded, read
from cloakwork.zk.circom.limits import MEMORY_LIMIT_BYTES, TIMEOUT_SECONDS
from cloakwork.zk.circom.runtime import library

_Path = str | PathLike[str]
Log = Callable[[str], object]

# Fields of circom's option `--prime` that no key here is over, by their primes' lengths in bits and
# last 32 bits.
_OTHERS = {
    (254, 0xD87CFD47): "grumpkin",
    (64, 0x00000001): "goldilocks",
    (255, 0x00000001): "pallas or vesta",
    (256, 0xFFFFFFFF): "secq256r1",
    (253, 0x00000001): "bls12377",
}
_SCALAR_BYTES = 32
# A line of a .sym file: label, wire, component, name.
_SYMBOL = re.compile(r"^[0-9]+,-?[0-9]+,([0-9]+),main\.(\S+)$", re.MULTILINE)
_INDEXES = re.compile(r"(?:\[[0-9]+\])+$")


def _to_standard_error(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@public("cloakwork.zk")
class WitnessGenerator(Here):
    """A circuit of circom, compiled once, for any number of witnesses; threads may share it.

    wasm           circom's program, `NAME_js/NAME.wasm`: circom 2.0 to 2.2, over bn128 or bls12381
    sym            circom's `.sym` file, whose names errors then show
    optimize       compile to faster code, which takes several times as long: for many witnesses
    timeout        the longest time in seconds that a witness may take
    memory_limit   the circuit's memory: bytes, or text such as "1GiB"
    log            called with each line of the circuit's `log`; by default these go to standard
                   error

    It needs the package wasmtime, the extra `circom`.  Raises LoadError for a file that is no
    program of circom, that is damaged, or that is over another field.
    """

    _stays = "send the paths of its files, and make one where witnesses are computed"

    def __init__(
        self,
        wasm: _Path,
        *,
        sym: _Path | None = None,
        optimize: bool = True,
        timeout: float = TIMEOUT_SECONDS,
        memory_limit: int | str = MEMORY_LIMIT_BYTES,
        log: Log | None = None,
    ) -> None:
        self._most = (_seconds(timeout), _bytes(memory_limit))
        self._log = log or _to_standard_error
        name = files.name_of(wasm, "wasm")
        runtime = library()
        with expecting("a circuit's program, .wasm", name, "wasm"):
            module = (name, files.read(name))
            self._program = _core.CircuitProgram(runtime, module, optimize, self._most, self._log)
        version, prime, self.wires, self.inputs = self._program.facts()
        self.version: tuple[int, ...] = tuple(version)
        self.curve = _curve(name, prime)
        self._bytes = len(prime)
        self._name = name
        self.signals: dict[str, int] | None = None if sym is None else self._known(sym)

    def __repr__(self) -> str:
        return (
            f"WitnessGenerator({self.curve}, wires={self.wires}, inputs={self.inputs}, "
            f"circom {'.'.join(map(str, self.version))})"
        )

    def witness(
        self, inputs: Inputs, *, timeout: float | None = None, log: Log | None = None
    ) -> Witness:
        """Compute the witness for inputs by name: a JSON file, or a mapping.

        Values are integers, booleans, text of decimal or 0x digits, arrays and lists of these of
        any depth, NumPy's too, and mappings for buses; above -p and below the prime p, where
        snarkjs reduces any number.  A signal's array is given whole.

        timeout, log   instead of the generator's

        Raises ParamError for a signal that is missing, unknown, given twice, of another number of
        values, or with a value that is none; WitnessError with circom's template and line where
        the inputs do not satisfy the circuit, and where its program fails or takes too long.
        """
        most = (self._most[0] if timeout is None else _seconds(timeout), self._most[1])
        values = encoded(read(inputs), ORDERS[self.curve], self._bytes)
        if self.signals is not None:
            _check(self.signals, {name for name, _ in values})
        # No copy is left on the stack either.
        words: Tensor = _core.wiped(lambda: self._program.witness(values, most, log or self._log))
        return Witness(self.curve, words)

    def _known(self, sym: _Path) -> dict[str, int]:
        """The circuit's inputs, and the number of values of each, by a file of all signals."""
        name = files.name_of(sym, "sym")
        try:
            lines = _SYMBOL.findall(files.read(name).decode())
        except UnicodeDecodeError:
            raise LoadError(f"{name}: expected circom's .sym, got bytes that are no text") from None
        main = {component for component, _ in lines[:1]}
        own = {_INDEXES.sub("", signal): None for component, signal in lines if component in main}
        names = list(own)
        sizes = self._program.sizes(names, self._most, self._log)
        # No input has no values.
        found = {signal: size for signal, size in zip(names, sizes, strict=True) if size}
        if sum(found.values()) != self.inputs:
            raise LoadError(
                f"{name}: expected the {self.inputs} values of inputs of {self._name}, got "
                f"{sum(found.values())}: it is of another circuit"
            )
        return found


def generate_witness(
    wasm: _Path,
    inputs: Inputs,
    *,
    sym: _Path | None = None,
    timeout: float = TIMEOUT_SECONDS,
    memory_limit: int | str = MEMORY_LIMIT_BYTES,
    log: Log | None = None,
) -> Witness:
    """Compute one witness: `WitnessGenerator(wasm, ...).witness(inputs)`, compiled quickly."""
    return WitnessGenerator(
        wasm, sym=sym, optimize=False, timeout=timeout, memory_limit=memory_limit, log=log
    ).witness(inputs)


def generated(wasm: _Path | WitnessGenerator, inputs: Inputs) -> Witness:
    """The witness by a generator, or by a program that is compiled for it alone."""
    if isinstance(wasm, WitnessGenerator):
        return wasm.witness(inputs)
    return generate_witness(wasm, inputs)


def _seconds(timeout: float) -> float:
    if type(timeout) not in (int, float) or not timeout > 0:
        raise ParamError("timeout", timeout, "seconds, above 0")
    return float(timeout)


def _bytes(limit: int | str) -> int:
    if type(limit) is int and 0 < limit < 1 << 63:
        return limit
    return bytes_of(limit, "memory_limit") or 0


def _curve(name: str, prime: bytes) -> str:
    number = int.from_bytes(prime, "little")
    for curve in ("bn254", "bls12_381"):
        if number == ORDERS[curve]:
            if len(prime) != _SCALAR_BYTES:
                raise LoadError(
                    f"{name}: expected numbers of {_SCALAR_BYTES} bytes over {curve}, got "
                    f"{len(prime)}: compile the circuit again"
                )
            return curve
    known = _OTHERS.get((number.bit_length(), number & 0xFFFFFFFF))
    which = known or f"a prime of {number.bit_length()} bits"
    raise LoadError(f"{name}: expected a circuit over bn128 or bls12381, got one over {which}")


def _check(signals: dict[str, int], given: set[str]) -> None:
    """Refuse unknown and missing signals by name."""
    unknown = sorted(given - signals.keys())
    if unknown:
        allowed = f"one of {listed(signals)}"
        raise ParamError(f"input `{unknown[0]}`", "no signal of the circuit", allowed)
    missing = [name for name in signals if name not in given]
    if missing:
        raise ParamError("inputs", f"none for {listed(missing)}", f"all of {listed(signals)}")
