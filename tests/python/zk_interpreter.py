"""A slow interpreter of the instruction set, from the JSON alone: Python integers and NumPy.

It runs each thread as far as possible before the next, which is a legal order. Streams run queued
work at once: a legal program gives the same results. Elements are Python integers, modulo the
modulus of their dtype.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

FR = {
    "bn254.fr": 0x30644E72E131A029B85045B68181585D2833E84879B9709143E1F593F0000001,
    "bls12_381.fr": 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001,
    "goldilocks": 2**64 - 2**32 + 1,
    "babybear": 2**31 - 2**27 + 1,
    "u64": 2**64,
}
Array = Any


def _shape(typ: Any) -> tuple[str, tuple[int, ...]]:
    if isinstance(typ, str):
        name = typ.split(":")[0]
        dtype, _, sizes = name.partition("<")
        return dtype, tuple(int(n) for n in sizes.rstrip(">").split("x") if n)
    ((kind, fields),) = typ.items()
    if kind == "Scalar":
        return fields["field"], ()
    return fields["dtype"], tuple(fields["shape"])


class Interpreter:
    """Runs a program; `draw(domain, count, dtype)` gives the values that `Blind` writes."""

    def __init__(
        self,
        program: dict[str, Any],
        inputs: dict[str, Any],
        draw: Callable[[str, int, str], list[int]] | None = None,
    ) -> None:
        self.program, self.inputs, self.draw = program, inputs, draw
        # A register: its buffer, the places of its elements there, and its dtype.
        self.registers: dict[str, tuple[Array, Array, str]] = {}
        self.happened: set[str] = set()
        self.ended: set[str] = set()
        self.outputs: dict[str, Array] = {}

    def run(self) -> dict[str, Array]:
        threads = [("main", self.thread("main", self.program["main"]))]
        while threads:
            moved = False
            for entry in list(threads):
                name, steps = entry
                for event in steps:
                    if event == "blocked":
                        break
                    moved = True
                    if isinstance(event, tuple):
                        threads.append(event)
                else:
                    moved = True
                    self.ended.add(name)
                    threads.remove(entry)
            assert moved, "every thread waits"
        return self.outputs

    def thread(self, name: str, instructions: list[dict[str, Any]]) -> Iterator[Any]:
        for index, one in enumerate(instructions):
            op = one["op"]
            if op == "Fork":
                yield (one["new_thread"], self.thread(one["new_thread"], one["instructions"]))
            elif op == "Wait":
                while one["event"] not in self.happened:
                    yield "blocked"
            elif op == "Join":
                while one["thread"] not in self.ended:
                    yield "blocked"
            elif op == "Record":
                self.happened.add(one["event"])
            else:
                getattr(self, f"do_{op.lower()}")(one, f"{name}/{index}")
            yield "done"

    def read(self, name: str) -> Array:
        buffer, places, _ = self.registers[name]
        read = np.empty(places.shape, dtype=object)
        read[...] = buffer[places]
        return read

    def write(self, name: str, values: Array) -> None:
        buffer, places, dtype = self.registers[name]
        wanted = np.broadcast_to(np.asarray(values, dtype=object), places.shape)
        buffer[places] = wanted % FR[dtype]

    def own(self, name: str, dtype: str, values: Array) -> None:
        flat = np.asarray(values, dtype=object).ravel()
        places = np.arange(flat.size).reshape(np.shape(values))
        self.registers[name] = (flat.copy(), places, dtype)

    def view(self, one: dict[str, Any], change: Callable[[Array], Array]) -> None:
        buffer, places, dtype = self.registers[one["src"]]
        self.registers[one["dst"]] = (buffer, change(places), dtype)

    def do_allocate(self, one: dict[str, Any], _: str) -> None:
        dtype, shape = _shape(one["typ"])
        garbage = -1 if not one.get("zero") else 0
        self.own(one["id"], dtype, np.full(shape, garbage, dtype=object))

    def do_loadinput(self, one: dict[str, Any], _: str) -> None:
        dtype, shape = _shape(self.program["inputs"][one["src"]]["type"])
        values = np.asarray(self.inputs[one["src"]], dtype=object).reshape(shape)
        self.own(one["dst"], dtype, values)

    def do_loadconstant(self, one: dict[str, Any], _: str) -> None:
        entry = self.program["constants"][one["src"]]
        dtype, shape = _shape(entry["type"])
        values = [int(v, 0) if isinstance(v, str) else v for v in entry["values"]]
        self.own(one["dst"], dtype, np.asarray(values, dtype=object).reshape(shape))

    def do_transfer(self, one: dict[str, Any], _: str) -> None:
        source, target = self.read(one["src_id"]), self.read(one["dst_id"])
        padded = np.zeros(target.shape, dtype=object)
        padded[tuple(slice(0, size) for size in source.shape)] = source
        self.write(one["dst_id"], padded)

    def do_rotation(self, one: dict[str, Any], _: str) -> None:
        self.view(one, lambda places: np.roll(places, one["shift"]))

    def do_slice(self, one: dict[str, Any], _: str) -> None:
        step = one.get("step", 1)
        self.view(one, lambda places: places[one["start"] : one["end"] : step])

    def do_setslicemeta(self, one: dict[str, Any], _: str) -> None:
        size = self.registers[one["src"]][0].size
        place = (np.arange(one["len"]) + one["offset"]) % size
        self.view(one, lambda _: place)

    def do_view(self, one: dict[str, Any], _: str) -> None:
        args = one["args"]
        changes: dict[str, Callable[[Array], Array]] = {
            "reshape": lambda places: places.reshape(args),
            "permute": lambda places: places.transpose(args),
            "expand": lambda places: np.repeat(places, args[1], args[0]),
            "broadcast": lambda places: np.broadcast_to(places, args),
        }
        self.view(one, changes[one["kind"]])

    def do_element(self, one: dict[str, Any], _: str) -> None:
        self.write(one["dst"], self.read(one["src"])[one["index"]])

    def do_moveregister(self, one: dict[str, Any], _: str) -> None:
        self.registers[one["dst"]] = self.registers.pop(one["src"])

    def do_deallocate(self, one: dict[str, Any], _: str) -> None:
        del self.registers[one["id"]]

    do_removeregister = do_deallocate

    def do_asserteq(self, one: dict[str, Any], _: str) -> None:
        assert (self.read(one["value"]) == self.read(one["expected"])).all()

    def do_print(self, one: dict[str, Any], _: str) -> None:
        pass

    def do_blind(self, one: dict[str, Any], label: str) -> None:
        assert self.draw is not None
        start, end = one["start"], one["end"]
        values = self.read(one["dst"]).copy()
        dtype = self.registers[one["dst"]][2]
        values[start:end] = self.draw(one.get("domain", label), end - start, dtype)
        self.write(one["dst"], values)

    def do_store(self, one: dict[str, Any], _: str) -> None:
        self.outputs[one["output"]] = self.read(one["src"]).copy()

    def do_return(self, one: dict[str, Any], _: str) -> None:
        names = one["id"] if isinstance(one["id"], list) else [one["id"]]
        for name in names:
            self.outputs[name] = self.read(name).copy()

    def do_funccall(self, one: dict[str, Any], label: str) -> None:
        outs = one["arg_mut"]
        if one["func"] == "random":
            size = self.registers[outs[0]][1].size
            self.do_blind({"dst": outs[0], "start": 0, "end": size}, label)
            return
        args = [self.read(name).copy() for name in one.get("arg", [])]
        attrs = one.get("attrs", {})
        getattr(self, f"call_{one['func']}")(outs, args, attrs)

    def call_add(self, outs: list[str], args: list[Array], attrs: dict[str, Any]) -> None:
        self.sum(outs, args, attrs, 1)

    def call_sub(self, outs: list[str], args: list[Array], attrs: dict[str, Any]) -> None:
        self.sum(outs, args, attrs, -1)

    def sum(self, outs: list[str], args: list[Array], attrs: dict[str, Any], sign: int) -> None:
        a, b = args
        if attrs.get("scalar_at") == "constant_term" and np.ndim(a) != np.ndim(b):
            spread = np.zeros(max(a.shape, b.shape), dtype=object)
            spread[0] = a if np.ndim(a) == 0 else b
            a, b = (spread, b) if np.ndim(a) == 0 else (a, spread)
        self.write(outs[0], a + sign * b)

    def call_mul(self, outs: list[str], args: list[Array], _: dict[str, Any]) -> None:
        self.write(outs[0], args[0] * args[1])

    def call_neg(self, outs: list[str], args: list[Array], _: dict[str, Any]) -> None:
        self.write(outs[0], -args[0])

    def call_axpy(self, outs: list[str], args: list[Array], _: dict[str, Any]) -> None:
        self.write(outs[0], self.read(outs[0]) + args[0] * args[1])

    def call_scale(self, outs: list[str], args: list[Array], _: dict[str, Any]) -> None:
        self.write(outs[0], self.read(outs[0]) * args[0])

    def call_fill_zero(self, outs: list[str], _: list[Array], __: dict[str, Any]) -> None:
        self.write(outs[0], 0)

    def call_fill_one(self, outs: list[str], _: list[Array], attrs: dict[str, Any]) -> None:
        self.write(outs[0], 0)
        buffer, places, _dtype = self.registers[outs[0]]
        buffer[places if attrs.get("repr") == "lagrange" else places.flat[0]] = 1

    def call_assemble(self, outs: list[str], args: list[Array], _: dict[str, Any]) -> None:
        size = self.registers[outs[0]][1].size
        self.write(outs[0], [*map(int, args), *[0] * (size - len(args))])

    def call_index(self, outs: list[str], args: list[Array], attrs: dict[str, Any]) -> None:
        self.write(outs[0], args[0][attrs["index"]])

    def call_permute_expression(
        self, outs: list[str], args: list[Array], attrs: dict[str, Any]
    ) -> None:
        usable = attrs["usable"]
        padding = [0] * (args[0].size - usable)
        a, t = (list(map(int, column[:usable])) for column in args)
        a.sort()
        begins = [i for i in range(usable) if i == 0 or a[i] != a[i - 1]]
        column: list[int | None] = [None] * usable
        for i in begins:
            t.remove(a[i])  # ValueError: the table lacks it
            column[i] = a[i]
        empty = [i for i in range(usable) if column[i] is None]
        for i, left in zip(reversed(empty), sorted(t), strict=True):
            column[i] = left
        for out, values in zip(outs, (a, column), strict=True):
            self.write(out, [*values, *padding])

    def call_fused(self, outs: list[str], args: list[Array], attrs: dict[str, Any]) -> None:
        steps: list[Array] = []

        def value(name: str) -> Array:
            return args[int(name[2:])] if name.startswith("in") else steps[int(name[1:])]

        for op, *names in attrs["expr"]:
            a, b = value(names[0]), value(names[-1])
            does = {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a, "square": a * a}
            steps.append(does[op])
        for out, name in zip(outs, attrs["outs"], strict=True):
            self.write(out, value(name))


def drawn(key: bytes, domain: str, count: int, dtype: str) -> list[int]:
    """Uniform elements: blocks of ChaCha20 (the first variant, 64 bits of counter and nonce)."""
    nonce = hashlib.sha256(domain.encode()).digest()[:8]
    blocks = [_chacha(key, index, nonce) for index in range(count)]
    return [int.from_bytes(block, "little") % FR[dtype] for block in blocks]


def _chacha(key: bytes, counter: int, nonce: bytes) -> bytes:
    start = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<Q", counter) + nonce)
    state = list(start)
    columns = [(0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)]
    diagonals = [(0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            for to, other, mixed, turn in (
                (a, b, d, 16),
                (c, d, b, 12),
                (a, b, d, 8),
                (c, d, b, 7),
            ):
                state[to] = (state[to] + state[other]) % 2**32
                word = state[mixed] ^ state[to]
                state[mixed] = (word << turn | word >> (32 - turn)) % 2**32
    words = [(a + b) % 2**32 for a, b in zip(state, start, strict=True)]
    return struct.pack("<16I", *words)
