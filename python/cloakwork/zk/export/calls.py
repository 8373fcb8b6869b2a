"""The arguments of a contract's `verifyProof`."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.errors import ProofError
from cloakwork.zk.circom.statements import Proof, Public, Source
from cloakwork.zk.export.chains import CHAINS, check_points
from cloakwork.zk.export.sources import KeySource, verifying_key


def calldata(
    vkey: KeySource, public: Source | Sequence[int] | Public, proof: Source | Proof
) -> str:
    """The arguments of `verifyProof` as text for `remix` or `cast`.

    Over BN254 it is the text of `snarkjs zkey export soliditycalldata`, byte for byte.  Whether the
    proof holds is not asked: `zk.groth16.verify` says that.

    Raises ProofError for other numbers of signals, another curve, or a point outside of its group,
    LoadError for files that are damaged.
    """
    key = verifying_key(vkey)
    signals, given = Public.load(public, key.curve), Proof.load(proof, key.curve)
    for what, curve in (("public signals", signals.curve), ("a proof", given.curve)):
        if curve != key.curve:
            raise ProofError(f"a key over {key.curve}, and {what} over {curve}")
    if len(signals.signals) != key.public:
        raise ProofError(
            f"expected {key.public} public signals, as the verifying key has, "
            f"got {len(signals.signals)}"
        )
    parts = {"pi_a": (given.a, 1), "pi_b": (given.b, 2), "pi_c": (given.c, 1)}
    for name, (data, size) in parts.items():
        check_points(name, data, f"{key.curve}.g{size}")
    chain = CHAINS[key.curve]
    a, b, c = (chain.point(data, size) for data, size in parts.values())
    # snarkjs puts a space behind commas of points, none behind those of signals.
    second = f"[{_words(b[:2])},{_words(b[2:])}]" if chain.words == 1 else _words(b)
    numbers = ",".join(map(_quoted, signals.signals))
    return f"{_words(a)},{second},{_words(c)},[{numbers}]"


def _words(words: list[int]) -> str:
    return f"[{', '.join(map(_quoted, words))}]"


def _quoted(word: int) -> str:
    return f'"0x{word:064x}"'
