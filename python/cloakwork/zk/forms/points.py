"""Points as bytes of gnark and arkworks, with and without compression.

Every form has bits of its own that tell infinity and the larger of two values of y.  Sources:
gnark-crypto's `marshal.go` of both curves, ark-serialize's `SWFlags`, and for BLS12-381, where both
libraries agree, the serialization of the IETF draft on pairing-friendly curves, appendix C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cloakwork import _core, ops
from cloakwork.errors import OpError
from cloakwork.fields.parameters import CURVES, MODULI

_INFINITE, _SMALL, _LARGE = "infinite", "small", "large"
_Pair = tuple[int, int]


class Invalid(ValueError):
    """Why bytes are no point."""


@dataclass(frozen=True)
class Codec:
    """How a library writes the points of a curve.

    big      big-endian, the part of i first, the flags in the first byte; else the reverse
    bits     of the flags
    raw      the flags of an uncompressed point, by its state
    packed   those of a compressed one
    """

    curve: str
    big: bool
    bits: int
    raw: dict[str, int]
    packed: dict[str, int]

    @property
    def prime(self) -> int:
        """The prime of coordinates."""
        return MODULI[CURVES[self.curve]["fq"]]

    @property
    def width(self) -> int:
        """Bytes of a coordinate's part."""
        return -(-self.prime.bit_length() // 64) * 8

    def size(self, parts: int, compressed: bool) -> int:
        """Bytes of a point."""
        return self.width * parts * (1 if compressed else 2)

    def encode(self, point: bytes, parts: int, compressed: bool) -> bytes:
        """A point of canonical little-endian bytes in this form."""
        numbers = self._numbers(point, "little")
        y = _pair(numbers[parts:])
        state = _LARGE if self._is_large(y) else _SMALL
        if not any(numbers):
            state = _INFINITE
        halves = [numbers[:parts]] if compressed else [numbers[:parts], numbers[parts:]]
        ordered = [half[::-1] if self.big else half for half in halves]
        order = self._order
        body = bytearray(b"".join(n.to_bytes(self.width, order) for half in ordered for n in half))
        flags = (self.packed if compressed else self.raw)[state]
        body[0 if self.big else -1] |= flags << 8 - self.bits
        return bytes(body)

    def decode(self, data: bytes, parts: int, compressed: bool) -> bytes:
        """The canonical bytes of a point, which may still be outside of the group.

        Raises Invalid for flags that no point has, and bytes that another writer would write
        otherwise.
        """
        body, place = bytearray(data), 0 if self.big else -1
        flags = body[place] >> 8 - self.bits
        body[place] &= (1 << 8 - self.bits) - 1
        table = self.packed if compressed else self.raw
        states = [state for state, bits in table.items() if bits == flags]
        if not states:
            raise Invalid(f"the flags {flags:0{self.bits}b} are those of no point")
        numbers = self._numbers(bytes(body), self._order)
        if any(number >= self.prime for number in numbers):
            raise Invalid("a coordinate is not below the prime")
        if not any(numbers) and _INFINITE in states:
            return bytes(self.size(parts, compressed=False))
        if states == [_INFINITE]:
            raise Invalid("its flags say infinity, its coordinates do not")
        halves = [numbers[:parts], *([] if compressed else [numbers[parts:]])]
        x, *rest = (half[::-1] if self.big else half for half in halves)
        y = rest[0] if rest else self._y(x, _LARGE in states)
        if not any(x) and not any(y):
            raise Invalid("its flags do not say infinity, its coordinates do")
        if (_LARGE if self._is_large(_pair(y)) else _SMALL) not in states:
            raise Invalid("its flags say the other y")
        return b"".join(number.to_bytes(self.width, "little") for number in (*x, *y))

    @property
    def _order(self) -> Literal["big", "little"]:
        return "big" if self.big else "little"

    def _numbers(self, data: bytes, order: Literal["big", "little"]) -> list[int]:
        starts = range(0, len(data), self.width)
        return [int.from_bytes(data[at : at + self.width], order) for at in starts]

    def _is_large(self, y: _Pair) -> bool:
        """Whether y is above -y; the part of i counts first."""
        return (y[1] or y[0]) > self.prime // 2

    def _y(self, x: list[int], large: bool) -> list[int]:
        """The y of a point, of both the one that the flags tell."""
        p, pair, b = self.prime, _pair(x), self._b(len(x))
        cube = _product(_product(pair, pair, p), pair, p)
        square = ((cube[0] + b[0]) % p, (cube[1] + b[1]) % p)
        y = _root(square, p) if len(x) == 2 else _pair_of(_root_of_number(square[0], p))
        if y is None:
            raise Invalid("no point of the curve has its x")
        if self._is_large(y) != large:
            y = (-y[0] % p, -y[1] % p)
        return list(y[: len(x)])

    def _b(self, parts: int) -> _Pair:
        """The constant of the curve, or of its twist: b / (9 + i), or b (1 + i)."""
        b, p = CURVES[self.curve]["b"], self.prime
        if parts == 1:
            return b, 0
        return _product((b, 0), _inverse((9, 1), p), p) if self.curve == "bn254" else (b, b)


def _pair(part: list[int]) -> _Pair:
    return part[0], part[1] if len(part) == 2 else 0


def _pair_of(number: int | None) -> _Pair | None:
    return None if number is None else (number, 0)


def _product(a: _Pair, b: _Pair, p: int) -> _Pair:
    """In the extension by i, i^2 = -1."""
    return (a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p


def _inverse(a: _Pair, p: int) -> _Pair:
    norm = pow(a[0] * a[0] + a[1] * a[1], -1, p)
    return a[0] * norm % p, -a[1] * norm % p


def _root_of_number(value: int, p: int) -> int | None:
    """A square root, where p = 3 modulo 4; None where there is none."""
    root = pow(value, (p + 1) // 4, p)
    return root if root * root % p == value else None


def _root(a: _Pair, p: int) -> _Pair | None:
    """A square root in the extension, by the norm's: the complex method."""
    norm = _root_of_number((a[0] * a[0] + a[1] * a[1]) % p, p)
    if norm is None:
        return None
    half = (p + 1) // 2
    for sign in (norm, -norm):
        x = _root_of_number((a[0] + sign) * half % p, p)
        if x is None:
            continue
        # Of a negative number, the root is a multiple of i.
        y = a[1] * pow(2 * x, -1, p) % p if x else _root_of_number(-a[0] % p, p)
        if y is not None and _product((x, y), (x, y), p) == a:
            return x, y
    return None


_ZCASH = (
    {_INFINITE: 0b010, _SMALL: 0b000, _LARGE: 0b000},
    {_INFINITE: 0b110, _SMALL: 0b100, _LARGE: 0b101},
)
_ARKWORKS = {_INFINITE: 0b01, _SMALL: 0b00, _LARGE: 0b10}
CODECS = {
    ("gnark", "bn254"): Codec(
        "bn254", True, 2,
        {_INFINITE: 0b00, _SMALL: 0b00, _LARGE: 0b00},
        {_INFINITE: 0b01, _SMALL: 0b10, _LARGE: 0b11},
    ),
    ("gnark", "bls12_381"): Codec("bls12_381", True, 3, *_ZCASH),
    ("arkworks", "bn254"): Codec("bn254", False, 2, _ARKWORKS, _ARKWORKS),
    ("arkworks", "bls12_381"): Codec("bls12_381", True, 3, *_ZCASH),
}  # fmt: skip


def check_points(data: bytes, group: str) -> None:
    """Raise Invalid unless canonical bytes are points of the group, one or more.

    group   as a dtype is named: `bn254.g2`
    """
    curve, _, which = group.partition(".")
    words = -(-MODULI[CURVES[curve]["fq"]].bit_length() // 64) * (2 if which == "g1" else 4)
    if not data or len(data) % (8 * words):
        raise Invalid(f"expected points of {8 * words} bytes, got {len(data)} bytes")
    tensor = _core.from_buffer(data, _core.uint64, (len(data) // (8 * words), words))
    try:
        _core.unrecorded(lambda: ops.from_canonical(tensor, group))
    except OpError as error:
        raise Invalid(str(error)) from None
