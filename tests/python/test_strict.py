"""Every field of a description with every kind of wrong value: read, or refused by name."""

import json
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from hashlib import blake2b
from io import BytesIO
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe, strict
from cloakwork.errors import CloakworkError, LoadError
from cloakwork.serving import ServedProgram, client_of
from cloakwork.serving.client import _checksum
from cloakwork.serving.model_client import ModelClient
from cloakwork.strict import Member
from sklearn.linear_model import LogisticRegression

# Of other types, signs and lengths; not finite; not text in UTF-8.
WRONG = [
    None, True, -1, 1 << 63, 10**400, 0.5, nan, inf, -inf, "", "0", "\ud800\x1b", "x" * 10_000, [],
    [None], ["s"], {}, {"x": {}},
]  # fmt: skip


# What does not fit another part names that one.
BY_OTHERS = {"tensor", "client step", "key_levels"}


def described(kind: str) -> dict[str, Any]:
    """A description as a server gives it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.cwk"
        if kind == "model":
            rows = np.random.default_rng(0).normal(size=(60, 4))
            labels = np.array(["no", "yes"])[(rows[:, 0] > 0).astype(int)]
            estimator = LogisticRegression().fit(rows, labels)
            fhe.compile(estimator, rows, degree=2**10, insecure=True).save(path)
        else:
            context = (
                fhe.ckks(degree=2**10, moduli=[50, 40, 40], special=[50], insecure=True)
                if kind == "ckks"
                else fhe.bgv(
                    degree=2**10,
                    plain_modulus=12289,
                    moduli=[50, 40, 40],
                    special=[50],
                    insecure=True,
                )
            )
            keys = context.keygen(rotations=[1])
            cw.trace(lambda x: (x * x).rotate(1), keys.encrypt([1, 0, 1])).save(path)
        told: dict[str, Any] = json.loads(json.dumps(ServedProgram(path).describe()))
    if told["model"] is not None:
        told["model"]["report"] = {"text": "short"}
    return told


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of a value; of lists to the first and the last."""
    if way:
        yield way
    if way[:1] == ("outputs",) and len(way) == 2:
        return  # It is read as an input.
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(value)
    elif isinstance(value, list) and value:
        inner = sorted({0, len(value) - 1})
    for one in inner:
        yield from places(value[one], (*way, one))


def changed(told: dict[str, Any], way: tuple[Any, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The description with this part replaced, left out, twice, or beside an unknown one."""
    *above, last = way
    made = deepcopy(told)
    holder = made
    for step in above:
        holder = holder[step]
    before = holder[last]
    for wrong in WRONG:
        holder[last] = wrong
        yield f"{'.'.join(map(str, way))} = {wrong!r:.20}", made
    if isinstance(before, int | float) and not isinstance(before, bool):
        for wrong in (-before, before + 1, before - 1, str(before), float(before)):
            holder[last] = wrong
            yield f"{way}: {wrong}", made
    if isinstance(before, list):
        for wrong in (before[:-1], before * 2, [*before, None]):
            holder[last] = wrong
            yield f"{way}: {wrong!r:.40}", made
    if isinstance(before, dict):
        holder[last] = before | {"more": 0}
        yield f"{way}: more", made
    del holder[last]
    yield f"{way} left out", made


def used(told: dict[str, Any]) -> None:
    """Everything of a client but its computations on secrets."""
    text = json.dumps(told | {"checksum": _checksum(told)})
    client = client_of(text, "the server", insecure=True)
    assert json.loads(client.to_json()) == json.loads(text)
    assert client.result_bytes > 0
    assert repr(client).isprintable()
    assert all(type(length) is int for shape in client.inputs.values() for length in shape)
    assert all(isinstance(name, str) for name in client.results)
    if isinstance(client, ModelClient):
        own = client._model
        with np.errstate(all="ignore"):
            own.tail.run({port.name: np.zeros((1, *port.shape)) for port in own.outputs})


def swept(told: dict[str, Any], read: Callable[[dict[str, Any]], object]) -> tuple[int, int]:
    """How many changed values were accepted, and refused by the name of the field."""
    read(told)
    accepted = refused = 0
    for way in places(told):
        for what, one in changed(told, way):
            try:
                read(one)
                accepted += 1
            except CloakworkError as error:
                names = {step for step in way if isinstance(step, str)} | BY_OTHERS
                if what.endswith("= nan"):  # Refused before any field is read.
                    names |= {"NaN is no number", "the header is not one of this version"}
                named = any(name in str(error) for name in names)
                refused += 1
            except Exception as error:
                raise AssertionError(f"{what}: {error!r}") from error
            else:
                named = True
            assert named, what
    return accepted, refused


@pytest.mark.filterwarnings("ignore::cloakwork.fhe.InsecureWarning")
@pytest.mark.parametrize("kind", ["ckks", "bgv", "model"])
def test_every_field_of_a_description_is_right_or_refused_by_name(kind: str) -> None:
    told = described(kind)
    if kind == "model":
        # The rest is as that of other programs.
        accepted, refused = swept(told["model"], lambda one: used(told | {"model": one}))
    else:
        accepted, refused = swept(told, used)
    assert refused > 3 * accepted


def test_every_field_of_a_file_is_right_or_refused_by_name(tmp_path: Path) -> None:
    context = fhe.ckks(degree=2**10, moduli=[50, 40, 40], special=[50], insecure=True)
    keys = context.keygen(rotations=[1])
    x = keys.encrypt([1, 0, 1])
    saved = {"ciphertext": x, "set": fhe.CiphertextSet({"x": x}), "public": keys.public}
    for name, one in (saved | {"evaluation": keys.evaluation, "secret": keys}).items():
        one.save(tmp_path / name)
        memory = (tmp_path / name).read_bytes()[:-32]
        end = 16 + int.from_bytes(memory[8:16], "little")

        def read(header: dict[str, Any], memory: bytes = memory, end: int = end) -> None:
            text = json.dumps(header).encode()
            body = memory[:8] + len(text).to_bytes(8, "little") + text + memory[end:]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", fhe.InsecureWarning)
                file = BytesIO(body + blake2b(body, digest_size=32).digest())
                fhe.load(file, insecure=True)

        head = json.loads(memory[16:end])
        accepted, refused = swept(
            head["fields"], lambda fields, head=head, read=read: read(head | {"fields": fields})
        )
        assert refused > 5 * accepted
        for _, header in changed(head, ("tensors",)):
            with pytest.raises(LoadError):
                read(header)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff", "byte 0xff at offset 0"), (b"[1, \xc3]", "byte 0xc3 at offset 4"),
        (b"", "invalid"),
        (b'{"a": 1, "b": 2, "a": 1}', "'a' comes twice"), (b"[" * 100_000, "nested too deep"),
        (b"[" + b"[]," * (1 << 20) + b"[]]", "at most 1048576 lists and objects"),
        (b"[" + b"9" * 5000 + b"]", "invalid"), (b"\xef\xbb\xbf[]", "invalid"),
    ],
)  # fmt: skip
def test_texts_that_are_no_json(text: bytes, words: str) -> None:
    with pytest.raises(LoadError, match=f"^the place: expected JSON.*{words}"):
        strict.parsed(text, "the place")


def test_many_members_one_of_which_comes_twice_take_no_time() -> None:
    text = json.dumps(dict.fromkeys(map(str, range(200_000))))[:-1] + ', "7": 0}'
    with pytest.raises(LoadError, match="'7' comes twice"):
        strict.parsed(text, "x")


@pytest.mark.parametrize(
    ("text", "words"), [("NaN", "NaN is no"), ("1e999", "beyond all"), ("-1e999", "beyond all")]
)
def test_numbers_that_are_none_are_refused(text: str, words: str) -> None:
    with pytest.raises(LoadError, match=f"^here: expected JSON, got .*{words}"):
        strict.parsed(f'{{"a": [{text}]}}', "here")


@pytest.mark.parametrize(
    ("value", "read", "words"),
    [
        (True, lambda one: one.whole(0, 9), "an integer from 0 to 9, got True"),
        (10, lambda one: one.whole(0, 9), "got 10"),
        (1.0, lambda one: one.whole(0, 9), "got 1.0"),
        (nan, lambda one: one.number(), "a number, got nan"),
        (True, lambda one: one.number(), "True"),
        (inf, lambda one: one.of(float), "a finite number with a point, got inf"),
        (nan, lambda one: one.of(float), "got nan"),
        (10**400, lambda one: one.number(), "a number"),
        (2, lambda one: one.number(0, 1), "0 to 1"),
        ("1.5", lambda one: one.exact(), "float.hex"),
        ("inf", lambda one: one.exact(), "finite"),
        ("0x1p9999", lambda one: one.exact(), "finite"),
        (1.5, lambda one: one.exact(), "a text"),
        ("0 ", lambda one: one.octets(1), "other characters"),
        ("AB", lambda one: one.octets(1), "other characters"),
        ("000", lambda one: one.octets(1), "got 3 characters"),
        ("c", lambda one: one.one_of("a", "b"), "a or b"),
        ({"a": 0}, lambda one: one.members("a", "b"), "no b"),
        ({"c": 0}, lambda one: one.some_of(("a", "b"), ()), "also 'c'"),
        (["a", "a"], lambda one: one.texts(), "distinct"),
        ("\x1b" * 99, lambda one: one.of(int), r"\\x1b"),
    ],
)  # fmt: skip
def test_members_of_another_form_say_where(
    value: Any, read: Callable[[Member], object], words: str
) -> None:
    with pytest.raises(LoadError, match=f"^here: expected .*{words}") as caught:
        read(Member("here", value))
    assert len(str(caught.value)) < 150
    assert str(caught.value).isprintable()
