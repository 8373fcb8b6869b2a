"""Building programs of the instruction set in Python, one call per instruction."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cloakwork import _core
from cloakwork.errors import ParamError
from cloakwork.fields.parameters import CURVES
from cloakwork.lazy import public
from cloakwork.sending import Here
from cloakwork.zk.instructions.program import Program
from cloakwork.zk.instructions.values import Repr, Type, is_canonical

# Frames of the package itself, which are not the place where a program is written.
_OWN = str(Path(__file__).parents[1])


@dataclass(frozen=True, eq=False)
class Register:
    """A register of a program under construction."""

    builder: ProgramBuilder = field(repr=False)
    name: str
    type: Type
    device: str

    def rotate(self, by: int) -> Register:
        """The view `new[i] = old[i + by]`, halo2's rotation by omega^by: `numpy.roll(a, -by)`."""
        return self.builder.rotate(self, -by)

    def __getitem__(self, index: slice) -> Register:
        start, stop, step = index.indices(self.type.shape[0])
        return self.builder.slice(self, start, max(start, stop), step)


@dataclass(frozen=True, eq=False)
class Tuple:
    """Several registers under one name; its parts are registers too."""

    name: str
    parts: tuple[Register, ...]


@dataclass(frozen=True)
class Thread:
    """A forked thread."""

    name: str


@dataclass(frozen=True)
class Stream:
    """A queue of a device."""

    name: str
    device: str


@dataclass(frozen=True)
class Event:
    """An event, recorded once per run by a thread or a stream."""

    name: str
    device: str | None


@public("cloakwork.zk")
class ProgramBuilder(Here):
    """Writes a program instruction by instruction.

    curve       a name of `zk.curve`: the curve of types that name none
    auto_free   free memory that is never freed at its last use, and remove remaining views.
                Memory that another thread or a stream may still use is freed at the end of `main`

    `build` verifies: ProgramError holds all errors, each with the line that wrote the instruction.
    """

    _stays = "it is unfinished: send what `build` returns"

    def __init__(self, curve: str = "bn254", *, auto_free: bool = True) -> None:
        if curve not in CURVES:
            raise ParamError("curve", curve, " or ".join(CURVES))
        self._curve, self._auto_free = curve, auto_free
        self._main: list[dict[str, Any]] = []
        self._thread = self._main
        self._tables: dict[str, dict[str, Any]] = {
            key: {} for key in (
                "registers", "inputs", "outputs", "constants", "events", "streams",
                "user_functions",
            )
        }  # fmt: skip
        self._functions: dict[str, Callable[..., Any]] = {}
        self._files: dict[str, bytes] = {}
        self._counts: dict[str, int] = {}

    # Names and instructions.

    def _fresh(self, prefix: str) -> str:
        count = self._counts.get(prefix, 0)
        self._counts[prefix] = count + 1
        return f"{prefix}{count}"

    def _add(self, op: str, **fields: Any) -> None:
        given = {key: value for key, value in fields.items() if value is not None}
        self._thread.append({"op": op, **given, "src_loc": _caller()})

    def _register(self, name: str | None, type_: Type, device: str) -> Register:
        name = name or self._fresh("r")
        self._tables["registers"][name] = {"type": type_.to_json(), "device": device}
        return Register(self, name, type_, device)

    # Memory and data.

    def input(
        self, name: str, type_: Type, *, device: str = "cpu", consume: bool = False
    ) -> Register:
        """An input of each run; with `consume` the program may overwrite it."""
        entry = {"type": type_.to_json(), "device": device, "consume": consume}
        self._tables["inputs"][name] = entry
        register = self._register(name, type_, device)
        self._add("LoadInput", src=name, dst=register.name)
        return register

    def constant(
        self, name: str, type_: Type, values: Sequence[Any] | bytes, *, device: str = "cpu"
    ) -> Register:
        """Constant data: integers (parts of elements in order), or canonical bytes."""
        entry: dict[str, Any] = {"type": type_.to_json(), "device": device}
        if isinstance(values, bytes):
            file = f"{name}.bin"
            if Path(file).name != file or "\0" in file:
                raise ParamError("constant", name, "a name that a file in one folder can have")
            self._files[file] = values
            digest = hashlib.sha256(values).hexdigest()
            entry |= {"file": file, "bytes": len(values), "sha256": digest}
        else:
            flat = np.asarray(values, dtype=object).ravel().tolist()
            entry["values"] = [hex(v) if is_canonical(type_.dtype) else v for v in flat]
        self._tables["constants"][name] = entry
        register = self._register(name, type_, device)
        self._add("LoadConstant", src=name, dst=register.name)
        return register

    def allocate(
        self,
        type_: Type,
        *,
        device: str = "cpu",
        name: str | None = None,
        at: tuple[str, int] | None = None,
        zero: bool = False,
    ) -> Register:
        """New memory; `at` places it in a pool of a static plan, at an offset in bytes."""
        register = self._register(name, type_, device)
        place = None if at is None else {"pool": at[0], "offset": at[1]}
        self._add(
            "Allocate", id=register.name, device=device, typ=type_.to_json(), at=place,
            zero=zero or None,
        )  # fmt: skip
        return register

    def function(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        outs: Sequence[Type],
        ins: Sequence[Type] = (),
    ) -> str:
        """Declare a user function that `call` can call by its name.

        It takes tensors of the types `ins`, at most eight, and returns a value that converts to the
        type in `outs`, or a tuple if there are several.  It runs on the calling thread, in the
        program's order, on copies.  The file holds only its signature: after loading, `run` needs
        the function.
        """
        signature = {"outs": [t.to_json() for t in outs], "ins": [t.to_json() for t in ins]}
        self._tables["user_functions"][name] = signature
        self._functions[name] = function
        return name

    def free(self, register: Register) -> None:
        """Free memory, as its owner."""
        self._add("Deallocate", id=register.name)

    def remove(self, register: Register | Tuple) -> None:
        """Remove a view's register; the memory stays allocated."""
        self._add("RemoveRegister", id=register.name)

    def move(self, register: Register, name: str | None = None) -> Register:
        """Move a value to another register; the old one is then empty."""
        moved = self._register(name, register.type, register.device)
        self._add("MoveRegister", src=register.name, dst=moved.name)
        return moved

    def transfer(
        self, src: Register, dst: Register, *, stream: Stream | None = None, pad: bool = False
    ) -> None:
        """Copy elements, on one device or between two; `pad` fills a longer target with zeros."""
        self._add(
            "Transfer", src_id=src.name, dst_id=dst.name, src_device=src.device,
            dst_device=dst.device, stream=_name(stream), pad="zero" if pad else None,
        )  # fmt: skip

    def store(self, src: Register, output: str) -> None:
        """Return a value as an output of that name."""
        # A transform in place has changed the form with which the memory was allocated.
        self._tables["outputs"][output] = replace(src.type, repr=None).to_json()
        self._add("Store", src=src.name, output=output)

    def element(
        self, src: Register, index: int, *, out: Register | None = None,
        stream: Stream | None = None,
    ) -> Register:  # fmt: skip
        """Copy one element into a scalar, a new one by default."""
        out = out or self.allocate(Type(src.type.dtype), device=src.device)
        self._add("Element", src=src.name, dst=out.name, index=index, stream=_name(stream))
        return out

    # Views.

    def rotate(self, src: Register, shift: int) -> Register:
        """The view that equals `numpy.roll(a, shift)`."""
        view = self._register(None, src.type, src.device)
        self._add("Rotation", src=src.name, dst=view.name, shift=shift)
        return view

    def slice(self, src: Register, start: int, end: int, step: int = 1) -> Register:
        """The view `a[start:end:step]`."""
        size = len(range(start, end, step))
        view = self._register(None, Type(src.type.dtype, (size,)), src.device)
        self._add(
            "Slice", src=src.name, dst=view.name, start=start, end=end,
            step=None if step == 1 else step,
        )  # fmt: skip
        return view

    def set_slice_meta(self, src: Register, offset: int, length: int) -> Register:
        """The window of `length` elements from `offset` on of the whole buffer; it may wrap."""
        view = self._register(None, Type(src.type.dtype, (length,)), src.device)
        self._add("SetSliceMeta", src=src.name, dst=view.name, offset=offset, len=length)
        return view

    def view(
        self,
        src: Register,
        kind: Literal["reshape", "permute", "expand", "broadcast"],
        args: Sequence[int],
    ) -> Register:
        """A view of another shape: `args` are sizes, axes, or an axis and how often."""
        shape = tuple(args)
        if kind == "permute":
            shape = tuple(src.type.shape[axis] for axis in args)
        elif kind == "expand":
            axis, repeat = args
            shape = (*src.type.shape[:axis], repeat, *src.type.shape[axis + 1 :])
        view = self._register(None, Type(src.type.dtype, shape), src.device)
        self._add("View", src=src.name, dst=view.name, kind=kind, args=list(args))
        return view

    def cast(self, src: Register, repr: Repr | None) -> Register:
        """The same elements, reinterpreted as "coef", "lagrange", or neither."""
        view = self._register(None, replace(src.type, repr=repr), src.device)
        self._add("View", src=src.name, dst=view.name, kind=repr or "elements")
        return view

    def tuple(self, *parts: Register) -> Tuple:
        """Several registers under one name, to be returned together."""
        name = self._fresh("t")
        self._add("AssembleTuple", vars=[part.name for part in parts], dst=name)
        named = [
            Register(self, f"{name}.{index}", part.type, part.device)
            for index, part in enumerate(parts)
        ]
        return Tuple(name, tuple(named))

    # Computation.

    def call(
        self,
        func: str,
        *,
        out: Sequence[Register],
        args: Sequence[Register] = (),
        stream: Stream | None = None,
        **attrs: Any,
    ) -> None:
        """Call a function of the table in `docs/zk.md`."""
        self._add(
            "FuncCall", func=func, arg_mut=[r.name for r in out], arg=[r.name for r in args],
            attrs=attrs or None, stream=_name(stream),
        )  # fmt: skip

    def blind(
        self, dst: Register, start: int, end: int, *, domain: str | None = None,
        stream: Stream | None = None,
    ) -> None:  # fmt: skip
        """Uniform random elements at `start` to `end - 1`: different in each run, unless seeded."""
        self._add("Blind", dst=dst.name, start=start, end=end, domain=domain, stream=_name(stream))

    def assert_eq(self, value: Register, expected: Register, message: str | None = None) -> None:
        """Fail the run unless all elements are equal."""
        self._add("AssertEq", value=value.name, expected=expected.name, msg=message)

    def print(self, register: Register, label: str) -> None:
        """Show a value in the log of the run."""
        self._add("Print", id=register.name, label=label)

    # Threads, streams, events.

    def stream(self, device: str) -> Stream:
        """A queue of a device."""
        stream = Stream(self._fresh("s"), device)
        self._tables["streams"][stream.name] = {"device": device}
        return stream

    def event(self, device: str | None = None) -> Event:
        """An event: of a device's streams, or of threads."""
        event = Event(self._fresh("e"), device)
        kind = {"kind": "thread"} if device is None else {"kind": "gpu", "device": device}
        self._tables["events"][event.name] = kind
        return event

    def record(self, event: Event | None = None, *, stream: Stream | None = None) -> Event:
        """Record the event here, or when the stream reaches this point."""
        event = event or self.event(None if stream is None else stream.device)
        self._add("Record", event=event.name, stream=_name(stream))
        return event

    def wait(self, event: Event, *, stream: Stream | None = None) -> None:
        """Let the current thread, or the stream, wait for the event."""
        slave = "cpu" if stream is None else stream.device
        self._add("Wait", event=event.name, slave=slave, stream=_name(stream))

    @contextmanager
    def fork(self, name: str | None = None) -> Iterator[Thread]:
        """Begin a thread; instructions written in the `with` block belong to it."""
        thread, before = Thread(name or self._fresh("thread")), self._thread
        inner: list[dict[str, Any]] = []
        self._add("Fork", new_thread=thread.name, instructions=inner)
        self._thread = inner
        try:
            yield thread
        finally:
            self._thread = before

    def join(self, thread: Thread) -> None:
        """Wait for the thread's end."""
        self._add("Join", thread=thread.name)

    @contextmanager
    def segment(self, name: str) -> Iterator[None]:
        """Measure the instructions in the `with` block under a name."""
        self._add("SegmentStart", name=name)
        yield
        self._add("SegmentEnd", name=name)

    def ret(self, *registers: Register | Tuple) -> None:
        """End the program with these values."""
        names = [register.name for register in registers]
        self._add("Return", id=names[0] if len(names) == 1 else names)

    def build(self) -> Program:
        """The program; ProgramError with all findings if it has errors."""
        tree: dict[str, Any] = {"format": "program", "version": 1, "curve": self._curve}
        tree |= {key: dict(table) for key, table in self._tables.items() if table}
        tree["main"] = self._main
        written = _core.Instructions.parse(json.dumps(tree).encode(), "program", None, self._files)
        program = Program(written.with_frees() if self._auto_free else written)
        program.validate()
        program._functions = dict(self._functions)
        return program


def _name(stream: Stream | None) -> str | None:
    return None if stream is None else stream.name


def _caller() -> str:
    """The current line outside the package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _inside(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _inside(file: str) -> bool:
    return file.startswith(_OWN) or file.endswith("contextlib.py")
