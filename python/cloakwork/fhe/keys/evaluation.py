"""Evaluation keys: the server's keys, which compute on ciphertexts and cannot decrypt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from cloakwork import _core
from cloakwork._core import Tensor
from cloakwork.device.loading import device_name
from cloakwork.errors import MissingKeyError
from cloakwork.fhe.keys.encapsulation import Encapsulation
from cloakwork.fhe.rns.key_switching import SwitchingKey
from cloakwork.fhe.streams import Stored
from cloakwork.lazy import public
from cloakwork.once import once
from cloakwork.wording import listed

if TYPE_CHECKING:
    from cloakwork.fhe.ciphertext import Ciphertext
    from cloakwork.fhe.context import Context
    from cloakwork.fhe.files.container import PathLike

# The automorphism X -> X^-1: conjugation of CKKS slots, exchange of BGV's rows.
CONJUGATION = -1


@public("cloakwork.fhe")
@dataclass(frozen=True, eq=False)
class EvaluationKeys(Stored):
    """Keys for products, rotations and conjugation, under one secret.

    key               the secret's fingerprint
    relinearization   from s^2 to s
    galois            by element g: from s to s(X^(1 / g)), which X -> X^g maps back to s
    encapsulation     to a sparse secret and back, for bootstrapping

    Each key has a level: ciphertexts of that level and below can use it.
    """

    context: Context
    key: str
    relinearization: SwitchingKey | None = None
    galois: dict[int, SwitchingKey] = field(default_factory=dict)
    encapsulation: Encapsulation | None = None
    _tables: dict[tuple[int, ...], NDArray[np.int64]] = field(default_factory=dict, repr=False)
    _home: EvaluationKeys | None = field(default=None, repr=False)
    """The keys on the CPU of which these are a copy."""
    _device: str = field(default="cpu", repr=False)
    _copies: WeakValueDictionary[str, EvaluationKeys] = field(
        default_factory=WeakValueDictionary, init=False, repr=False
    )
    """Copies on devices, while somebody uses them."""

    def to(self, device: str) -> EvaluationKeys:
        """The same keys on another device: "cpu", "cuda:0".

        A key is brought there once while something there uses it.
        """
        home, name = self._home or self, device_name(device)
        if name == "cpu":
            return home
        found = home._copies.get(name)
        if found is None or not all(map(_core.is_readable, found.tensors().values())):
            squared = home.relinearization and home.relinearization.to(name)
            galois = {element: key.to(name) for element, key in home.galois.items()}
            sparse = home.encapsulation and home.encapsulation.to(name)
            found = replace(
                home, relinearization=squared, galois=galois, encapsulation=sparse,
                _home=home, _device=name,
            )  # fmt: skip
            home._copies[name] = found
        return found

    @property
    def home(self) -> EvaluationKeys:
        """The same keys on the CPU."""
        return self._home or self

    @property
    def device(self) -> str:
        """The device on which they are: "cpu", or that of a copy."""
        return self._device

    @property
    def rotations(self) -> list[int]:
        """The steps that have keys, each between -slots / 2 and slots / 2."""
        return list(self._levels)

    @property
    def rotation_levels(self) -> dict[int, int]:
        """The steps that have keys, each with the highest level at which its key is used."""
        return dict(self._levels)

    @once
    def _levels(self) -> dict[int, int]:
        row, found = self.context.parameters.degree // 2, {}
        for element, key in self.galois.items():
            step = self.context.rotation_steps(element)
            if step is not None:
                found[step - row if step > row // 2 else step] = key.level
        return dict(sorted(found.items()))

    def relinearization_key(self, level: int) -> SwitchingKey:
        """The key from s^2; MissingKeyError if there is none for ciphertexts of this level."""
        found = self.relinearization
        if found is None:
            raise MissingKeyError(
                "products of ciphertexts need a relinearization key: "
                "context.keygen(relinearization=True)"
            )
        if found.level < level:
            _refuse_level("products of ciphertexts", "relinearization=True", found.level, level)
        return found

    def encapsulation_keys(self) -> Encapsulation:
        """The keys to a sparse secret and back; MissingKeyError if there are none."""
        if self.encapsulation is None:
            raise MissingKeyError(
                "bootstrapping needs keys that are missing: keys.add_bootstrapping(bootstrapping)"
            )
        return self.encapsulation

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of all keys by their names in programs: "galois.5" is that of X -> X^5."""
        named = {f"galois.{element}": key.data for element, key in sorted(self.galois.items())}
        if self.relinearization is not None:
            named["relinearization"] = self.relinearization.data
        if self.encapsulation is not None:
            named["encapsulation.enter"] = self.encapsulation.enter.data
            named["encapsulation.leave"] = self.encapsulation.leave.data
        return named

    def galois_key(self, element: int, level: int, what: str, add: str) -> SwitchingKey:
        """The key of an automorphism; MissingKeyError if there is none for this level."""
        found = self.galois.get(element)
        if found is None:
            raise MissingKeyError(f"{what} needs a key that is missing: context.keygen({add})")
        if found.level < level:
            _refuse_level(what, add, found.level, level)
        return found

    def turns(self, element: int, level: int) -> bool:
        """Whether an automorphism has a key for ciphertexts of this level."""
        found = self.galois.get(element)
        return found is not None and found.level >= level

    def require(self, steps: Iterable[int], level: int, owner: str) -> None:
        """MissingKeyError, naming the steps, unless rotations by them have keys for a level.

        owner   the argument that needs them: "matrix" or "map"
        """
        element = self.context.rotation_element
        missing = [step for step in steps if not self.turns(element(step), level)]
        lower = [step for step in missing if element(step) in self.galois]
        if lower:
            raise MissingKeyError(
                f"this {owner} needs keys of level {level} for the rotations {missing}; those of "
                f"{lower} are of lower levels: keys.add({owner}.rotations, level={level}), or "
                "lower the ciphertext first"
            )
        if missing:
            raise MissingKeyError(
                f"this {owner} needs keys for the rotations {missing}, which are missing: "
                f"context.keygen(rotations={owner}.rotations)"
            )

    def route(self, steps: int, level: int) -> list[int]:
        """The fewest steps with keys of a level that add up to `steps`.

        Raises MissingKeyError if no sum of the rotations does.
        """
        row = self.context.parameters.degree // 2
        wanted = steps % row
        came_from = self._reached(level)
        if wanted and came_from[wanted] == 0:
            self._refuse_steps(steps, level)
        taken = []
        while wanted:
            taken.append(int(came_from[wanted]))
            wanted = (wanted - taken[-1]) % row
        return taken

    def _refuse_steps(self, steps: int, level: int) -> NoReturn:
        levels = self._levels
        have = listed(step for step, own in levels.items() if own >= level) or "none"
        lower = [f"{step}: level {own}" for step, own in levels.items() if own < level]
        at, more = "", f"add {steps} to context.keygen(rotations=[...])"
        if lower:
            at = f" at level {level}"
            more = f"others are of lower levels ({listed(lower)}); {more}, or lower it first"
        raise MissingKeyError(
            f"rotation by {steps}{at}: no sum of the rotations that have keys ({have}) gives it; "
            f"{more}"
        )

    def _reached(self, level: int) -> NDArray[np.int64]:
        """`_came_from` by the rotations that have keys of a level; equal sets share a table."""
        steps = tuple(step for step, own in self._levels.items() if own >= level)
        if steps not in self._tables:
            self._tables[steps] = self._came_from(steps)
        return self._tables[steps]

    def _came_from(self, steps: tuple[int, ...]) -> NDArray[np.int64]:
        """[N / 2]: the last of the fewest rotations that reach each sum; 0 for unreachable sums."""
        row = self.context.parameters.degree // 2
        have = [step % row for step in steps if step % row]
        came_from = np.zeros(row, dtype=np.int64)
        seen = np.zeros(row, dtype=bool)
        seen[0] = True
        frontier = np.zeros(1, dtype=np.int64)
        while frontier.size:
            reached = []
            for step in have:
                there = (frontier + step) % row
                there = there[~seen[there]]
                seen[there], came_from[there] = True, step
                reached.append(there)
            frontier = np.concatenate(reached) if reached else frontier[:0]
        return came_from

    @property
    def size_bytes(self) -> int:
        """Bytes of all keys in memory."""
        keys = [*self.galois.values()]
        keys += [self.relinearization] if self.relinearization else []
        if self.encapsulation is not None:
            keys += [self.encapsulation.enter, self.encapsulation.leave]
        return sum(key.size_bytes for key in keys)

    def save(self, path: PathLike | BinaryIO) -> None:
        """Write it to a file, by its path or open; `fhe.load` reads it."""
        from cloakwork.fhe.files.storage import save_evaluation

        save_evaluation(path, self)

    def load(self, path: PathLike | BinaryIO) -> Ciphertext:
        """Read a ciphertext to compute on with these keys.

        Raises LoadError for an incomplete file or one of another kind, KeyMismatchError for a
        ciphertext of other parameters or another secret.
        """
        from cloakwork.fhe.files.storage import load_ciphertext

        return load_ciphertext(path, self)

    def __repr__(self) -> str:
        products = "products, " if self.relinearization else ""
        return f"EvaluationKeys({products}rotations={self.rotations}, key={self.key[:8]})"


def _refuse_level(what: str, add: str, found: int, level: int) -> NoReturn:
    raise MissingKeyError(
        f"{what} at level {level} needs a key of that level, this one is of level {found}: "
        f"keys.add({add}, level={level}), or lower the ciphertext first"
    )
