"""BFV arithmetic against the same arithmetic on integers mod t: exact, and its noise is bounded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import (
    EncodeError,
    KeyMismatchError,
    LevelError,
    LoadError,
    MissingKeyError,
    NoiseError,
    ParamError,
)
from cloakwork.fhe.bfv import scaling
from python.fhe_setup import T, bfv, bgv, centred, integer_slots, rolled

KEYS = bfv()
A, B = integer_slots(KEYS, 1), integer_slots(KEYS, 2)
X, Y = KEYS.encrypt(A), KEYS.public.encrypt(B).using(KEYS.evaluation)
SLOTS = KEYS.context.slots
Circuit = Callable[[Any, Any], Any]

# What a circuit of two ciphertexts computes on their values.
CIRCUITS: list[tuple[Circuit, Any]] = [
    (lambda x, y: x + y - 2, A + B - 2),
    (lambda x, y: -(x - y), B - A),
    (lambda x, y: x * y, A * B),
    (lambda x, y: (x * y).relinearize() + x, A * B + A),
    (lambda x, y: (x * y).mod_switch(), A * B),
    (lambda x, y: x.square() * y, A * A % T * B),
    (lambda x, y: 3 - x * 65536, 3 + A),
    (lambda x, y: x * 0 + 1, 0 * A + 1),
    (lambda x, y: x * B + A, A * B % T + A),
    (lambda x, y: x * x.context.encode(B, level=x.level) - B, A * B % T - B),
    (lambda x, y: x + x.context.encode(B, level=x.level, factor=7), A + B),
    (lambda x, y: x.rotate_rows(3) + y.rotate_columns(), rolled(A, 3) + np.roll(B, SLOTS // 2)),
    (lambda x, y: x.rotate_many([1, 2])[1], rolled(A, 2)),
    (lambda x, y: x.inner_sum(6), sum(rolled(A, i) for i in range(6))),
    (lambda x, y: x * y.lower(2) + x, A * B + A),
    (lambda x, y: x**5, A**2 % T * A % T * A % T * A),
    (lambda x, y: fhe.Polynomial([3, 1, 4])(x), 3 + A + 4 * (A * A % T)),
]


def exact(keys: fhe.Keys, ciphertext: fhe.Ciphertext, expected: Any) -> None:
    assert isinstance(ciphertext, fhe.BfvCiphertext)
    t = keys.context.parameters.plain_modulus
    np.testing.assert_array_equal(keys.decrypt(ciphertext), centred(expected, t))
    assert 0 < ciphertext.noise_budget() <= keys.noise_budget(ciphertext)


@pytest.mark.parametrize(("circuit", "expected"), CIRCUITS)
def test_circuits_compute_what_they_say(circuit: Circuit, expected: Any) -> None:
    exact(KEYS, circuit(X, Y), expected)


@pytest.mark.parametrize("circuit", [pair[0] for pair in CIRCUITS[::3]])
def test_programs_and_devices_give_the_same_residues(circuit: Circuit) -> None:
    eager = circuit(X, Y)
    program = cw.trace(circuit, X, Y)
    (traced,) = program.run(X, Y).outputs
    np.testing.assert_array_equal(np.asarray(traced.data), np.asarray(eager.data))
    assert vars(traced) | {"data": 0} == vars(eager) | {"data": 0}
    there = circuit(X.to("sim:0"), Y.to("sim:0"))
    assert (there.device, there.sizes) == ("sim:0", eager.sizes)
    np.testing.assert_array_equal(np.asarray(there.data.to("cpu")), np.asarray(eager.data))


@pytest.mark.parametrize("special", [0, 1])
def test_a_product_consists_of_heal_ops(special: int) -> None:
    keys = bfv(64, 2, special=special)
    a = integer_slots(keys, 1)
    x = keys.encrypt(a)
    program = cw.trace(lambda x: (x * x).relinearize() + 1, x)
    result = program.to_heal().run(verify=True)
    assert not result.mismatches
    (found,) = program.results(result.outputs)
    np.testing.assert_array_equal(
        np.asarray(found.data), np.asarray(program.run(x).outputs[0].data)
    )
    exact(keys, found, a * a + 1)


@pytest.mark.parametrize("t", [12289, 786433])
@pytest.mark.parametrize("special", [0, 1, 3])
def test_other_plain_moduli_and_key_switching(t: int, special: int) -> None:
    keys = bfv(128, 5, t=t, special=special)
    a = integer_slots(keys, 3)
    x = keys.encrypt(a)
    exact(keys, x.square() * x + x, a * a % t * a + a)
    exact(keys, x.rotate_rows(3), rolled(a, 3))


def test_the_further_moduli_are_others_and_exceed_the_chain() -> None:
    parameters = KEYS.context.parameters
    further = scaling.further_moduli(parameters)
    assert not {*further} & {*parameters.moduli, *parameters.special}
    for level in range(parameters.level + 1):
        assert (
            KEYS.context.scalings.further(level).modulus > KEYS.context.tables.chain(level).modulus
        )
    assert "further moduli" in KEYS.context.describe()


def test_batches_and_matrices() -> None:
    a, b = integer_slots(KEYS, 5, (3,)), integer_slots(KEYS, 6, (3,))
    x, y = KEYS.encrypt(a, batch=True), KEYS.public.encrypt(b, batch=True).using(KEYS.evaluation)
    exact(KEYS, x * y + x, a * b % T + a)
    exact(KEYS, x * Y, a * B)
    exact(KEYS, x.square()[1], a[1] * a[1])
    values = np.random.default_rng(1).integers(-T, T, (4, 4))
    matrix = fhe.Matrix(KEYS.context, values)
    own = KEYS.context.keygen(rotations=matrix.rotations)
    found = own.decrypt(matrix @ own.encrypt(matrix.pack([1, 2, 3, 4])))
    np.testing.assert_array_equal(matrix.unpack(found)[0], centred(values @ [1, 2, 3, 4]))


def test_moduli_go_by_themselves_and_cost_no_budget() -> None:
    power, expected, by_hand = X, A, fhe.bfv(
        256, T, KEYS.context.parameters.moduli, KEYS.context.parameters.special,
        insecure=True, levels="manual",
    ).keygen()  # fmt: skip
    slow = by_hand.encrypt(A)
    for _ in range(4):
        power, slow, expected = power * power, slow * slow, expected * expected % T
        exact(KEYS, power, expected)
        exact(by_hand, slow, expected)
    assert power.level < slow.level == X.level
    assert power.noise_budget() > slow.noise_budget() - 1


def test_what_would_not_decrypt_is_refused() -> None:
    def on_and_on(power: fhe.Ciphertext) -> None:
        for _ in range(20):
            power = power * power

    with pytest.raises(NoiseError, match="longer modulus chain") as raised:
        on_and_on(X)
    assert raised.value.budget_log2 < 0


def test_lower_levels_hold_the_same_values() -> None:
    for level in range(5):
        assert X.lower(level).level == level
        exact(KEYS, X.lower(level), A)
        exact(KEYS, X.lower(level) + Y, A + B)
    with pytest.raises(LevelError, match="levels only fall"):
        X.lower(1).lower(2)
    with pytest.raises(LevelError, match="level 1 or more"):
        X.lower(0).mod_switch()
    context = fhe.bfv(64, 257, [40] * 3, [45], insecure=True, levels="manual")
    x = context.keygen().encrypt([1])
    with pytest.raises(LevelError, match="operands at one level"):
        x + x.lower(1)


def test_decrypted_plaintexts_are_encrypted_again() -> None:
    again = KEYS.encrypt(KEYS.decrypt_plaintext(X))
    exact(KEYS, again, A)
    exact(KEYS, again * Y + X, A * B + A)


@pytest.mark.parametrize("lowered", [False, True])
def test_ciphertexts_and_keys_come_back_from_files(lowered: bool, tmp_path: Path) -> None:
    saved = (X * Y).lower(2) if lowered else X
    saved.save(tmp_path / "x")
    KEYS.save(tmp_path / "secret")
    KEYS.evaluation.save(tmp_path / "evaluation")
    back = fhe.load(tmp_path / "x", insecure=True)
    client = fhe.load(tmp_path / "secret", insecure=True)
    assert back.context is client.context is KEYS.context
    client.adopt(fhe.load(tmp_path / "evaluation", insecure=True))
    exact(client, back.using(client.evaluation) + 1, (A * B if lowered else A) + 1)
    bgv().encrypt(A).save(tmp_path / "other")
    with pytest.raises(KeyMismatchError, match="parameters"):
        X + fhe.load(tmp_path / "other", insecure=True)


def test_an_estimate_that_a_file_understates_is_found_out(tmp_path: Path) -> None:
    power = X
    for _ in range(8):
        power = power * power
    claims = vars(power) | {"noise": 1.0, "coefficient": 1.0, "value": 1.0}
    with pytest.raises(NoiseError, match="exceeds the ciphertext's estimate"):
        KEYS.decrypt(fhe.BfvCiphertext(**claims))
    X.save(tmp_path / "x")
    held = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(held.replace(b'"bfv"', b'"bfw"'))
    with pytest.raises(LoadError):
        fhe.load(tmp_path / "x", insecure=True)


@pytest.mark.parametrize(
    ("attempt", "error", "match"),
    [
        (lambda: fhe.bfv(1000, T, [40]), ParamError, "degree"),
        (lambda: fhe.bfv(2**11, T), ParamError, "4096 or more"),
        (lambda: fhe.bfv(2**12, T, special=[40]), ParamError, "moduli with it"),
        (lambda: fhe.bfv(2**12, T, insecure=True), ParamError, "moduli with it"),
        (lambda: fhe.bfv(2**12, 101, [35, 35], [35]), ParamError, "plain_modulus_batching"),
        (lambda: fhe.bfv(2**12, T, [49] * 4, [49]), ParamError, "security_modulus"),
        (lambda: KEYS.encrypt([1], scale=2.0), ParamError, "no scale: BFV"),
        (lambda: KEYS.encrypt([1], bound=2.0), ParamError, "no bound: BFV"),
        (lambda: KEYS.encrypt([0.5]), EncodeError, "not integers"),
        (lambda: KEYS.encrypt(np.ones(SLOTS + 1, int)), EncodeError, f"{SLOTS} slots"),
        (lambda: KEYS.decrypt(X, queries=1), ParamError, "BFV's results are exact"),
        (lambda: KEYS.context.encode(A, factor=T), ParamError, "factor"),
        (lambda: fhe.Polynomial([0.5])(X), ParamError, "integers under BFV"),
        (
            lambda: KEYS.context.keygen(relinearization=False).encrypt(A) ** 3,
            MissingKeyError,
            "key",
        ),
        (lambda: X + bgv().encrypt(A), KeyMismatchError, "parameters"),
        (lambda: X / 2, cw.errors.EncryptedValueError, "BFV computes mod t"),
    ],
)
def test_bad_input_is_refused(attempt: Callable[[], Any], error: type, match: str) -> None:
    with pytest.raises(error, match=match):
        attempt()


def test_moduli_are_found_by_the_table() -> None:
    for degree in (2**12, 2**13, 2**15):
        parameters = fhe.bfv(degree, T).parameters
        limit = fhe.modulus_log2_limit(degree)
        assert limit - 20 < parameters.modulus_log2 + parameters.special_log2 <= limit
        assert all(q < 2**50 for q in parameters.moduli + parameters.special)
