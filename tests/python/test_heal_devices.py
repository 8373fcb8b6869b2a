"""Programs in the ops of one device of HEAL's interface: of a generation, or of a list of names."""

import json
from collections.abc import Callable
from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import ops
from cloakwork.errors import CloakworkError, ParamError, PlanError
from python.fhe_setup import ckks, unit_slots

Q = cw.asarray([97, 193])
A = cw.asarray(np.arange(12).reshape(2, 3, 2))

# The ops of the two public runtimes, as their documents have them: typed off, not asked for.
FIRST = {
    "host_to_device", "device_to_host", "empty", "expand", "squeeze", "unsqueeze", "reshape",
    "contiguous", "axis_modsum", "ntt",
    *(f"_mod{op}_{kinds}" for op in ("mul", "sum") for kinds in ("ttt", "ttc", "tct", "tcc")),
}  # fmt: skip
LATER = FIRST | {
    "zeros", "_mod_tt", "_mod_tc", "_mod_ct", "_modneg_tt", "_modneg_tc", "intt",
    "modmul_axis_sum", "take_along_axis", "apply_g_decomp", "apply_g_decomp_relative_to_full_q",
    "set_const_val", "pad_single_axis", "moveaxis", "get_slice", "flatten",
}  # fmt: skip


def names(path: Path) -> set[str]:
    """The ops of a transcript, read from its JSON."""
    entries = json.loads(path.read_text())["transcript"]
    return {body["name"] for _, body in entries if isinstance(body, dict) and "name" in body}


def calls(path: Path, name: str) -> list[list[object]]:
    """The integers among the arguments of each call of an op."""
    entries = json.loads(path.read_text())["transcript"]
    found = [
        body["args"]
        for _, body in entries
        if isinstance(body, dict) and "args" in body and body["name"] == name
    ]
    return [[a["value"] for a in args if a["arg_type"]["value"] == "INT"] for args in found]


def saved(transcript: cw.heal.Transcript, folder: Path, generation: str | None = None) -> Path:
    """Saved, and run from the file with the same results."""
    transcript.save(folder / "t.json")
    again = cw.heal.load(folder / "t.json", generation=generation)
    assert again.run(verify=True).mismatches == []
    return folder / "t.json"


def encrypted() -> tuple[cw.Program, object, object]:
    keys = ckks(64, 2)
    x = keys.encrypt(unit_slots(keys, 3))

    def circuit(x):  # type: ignore[no-untyped-def]
        return (x * x).rescale().rotate(1) + x * 0.5

    return cw.trace(circuit, x), circuit(x), keys


def test_programs_have_the_ops_of_the_later_runtime_alone(tmp_path: Path) -> None:
    program, eager, _ = encrypted()
    transcript = program.to_heal()
    assert names(saved(transcript, tmp_path)) <= LATER
    (there,) = program.results(transcript.run().outputs)
    np.testing.assert_array_equal(np.asarray(there.data), np.asarray(eager.data))


LAYOUTS: dict[str, Callable[[cw.Tensor], cw.Tensor]] = {
    "new_reference": lambda x: x[...],
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "transpose": lambda x: cw.permute_dims(x, (2, 0, 1)),
    "broadcast_to": lambda x: cw.broadcast_to(x[0], (4, 3, 2)),
    "zeros": lambda x: ops.modsum(cw.zeros((2, 3, 2), dtype="i64"), x, Q),
    "reshape of a transposed one": lambda x: x.moveaxis(0, 2).reshape(3, 4),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_ops_that_a_device_lacks_are_said_in_others(name: str, tmp_path: Path) -> None:
    def function(x: cw.Tensor) -> cw.Tensor:
        out = LAYOUTS[name](x)
        # A result that only changes the layout is copied too, so that a write never reaches the
        # upload.
        return ops.modsum(out.contiguous(), 1, 193)

    program = cw.trace(function, A)
    expected = np.asarray(function(A))
    device = LATER - {name}
    transcript = program.to_heal(ops=device)
    path = saved(transcript, tmp_path)
    assert names(path) <= device
    np.testing.assert_array_equal(np.asarray(transcript.run().outputs[0]), expected)


def test_a_reshape_never_takes_elements_as_they_lie(tmp_path: Path) -> None:
    """HEAL's runtimes reshape tensors that are not row-major in the order of their storage."""
    program = cw.trace(lambda x: x.moveaxis(0, 2).reshape(3, 4), A)
    path = saved(program.to_heal(), tmp_path)
    entries = json.loads(path.read_text())["transcript"]
    order = [body["name"] for _, body in entries if isinstance(body, dict) and "name" in body]
    assert order.index("contiguous") == order.index("reshape") - 1


def test_views_that_are_written_through_stay_views(tmp_path: Path) -> None:
    def function(x: cw.Tensor) -> cw.Tensor:
        out = ops.modsum(x, 0, Q)
        ops.modmul(out[0], 5, Q, out=out[...][0])
        return out

    transcript = cw.trace(function, A).to_heal(ops=LATER)
    assert names(saved(transcript, tmp_path)) <= LATER
    np.testing.assert_array_equal(np.asarray(transcript.run().outputs[0]), np.asarray(function(A)))


def test_the_first_generation_has_its_own_order_of_arguments(tmp_path: Path) -> None:
    def function(x: cw.Tensor) -> cw.Tensor:
        wide = cw.empty((5, 3, 2), "i64")
        row = ops.modsum(x, 1, Q).reshape(1, 3, 2)
        return ops.modmul(ops.expand(row, 0, 5), 7, Q, out=wide)

    x = cw.asarray(np.arange(6).reshape(3, 2))
    transcript = cw.trace(function, x).to_heal(branch="first")
    path = saved(transcript, tmp_path, "first")
    assert names(path) <= FIRST
    assert calls(path, "expand") == [[5, 0]]
    cw.trace(function, x).to_heal().save(tmp_path / "later.json")
    assert calls(tmp_path / "later.json", "expand") == [[0, 5]]


def test_what_a_device_cannot_do_is_told_by_name() -> None:
    program, _, _ = encrypted()
    with pytest.raises(PlanError, match="first generation") as caught:
        program.to_heal(branch="first")
    for name in ("get_slice", "intt", "moveaxis"):
        assert f"{name} (step" in str(caught.value)
    with pytest.raises(PlanError, match=r"ops do not express: .*_modmul_ttt \(step"):
        cw.trace(lambda x: ops.modmul(x, x, Q), A).to_heal(ops=LATER - {"_modmul_ttt"})
    with pytest.raises(PlanError, match=r"do not express: sin \(step"):
        cw.trace(cw.sin, np.ones(3)).to_heal()
    with pytest.raises(ParamError, match="ops: got no_such_op"):
        program.to_heal(ops={"no_such_op"})
    with pytest.raises(ParamError, match="keep: got no_such_op"):
        program.to_heal(keep={"no_such_op"})
    with pytest.raises(ParamError, match="generation: got second"):
        program.to_heal(branch="second")  # type: ignore[arg-type]


def test_the_first_generation_changes_operands_in_place_so_their_later_use_is_refused() -> None:
    x = cw.asarray(np.arange(6).reshape(3, 2))

    def twice(x: cw.Tensor) -> cw.Tensor:
        both = ops.modsum(x, 1, Q)
        flat = both.reshape(6)
        return ops.modsum(flat.reshape(3, 2), both, Q)

    with pytest.raises(PlanError, match=r"reshape \(step \d+\), which .* changes its operand"):
        cw.trace(twice, x).to_heal(branch="first")
    assert cw.trace(twice, x).to_heal().run(verify=True).mismatches == []


def test_composites_stay_in_heals_json_by_name(tmp_path: Path) -> None:
    program, eager, _ = encrypted()
    kept = {"hybrid_key_switch", "relinearize", "rescale", "automorphism"}
    transcript = program.to_heal(keep=kept)
    path = saved(transcript, tmp_path)
    assert names(path) & kept
    assert names(path) <= LATER | kept
    (there,) = program.results(cw.heal.load(path).run().outputs)
    np.testing.assert_array_equal(np.asarray(there.data), np.asarray(eager.data))
    with pytest.raises(CloakworkError, match="HEAL has no op"):
        cw.heal.load(path).save(tmp_path / "again.json")
    cw.heal.load(path).save(tmp_path / "again.json", keep=kept)
    assert names(tmp_path / "again.json") == names(path)
