"""Poseidon, transcripts and blinding, against circomlibjs, hashlib and plain Python."""

from __future__ import annotations

import pickle

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import zk
from cloakwork.errors import DTypeError, OpError, OpIndexError, ParamError
from hypothesis import given, settings
from hypothesis import strategies as st

from python import vectors
from python import zk_oracles as oracle

R = oracle.P["bn254.fr"]
SCALARS = ["bn254.fr", "bls12_381.fr", "goldilocks", "babybear", "koalabear", "pasta.fp"]
CURVES = oracle.CURVES


@pytest.fixture(params=vectors.BACKENDS)
def backend(request: pytest.FixtureRequest) -> object:
    with cw.select_backend(request.param):
        yield request.param


def test_poseidon_is_circomlibs_on_every_instruction_set(backend: object) -> None:
    for case in vectors.load("poseidon_circomlib.json")["cases"]:
        inputs = [int(value) for value in case["inputs"]]
        assert int(zk.poseidon(inputs)) == int(case["hash"])


def test_poseidon_of_many_rows_is_that_of_each(backend: object) -> None:
    rows = [[(i * 7919 + j) ** 9 % R for j in range(3)] for i in range(19)]
    together = zk.poseidon(cw.asarray(rows, dtype="bn254.fr"))
    assert together.tolist() == [int(zk.poseidon(row)) for row in rows]
    columns = cw.asarray(np.array(rows, dtype=object).T, dtype="bn254.fr").T
    assert zk.poseidon(columns).tolist() == together.tolist()


def test_poseidon_refuses_what_circomlib_does_not_have() -> None:
    with pytest.raises(OpError, match="last axis of 1 to 16"):
        zk.poseidon([1] * 17)
    with pytest.raises(OpError, match=r"bn254\.fr"):
        zk.poseidon(cw.asarray([1], dtype="goldilocks"))


def scalar_bytes(value: int, dtype: str) -> bytes:
    return value.to_bytes(oracle.BYTES[dtype], "little")


@pytest.mark.parametrize("dtype", SCALARS)
@pytest.mark.parametrize("name", ["blake2b", "keccak256"])
def test_challenges_and_proofs_are_functions_of_the_bytes(name: str, dtype: str) -> None:
    p = oracle.P[dtype]
    transcript = zk.Transcript(dtype, hash=name)  # type: ignore[arg-type]
    values = [0, 1, p - 1, p // 3, 2**30 + 5]
    log = b"".join(b"\x02" + scalar_bytes(value, dtype) for value in values)
    transcript.absorb(cw.asarray(values, dtype=dtype))
    for step in range(3):
        log += b"\x00"
        expected = oracle.challenge(name, log, p)
        challenge = transcript.challenge()
        assert int(challenge) == expected
        assert challenge.dtype == dtype
        transcript.write(challenge)
        transcript.write(step)
        log += b"\x02" + scalar_bytes(expected, dtype) + b"\x02" + scalar_bytes(step, dtype)
    proof = bytes(np.asarray(transcript.proof()))
    assert len(proof) == 6 * oracle.BYTES[dtype]
    assert proof[-oracle.BYTES[dtype] :] == scalar_bytes(2, dtype)


def test_a_transcript_grows_and_copies_go_their_own_ways() -> None:
    transcript = zk.Transcript("goldilocks")
    values = list(range(2000))
    for start in range(0, 2000, 100):
        transcript.write(cw.asarray(values[start : start + 100], dtype="goldilocks"))
    twin = transcript.copy()
    log = b"".join(b"\x02" + scalar_bytes(value, "goldilocks") for value in values)
    expected = oracle.challenge("blake2b", log + b"\x00", oracle.P["goldilocks"])
    assert int(transcript.challenge()) == expected
    twin.absorb(1)
    assert int(twin.challenge()) != expected
    proof = bytes(np.asarray(transcript.proof()))
    assert proof == b"".join(scalar_bytes(value, "goldilocks") for value in values)


def test_a_transcript_is_traced_like_anything_else() -> None:
    def prove(a: cw.Tensor) -> tuple[cw.Tensor, cw.Tensor]:
        transcript = zk.Transcript("bn254.fr")
        transcript.write(a)
        challenge = transcript.challenge()
        transcript.write(challenge * a)
        return challenge, transcript.proof()

    a = cw.asarray([3, 5], dtype="bn254.fr")
    eager = [value.tolist() for value in prove(a)]
    program = cw.trace(prove, a)
    assert [value.tolist() for value in program.run(a).outputs] == eager


def test_transcripts_that_are_none_are_refused() -> None:
    with pytest.raises(DTypeError, match="a prime field"):
        zk.Transcript("i64")
    with pytest.raises(ParamError, match="blake2b or keccak256"):
        zk.Transcript("bn254.fr", hash="sha256")  # type: ignore[arg-type]
    a = cw.asarray([1], dtype="bn254.fr")
    with pytest.raises(OpError, match="16 \\+ 2 capacity"):
        cw.ops.absorb(cw.zeros(15, dtype="uint8"), a)
    full = cw.ops.transcript_new(32)
    with pytest.raises(OpError, match="larger capacity"):
        cw.ops.absorb(full, a)
    lying = cw.asarray([255] * 80, dtype="uint8")
    for call in (
        lambda: cw.ops.absorb(lying, a),
        lambda: cw.ops.transcript_squeeze(lying),
        lambda: cw.ops.challenge(lying, 0, "bn254.fr"),
        lambda: cw.ops.transcript_finish(lying, 3),
    ):
        with pytest.raises(OpError):
            call()


def test_a_proof_of_nothing_has_no_bytes() -> None:
    transcript = cw.ops.transcript_new(300)
    assert cw.ops.transcript_finish(transcript, 0).tolist() == []
    program = cw.trace(lambda t: cw.ops.transcript_finish(t, 0), transcript)
    assert program.run(transcript).outputs[0].tolist() == []


def test_only_what_a_transcript_is_about_is_absorbed() -> None:
    """A number is accepted unchanged or refused; points of another curve are refused."""
    transcript = zk.Transcript("bn254.fr")
    for value in (-1, R, R + 5, 2**300):
        for take in (transcript.absorb, transcript.write):
            with pytest.raises(ParamError, match=rf"an integer from 0 to {R - 1}"):
                take(value)
    generator = zk.curve("bls12_381").g1_generator
    for stranger in (cw.asarray([1], dtype="bls12_381.fr"), generator):
        with pytest.raises(DTypeError, match=r"elements of bn254\.fr, or points of its curve"):
            transcript.absorb(stranger)
    before = transcript.state.tolist()
    transcript.absorb(R - 1)
    transcript.absorb(zk.curve("bn254").g1_generator)
    assert transcript.state.tolist() != before


def drawn(key: bytes, domain: int, count: int, p: int) -> list[int]:
    nonce = (domain % 2**64).to_bytes(8, "little")
    blocks = (oracle.chacha20_block(key, i, nonce) for i in range(count))
    return [int.from_bytes(block, "little") % p for block in blocks]


@pytest.mark.parametrize("dtype", list(oracle.P))
def test_uniform_elements_are_blocks_of_chacha20(dtype: str, backend: object) -> None:
    key = bytes(range(7, 39))
    tensor = cw.asarray(np.frombuffer(key, np.uint8))
    for domain in (0, 3, -1):
        got = cw.ops.uniform_field(tensor, (5, 7), dtype, domain)
        assert np.asarray(got).ravel().tolist() == drawn(key, domain, 35, oracle.P[dtype])


def test_results_do_not_depend_on_threads_or_on_strides() -> None:
    key = cw.asarray(np.arange(32, dtype=np.uint8))
    cw.set_threads(1)
    one = cw.ops.uniform_field(key, (40_000,), "bn254.fr", 5)
    cw.set_threads(3)
    three = cw.ops.uniform_field(key, (40_000,), "bn254.fr", 5)
    assert bool(cw.all(one == three))
    turned = cw.zeros((4, 3), dtype="bn254.fr").T
    cw.ops.uniform_field(key, (3, 4), "bn254.fr", 5, out=turned)
    assert turned.tolist() == one[:12].reshape(3, 4).tolist()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_blinding_changes_its_range_and_nothing_else(data: st.DataObject) -> None:
    length = data.draw(st.integers(0, 40))
    start = data.draw(st.integers(0, length))
    end = data.draw(st.integers(start, length))
    domain = data.draw(st.integers(-(2**63), 2**63 - 1))
    key = data.draw(st.binary(min_size=32, max_size=32))
    values = list(range(length))
    a = cw.asarray(np.array(values, dtype=object), dtype="bn254.fr")
    cw.ops.blind(a, start, end, cw.asarray(np.frombuffer(key, np.uint8)), domain)
    expected = values[:start] + drawn(key, domain, end - start, R) + values[end:]
    assert a.tolist() == expected


def test_blinding_refuses_ranges_and_keys_that_are_none() -> None:
    a, key = cw.zeros(4, dtype="bn254.fr"), cw.zeros(32, dtype="uint8")
    for start, end in ((3, 2), (0, 5)):
        with pytest.raises(OpIndexError, match="`end`"):
            cw.ops.blind(a, start, end, key, 0)
    with pytest.raises(OpError, match="`key`"):
        cw.ops.blind(a, 0, 1, cw.zeros(31, dtype="uint8"), 0)
    with pytest.raises(OpError, match="`a`"):
        cw.ops.blind(cw.zeros(4), 0, 1, key, 0)


def test_a_transcripts_state_is_a_tensor_that_pickles() -> None:
    transcript = zk.Transcript("bn254.fr")
    transcript.write(9)
    again = pickle.loads(pickle.dumps(transcript))
    assert int(again.challenge()) == int(transcript.challenge())


@pytest.mark.parametrize("curve", list(CURVES))
@pytest.mark.parametrize("name", ["blake2b", "keccak256"])
def test_points_are_absorbed_by_coordinates_and_written_compressed(name: str, curve: str) -> None:
    base, scalars = CURVES[curve]
    p = oracle.P[base]
    generator = zk.curve(curve).g1_generator.item()
    points = [oracle.multiply_point(k, generator, p) for k in (1, 2, 3, 12345)]
    points.append((points[0][0], p - points[0][1]))
    transcript = zk.Transcript(scalars, hash=name)  # type: ignore[arg-type]
    tensor = cw.asarray(points, dtype=f"{curve}.g1")
    transcript.absorb(tensor[:2])
    transcript.write(tensor[2:])
    log = b"".join(b"\x01" + oracle.encoded_point(curve, point)[0] for point in points) + b"\x00"
    assert int(transcript.challenge()) == oracle.challenge(name, log, oracle.P[scalars])
    proof = b"".join(oracle.encoded_point(curve, point)[1] for point in points[2:])
    assert bytes(np.asarray(transcript.proof())) == proof


def test_a_point_at_infinity_is_refused_and_changes_nothing() -> None:
    transcript = zk.Transcript("bn254.fr")
    before = transcript.state.tolist()
    points = cw.asarray([(1, 2), None], dtype="bn254.g1")
    for take in (transcript.absorb, transcript.write):
        with pytest.raises(OpError, match="infinity, at row-major place 1"):
            take(points)
    assert transcript.state.tolist() == before
