"""Evaluation keys: the server's keys, which compute on ciphertexts and cannot decrypt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cloakwork._core import Tensor
from cloakwork.errors import MissingKeyError
from cloakwork.fhe.rns.key_switching import SwitchingKey
from cloakwork.fhe.streams import Stored
from cloakwork.lazy import public
from cloakwork.once import once

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
    """

    context: Context
    key: str
    relinearization: SwitchingKey | None = None
    galois: dict[int, SwitchingKey] = field(default_factory=dict)

    def to(self, device: str) -> EvaluationKeys:
        """The same keys on another device: "cpu", "cuda:0".

        A key is brought there once while something there uses it.
        """
        squared = self.relinearization and self.relinearization.to(device)
        galois = {element: key.to(device) for element, key in self.galois.items()}
        return EvaluationKeys(self.context, self.key, squared, galois)

    @property
    def rotations(self) -> list[int]:
        """The steps that have keys, each between -slots / 2 and slots / 2."""
        row = self.context.parameters.degree // 2
        found = map(self.context.rotation_steps, self.galois)
        steps = (step for step in found if step is not None)
        return sorted(step - row if step > row // 2 else step for step in steps)

    def relinearization_key(self) -> SwitchingKey:
        """The key from s^2; MissingKeyError if there is none."""
        if self.relinearization is None:
            raise MissingKeyError(
                "products of ciphertexts need a relinearization key: "
                "context.keygen(relinearization=True)"
            )
        return self.relinearization

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of all keys by their names in programs: "galois.5" is that of X -> X^5."""
        named = {f"galois.{element}": key.data for element, key in sorted(self.galois.items())}
        if self.relinearization is not None:
            named["relinearization"] = self.relinearization.data
        return named

    def galois_key(self, element: int, what: str, add: str) -> SwitchingKey:
        """The key of an automorphism; MissingKeyError if there is none."""
        found = self.galois.get(element)
        if found is None:
            raise MissingKeyError(f"{what} needs a key that is missing: context.keygen({add})")
        return found

    def route(self, steps: int) -> list[int]:
        """The fewest steps with keys that add up to `steps`.

        Raises MissingKeyError if no sum of the rotations does.
        """
        row = self.context.parameters.degree // 2
        wanted = steps % row
        came_from = self._came_from
        if wanted and came_from[wanted] == 0:
            have = ", ".join(map(str, self.rotations)) or "none"
            raise MissingKeyError(
                f"rotation by {steps}: no sum of the rotations that have keys ({have}) gives it; "
                f"add {steps} to context.keygen(rotations=[...])"
            )
        taken = []
        while wanted:
            taken.append(int(came_from[wanted]))
            wanted = (wanted - taken[-1]) % row
        return taken

    @once
    def _came_from(self) -> NDArray[np.int64]:
        """[N / 2]: the last of the fewest rotations that reach each sum; 0 for unreachable sums."""
        row = self.context.parameters.degree // 2
        have = [step % row for step in self.rotations if step % row]
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
