"""Modules of WebAssembly with the exports of circom's, each of which may be replaced."""

from __future__ import annotations

import wasmtime

PRIME = 21888242871839275222246405745257275088548364400416034343698204186575808495617
_WORDS = [PRIME >> 32 * place & 0xFFFFFFFF for place in range(8)]
_READ = "".join(
    f"(if (i32.eq (local.get 0) (i32.const {place})) (then (return (i32.const {word}))))"
    for place, word in enumerate(_WORDS)
)
# Of a circuit with two wires and one input, `a`, of which nothing is kept: 1 is every value.
EXPORTS = {
    "getVersion": "(result i32) (i32.const 2)",
    "getMinorVersion": "(result i32) (i32.const 2)",
    "getPatchVersion": "(result i32) (i32.const 3)",
    "getFieldNumLen32": "(result i32) (i32.const 8)",
    "getRawPrime": "(global.set $shown (i32.const 0))",
    "readSharedRWMemory": "(param i32) (result i32) (if (global.get $shown) (then (return "
    f"(i32.eqz (local.get 0))))) {_READ} (i32.const 0)",
    "writeSharedRWMemory": "(param i32 i32)",
    "getWitnessSize": "(result i32) (i32.const 2)",
    "getInputSize": "(result i32) (i32.const 1)",
    "getInputSignalSize": "(param i32 i32) (result i32) (i32.const 1)",
    "init": "(param i32)",
    "setInputSignal": "(param i32 i32 i32)",
    "getWitness": "(param i32) (global.set $shown (i32.const 1))",
    "getMessageChar": "(result i32) (i32.const 0)",
}


def module(memory: str = "1", more: str = "", imports: str = "", **replaced: str | None) -> bytes:
    """The bytes of a module; a function that is replaced by None is not exported."""
    bodies = {**EXPORTS, **replaced}
    functions = "\n".join(
        f'(func (export "{name}") {body})' for name, body in bodies.items() if body is not None
    )
    text = f"""(module {imports} (memory (export "memory") {memory})
    (global $shown (mut i32) (i32.const 0)) {functions} {more})"""
    return bytes(wasmtime.wat2wasm(text))
