"""Programs whose inputs and outputs stay on a device: nothing moves, results are the host's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import Program, Tensor, zk
from cloakwork.errors import CloakworkError, DeviceError, ParamError, SecretError
from python.fhe_setup import ckks, unit_slots

ON = "sim:0"
X = np.arange(12).reshape(3, 4)
Y = np.full((3, 4), 5)


def two(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x * y + x, x - y


def program() -> Program:
    return cw.trace(two, X, Y)


def moved(result: cw.RunResult) -> dict[str, int]:
    """Calls of transfers in a run, by what they are."""
    calls = {op.name: op.calls for op in result.report.ops}
    return {name: calls[name] for name in ("upload", "download") if name in calls}


def on(device: str, *values: Any) -> list[Tensor]:
    return [cw.asarray(value, device=device) for value in values]


def test_inputs_and_outputs_stay_on_the_device() -> None:
    made, given = program(), on(ON, X, Y)
    for _ in range(3):
        result = made.run(*given, outputs="device")
        assert moved(result) == {}
        assert [output.device for output in result.outputs] == [ON, ON]
        assert result.names == tuple(result.named) == ("out0", "out1")
        assert result["out1"] is result.outputs[1]
    assert np.array_equal(np.asarray(result.outputs[0]), X * Y + X)
    # What a run left there is an operand of further runs and calls.
    again = made.run(*result.outputs, outputs="device")
    assert moved(again) == {}
    assert np.array_equal(np.asarray(again.outputs[1] * 2), 2 * ((X * Y + X) - (X - Y)))


def test_a_program_runs_where_its_inputs_are_unless_it_is_told() -> None:
    made, (x, y) = program(), on(ON, X, Y)
    there = made.run(x, y)
    assert moved(there) == {"download": 2}
    assert [output.device for output in there.outputs] == ["cpu", "cpu"]
    mixed = made.run(x, Y)
    assert moved(mixed) == {"upload": 1, "download": 2}
    here = made.run(x, y, device="cpu")
    assert moved(here) == {}
    for result in (there, mixed, here):
        assert np.array_equal(np.asarray(result.outputs[0]), X * Y + X)
    # Results of calls that have not run yet are inputs, too.
    assert made.run(x * 2, y, outputs="device").outputs[1].tolist() == (2 * X - Y).tolist()
    assert moved(made.run(X, Y, device=ON, outputs="device")) == {"upload": 2}


def test_random_programs_give_the_host_s_bits_wherever_operands_lie() -> None:
    random = np.random.default_rng(3)
    steps: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - b[::-1],
        lambda a, b: cw.concat([a[:2], b[:3]]), lambda a, _: cw.cumulative_sum(a), cw.minimum,
        lambda a, _: a * a,
    ]  # fmt: skip
    for _ in range(40):
        picks = [
            (steps[random.integers(len(steps))], *random.integers(3 + done, size=2))
            for done in range(random.integers(1, 9))
        ]
        last = int(random.integers(1, len(picks) + 1))

        def chain(*given: Tensor, picks: list[Any] = picks, last: int = last) -> tuple[Tensor, ...]:
            values = list(given)
            for step, a, b in picks:
                values.append(step(values[a], values[b]))
            # Inputs among the outputs are copies of them.
            return (*values[-last:], values[0])

        given = [random.integers(-9, 9, size=5) for _ in range(3)]
        made = cw.trace(chain, *given)
        expected = [output.tolist() for output in made.run(*given).outputs]
        for _ in range(3):
            places = [ON if away else "cpu" for away in random.integers(2, size=3)]
            placed = [cw.asarray(value, device=at) for value, at in zip(given, places, strict=True)]
            stays = bool(random.integers(2))
            result = made.run(*placed, device=ON, outputs="device" if stays else "host")
            assert {output.device for output in result.outputs} == {ON if stays else "cpu"}
            assert [output.tolist() for output in result.outputs] == expected
            assert [tensor.tolist() for tensor in placed] == [value.tolist() for value in given]


@pytest.mark.parametrize(
    ("run", "error", "words"),
    [
        (lambda p, x, y: p.run(X, Y, outputs="device"), ParamError, "outputs: got device, on cpu"),
        (lambda p, x, y: p.run(x, y, outputs="there"), ParamError, "expected host or device"),
        (
            lambda p, x, y: p.run(x, y, device="cpu", outputs="device"),
            ParamError, "on cpu, expected host; or a run on one device with memory of its own",
        ),
        (
            lambda p, x, y: p.run(x, y, devices=[ON, "sim:1"], outputs="device"),
            ParamError, r"outputs: got device, on sim:0,sim:1",
        ),
        (
            lambda p, x, y: p.run(x, y.to("sim:1")),
            ParamError, "device: got inputs on sim:0, sim:1, expected inputs on one device",
        ),
        (lambda p, x, y: p.run(x, y, device="gpu:0", outputs="device"), DeviceError, "gpu:0"),
        (
            lambda p, x, y: p.to_transcript([x, y]).run(verify=True, device=ON, outputs="device"),
            ParamError, "outputs: got device, expected host: expected values are compared there",
        ),
        (
            lambda p, x, y: p.to_transcript([x, y]).run(bisect=True, device=ON, outputs="device"),
            ParamError, "expected values are compared there",
        ),
    ],
)  # fmt: skip
def test_outputs_that_cannot_stay_are_refused(
    run: Callable[..., Any], error: type[CloakworkError], words: str
) -> None:
    with pytest.raises(error, match=words):
        run(program(), *on(ON, X, Y))


def test_secrets_do_not_stay_on_a_device() -> None:
    secret, made = cw.asarray(X), program()
    secret.mark_secret()
    (y,) = on(ON, Y)
    for where in ({}, {"device": ON}):
        with pytest.raises(SecretError, match="returns its outputs to the host's memory"):
            made.run(secret, y, **where, outputs="device")
        result = made.run(secret, y, **where)
        assert result.outputs[0].tolist() == (X * Y + X).tolist()
        # Where y lies does not bring the secret there.
        assert ("upload" in moved(result)) == bool(where)


def test_a_program_that_names_devices_takes_tensors_of_devices() -> None:
    b = zk.ProgramBuilder()
    x = b.input("x", zk.tensor("u64", 4))
    there, back = b.allocate(x.type, device="sim:1"), b.allocate(x.type)
    b.transfer(x, there)
    b.transfer(there, back)
    b.ret(back)
    (found,) = b.build().run({"x": cw.asarray([1, 2, 3, 4], "u64", device=ON)}).outputs.values()
    assert (found.device, found.tolist()) == ("cpu", [1, 2, 3, 4])


def test_transcripts_leave_outputs_on_the_device_and_programs_of_proofs_do_not() -> None:
    made = program().to_transcript([*on(ON, X, Y)])
    assert made.run(verify=True, device=ON).mismatches == []
    kept = made.run(device=ON, outputs="device")
    assert [output.device for output in kept.outputs] == [ON, ON]

    @zk.program(inputs={"x": zk.tensor("u64", 4)})
    def doubled(x: Tensor) -> Tensor:
        return x + x

    (x,) = on(ON, np.arange(4, dtype=np.uint64))
    (found,) = doubled.program.run({"x": x}).outputs.values()
    assert (found.device, found.tolist()) == ("cpu", [0, 2, 4, 6])
    with pytest.raises(SecretError, match="can draw random elements"):
        doubled.program.run({"x": x}, device=ON, outputs="device")


def test_ciphertexts_stay_on_the_device_with_their_keys() -> None:
    keys = ckks()
    a, b = (keys.encrypt(unit_slots(keys, seed) * 0.5) for seed in (1, 2))
    made = cw.trace(lambda x, y: (x * y).rotate(3), a, b)
    (here,) = made.run(a, b).outputs
    for _ in range(3):
        # Each has a copy of the same keys; the program is planned for these once.
        result = made.run(a.to(ON), b.to(ON), outputs="device")
        (there,) = result.outputs
        assert there.device == ON
        assert there.data.tolist() == here.data.tolist()
    assert moved(result) == {}
    assert len(made._of_clients) == 1
    assert there.evaluation is a.to(ON).evaluation
    assert np.array_equal(keys.decrypt(there.rotate(1)), keys.decrypt(here.rotate(1)))
    (back,) = made.run(a.to(ON), b.to(ON)).outputs
    assert (back.device, back.evaluation) == ("cpu", keys.evaluation)
    # No run brings keys to a device unasked, and none leaves them on another.
    for x, y in ((a, b), (a.to("sim:1"), b.to("sim:1"))):
        (left,) = made.run(x, y, device=ON, outputs="device").outputs
        assert (left.device, left.evaluation) == (ON, keys.evaluation)
        assert left.to(ON).evaluation is a.to(ON).evaluation
        turned = [one.rotate(1).data.tolist() for one in (left, left.to(ON))]
        assert turned[0] == turned[1] == here.rotate(1).data.tolist()
