"""What people see of programs, models and sets: a page, a line, no list of all names."""

from pathlib import Path

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, models, zk
from cloakwork.errors import CloakworkError, MissingKeyError, ModelError, ParamError
from cloakwork.programs.inputs import check_names
from cloakwork.programs.signature import Bundle
from python.serving_setup import CONTEXT

MANY = {f"key{number}": "i64[2]" for number in range(68)}
VECTORS = Path(__file__).parents[1] / "vectors" / "groth16" / "bn128"


def long_program() -> cw.Program:
    large = cw.asarray(np.arange(100_000) * 7 % 1001)

    def function(x: cw.Tensor) -> cw.Tensor:
        for _ in range(200):
            x = x + large
        return x

    return cw.trace(function, large)


def test_a_long_program_is_printed_as_a_page() -> None:
    program = long_program()
    page, whole = str(program), program.text()
    assert len(whole) > 500_000
    lines = page.splitlines()
    assert len(lines) <= 61
    assert max(map(len, lines)) <= 164
    steps = int(lines[-1].split()[2])
    left_out = next(int(line.split()[1]) for line in lines if line.endswith("steps left out"))
    shown = [line for line in lines if not line.startswith("... ")]
    assert left_out + len(shown) == steps == len(whole.splitlines())
    # All but the data is as in the text, first and last lines.
    assert shown[0] == whole.splitlines()[0]
    assert shown[-9:] == whole.splitlines()[-9:]
    assert "i64[100000] ..." in page
    assert len(repr(program)) < 80


def test_a_page_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "page.cw").write_text(str(long_program()))
    with pytest.raises(CloakworkError):
        cw.load(tmp_path / "page.cw").validate()


def test_a_short_program_is_printed_whole() -> None:
    program = cw.trace(lambda x: x + x, np.zeros(3))
    assert str(program) == program.text()


def test_long_lines_of_a_page_are_cut() -> None:
    program = cw.trace(lambda x: {"y" * 500: x + x}, np.zeros(3))
    assert max(map(len, str(program).splitlines())) == 164
    assert "y" * 500 in program.text()


def test_a_model_from_a_file_has_no_report(tmp_path: Path) -> None:
    sample = models.load_cancer().standardised
    model = fhe.compile(models.network_path("cancer"), sample)
    assert hasattr(model, "report")
    model.save(tmp_path / "m.cwk")
    loaded = fhe.load_model(tmp_path / "m.cwk")
    assert not hasattr(loaded, "report")
    with pytest.raises(ModelError, match="report_json"):
        _ = loaded.report
    client, server = loaded.split()
    assert repr(server).startswith("Server(inputs=[")
    assert repr(client).startswith("Client('cancer', inputs=[")
    assert "with a secret" not in repr(client)
    keys = client.keygen()
    secret = np.asarray(keys._coefficients())
    assert repr(client).endswith(", with a secret)")
    assert str(secret[:8])[1:-1] not in repr(client)


def test_a_prover_says_what_it_proves() -> None:
    key = zk.read_zkey(VECTORS / "mixed.zkey")
    found = repr(zk.groth16.Prover(key))
    assert found == "Prover(ProvingKey(bn254, wires=17, public=3, domain=2^5))"


def test_missing_inputs_are_named_once_with_the_number_of_others() -> None:
    with pytest.raises(ParamError) as error:
        check_names(["key0"], MANY)
    assert "got no key1 and 66 more" in str(error.value)
    assert str(error.value).endswith("key7: i64[2] and 60 more")


def test_missing_evaluation_keys_are_named_once() -> None:
    keys = CONTEXT.keygen(conjugation=False).evaluation
    bundle = Bundle("owner", tuple(MANY))
    with pytest.raises(MissingKeyError, match=r"key0 and 67 more, the evaluation keys have"):
        bundle.tensors("keys", keys, None)
    with pytest.raises(MissingKeyError, match="key7 and 60 more"):
        bundle.tensors("keys", None, None)


def test_a_set_without_a_name_says_which_it_has() -> None:
    keys = CONTEXT.keygen()
    held = fhe.CiphertextSet({f"x{number}": keys.encrypt([1.0]) for number in range(12)})
    assert "y" not in held
    assert held.get("y") is None
    with pytest.raises(KeyError) as error:
        held["y"]
    said = str(error.value)
    assert said.startswith("ciphertexts: got no 'y', expected one of x0, x1, ")
    assert said.endswith(" and 4 more")
    assert repr(held).endswith("x7 and 4 more)")


def test_keys_are_made_with_progress() -> None:
    calls: list[tuple[int, int]] = []
    keys = CONTEXT.keygen(conjugation=False, relinearization=False)
    keys.add([1, 2, 5], progress=lambda *counts: calls.append(counts))
    assert calls == [(0, 3), (1, 3), (2, 3)]
    assert len(keys.evaluation.galois) == 3
