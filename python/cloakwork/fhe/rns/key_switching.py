"""Keys of key switching: made from two secrets, used on polynomials.

A key from s' to s holds, for each digit d, a pair (b_d, a_d) with

    b_d = -a_d s + e_d + P T_d s'  mod Q P,

T_d = 1 mod the limbs of digit d and 0 mod the others.  Its limbs of the chain are stored over P,
so that the division by P is a subtraction (Han and Ki, ePrint 2019/688; the folding is ours).
Without special moduli, P is 1 and digits are those of HEAL's gadget: 2^(w d) stands for T_d.

A key is made for a level and has its digits and limbs alone; at lower levels it is cut further.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from weakref import WeakValueDictionary

from cloakwork import _core, ops
from cloakwork._core import Tensor
from cloakwork.device.loading import device_name
from cloakwork.fhe.rns import evaluator
from cloakwork.fhe.rns.layout import limb_range, residues, zero_residues
from cloakwork.fhe.rns.samplers import error, fresh_seed, seed_of, uniform, wiped
from cloakwork.fhe.rns.tables import Tables, frozen
from cloakwork.modular.negacyclic import integers


@dataclass(frozen=True, eq=False)
class SwitchingKey:
    """From one secret to another, with the seed that all a_d are expanded from.

    The seed of another library's key is b"": it is stored whole.

    data    [2, D, N, special + level + 1] of b and a; in the gadget form [D, 2, N, level + 1]
    level   the highest at which it switches
    """

    data: Tensor
    seed: bytes
    level: int
    _home: SwitchingKey | None = None
    """The key on the CPU of which this is a copy."""
    _copies: WeakValueDictionary[str, SwitchingKey] = field(default_factory=WeakValueDictionary)
    """Copies on devices, while somebody uses them."""

    def to(self, device: str) -> SwitchingKey:
        """The same key on another device, which is brought there once while it is used there."""
        home, name = self._home or self, device_name(device)
        if name == "cpu":
            return home
        found = home._copies.get(name)
        if found is None or not _core.is_readable(found.data):
            found = SwitchingKey(home.data.to(name), home.seed, home.level, home)
            home._copies[name] = found
        return found

    @property
    def size_bytes(self) -> int:
        """Bytes of its residues in memory."""
        return 8 * prod(self.data.shape)

    def __repr__(self) -> str:
        return f"SwitchingKey(level={self.level}, shape={self.data.shape})"


def halves(tables: Tables, data: Tensor) -> tuple[Tensor, Tensor]:
    """Views [D, N, K] of b and of a."""
    return (data[0], data[1]) if tables.special_limbs else (data[:, 0], data[:, 1])


def empty_key(tables: Tables, level: int) -> Tensor:
    """Room for a key of a level."""
    digits, basis = tables.digit_count(level), tables.extended(level)
    shape = (2, digits) if tables.special_limbs else (digits, 2)
    return residues(shape, basis.degree, basis.limbs)


def expanded(tables: Tables, level: int, seed: bytes, body: Tensor | None = None) -> Tensor:
    """A key's tensor with its a from the seed, and its b from `body` [D, N, K] if given."""
    data = empty_key(tables, level)
    b, a = halves(tables, data)
    basis = tables.extended(level)
    for number in range(a.shape[0]):
        uniform(seed_of(seed, number), (), basis, out=a[number])
    if body is not None:
        ops.copy(body, out=b)
    return data


def switching_key(tables: Tables, level: int, source: Tensor, target: Tensor) -> SwitchingKey:
    """The key of a level from one secret to another.

    source, target   [N, special + level + 1] or with further limbs, in the NTT domain
    """
    seed = fresh_seed()
    data = expanded(tables, level, seed)
    limbs = tables.extended(level).limbs
    _fill(tables, level, data, (limb_range(source, 0, limbs), limb_range(target, 0, limbs)))
    return SwitchingKey(frozen(data), seed, level)


def _fill(tables: Tables, level: int, data: Tensor, secrets: tuple[Tensor, Tensor]) -> None:
    """Write b = -a s + e + P T s' next to a, digit by digit; `secrets` are s' and s."""
    b, a = halves(tables, data)
    basis, (source, target) = tables.extended(level), secrets
    over = integers(error_weights(tables, level))
    for number in range(a.shape[0]):
        own = b[number]
        with (
            wiped(ops.modmul(a[number], target, basis.q)) as mask,
            wiped(error(basis, (), tables.parameters.error_multiple)) as noise,
        ):
            ops.modneg(mask, basis.q, out=mask)
            ops.modmuladd(noise, over, mask, basis.q, out=own)
        if tables.special_limbs:
            _add_digit(tables, level, own, source, number)
        else:
            _add_gadget(tables, level, own, source, number)


def error_weights(tables: Tables, level: int) -> list[int]:
    """[special + k]: times which errors stand in a key: 1 in special limbs, P^-1 in the chain's."""
    special = prod(tables.parameters.special)
    return [1] * tables.special_limbs + [pow(special, -1, q) for q in tables.chain(level).moduli]


def message(tables: Tables, level: int, source: Tensor, number: int) -> Tensor:
    """[N, special + k]: the message of a key's digit, as weights of its limbs."""
    basis = tables.extended(level)
    out = zero_residues((), basis.degree, basis.limbs)
    add = _add_digit if tables.special_limbs else _add_gadget
    add(tables, level, out, source, number)
    return out


def _add_digit(tables: Tables, level: int, b: Tensor, source: Tensor, number: int) -> None:
    step, chain = tables.parameters.digit_limbs, tables.chain(level)
    start, stop = number * step, min((number + 1) * step, chain.limbs)
    first, last = tables.special_limbs + start, tables.special_limbs + stop
    own, message = limb_range(b, first, last), limb_range(source, first, last)
    ops.modsum(own, message, chain.q[start:stop], out=own)


def _add_gadget(tables: Tables, level: int, b: Tensor, source: Tensor, number: int) -> None:
    chain, base = tables.chain(level), tables.parameters.gadget_base_log2
    power = integers([pow(2, base * number, q) for q in chain.moduli])
    ops.modmuladd(source, power, b, chain.q, out=b)


def switched(
    tables: Tables, level: int, c: Tensor, key: SwitchingKey, addend: Tensor | None
) -> Tensor:
    """C [B, N, k] times the key's source, under its target: [B, 2, N, k]; plus (addend, 0)."""
    if tables.special_limbs:
        out = evaluator.hybrid_key_switch(c, _own(tables, level, key), tables.key_switch(level))
    else:
        out = _gadget(tables, level, c, key)
    if addend is not None:
        body = out[:, 0]
        ops.modsum(body, addend, tables.chain(level).q, out=body)
    return out


def relinearized(tables: Tables, level: int, data: Tensor, key: SwitchingKey) -> Tensor:
    """[B, 3, N, k] -> [B, 2, N, k] under the key from s^2."""
    if tables.special_limbs:
        return evaluator.relinearize(data, _own(tables, level, key), tables.key_switch(level))
    out = _gadget(tables, level, data[:, 2], key)
    return ops.modsum(out, data[:, 0:2], tables.chain(level).q, out=out)


def product(
    tables: Tables, level: int, digits: Tensor, key: SwitchingKey, addends: Tensor | None
) -> Tensor:
    """The accumulator [B, 2, N, special + k] of digits of `evaluator.mod_up`."""
    up = tables.key_switch(level)
    acc = evaluator.accumulator(addends, up, digits.shape[0])
    return evaluator.key_product(digits, _own(tables, level, key), up.extended, acc)


def _own(tables: Tables, level: int, key: SwitchingKey) -> Tensor:
    """The digits and limbs of a key that a level has: [2, D, N, special + k]."""
    up = tables.key_switch(level)
    return limb_range(key.data[:, 0 : up.digits], 0, up.extended.limbs)


def _gadget(tables: Tables, level: int, c: Tensor, key: SwitchingKey) -> Tensor:
    chain = tables.chain(level)
    own = limb_range(key.data[0 : tables.digit_count(level)], 0, chain.limbs)
    base = tables.parameters.gadget_base_log2
    return evaluator.gadget_switch(c, own, chain, tables.q_inv(level), base)
