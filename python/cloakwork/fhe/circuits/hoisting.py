"""Sums of rotations times plaintexts, in baby and giant steps.

Double hoisting: baby steps share the digits of c1, and none of them divides by the special
moduli, P.  They stay pairs over all limbs that represent P times a ciphertext, and are multiplied
by diagonals and summed in this form.  Of each giant step's sum only the second part is divided, to
be decomposed into digits again; a single division follows at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork import ops
from cloakwork._core import Tensor
from cloakwork.fhe.ciphertext import Ciphertext
from cloakwork.fhe.circuits.diagonals import Steps
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.key_switching import product
from cloakwork.fhe.rns.layout import batched, like, residues, zero_residues
from cloakwork.fhe.rns.tables import Basis


def hoisted_sums(own: Ciphertext, cut: Steps, plain: Sequence[Tensor]) -> Tensor:
    """The sum over giant steps of their rotated sums, divided by the special moduli.

    own     two parts
    plain   for each giant step [count, N, special + level + 1], a row for each of its babies
    """
    tables, data = own.context.tables, batched(own.data)
    basis = tables.extended(own.level)
    babies = _babies(own, cut.babies, data, basis)
    total: Tensor | None = None
    for (giant, places), rows in zip(cut.giants, plain, strict=True):
        inner = _inner(babies, [place for place, _ in places], rows, basis)
        stays = own.context.rotation_element(giant) == 1
        turned = inner if stays else _turned(own, inner, giant, basis)
        total = turned if total is None else ops.modsum(total, turned, basis.q, out=total)
    if total is None:
        return ops.modmul(own.data, 0, tables.chain(own.level).q)
    return like(evaluator.mod_down(total, tables.key_switch(own.level)), own.data)


def _babies(own: Ciphertext, turns: Sequence[int], data: Tensor, basis: Basis) -> Tensor:
    """[count, B, 2, N, K]: P times the ciphertext, rotated by each number of steps."""
    tables, level = own.context.tables, own.level
    constants = tables.key_switch(level)
    out = residues((len(turns), data.shape[0], 2), basis.degree, basis.limbs)
    digits = evaluator.mod_up(data[:, 1], constants) if any(turns) else None
    for place, turn in enumerate(turns):
        if digits is None or turn == 0:
            acc = evaluator.accumulator(data, constants, data.shape[0])
            evaluator.place(acc, basis.q, out[place])
            continue
        element = own.context.rotation_element(turn)
        acc = product(tables, level, digits, own.keys.galois[element], data[:, 0:1])
        ops.automorphism(acc, tables.automorphism(element), out=out[place])
    return out


def _inner(babies: Tensor, places: Sequence[int], rows: Tensor, basis: Basis) -> Tensor:
    """[B, 2, N, K]: the sum of some babies times a row each."""
    batch = babies.shape[1]
    out = zero_residues((batch, 2), basis.degree, basis.limbs)
    for first, start, stop in _runs(places):
        plain = rows[first : first + stop - start].moveaxis(0, 1)
        for index in range(batch):
            taken = babies[start:stop, index].moveaxis(0, 2)
            ops.modmul_axis_sum(taken, plain, basis.q, apply_perm=False, out=out[index], axis=-3)
    return out


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
    digits = evaluator.mod_up(evaluator.mod_down(inner[:, 1:2], constants)[:, 0], constants)
    acc = product(tables, level, digits, own.keys.galois[element], None)
    ops.modsum(acc[:, 0], inner[:, 0], basis.q, out=acc[:, 0])
    return evaluator.automorphism(acc, tables.automorphism(element))


def plain_sums(own: Ciphertext, cut: Steps, plain: Sequence[Tensor]) -> Tensor:
    """The same without special moduli: a separate key switch for every rotation."""
    basis, data = own.basis, batched(own.data)
    turned = own.rotate_many(cut.babies)
    babies = residues((len(turned), data.shape[0], 2), basis.degree, basis.limbs)
    for place, baby in enumerate(turned):
        evaluator.place(batched(baby.data), basis.q, babies[place])
    total: Tensor | None = None
    for (giant, places), rows in zip(cut.giants, plain, strict=True):
        inner = _inner(babies, [place for place, _ in places], rows, basis)
        if giant:
            inner = batched(own._with(inner)._rotate(giant).data)
        total = inner if total is None else ops.modsum(total, inner, basis.q, out=total)
    if total is None:
        return ops.modmul(own.data, 0, basis.q)
    return like(total, own.data)
