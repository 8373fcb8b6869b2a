"""Files of OpenFHE in JSON (`SerializeToFile(..., JSON)`): CKKS with hybrid key switching.

    context = openfhe.load_parameters("context.json", keys="relin.json")
    evaluation = openfhe.load_evaluation_keys(context, relin="relin.json", galois="rotations.json")
    x = openfhe.load_ciphertext("x.json", context, owner=evaluation)
    openfhe.save_ciphertext((x * x).relinearize().rescale(), "y.json", like="x.json")

Its binary form is not read.  A written ciphertext repeats OpenFHE's own description of its context,
from a ciphertext that OpenFHE wrote.
"""

from __future__ import annotations

from json import dumps, loads
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cloakwork import _core, files, ops
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
from cloakwork.fhe.keys.public import PublicKey, fingerprint
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.key_switching import SwitchingKey
from cloakwork.fhe.rns.tables import Basis, frozen
from cloakwork.fhe.schemes import context_of
from cloakwork.fhe.security import admit, asked_security

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys

_HYBRID = 2
_CKKS = "lbcrypto::CryptoParametersCKKSRNS"
_DATA = ("ptr_wrapper", "data")
_BYTES_MOST = 1 << 34


class File:
    """A JSON file; wrong places are LoadErrors that name them."""

    def __init__(self, path: PathLike) -> None:
        name = Path(files.name_of(path))
        self.reader = Reader(name, b"", library="OpenFHE")
        try:
            self.whole = loads(bytes(memoryview(_core.map_file(name))[:_BYTES_MOST]))
        except OSError as failure:
            raise LoadError(f"{name}: cannot be read: {failure.strerror}") from failure
        except (ValueError, RecursionError) as failure:
            hint = f"expected OpenFHE's JSON, as SerializeToFile(..., JSON) writes it: {failure}"
            raise LoadError(f"{name}: {hint}") from failure

    def at(self, value: Any, *steps: str | int) -> Any:
        """The value at a place below a value."""
        found = value
        for number, step in enumerate(steps):
            kind = dict if isinstance(step, str) else list
            if not isinstance(found, kind) or (step not in found if kind is dict else not found):
                place = ".".join(map(str, steps[: number + 1]))
                raise self.wrong(place, "OpenFHE's object of this kind", "none")
            found = cast("Any", found)[step]
        return found

    def number(self, value: Any, *steps: str | int) -> int:
        """An integer at a place."""
        found = self.at(value, *steps)
        if type(found) is not int:
            raise self.wrong(".".join(map(str, steps)), "an integer", repr(found)[:40])
        return found

    def items(self, value: Any, *steps: str | int) -> list[Any]:
        """A list at a place."""
        found = self.at(value, *steps)
        if not isinstance(found, list):
            raise self.wrong(".".join(map(str, steps)), "a list", type(found).__name__)
        return found

    def wrong(self, place: str, expected: object, got: object) -> LoadError:
        """The LoadError for a wrong value."""
        return LoadError(f"{self.reader.path}: OpenFHE, {place}: expected {expected}, got {got}")

    def moduli(self, element: Any) -> list[int]:
        """Those of a polynomial's limbs."""
        limbs = self.items(element, "v")
        return [self.number(limb, "v", *_DATA, "m", "v") for limb in limbs]

    def polynomial(self, element: Any, basis: Basis) -> order.Array:
        """[k, N] of a polynomial of these moduli, in our order."""
        found = self.moduli(element)
        if found != [*basis.moduli]:
            raise self.wrong("moduli", "those of the context", found)
        rows = []
        for limb, q in zip(self.items(element, "v"), basis.moduli, strict=True):
            values = self.items(limb, "v", *_DATA, "v")
            if self.number(limb, "f") != 0:
                raise self.wrong("format", "0: EVALUATION", self.at(limb, "f"))
            if len(values) != basis.degree or not all(type(value) is int for value in values):
                raise self.wrong("residues", f"{basis.degree} integers", len(values))
            if min(values) < 0 or max(values) >= q:
                raise self.wrong("residues", f"integers below {q}", "others")
            rows.append(np.array(values, dtype=np.int64))
        return order.from_theirs(basis, np.stack(rows))


def load_parameters(
    path: PathLike,
    *,
    keys: PathLike | None = None,
    scale: float | None = None,
    insecure: bool = False,
    levels: Levels = "auto",
) -> Context:
    """The context of a CryptoContext.

    keys    a file of evaluation keys, relinearization or rotations: the special moduli are in
            these alone.  Without it, the context has none, and cannot use OpenFHE's keys
    scale   of what is encoded here, by default OpenFHE's nominal one

    Raises LoadError for another file, and for parameters that have no counterpart here.
    """
    file = File(path)
    with refusing(file.reader):
        held = file.at(file.whole, "value0", *_DATA, "cc")
        if (name := file.at(held, "polymorphic_name")) != _CKKS:
            raise file.wrong("scheme", "CKKS: OpenFHE's BGV and BFV are not read", name)
        switching = file.at(held, *_DATA, "value0")
        if file.number(switching, "ks") != _HYBRID:
            raise file.wrong("ks", "2: HYBRID key switching", switching["ks"])
        digits = file.number(switching, "dnum")
        inner = file.at(switching, "value0", "value0")
        ring = file.at(inner, "elp", *_DATA)
        chain = [file.number(limb, *_DATA, "value0", "cm", "v") for limb in file.items(ring, "p")]
        if not 1 <= digits <= max(len(chain), 1):
            raise file.wrong("dnum", f"1 to {len(chain)}", digits)
        special = _special(keys, chain) if keys is not None else []
        if scale is None:
            scale = 2.0 ** file.number(inner, "enp", *_DATA, "m")
        parameters = Parameters(
            scheme="ckks",
            degree=file.number(ring, "value0", "rd"),
            moduli=tuple(chain),
            special=tuple(special),
            scale=scale,
            plain_modulus=0,
            digit_limbs=-(-len(chain) // digits) if special else 1,
            gadget_base_log2=0 if special else 13,
            security=asked_security(128, insecure),
            slot_order="openfhe",
        )
        admit(parameters, str(path), insecure=insecure)
        return context_of(parameters, levels)


def _special(path: PathLike, chain: list[int]) -> list[int]:
    """The special moduli, from a file of evaluation keys."""
    file = File(path)
    found = file.moduli(file.at(_first(file), "bk", 0))
    if found[: len(chain)] != chain:
        raise file.wrong("moduli", "a key of the context's chain", found)
    return found[len(chain) :]


def _first(file: File) -> Any:
    """The first key in a file of relinearization or rotation keys."""
    held = file.at(_only(file), "value")
    if isinstance(held, list):
        return file.at(held, 0, *_DATA)
    return file.at(held, *_DATA, 0, "value", *_DATA)


def _only(file: File) -> Any:
    """The entry of the file's secret, which must be one."""
    held = file.items(file.whole, "value0")
    if len(held) != 1:
        hint = "keys of one secret: give its tag to SerializeEvalMultKey and its like"
        raise file.wrong("value0", hint, f"those of {len(held)}")
    return held[0]


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
    own, file = _suitable(context), File(path)
    with refusing(file.reader):
        held = file.at(file.whole, "value0", *_DATA)
        scale, parts = file.at(held, "s"), file.items(held, "v")
        if len(parts) not in (2, 3) or not isinstance(scale, float | int):
            raise file.wrong("v and s", "two or three polynomials and a scale", len(parts))
        limbs = len(file.items(parts[0], "v"))
        if not 1 <= limbs <= len(own.moduli):
            raise file.wrong("limbs", f"1 to {len(own.moduli)}", limbs)
        basis = context.tables.chain(limbs - 1)
        ours = np.stack([file.polynomial(part, basis) for part in parts])
        common = {
            "context": context,
            "data": limbs_last(ours),
            "level": limbs - 1,
            "key": key_of("openfhe", context, owner),
            "packing": context.whole,
            "claimed": True,
        }
        made = ckks_ciphertext(file.reader, common, float(scale), (noise, bound))
        return made.using(owner) if isinstance(owner, EvaluationKeys) else made


def save_ciphertext(ciphertext: Ciphertext, path: PathLike, *, like: PathLike) -> None:
    """Write a ciphertext in JSON, as OpenFHE's DeserializeCiphertext reads it.

    like   a ciphertext of the same secret, which OpenFHE wrote, of all limbs: its description of
           the context and the tag of the secret are repeated
    """
    context = ciphertext.context
    own, file = _suitable(context), File(like)
    assert isinstance(ciphertext, CkksCiphertext)
    if ciphertext.batch is not None:
        raise ParamError("ciphertext", "a batch", "one ciphertext: take x[0], x[1], ...")
    held = file.at(file.whole, "value0", *_DATA)
    first = file.at(held, "v", 0)
    if file.moduli(first) != [*own.moduli]:
        raise file.wrong("moduli", "a ciphertext of all the context's moduli", "others")
    basis = ciphertext.basis
    theirs = order.to_theirs(basis, limbs_first(ciphertext.data.to("cpu")))
    pointers = [file.at(limb, "p") for limb in file.items(first, "v")]
    ring = _ring(file, held, first, pointers[: basis.limbs])
    parts = [
        {
            "v": _limbs(part, basis.moduli, pointers),
            "f": 0,
            "p": ring if not number else _again(file, ring),
        }
        for number, part in enumerate(theirs)
    ]
    _class_versions(parts[0])
    degree = max(1, round(log2(ciphertext.scale) / log2(own.scale)))
    held |= {"v": parts, "l": own.level - ciphertext.level, "d": degree, "s": ciphertext.scale}
    files.write(path, dumps(file.whole).encode())


def _ring(file: File, held: Any, first: Any, pointers: list[Any]) -> Any:
    """OpenFHE's description of the moduli of a level: its own for all, else a new one."""
    if len(pointers) == len(file.items(first, "v")):
        return file.at(first, "p")
    moduli = file.moduli(first)[: len(pointers)]
    whole, degree = 1, len(file.items(first, "v", 0, "v", *_DATA, "v"))
    for q in moduli:
        whole *= q
    words, rest = [], whole
    while rest:
        words.append(rest & (1 << 64) - 1)
        rest >>= 64
    zero = {"v": [0], "m": 0}
    value = {"co": 2 * degree, "rd": degree, "cm": {"v": words, "m": whole.bit_length()}}
    value |= {"ru": zero, "bm": zero, "br": zero}
    # Identities of new objects have the highest bit; this one follows those of the context.
    identity = file.number(held, "m", "ptr_wrapper", "id")
    held["m"]["ptr_wrapper"]["id"] = identity + 1
    wrapper = {"id": identity, "data": {"value0": value, "p": pointers}}
    return {"polymorphic_id": 1 << 30, "ptr_wrapper": wrapper}


def _again(file: File, ring: Any) -> Any:
    """The same description by its identity alone."""
    identity = file.number(ring, "ptr_wrapper", "id") & (1 << 31) - 1
    return {"polymorphic_id": 1 << 30, "ptr_wrapper": {"id": identity}}


def _limbs(part: order.Array, moduli: tuple[int, ...], pointers: list[Any]) -> list[Any]:
    return [
        {
            "v": {
                "polymorphic_id": 1 << 30,
                "ptr_wrapper": {"valid": 1, "data": {"v": row.tolist(), "m": {"v": q}}},
            },
            "f": 0,
            "p": pointer,
        }
        for row, q, pointer in zip(part, moduli, pointers[: len(moduli)], strict=True)
    ]


def _class_versions(part: Any) -> None:
    """Each class states its version where it first occurs."""
    vector = part["v"][0]["v"]["ptr_wrapper"]
    vector["data"] = {"cereal_class_version": 0} | vector["data"]
    part["v"][0] = {"cereal_class_version": 0} | part["v"][0]
    fields = {"cereal_class_version": 0} | part
    part.clear()
    part |= fields


def load_public_key(path: PathLike, context: Context) -> PublicKey:
    """A public key."""
    own, file = _suitable(context), File(path)
    with refusing(file.reader):
        pair = file.items(file.whole, "value0", *_DATA, "h")
        if len(pair) != 2:
            raise file.wrong("h", "two polynomials", len(pair))
        basis = context.tables.chain(own.level)
        data = frozen(limbs_last(np.stack([file.polynomial(half, basis) for half in pair])))
        return PublicKey(context, data, b"", fingerprint(data, b""))


def load_evaluation_keys(
    context: Context,
    *,
    relin: PathLike | None = None,
    galois: PathLike | None = None,
    owner: Owner | None = None,
) -> EvaluationKeys:
    """The keys of SerializeEvalMultKey and SerializeEvalAutomorphismKey, of one secret."""
    own = _suitable(context)
    if not own.special:
        raise ParamError("special", "none", "load_parameters(..., keys=): they are in these alone")
    squared, turns = None, {}
    if relin is not None:
        file = File(relin)
        with refusing(file.reader):
            found = file.items(_only(file), "value")
            squared = _switching_key(file, context, file.at(found, 0, *_DATA))
    if galois is not None:
        file = File(galois)
        with refusing(file.reader):
            for entry in file.items(_only(file), "value", *_DATA):
                element = file.number(entry, "key")
                if not (element % 2 and 1 < element < 2 * own.degree):
                    raise file.wrong("key", "an odd number below 2 N", element)
                turns[element] = _switching_key(file, context, file.at(entry, "value", *_DATA))
    return EvaluationKeys(context, key_of("openfhe", context, owner), squared, turns)


def _switching_key(file: File, context: Context, held: Any) -> SwitchingKey:
    own, tables = context.parameters, context.tables
    limbs, digits = len(own.moduli), tables.digit_count(own.level)
    special, chain = tables.limbs(0, len(own.special)), tables.chain(own.level)
    halves = []
    for name in ("bk", "ak"):
        elements = file.items(held, name)
        if len(elements) != digits:
            raise file.wrong(name, f"{digits} digits", len(elements))
        rows = []
        for element in elements:
            all_limbs = file.items(element, "v")
            upper = file.polynomial({"v": all_limbs[limbs:]}, special)
            rows.append(np.concatenate((upper, file.polynomial({"v": all_limbs[:limbs]}, chain))))
        halves.append(np.stack(rows))
    data, basis = limbs_last(np.stack(halves)), tables.extended(own.level)
    ops.modmul(data, weights(own, -1), basis.q, out=data)
    return SwitchingKey(frozen(data), b"", own.level)


def load_secret_key(path: PathLike, context: Context, public: PublicKey | None = None) -> Keys:
    """The secret of a PrivateKey, with a public key: a loaded one, or a fresh one."""
    from cloakwork.fhe.interop.secret import keys_of

    own, file = _suitable(context), File(path)
    with refusing(file.reader):
        basis = context.tables.chain(own.level)
        element = file.at(file.whole, "value0", *_DATA, "s")
        found = file.polynomial(element, basis)
        first = found[:1].copy()
        found[...] = 0
        return keys_of(context, first, public)


def _suitable(context: Context) -> Parameters:
    own = context.parameters
    if own.scheme != "ckks" or own.generator != 5 or own.reserved:
        raise ParamError("context", repr(context), "CKKS, as openfhe.load_parameters makes it")
    return own
