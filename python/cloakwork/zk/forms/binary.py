"""Groth16 keys, proofs and public signals in the binary forms of gnark and arkworks.

Neither form names itself, its curve or its kind: lengths and counts tell them, and each is read
only where all bytes fit.  Layouts:

    gnark      key     alpha1 beta1 beta2 gamma2 delta1 delta2, u32 count, IC, u32 0, u32 0
               proof   A B C, u32 0, infinity (commitments, which are refused)
               public  u32 public, u32 secret, u32 count, scalars; all big-endian
    arkworks   key     alpha1 beta2 gamma2 delta2, u64 count, IC
               proof   A B C
               public  u64 count, scalars; all little-endian

Sources: gnark 0.14 (`backend/groth16/*/marshal.go`, `backend/witness`), ark-groth16 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from cloakwork.errors import LoadError
from cloakwork.fields.parameters import ORDERS
from cloakwork.zk.forms.points import CODECS, Codec, Invalid, check_points

Kind = Literal["key", "proof", "public"]
_SCALAR_BYTES = 32
_WORDS = {
    "key": "a verifying key", "proof": "a proof", "public": "public signals",
}  # fmt: skip
_EXPECTED = (
    "the JSON of snarkjs or rapidsnark, or bytes of gnark or arkworks over bn254 or bls12_381"
)
_KEY = {
    "gnark": ("alpha1", "beta1", "beta2", "gamma2", "delta1", "delta2"),
    "arkworks": ("alpha1", "beta2", "gamma2", "delta2"),
}
_PROOF = (("a", 1), ("b", 2), ("c", 1))
# gnark's lists of commitments in a key: two counts, both 0.
_NO_COMMITMENTS = bytes(8)


class Form(NamedTuple):
    """Of which library, over which curve, and whether points are compressed."""

    library: str
    curve: str
    compressed: bool

    def __str__(self) -> str:
        how = "compressed" if self.compressed else "uncompressed"
        return f"{self.library}'s form over {self.curve}, {how}"

    @property
    def codec(self) -> Codec:
        """Of points."""
        return CODECS[self.library, self.curve]

    @property
    def order(self) -> Literal["big", "little"]:
        """Of numbers."""
        return "big" if self.library == "gnark" else "little"

    @property
    def count_bytes(self) -> int:
        """Of a count."""
        return 4 if self.library == "gnark" else 8

    def size(self, parts: int) -> int:
        """Of a point."""
        return self.codec.size(parts, self.compressed)

    def number(self, data: bytes) -> int:
        """Of bytes."""
        return int.from_bytes(data, self.order)

    def count_of(self, value: int) -> bytes:
        """The bytes of a count."""
        return value.to_bytes(self.count_bytes, self.order)

    def points(self, data: bytes, parts: int) -> bytes:
        """Canonical points in this form, one after the other."""
        size = self.codec.size(parts, compressed=False)
        starts = range(0, len(data), size)
        encode = self.codec.encode
        each = (encode(data[at : at + size], parts, self.compressed) for at in starts)
        return b"".join(each)


FORMS = [Form(*pair, compressed) for pair, compressed in product(CODECS, (True, False))]


def parts_of(name: str) -> int:
    """Parts of a coordinate of a point of a key, by its name."""
    return 2 if name.endswith("2") else 1


@dataclass
class _Cursor:
    """Bytes that are read from the start."""

    form: Form
    data: bytes
    where: str
    at: int = 0

    def take(self, size: int) -> bytes:
        piece = self.data[self.at : self.at + size]
        self.at += size
        return piece

    def fault(self, at: int, name: str, why: str) -> LoadError:
        return LoadError(f"{self.where}: {self.form}, byte {at}: {name}: {why}")

    def points(self, name: str, parts: int, count: int = 1) -> bytes:
        """So many points, canonical; LoadError for the first that is none."""
        first, size, found = self.at, self.form.size(parts), bytearray()
        decode = self.form.codec.decode
        for index in range(count):
            label = name if count == 1 else f"{name}[{index}]"
            try:
                found += decode(self.take(size), parts, self.form.compressed)
            except Invalid as error:
                raise self.fault(first + index * size, label, str(error)) from None
        try:
            check_points(bytes(found), f"{self.form.curve}.g{parts}")
        except Invalid as error:
            raise self.fault(first, name, str(error)) from None
        return bytes(found)


def _key_counts(form: Form, data: bytes) -> tuple[int, int] | None:
    """Where the count of IC stands, and the count; None where the bytes do not fit."""
    at = sum(form.size(parts_of(name)) for name in _KEY[form.library])
    count = form.number(data[at : at + form.count_bytes])
    end = at + form.count_bytes + count * form.size(1)
    end += len(_NO_COMMITMENTS) if form.library == "gnark" else 0
    return (at, count) if count and len(data) == end else None


def _proof_sizes(form: Form) -> tuple[int, int]:
    """Bytes of the three points, and of all."""
    points = sum(form.size(parts) for _, parts in _PROOF)
    return points, points + (form.count_bytes + form.size(1) if form.library == "gnark" else 0)


def forms_of(kind: Kind, data: bytes) -> list[Form]:
    """The forms whose lengths and counts the bytes have."""
    if kind == "key":
        return [form for form in FORMS if _key_counts(form, data) is not None]
    if kind == "proof":
        return [form for form in FORMS if _proof_sizes(form)[1] == len(data)]
    return [form for form in FORMS if form.compressed and _signals_at(form, data) is not None]


def _signals_at(form: Form, data: bytes) -> int | None:
    """Where public signals begin; None where the bytes do not fit."""
    heads = 3 if form.library == "gnark" else 1
    at = heads * form.count_bytes
    counts = [form.number(data[i : i + form.count_bytes]) for i in range(0, at, form.count_bytes)]
    fits = len(data) >= at and len(data) == at + counts[-1] * _SCALAR_BYTES
    # gnark's counts are those of public values, of secret ones, and of all.
    return at if fits and (heads == 1 or counts == [counts[2], 0, counts[2]]) else None


def _form(kind: Kind, data: bytes, where: str) -> Form:
    forms = forms_of(kind, data)
    if forms:
        return forms[0]
    hint = _hint(kind, data)
    raise LoadError(f"{where}: expected {_WORDS[kind]}, {_EXPECTED}, got {len(data)} bytes{hint}")


def _hint(kind: Kind, data: bytes) -> str:
    """Say so where bytes are gnark's and of a kind that is refused."""
    said = ": it has commitments, gnark's own, which Groth16 has not"
    for form in FORMS[:4]:
        if kind == "proof":
            points, whole = _proof_sizes(form)
            count = form.number(data[points : points + 4])
            if 0 < count < 1 << 16 and len(data) == whole + count * form.size(1):
                return said
        elif kind == "public" and len(data) >= 12 and (len(data) - 12) % _SCALAR_BYTES == 0:
            if 0 < form.number(data[4:8]) <= (len(data) - 12) // _SCALAR_BYTES:
                return ": a whole witness of gnark, with secret values; write its public part"
        elif kind == "key":
            at = sum(form.size(parts_of(name)) for name in _KEY["gnark"])
            end = at + 4 + form.number(data[at : at + 4]) * form.size(1)
            if at + 4 < end < len(data) - 8 and 0 < form.number(data[end : end + 4]) < 1 << 16:
                return said
    return ""


def read_key(data: bytes, where: str) -> tuple[str, bytes, bytes, bytes, bytes, bytes]:
    """Curve, alpha1, beta2, gamma2, delta2 and IC, canonical.

    Raises LoadError for bytes of no form, and names the byte at which a point is none.
    """
    form = _form("key", data, where)
    cursor, found = _Cursor(form, data, where), {}
    for name in _KEY[form.library]:
        found[name] = cursor.points(name, parts_of(name))
    _, count = _key_counts(form, data) or (0, 0)
    cursor.take(form.count_bytes)
    ic = cursor.points("ic", 1, count)
    if cursor.take(8).strip(b"\0"):
        raise cursor.fault(cursor.at - 8, "commitments", "expected none")
    alpha1, beta2, gamma2, delta2 = (found[name] for name in _KEY["arkworks"])
    return form.curve, alpha1, beta2, gamma2, delta2, ic


def read_proof(data: bytes, where: str) -> tuple[str, bytes, bytes, bytes]:
    """Curve, A, B and C, canonical; LoadError as for a key."""
    form = _form("proof", data, where)
    cursor = _Cursor(form, data, where)
    a, b, c = (cursor.points(name, parts) for name, parts in _PROOF)
    if form.library == "gnark":
        if cursor.take(form.count_bytes).strip(b"\0"):
            raise cursor.fault(cursor.at - 4, "commitments", "expected none")
        at = cursor.at
        if any(cursor.points("the proof of commitments", 1)):
            raise cursor.fault(at, "the proof of commitments", "expected infinity")
    return form.curve, a, b, c


def read_public(data: bytes, curve: str, where: str) -> bytes:
    """Canonical little-endian scalars; LoadError for one that is not below the curve's prime."""
    form = _form("public", data, where)
    first = _signals_at(form, data) or 0
    found, starts = bytearray(), range(first, len(data), _SCALAR_BYTES)
    for at in starts:
        number = form.number(data[at : at + _SCALAR_BYTES])
        if number >= ORDERS[curve]:
            index = (at - first) // _SCALAR_BYTES
            raise LoadError(
                f"{where}: {form.library}'s form, byte {at}: public signal {index}: expected a "
                f"number below the prime of {curve}'s scalars"
            )
        found += number.to_bytes(_SCALAR_BYTES, "little")
    return bytes(found)


def key_bytes(form: Form, points: dict[str, bytes], ic: bytes) -> bytes:
    """A verifying key of canonical points by their names."""
    header = b"".join(form.points(points[name], parts_of(name)) for name in _KEY[form.library])
    size = form.codec.size(1, compressed=False)
    body = header + form.count_of(len(ic) // size) + form.points(ic, 1)
    return body + (_NO_COMMITMENTS if form.library == "gnark" else b"")


def proof_bytes(form: Form, points: tuple[bytes, bytes, bytes]) -> bytes:
    """A proof of canonical points."""
    pairs = zip(points, _PROOF, strict=True)
    body = b"".join(form.points(point, parts) for point, (_, parts) in pairs)
    if form.library == "arkworks":
        return body
    infinity = bytes(form.codec.size(1, compressed=False))
    return body + form.count_of(0) + form.points(infinity, 1)


def public_bytes(form: Form, signals: tuple[int, ...]) -> bytes:
    """Public signals."""
    count = form.count_of(len(signals))
    head = count + form.count_of(0) + count if form.library == "gnark" else count
    return head + b"".join(one.to_bytes(_SCALAR_BYTES, form.order) for one in signals)
