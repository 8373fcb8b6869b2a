"""Sums of rotations times plaintexts, in baby and giant steps.

Double hoisting: baby steps share the digits of c1, and none of them divides by the special
moduli, P.  They stay pairs over all limbs that represent P times a ciphertext, and are multiplied
by diagonals and summed in this form.  Of each giant step's sum only the second part is divided, to
be decomposed into digits again; a single division follows at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits.diagonals import MapSteps, Steps, Sum
from cloakwork.fhe.encoding.encoded import filled
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.key_switching import product
from cloakwork.fhe.rns.layout import batched, like, residues, zero_residues
from cloakwork.fhe.rns.tables import Basis


def hoisted_sums(own: Ciphertext, cut: Steps, plain: Iterable[Tensor]) -> Tensor:
    """The sum over giant steps of their rotated sums, divided by the special moduli.

    own     two parts
    plain   for each giant step [count, N, special + level + 1], a row for each of its babies
    """
    tables, data = own.context.tables, batched(own.data)
    basis, batch = tables.extended(own.level), data.shape[0]
    babies = _babies(own, cut.babies, data, basis)
    total: Tensor | None = None
    for (giant, places), rows in zip(cut.giants, plain, strict=True):
        inner = _inner(babies, [place for place, _ in places], rows, basis, batch)
        turned = _turned(own, inner, giant, basis)
        total = turned if total is None else ops.modsum(total, turned, basis.q, out=total)
    if total is None:
        return ops.modmul(own.data, 0, tables.chain(own.level).q)
    return like(evaluator.mod_down(total, tables.key_switch(own.level)), own.data)


def joined_sums(own: Ciphertext, cut: MapSteps, plain: Iterable[Tensor]) -> Tensor:
    """The same of a map from a batch of inputs to a batch of outputs, [outputs, 2, N, k].

    own     a batch, two parts each
    plain   for each of `cut.sums` [count, N, special + level + 1], a row for each of its terms
    """
    tables, rows = own.context.tables, iter(plain)
    basis = tables.extended(own.level)
    babies = _babies(own, cut.babies, own.data, basis)
    total = zero_residues((cut.outputs, 2), basis.degree, basis.limbs)
    if cut.stride:
        total = _chained(own, cut, babies, rows, total)
        return evaluator.mod_down(total, tables.key_switch(own.level))
    for giant, sums in cut.giants:
        inner = zero_residues((len(sums), 2), basis.degree, basis.limbs)
        for index, each in enumerate(sums):
            _add_terms(babies, each, next(rows), basis, inner[index])
        turned = _turned(own, inner, giant, basis)
        for index, each in enumerate(sums):
            into = total[each.output]
            ops.modsum(into, turned[index], basis.q, out=into)
    return evaluator.mod_down(total, tables.key_switch(own.level))


def _chained(
    own: Ciphertext, cut: MapSteps, babies: Tensor, rows: Iterator[Tensor], total: Tensor
) -> Tensor:
    """Horner's rule over giant steps from the last: total [outputs, 2, N, K], of zeros."""
    basis = own.context.tables.extended(own.level)
    for (_, sums), turns in zip(cut.giants, cut.turns, strict=False):
        for each in sums:
            _add_terms(babies, each, next(rows), basis, total[each.output])
        for step in turns:
            total = _turned(own, total, step, basis)
    return total


def _add_terms(babies: Tensor, own: Sum, rows: Tensor, basis: Basis, out: Tensor) -> None:
    """[2, N, K]: plus the terms of a sum."""
    for first, start, stop in _runs([term.place for term in own.terms]):
        _add_products(babies[start:stop], rows[first : first + stop - start], basis, out)


def _babies(own: Ciphertext, turns: Sequence[int], data: Tensor, basis: Basis) -> Tensor:
    """[turns * B, 2, N, K]: P times each ciphertext, rotated by each number of steps."""
    tables, level, batch = own.context.tables, own.level, data.shape[0]
    constants = tables.key_switch(level)
    out = residues((len(turns) * batch, 2), basis.degree, basis.limbs)
    digits = evaluator.mod_up(data[:, 1], constants) if any(turns) else None
    for place, turn in enumerate(turns):
        into = out[place * batch : (place + 1) * batch]
        if digits is None or turn == 0:
            acc = evaluator.accumulator(data, constants, batch)
            evaluator.place(acc, basis.q, into)
            continue
        element = own.context.rotation_element(turn)
        acc = product(tables, level, digits, own.keys.galois[element], data[:, 0:1])
        ops.automorphism(acc, tables.automorphism(element), out=into)
    return out


def _inner(babies: Tensor, places: Sequence[int], rows: Tensor, basis: Basis, batch: int) -> Tensor:
    """[B, 2, N, K]: for each ciphertext the sum of some of its babies times a row each."""
    out = zero_residues((batch, 2), basis.degree, basis.limbs)
    for first, start, stop in _runs(places):
        plain = rows[first : first + stop - start]
        for index in range(batch):
            taken = babies[start * batch + index : (stop - 1) * batch + index + 1 : batch]
            _add_products(taken, plain, basis, out[index])
    return out


def _add_products(babies: Tensor, rows: Tensor, basis: Basis, out: Tensor) -> None:
    """[2, N, K]: plus the sum of babies [count, 2, N, K] times a row [count, N, K] each."""
    rows = filled(rows, basis)
    taken, plain = babies.moveaxis(0, 2), rows.moveaxis(0, 1)
    ops.modmul_axis_sum(taken, plain, basis.q, apply_perm=False, out=out, axis=-3)


def _runs(places: Sequence[int]) -> list[tuple[int, int, int]]:
    """Neighbouring places together: (index of the first, its place, the place after the last)."""
    runs: list[tuple[int, int, int]] = []
    for index, place in enumerate(places):
        if runs and runs[-1][2] == place:
            first, start, _ = runs[-1]
            runs[-1] = (first, start, place + 1)
        else:
            runs.append((index, place, place + 1))
    return runs


def _turned(own: Ciphertext, inner: Tensor, giant: int, basis: Basis) -> Tensor:
    """P times a ciphertext [B, 2, N, K], rotated: the second part's key is changed."""
    tables, level = own.context.tables, own.level
    element, constants = own.context.rotation_element(giant), tables.key_switch(level)
    if element == 1:
        return inner
    digits = evaluator.mod_up(evaluator.mod_down(inner[:, 1:2], constants)[:, 0], constants)
    acc = product(tables, level, digits, own.keys.galois[element], None)
    ops.modsum(acc[:, 0], inner[:, 0], basis.q, out=acc[:, 0])
    return evaluator.automorphism(acc, tables.automorphism(element))


def plain_sums(own: Ciphertext, cut: Steps, plain: Iterable[Tensor]) -> Tensor:
    """The same without special moduli: a separate key switch for every rotation."""
    basis, data = own.basis, batched(own.data)
    turned, batch = own.rotate_many(cut.babies), data.shape[0]
    babies = residues((len(turned) * batch, 2), basis.degree, basis.limbs)
    for place, baby in enumerate(turned):
        into = babies[place * batch : (place + 1) * batch]
        evaluator.place(batched(baby.data), basis.q, into)
    total: Tensor | None = None
    for (giant, places), rows in zip(cut.giants, plain, strict=True):
        inner = _inner(babies, [place for place, _ in places], rows, basis, batch)
        if giant:
            inner = batched(own._with(inner)._rotate(giant).data)
        total = inner if total is None else ops.modsum(total, inner, basis.q, out=total)
    if total is None:
        return ops.modmul(own.data, 0, basis.q)
    return like(total, own.data)
