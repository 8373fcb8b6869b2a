"""The commands of a client and a server, from keygen to decrypt, and their refusals."""

import json
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.cli import main, models
from cloakwork.errors import ParamError
from cloakwork.serving import Limits, ServedProgram, client, connection, create_app
from python.serving_setup import answering, nobody, running

X = np.array([0.5, -0.25, 1.0])
WANTED = np.array([0.5 + 0.0625, -0.25 + 1, 1.0])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, its input, and keys that `keygen` made."""
    folder = tmp_path_factory.mktemp("client")
    context = fhe.ckks(degree=2**13, moduli=[50, 40, 40], special=[50])
    example = context.keygen(rotations=[1]).encrypt(X)
    three = context.packing(3)
    cw.trace(lambda x: (x * x).rotate(1).with_packing(three) + x, example).save(folder / "m.cwk")
    cw.trace(lambda x: {"a": x + x, "b": (x * x).relinearize()}, example).save(folder / "two.cwk")
    np.save(folder / "x.npy", X)
    assert main(["keygen", str(folder / "m.cwk"), "-o", str(folder / "keys")]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)


@pytest.fixture(scope="module")
def place(files: Path) -> Iterator[str]:
    app = create_app([ServedProgram(files / "m.cwk")], Limits(), folder=files / "store")
    with running(app) as url:
        yield url


def test_keys_are_made_once_and_the_secret_is_for_its_owner_alone(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stat.S_IMODE((files / "keys/secret.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((files / "keys").stat().st_mode) == 0o700
    evaluation = fhe.load("keys/eval.key", expect="evaluation keys")
    assert sorted(evaluation.tensors()) == ["galois.5", "relinearization"]
    before = (files / "keys/secret.key").read_bytes()
    assert main(["keygen", "m.cwk", "-o", "keys"]) == 2
    assert "none is ever replaced" in capsys.readouterr().err
    assert (files / "keys/secret.key").read_bytes() == before


def test_a_value_goes_from_encrypt_through_run_to_decrypt(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["encrypt", "m.cwk", "keys", "x.npy", "-o", "x.ct"]) == 0
    for keys in ("keys", "keys/eval", "keys/eval.key"):
        line = f"run m.cwk --keys {keys} --input x.ct -o y.ct"
        assert main(line.split()) == 0, capsys.readouterr().err
        assert main(["decrypt", "keys", "y.ct", "-o", "y.npy"]) == 0
        np.testing.assert_allclose(np.load("y.npy"), WANTED, atol=1e-6)
        (files / "y.ct").unlink()
    assert (
        main(["run", "m.cwk", "--keys", "keys", "--input", "x=x.ct", "--output", "out0=y.ct"]) == 0
    )
    capsys.readouterr()
    assert main(["decrypt", "keys", "y.ct"]) == 0
    assert capsys.readouterr().out.startswith("out0 = Tensor([0.5625, 0.75")


def test_several_results_are_one_file(files: Path) -> None:
    assert main(["keygen", "two.cwk", "-o", "other"]) == 0
    assert main(["encrypt", "two.cwk", "other", "x=x.npy", "-o", "two.ct"]) == 0
    assert main(["run", "two.cwk", "--keys", "other", "--input", "two.ct", "-o", "both.ct"]) == 0
    assert main(["decrypt", "other", "both.ct", "-o", "values"]) == 0
    np.testing.assert_allclose(np.load("values/a.npy"), 2 * X, atol=1e-6)
    np.testing.assert_allclose(np.load("values/b.npy"), X * X, atol=1e-6)


def test_query_sends_a_value_and_prints_the_result(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", place, "keys", "x.npy", "-o", "q.npy"]) == 0, capsys.readouterr().err
    np.testing.assert_allclose(np.load("q.npy"), WANTED, atol=1e-6)
    assert main(["query", place, "keys", "x.npy"]) == 0
    assert capsys.readouterr().out.startswith("out0 = Tensor([0.5625")


def test_serve_runs_until_it_is_interrupted(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import uvicorn

    found: list[Any] = []

    def run(self: uvicorn.Server, sockets: Any) -> None:
        port = sockets[0].getsockname()[1]
        thread = threading.Thread(target=uvicorn.Server.serve_in_test, args=(self, sockets))
        thread.start()
        while not self.started:
            pass
        status = main(["query", f"http://127.0.0.1:{port}", "keys", "x.npy"])
        self.should_exit = True
        thread.join()
        found.append(status)
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "serve_in_test", uvicorn.Server.run, raising=False)
    monkeypatch.setattr(uvicorn.Server, "run", run)
    assert main(["serve", "m.cwk", "--port", "0", "--run-seconds", "60"]) == 0
    shown = capsys.readouterr()
    assert found == [0], shown.err
    assert "serving at http://127.0.0.1:" in shown.err
    assert "a run takes" in shown.err
    assert shown.out.startswith("out0 = ")
    assert len([*(files / "m.keys").glob("*.key")]) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("keygen x.npy -o new", "expected a program"),
        ("keygen none.cwk -o new", "none.cwk"),
        ("encrypt m.cwk none x.npy -o z.ct", "the folder that `cloakwork keygen` wrote"),
        ("encrypt two.cwk keys x.npy -o z.ct", "keys of this model"),
        ("encrypt m.cwk keys wide.npy -o z.ct", "(4,); the model takes (3,)"),
        ("encrypt m.cwk keys large.npy -o z.ct", "bound"),
        ("encrypt m.cwk keys x=x.npy x=x.npy -o z.ct", "x once"),
        ("encrypt m.cwk keys z=x.npy -o z.ct", "an array for each of x"),
        ("decrypt keys keys/eval.key", "keys/eval.key: kind: expected ciphertext"),
        ("decrypt keys keys/secret.key", "keys/secret.key: kind: expected ciphertext"),
        ("decrypt keys x.npy", "x.npy: expected a file of keys or ciphertexts"),
        ("decrypt keys none.npy", "none.npy: expected a file of keys or ciphertexts"),
        ("decrypt keys x.ct", "x.ct: out0: scale: expected"),
        ("decrypt keys x.ct -o z.txt", "a folder for out0"),
        ("decrypt keys x.ct -o x.npy/new", "a folder that can be made in"),
        ("keygen keys/secret.key -o new", "got a secret key: fhe.load reads it"),
        ("keygen x.onnx -o new", "expected a program, got an empty file"),
        ("keygen m.cwk -o x.npy", "a folder: a file has this name"),
        ("keygen m.cwk -o x.npy/new", "Not a directory"),
        ("encrypt m.cwk keys x= -o z.ct", "got x=, expected X.npy, or NAME=X.npy"),
        ("encrypt m.cwk keys x.npy -o keys/secret.key", "writing would destroy an input"),
        ("encrypt m.cwk keys x.npy -o keys/eval.key", "writing would destroy an input"),
        ("encrypt m.cwk keys x.npy -o keys/model.json", "writing would destroy an input"),
        ("decrypt store x.npy", "secret.key"),
        ("run m.cwk --keys keys/secret.key --input x.ct", "evaluation keys"),
        ("run m.cwk --keys none.key --input x.ct", "none.key"),
        ("run m.cwk --keys keys --input x.ct --input x=x.ct", "x once"),
        ("run m.cwk --keys keys --input x.npy", "a ciphertext of `cloakwork encrypt` for x"),
        ("run m.cwk --keys keys --input keys/eval.key", "evaluation keys: --keys"),
        ("run m.cwk --keys keys --input x=keys/eval.key", "evaluation keys: --keys"),
        ("run m.cwk --keys keys --input keys/secret.key", "which stays with you"),
        ("run m.cwk --keys keys --input none.ct", "none.ct: expected a file of keys or cip"),
        ("run m.cwk --keys keys --input no.ct", "no.ct"),
        ("run m.cwk --keys keys --input y=two.ct", "a file with y: it holds x"),
        ("run m.cwk --keys keys --input x.ct -o a.ct --output b", "no --output"),
        ("run m.cwk --keys keys --input x.ct -o a.txt", "FILE.npy or FILE.ct"),
        ("run two.cwk --keys keys --input x.ct -o a.npy", "NAME=FILE for each"),
        ("query ftp://x keys x.npy", "http://HOST:PORT"),
        ("serve m.cwk --port 70000", "port"),
        ("serve m.cwk --queue 0", "--queue: got 0"),
        ("serve m.cwk --keys-quota x", "--keys-quota: got x"),
        ("serve m.cwk --held-quota x", "--held-quota: got x"),
        ("serve m.cwk --connections 0", "--connections: got 0"),
        ("serve m.cwk --head-seconds 0", "--head-seconds: got 0"),
        ("serve m.cwk --least-rate x", "--least-rate: got x"),
        ("serve m.cwk --store keys", "has a client's secret.key"),
        ("serve m.cwk --store x.npy", "--store: got x.npy"),
        ("serve keys/eval.key", "got evaluation keys: fhe.load reads it"),
        ("serve m.cwk --ssl-certfile none.pem", "none.pem"),
        ("serve m.cwk --ssl-keyfile x.npy", "--ssl-certfile"),
        ("serve m.cwk --ssl-certfile x.npy --ssl-keyfile x.npy", "PEM"),
        ("serve m.cwk --memory-budget 1KiB", "planned peak"),
        ("serve m?.cwk", "a name in addresses: without any of /?#%"),
        ("query http://127.0.0.1:70000 keys x.npy", "URL: got http://127.0.0.1:70000"),
        ("query http://a:secret@b:70000 keys x.npy", "URL: got b:70000"),
        ("query http://127.0.0.1:9 keys x.npy --timeout inf", "--timeout: got inf"),
        ("query http://127.0.0.1:9 keys x.npy -o z.txt", "--out: got z.txt"),
        ("query http://127.0.0.1:9 keys x.npy --token-file none", "none: No such file"),
        ("decrypt keys x.ct --samples 0", "--samples: got 0"),
        ("serve m.cwk --host 203.0.113.7 --insecure", "free address of this machine"),
        ("serve m.cwk m.cwk", "name of its own"),
    ],
)
def test_a_wrong_command_line_is_said(
    line: str, said: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("wide.npy", np.zeros(4))
    np.save("large.npy", X * 1000)
    (files / "store").mkdir(exist_ok=True)
    copyfile("m.cwk", "m?.cwk")
    for name in ("none.npy", "none.ct", "x.onnx"):
        Path(name).write_bytes(b"")
    main(["encrypt", "m.cwk", "keys", "x.npy", "-o", "x.ct"])
    fhe.CiphertextSet({"x": fhe.load("x.ct")}).save("two.ct")
    capsys.readouterr()
    before = {file: file.read_bytes() for file in Path("keys").iterdir()}
    assert main(line.split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "internal error" not in error
    assert not Path("new").exists()
    assert not Path("z.ct").exists()
    assert {file: file.read_bytes() for file in Path("keys").iterdir()} == before


def test_a_query_to_a_server_that_is_not_there_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_FIRST_SECONDS", 0.2)
    with nobody() as url:
        assert main(["query", url, "keys", "x.npy"]) == 2
    assert "is it running?" in capsys.readouterr().err


def test_what_a_server_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    words = dict.fromkeys(("error", "expected", "got", "hint"), "\x1b[2J\n\ud800")
    body = json.dumps(words).encode()
    head = b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n" % len(body)
    with answering(head + body) as url:
        assert main(["query", url, "keys", "x.npy"]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert error.splitlines()[-1].startswith("cloakwork: \\x1b[2J\\n\\ud800: expected")


@pytest.mark.parametrize("failing", ["eval.key", "secret.key"])
def test_keys_that_cannot_be_written_leave_nothing(
    failing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = cw.files.write

    def full(path: Any, *given: Any, **options: Any) -> None:
        if Path(path).name == failing:
            raise OSError(28, "No space left on device", str(path))
        write(path, *given, **options)

    monkeypatch.setattr(cw.files, "write", full)
    assert main(["keygen", "m.cwk", "-o", "deep/new"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not Path("deep").exists()
    Path("mine").mkdir()
    assert main(["keygen", "m.cwk", "-o", "mine"]) == 2
    assert not [*Path("mine").iterdir()]
    Path("mine").rmdir()


def test_results_with_slashes_stay_in_their_folder() -> None:
    places = models.places_of(["/a/b", "../c"], Path("out"), [])
    assert [str(place) for place in places.values()] == ["out/_a_b.npy", "out/.._c.npy"]
    with pytest.raises(ParamError, match="told apart"):
        models.places_of(["a/b", "a_b"], Path("out"), [])


def test_a_query_to_a_server_of_another_model_is_refused(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keygen", "two.cwk", "-o", "third"]) == 0
    assert main(["query", place, "third", "x.npy"]) == 2
    assert "for which these keys were made" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told.pop("keys"), "keys"),
        (lambda told: told.update(inputs={}), "by name"),
        (lambda told: told["inputs"]["x"].update(level=9), "level"),
        (lambda told: told.update(keys="all"), "keys: expected a list"),
    ],
)
def test_an_altered_description_is_refused(
    change: Any, said: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = files / "keys" / models.DESCRIPTION
    before = place.read_text()
    told = json.loads(before)
    change(told)
    try:
        altered = json.dumps(told)
        told.pop("checksum")
        told["checksum"] = client._checksum(told)
        whole = json.dumps(told)
        cases = ((altered, "fetch it again"), (whole, said), ("{", "JSON"), ("[]", "object"))
        for text, word in cases:
            place.write_text(text)
            assert main(["encrypt", "m.cwk", "keys", "x.npy", "-o", "z.ct"]) == 2
            assert word in capsys.readouterr().err
    finally:
        place.write_text(before)
