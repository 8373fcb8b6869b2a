"""Parameters without security: every door refuses them, and passes them with a warning."""

import json
import pickle
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from cloakwork import fhe, serving
from cloakwork.cli import main
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.errors import CloakworkError, KeyMismatchError, LoadError, ParamError
from cloakwork.fhe.bootstrapping import context as bootstrapping
from cloakwork.fhe.interop import lattigo, seal
from cloakwork.fhe.security import admit
from python.serving_setup import running
from sklearn.linear_model import Ridge

SEED = np.random.default_rng(5)
X = SEED.uniform(-1, 1, (40, 4))
FITTED = Ridge(alpha=1e-3).fit(X, X @ [1.0, 2.0, -1.0, 0.5])
REFUSED = r"parameters: .*expected 128 bits of security"
WARNED = r"parameters below 128 bits of security \(degree 2048, 1\d\d bits of modulus\)"


@pytest.fixture(scope="module")
def weak() -> CompiledModel:
    """A model far below 128 bits."""
    return fhe.compile(FITTED, X, degree=2**11, insecure=True)


@pytest.fixture(scope="module")
def folder(weak: CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the weak model and its client."""
    held = tmp_path_factory.mktemp("weak")
    weak.save(held / "weak.cwk")
    client, _ = weak.split()
    client.encrypt(X[0])["X"].save(held / "x.ct")
    client.save(held)
    (held / "eval.key").rename(held / "evaluation")
    seal.save_parameters(
        seal.suited(fhe.ckks(64, [40, 30], [40], digits=2, insecure=True)), held / "toy.seal"
    )
    q, p = ([int(q) for q in own] for own in (_PRIMES.moduli, _PRIMES.special))
    told = {"LogN": 11, "Q": q, "P": p, "LogDefaultScale": 30, "RingType": "Standard"}
    (held / "toy.lattigo").write_text(json.dumps(told))
    return held


_PRIMES = fhe.ckks(2**11, [40, 30, 30], [40], insecure=True).parameters


NUMBERS = count()


def described(folder: Path) -> dict[str, Any]:
    return serving.ServedProgram(folder / "weak.cwk").describe()


def app(folder: Path, insecure: bool) -> Any:
    models = [serving.ServedProgram(folder / "weak.cwk")]
    return serving.create_app(
        models, serving.Limits(insecure=insecure), folder=folder / f"store{next(NUMBERS)}"
    )


DOORS: dict[str, Callable[[Path, bool], Any]] = {
    "load_model": lambda at, insecure: fhe.load_model(at / "weak.cwk", insecure=insecure),
    "client_of": lambda at, insecure: serving.client_of(described(at), "it", insecure=insecure),
    "ModelClient": lambda at, insecure: serving.ModelClient(described(at), insecure=insecure),
    "ProgramClient": lambda at, insecure: serving.ProgramClient(described(at), insecure=insecure),
    "client_of text": lambda at, insecure: serving.client_of(
        serving.ModelClient(described(at), insecure=True).to_json(), "it", insecure=insecure
    ),
    "create_app": app,
    "load": lambda at, insecure: fhe.load(at / "x.ct", insecure=insecure),
    "load keys": lambda at, insecure: fhe.load(at / "evaluation", insecure=insecure),
    "load secret": lambda at, insecure: fhe.load(at / "secret.key", insecure=insecure),
    "from_bytes": lambda at, insecure: fhe.from_bytes(
        (at / "x.ct").read_bytes(), insecure=insecure
    ),
    "Lattigo": lambda at, insecure: lattigo.load_parameters(at / "toy.lattigo", insecure=insecure),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_refuses_parameters_without_security_and_warns_if_they_pass(
    door: str, folder: Path
) -> None:
    with pytest.raises(CloakworkError, match=r"128(-| )bits? (of )?security"):
        DOORS[door](folder, False)
    with pytest.warns(fhe.InsecureWarning, match=WARNED) as caught:
        DOORS[door](folder, True)
    # The place is the caller's line, not one of the package.
    assert {Path(one.filename).name for one in caught} == {Path(__file__).name}


MADE: dict[str, Callable[[], Any]] = {
    "ckks": lambda: fhe.ckks(64, [40, 30], insecure=True),
    "bgv": lambda: fhe.bgv(64, 257, [40, 40], insecure=True),
    "bfv": lambda: fhe.bfv(64, 257, [40, 40], insecure=True),
    "bootstrapping": lambda: fhe.bootstrapping_context(2, insecure=True),
    "compile": lambda: fhe.compile(FITTED, X, degree=2**11, insecure=True),
    "pickle": lambda: pickle.loads(pickle.dumps(_PRIMES)),
}


@pytest.mark.parametrize("name", MADE)
def test_making_parameters_without_security_warns_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Their search takes seconds.
    monkeypatch.setattr(bootstrapping, "bootstrapping_parameters", lambda *_, **__: _PRIMES)
    for _ in range(2):
        with pytest.warns(fhe.InsecureWarning, match="below 128 bits of security") as caught:
            MADE[name]()
        assert len(caught) == 1


def test_what_is_secure_passes_without_a_warning(
    recwarn: pytest.WarningsRecorder, tmp_path: Path
) -> None:
    context = fhe.ckks(2**12, [25, 20], [25], insecure=True)
    context.keygen().save(tmp_path / "secret")
    fhe.load(tmp_path / "secret", insecure=True)
    seal.save_parameters(seal.suited(context), tmp_path / "parameters")
    seal.load_parameters(tmp_path / "parameters", insecure=True)
    admit(context.parameters, "here", insecure=True)
    assert not [one for one in recwarn if issubclass(one.category, fhe.InsecureWarning)]


def test_seal_s_parameters_pass_the_same_door(folder: Path) -> None:
    with pytest.raises(LoadError, match=r"security_\w+: "):
        seal.load_parameters(folder / "toy.seal")
    with pytest.warns(fhe.InsecureWarning, match=r"toy\.seal: parameters below 128"):
        seal.load_parameters(folder / "toy.seal", insecure=True)


def test_who_passed_with_a_model_needs_no_word_for_its_keys_and_results(
    folder: Path, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    client, server = fhe.load_model(folder / "weak.cwk", insecure=True).split()
    recwarn.clear()
    client.save(tmp_path)
    found = server.run(client.load(tmp_path).encrypt(X[1]))
    remote = serving.client_of(described(folder), "it", insecure=True)
    recwarn.clear()
    values = remote.decrypt(client.keys, found["variable"].to_bytes())
    np.testing.assert_allclose(values["variable"], FITTED.predict(X[1:2]).reshape(1, -1), atol=1e-2)
    assert not recwarn.list
    # Only these parameters pass, not others without security.
    fhe.ckks(2**10, [30, 20], [30], insecure=True).keygen().save(tmp_path / "secret.key")
    with pytest.raises(KeyMismatchError, match="load: expected parameters"):
        client.load(tmp_path)


def test_a_longest_result_is_read_of_any_description(folder: Path) -> None:
    from cloakwork.serving.client import longest_result

    own = serving.client_of(described(folder), "it", insecure=True)
    assert longest_result(described(folder), "it") == own.result_bytes
    with pytest.raises(LoadError, match=r"it: description: expected members .*got also 'more'"):
        longest_result(described(folder) | {"more": 1}, "it")


def test_commands_need_the_option_and_warn(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X[2])
    weak = str(folder / "weak.cwk")
    lines = [
        ["keygen", weak, "-o", "keys"],
        ["encrypt", weak, "keys", "x.npy", "-o", "x.ct"],
        ["run", weak, "--keys", "keys", "--input", "x.ct", "-o", "y.ct"],
        ["decrypt", "keys", "y.ct", "-o", "y.npy"],
    ]
    for line in lines:
        assert main(line) == 2
        said = capsys.readouterr().err
        assert "expected 128 bits of security at degree 2048" in said
        assert "--insecure" in said
        assert main([*line, "--insecure"]) == 0, capsys.readouterr().err
        said = capsys.readouterr().err
        assert "below 128 bits of security (degree 2048" in said
        assert ".py" not in said
    np.testing.assert_allclose(np.load("y.npy").ravel(), FITTED.predict(X[2:3]), atol=1e-2)
    with running(app(folder, True)) as url:
        line = ["query", url, "keys", "x.npy", "-o", "z.npy"]
        assert main(line) == 2
        assert "128 bits" in capsys.readouterr().err
        assert main([*line, "--insecure"]) == 0, capsys.readouterr().err
        np.testing.assert_allclose(np.load("z.npy"), np.load("y.npy"), atol=1e-2)
    assert main(["serve", weak]) == 2
    assert "--insecure" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
        assert main(["serve", weak, "--port", "0", "--store", "store", "--insecure"]) == 0
    said = capsys.readouterr().err
    assert said.count("model weak: parameters below 128 bits of security") == 1
    assert ".py" not in said


def test_a_claim_of_security_that_does_not_hold_never_passes(folder: Path) -> None:
    told = described(folder)
    (one,) = told["inputs"].values()
    one["parameters"] |= {"security": 128}
    for insecure in (False, True):
        with pytest.raises(LoadError):
            serving.client_of(told, "it", insecure=insecure)


@pytest.mark.parametrize("insecure", [False, True])
def test_all_inputs_of_a_description_are_admitted_and_alike(insecure: bool, folder: Path) -> None:
    strong = fhe.ckks(2**12, [25, 20], [25]).keygen(relinearization=False).encrypt([0.5])
    told = described(folder)
    told["inputs"] = {"strong": strong.described()} | told["inputs"]
    if not insecure:
        with pytest.raises(LoadError, match=REFUSED):
            serving.ProgramClient(told)
        return
    with (
        pytest.warns(fhe.InsecureWarning, match=WARNED),
        pytest.raises(LoadError, match="inputs and outputs of the same parameters"),
    ):
        serving.ProgramClient(told, insecure=True)


def test_parameters_of_models_are_computed_not_stated(weak: CompiledModel) -> None:
    assert weak.context.parameters.security is None
    assert not weak.context.parameters.is_secure
    with pytest.raises(ParamError, match="insecure: got True"):
        fhe.compile(FITTED, X, security=192, insecure=True)
