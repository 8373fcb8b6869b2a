"""Results of models that others may see: noise flooding by the client's own knowledge alone."""

from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, serving
from cloakwork.cli import main
from cloakwork.compiler.building import Builder
from cloakwork.compiler.client import Client
from cloakwork.compiler.compiled import CompiledModel
from cloakwork.errors import ModelError, NoiseError, ParamError
from sklearn.linear_model import Ridge

SEED = np.random.default_rng(6)
X = SEED.uniform(-1, 1, (40, 4))
WEIGHTS = np.array([[1.0, 2.0, -1.0, 0.5], [0.5, -0.5, 1.0, 1.0], [0.0, 1.0, 1.0, -1.0]])
FITTED = Ridge(alpha=1e-6).fit(X, X @ WEIGHTS.T)
SMALL: dict[str, Any] = {"degree": 2**11, "insecure": True}


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    return fhe.compile(FITTED, X, **SMALL)


@pytest.fixture(scope="module")
def client(model: CompiledModel) -> Client:
    return model.split()[0]


@pytest.fixture(scope="module")
def result(model: CompiledModel, client: Client) -> Any:
    return model.split()[1].run(client.encrypt(X[0]))


@pytest.fixture(scope="module")
def folder(
    model: CompiledModel, client: Client, result: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The files of the model, of its client's secret, and of a result."""
    held = tmp_path_factory.mktemp("disclosed")
    model.save(held / "m.cwk")
    client.save(held)
    result["variable"].save(held / "y.ct")
    return held


@pytest.fixture(scope="module")
def many() -> CompiledModel:
    """The same for a sample in each slot."""
    return fhe.compile(FITTED, X, optimize="throughput", precision=1e-6, **SMALL)


@pytest.mark.parametrize(("queries", "security"), [(3, 6), (400, 2)])
def test_the_noise_is_as_wide_as_stated(queries: int, security: int, many: CompiledModel) -> None:
    client, server = many.split()
    given = SEED.uniform(-0.5, 0.5, (many.context.slots, 4))
    result = server.run(client.encrypt(given))
    stated = client.flooding(result, queries=queries, security=security)["variable"]
    assert (stated.queries, stated.security, stated.values) == (queries, security, len(given))
    exact = client.decrypt(result)
    drawn = [client.decrypt(result, queries=queries, security=security) for _ in range(3)]
    errors = np.array(drawn) - exact
    assert errors.shape == (3, len(given), 3)
    deviation = 2.0**stated.deviation / result["variable"].scale
    assert errors.std() == pytest.approx(deviation, rel=0.1)
    assert abs(errors.mean()) < deviation / 10
    # The corollary, for the stated bound of the error: sqrt(12 q) 2^(s / 2) times its norm.
    norm = 2.0**stated.error * len(given) ** 0.5
    least = (12 * queries) ** 0.5 * 2.0 ** (security / 2) * norm
    assert 1 <= 2.0**stated.deviation / least < 1.05
    # The bound is one: the errors of this result are below it.
    known = many.plain(given)["variable"]
    assert np.abs(exact - known).max() * result["variable"].scale < 2.0**stated.error


def test_the_default_is_40_bits_and_costs_a_larger_scale(client: Client, result: Any) -> None:
    assert client.flooding(result, queries=1)["variable"].security == 40
    with pytest.raises(NoiseError, match="compile a model with a smaller precision="):
        client.decrypt(result, queries=1)
    fine = fhe.compile(FITTED, X, precision=1e-9, degree=2**12, insecure=True)
    own, server = fine.split()
    found = server.run(own.encrypt(X[0]))
    left = own.flooding(found, queries=1)["variable"].precision
    shown = own.decrypt(found, queries=1)
    assert left > 4
    assert 0 < np.abs(shown - FITTED.predict(X[:1])).max() < 2.0**-left


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_what_is_left_is_about_results_of_any_size(size: float) -> None:
    builder = Builder()
    y = builder.affine([(builder.input("x", (4,)), size * np.eye(3, 4))], name="y")
    model = fhe.compile(builder.graph([y]), X, precision=1e-9 * size, degree=2**12, insecure=True)
    own, server = model.split()
    found = server.run(own.encrypt(X[0]))
    left = own.flooding(found, queries=1)["y"].precision
    off = np.abs(np.asarray(own.decrypt(found, queries=1)) - size * X[:1, :3]).max()
    assert 2.0**-left / 200 < off < 2.0**-left


def test_results_out_of_the_known_range_are_not_disclosed(many: CompiledModel) -> None:
    # The bound on the error holds while values stay within their ranges.
    client, server = many.split()
    result = server.run(client.encrypt(np.tile([1.0, 1.0, -1.0, 1.0], (4, 1))))
    client.decrypt(result, 4)
    with pytest.raises(NoiseError, match="beyond their bound"):
        client.decrypt(result, 4, queries=3, security=4)


def test_many_samples_are_as_many_values_of_a_query(many: CompiledModel) -> None:
    own, server = many.split()
    found = server.run(own.encrypt(X[:32]))
    with pytest.raises(ParamError, match="queries: got 2, expected 3 or more, the ciphertexts of"):
        own.decrypt(found, 32, queries=2, security=10)
    stated = own.flooding(found, 32, queries=3, security=8)["variable"]
    assert stated.values == 32
    shown = own.decrypt(found, 32, queries=3, security=8)
    errors = shown - own.decrypt(found, 32)
    assert errors.shape == (32, 3)
    assert np.abs(errors).max() < 2.0**-stated.precision
    assert np.abs(errors).min() > 0
    for batch in (0, 10**6):
        with pytest.raises(ModelError, match="batch: expected 1 to"):
            own.flooding(found, batch, queries=3)
    # Fewer values take less noise.
    assert own.flooding(found, 2, queries=3, security=8)["variable"].deviation < stated.deviation


def test_a_model_from_a_file_needs_a_bound_of_the_client_s_own(
    client: Client, result: Any, folder: Path
) -> None:
    theirs, server = fhe.load_model(folder / "m.cwk", insecure=True).split()
    theirs.load(folder)
    for found in (server.run(theirs.encrypt(X[0])), result_of(folder)):
        with pytest.raises(ParamError, match=r"noise_bits: got None, .*comes from a file or a ser"):
            theirs.decrypt(found, queries=1, security=10)
        stated = theirs.flooding(found, queries=1, security=10, noise_bits=12.0)["variable"]
        assert stated.error == pytest.approx(12.0, abs=0.1)
        theirs.decrypt(found, queries=1, security=10, noise_bits=12.0)
    # Who compiled the model knows its noise, also where the result comes from a file.
    mine = client.flooding(result_of(folder), queries=1, security=10)["variable"]
    here = client.flooding(result, queries=1, security=10)["variable"]
    assert mine.error == pytest.approx(here.error, abs=1e-6)
    bits = theirs.context.circuit_noise(result["variable"].level, bound=4.0, terms=8)
    assert mine.error < bits < mine.error + 12


def result_of(folder: Path) -> dict[str, Any]:
    return {"variable": fhe.load(folder / "y.ct", insecure=True)}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"queries": 0}, "queries"), ({"queries": -1}, "queries"), ({"queries": 1.5}, "queries"),
        ({"queries": True}, "queries"), ({"queries": 2**65}, "queries"),
        ({"queries": "1"}, "queries"), ({"queries": 1, "security": 0}, "security"),
        ({"queries": 1, "security": 129}, "security"), ({"security": 40}, "queries"),
        ({"noise_bits": 3.0}, "queries"), ({"queries": 1, "noise_bits": -1.0}, "noise_bits"),
        ({"queries": 1, "noise_bits": float("nan")}, "noise_bits"),
    ],
)  # fmt: skip
def test_requests_that_make_no_sense_are_refused(
    given: dict[str, Any], what: str, client: Client, result: Any, folder: Path
) -> None:
    remote = serving.client_of(
        serving.ServedProgram(folder / "m.cwk").describe(), "it", insecure=True
    )
    with pytest.raises(ParamError, match=f"^{what}: got"):
        client.decrypt(result, **given)
    with pytest.raises(ParamError, match=f"^{what}: got"):
        client.flooding(result, **({"queries": None} | given))
    with pytest.raises(ParamError, match=f"^{what}: got"):
        remote.decrypt(client.keys, (folder / "y.ct").read_bytes(), **({"noise_bits": 9} | given))


def test_clients_of_a_server_state_the_bound(client: Client, folder: Path) -> None:
    told = serving.ServedProgram(folder / "m.cwk").describe()
    remote = serving.client_of(told, "the server", insecure=True)
    file = (folder / "y.ct").read_bytes()
    exact = remote.decrypt(client.keys, file)["variable"]
    with pytest.raises(ParamError, match="noise_bits: got None"):
        remote.decrypt(client.keys, file, queries=1)
    shown = remote.decrypt(client.keys, file, queries=1, security=10, noise_bits=12.0)["variable"]
    assert 0 < np.abs(shown - exact).max() < 0.1


def test_clients_of_recorded_programs_state_the_bound(tmp_path: Path) -> None:
    context = fhe.ckks(2**11, [50, 40, 40], [50], insecure=True)
    keys = context.keygen()
    x: Any = keys.encrypt([0.5, 0.25], bound=1.0)
    cw.trace(lambda x: x * x, x).save(tmp_path / "p.cwk")
    told = serving.ServedProgram(tmp_path / "p.cwk").describe()
    own = serving.client_of(told, "it", insecure=True)
    file = (x * x).to_bytes()
    with pytest.raises(ParamError, match=r"noise: got the claim of a file, .*noise_bits="):
        own.decrypt(keys, file, queries=1, security=10)
    bits = context.circuit_noise(1)
    (shown,) = own.decrypt(keys, file, queries=1, security=10, noise_bits=bits).values()
    assert 0 < np.abs(shown - [0.25, 0.0625]).max() < 2.0**-5


def test_decrypt_floods_from_the_command_line(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X[0])
    model = str(folder / "m.cwk")
    for line in (
        ["keygen", model, "-o", "keys"], ["encrypt", model, "keys", "x.npy", "-o", "x.ct"],
        ["run", model, "--keys", "keys", "--input", "x.ct", "-o", "y.ct"],
        ["decrypt", "keys", "y.ct", "-o", "exact.npy"],
    ):  # fmt: skip
        assert main([*line, "--insecure"]) == 0, capsys.readouterr().err
    line = ["decrypt", "keys", "y.ct", "-o", "shown.npy", "--insecure"]
    for more, said in (
        (["--queries", "0"], "--queries: got 0"),
        (["--queries", "1"], "--noise-bits: got None"),
        (["--security", "20"], "--queries: got None"),
        (["--queries", "1", "--security", "500"], "--security: got 500"),
    ):
        capsys.readouterr()
        assert main([*line, *more]) == 2
        assert said in capsys.readouterr().err
        assert not Path("shown.npy").exists()
    more = ["--queries", "1", "--security", "10", "--noise-bits", "12"]
    assert main([*line, *more]) == 0, capsys.readouterr().err
    assert 0 < np.abs(np.load("shown.npy") - np.load("exact.npy")).max() < 0.1
