"""What is no key of a prover's system, and signals that no field has: refused by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from cloakwork import zk
from cloakwork.errors import ParamError

GROTH16 = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"
PLONK = GROTH16.parents[1] / "plonk" / "bn128"
WITNESS = GROTH16 / "mixed1.wtns"
OTHERS: list[Any] = [None, 3, zk.read_r1cs(GROTH16 / "mixed.r1cs"), {"key": 1}]


def keys() -> tuple[Any, Any]:
    first = zk.read_zkey(GROTH16 / "mixed.zkey", check=False)
    return first, zk.read_zkey(PLONK / "mixed.zkey", check=False)


def test_a_key_of_the_other_system_is_refused_with_the_prover_that_takes_it() -> None:
    groth16, plonk = keys()
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: zk.groth16.Prover(plonk), "plonk"),
        (lambda: zk.groth16.prove(plonk, WITNESS), "plonk"),
        (lambda: zk.plonk.Prover(groth16), "groth16"),
        (lambda: zk.plonk.prove(groth16, WITNESS), "groth16"),
    ]
    for call, taking in calls:
        with pytest.raises(ParamError, match=f"zk.Prover or zk.{taking}.Prover takes that of"):
            call()
    for prove, prover in (
        (zk.groth16.prove, zk.Prover(groth16)),
        (zk.groth16.prove, zk.plonk.Prover(plonk)),
        (zk.plonk.prove, zk.groth16.Prover(groth16)),
    ):
        with pytest.raises(ParamError, match=r"got a cloakwork\.zk.*Prover, expected a key of"):
            cast("Any", prove)(prover, WITNESS)


@pytest.mark.parametrize("given", [*OTHERS, str(GROTH16 / "mixed.zkey")])
def test_what_is_no_key_is_refused_by_name(given: Any) -> None:
    for make in (zk.groth16.Prover, zk.plonk.Prover):
        with pytest.raises(ParamError, match=r"key: got a .*, expected a key of (Groth16|PLONK),"):
            make(given)
    if not isinstance(given, str):
        with pytest.raises(ParamError, match=r"zkey: got a .*, expected the path of a \.zkey file"):
            zk.Prover(given)


def test_readers_say_what_they_take_and_name_the_class() -> None:
    wanted = "expected a path, bytes, or a file open in binary"
    with pytest.raises(ParamError, match=rf"got a cloakwork\.zk\.ProvingKey, {wanted}"):
        zk.read_r1cs(keys()[0])
    with pytest.raises(ParamError, match=rf"got a int, {wanted}"):
        zk.read_zkey(cast("Any", 3))


@pytest.mark.parametrize("wrong", [-1, 1 << 256, "1", None, 1.0])
def test_signals_that_no_scalar_holds_are_refused_by_their_place(wrong: Any) -> None:
    public = zk.Public("bn254", (3, wrong))
    for used in (public.to_json, public.to_bytes, lambda: public.data):
        with pytest.raises(ParamError, match=r"public signal 1: got .*, expected an integer below"):
            used()
