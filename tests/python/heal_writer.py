"""Transcripts in HEAL's documented form, written from the documents: plain json, numpy, base64.

Shares no code with Cloakwork, so a file that loads here has the documented form.
"""

import base64
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Json = Any


def npy(array: ArrayLike) -> bytes:
    """An array as the bytes of an .npy file."""
    out = io.BytesIO()
    np.save(out, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def encoded(payload: bytes) -> str:
    return base64.b64encode(payload).decode()


@dataclass(frozen=True)
class Name:
    """A device tensor by name."""

    name: int | str
    dtype: str = "torch.int64"


@dataclass(frozen=True)
class Host:
    """A host tensor; `payload` replaces its base64 text."""

    array: ArrayLike
    payload: str | None = None

    @property
    def data(self) -> str:
        return encoded(npy(self.array)) if self.payload is None else self.payload


@dataclass(frozen=True)
class DType:
    """An element type by name."""

    name: str


def _typed(value: Any) -> Json:
    """An argument in the form with __type__."""
    kind, content = _content(value)
    if kind == "DEVICE_TENSOR":
        content = {"__type__": "DeviceTensorPointer", "dtype": value.dtype, **content}
    elif kind in _TYPES:
        content = {"__type__": _TYPES[kind], **content}
    elif kind == "SHAPE":
        content = [_typed(item) for item in value]
    arg_type = {"__type__": "DeviceOpArgType", "value": kind}
    return {"__type__": "DeviceOpArg", "arg_type": arg_type, "value": content}


_TYPES = {"HOST_TENSOR": "HostTensor", "TENSOR_TYPE": "dtype", "SLICE": "slice"}


def _plain(value: Any) -> Json:
    """An argument in the documents' simplified form: no __type__, no dtype of a pointer."""
    kind, content = _content(value)
    if kind == "TENSOR_TYPE":
        content = content["value"]
    elif kind == "SHAPE":
        content = [_plain(item) for item in value]
    return {"arg_type": kind, "value": content}


def _content(value: Any) -> tuple[str, Json]:
    """The name of an argument's kind, and its content in both forms."""
    match value:
        case Name(name=name):
            return "DEVICE_TENSOR", {"inf_name": name}
        case Host():
            return "HOST_TENSOR", {"tensor_base64": {"type": "numpy", "data": value.data}}
        case DType(name=name):
            return "TENSOR_TYPE", {"value": name}
        case slice():
            return "SLICE", {"start": value.start, "stop": value.stop, "step": value.step}
        case list() | None:
            return ("NONE" if value is None else "SHAPE"), value
    return "INT", value


@dataclass
class HealWriter:
    """Builds a transcript step by step."""

    steps: list[tuple[str, Any]] = field(default_factory=list)
    names: int = 0

    def new_name(self) -> Name:
        self.names += 1
        return Name(self.names)

    def op(self, name: str, *args: Any, out: Any) -> Any:
        """Append a call; `out` is its result, also among `args` where the op writes it."""
        self.steps.append(("DEVICE_OP", (name, args, out)))
        return out

    def upload(self, array: ArrayLike) -> Name:
        host = np.asarray(array)
        name = Name(self.new_name().name, f"torch.{host.dtype.name}")
        return self.op("host_to_device", Host(host), out=name)

    def empty(self, shape: list[int], dtype: str = "int64") -> Name:
        name = Name(self.new_name().name, f"torch.{dtype}")
        return self.op("empty", shape, DType(dtype), out=name)

    def download(self, name: Name, expected: ArrayLike) -> None:
        self.op("device_to_host", name, None, out=Host(np.asarray(expected)))

    def free(self, name: Name) -> None:
        self.steps.append(("FREE_DEVICE_TENSOR", name.name))

    def segment(self, name: str | None) -> None:
        """Begin a segment, or end the innermost one."""
        self.steps.append(("SEGMENT_END" if name is None else "SEGMENT_START", name))

    def typed(self) -> Json:
        """The form that HEAL's own encoder writes."""
        return {
            "__type__": "ExecutionTranscript",
            "transcript": [self._typed_entry(kind, body) for kind, body in self.steps],
        }

    def _typed_entry(self, kind: str, body: Any) -> Json:
        entry: Json = body
        if kind == "FREE_DEVICE_TENSOR":
            entry = {"__type__": "FreeDeviceTensor", "tensor_name": body}
        elif kind == "DEVICE_OP":
            name, args, out = body
            call = {"name": name, "args": [_typed(arg) for arg in args], "out": _typed(out)}
            entry = {"__type__": "DeviceOp", **call}
        return [{"__type__": "ExecutionTranscriptOpType", "value": kind}, entry]

    def simplified(self) -> Json:
        """The form of HEAL's documents."""
        return [self._plain_entry(kind, body) for kind, body in self.steps]

    def _plain_entry(self, kind: str, body: Any) -> Json:
        if kind == "FREE_DEVICE_TENSOR":
            return {"type": kind, "tensor_name": body}
        if kind == "DEVICE_OP":
            name, args, out = body
            call = {"name": name, "args": [_plain(arg) for arg in args], "out": _plain(out)}
            return {"type": kind, "op": call}
        return {"type": kind, "name": body} if body else {"type": kind}

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(self.typed(), indent=2))
        return path


def product(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Compute a * b mod q with Python's integers."""
    objects = (np.asarray(x, dtype=object) for x in (a, b, q))
    first, second, modulus = objects
    return np.asarray(first * second % modulus, dtype=np.int64)


Q = [2305843009218281473, 2305843009218936833]


def small_transcript() -> HealWriter:
    """Uploads, a product in a segment, a write through a view, downloads, frees."""
    writer = HealWriter()
    a = np.array([[Q[0] - 1, 5], [7, Q[1] - 2]])
    b = np.array([[3, Q[1] - 1]])
    writer.segment("upload_inf_context")
    q, x, y = writer.upload(Q), writer.upload(a), writer.upload(b)
    writer.segment(None)
    writer.segment("compute_block_1")
    both = writer.empty([2, 2, 2])
    first = writer.op("get_slice", both, [0, slice(0, 2, 1), slice(0, 2, 1)], out=writer.new_name())
    second = writer.op(
        "get_slice", both, [1, slice(0, 2, 1), slice(0, 2, 1)], out=writer.new_name()
    )
    writer.op("_modmul_ttt", x, y, q, first, out=first)
    writer.op("_modneg_tt", x, q, second, out=second)
    writer.segment(None)
    writer.segment("download_ct_1")
    expected = np.stack([product(a, b, Q), (-a) % np.array(Q)])
    writer.download(both, expected)
    for name in (q, x, y, both, first, second):
        writer.free(name)
    writer.segment(None)
    return writer
