"""Sets of ciphertexts in one file, and the classes that a process without secrets loads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import KeyMismatchError, LoadError, ParamError
from cloakwork.fhe.files import container

CONTEXT = fhe.ckks(degree=2**11, moduli=[50, 40, 40], special=[50], insecure=True)
KEYS = CONTEXT.keygen()


def pair() -> fhe.CiphertextSet:
    x = KEYS.encrypt([0.5, 0.25])
    return fhe.CiphertextSet({"x": x, "square": (x * x).relinearize()})


def test_a_set_comes_back_from_its_file_with_every_name(tmp_path: Path) -> None:
    pair().save(tmp_path / "pair.ct")
    found = fhe.load(tmp_path / "pair.ct", expect="ciphertexts", insecure=True)
    assert list(found) == ["square", "x"]
    assert found["x"].seed is not None
    np.testing.assert_allclose(KEYS.decrypt(found["x"])[:2].real, [0.5, 0.25], atol=1e-6)
    np.testing.assert_allclose(KEYS.decrypt(found["square"])[:2].real, [0.25, 0.0625], atol=1e-6)
    assert found["x"].claimed
    assert found.using(KEYS.evaluation)["x"].evaluation is KEYS.evaluation


def test_ciphertexts_of_one_set_share_parameters_and_secret() -> None:
    other = fhe.ckks(degree=2**11, moduli=[50, 40], special=[50], insecure=True).keygen()
    x = KEYS.encrypt([1.0])
    for stranger in (other.encrypt([1.0]), CONTEXT.keygen().encrypt([1.0])):
        with pytest.raises(KeyMismatchError):
            fhe.CiphertextSet({"x": x, "y": stranger})
    for wrong in ({}, {"x": 1}, {1: x}):
        with pytest.raises(ParamError):
            fhe.CiphertextSet(wrong)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fields, tensors: fields["ciphertexts"].pop("x"), "tensors"),
        (lambda fields, tensors: tensors.pop("x"), "tensors"),
        (lambda fields, tensors: fields["ciphertexts"]["x"].update(level=7), "level"),
        (lambda fields, tensors: fields["ciphertexts"]["x"].update(key="other"), "description"),
        (lambda fields, tensors: fields["ciphertexts"].update(x=5), "description"),
        (lambda fields, tensors: tensors["x"].__imul__(0).__iadd__(1 << 60), "residues"),
        (lambda fields, tensors: fields.pop("ciphertexts"), "ciphertexts"),
    ],
)
def test_an_altered_set_is_refused(change: object, said: str, tmp_path: Path) -> None:
    pair().save(tmp_path / "pair.ct")
    held = container.load(tmp_path / "pair.ct")
    tensors = {name: words.read() for name, words in held.tensors.items()}
    change(held.fields, tensors)
    container.save(tmp_path / "bad.ct", held.kind, held.fields, tensors)
    with pytest.raises(LoadError, match=said):
        fhe.load(tmp_path / "bad.ct", insecure=True)


def test_a_process_that_only_computes_loads_no_class_with_a_secret() -> None:
    script = (
        "import sys; from cloakwork import fhe\n"
        "c = fhe.ckks(degree=2**13, moduli=[50, 40], special=[50])\n"
        "bad = [n for n in sys.modules if n.startswith('cloakwork.fhe.keys.')]\n"
        "bad = {n.rpartition('.')[2] for n in bad} - {'encapsulation', 'evaluation', 'public'}\n"
        "assert not bad, bad\n"
        "fhe.Keys; assert 'cloakwork.fhe.keys.keys' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
