"""Keys: encryption, secrecy, and the wiping of secrets."""

import copy
import io
import pickle

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import _core, fhe
from cloakwork.errors import CloakworkError, MissingKeyError, NoiseError, ParamError
from cloakwork.fhe.rns import samplers
from numpy.typing import NDArray
from python.fhe_setup import ckks, error, measured_bits, unit_slots

KEYS = ckks()
CONTEXT = KEYS.context


def noise(
    keys: fhe.Keys, ciphertext: fhe.Ciphertext, message: fhe.Plaintext
) -> NDArray[np.float64]:
    """Coefficients of decryption minus message, as centred integers mod q_0."""
    basis = keys.context.tables.chain(0)
    q = basis.moduli[0]
    decrypted = keys.decrypt_plaintext(ciphertext)
    shape = (-1, basis.degree, 1)
    both = [
        np.asarray(basis.intt(data[..., 0:1].reshape(shape)))
        for data in (decrypted.data, message.data)
    ]
    centred = (both[0] - both[1] + q // 2) % q - q // 2
    return np.asarray(centred, dtype=np.float64)


def test_fresh_noise_has_the_size_that_the_docstrings_say() -> None:
    degree = CONTEXT.parameters.degree
    plaintext = CONTEXT.encode(unit_slots(KEYS, 1, (64,)), batch=True)
    of_secret = noise(KEYS, KEYS.encrypt(plaintext), plaintext).std()
    of_public = noise(KEYS, KEYS.public.encrypt(plaintext), plaintext).std()
    assert of_secret == pytest.approx(3.2, rel=0.05)
    assert of_public == pytest.approx(3.2 * (4 * degree / 3 + 1) ** 0.5, rel=0.2)


@pytest.mark.parametrize("level", [0, 2, 4])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_decryption_undoes_both_encryptions(level: int, batch: tuple[int, ...]) -> None:
    values = unit_slots(KEYS, 2, batch)
    plaintext = CONTEXT.encode(values, level=level, batch=bool(batch))
    for ciphertext in (KEYS.encrypt(plaintext), KEYS.public.encrypt(plaintext)):
        assert tuple(ciphertext.data.shape) == (*batch, 2, CONTEXT.parameters.degree, level + 1)
        assert ciphertext.level == level
        assert measured_bits(KEYS, ciphertext, values) >= ciphertext.precision_estimate()


def test_the_same_values_encrypt_differently_each_time() -> None:
    for encrypt in (KEYS.encrypt, KEYS.public.encrypt):
        first, second = (np.asarray(encrypt([1.0]).data) for _ in range(2))
        assert (first == second).mean() < 0.01


def test_two_secrets_differ() -> None:
    other = CONTEXT.keygen(relinearization=False, conjugation=False)
    assert other.key != KEYS.key
    foreign = KEYS.encrypt([1.0])
    disguised = type(foreign)(**{**vars(foreign), "key": other.key, "evaluation": None})
    with pytest.raises(NoiseError, match="leave too little of the modulus"):
        other.decrypt(disguised)
    assert np.abs(other.decrypt(disguised, check=False)).min() > 1


def test_the_secret_is_ternary() -> None:
    keys = CONTEXT.keygen(relinearization=False, conjugation=False)
    coefficients = np.asarray(keys._coefficients())
    assert coefficients.dtype == np.int8
    assert set(np.unique(coefficients)) == {-1, 0, 1}
    assert min(int((coefficients == v).sum()) for v in (-1, 0, 1)) > 40


def test_release_overwrites_the_secret() -> None:
    with CONTEXT.keygen() as keys:
        storage = keys._secret
        assert storage is not None
        ciphertext = keys.encrypt([1.0])
    assert not np.asarray(cw.ops.modsum(storage, 0, 1 << 60)).any()
    assert "released" in repr(keys)
    for attempt in (
        lambda: keys.decrypt(ciphertext),
        lambda: keys.encrypt([1.0]),
        lambda: keys.add([1]),
    ):
        with pytest.raises(MissingKeyError, match="released"):
            attempt()
    # Public operations still work.
    assert keys.public.encrypt([1.0]).key == keys.key


def test_a_secret_is_overwritten_when_its_keys_die() -> None:
    keys = CONTEXT.keygen(relinearization=False, conjugation=False)
    storage = keys._secret
    assert storage is not None
    del keys
    assert not np.asarray(cw.ops.modsum(storage, 0, 1 << 60)).any()


def test_a_secret_is_never_copied_or_pickled() -> None:
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            attempt(KEYS)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.Pickler(io.BytesIO(), protocol).dump([KEYS])
    with pytest.raises(TypeError):
        KEYS.__getstate__()


def test_a_secret_is_never_printed() -> None:
    for text in (repr(KEYS), str(KEYS), f"{KEYS}"):
        assert text == f"Keys(degree=256, key={KEYS.key[:8]}, secret hidden)"
    assert not hasattr(KEYS, "__dict__")
    assert "secret" in repr(KEYS._secret)
    assert KEYS._secret is not None
    assert KEYS._secret.is_secret


def test_tracing_never_captures_a_secret() -> None:
    with pytest.raises(CloakworkError, match="secret"):
        cw.trace(lambda x: KEYS.decrypt_plaintext(x).data, KEYS.encrypt([1.0]))


def test_the_server_s_half_holds_no_secret() -> None:
    evaluation = KEYS.evaluation
    tensors = [key.data for key in evaluation.galois.values()]
    assert evaluation.relinearization is not None
    for data in [*tensors, evaluation.relinearization.data, KEYS.public.data]:
        assert not data.is_secret
        assert data.is_frozen
    assert not hasattr(evaluation, "decrypt")
    assert not hasattr(KEYS.public, "decrypt")


def test_seeds_expand_to_the_keystream_of_chacha20() -> None:
    # RFC 8439, appendix A.1, vector 1: key, nonce and counter of zeros.
    words = np.asarray(_core.random_words([8], bytes(32)))
    assert words.tobytes().hex() == (
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
    with pytest.raises(ParamError, match="32 bytes"):
        _core.random_words([8], bytes(31))


def test_uniform_residues_follow_their_seed_limb_by_limb() -> None:
    basis = CONTEXT.tables.chain(2)
    seed = bytes(range(32))
    drawn = np.asarray(samplers.uniform(seed, (2,), basis))
    words = np.asarray(_core.random_words([2, 3, basis.degree, 2], seed)).astype(object)
    expected = (words[..., 1] * 2**64 + words[..., 0]) % np.array(basis.moduli)[:, None]
    np.testing.assert_array_equal(drawn, np.moveaxis(expected, 1, 2).astype(np.int64))


def test_keys_that_are_there_are_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = CONTEXT.keygen(rotations=[1, 2])
    before = keys.evaluation
    made = []
    monkeypatch.setattr(fhe.Keys, "_galois_key", lambda _, element, level: made.append(element))
    keys.add([2, 1, 1], conjugation=True, relinearization=True)
    assert made == []
    assert keys.evaluation.galois == before.galois
    assert keys.evaluation.relinearization is before.relinearization
    keys.add([3, 2])
    assert made == [CONTEXT.rotation_element(3)]


def test_a_secure_set_of_parameters_computes() -> None:
    keys = fhe.ckks(2**13, [50, 40, 40], [50]).keygen(rotations=[1])
    a = unit_slots(keys, 4)
    x = keys.public.encrypt(a).using(keys.evaluation)
    result = (x * x).rescale().rotate(1) + x * 0.5
    expected = np.roll(a * a, -1) + a / 2
    assert error(keys, result, expected) < 1e-5
    assert 0 <= measured_bits(keys, result, expected) - result.precision_estimate() < 8
