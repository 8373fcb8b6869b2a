"""A Groth16 verifier in Solidity."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent

from cloakwork.errors import ParamError
from cloakwork.zk.export.chains import Chain, Constants, constants
from cloakwork.zk.export.sources import KeySource, verifying_key

# No keyword of Solidity begins with a capital letter, and no name inside the contract.
_NAME = re.compile(r"[A-Z][A-Za-z0-9_]{0,63}")
_WORD = 32

_CONTRACT = """\
// SPDX-License-Identifier: Apache-2.0
// Written by cloakwork from a verifying key over {curve}. Groth16: eprint 2016/260.
pragma solidity >=0.8.13 <0.9.0;

contract {name} {{
    /// Whether a proof holds for public signals: false for every other proof, and for points and
    /// signals that are none.{encoding}
    function verifyProof(
{parameters}
    ) public view returns (bool holds) {{
        assembly ("memory-safe") {{
{body}
        }}
    }}
}}
"""
_ENCODING = """
    /// A coordinate has two words, the high one first (EIP-2537)."""

_ADD_TERM = """\
// sum += signal * (x, y), where memory behind `sum` is free.
function addTerm(sum, x, y, signal) -> ok {{
    let term := add(sum, 0x40)
    mstore(term, x)
    mstore(add(sum, 0x60), y)
    mstore(add(sum, 0x80), signal)
    ok := lt(signal, {order})
    ok := and(staticcall({multiply}, {multiplier}, term, 0x60, term, 0x40), ok)
    ok := and(staticcall({add}, {adder}, sum, 0x80, sum, 0x40), ok)
}}
"""


def solidity(vkey: KeySource, *, name: str = "Groth16Verifier") -> str:
    """The text of a contract that verifies proofs under a key, for Solidity 0.8.13 and later.

    vkey   a verifying key or a proving key: a file, or the object
    name   of the contract: a capital letter, then up to 63 letters, digits and underscores

    `verifyProof(pA, pB, pC, pubSignals)` has snarkjs's signature over BN254; over BLS12-381
    (EIP-2537) a coordinate has two words.  It answers false for any proof that does not hold, and
    for signals that are not below the prime.  Without public signals it has no `pubSignals`, as no
    array of Solidity is empty.

    Raises ParamError for another name, and for more signals than fit into a contract, ProofError
    for a key with an invalid point, LoadError for a file that is damaged.
    """
    given: object = name
    if not isinstance(given, str) or _NAME.fullmatch(given) is None:
        expected = "a capital letter, then up to 63 letters, digits and underscores"
        raise ParamError("name", repr(name), expected)
    made = constants(verifying_key(vkey), "solidity")
    sum_of_signals = _in_steps if made.chain.words == 1 else _at_once
    body = "".join((*sum_of_signals(made), *_pairing(made)))
    return _CONTRACT.format(
        curve=made.chain.curve,
        name=name,
        encoding="" if made.chain.words == 1 else _ENCODING,
        parameters=indent(",\n".join(_parameters(made)), " " * 8),
        body=indent(body.rstrip("\n"), " " * 12),
    )


def _parameters(made: Constants) -> Iterator[str]:
    words = made.chain.words
    pair = "uint256[2][2]" if words == 1 else f"uint256[{4 * words}]"
    yield f"uint256[{2 * words}] calldata _pA"
    yield f"{pair} calldata _pB"
    yield f"uint256[{2 * words}] calldata _pC"
    if made.public:
        yield f"uint256[{made.public}] calldata _pubSignals"


def _number(value: int) -> str:
    return f"0x{value:064x}"


def _at(base: str, offset: int) -> str:
    return f"add({base}, 0x{offset:x})" if offset else base


def _stored(base: str, offset: int, words: list[int]) -> Iterator[str]:
    for index, word in enumerate(words):
        yield f"mstore({_at(base, offset + _WORD * index)}, {_number(word)})\n"


def _called(contract: tuple[int, int], given: tuple[str, int], answer: tuple[str, int]) -> str:
    """A call of a precompiled contract, for twice its price."""
    address, price = contract
    (source, size), (out, bound) = given, answer
    call = f"staticcall({2 * price}, {address}, {source}, 0x{size:x}, {out}, 0x{bound:x})"
    return f"holds := and({call}, holds)\n"


def _begun(made: Constants) -> Iterator[str]:
    chain = made.chain
    yield "// Four pairs of points; behind the second one, the sum of IC by the signals.\n"
    yield "let pairs := mload(0x40)\n"
    yield f"let sum := {_at('pairs', 2 * _pair_bytes(chain))}\n"
    yield from _stored("sum", 0, made.ic[0])
    yield "holds := 1\n"


def _pair_bytes(chain: Chain) -> int:
    return 6 * chain.words * _WORD


def _in_steps(made: Constants) -> Iterator[str]:
    chain = made.chain
    (adder, add), (multiplier, multiply) = chain.add, chain.multiply
    if made.public:
        yield _ADD_TERM.format(
            order=_number(chain.order), multiply=2 * multiply, multiplier=multiplier,
            add=2 * add, adder=adder,
        )  # fmt: skip
    yield from _begun(made)
    for index, (x, y) in enumerate(made.ic[1:]):
        signal = f"calldataload({_at('_pubSignals', _WORD * index)})"
        yield f"holds := and(addTerm(sum, {_number(x)}, {_number(y)}, {signal}), holds)\n"


def _at_once(made: Constants) -> Iterator[str]:
    chain = made.chain
    yield from _begun(made)
    if not made.public:
        return
    point = 2 * chain.words * _WORD
    term = point + _WORD
    yield f"let terms := {_at('pairs', 4 * _pair_bytes(chain))}\n"
    yield "let signal\n"
    for index, words in enumerate(made.ic[1:]):
        yield f"signal := calldataload({_at('_pubSignals', _WORD * index)})\n"
        yield f"holds := and(lt(signal, {_number(chain.order)}), holds)\n"
        yield from _stored("terms", term * index, words)
        yield f"mstore({_at('terms', term * index + point)}, signal)\n"
    multiplier, price = chain.multiply
    behind = (_at("sum", point), point)
    yield _called((multiplier, made.public * price), ("terms", made.public * term), behind)
    yield _called(chain.add, ("sum", 2 * point), ("sum", point))


def _pairing(made: Constants) -> Iterator[str]:
    chain = made.chain
    g1, pair = 2 * chain.words * _WORD, _pair_bytes(chain)
    yield "// e(A, B) e(-alpha, beta) e(sum, -gamma) e(C, -delta) is 1.\n"
    yield f"calldatacopy(pairs, _pA, 0x{g1:x})\n"
    yield f"calldatacopy({_at('pairs', g1)}, _pB, 0x{2 * g1:x})\n"
    yield from _stored("pairs", pair, made.alpha1 + made.beta2)
    yield from _stored("pairs", 2 * pair + g1, made.gamma2)
    yield f"calldatacopy({_at('pairs', 3 * pair)}, _pC, 0x{g1:x})\n"
    yield from _stored("pairs", 3 * pair + g1, made.delta2)
    yield _called(chain.pairing, ("pairs", 4 * pair), ("pairs", _WORD))
    yield "holds := and(eq(returndatasize(), 0x20), holds)\n"
    yield "holds := and(eq(mload(pairs), 1), holds)\n"
