"""Every kind of bad input: words that name the place, status 2, and never a traceback."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork.cli import main
from python.heal_writer import DType, HealWriter, Host, Name, encoded, npy, small_transcript

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    return status, out, err


def document(change: Callable[[Any], None]) -> str:
    """The small transcript with something in its JSON changed."""
    tree = small_transcript().typed()
    change(tree["transcript"])
    return json.dumps(tree)


def payload(data: bytes | str) -> str:
    """The small transcript with the first host tensor's data replaced."""

    def replace(steps: Any) -> None:
        argument = steps[1][1]["args"][0]["value"]["tensor_base64"]
        argument["data"] = data if isinstance(data, str) else encoded(data)

    return document(replace)


def npy_with(shape: str, dtype: str = "<i8") -> bytes:
    """An .npy file of this header with 16 bytes of data."""
    return npy_of(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}")


def npy_of(header: str) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(16)


def rename_op(steps: Any) -> None:
    steps[9][1]["name"] = "_modmul_tttt"


def rename_kind(steps: Any) -> None:
    steps[9][1]["args"][0]["arg_type"]["value"] = "TENSOR"


def rename_step(steps: Any) -> None:
    steps[9][0]["value"] = "DEVICE_OPERATION"


def drop_argument(steps: Any) -> None:
    del steps[9][1]["args"][0]


def drop_key(steps: Any) -> None:
    del steps[9][1]["args"]


def text_where_a_number_belongs(steps: Any) -> None:
    steps[6][1]["args"][0]["value"][0]["value"] = "zero"


FILES = {
    "malformed": ("{" + small_transcript().write.__name__, "expected"),
    "truncated": (document(lambda _: None)[:-40], "end of"),
    "truncated in a tensor": (document(lambda _: None)[:400], "end of"),
    "wrong top": ('{"a": 1}', "expected"),
    "number": ("3", "expected"),
    "not text": ("\ud800".encode("utf-8", "surrogatepass"), "expected"),
    "nested": ("[" * 10_000_000, "expected"),
    "nested objects": ('{"a":' * 1_000_000, "expected"),
    "base64": (payload("!!!!"), "base64"),
    "base64 cut": (payload(encoded(npy([1, 2]))[:-3]), "base64"),
    "no npy": (payload(b"hello world, this is text"), "numpy"),
    "npy lies": (payload(npy_with("(3,)")), "bytes"),
    "npy objects": (payload(npy_with("(2,)", "|O")), "object"),
    "npy huge": (payload(npy_with(f"({2**60},)")), "numpy"),
    "npy negative": (payload(npy_with("(-1,)")), "numpy"),
    "npy code": (payload(npy_of("__import__('os').system('true')")), "numpy"),
    "pickle": (payload(base64.b64encode(b"cos\nsystem\n(S'true'\ntR.").decode()), "numpy"),
    "op": (document(rename_op), "_modmul_ttt"),
    "argument kind": (document(rename_kind), "TENSOR"),
    "step kind": (document(rename_step), "DEVICE_OPERATION"),
    "too few": (document(drop_argument), "arguments"),
    "no arguments": (document(drop_key), "args"),
    "text for a number": (document(text_where_a_number_belongs), "zero"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_transcripts_are_words_with_a_place(
    name: str, tmp_path: Path, capsys: Capture
) -> None:
    content, words = FILES[name]
    path = tmp_path / "bad.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for command in ("run", "check", "inspect"):
        status, out, err = run(capsys, command, path)
        assert status == 2
        assert words in out + err
        assert len(out + err) < 2000


def one_op(*args: Any, name: str, shape: list[int] | None = None) -> HealWriter:
    """A program that calls one op; `X` and `OUT` are replaced by its operand and result."""
    writer = HealWriter()
    writer.upload(np.arange(6).reshape(2, 3))
    out = writer.empty(shape or [2, 3])
    writer.op(name, *args, out=out)
    writer.op("device_to_host", out, None, out=Host(np.zeros(shape or [2, 3], dtype=np.int64)))
    return writer


X, OUT = Name(1), Name(2)


def freed(writer: HealWriter, *names: Name) -> HealWriter:
    for name in names:
        writer.free(name)
    return writer


def transform(length: int, perm: list[int], q: int = 97) -> HealWriter:
    writer = HealWriter()
    a, out = (
        writer.upload(np.ones((1, length, 1, 1), dtype=np.int64)),
        writer.empty([1, length, 1, 1]),
    )
    p, moduli = writer.upload(perm), writer.upload([q])
    psi = writer.upload(np.ones((1, length), dtype=np.int64))
    writer.op("ntt", a, -3, p, None, moduli, None, None, psi, out, False, False, out=out)
    return writer


def sliced(*entries: Any) -> HealWriter:
    writer = HealWriter()
    a = writer.upload(np.arange(6).reshape(2, 3))
    writer.op("get_slice", a, list(entries), out=Name(9))
    return writer


PROGRAMS = {
    "too many arguments": (one_op(X, 2, 7, OUT, OUT, name="_modmul_tcc"), "argument-count"),
    "undefined": (one_op(Name(77), 2, 7, OUT, name="_modmul_tcc"), "undefined-name"),
    "freed": (freed(HealWriter(), Name(5)), "undefined-name"),
    "doubly freed": (freed(one_op(X, 2, 7, OUT, name="_modmul_tcc"), X, X), "double-free"),
    "shape": (one_op(X, 2, 7, OUT, name="_modmul_tcc", shape=[3, 3]), "shape"),
    "broadcast": (one_op(X, X, 7, OUT, name="_modmul_ttc", shape=[3]), "shape"),
    "moduli": (one_op(X, X, X, OUT, name="_modmul_ttt"), "shape"),
    "axis": (one_op(X, 5, X, OUT, name="axis_modsum"), "axis"),
    "modulus 0": (one_op(X, 2, 0, OUT, name="_modmul_tcc"), "modulus"),
    "modulus 1": (one_op(X, 2, 1, OUT, name="_modmul_tcc"), "modulus"),
    "modulus -7": (one_op(X, 2, -7, OUT, name="_modmul_tcc"), "modulus"),
    "modulus 2^62 + 1": (one_op(X, 2, 2**62 + 1, OUT, name="_modmul_tcc"), "modulus"),
    "kind": (one_op(2, X, 7, OUT, name="_modmul_tcc"), "argument-type"),
    "dtype": (one_op([2], DType("int64"), 7, OUT, name="_modmul_tcc"), "argument-type"),
    "length": (transform(3, [0, 1, 2]), "transform-length"),
    "permutation": (transform(4, [0, 1, 1, 2]), "permutation"),
    "permutation range": (transform(4, [0, 1, 2, 4]), "permutation"),
    "slice": (sliced(0, slice(1, 9, 1)), "range"),
    "index": (sliced(2, slice(0, 3, 1)), "range"),
    "entries": (sliced(0), "argument-count"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_are_wrong_are_findings(name: str, tmp_path: Path, capsys: Capture) -> None:
    writer, code = PROGRAMS[name]
    path = writer.write(tmp_path / "bad.json")
    status, out, _ = run(capsys, "check", path)
    assert status == 2
    assert f"error[{code}]" in out
    for command in ("run", "inspect"):
        status, out, err = run(capsys, command, path)
        assert (status, out) == (2, "")
        assert f"error[{code}]" in err
