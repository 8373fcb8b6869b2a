"""Keys and ciphertexts as files.

Every file carries the parameters, so that it can be opened alone, and the fingerprints of the
parameters and of the secret.  Tensors that are expanded from a seed are stored as the seed: fresh
ciphertexts, public and evaluation keys take half of their memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import log2
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, BinaryIO
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.array_api.creation import zeros
from cloakwork.array_api.manipulation import broadcast_to
from cloakwork.errors import CloakworkError, KeyMismatchError, LoadError
from cloakwork.fhe.bfv import BfvCiphertext, BfvContext
from cloakwork.fhe.bgv import BgvCiphertext
from cloakwork.fhe.bgv.integer_context import IntegerContext
from cloakwork.fhe.bgv.integers import IntegerCiphertext
from cloakwork.fhe.bgv.sizes import unknown
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.ciphertext.data import CiphertextData
from cloakwork.fhe.ckks import CkksCiphertext, CkksContext
from cloakwork.fhe.context import Context
from cloakwork.fhe.files import facts
from cloakwork.fhe.files.container import Contents, PathLike, Readable, load, save
from cloakwork.fhe.keys.encapsulation import Encapsulation, check_encapsulation
from cloakwork.fhe.keys.evaluation import EvaluationKeys
from cloakwork.fhe.keys.public import PublicKey, expanded_encryption, fingerprint
from cloakwork.fhe.parameters import Parameters
from cloakwork.fhe.rns.key_switching import SwitchingKey, expanded, halves
from cloakwork.fhe.rns.layout import part
from cloakwork.fhe.rns.samplers import SEED_BYTES, wiped
from cloakwork.fhe.rns.tables import Tables, frozen
from cloakwork.fhe.schemes import context_of
from cloakwork.fhe.security import InsecureWarning, admit
from cloakwork.strict import Member, in_short
from cloakwork.tensors.conversion import asarray

if TYPE_CHECKING:
    from cloakwork.fhe.keys.keys import Keys

Array = NDArray[np.int64]

# A limit for descriptions: far above secure parameters, and below large memory.
_MOST_DEGREE = 1 << 17
_MOST_LIMBS = 128
# The names of keys to a sparse secret and back.
_ENTER, _LEAVE = "sparse.enter", "sparse.leave"


def limbs_first(data: Tensor) -> Array:
    """[..., N, k] residues in their memory order: [..., k, N]."""
    return np.asarray(data.moveaxis(-1, -2))


def limbs_last(array: Array) -> Tensor:
    """[..., k, N] of a file -> residues [..., N, k], limb after limb in memory."""
    return asarray(np.ascontiguousarray(array)).moveaxis(-1, -2)


def described(ciphertext: CiphertextData) -> dict[str, Any]:
    """Everything that a file states about a ciphertext, except its residues and their seed."""
    fields: dict[str, Any] = _common(ciphertext.context, ciphertext.key)
    # Estimates of deep models may overflow: then any number so large says as little.
    noise = min(ciphertext.noise, facts.MOST_BITS - 1)
    fields |= {"level": ciphertext.level, "noise": noise, "parts": ciphertext.parts}
    fields |= {"batch": ciphertext.batch, "packing": facts.packing_fields(ciphertext.packing)}
    if isinstance(ciphertext, CkksCiphertext):
        fields |= {"scale": ciphertext.scale.hex(), "size": ciphertext.size}
        fields |= {"values": ciphertext.bound.numbers(), "coherence": ciphertext.coherence}
        fields["alike"] = ciphertext.alike
    else:
        assert isinstance(ciphertext, IntegerCiphertext)
        fields["factor"] = ciphertext.factor
        fields |= {"coefficient": ciphertext.coefficient, "value": ciphertext.value}
    return fields


def from_description(path: PathLike, fields: Any) -> Ciphertext:
    """The ciphertext of a description by `described`, with zeros that take no memory.

    Raises LoadError, which names the field, for an invalid description.
    """
    batch = facts.batch_of(Contents(Path(path), "", Member(f"{path}", fields).of(dict), {}))
    known = {"alike": facts.equal_rows(batch)} | fields | {"batch": None}
    contents = Contents(Path(path), "ciphertext", known, {})
    level, parts = _level_and_parts(contents, _MOST_LIMBS - 1)
    sized = Member(f"{path}: parameters", contents.field("parameters").of(dict).get("degree"))
    degree = replace(sized, place=f"{sized.place}.degree").whole(1, _MOST_DEGREE)
    # One ciphertext, however long the batch.
    zero = broadcast_to(zeros((), dtype="i64"), (parts, level + 1, degree))
    contents.tensors["data"] = np.asarray(zero)
    # A description computes nothing.  Whoever makes keys for it, or serves it, admits it; those who
    # give ciphertexts to a program have admitted theirs.
    made: Ciphertext = _made(contents, ciphertext_of, lambda _: None)
    if isinstance(made, CkksCiphertext):
        made = replace(made, bound=replace(made.bound, given=False))
    lead = () if batch is None else (batch,)
    whole = made.carrying(broadcast_to(zeros((), dtype="i64"), (*lead, *made.data.shape)))
    if unknown := fields.keys() - whole.described().keys():
        got = f"also {in_short(min(unknown))}"
        raise contents.wrong("fields", "what ciphertexts are described by", got)
    return whole


def save_ciphertext(path: PathLike | BinaryIO, ciphertext: CiphertextData) -> None:
    """Write a ciphertext; fresh ones of the secret as their first half and a seed."""
    fields, data = stated(ciphertext)
    save(path, "ciphertext", fields, {"data": data})


def stated(ciphertext: CiphertextData) -> tuple[dict[str, Any], Array]:
    """The fields of a ciphertext in its file, and its tensor [..., k, N]."""
    fields, data = described(ciphertext), ciphertext.data
    if isinstance(ciphertext, CkksCiphertext):
        shown = ciphertext.bound.shown()
        fields |= {"size": shown.size, "values": shown.numbers()}
    if ciphertext.seed is not None:
        fields["seed"] = ciphertext.seed.hex()
        data = part(data, 0)
    return fields, limbs_first(data)


def save_public(path: PathLike | BinaryIO, public: PublicKey) -> None:
    """Write a public key: its first half and a seed."""
    fields = _common(public.context, public.key) | {"seed": public.seed.hex()}
    save(path, "public key", fields, {"data": _public_data(public)})


def _public_data(public: PublicKey) -> Array:
    """The part of a public key in a file: without a seed, both halves."""
    return limbs_first(public.data[0] if public.seed else public.data)


def save_evaluation(path: PathLike | BinaryIO, evaluation: EvaluationKeys) -> None:
    """Write evaluation keys: of each its first half and a seed."""
    named: dict[str, SwitchingKey] = {str(g): key for g, key in evaluation.galois.items()}
    if evaluation.relinearization is not None:
        named["s^2"] = evaluation.relinearization
    sparse = evaluation.encapsulation
    if sparse is not None:
        named |= {_ENTER: sparse.enter, _LEAVE: sparse.leave}
    fields = _common(evaluation.context, evaluation.key)
    fields["seeds"] = {name: key.seed.hex() for name, key in named.items()}
    fields["key_levels"] = {name: key.level for name, key in named.items()}
    tables = evaluation.context.tables
    bodies = {
        name: limbs_first(halves(tables, key.data)[0] if key.seed else key.data)
        for name, key in sorted(named.items())
    }
    save(path, "evaluation keys", fields, bodies)


def save_context(path: PathLike | BinaryIO, context: Context) -> None:
    """Write a context: its parameters, and what encryption under it assumes."""
    fields = _common(context, "")
    del fields["key"]
    save(path, "context", fields, {})


def save_secret(path: PathLike, keys: Keys) -> None:
    """Write the secret and the public key, readable by the owner only (mode 0600)."""
    fields = _common(keys.context, keys.key) | {"seed": keys.public.seed.hex()}
    with wiped(keys._coefficients()) as coefficients:
        tensors = {"secret": np.asarray(coefficients), "public": _public_data(keys.public)}
        save(path, "secret key", fields, tensors, private=True)


def load_any(path: Readable, *, expect: str | None = None, insecure: bool = False) -> Any:
    """The object in a file: a context, a ciphertext or a set of them, or keys of any class.

    path       of a file; or its contents as bytes, or a file that is open in binary
    expect     the kind that it must be: "ciphertext", "ciphertexts", "public key",
               "evaluation keys", "secret key" or "context"
    insecure   accept, with an InsecureWarning, parameters with less than 128 bits of security, and
               a secret's file that other users can read

    Keys from a file have no evaluation keys until `add` makes some.

    Raises LoadError for a truncated or altered file, or one of another version or kind; for an
    invalid secret, or a secret that does not match its public key; and, without `insecure`, for
    what it accepts.
    """
    return _loaded(path, expect, insecure, None)


def load_known(path: Readable, known: Parameters, *, expect: str | None = None) -> Any:
    """The object in a file, as `load_any`, for a caller who uses these parameters already.

    They passed before.  Raises KeyMismatchError for an object of others.
    """
    return _loaded(path, expect, False, known)


def _loaded(path: Readable, expect: str | None, insecure: bool, known: Parameters | None) -> Any:
    from cloakwork.fhe.files import sets

    contents = load(path)
    readers: dict[str, Callable[[Contents, Context], Any]] = {
        "ciphertext": ciphertext_of,
        sets.KIND: sets.read,
        "public key": _public,
        "evaluation keys": _evaluation,
        "secret key": _secret,
        "context": lambda _, context: context,
    }
    if contents.kind not in readers or expect not in (None, contents.kind):
        raise contents.wrong("kind", expect or " or ".join(readers), repr(contents.kind))
    if contents.kind == "secret key":
        _check_owner_alone(contents, insecure)

    def admitted(found: Parameters) -> None:
        if known is None:
            admit(found, str(contents.path), insecure=insecure)
        elif found != known:
            hint = "operands must come from one set of parameters"
            got = found.fingerprint
            raise KeyMismatchError("load", "parameters", known.fingerprint, got, hint)

    # Also in a batch or a trace: to load is not a step of it.
    return _core.unrecorded(lambda: _made(contents, readers[contents.kind], admitted))


def _made(
    contents: Contents,
    reader: Callable[[Contents, Context], Any],
    admitted: Callable[[Parameters], None],
) -> Any:
    """The object of a reader; `admitted` raises LoadError for parameters that may not pass."""
    try:
        return reader(contents, _context(contents, admitted))
    except (LoadError, KeyMismatchError):
        raise
    except CloakworkError as error:
        raise LoadError(f"{contents.path}: {error}") from error


def _check_owner_alone(contents: Contents, insecure: bool) -> None:
    """LoadError if other users can read or change a secret's file; a warning if `insecure`."""
    if contents.permissions is None or not contents.permissions & 0o077:
        return
    found = (
        f"{contents.path}: others than its owner may read or change this secret key (mode "
        f"{contents.permissions:04o}): chmod 600 {quote(str(contents.path))}"
    )
    if not insecure:
        hint = "or insecure=True to accept it; if others may have read it, make new keys"
        raise LoadError(f"{found}, {hint}")
    warn(f"{found}; if others may have read it, make new keys", InsecureWarning, stacklevel=3)


def load_ciphertext(path: PathLike | BinaryIO, evaluation: EvaluationKeys) -> Ciphertext:
    """A ciphertext from a file, for computing with these keys, whatever their security.

    Raises LoadError as `load`, KeyMismatchError for a ciphertext of other parameters or another
    secret.
    """
    known = evaluation.context.parameters
    found: Ciphertext = load_known(path, known, expect="ciphertext")
    evaluation.context.check(found, "load")
    return found.using(evaluation)


def _common(context: Context, key: str) -> dict[str, Any]:
    parameters = context.parameters.fields()
    fingerprint = context.parameters.fingerprint
    fields: dict[str, Any] = {"parameters": parameters, "fingerprint": fingerprint, "key": key}
    if isinstance(context, CkksContext):
        fields["bound"] = context.bound
    return fields | {"levels": context.levels}


def _context(contents: Contents, admitted: Callable[[Parameters], None]) -> Context:
    parameters, levels = facts.parameters_of(contents), facts.levels_of(contents)
    _check_degree(contents, parameters.degree)
    admitted(parameters)
    bound = facts.context_bound(contents) if parameters.scheme == "ckks" else None
    return context_of(parameters, levels, bound)


def _check_degree(contents: Contents, degree: int) -> None:
    """LoadError unless tensors are of this degree: small files must not cause large tables."""
    for name, found in contents.tensors.items():
        if found.shape[-1:] != (degree,):
            raise contents.wrong(f"tensor {name!r}", f"degree {degree}", f"shape {found.shape}")
    if not contents.tensors and contents.kind not in ("evaluation keys", "context"):
        raise contents.wrong("tensors", "one or more", "none")


def ciphertext_of(contents: Contents, context: Context) -> Ciphertext:
    """The ciphertext of a file's contents; LoadError for a wrong field or residue."""
    level, count = _level_and_parts(contents, context.parameters.level)
    batch = facts.batch_of(contents)
    lead = () if batch is None else (batch,)
    basis = context.tables.chain(level)
    seed = contents.field("seed").octets(SEED_BYTES) if "seed" in contents.fields else None
    own = lead if seed is not None else (*lead, count)
    body = _residues(contents, "data", own, basis.moduli, basis.degree)
    common: dict[str, Any] = {
        "context": context,
        "data": body if seed is None else expanded_encryption(basis, body, seed),
        "level": level,
        "noise": facts.estimate(contents, "noise"),
        "key": facts.owner_of(contents),
        "seed": seed,
        "packing": facts.packing_of(contents, context),
        "claimed": True,
    }
    if isinstance(context, IntegerContext):
        factor = contents.field("factor").whole(1, context.plain_modulus - 1)
        largest = unknown(context.parameters, common["noise"])
        for name in ("coefficient", "value"):
            stated = name in contents.fields
            common[name] = facts.estimate(contents, name) if stated else getattr(largest, name)
        made = BfvCiphertext if isinstance(context, BfvContext) else BgvCiphertext
        return made(**common, factor=factor)
    scale = contents.field("scale").exact()
    if not scale > 0:
        raise contents.wrong("scale", "a positive number", str(scale))
    worst = {"coherence": log2(context.slots) / 2, "alike": facts.equal_rows(batch)}
    for name, most in worst.items():
        known = name in contents.fields
        common[name] = max(facts.estimate(contents, name), 0.0) if known else most
    return CkksCiphertext(**common, scale=scale, bound=facts.values_of(contents))


def _level_and_parts(contents: Contents, highest: int) -> tuple[int, int]:
    return contents.field("level").whole(0, highest), contents.field("parts").whole(2, 3)


def _public(contents: Contents, context: Context, tensor: str = "data") -> PublicKey:
    basis = context.tables.chain(context.parameters.level)
    seed = facts.key_seed(contents.field("seed"))
    body = _residues(contents, tensor, () if seed else (2,), basis.moduli, basis.degree)
    data = frozen(expanded_encryption(basis, body, seed) if seed else body)
    key = facts.owner_of(contents)
    found = fingerprint(data, seed)
    if found != key:
        raise contents.wrong("key", f"{found}, that of its residues", key)
    return PublicKey(context, data, seed, key)


def _evaluation(contents: Contents, context: Context) -> EvaluationKeys:
    seeds = facts.key_seeds(contents)
    levels = facts.key_levels(contents, context, seeds)
    if _ENTER in seeds:
        check_encapsulation(context.parameters)
    keys = {}
    for name, seed in seeds.items():
        tables = context.tables.entry if name == _ENTER else context.tables
        if levels[name] > tables.parameters.level:
            raise contents.wrong("key_levels", f"{tables.parameters.level} for {name!r}", "more")
        keys[name] = _switching_key(contents, name, tables, (levels[name], seed))
    squared, sparse = keys.pop("s^2", None), None
    if _ENTER in keys or _LEAVE in keys:
        if not {_ENTER, _LEAVE} <= keys.keys():
            raise contents.wrong("seeds", f"{_ENTER} and {_LEAVE}, or neither", "one of them")
        sparse = Encapsulation(keys.pop(_ENTER), keys.pop(_LEAVE))
    degree = context.parameters.degree
    galois = {facts.galois_element(contents, name, degree): key for name, key in keys.items()}
    return EvaluationKeys(context, facts.owner_of(contents), squared, galois, sparse)


def _switching_key(
    contents: Contents, name: str, tables: Tables, known: tuple[int, bytes]
) -> SwitchingKey:
    """A key of known level and seed; LoadError if its tensor has another shape than the level's."""
    level, seed = known
    basis, digits = tables.extended(level), tables.digit_count(level)
    if not seed:
        lead = (2, digits) if tables.special_limbs else (digits, 2)
        whole = _residues(contents, name, lead, basis.moduli, basis.degree)
        return SwitchingKey(frozen(whole), seed, level)
    body = _residues(contents, name, (digits,), basis.moduli, basis.degree)
    return SwitchingKey(frozen(expanded(tables, level, seed, body)), seed, level)


def _secret(contents: Contents, context: Context) -> Keys:
    from cloakwork.fhe.keys.keys import Keys

    coefficients = contents.tensor("secret", (context.parameters.degree,))
    try:
        return Keys._restored(_public(contents, context, "public"), coefficients)
    finally:
        coefficients[...] = 0


def _residues(
    contents: Contents, name: str, lead: tuple[int, ...], moduli: tuple[int, ...], degree: int
) -> Tensor:
    """A tensor [*lead, k, N] of the file as residues [*lead, N, k], each below its modulus."""
    found = contents.tensor(name, (*lead, len(moduli), degree))
    limits = np.array(moduli, dtype=np.uint64)[:, np.newaxis]
    # Without a sign, negative words are above all moduli.
    if (found.view(np.uint64) >= limits).any():
        raise contents.wrong(f"tensor {name!r}", "residues below their moduli", "larger ones")
    return limbs_last(found)
