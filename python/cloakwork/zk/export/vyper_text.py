"""A Groth16 verifier in Vyper."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from cloakwork.zk.export.chains import Constants, constants
from cloakwork.zk.export.sources import KeySource, verifying_key

_WORD = 32

_CONTRACT = """\
# pragma version >=0.4.0
# SPDX-License-Identifier: Apache-2.0
# Written by cloakwork from a verifying key over {curve}. Groth16: eprint 2016/260.

{constants}

@external
@view
def verifyProof(
{parameters}
) -> bool:
    \"\"\"
    @notice Whether a proof holds for public signals: false for every other proof, and for points
            and signals that are none.
    \"\"\"
{body}
"""


def vyper(vkey: KeySource) -> str:
    """The text of a contract that verifies proofs under a key, for Vyper 0.4.

    vkey   a verifying key or a proving key: a file, or the object

    Its interface and its answers are those of `solidity`'s contract.

    Raises ParamError for more signals than fit into a contract, ProofError for a key with an
    invalid point, LoadError for a file that is damaged.
    """
    made = constants(verifying_key(vkey), "vyper")
    sum_of_signals = _in_steps if made.chain.words == 1 else _at_once
    body = "\n".join((*_checked(made), *sum_of_signals(made), *_pairing(made)))
    return _CONTRACT.format(
        curve=made.chain.curve,
        constants="\n".join(_constants(made)),
        parameters=indent(",\n".join(_parameters(made)), " " * 4),
        body=indent(body, " " * 4),
    )


def _types(made: Constants) -> tuple[str, str]:
    """Those of a point of G1 and one of G2."""
    words = made.chain.words
    g2 = "uint256[2][2]" if words == 1 else f"uint256[{4 * words}]"
    return f"uint256[{2 * words}]", g2


def _parameters(made: Constants) -> Iterator[str]:
    g1, g2 = _types(made)
    yield f"_pA: {g1}"
    yield f"_pB: {g2}"
    yield f"_pC: {g1}"
    if made.public:
        yield f"_pubSignals: uint256[{made.public}]"


def _constants(made: Constants) -> Iterator[str]:
    g1, g2 = _types(made)
    yield f"ORDER: constant(uint256) = {made.chain.order}"
    points = made.ic if made.chain.words == 1 else made.ic[:1]
    named = ((f"IC{index}", point) for index, point in enumerate(points))
    for name, point in (("ALPHA", made.alpha1), *named):
        yield f"{name}: constant({g1}) = {_list(point)}"
    for name, point in (("BETA", made.beta2), ("GAMMA", made.gamma2), ("DELTA", made.delta2)):
        halves = [point[:2], point[2:]] if made.chain.words == 1 else None
        text = _list(point) if halves is None else f"[{', '.join(map(_list, halves))}]"
        yield f"{name}: constant({g2}) = {text}"


def _list(words: list[int]) -> str:
    return f"[{', '.join(map(str, words))}]"


def _checked(made: Constants) -> Iterator[str]:
    if made.public:
        yield "for signal: uint256 in _pubSignals:"
        yield "    if signal >= ORDER:"
        yield "        return False"


def _in_steps(made: Constants) -> Iterator[str]:
    g1, _ = _types(made)
    yield f"sum: {g1} = IC0"
    for index in range(made.public):
        yield f"sum = ecadd(sum, ecmul(IC{index + 1}, _pubSignals[{index}]))"


def _at_once(made: Constants) -> Iterator[str]:
    size = 2 * made.chain.words * _WORD
    yield "holds: bool = True"
    yield f"sum: Bytes[{size}] = abi_encode(IC0)"
    if made.public:
        yield f"pairs: uint256[{5 * made.public}] = ["
        for index, point in enumerate(made.ic[1:]):
            yield f"    {', '.join(map(str, point))}, _pubSignals[{index}],"
        yield "]"
        multiplier, price = made.chain.multiply
        yield f'terms: Bytes[{size}] = b""'
        yield from _called("terms", (multiplier, made.public * price), "abi_encode(pairs)", size)
        yield "if not holds:"
        yield "    return False"
        yield from _called("sum", made.chain.add, "concat(sum, terms)", size)
        yield "if not holds:"
        yield "    return False"


def _called(answer: str, contract: tuple[int, int], given: str, size: int) -> Iterator[str]:
    """A call of a precompiled contract, for twice its price."""
    address, price = contract
    yield f"holds, {answer} = raw_call("
    yield f"    convert({address}, address),"
    yield f"    {given},"
    yield f"    max_outsize={size},"
    yield f"    gas={2 * price},"
    yield "    is_static_call=True,"
    yield "    revert_on_failure=False,"
    yield ")"


def _pairing(made: Constants) -> Iterator[str]:
    if made.chain.words == 1:
        yield "holds: bool = False"
        pairs = "abi_encode(_pA, _pB, ALPHA, BETA, sum, GAMMA, _pC, DELTA)"
    else:
        first, last = "abi_encode(_pA, _pB, ALPHA, BETA)", "abi_encode(GAMMA, _pC, DELTA)"
        pairs = f"concat({first}, sum, {last})"
    yield "# e(A, B) e(-alpha, beta) e(sum, -gamma) e(C, -delta) is 1."
    yield 'answer: Bytes[32] = b""'
    yield from _called("answer", made.chain.pairing, pairs, _WORD)
    yield "return holds and len(answer) == 32 and convert(answer, uint256) == 1"
