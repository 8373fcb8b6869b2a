"""Files of Microsoft SEAL 4: parameters, ciphertexts and keys, of CKKS and BGV.

    context = seal.load_parameters("parameters.seal", scale=2.0**40)
    evaluation = seal.load_evaluation_keys(context, relin="relin.seal", galois="galois.seal")
    x = seal.load_ciphertext("x.seal", context, owner=evaluation)
    seal.save_ciphertext(x * x, "y.seal")

SEAL's binary format is read with any of its compressions and with seeds (`Serializable`), and
written without.  A context of `load_parameters` has SEAL's order of slots and its form of keys: a
digit for each limb, and one special modulus.
"""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork import files, ops
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError
from cloakwork.fhe.bgv import BgvCiphertext, BgvContext
from cloakwork.fhe.bgv.integers import sized
from cloakwork.fhe.bgv.sizes import any_message, drawn
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ckks import CkksCiphertext
from cloakwork.fhe.context import Context, Levels
from cloakwork.fhe.estimates import noise as estimates
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.files.container import PathLike
from cloakwork.fhe.files.storage import limbs_first, limbs_last
from cloakwork.fhe.interop import order, seal_format
from cloakwork.fhe.interop.objects import Owner, ckks_ciphertext, key_of, refusing, weights
from cloakwork.fhe.interop.seal_format import Layout, Reader
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.public import PublicKey, fingerprint, secret_encryption
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.key_switching import SwitchingKey, halves
from cloakwork.fhe.rns.tables import frozen
from cloakwork.fhe.schemes import context_of
from cloakwork.fhe.security import admit, asked_security

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys

# The version in files that are written: another is an argument, as SEAL reads its own alone.
VERSION = "4.1"

_SCHEMES = {2: "ckks", 3: "bgv"}
_DEGREE_MOST, _MODULI_MOST = 1 << 17, 64
_PARAMETERS_MOST = 64 * (_MODULI_MOST + 2)
# Members of a ciphertext before its array: parms_id, form, three sizes, scale, factor.
_CIPHERTEXT = Layout("V32", "u1", "<u8", "<u8", "<u8", "<f8", "<u8")
_PLAINTEXT = Layout("V32", "<u8", "<f8")
# Headers and lengths of nested objects.
_ROOM = 256
# Bits by which a BGV ciphertext's noise may exceed that of a fresh one, unless it is stated.
_SLACK = 3.0


def load_parameters(
    path: PathLike,
    *,
    scale: float | None = None,
    insecure: bool = False,
    levels: Levels = "auto",
) -> Context:
    """The context of SEAL's EncryptionParameters, whose last modulus is the special one.

    scale      CKKS, of fresh ciphertexts: SEAL does not store it; by default about that of the
               last modulus of the chain
    insecure   accept less than 128 bits by our tables, which are newer than SEAL's

    Raises LoadError for another file, and for parameters that have no counterpart here.
    """
    reader = seal_format.opened(path, _PARAMETERS_MOST)
    with refusing(reader):
        scheme = _SCHEMES.get(reader.take(1, "scheme")[0])
        if scheme is None:
            raise reader.wrong("scheme", "2 (CKKS) or 3 (BGV)", "another: BFV is not read")
        degree, count = reader.word("degree"), reader.word("number of moduli")
        if not (1 < degree <= _DEGREE_MOST and 0 < count <= _MODULI_MOST):
            allowed = f"degree up to {_DEGREE_MOST}, 1 to {_MODULI_MOST} moduli"
            raise reader.wrong("parameters", allowed, f"{degree} and {count}")
        moduli = [_modulus(reader) for _ in range(count)]
        plain = _modulus(reader)
        reader.finish()
        chain, special = (moduli[:-1], moduli[-1:]) if count > 1 else (moduli, [])
        if scheme == "ckks" and scale is None:
            scale = 2.0 ** round(log2(chain[-1]))
        parameters = Parameters(
            scheme=scheme,
            degree=degree,
            moduli=tuple(chain),
            special=tuple(special),
            scale=float(scale or 0.0),
            plain_modulus=plain,
            digit_limbs=1,
            gadget_base_log2=0 if special else 13,
            security=asked_security(128, insecure),
            slot_order="seal",
        )
        admit(parameters, str(reader.path), insecure=insecure)
        return context_of(parameters, levels)


def save_parameters(context: Context, path: PathLike, *, version: str = VERSION) -> None:
    """Write SEAL's EncryptionParameters of a context with SEAL's slot order and form of keys."""
    own = _suitable(context)
    number = next(number for number, name in _SCHEMES.items() if name == own.scheme)
    moduli = [*own.moduli, *own.special]
    members = bytes([number]) + _words(own.degree, len(moduli))
    for q in [*moduli, own.plain_modulus]:
        members += seal_format.packed(_words(q), version)
    files.write(path, seal_format.packed(members, version))


def suited(context: Context) -> Context:
    """The context with SEAL's order of slots, to make keys for it and files for SEAL.

    Raises ParamError unless it has one special modulus, and a digit for each limb (`digits`).
    """
    own = replace(context.parameters, slot_order="seal")
    found = context_of(own, context.levels, getattr(context, "bound", None))
    _suitable(found)
    return found


def load_ciphertext(
    path: PathLike,
    context: Context,
    *,
    owner: Owner | None = None,
    noise: float | None = None,
    bound: Stated | None = None,
) -> Ciphertext:
    """A ciphertext of two or three parts.

    owner   the keys of its secret, which SEAL's files do not name; evaluation keys are then used.
            Without any, all that is loaded for these parameters counts as one secret's
    noise   log2 of the standard deviation of its error in the embedding, which SEAL's files do not
            state; by default that of a circuit down to its level (CKKS), or of a fresh one with 3
            bits more (BGV)
    bound   CKKS: the bound of its values, by default the context's, or 1

    Raises LoadError for other files or parameters, seeded ones of other generators, and residues
    that are not below their moduli.
    """
    own = _suitable(context)
    reader = seal_format.opened(path, _most(own, 3))
    with refusing(reader):
        level, scale, factor, data = _ciphertext(reader, context, None)
        reader.finish()
        common: dict[str, Any] = {
            "context": context,
            "data": data,
            "level": level,
            "key": key_of("seal", context, owner),
            "packing": context.whole,
            "claimed": True,
        }
        made: Ciphertext
        if isinstance(context, BgvContext):
            made = _bgv(context, common, factor, noise)
        else:
            made = ckks_ciphertext(reader, common, scale, (noise, bound))
        return made.using(owner) if isinstance(owner, EvaluationKeys) else made


def _bgv(
    context: BgvContext, common: dict[str, Any], factor: int, noise: float | None
) -> BgvCiphertext:
    own = context.parameters
    error = estimates.fresh_public(own) + _SLACK if noise is None else noise
    sizes = any_message(own).plus(drawn(own, error))
    return BgvCiphertext(**common, factor=factor, **sized(sizes))


def save_ciphertext(ciphertext: Ciphertext, path: PathLike, *, version: str = VERSION) -> None:
    """Write a ciphertext, as SEAL's `Ciphertext::load` reads it."""
    context = ciphertext.context
    own = _suitable(context)
    if ciphertext.batch is not None:
        raise ParamError("ciphertext", "a batch", "one ciphertext: take x[0], x[1], ...")
    scale, factor = 1.0, 1
    if isinstance(ciphertext, CkksCiphertext):
        scale = ciphertext.scale
    elif isinstance(ciphertext, BgvCiphertext):
        factor = ciphertext.factor
    theirs = order.to_theirs(ciphertext.basis, limbs_first(ciphertext.data.to("cpu")))
    moduli = own.moduli[: ciphertext.level + 1]
    members = _members(own, moduli, theirs, (scale, factor), version)
    files.write(path, seal_format.packed(members, version))


def load_public_key(path: PathLike, context: Context) -> PublicKey:
    """A public key; its limb of the special modulus, which only SEAL uses, is dropped."""
    own = _suitable(context)
    reader = seal_format.opened(path, _most(own, 2))
    with refusing(reader):
        _, _, _, data = _ciphertext(reader, context, 2)
        reader.finish()
        chain = frozen(data[..., len(own.special) :])
        return PublicKey(context, chain, b"", fingerprint(chain, b""))


def save_public_key(keys: Keys, path: PathLike, *, version: str = VERSION) -> None:
    """Write a fresh public key of the secret: SEAL's has a limb of the special modulus, too."""
    own = _suitable(keys.context)
    basis = keys.context.tables.extended(own.level)
    data, _ = secret_encryption(basis, None, keys._whole(), own.plain_modulus or 1)
    files.write(path, seal_format.packed(_key_members(keys.context, data, version), version))


def load_evaluation_keys(
    context: Context,
    *,
    relin: PathLike | None = None,
    galois: PathLike | None = None,
    owner: Owner | None = None,
) -> EvaluationKeys:
    """SEAL's RelinKeys and GaloisKeys, of one secret; `owner` as for ciphertexts."""
    own = _suitable(context)
    if not own.special:
        raise ParamError("special", "none", "a special modulus: SEAL has no keys without one")
    squared = None
    if relin is not None:
        found = _switching_keys(relin, context, 1)
        if 0 not in found:
            raise LoadError(f"{files.name_of(relin)}: SEAL: expected a key of s^2, got none")
        squared = found[0]
    turns = {}
    if galois is not None:
        found = _switching_keys(galois, context, own.degree)
        if 0 in found:
            hint = "expected keys of automorphisms, got one of X -> X: are these RelinKeys?"
            raise LoadError(f"{files.name_of(galois)}: SEAL: {hint}")
        for place, key in found.items():
            turns[2 * place + 1] = _turned(context, key, pow(2 * place + 1, -1, 2 * own.degree))
    return EvaluationKeys(context, key_of("seal", context, owner), squared, turns)


def save_evaluation_keys(
    evaluation: EvaluationKeys,
    *,
    relin: PathLike | None = None,
    galois: PathLike | None = None,
    version: str = VERSION,
) -> None:
    """Write SEAL's RelinKeys and GaloisKeys; ParamError for keys that are not of the top level."""
    context = evaluation.context
    own = _suitable(context)
    if relin is not None:
        if evaluation.relinearization is None:
            raise ParamError("relin", "no key for products", "keygen(relinearization=True)")
        _write_keys(relin, context, [evaluation.relinearization], version)
    if galois is not None:
        turned: list[SwitchingKey | None] = [None] * own.degree
        for element, key in evaluation.galois.items():
            turned[(element - 1) // 2] = _turned(context, key, element)
        _write_keys(galois, context, turned, version)


def load_secret_key(path: PathLike, context: Context, public: PublicKey | None = None) -> Keys:
    """The secret of a SecretKey, with a public key: a loaded one, or a fresh one.

    Load the other objects with these keys as their `owner`.  Raises LoadError for a secret that
    is not uniformly ternary, or not that of the public key.
    """
    from cloakwork.fhe.interop.secret import keys_of

    own = _suitable(context)
    reader = seal_format.opened(path, _most(own, 1))
    with refusing(reader):
        moduli = own.moduli + own.special
        found, count, _ = reader.fields(_PLAINTEXT, "plaintext")
        if found != _identity(own, moduli) or count != own.degree * len(moduli):
            raise reader.wrong("parameters", "a secret key of the context's", "another object")
        words = reader.words(count)
        reader.finish()
        first = words[: own.degree].astype(np.int64)[np.newaxis]
        if words.size != count or int(first.max()) >= own.moduli[0] or int(first.min()) < 0:
            raise reader.wrong("secret", "residues below their moduli", "others")
        basis = context.tables.chain(0)
        return keys_of(context, order.from_theirs(basis, first), public)


def save_secret_key(keys: Keys, path: PathLike, *, version: str = VERSION) -> None:
    """Write the secret, unencrypted, as a SecretKey in a file that only its owner can read."""
    context = keys.context
    own = _suitable(context)
    basis = context.tables.extended(own.level)
    theirs = order.to_theirs(basis, limbs_first(keys._whole()))
    moduli = own.moduli + own.special
    theirs = np.roll(theirs, -len(own.special), axis=0)
    head = _PLAINTEXT.pack(_identity(own, moduli), theirs.size, 1.0)
    files.write(
        path, seal_format.packed(head + seal_format.array(theirs, version), version), private=True
    )
    theirs[...] = 0


def _ciphertext(
    reader: Reader, context: Context, key_parts: int | None
) -> tuple[int, float, int, Tensor]:
    """Level, scale, factor and residues; with `key_parts` of all moduli, special ones first."""
    own = context.parameters
    identity, is_ntt, parts, degree, limbs, scale, factor = reader.fields(_CIPHERTEXT, "ciphertext")
    chain = own.moduli + own.special if key_parts else own.moduli[:limbs]
    level = len(chain) - 1
    if degree != own.degree or limbs != len(chain) or identity != _identity(own, chain):
        hint = "those of the context, as `seal.load_parameters` read them"
        raise reader.wrong("parameters", hint, "others, or another kind of object")
    if parts not in (2, 3) or (key_parts or parts) != parts or is_ntt not in (0, 1):
        raise reader.wrong("ciphertext", "two or three parts", f"{parts} parts")
    if not 1 <= factor < max(own.plain_modulus, 2):
        raise reader.wrong("correction factor", f"1 to {max(own.plain_modulus, 2) - 1}", factor)
    if own.scheme == "ckks" and not is_ntt:
        raise reader.wrong("form", "the transform of a CKKS ciphertext", "coefficients")
    words = reader.words(parts * limbs * degree)
    if words.size == limbs * degree and parts == 2:
        random = reader.seed().uniform(chain, degree)
        words = np.concatenate((words, random.reshape(-1)))
    if words.size != parts * limbs * degree:
        raise reader.wrong("array", f"{parts * limbs * degree} words", words.size)
    theirs = words.reshape(parts, limbs, degree)
    if (theirs >= np.array(chain, dtype=np.uint64)[:, np.newaxis]).any():
        raise reader.wrong("array", "residues below their moduli", "larger ones")
    values = theirs.astype(np.int64)
    if key_parts:
        basis = context.tables.extended(own.level)
        values = np.roll(values, len(own.special), axis=1)
    else:
        basis = context.tables.chain(level)
    ours = order.from_theirs(basis, values) if is_ntt else order.transformed(basis, values)
    return level, scale, factor, limbs_last(ours)


def _switching_keys(path: PathLike, context: Context, count: int) -> dict[int, SwitchingKey]:
    """The keys of a KSwitchKeys by their places."""
    own, tables = context.parameters, context.tables
    digits = len(own.moduli)
    each = digits * (_most(own, 2) + 64) + 8
    reader = seal_format.opened(path, count * each + _ROOM)
    found: dict[int, SwitchingKey] = {}
    with refusing(reader):
        if reader.take(32, "parameters") != _identity(own, own.moduli + own.special):
            raise reader.wrong("parameters", "keys of the context's parameters", "others")
        present = reader.word("number of keys")
        if present > count:
            raise reader.wrong("number of keys", f"at most {count}", present)
        for place in range(present):
            if not (own_digits := reader.word("number of digits")):
                continue
            if own_digits != digits:
                raise reader.wrong("number of digits", digits, own_digits)
            pairs = []
            for _ in range(digits):
                inner = reader.object(_most(own, 2))
                pairs.append(_ciphertext(inner, context, 2)[3])
                inner.finish()
            basis = tables.extended(own.level)
            stacked = np.stack([limbs_first(pair) for pair in pairs], axis=1)
            data = limbs_last(stacked)
            ops.modmul(data, weights(own, -1), basis.q, out=data)
            found[place] = SwitchingKey(frozen(data), b"", own.level)
        reader.finish()
    return found


def _write_keys(
    path: PathLike, context: Context, keys: list[SwitchingKey | None], version: str
) -> None:
    own, tables = context.parameters, context.tables
    basis = tables.extended(own.level)
    pieces = [_identity(own, own.moduli + own.special), _words(len(keys))]
    for key in keys:
        if key is None:
            pieces.append(_words(0))
            continue
        if key.level != own.level:
            raise ParamError("level", key.level, f"keys of level {own.level}: SEAL has no others")
        b, a = halves(tables, key.data)
        pieces.append(_words(b.shape[0]))
        for number in range(b.shape[0]):
            pair = limbs_last(np.stack((limbs_first(b[number]), limbs_first(a[number]))))
            ops.modmul(pair, weights(own, 1), basis.q, out=pair)
            pieces.append(seal_format.packed(_key_members(context, pair, version), version))
    files.write(path, seal_format.packed(b"".join(pieces), version))


def _turned(context: Context, key: SwitchingKey, element: int) -> SwitchingKey:
    """The key after X -> X^element: SEAL's follow their automorphism, ours precede it."""
    data = order.turned(context.tables, limbs_first(key.data), element)
    return SwitchingKey(frozen(limbs_last(data)), b"", key.level)


def _key_members(context: Context, data: Tensor, version: str) -> bytes:
    """A pair [2, N, special + k] as a ciphertext of all moduli."""
    own = context.parameters
    theirs = order.to_theirs(context.tables.extended(own.level), limbs_first(data))
    theirs = np.roll(theirs, -len(own.special), axis=1)
    return _members(own, own.moduli + own.special, theirs, (1.0, 1), version)


def _members(
    own: Parameters,
    moduli: tuple[int, ...],
    theirs: order.Array,
    numbers: tuple[float, int],
    version: str,
) -> bytes:
    parts, limbs, degree = theirs.shape
    identity = _identity(own, moduli)
    head = _CIPHERTEXT.pack(identity, 1, parts, degree, limbs, *numbers)
    return head + seal_format.array(theirs, version)


def _identity(own: Parameters, moduli: tuple[int, ...]) -> bytes:
    """The parms_id of some of the moduli."""
    number = next(number for number, name in _SCHEMES.items() if name == own.scheme)
    return seal_format.hashed([number, own.degree, *moduli, own.plain_modulus])


def _most(own: Parameters, parts: int) -> int:
    """The most bytes of that many polynomials."""
    return 8 * parts * own.degree * (len(own.moduli) + len(own.special)) + _ROOM


def _suitable(context: Context) -> Parameters:
    own = context.parameters
    if own.scheme not in _SCHEMES.values():
        raise ParamError("scheme", own.scheme, "ckks or bgv")
    if own.slot_order != "seal" or own.digit_limbs != 1 or len(own.special) > 1 or own.reserved:
        allowed = (
            "SEAL's order of slots, a digit for each limb, and one special modulus: take "
            "seal.suited(context), or read it with seal.load_parameters"
        )
        raise ParamError("context", repr(context), allowed)
    return own


def _modulus(reader: Reader) -> int:
    inner = reader.object(_ROOM)
    found = inner.word("modulus")
    inner.finish()
    return found


def _words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)
