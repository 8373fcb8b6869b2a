"""Keys and ciphertexts as files: round trips, and refusals."""

import json
import resource
import sys
import tracemalloc
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import KeyMismatchError, LoadError
from cloakwork.fhe.files import container
from numpy.typing import NDArray
from python.fhe_setup import T, bfv, bgv, ckks, error, integer_slots, unit_slots

KEYS = ckks()
A = unit_slots(KEYS, 1)


def resealed(path: Path, **changes: Any) -> Path:
    """The file with fields changed and a checksum that fits, as an attacker would write it."""
    memory = path.read_bytes()[:-32]
    end = 16 + int.from_bytes(memory[8:16], "little")
    header = json.loads(memory[16:end])
    header["fields"].update(changes.pop("fields", {}))
    for name in changes.pop("without", ()):
        del header["fields"][name]
    header.update(changes)
    text = json.dumps(header).encode()
    body = memory[:8] + len(text).to_bytes(8, "little") + text + memory[end:]
    spoilt = path.with_suffix(".spoilt")
    spoilt.write_bytes(body + blake2b(body, digest_size=32).digest())
    spoilt.chmod(0o600)
    return spoilt


def load(path: Path, **given: Any) -> Any:
    """A file of these tests' toy rings."""
    return fhe.load(path, insecure=True, **given)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    KEYS.encrypt(A).save(tmp_path / "x.cwf")
    return tmp_path / "x.cwf"


@pytest.mark.parametrize("batch", [(), (3,)])
def test_ciphertexts_come_back_to_the_bit(batch: tuple[int, ...], tmp_path: Path) -> None:
    values = unit_slots(KEYS, 2, batch)
    x = KEYS.encrypt(values, batch=bool(batch))
    for name, ciphertext in {
        "fresh": x, "product": x * x, "rescaled": (x * x).rescale(), "public":
        KEYS.public.encrypt(values, batch=bool(batch)), "low": x.lower(1),
    }.items():  # fmt: skip
        ciphertext.save(tmp_path / name)
        back = KEYS.evaluation.load(tmp_path / name)
        np.testing.assert_array_equal(np.asarray(back.data), np.asarray(ciphertext.data))
        assert back.context is KEYS.context
        for field in (
            "level",
            "noise",
            "scale",
            "size",
            "key",
            "seed",
            "batch",
            "parts",
            "packing",
        ):
            assert getattr(back, field) == getattr(ciphertext, field)
        np.testing.assert_array_equal(KEYS.decrypt(back), KEYS.decrypt(ciphertext))
        assert back.level > 0
        assert error(KEYS, back * 0.5, KEYS.decrypt(ciphertext) / 2) < 1e-6


def test_fresh_ciphertexts_take_half_a_file(tmp_path: Path) -> None:
    x = KEYS.encrypt(A)
    x.save(tmp_path / "fresh")
    (x + 0).save(tmp_path / "sum")
    sizes = [(tmp_path / name).stat().st_size for name in ("fresh", "sum")]
    assert sizes[0] < 0.6 * sizes[1]


def test_bgv_ciphertexts_come_back(tmp_path: Path) -> None:
    keys = bgv()
    values = integer_slots(keys, 1)
    keys.encrypt(values).mod_switch().save(tmp_path / "x")
    back = load(tmp_path / "x")
    np.testing.assert_array_equal(keys.decrypt(back), values)
    assert isinstance(back, fhe.BgvCiphertext)


@pytest.mark.parametrize("special", [0, 2])
def test_a_client_and_a_server_meet_through_files(special: int, tmp_path: Path) -> None:
    context = fhe.ckks(128, [50, 40, 40], [50] * special, insecure=True)
    values = np.linspace(-1, 1, context.slots)
    # The client.
    keys = context.keygen(rotations=[1, 4])
    keys.save(tmp_path / "secret")
    keys.public.save(tmp_path / "public")
    keys.evaluation.save(tmp_path / "evaluation")
    # Somebody with the public key.
    load(tmp_path / "public").encrypt(values).save(tmp_path / "x")
    # The server.
    evaluation = load(tmp_path / "evaluation")
    assert evaluation.rotations == [1, 4]
    x = evaluation.load(tmp_path / "x")
    ((x * x).rescale().rotate(5) + x.conjugate()).save(tmp_path / "result")
    # The client again.
    again = load(tmp_path / "secret")
    assert again.key == keys.key
    expected = np.roll(values**2, -5) + values
    assert error(again, load(tmp_path / "result"), expected) < 1e-3
    again.add([2])
    assert error(again, again.encrypt(values).rotate(2), np.roll(values, -2)) < 1e-3


def test_evaluation_keys_take_half_of_their_memory_on_disk(tmp_path: Path) -> None:
    KEYS.evaluation.save(tmp_path / "evaluation")
    assert (tmp_path / "evaluation").stat().st_size < 0.51 * KEYS.evaluation.size_bytes + 20_000


@pytest.mark.usefixtures("no_garbage")
def test_evaluation_keys_pass_through_memory_one_at_a_time(tmp_path: Path) -> None:
    context = fhe.ckks(degree=2**12, moduli=[36, 30], special=[36], insecure=True)
    keys = context.keygen(rotations=range(1, 65))
    size, one = keys.evaluation.size_bytes, keys.evaluation.galois[5].data.nbytes
    assert size > 60 * one
    tracemalloc.start()
    try:
        keys.evaluation.save(tmp_path / "eval.key")
        assert tracemalloc.get_traced_memory()[1] < 4 * one + 2**20
        cw.release_cached()
        before = cw.memory_stats().live_bytes
        tracemalloc.reset_peak()
        read = load(tmp_path / "eval.key")
        assert tracemalloc.get_traced_memory()[1] < 4 * one + 2**21
    finally:
        tracemalloc.stop()
    now = cw.memory_stats()
    assert now.live_bytes - before >= size
    assert now.peak_bytes - before < size + 4 * one + 2**21
    for element, key in keys.evaluation.galois.items():
        assert (np.asarray(read.galois[element].data) == np.asarray(key.data)).all()


def test_a_file_that_becomes_shorter_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    context = fhe.ckks(degree=2**12, moduli=[36, 30], special=[36], insecure=True)
    context.keygen(rotations=range(1, 9)).evaluation.save(tmp_path / "eval.key")
    contents = container.load(tmp_path / "eval.key")
    with (tmp_path / "eval.key").open("r+b") as file:
        file.truncate(8192)
    (name, words), *_ = contents.tensors.items()
    with pytest.raises(LoadError, match=r"eval\.key"):
        contents.tensor(name, words.shape)


def test_the_secret_s_file_is_its_owner_s(tmp_path: Path) -> None:
    keys = KEYS.context.keygen(conjugation=False, relinearization=False)
    keys.save(tmp_path / "secret")
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", [0, 5, 9, 40, 1000, -40, -1])
def test_altered_files_are_refused(saved: Path, place: int) -> None:
    memory = bytearray(saved.read_bytes())
    memory[place] ^= 1
    saved.write_bytes(memory)
    with pytest.raises(LoadError, match=r"x\.cwf"):
        load(saved)


@pytest.mark.parametrize("length", [0, 4, 7, 15, 47, 100, 5000, -1])
def test_truncated_files_are_refused(saved: Path, length: int) -> None:
    saved.write_bytes(saved.read_bytes()[:length])
    with pytest.raises(LoadError, match=r"x\.cwf"):
        load(saved)


def test_longer_files_are_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"\0")
    with pytest.raises(LoadError, match="truncated or altered"):
        load(saved)


def test_other_versions_are_refused(saved: Path) -> None:
    memory = bytearray(saved.read_bytes())
    memory[5] = 2
    saved.write_bytes(memory)
    with pytest.raises(LoadError, match="expected version 1, got 2"):
        load(saved)


def test_files_that_are_not_there_or_are_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        load(tmp_path / "nothing")
    (tmp_path / "text").write_text("some text that is long enough to have a header, but is none")
    with pytest.raises(LoadError, match="begins with CWFHE"):
        load(tmp_path / "text")


def test_the_kind_must_be_the_one_expected(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="expected secret key, got 'ciphertext'"):
        load(saved, expect="secret key")
    KEYS.public.save(tmp_path / "public")
    with pytest.raises(LoadError, match="expected ciphertext, got 'public key'"):
        KEYS.evaluation.load(tmp_path / "public")


def test_ciphertexts_of_others_are_refused(tmp_path: Path) -> None:
    bgv().encrypt([1]).save(tmp_path / "scheme")
    ckks(128).encrypt([1.0]).save(tmp_path / "parameters")
    twin = KEYS.context.keygen(relinearization=False, conjugation=False)
    twin.encrypt([1.0]).save(tmp_path / "key")
    for name in ("scheme", "parameters", "key"):
        with pytest.raises(KeyMismatchError):
            KEYS.evaluation.load(tmp_path / name)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "program"},
        {"tensors": [["data", [1 << 30, 1 << 30], 8]]},
        {"tensors": [["data", [-1], 8]]},
        {"tensors": [["data", [5, 256], 3]]},
        {"tensors": [["data", "text", 8]]},
        {"tensors": [["other", [5, 256], 8]]},
        {"tensors": []},
        {"tensors": 3},
        {"tensors": [["data", [1 << 80], 8]]},
        {"tensors": [["data", [-(1 << 80)], 8]]},
        {"tensors": [["data", [1 << 20, 1 << 20, 0], 8]]},
        {"tensors": [["data", [1] * 70, 8]]},
        {"tensors": [["data", [float("inf")], 8]]},
        {"tensors": [["data", [float("nan")], 8]]},
        {"tensors": [["data", [0, 1 << 62], 8]]},
        {"fields": None},
        {"fields": {"level": 9}},
        {"fields": {"level": "4"}},
        {"fields": {"level": 3}},
        {"fields": {"parts": 4}},
        {"fields": {"batch": 2}},
        {"fields": {"scale": "0x0p0"}},
        {"fields": {"scale": 3}},
        {"fields": {"scale": "word"}},
        {"fields": {"key": 3}},
        {"fields": {"seed": "00"}},
        {"fields": {"seed": "zz"}},
        {"fields": {"levels": "some"}},
        {"fields": {"fingerprint": "00"}},
        {"fields": {"parameters": {}}},
        {"fields": {"parameters": {"scheme": "ckks", "degree": 3}}},
        {"fields": {"bound": -1.0}},
        {"fields": {"bound": 10**400}},
        {"fields": {"noise": float("nan")}},
        {"fields": {"noise": float("inf")}},
        {"fields": {"noise": 1e308}},
        {"fields": {"noise": 10**400}},
        {"fields": {"size": float("nan")}},
        {"fields": {"size": float("inf")}},
        {"fields": {"values": [0.0, 1.0]}},
        {"fields": {"values": [1.0, 0.0, 0.0, 1.0, 1.0]}},
        {"fields": {"values": [0.0, 1.0, -1.0, 1.0, 1.0]}},
        {"fields": {"values": [0.0, 1.0, 0.0, float("nan"), 1.0]}},
        {"fields": {"values": "all"}},
        {"fields": {"coherence": float("nan")}},
        {"fields": {"scale": "inf"}},
        {"fields": {"scale": "nan"}},
        {"fields": {"scale": "0x1p5000"}},
        {"fields": {"level": 10**400}},
        {"fields": {"parts": -(10**400)}},
    ],
)
def test_headers_that_make_no_sense_are_refused(saved: Path, changes: dict[str, Any]) -> None:
    if changes.get("fields", ()) is None:
        memory = saved.read_bytes()
        body = memory[:8] + (2).to_bytes(8, "little") + b"[]"
        saved.write_bytes(body + blake2b(body, digest_size=32).digest())
        spoilt = saved
    else:
        spoilt = resealed(saved, **changes)
    with pytest.raises(LoadError):
        load(spoilt)


def test_files_that_say_less_are_taken_to_hold_more(saved: Path) -> None:
    # Files of older versions: a size, without the positions of values or the shared errors.
    older = load(resealed(saved, without=("values", "coherence")))
    assert older.bound == fhe.Bound.circle(1.0)
    assert older.coherence == np.log2(KEYS.context.slots) / 2
    assert error(KEYS, older, A) < 1e-6


def test_batches_of_files_that_say_less_are_taken_to_be_equal(tmp_path: Path) -> None:
    KEYS.encrypt(np.ones((4, 8)), batch=True).save(tmp_path / "x")
    assert load(tmp_path / "x").alike < 0.1
    assert load(resealed(tmp_path / "x", without=("alike",))).alike == 1.0


@pytest.mark.parametrize("text", ["[" * 100_000, '{"kind":' * 100_000, "9" * 10_000, "null", "[]"])
def test_headers_that_are_none_are_refused(text: str, saved: Path) -> None:
    memory = saved.read_bytes()
    body = memory[:8] + len(text).to_bytes(8, "little") + text.encode()
    saved.write_bytes(body + blake2b(body, digest_size=32).digest())
    with pytest.raises(LoadError, match="the header is not one of this version"):
        load(saved)


@pytest.mark.parametrize("factor", [0, -1, T, 10**400, 1.5])
def test_factors_lie_below_the_plain_modulus(factor: float, tmp_path: Path) -> None:
    bgv().encrypt([1]).save(tmp_path / "x")
    with pytest.raises(LoadError, match="factor"):
        load(resealed(tmp_path / "x", fields={"factor": factor}))


@pytest.mark.parametrize("name", ["public", "secret"])
def test_a_public_key_s_name_is_that_of_its_residues(name: str, tmp_path: Path) -> None:
    owner = KEYS.context.keygen(conjugation=False, relinearization=False)
    (owner if name == "secret" else owner.public).save(tmp_path / name)
    with pytest.raises(LoadError, match=f"expected {owner.key}, that of its residues"):
        load(resealed(tmp_path / name, fields={"key": KEYS.key}))
    for spoilt in ({"seed": "00" * 32}, {"seed": "00"}):
        with pytest.raises(LoadError):
            load(resealed(tmp_path / name, fields=spoilt))


@pytest.mark.parametrize(
    "element", ["2", "0", "-1", "513", "x", " 5", "0_5", "05", pytest.param("9" * 5000, id="long")]
)
def test_galois_elements_are_odd_and_below_twice_the_degree(element: str, tmp_path: Path) -> None:
    keys = KEYS.context.keygen(conjugation=False, relinearization=False)
    keys.add([1])
    keys.evaluation.save(tmp_path / "evaluation")
    seeds, tensors = keys.evaluation.galois[5].seed.hex(), KEYS.evaluation.galois[5].data.shape
    shape = [tensors[1], tensors[3], tensors[2]]
    fields = {"seeds": {element: seeds}, "key_levels": {element: KEYS.context.parameters.level}}
    changes = {"fields": fields, "tensors": [[element, shape, 8]]}
    with pytest.raises(LoadError, match="odd Galois elements below 2 N"):
        load(resealed(tmp_path / "evaluation", **changes))


def test_small_files_cost_no_large_tables(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = replace(KEYS.context.parameters, degree=8)
    given = asdict(parameters) | {"scale": parameters.scale.hex()}
    fields = {"parameters": given, "fingerprint": parameters.fingerprint}
    monkeypatch.setattr(
        fhe.files.storage, "context_of", lambda *_: pytest.fail("tables were built")
    )
    with pytest.raises(LoadError, match=r"'data': expected degree 8, got shape \(5, 256\)"):
        load(resealed(saved, fields=fields))


@pytest.mark.parametrize(
    "change",
    [{"degree": 256.0}, {"plain_modulus": None}, {"plain_modulus": 3}, {"gadget_base_log2": "x"}],
)
def test_parameters_of_other_types_are_refused(change: dict[str, Any], saved: Path) -> None:
    given = asdict(KEYS.context.parameters) | {"scale": KEYS.context.parameters.scale.hex()}
    sealed = blake2b(json.dumps(given | change, sort_keys=True).encode(), digest_size=16)
    fields = {"parameters": given | change, "fingerprint": sealed.hexdigest()}
    with pytest.raises(LoadError, match=next(iter(change))):
        load(resealed(saved, fields=fields))


def test_residues_must_lie_below_their_moduli(saved: Path) -> None:
    memory = bytearray(saved.read_bytes()[:-32])
    memory[-8:] = (1 << 60).to_bytes(8, "little")
    saved.write_bytes(bytes(memory) + blake2b(memory, digest_size=32).digest())
    with pytest.raises(LoadError, match="below their moduli"):
        load(saved)


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = KEYS.encrypt(A)
    x.save(tmp_path / "x")
    before = (tmp_path / "x").read_bytes()

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            (x + 1).save(tmp_path / "x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "x").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("kind", ["ciphertext", "public key", "evaluation keys", "secret key"])
def test_what_has_less_than_128_bits_is_refused_unless_said(kind: str, tmp_path: Path) -> None:
    keys = KEYS.context.keygen(conjugation=False, relinearization=False)
    keys.add([1])
    things = {
        "ciphertext": keys.encrypt(A), "public key": keys.public,
        "evaluation keys": keys.evaluation, "secret key": keys,
    }  # fmt: skip
    things[kind].save(tmp_path / "toy")  # type: ignore[attr-defined]
    with pytest.raises(LoadError, match=r"toy: parameters: expected 128 bits of security at degr"):
        fhe.load(tmp_path / "toy")
    assert type(load(tmp_path / "toy")) is type(things[kind])
    # Code that computes with toy keys has been warned already.
    if kind == "ciphertext":
        assert keys.evaluation.load(tmp_path / "toy").key == keys.key


def test_what_has_128_bits_needs_no_word_whatever_was_asked(tmp_path: Path) -> None:
    for given in ({}, {"insecure": True}, {"security": 192}):
        context = fhe.ckks(2**12, [25, 20], [25], **given)  # type: ignore[arg-type]
        context.keygen(conjugation=False, relinearization=False).save(tmp_path / "secret")
        assert fhe.load(tmp_path / "secret").context.parameters == context.parameters


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o666])
def test_secrets_that_others_may_read_are_refused_with_what_to_type(
    mode: int, tmp_path: Path
) -> None:
    path = tmp_path / "my secret"
    fhe.ckks(2**12, [25, 20], [25]).keygen(conjugation=False, relinearization=False).save(path)
    assert isinstance(fhe.load(path), fhe.Keys)
    path.chmod(mode)
    with pytest.raises(LoadError, match=rf"mode {mode:04o}\): chmod 600 '.*my secret'"):
        fhe.load(path)
    with pytest.warns(fhe.InsecureWarning, match=rf"mode {mode:04o}\): chmod 600 '.*my secret'"):
        assert isinstance(fhe.load(path, insecure=True), fhe.Keys)
    path.chmod(0o400)
    assert isinstance(fhe.load(path), fhe.Keys)


def with_secret(path: Path, coefficients: NDArray[Any]) -> Path:
    """The file of a secret with another one in it, and a checksum that fits."""
    held = container.load(path)
    read = {name: held.tensor(name, words.shape) for name, words in held.tensors.items()}
    tensors = read | {"secret": coefficients}
    spoilt = path.with_suffix(".spoilt")
    container.save(spoilt, held.kind, held.fields, tensors, private=True)
    return spoilt


@pytest.mark.parametrize("make", [ckks, bgv, bfv])
def test_secrets_that_do_not_open_their_public_key_are_refused(make: Any, tmp_path: Path) -> None:
    owner = make().context.keygen(conjugation=False, relinearization=False)
    owner.save(tmp_path / "secret")
    own = np.asarray(owner._coefficients())
    assert isinstance(load(with_secret(tmp_path / "secret", own)), fhe.Keys)
    one_off = own.copy()
    one_off[7] = (one_off[7] + 2) % 3 - 1
    for stranger in (np.roll(own, 1), -own, one_off):
        with pytest.raises(LoadError, match="secret: got another secret"):
            load(with_secret(tmp_path / "secret", stranger))


def test_secrets_that_keygen_does_not_draw_are_refused(tmp_path: Path) -> None:
    owner = KEYS.context.keygen(conjugation=False, relinearization=False)
    owner.save(tmp_path / "secret")
    degree = KEYS.context.parameters.degree
    for weight in (0, 1, 64, degree):
        sparse = np.zeros(degree, dtype=np.int64)
        sparse[:weight] = 1
        with pytest.raises(LoadError, match="too many or too few zeros"):
            load(with_secret(tmp_path / "secret", sparse))
    for value in (2, -2, 1 << 40, KEYS.context.parameters.moduli[0] + 1):
        wide = np.asarray(owner._coefficients()).astype(np.int64)
        wide[3] = value
        with pytest.raises(LoadError, match="secret: got other coefficients"):
            load(with_secret(tmp_path / "secret", wide))


@pytest.mark.parametrize("make", [ckks, bgv, bfv])
@pytest.mark.parametrize("special", [0, 2])
def test_evaluation_keys_are_adopted_if_they_lead_to_the_secret(
    make: Any, special: int, tmp_path: Path
) -> None:
    keys = make(256, 3, special=special)
    keys.save(tmp_path / "secret")
    keys.evaluation.save(tmp_path / "evaluation")
    client = load(tmp_path / "secret")
    assert client.adopt(load(tmp_path / "evaluation")) is client.evaluation
    assert client.encrypt([1, 2]).rotate(1).level == 3
    other = keys.context.keygen(rotations=[1])
    with pytest.raises(KeyMismatchError, match="adopt"):
        client.adopt(other.evaluation)
    # Under the name of this secret, as a server might send them.
    for galois, squared in (
        (other.evaluation.galois, keys.evaluation.relinearization),
        (keys.evaluation.galois, other.evaluation.relinearization),
        ({5: keys.evaluation.galois[25], 25: keys.evaluation.galois[5]}, None),
    ):
        forged = fhe.EvaluationKeys(keys.context, keys.key, squared, galois)
        with pytest.raises(KeyMismatchError, match="adopt"):
            client.adopt(forged)
    with pytest.raises(KeyMismatchError, match="parameters"):
        client.adopt(make(128).evaluation)
