"""Functions of ciphertexts as programs: the same residues, the same bookkeeping."""

from collections.abc import Callable
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import (
    CloakworkError,
    KeyMismatchError,
    LevelError,
    MissingKeyError,
    ParamError,
    ScaleError,
)
from python.fhe_setup import bgv, ckks, error, integer_slots, unit_slots

Circuit = Callable[..., fhe.Ciphertext]
WEIGHTS = unit_slots(ckks(), 9)

CKKS_CIRCUITS: list[Circuit] = [
    lambda x, y: x + y,
    lambda x, y: (x * y).rescale().rotate(3) + x.conjugate() * 0.5,
    lambda x, y: (x * y).relinearize().rescale() - 1,
    lambda x, y: x.square() * y + x,
    lambda x, y: x * WEIGHTS + WEIGHTS,
    lambda x, y: x.inner_sum(5) + y.rotate_many([1, 2])[1],
    lambda x, y: x * y + y,
    lambda x, y: x**3 / 2 - y**2 / 3,
]
BGV_CIRCUITS: list[Circuit] = [
    lambda x, y: x * y + y,
    lambda x, y: (x * y).mod_switch().rotate_rows(3) - x * 7,
    lambda x, y: x.rotate_columns() * y * 5 + 1,
]


def check(keys: fhe.Keys, circuit: Circuit, x: fhe.Ciphertext, y: fhe.Ciphertext) -> None:
    eager = circuit(x, y)
    program = cw.trace(circuit, x, y)
    assert not [finding for finding in program.check() if finding.severity == "error"]
    (traced,) = program.run(x, y).outputs
    assert type(traced) is type(eager)
    np.testing.assert_array_equal(np.asarray(traced.data), np.asarray(eager.data))
    assert vars(traced) | {"data": 0} == vars(eager) | {"data": 0}
    np.testing.assert_array_equal(keys.decrypt(traced), keys.decrypt(eager))


@pytest.mark.parametrize("special", [0, 2])
@pytest.mark.parametrize("circuit", CKKS_CIRCUITS)
def test_ckks_programs_compute_the_same_residues(circuit: Circuit, special: int) -> None:
    keys = ckks(256, 3, special=special)
    check(keys, circuit, keys.encrypt(unit_slots(keys, 1)), keys.encrypt(unit_slots(keys, 2)))


@pytest.mark.parametrize("circuit", BGV_CIRCUITS)
def test_bgv_programs_compute_the_same_residues(circuit: Circuit) -> None:
    keys = bgv()
    check(keys, circuit, keys.encrypt(integer_slots(keys, 1)), keys.encrypt(integer_slots(keys, 2)))


def test_batches_are_traced_as_they_are() -> None:
    keys = ckks()
    x, y = (keys.encrypt(unit_slots(keys, seed, (2,)), batch=True) for seed in (1, 2))
    check(keys, lambda x, y: (x * y).rescale().rotate(1), x, y)
    check(keys, lambda x, y: x[0] * y[-1] + y.sum(0), x, y)
    check(keys, lambda x, y: x[:1] - y, x, y)


def test_several_results_come_back_as_they_were_returned() -> None:
    keys = ckks()
    x = keys.encrypt(unit_slots(keys, 1))
    program = cw.trace(lambda x: (x + 1, x.data, x * 2), x)
    plus, tensor, twice = program.run(x).outputs
    assert isinstance(plus, fhe.CkksCiphertext)
    assert isinstance(tensor, cw.Tensor)
    assert isinstance(twice, fhe.CkksCiphertext)
    assert error(keys, plus, unit_slots(keys, 1) + 1) < 1e-6


def test_ciphertexts_that_differ_from_the_example_are_refused() -> None:
    keys = ckks()
    x = keys.encrypt([1.0])
    program = cw.trace(lambda x: x.rotate(1), x)
    with pytest.raises(LevelError, match="run: needs level 4"):
        program.run(x.lower(2))
    twin = keys.context.keygen(relinearization=False, conjugation=False)
    with pytest.raises(MissingKeyError, match=r"the program needs galois\.5, .* have none"):
        program.run(twin.encrypt([1.0]))
    with pytest.raises(CloakworkError):
        program.run(keys.encrypt(np.ones((2, 1)), batch=True))


def test_estimates_of_programs_hold_for_all_their_inputs() -> None:
    keys = ckks()
    x = keys.encrypt([0.5])
    program = cw.trace(lambda x: x * 2, x)
    for stranger, what in (
        (x * x, "parts: got 3, expected 2"),
        (keys.public.encrypt([0.5]), "noise: .* trace with an example as noisy"),
        (keys.encrypt([0.5], bound=2.0), "bound: got .* or less"),
    ):
        with pytest.raises(ParamError, match=what):
            program.run(stranger)
    with pytest.raises(ScaleError, match="run: needs the scale"):
        program.run(keys.encrypt([0.5], scale=2.0**41))
    # Ciphertexts of lower noise are within the declared bound.
    noisy = cw.trace(lambda x: x * 2, keys.public.encrypt([0.5], bound=2.0))
    (result,) = noisy.run(keys.encrypt([0.5])).outputs
    assert error(keys, result, np.r_[1.0, np.zeros(keys.context.slots - 1)]) < 1e-6


def test_bgv_factors_are_those_of_the_example() -> None:
    context = fhe.bgv(128, 12289, [50, 50], [50], insecure=True)
    keys = context.keygen()
    x = keys.encrypt([1, 2, 3])
    program = cw.trace(lambda x: x + 1, x)
    with pytest.raises(ParamError, match=r"factor: got 5, expected 1, as in the example"):
        program.run(keys.encrypt(context.encode([1, 2, 3], factor=5)))


def test_ciphertexts_of_another_scheme_are_no_inputs() -> None:
    keys, other = ckks(256, 4), bgv(256, 4)
    program = cw.trace(lambda x: x + 1, keys.encrypt([1.0]))
    with pytest.raises(KeyMismatchError, match="parameters"):
        program.run(other.encrypt([1]))


@pytest.mark.parametrize("special", [0, 2])
def test_programs_run_as_transcripts_of_heal_s_ops(special: int, tmp_path: Path) -> None:
    keys = ckks(64, 2, special=special)
    values = unit_slots(keys, 3)
    x = keys.encrypt(values)

    def circuit(x: fhe.CkksCiphertext) -> fhe.CkksCiphertext:
        return (x * x).rescale().rotate(1) + x * 0.5

    program = cw.trace(circuit, x)
    program.to_heal().save(tmp_path / "circuit.json")
    result = cw.heal.load(tmp_path / "circuit.json").run(verify=True)
    assert not result.mismatches
    (there,) = program.results(result.outputs)
    np.testing.assert_array_equal(np.asarray(there.data), np.asarray(circuit(x).data))
    assert error(keys, there, np.roll(values**2, -1) + values / 2) < 1e-2
