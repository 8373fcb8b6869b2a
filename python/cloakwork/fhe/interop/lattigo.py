"""Files of Lattigo 6 (`MarshalBinary`): parameters, ciphertexts and keys of CKKS.

    context = lattigo.load_parameters("parameters.json")
    evaluation = lattigo.load_evaluation_keys(context, relin="relin.key", galois=["rotate1.key"])
    x = lattigo.load_ciphertext("x.ct", context, owner=evaluation)
    lattigo.save_ciphertext(x * x, "y.ct")

Lattigo's BGV has messages in the upper bits of the modulus and keys for these: it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from json import dumps, loads
from math import gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork import _core, files, ops
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.files.container import PathLike
from cloakwork.fhe.files.storage import limbs_first, limbs_last
from cloakwork.fhe.interop import order
from cloakwork.fhe.interop.objects import Owner, ckks_ciphertext, key_of, refusing, weights
from cloakwork.fhe.interop.seal_format import Reader
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.public import PublicKey, fingerprint, secret_encryption
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.key_switching import SwitchingKey, halves
from cloakwork.fhe.rns.tables import Basis, frozen
from cloakwork.fhe.schemes import context_of
from cloakwork.fhe.security import admit, asked_security
from cloakwork.modular.negacyclic import integers
from cloakwork.modular.primes import is_prime

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys

# Of Montgomery's form, in which Lattigo has its keys.
_MONTGOMERY = 1 << 64
_JSON_MOST = 1 << 16
_LOG_DEGREE_MOST = 17


def load_parameters(path: PathLike, *, insecure: bool = False, levels: Levels = "auto") -> Context:
    """The context of CKKS parameters, as Lattigo's `MarshalBinary` or `MarshalJSON` write them.

    Raises LoadError for another file, BGV, or a ring or secret that has no counterpart here.
    """
    reader = _opened(path, _JSON_MOST)
    with refusing(reader):
        given = _json(reader, reader.data)
        log_degree, chain, special = (given.get(name) for name in ("LogN", "Q", "P"))
        if type(log_degree) is not int or not 3 <= log_degree <= _LOG_DEGREE_MOST:
            raise reader.wrong("LogN", f"3 to {_LOG_DEGREE_MOST}", log_degree)
        for name, moduli in (("Q", chain), ("P", special)):
            if not isinstance(moduli, list) or not all(type(q) is int for q in moduli):
                raise reader.wrong(name, "a list of primes", repr(moduli)[:60])
        if "LogDefaultScale" not in given or given.get("PlaintextModulus"):
            raise reader.wrong("scheme", "CKKS", "another: Lattigo's BGV is not read")
        if given.get("RingType", "Standard") != "Standard":
            raise reader.wrong("RingType", "Standard", given["RingType"])
        assert isinstance(chain, list)
        assert isinstance(special, list)
        if not special:
            raise reader.wrong("P", "one modulus or more", "none")
        parameters = Parameters(
            scheme="ckks",
            degree=1 << log_degree,
            moduli=tuple(chain),
            special=tuple(special),
            scale=2.0 ** float(given["LogDefaultScale"]),
            plain_modulus=0,
            digit_limbs=min(len(special), len(chain)),
            gadget_base_log2=0,
            security=asked_security(128, insecure),
            slot_order="lattigo",
        )
        admit(parameters, str(reader.path), insecure=insecure)
        return context_of(parameters, levels)


def load_ciphertext(
    path: PathLike,
    context: Context,
    *,
    owner: Owner | None = None,
    noise: float | None = None,
    bound: Stated | None = None,
) -> Ciphertext:
    """A ciphertext of two or three parts; the options are those of `seal.load_ciphertext`.

    Raises LoadError for other files or parameters, and residues not below their moduli.
    """
    own = _suitable(context)
    reader = _opened(path, 8 * 3 * (own.degree + 1) * len(own.moduli) + 1024)
    with refusing(reader):
        if reader.take(1, "metadata")[0] != 1:
            raise reader.wrong("metadata", "a ciphertext's", "none")
        scale = _scale(reader)
        parts = reader.word("number of parts")
        if parts not in (2, 3):
            raise reader.wrong("number of parts", "2 or 3", parts)
        limbs = int.from_bytes(reader.data[reader.place : reader.place + 8], "little")
        if not 1 <= limbs <= len(own.moduli):
            raise reader.wrong("limbs", f"1 to {len(own.moduli)}", limbs)
        basis = context.tables.chain(limbs - 1)
        theirs = np.stack([_polynomial(reader, basis) for _ in range(parts)])
        reader.finish()
        common = {
            "context": context,
            "data": limbs_last(order.from_theirs(basis, theirs, _roots(basis))),
            "level": limbs - 1,
            "key": key_of("lattigo", context, owner),
            "packing": context.whole,
            "claimed": True,
        }
        made = ckks_ciphertext(reader, common, scale, (noise, bound))
        return made.using(owner) if isinstance(owner, EvaluationKeys) else made


def save_ciphertext(ciphertext: Ciphertext, path: PathLike) -> None:
    """Write a ciphertext, as Lattigo's `rlwe.Ciphertext.UnmarshalBinary` reads it."""
    own = _suitable(ciphertext.context)
    assert isinstance(ciphertext, CkksCiphertext)
    if ciphertext.batch is not None:
        raise ParamError("ciphertext", "a batch", "one ciphertext: take x[0], x[1], ...")
    basis = ciphertext.basis
    theirs = order.to_theirs(basis, limbs_first(ciphertext.data.to("cpu")), _roots(basis))
    pieces = [b"\1", _metadata(ciphertext.scale, own.degree), _words(len(theirs))]
    pieces += [_polynomial_bytes(part) for part in theirs]
    files.write(path, b"".join(pieces))


def load_public_key(path: PathLike, context: Context) -> PublicKey:
    """A public key; its limbs of the special moduli, which only Lattigo uses, are dropped."""
    own = _suitable(context)
    reader = _opened(path, _most(own, 2))
    with refusing(reader):
        data = _pair(reader, context)
        reader.finish()
        chain = frozen(data[..., len(own.special) :])
        return PublicKey(context, chain, b"", fingerprint(chain, b""))


def save_public_key(keys: Keys, path: PathLike) -> None:
    """Write a fresh public key of the secret: Lattigo's has limbs of the special moduli, too."""
    own = _suitable(keys.context)
    data, _ = secret_encryption(keys.context.tables.extended(own.level), None, keys._whole(), 1)
    files.write(path, _pair_bytes(keys.context, data))


def load_evaluation_keys(
    context: Context,
    *,
    relin: PathLike | None = None,
    galois: Sequence[PathLike] = (),
    owner: Owner | None = None,
) -> EvaluationKeys:
    """A RelinearizationKey and any number of GaloisKeys, of one secret; keys of any level."""
    _suitable(context)
    squared, turns = None, {}
    if relin is not None:
        squared = _switching_key(relin, context, False)[1]
    for path in galois:
        element, key = _switching_key(path, context, True)
        turns[element] = key
    return EvaluationKeys(context, key_of("lattigo", context, owner), squared, turns)


def save_relinearization_key(evaluation: EvaluationKeys, path: PathLike) -> None:
    """Write the RelinearizationKey."""
    _suitable(evaluation.context)
    if evaluation.relinearization is None:
        raise ParamError("relin", "no key for products", "keygen(relinearization=True)")
    files.write(path, _key_bytes(evaluation.context, evaluation.relinearization))


def save_galois_key(evaluation: EvaluationKeys, element: int, path: PathLike) -> None:
    """Write the GaloisKey of X -> X^element: `context.rotation_element(steps)` of a rotation."""
    own = _suitable(evaluation.context)
    if element not in evaluation.galois:
        raise ParamError("element", element, f"one of {sorted(evaluation.galois)}")
    members = _key_bytes(evaluation.context, evaluation.galois[element])
    files.write(path, _words(element, 2 * own.degree) + members)


def load_secret_key(path: PathLike, context: Context, public: PublicKey | None = None) -> Keys:
    """The secret of a SecretKey, with a public key: a loaded one, or a fresh one."""
    from cloakwork.fhe.interop.secret import keys_of

    own = _suitable(context)
    reader = _opened(path, _most(own, 1))
    with refusing(reader):
        found = _extended(reader, context)
        reader.finish()
        first = limbs_first(found)[len(own.special) : len(own.special) + 1].copy()
        found.zeroize()
        return keys_of(context, first, public)


def save_secret_key(keys: Keys, path: PathLike) -> None:
    """Write the secret, unencrypted, as a SecretKey in a file that only its owner can read."""
    _suitable(keys.context)
    files.write(path, _extended_bytes(keys.context, keys._whole()), private=True)


def _switching_key(path: PathLike, context: Context, turns: bool) -> tuple[int, SwitchingKey]:
    own, tables = context.parameters, context.tables
    digits = tables.digit_count(own.level)
    reader = _opened(path, digits * (_most(own, 2) + 64) + 64)
    with refusing(reader):
        element = 1
        if turns:
            element = reader.word("Galois element")
            reader.word("order of roots", 2 * own.degree)
            if not (element % 2 and 1 < element < 2 * own.degree):
                raise reader.wrong("Galois element", "an odd number below 2 N", element)
        reader.word("base 2^w of digits: 0, as without them", 0)
        reader.word("number of digits", digits)
        pairs = []
        for _ in range(digits):
            reader.word("digits of base 2^w", 1)
            pairs.append(limbs_first(_pair(reader, context)))
        reader.finish()
        data = limbs_last(np.stack(pairs, axis=1))
        basis = tables.extended(own.level)
        ops.modmul(data, weights(own, -1), basis.q, out=data)
        return element, SwitchingKey(frozen(data), b"", own.level)


def _key_bytes(context: Context, key: SwitchingKey) -> bytes:
    own, tables = context.parameters, context.tables
    if key.level != own.level:
        raise ParamError("level", key.level, f"keys of level {own.level}")
    b, a = halves(tables, key.data)
    basis, pieces = tables.extended(own.level), [_words(0, b.shape[0])]
    for number in range(b.shape[0]):
        pair = limbs_last(np.stack((limbs_first(b[number]), limbs_first(a[number]))))
        ops.modmul(pair, weights(own, 1), basis.q, out=pair)
        pieces += [_words(1), _pair_bytes(context, pair)]
    return b"".join(pieces)


def _pair(reader: Reader, context: Context) -> Tensor:
    """[2, N, special + k] of a vector of two polynomials."""
    reader.word("number of polynomials", 2)
    both = [limbs_first(_extended(reader, context)) for _ in range(2)]
    return limbs_last(np.stack(both))


def _pair_bytes(context: Context, pair: Tensor) -> bytes:
    return _words(2) + _extended_bytes(context, pair[0]) + _extended_bytes(context, pair[1])


def _extended(reader: Reader, context: Context) -> Tensor:
    """[N, special + k] of a polynomial of both chains, out of Montgomery's form."""
    own = context.parameters
    basis, special = context.tables.extended(own.level), len(own.special)
    chain = _polynomial(reader, basis.range(special, basis.limbs))
    values = np.concatenate((_polynomial(reader, basis.range(0, special)), chain))
    data = limbs_last(order.from_theirs(basis, values, _roots(basis)))
    return ops.modmul(data, _montgomery(basis, -1), basis.q, out=data)


def _extended_bytes(context: Context, data: Tensor) -> bytes:
    own = context.parameters
    basis, special = context.tables.extended(own.level), len(own.special)
    held = ops.modmul(data, _montgomery(basis, 1), basis.q)
    theirs = order.to_theirs(basis, limbs_first(held), _roots(basis))
    held.zeroize()
    return _polynomial_bytes(theirs[special:]) + _polynomial_bytes(theirs[:special])


def _montgomery(basis: Basis, exponent: int) -> Tensor:
    return integers([pow(_MONTGOMERY, exponent, q) for q in basis.moduli])


def _polynomial(reader: Reader, basis: Basis) -> order.Array:
    """[k, N] of a polynomial, each residue below its modulus."""
    reader.word("limbs", basis.limbs)
    rows = []
    for q in basis.moduli:
        reader.word("degree", basis.degree)
        row = np.frombuffer(reader.take(8 * basis.degree, "residues"), dtype="<u8")
        if (row >= np.uint64(q)).any():
            raise reader.wrong("residues", f"words below {q}", "larger ones")
        rows.append(row.astype(np.int64))
    return np.stack(rows)


def _polynomial_bytes(theirs: order.Array) -> bytes:
    rows = [_words(len(row)) + row.astype("<u8").tobytes() for row in theirs]
    return _words(len(theirs)) + b"".join(rows)


def _metadata(scale: float, degree: int) -> bytes:
    """Lattigo reads as many bytes as it writes: numbers have their widths."""
    log_slots = (degree // 2).bit_length() - 1
    found = {
        "PlaintextMetaData": {
            "Scale": {"Value": _number(scale), "Mod": _number(0.0)},
            "IsBatched": "0x01",
            "IsBitReversed": "0x00",
            "LogDimensions": ["0x00", f"0x{log_slots:02x}"],
        },
        "CiphertextMetaData": {"IsNTT": "0x01", "IsMontgomery": "0x00"},
    }
    return dumps(found, separators=(",", ":")).encode()


def _number(value: float) -> str:
    digits, _, exponent = format(Decimal(value), ".39e").partition("e")
    return f"{digits}e{int(exponent) if value else 0:+03d}"


def _scale(reader: Reader) -> float:
    given = _json(reader, reader.take(len(_metadata(1.0, 2)), "metadata"))
    try:
        plain, form = given["PlaintextMetaData"], given["CiphertextMetaData"]
        scale = float(plain["Scale"]["Value"])
        found = [float(plain["Scale"]["Mod"]), plain["IsBatched"], plain["IsBitReversed"]]
        found += [form["IsNTT"], form["IsMontgomery"]]
    except (KeyError, TypeError, ValueError) as failure:
        raise reader.wrong("metadata", "those of a ciphertext", "others") from failure
    if found != [0.0, "0x01", "0x00", "0x01", "0x00"]:
        raise reader.wrong("metadata", "a CKKS ciphertext of slots, transformed", found)
    return scale


def _json(reader: Reader, data: bytes) -> dict[str, Any]:
    try:
        found = loads(data)
    except (ValueError, RecursionError) as failure:
        raise reader.wrong("JSON", "an object", str(failure)[:60]) from failure
    if not isinstance(found, dict):
        raise reader.wrong("JSON", "an object", type(found).__name__)
    return found


@lru_cache(maxsize=64)
def _root(q: int, degree: int) -> int:
    """Lattigo's psi: the power of the least generator mod q."""
    factors, candidate = set(_factors(q - 1)), 2
    while any(pow(candidate, (q - 1) // factor, q) == 1 for factor in factors):
        candidate += 1
    return pow(candidate, (q - 1) // (2 * degree), q)


def _roots(basis: Basis) -> tuple[int, ...]:
    return tuple(_root(q, basis.degree) for q in basis.moduli)


def _factors(number: int) -> list[int]:
    """Prime factors, by Pollard's rho."""
    if number == 1:
        return []
    if is_prime(number):
        return [number]
    for divisor in (2, 3, 5, 7, 11, 13):
        if number % divisor == 0:
            return [divisor, *_factors(number // divisor)]
    offset, found = 0, number
    while found == number:
        offset, slow, fast, found = offset + 1, 2, 2, 1
        while found == 1:
            slow = (slow * slow + offset) % number
            fast = (fast * fast + offset) % number
            fast = (fast * fast + offset) % number
            found = gcd(abs(slow - fast), number)
    return _factors(found) + _factors(number // found)


def _opened(path: PathLike, most: int) -> Reader:
    name = Path(files.name_of(path))
    try:
        data = bytes(memoryview(_core.map_file(name))[: most + 1])
    except OSError as failure:
        raise LoadError(f"{name}: cannot be read: {failure.strerror}") from failure
    return Reader(name, data, library="Lattigo")


def _most(own: Parameters, parts: int) -> int:
    """The most bytes of that many polynomials of both chains."""
    return 8 * parts * ((own.degree + 1) * (len(own.moduli) + len(own.special)) + 4)


def _suitable(context: Context) -> Parameters:
    own = context.parameters
    digits = own.digit_limbs == min(len(own.special), len(own.moduli))
    if own.scheme != "ckks" or own.generator != 5 or not digits or own.reserved:
        allowed = "CKKS, special moduli, and as many limbs in a digit; see load_parameters"
        raise ParamError("context", repr(context), allowed)
    return own


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)
