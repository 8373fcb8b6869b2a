"""Exported verifiers of Ethereum: compiled, run, and compared with our own verifier's answers."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cloakwork import cli, ops, zk
from cloakwork.demo.node import Missing
from cloakwork.errors import LoadError, ParamError, ProofError
from cloakwork.fields.parameters import CURVES as FACTS
from cloakwork.fields.parameters import MODULI, ORDERS
from cloakwork.zk.export.chains import CHAINS
from cloakwork.zk.groth16.algebra import point_bytes, scalars
from python.ethereum import Machine

VECTORS = Path(__file__).parents[1] / "vectors" / "groth16"
CURVES = {"bn128": "bn254", "bls12381": "bls12_381"}
# Points of the twists that are outside of the group of prime order: x and y, the parts of 1 and i.
OUTSIDE = {
    "bn128": (
        0x1,
        0x0,
        0x2869111D5381F072F8E2728FDB825A51AADD70E52C9830E9AB4B871C0531F1BB,
        0xD1271953ED9EA0836846E70A1934187998C7F790CB4D7511B7F8DA82DE048A4,
    ),
    "bls12381": (
        0x2,
        0x0,
        int(
            "18C6B864AE17DC9DA64203FFEFB966306425A7BC6AEB7C75"
            "247438372716284A4173830420CD476BA1A365B95BFCEC38",
            16,
        ),
        int(
            "172E93DB764A8400A7D5071B6B6F5DE0DA2F0F4A063119AB"
            "CA014006B7C40A2CFE291A1924E65DB0D6D0FCFBF3BF3D5C",
            16,
        ),
    ),
}


@pytest.fixture(scope="module")
def machine() -> Machine:
    try:
        return Machine.install()
    except Missing as missing:
        pytest.skip(str(missing))


@dataclass(frozen=True)
class Case:
    """A proof by its coordinates, and public signals: any numbers, valid or not."""

    folder: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: tuple[int, ...]
    public: tuple[int, ...]
    what: str = field(default="", compare=False)

    @classmethod
    def of(cls, folder: str, number: int) -> Case:
        base = VECTORS / folder
        proof = json.loads((base / f"mixed{number}.proof.json").read_text())
        public = json.loads((base / f"mixed{number}.public.json").read_text())
        points = [*proof["pi_a"][:2], *proof["pi_b"][0], *proof["pi_b"][1], *proof["pi_c"][:2]]
        numbers = tuple(map(int, points))
        signals = tuple(map(int, public))
        return cls(folder, numbers[:2], numbers[2:6], numbers[6:], signals)

    @property
    def holds(self) -> bool:
        """Our verifier's answer; a refusal is none."""
        base = VECTORS / self.folder
        json_of_proof = {
            "pi_a": _projective(self.a[:1], self.a[1:]),
            "pi_b": _projective(self.b[:2], self.b[2:]),
            "pi_c": _projective(self.c[:1], self.c[1:]),
            "protocol": "groth16",
            "curve": self.folder,
        }
        public = [str(signal) for signal in self.public]
        try:
            return zk.groth16.verify(base / "mixed.vkey.json", public, json_of_proof)
        except (LoadError, ProofError):
            return False

    def call(self, to: str) -> dict[str, Any]:
        """The call of a contract, by the signature of this curve."""
        b = self.b
        if self.folder == "bn128":
            shape = "uint256[2],uint256[2][2],uint256[2]"
            words = [*self.a, b[1], b[0], b[3], b[2], *self.c]
        else:
            shape = "uint256[4],uint256[8],uint256[4]"
            split = ((n >> 256, n % 2**256) for n in (*self.a, *b, *self.c))
            words = [word for pair in split for word in pair]
        signature = f"verifyProof({shape},uint256[{len(self.public)}])"
        data = "".join(f"{word:064x}" for word in (*words, *self.public))
        return {"to": to, "signature": signature, "data": data}


def _projective(x: tuple[int, ...], y: tuple[int, ...]) -> list[Any]:
    """Snarkjs's coordinates."""
    infinite = not any(x + y)
    if len(x) == 1:
        return ["0", "1", "0"] if infinite else [str(x[0]), str(y[0]), "1"]
    numbers = [[0, 0], [1, 0], [0, 0]] if infinite else [list(x), list(y), [1, 0]]
    return [[str(part) for part in pair] for pair in numbers]


def altered(case: Case, flips: int) -> list[Case]:
    """Other proofs and signals: each of them is a case for both verifiers."""
    prime = MODULI[FACTS[CURVES[case.folder]]["fq"]]
    order = ORDERS[CURVES[case.folder]]
    drawn = random.Random(33)
    cases = []

    def put(name: str, values: tuple[int, ...], what: str) -> None:
        cases.append(replace(case, **{name: values}, what=f"{name}: {what}"))

    for name, bits in (("a", prime), ("b", prime), ("c", prime), ("public", order)):
        values = getattr(case, name)
        for at in range(len(values)):
            for bit in drawn.sample(range(bits.bit_length() + 2), flips):
                put(name, _with(values, at, values[at] ^ 1 << bit), f"bit {bit} of {at}")
            put(name, _with(values, at, values[at] + bits), f"{at} is not reduced")
            put(name, _with(values, at, 0), f"{at} is zero")
            put(name, _with(values, at, bits), f"{at} is the prime")
            put(name, _with(values, at, bits - 1), f"{at} is the prime less one")
    for name in ("a", "c"):
        x, y = getattr(case, name)
        put(name, (x, prime - y), "negated")
        put(name, (y, x), "swapped")
        put(name, (0, 0), "infinite")
        put(name, (0, 1), "off the curve")
    b = case.b
    for order_of in ((1, 0, 3, 2), (2, 3, 0, 1), (1, 0, 2, 3), (0, 1, 3, 2)):
        put("b", tuple(b[at] for at in order_of), f"words {order_of}")
    put("b", (0, 0, 0, 0), "infinite")
    put("b", (*b[:2], *(prime - part for part in b[2:])), "negated")
    put("b", OUTSIDE[case.folder], "outside of the group")
    cases.append(replace(case, a=case.c, c=case.a, what="A and C exchanged"))
    cases.append(replace(case, a=(0, 0), b=(0, 0, 0, 0), c=(0, 0), what="all infinite"))
    put("public", case.public[::-1], "in another order")
    return cases


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])


def holding(folder: str) -> list[Case]:
    """Proofs that hold: of three witnesses, and one with A and B negated, which is one too."""
    cases = [Case.of(folder, number) for number in (1, 2, 3)]
    first, prime = cases[0], MODULI[FACTS[CURVES[folder]]["fq"]]
    negated = {
        "a": (first.a[0], prime - first.a[1]),
        "b": (*first.b[:2], *(prime - part for part in first.b[2:])),
    }
    return [*cases, replace(first, **negated)]


WRITERS = {"solidity": zk.export.solidity, "vyper": zk.export.vyper}


def compiled(language: str, key: Any) -> dict[str, str]:
    """A contract for the machine, which compiles Solidity itself."""
    if language == "solidity":
        return {"source": zk.export.solidity(key, name="Verifier_1"), "contract": "Verifier_1"}
    vyper = pytest.importorskip("vyper")
    return {"code": vyper.compile_code(zk.export.vyper(key))["bytecode"]}


@pytest.mark.parametrize("folder", CURVES)
@pytest.mark.parametrize("language", WRITERS)
def test_contracts_answer_as_the_verifier_does(
    folder: str, language: str, machine: Machine
) -> None:
    """Proofs that hold, and 200 altered ones."""
    contract = compiled(language, VECTORS / folder / "mixed.vkey.json")
    good = holding(folder)
    cases = [*good, *altered(good[0], 13)]
    assert len(cases) - len(good) >= 200
    answers, _ = machine.run({"verifier": contract}, [case.call("verifier") for case in cases])
    for case, answer in zip(cases, answers, strict=True):
        assert answer.holds == case.holds, case.what
        # A refused call costs no more than twice the price of the pairing and of the sums.
        assert answer.gas < 500_000, case.what
    assert [answer.holds for answer in answers] == [True] * len(good) + [False] * (
        len(cases) - len(good)
    )


def many(curve: str, count: int) -> zk.VerifyingKey:
    """A key of so many public signals, whose points differ; nobody has a proof under it."""
    folder = {name: folder for folder, name in CURVES.items()}[curve]
    key = zk.VerifyingKey.load(VECTORS / folder / "mixed.vkey.json")
    numbers = scalars(curve, range(1, count + 2))
    points = ops.curve_mul(numbers, zk.curve(curve).g1_generator.reshape(1))
    return replace(key, ic=point_bytes(points))


@pytest.mark.parametrize("folder", CURVES)
@pytest.mark.parametrize("language", WRITERS)
@pytest.mark.slow(reason="contracts of 24 kB are compiled")
def test_contracts_of_the_most_signals_fit_and_of_none_compile(
    folder: str, language: str, machine: Machine
) -> None:
    curve = CURVES[folder]
    most = CHAINS[curve].signals[language]
    # Vyper's compiler takes minutes for the largest contract over BLS12-381.
    tried = 30 if (language, curve) == ("vyper", "bls12_381") else most
    contracts, calls = {}, []
    for count in (0, 1, tried):
        contracts[f"{count}"] = compiled(language, many(curve, count))
        call = replace(Case.of(folder, 1), public=(7,) * count).call(f"{count}")
        call["signature"] = call["signature"].replace(",uint256[0])", ")")
        calls.append(call)
    answers, sizes = machine.run(contracts, calls)
    assert [answer.holds for answer in answers] == [False] * 3
    assert sizes[f"{tried}"] <= 24_576
    assert tried < most or sizes[f"{tried}"] > 20_000
    with pytest.raises(ParamError, match=f"public signals.*at most {most}: more points do not fit"):
        WRITERS[language](many(curve, most + 1))


def test_a_contract_that_inherits_goes_on_behind_a_refused_proof(machine: Machine) -> None:
    """An answer is returned, not the end of the call: `require` sees it."""
    text = zk.export.solidity(VECTORS / "bn128" / "mixed.zkey") + (
        "contract Vault is Groth16Verifier {\n"
        "    function open(uint256[2] calldata a, uint256[2][2] calldata b, uint256[2] calldata c,"
        " uint256[3] calldata s) external view returns (uint256) {\n"
        "        uint256[] memory kept = new uint256[](1);\n"
        "        kept[0] = 33;\n"
        '        require(verifyProof(a, b, c, s), "refused");\n'
        "        return kept[0];\n"
        "    }\n"
        "}\n"
    )
    good = Case.of("bn128", 1)
    calls = [case.call("vault") for case in (good, replace(good, public=(ORDERS["bn254"], 1, 7)))]
    for call in calls:
        call["signature"] = call["signature"].replace("verifyProof", "open")
    short = {**good.call("vault"), "data": good.call("vault")["data"][:-64]}
    answers, _ = machine.run({"vault": {"source": text, "contract": "Vault"}}, [*calls, short])
    assert answers[0] == replace(answers[0], returned=f"{33:064x}", error=None)
    assert [answer.error for answer in answers[1:]] == ["revert", "revert"]


def test_calldata_is_that_of_snarkjs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    base = VECTORS / "bn128"
    files = [base / name for name in ("mixed.vkey.json", "mixed1.public.json", "mixed1.proof.json")]
    expected = (base / "mixed1.calldata.txt").read_text()
    assert f"{zk.export.calldata(*files)}\n" == expected
    line = ["export", "calldata", *map(str, files)]
    assert cli.main(line) == 0
    assert capsys.readouterr() == (expected, "")
    assert cli.main([*line, "-o", str(tmp_path / "call.txt")]) == 0
    assert (tmp_path / "call.txt").read_text() == expected
    # A proof of other signals is one that does not hold.
    capsys.readouterr()
    (tmp_path / "public.json").write_text('["1", "1", "7"]')
    line[3] = str(tmp_path / "public.json")
    assert cli.main(line) == 0
    out, said = capsys.readouterr()
    assert out.endswith(',"0x' + "0" * 63 + '7"]\n')
    assert said == "cloakwork: the proof does not hold: verifyProof will answer false\n"


def test_calldata_over_bls12_381_has_two_words_a_coordinate() -> None:
    case = Case.of("bls12381", 1)
    base = VECTORS / "bls12381"
    text = zk.export.calldata(
        base / "mixed.zkey", base / "mixed1.public.json", base / "mixed1.proof.json"
    )
    words = [word for part in json.loads(f"[{text}]") for word in part]
    assert "".join(f"{int(word, 16):064x}" for word in words) == case.call("")["data"]


def test_what_is_no_key_proof_or_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, other = VECTORS / "bn128", VECTORS / "bls12381"
    key = zk.VerifyingKey.load(base / "mixed.vkey.json")
    for name in ("", "groth16", "A b", "A{}", "A\n", "Ä", "A" * 65, "1A", "_A"):
        with pytest.raises(ParamError, match="a capital letter, then up to 63"):
            zk.export.solidity(key, name=name)
    infinite, foreign = bytes(len(key.beta2)), b"\1" + key.alpha1[1:]
    for write in (zk.export.solidity, zk.export.vyper):
        with pytest.raises(ProofError, match="delta2 is at infinity, where no verifying key has"):
            write(replace(key, delta2=infinite))
        with pytest.raises(ProofError, match=r"alpha1: .*element 0, which is not on the curve"):
            write(replace(key, alpha1=foreign))
        with pytest.raises(ProofError, match="ic: expected points of 64 bytes, got 63 bytes"):
            write(replace(key, ic=key.ic[:63]))
        with pytest.raises(LoadError, match=r"expected a verifying key, vkey.json, got a proof"):
            write(base / "mixed1.proof.json")
    public, proof = base / "mixed1.public.json", base / "mixed1.proof.json"
    with pytest.raises(ProofError, match=r"expected 3 public signals, .* got 2"):
        zk.export.calldata(key, [1, 2], proof)
    with pytest.raises(ProofError, match="a key over bn254, and a proof over bls12_381"):
        zk.export.calldata(key, public, other / "mixed1.proof.json")
    outside = replace(Case.of("bn128", 1), b=OUTSIDE["bn128"])
    parts = json.loads(proof.read_text()) | {"pi_b": _projective(outside.b[:2], outside.b[2:])}
    with pytest.raises(ProofError, match=r"pi_b: .*element 0"):
        zk.export.calldata(key, public, parts)
    # The same through the commands; nothing is written.
    vkey, out = str(base / "mixed.vkey.json"), tmp_path / "out.sol"
    assert cli.main(["export", "solidity", vkey, "--name", "a b", "-o", str(out)]) == 2
    assert "--name: got 'a b', expected a capital letter" in capsys.readouterr().err
    assert cli.main(["export", "vyper", str(proof), "-o", str(out)]) == 2
    assert not out.exists()
    copy = tmp_path / "vkey.json"
    copy.write_bytes((base / "mixed.vkey.json").read_bytes())
    assert cli.main(["export", "solidity", str(copy), "-o", str(copy)]) == 2
    assert copy.read_bytes() == (base / "mixed.vkey.json").read_bytes()


@pytest.mark.parametrize("folder", CURVES)
def test_commands_write_the_contracts(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, out = VECTORS / folder, tmp_path / "out"
    for kind, made in (("solidity", zk.export.solidity), ("vyper", zk.export.vyper)):
        for key in (base / "mixed.vkey.json", base / "mixed.zkey"):
            assert cli.main(["export", kind, str(key), "-o", str(out)]) == 0
            assert out.read_text() == made(key)
            capsys.readouterr()
            assert cli.main(["export", kind, str(key)]) == 0
            assert capsys.readouterr().out == made(key)
