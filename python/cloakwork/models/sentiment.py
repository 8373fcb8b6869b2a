"""Sentences of reviews, and the vectors of words with which a client prepares them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.models.stored import DATA, unpack
from cloakwork.once import once

Floats = NDArray[np.float64]

_WORD = re.compile(r"[a-z][a-z']*|[!?]")
_NEGATIONS = frozenset(
    ("barely", "cannot", "hardly", "neither", "never", "no", "nor", "not", "without")
)
# A negation changes the meaning of as many words after it.
_REACH = 3


# 1 - 1 / (1 + a1 x + ... + a6 x^6)^16 is erf(x) for x >= 0 to 3e-7: M. Abramowitz and I. Stegun,
# Handbook of Mathematical Functions, 1964, formula 7.1.28.
_ERF = (1.0, 0.0705230784, 0.0422820123, 0.0092705272, 0.0001520143, 0.0002765672, 0.0000430638)


def gelu(x: Floats) -> Floats:
    """X times the chance that a normal variable is below x (arXiv:1606.08415), to 2e-7 |x|."""
    argument = np.abs(x) / 2**0.5
    erf = 1 - np.polynomial.polynomial.polyval(argument, _ERF) ** -16.0
    return np.asarray(x * (1 + np.sign(x) * erf) / 2)


def words_of(sentence: str) -> list[str]:
    """Lower-case words, `!` and `?`; those shortly after a negation begin with `not_`."""
    found, left = [], 0
    for word in _WORD.findall(sentence.lower()):
        found.append(f"not_{word}" if left > 0 else word)
        left = _REACH if word in _NEGATIONS or word.endswith("n't") else left - 1
    return found


@dataclass(frozen=True)
class Reviews:
    """Sentences of product and film reviews that the model was not trained on.

    sentences   list of n
    labels      bool [n]: readers found it positive
    ratings     float64 [n]: the mean of 20 readers, -4 to 4; none is between -1 and 1
    words       that have vectors, V of them
    vectors     float64 [V, 32], which are public; the network `sentiment` reads their means
    hidden_weight, hidden_bias, output_weight, output_bias   of the network
    """

    sentences: list[str]
    labels: NDArray[np.bool_]
    ratings: Floats
    words: list[str]
    vectors: Floats
    hidden_weight: Floats
    hidden_bias: Floats
    output_weight: Floats
    output_bias: Floats
    source: str
    licence: str

    @once
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def scores(self, embedded: Floats) -> Floats:
        """[n]: the logits of [n, 32], positive for positive."""
        hidden = gelu(embedded @ self.hidden_weight.T + self.hidden_bias)
        return np.asarray(hidden @ self.output_weight[0] + self.output_bias[0])

    def embed(self, sentences: Sequence[str]) -> Floats:
        """[n, 32]: the mean vector of each sentence's known words; zeros where none is known."""
        return np.array([self._mean(words_of(sentence)) for sentence in sentences]).reshape(
            len(sentences), self.vectors.shape[1]
        )

    def _mean(self, words: Iterable[str]) -> Floats:
        known = [self._index[word] for word in words if word in self._index]
        if not known:
            return np.zeros(self.vectors.shape[1])
        return np.asarray(self.vectors[known].mean(axis=0))


def load_reviews() -> Reviews:
    """The sentences and vectors in the package; source and licence come with them."""
    stored, texts = unpack(DATA / "sentiment.zip")
    return Reviews(
        labels=stored["ratings"] > 0,
        ratings=stored["ratings"].astype(np.float64),
        vectors=stored["vectors"] * float(stored["step"]),
        hidden_weight=stored["hidden_weight"].astype(np.float64),
        hidden_bias=stored["hidden_bias"].astype(np.float64),
        output_weight=stored["output_weight"].astype(np.float64),
        output_bias=stored["output_bias"].astype(np.float64),
        **texts,
    )
