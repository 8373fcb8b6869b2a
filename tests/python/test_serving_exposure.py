"""What others could read or reach is refused, unless it is said to be meant."""

import subprocess
import warnings
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from cloakwork.cli import main
from cloakwork.cli import serving as commands
from cloakwork.errors import ParamError
from cloakwork.fhe import InsecureWarning
from cloakwork.serving import Limits, Remote, exposure, host
from python.serving_setup import model

TOKEN = "b3JpZ2luYWwgdG9rZW4+Lw=="
HERE = [
    "127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1", "localhost", "LOCALHOST.",
    "a.localhost",
]  # fmt: skip
AWAY = [
    "0.0.0.0", "::", "", "192.0.2.1", "::ffff:192.0.2.1", "localhost.example.org",
    "127.0.0.1.example", "127.1", "0", "128.0.0.1", "fe80::1",
]  # fmt: skip


def test_what_stays_in_this_machine() -> None:
    assert all(map(exposure.is_loopback, HERE))
    assert not any(map(exposure.is_loopback, AWAY))


@pytest.mark.parametrize("insecure", [True, False])
@pytest.mark.parametrize("has_token", [True, False])
@pytest.mark.parametrize("has_tls", [True, False])
def test_a_server_that_others_reach_has_a_token_and_tls(
    has_tls: bool, has_token: bool, insecure: bool
) -> None:
    given = {"has_tls": has_tls, "has_token": has_token, "insecure": insecure}
    for place in HERE:
        exposure.check_listening(place, **given)
    for place in AWAY:
        if has_tls and has_token:
            exposure.check_listening(place, **given)
            continue
        with pytest.warns(InsecureWarning) if insecure else pytest.raises(ParamError) as caught:
            exposure.check_listening(place, **given)
        words = str(caught[0].message if insecure else caught.value)
        assert ("--token-file" in words) is not has_token
        assert ("--ssl-certfile" in words) is not has_tls
        assert insecure or "--insecure" in words


@pytest.mark.parametrize("url", ["http://192.0.2.1", "http://example.org:80", "http://[::2]"])
def test_a_token_goes_to_other_machines_by_tls_alone(url: str) -> None:
    for options in ({"token": TOKEN}, {}):
        named = url if options else url.replace("//", "//me:hidden@")
        what = "a token" if options else "a password"
        with pytest.raises(ParamError, match=rf"{what}, expected https://.*--insecure") as caught:
            Remote(named, **options)
        assert TOKEN not in str(caught.value)
        assert "hidden" not in str(caught.value)
        with pytest.warns(InsecureWarning, match="everyone on its way reads it"):
            Remote(named, insecure=True, **options).close()
    for fine in (url.replace("http:", "https:"), "http://127.0.0.1", "http://[::1]:9"):
        Remote(fine, token=TOKEN).close()
    Remote(url).close()


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o604, 0o620, 0o602, 0o644, 0o660])
def test_a_private_key_is_for_its_owner_alone(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my key.pem"
    path.touch()
    path.chmod(mode)
    if mode in (0o600, 0o400):
        exposure.check_private(path, insecure=False)
        return
    named = rf"mode {mode:04o}\): chmod 600 '.*my key\.pem'"
    with pytest.raises(ParamError, match=rf"mode {mode:04o}\), expected .*chmod 600 '.*--insecure"):
        exposure.check_private(path, insecure=False)
    with pytest.warns(InsecureWarning, match=named):
        exposure.check_private(path, insecure=True)


def test_a_key_of_the_system_may_be_read_by_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        def __init__(self, mode: int, owner: int) -> None:
            self.st_mode, self.st_uid = 0o100000 | mode, owner

        def stat(self) -> Any:
            return self

    monkeypatch.setattr(exposure.os, "geteuid", lambda: 1000)
    exposure.check_private(Found(0o640, 0), insecure=False)  # type: ignore[arg-type]
    for mode, owner in ((0o640, 1000), (0o644, 0), (0o660, 0), (0o641, 0)):
        with pytest.raises(ParamError, match="others may read or change"):
            exposure.check_private(Found(mode, owner), insecure=False)  # type: ignore[arg-type]


@pytest.mark.skipif(which("openssl") is None, reason="openssl makes the certificate")
def test_the_commands_hold_these_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "2", "-subj", "/CN=x", "-keyout", "key.pem", "-out", "cert.pem",
    ]  # fmt: skip
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.chdir(tmp_path)
    model(tmp_path, "m")
    began: list[Any] = []
    monkeypatch.setattr(host, "run", lambda *given: began.append(given[1]))
    Path("token").write_text(TOKEN)
    Path("token").chmod(0o600)
    Path("key.pem").chmod(0o600)
    tls = "--ssl-certfile cert.pem --ssl-keyfile key.pem"
    lines = {
        "serve m.cwk --host 0.0.0.0": "without a token (--token-file) and TLS (--ssl-certfile)",
        "serve m.cwk --host 0.0.0.0 --token-file token": "without TLS",
        f"serve m.cwk --host 0.0.0.0 {tls}": "without a token",
    }
    for line, said in lines.items():
        assert main(line.split()) == 2
        error = capsys.readouterr().err
        assert said in error
        assert "--insecure to accept it" in error
        assert not began
        assert main([*line.split(), "--insecure"]) == 0
        assert f"other machines reach this server {said}" in capsys.readouterr().err
        assert began.pop().host == "0.0.0.0"
    whole = f"serve m.cwk --host 0.0.0.0 --token-file token {tls}"
    Path("key.pem").chmod(0o640)
    assert main(whole.split()) == 2
    assert "chmod 600 key.pem" in capsys.readouterr().err
    assert not began
    limits, place = Limits(insecure=True), {"host": "0.0.0.0", "port": 0}
    files = {"ssl_certfile": Path("cert.pem"), "ssl_keyfile": Path("key.pem")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        commands.start([Path("m.cwk")], limits, None, Path("token"), **place, **files)
    assert "chmod 600 key.pem" in capsys.readouterr().err
    assert began
