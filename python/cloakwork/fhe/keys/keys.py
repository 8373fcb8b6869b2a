"""The client's keys: the secret, and the keys made from it.

A secret lives in tensors that are zeroed when they are no longer needed.  Nothing here prints,
copies, pickles or traces one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.errors import KeyMismatchError, MissingKeyError, ParamError
from cloakwork.fhe.ciphertext.array_operators import Rotations, steps_to_add
from cloakwork.fhe.encoding.plaintext import Plaintext
from cloakwork.fhe.estimates import noise
from cloakwork.fhe.estimates.bounds import Stated
from cloakwork.fhe.keys import secrets
from cloakwork.fhe.keys.encapsulation import encapsulation, owns_encapsulation
from cloakwork.fhe.keys.evaluation import CONJUGATION, EvaluationKeys
from cloakwork.fhe.keys.flooding import SECURITY, Flooding, Request, shown
from cloakwork.fhe.keys.public import PublicKey, public_key, secret_encryption
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.coefficients import centred, digits, room_log2
from cloakwork.fhe.rns.key_switching import SwitchingKey, switching_key
from cloakwork.fhe.rns.layout import limb_range, part, residues
from cloakwork.fhe.rns.samplers import small, ternary, wiped
from cloakwork.lazy import public
from cloakwork.sending import Secret
from cloakwork.tensors.conversion import asarray

if TYPE_CHECKING:
    from cloakwork.fhe.bootstrapping.bootstrapping import Bootstrapping
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.ckks import CkksCiphertext
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.files.container import PathLike
    from cloakwork.programs.program import Program


@public("cloakwork.fhe")
class Keys(Secret):
    """A uniform ternary secret with its public and evaluation keys.

    `public` encrypts, `evaluation` computes; both may be published, but never this object.  Use it
    as a context manager, or call `release`: the secret is then overwritten with zeros, as it also
    is when the object is deleted.
    """

    __slots__ = ("_secret", "context", "evaluation", "public")

    _stays = (
        "they hold a secret: send `public` and `evaluation`; `save` writes the secret for its owner"
    )

    def __init__(self, context: Context) -> None:
        """Draw a fresh secret."""
        self.context = context
        basis = context.tables.extended(context.parameters.level)
        self._secret: Tensor | None = ternary(basis, ())
        self._secret.mark_secret()
        own = self._at(context.parameters.level)
        self.public: PublicKey = public_key(context, own)
        self.evaluation = EvaluationKeys(context, self.public.key)

    @classmethod
    def _restored(cls, public: PublicKey, coefficients: NDArray[np.int64]) -> Self:
        """Keys from their file: the secret's coefficients [N] and its public key.

        Raises ParamError for a secret that `keygen` would not draw, or another secret's public key.
        """
        keys = cls.__new__(cls)
        context = public.context
        basis = context.tables.extended(context.parameters.level)
        keys.context, keys.public = context, public
        with wiped(asarray(coefficients.copy())) as sample:
            if not secrets.is_ternary(sample):
                raise ParamError("secret", "other coefficients", "-1, 0 and 1")
            if not secrets.has_plausible_weight(sample):
                allowed = "about a third of them, as in every secret that keygen draws"
                raise ParamError("secret", "too many or too few zeros", allowed)
            keys._secret = small(basis, sample)
        keys._secret.mark_secret()
        keys.evaluation = EvaluationKeys(context, public.key)
        if not secrets.opens(context, public.data, keys._at(context.parameters.level)):
            keys.release()
            allowed = "the secret of its public key: one of the two was replaced"
            raise ParamError("secret", "another secret", allowed)
        return keys

    def _coefficients(self) -> Tensor:
        """The secret's coefficients [N], -1 to 1, i8, for its file; the caller overwrites them."""
        return secrets.coefficients(self.context.tables.chain(0), self._at(0))

    def save(self, path: PathLike) -> None:
        """Write the secret, unencrypted, to a file that only its owner can read; see `fhe.load`."""
        from cloakwork.fhe.files.storage import save_secret

        save_secret(path, self)

    @property
    def key(self) -> str:
        """The secret's fingerprint, which its ciphertexts carry."""
        return self.public.key

    def add(
        self,
        rotations: Rotations = (),
        *,
        conjugation: bool = False,
        relinearization: bool = False,
        level: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> EvaluationKeys:
        """Make more evaluation keys, as `keygen` does, and add them to `evaluation`.

        progress   called before each key of a rotation with how many there are, and how many there
                   will be; its exceptions end the work

        A key that exists for a lower level is replaced.  Existing ciphertexts keep their evaluation
        keys: `Ciphertext.using` replaces them.
        """
        context = self.context
        level = context.level_of(level, "keygen")
        wanted = self._elements(rotations, level)
        if conjugation:
            wanted[context.element(CONJUGATION)] = level
        galois, squared = dict(self.evaluation.galois), self.evaluation.relinearization
        for done, (element, own) in enumerate(wanted.items()):
            if progress is not None:
                progress(done, len(wanted))
            if element not in galois or galois[element].level < own:
                galois[element] = self._galois_key(element, own)
        if relinearization and (squared is None or squared.level < level):
            squared = self._relinearization_key(level)
        sparse = self.evaluation.encapsulation
        self.evaluation = EvaluationKeys(context, self.key, squared, galois, sparse)
        return self.evaluation

    def _elements(self, rotations: Rotations, level: int) -> dict[int, int]:
        """The elements of rotations, each with the level of its key: the highest asked for."""
        row = self.context.parameters.degree // 2
        found: dict[int, int] = {}
        for step in steps_to_add(rotations, row):
            own = rotations[step] if isinstance(rotations, Mapping) else level
            own = self.context.level_of(own, "keygen")
            if step % row:
                element = self.context.rotation_element(step)
                found[element] = max(own, found.get(element, own))
        return found

    def add_bootstrapping(self, bootstrapping: Bootstrapping) -> EvaluationKeys:
        """Make the keys that a bootstrapping needs, and add them to `evaluation`.

        These are its rotations, conjugation and products, each of the highest level at which it is
        used, and the keys to a fresh sparse secret and back, which is drawn here and then
        overwritten.  Raises KeyMismatchError for one of other parameters.
        """
        self.context.check(bootstrapping, "add_bootstrapping")
        needed = bootstrapping.key_levels
        self.add(bootstrapping.rotation_levels)
        self.add(conjugation=True, level=needed["conjugation"])
        self.add(relinearization=True, level=needed["products"])
        return self.add_encapsulation(needed["raising"])

    def add_encapsulation(self, level: int) -> EvaluationKeys:
        """Make keys to a fresh sparse secret and back, and add them to `evaluation`.

        level   that to which a bootstrapping raises ciphertexts
        """
        level, found = self.context.level_of(level, "add_encapsulation"), self.evaluation
        held = found.encapsulation
        if held is None or held.leave.level < level:
            made = encapsulation(self.context.tables, self._whole(), level)
            self.evaluation = replace(found, encapsulation=made)
        return self.evaluation

    def adopt(self, evaluation: EvaluationKeys) -> EvaluationKeys:
        """Use evaluation keys from a file as `evaluation`; each is checked with the secret.

        Raises KeyMismatchError for keys of other parameters or another secret.
        """
        self.context.check(evaluation, "adopt")
        if evaluation.key != self.key or not self._owns(evaluation):
            hint = "take the evaluation keys of this secret, as `add` made them"
            raise KeyMismatchError("adopt", "key", self.key, evaluation.key, hint)
        self.evaluation = evaluation
        return evaluation

    def _owns(self, evaluation: EvaluationKeys) -> bool:
        """Whether each of the keys encrypts, under this secret, the expected source secret."""
        tables, secret = self.context.tables, self._whole()
        basis = tables.extended(self.context.parameters.level)
        if evaluation.relinearization is not None:
            with wiped(ops.modmul(secret, secret, basis.q)) as square:
                if not secrets.leads(tables, evaluation.relinearization, square, secret):
                    return False
        for element, key in evaluation.galois.items():
            with wiped(self._turned(element)) as target:
                if not secrets.leads(tables, key, secret, target):
                    return False
        sparse = evaluation.encapsulation
        return sparse is None or owns_encapsulation(tables, sparse, secret)

    def _turned(self, element: int) -> Tensor:
        """S(X^(1 / g)), which the automorphism by g maps to s."""
        inverse = pow(element, -1, 2 * self.context.parameters.degree)
        return evaluator.automorphism(self._whole(), self.context.tables.automorphism(inverse))

    def _relinearization_key(self, level: int) -> SwitchingKey:
        tables, secret = self.context.tables, self._whole()
        basis = tables.extended(self.context.parameters.level)
        with wiped(ops.modmul(secret, secret, basis.q)) as square:
            return switching_key(tables, level, square, secret)

    def _galois_key(self, element: int, level: int) -> SwitchingKey:
        """From s to s(X^(1 / g))."""
        with wiped(self._turned(element)) as target:
            return switching_key(self.context.tables, level, self._whole(), target)

    def encrypt(
        self,
        values: Any,
        *,
        level: int | None = None,
        scale: float | None = None,
        bound: Stated | None = None,
        batch: bool = False,
    ) -> Ciphertext:
        """Encrypt values, or a plaintext, with the secret.

        Shape    [n], n <= slots; the other slots hold 0.  `matrix.pack` determines the packing
        batch    [B, n] values make B ciphertexts, processed together; needed for [B, n] values
        level    by default the highest; scale: CKKS, by default that of the level
        bound    CKKS: the bound of |values|, or (low, high) of real values, for estimates of
                 precision; by default the context's.  It is part of the ciphertext: if none is
                 stated, it is 1, or the least power of two that bounds larger values, which reveals
                 their size
        Noise    a Gaussian of standard deviation 3.2 per coefficient

        Raises EncodeError for too many values, and for values beyond their bound, too large for
        the modulus or not finite.
        """
        plaintext = self.context.plaintext(values, level=level, scale=scale, batch=batch)
        basis = self.context.tables.chain(plaintext.level)
        parameters, lead = self.context.parameters, tuple(plaintext.data.shape[:-2])
        data, seed = secret_encryption(
            basis,
            self.context.message(plaintext),
            self._at(plaintext.level),
            parameters.error_multiple,
            lead,
        )
        fresh = noise.fresh_secret(parameters)
        made = self.context.ciphertext(plaintext, data, self.key, fresh, bound)
        return made.using(self.evaluation).seeded(seed)

    def decrypt(
        self,
        ciphertext: Ciphertext,
        *,
        check: bool = True,
        queries: int | None = None,
        security: int | None = None,
        program: Program | None = None,
        noise_bits: float | None = None,
    ) -> NDArray[Any]:
        """The values of all slots: complex128 [slots] or [B, slots] under CKKS, int64 under BGV.

        Raises NoiseError if the values may be wrong: no precision is left by the ciphertext's own
        estimate or by the secret's measure, or BGV's noise exceeds its estimate, or CKKS's values
        exceed their bound.  check=False returns the values without these checks.

        A CKKS decryption that is disclosed to others, or to the server, reveals its error, and
        thereby gradually the secret (IND-CPA-D, Li and Micciancio, ePrint 2020/1533).  With
        `queries`, noise flooding allows this number of decryptions under this secret to be
        disclosed; `flooding` returns its cost.

        queries      the total number of ciphertexts whose decryptions are disclosed; each
                     ciphertext of a batch counts
        security     bits of statistical security, by default 40; see `fhe.Flooding`
        program      the program that computed the ciphertext, traced by yourself: a ciphertext from
                     a file may claim less noise than it has, so that its claim is not used
        noise_bits   instead: log2 of a bound on the error of every slot, before the division by the
                     scale; `context.circuit_noise` computes one

        Only the values that the ciphertext holds (`shape`) are disclosed; the other slots are 0.

        Raises ParamError if the error is unknown, NoiseError if the noise would exceed the values.
        """
        wanted = Request.made(queries, security=security, program=program, noise_bits=noise_bits)
        if wanted is None:
            return self._opened(ciphertext, check)
        if not check:
            raise ParamError("check", False, "True: disclosed decryptions must be checked")
        return self._disclosed(ciphertext, wanted)

    def _disclosed(self, ciphertext: Ciphertext, wanted: Request) -> NDArray[Any]:
        """The values of a request's slots with flooding noise, checked; the others are 0."""
        self._check(ciphertext)
        found, held = wanted.flooding(ciphertext), wanted.held(ciphertext)
        values = self._opened(ciphertext, True)
        return shown(values, cast("CkksCiphertext", ciphertext), found, held)

    def _opened(self, ciphertext: Ciphertext, check: bool) -> NDArray[Any]:
        plaintext = self.decrypt_plaintext(self.context.shortened(ciphertext))
        if check and (values := self.context.opened(ciphertext, plaintext)) is not None:
            return values
        return self.context.decode(plaintext)

    def flooding(
        self,
        ciphertext: Ciphertext,
        *,
        queries: int,
        security: int | None = None,
        program: Program | None = None,
        noise_bits: float | None = None,
    ) -> Flooding:
        """The noise that `decrypt` adds with the same options, and the remaining precision."""
        self._check(ciphertext)
        bits = SECURITY if security is None else security
        return Request(queries, bits, program, noise_bits).flooding(ciphertext)

    def noise_budget(self, ciphertext: Ciphertext) -> float:
        """Bits between a ciphertext's message, measured with the secret, and half its modulus.

        Under BGV this measures the noise, under CKKS values and noise together.  At or near 0 they
        have outgrown the modulus; a larger number means correct values only if the ciphertext's own
        estimate holds, because a coefficient that wrapped around may be anywhere.  Never disclose
        it to others.
        """
        data = self.decrypt_plaintext(ciphertext).data
        batch = data if data.ndim == 3 else data.unsqueeze(0)
        tables = self.context.tables
        basis = tables.chain(ciphertext.level)
        return room_log2(centred(digits(batch, tables), basis), basis)

    def decrypt_plaintext(self, ciphertext: Ciphertext) -> Plaintext:
        """c0 + c1 s (+ c2 s^2): the message with its noise.  Never disclose it to others."""
        self._check(ciphertext)
        basis = self.context.tables.chain(ciphertext.level)
        secret, data = self._at(ciphertext.level), ciphertext.data.to("cpu")
        total = residues(data.shape[:-3], basis.degree, basis.limbs)
        ops.copy(part(data, ciphertext.parts - 1), out=total)
        for index in reversed(range(ciphertext.parts - 1)):
            # c1 is public, so that c1 s reveals s.
            with wiped(ops.modmul(total, secret, basis.q)) as mask:
                ops.modsum(part(data, index), mask, basis.q, out=total)
        return self.context.decrypted(ciphertext, total)

    def _check(self, ciphertext: Ciphertext) -> None:
        self.context.check(ciphertext, "decrypt")
        if ciphertext.key != self.key:
            raise KeyMismatchError(
                "decrypt", "key", self.key, ciphertext.key, "use the keys that it was made with"
            )

    def release(self) -> None:
        """Overwrite the secret with zeros; the keys decrypt nothing afterwards."""
        if self._secret is not None:
            self._secret.zeroize()
            self._secret = None

    def _whole(self) -> Tensor:
        """The secret [N, special + k] over all limbs."""
        if self._secret is None:
            raise MissingKeyError("these keys were released: their secret is gone")
        return self._secret

    def _at(self, level: int) -> Tensor:
        """View [N, level + 1] of the secret."""
        first = len(self.context.parameters.special)
        return limb_range(self._whole(), first, first + level + 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        # Keys whose construction failed have no secret.
        if hasattr(self, "_secret"):
            self.release()

    def __repr__(self) -> str:
        state = "released" if self._secret is None else "secret hidden"
        return f"Keys(degree={self.context.parameters.degree}, key={self.key[:8]}, {state})"
