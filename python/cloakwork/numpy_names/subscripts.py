"""The subscripts of Einstein's summation."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork.errors import ParamError

_DOTS = "..."


@dataclass(frozen=True)
class Parsed:
    """Subscripts without ellipses: the labels of each operand and of the output, and their sizes.

    An axis of size 1 broadcasts: `sizes` has the other operands' size.
    """

    operands: tuple[str, ...]
    output: str
    sizes: dict[str, int]


def parse(subscripts: str, shapes: Sequence[tuple[int, ...]]) -> Parsed:
    """The labels of operands of those shapes; ParamError where they do not fit."""
    given: object = subscripts
    if not isinstance(given, str):
        expected = 'labels as text, such as "ij,jk->ik", before the operands'
        raise ParamError("subscripts", f"a {type(given).__name__}", expected)
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise ParamError("subscripts", repr(subscripts), f"{len(shapes)} terms, one an operand")
    for term in (*terms, output):
        _check_letters(subscripts, term)
    extra = _extra_labels(subscripts, terms, shapes)
    operands = tuple(
        _labels(place, term, len(shape), extra)
        for place, (term, shape) in enumerate(zip(terms, shapes, strict=True))
    )
    sizes = _sizes(operands, shapes)
    whole = output.replace(_DOTS, extra) if arrow else extra + _implicit(inputs)
    _check_output(subscripts, whole, extra, sizes)
    return Parsed(operands, whole, sizes)


def _check_letters(subscripts: str, term: str) -> None:
    wrong = set(term.replace(_DOTS, "", 1)) - set(string.ascii_letters)
    if wrong:
        expected = "letters, and one ... a term at most"
        raise ParamError("subscripts", f"{min(wrong)!r} in {subscripts!r}", expected)


def _extra_labels(subscripts: str, terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> str:
    """Labels for the axes that the widest ellipsis stands for."""
    widths = [
        len(shape) - len(term) + len(_DOTS)
        for term, shape in zip(terms, shapes, strict=True)
        if _DOTS in term
    ]
    unused = [letter for letter in string.ascii_letters if letter not in subscripts]
    return "".join(unused[: max(widths, default=0)])


def _labels(place: int, term: str, rank: int, extra: str) -> str:
    """The label of each axis of an operand."""
    named = len(term.replace(_DOTS, ""))
    if named > rank or (_DOTS not in term and named < rank):
        expected = f"{named} axes, as {term!r} says"
        raise ParamError(f"operands[{place}]", f"{rank} axes", expected)
    return term.replace(_DOTS, extra[len(extra) - (rank - named) :])


def _sizes(operands: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The size of each label."""
    sizes: dict[str, int] = {}
    for place, (labels, shape) in enumerate(zip(operands, shapes, strict=True)):
        own: dict[str, int] = {}
        for label, size in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if own.setdefault(label, size) != size or (size != 1 != known != size):
                expected = f"{own[label] if own[label] != size else known} along {label!r}"
                raise ParamError(f"operands[{place}]", f"size {size}", expected)
        for label, size in own.items():
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
    return sizes


def _implicit(inputs: str) -> str:
    """The labels that occur once, in alphabetical order."""
    letters = [letter for letter in inputs if letter in string.ascii_letters]
    return "".join(sorted(letter for letter in letters if letters.count(letter) == 1))


def _check_output(subscripts: str, output: str, extra: str, sizes: dict[str, int]) -> None:
    unknown = set(output) - sizes.keys()
    if unknown or len(set(output)) < len(output):
        expected = "each label of the output once, and in an operand"
        raise ParamError("subscripts", repr(subscripts), expected)
    if not set(extra) <= set(output):
        raise ParamError("subscripts", repr(subscripts), "... in the output, as in the operands")
