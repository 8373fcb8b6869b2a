"""Keys: what they encrypt, what they hide, and that secrets go away."""

import copy
import io
import pickle

import cloakwork as cw
import numpy as np
import pytest
from cloakwork import fhe
from cloakwork.errors import CloakworkError, MissingKeyError
from numpy.typing import NDArray
from python.fhe_setup import Setup, slots, small_setup

SETUP = small_setup(degree=256)


def noise(setup: Setup, ciphertext: fhe.Ciphertext, message: fhe.Plaintext) -> NDArray[np.float64]:
    """Coefficients of decryption minus message, as centred integers mod q_0."""
    decrypted = setup.secret.decrypt(ciphertext)
    ring, q = setup.context.top, setup.parameters.moduli[0]
    difference = np.asarray(ring.intt(decrypted.data)) - np.asarray(ring.intt(message.data))
    centred = (difference[..., 0] + q // 2) % q - q // 2
    return np.asarray(centred, dtype=np.float64)


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_decryption_undoes_both_encryptions(batch: tuple[int, ...]) -> None:
    values = slots(SETUP, batch)
    plaintext = fhe.encode(SETUP.context, values)
    for key in (SETUP.secret, SETUP.public):
        ciphertext = key.encrypt(plaintext)
        assert tuple(ciphertext.data.shape) == (*batch, 2, 256, 4)
        assert (ciphertext.level, ciphertext.scale) == (3, 2.0**40)
        assert np.abs(SETUP.decrypt(ciphertext) - values).max() < 1e-7


@pytest.mark.parametrize("level", [0, 2])
def test_plaintexts_below_the_top_level_are_encrypted_at_theirs(level: int) -> None:
    values = slots(SETUP)
    plaintext = fhe.encode(SETUP.context, values, level=level)
    for key in (SETUP.secret, SETUP.public):
        ciphertext = key.encrypt(plaintext)
        assert ciphertext.level == level
        assert np.abs(SETUP.decrypt(ciphertext) - values).max() < 1e-7


def test_fresh_noise_has_the_size_that_the_docstrings_say() -> None:
    plaintext = fhe.encode(SETUP.context, slots(SETUP, (64,)))
    of_secret = noise(SETUP, SETUP.secret.encrypt(plaintext), plaintext).std()
    of_public = noise(SETUP, SETUP.public.encrypt(plaintext), plaintext).std()
    assert of_secret == pytest.approx(3.2, rel=0.05)
    assert of_public == pytest.approx(3.2 * (4 * 256 / 3 + 1) ** 0.5, rel=0.2)


def test_the_same_plaintext_encrypts_differently_each_time() -> None:
    plaintext = fhe.encode(SETUP.context, [1.0])
    for key in (SETUP.secret, SETUP.public):
        first, second = (np.asarray(key.encrypt(plaintext).data) for _ in range(2))
        assert (first == second).mean() < 0.01


def test_another_secret_decrypts_to_noise() -> None:
    other = fhe.SecretKey(SETUP.context)
    decoded = fhe.decode(SETUP.context, other.decrypt(SETUP.encrypt(slots(SETUP))))
    assert np.abs(decoded).min() > 100


def test_the_secret_is_ternary() -> None:
    secret = fhe.SecretKey(SETUP.context)
    ring = SETUP.context.top
    # An encryption of zero with c1 = 1 would decrypt to s itself.
    one = np.zeros((2, 256, 4), dtype=np.int64)
    one[1] = 1
    s = secret.decrypt(fhe.Ciphertext(cw.asarray(one), 3, 1.0))
    centred = np.asarray(ring.intt(s.data))
    q = np.array(ring.moduli)
    values = np.where(centred > q // 2, centred - q, centred)
    assert set(np.unique(values)) == {-1, 0, 1}
    assert (values == values[:, :1]).all()
    counts = [int((values[:, 0] == v).sum()) for v in (-1, 0, 1)]
    assert min(counts) > 40


def test_release_overwrites_the_secret() -> None:
    with fhe.SecretKey(SETUP.context) as secret:
        storage = secret._secret
        assert storage is not None
        ciphertext = secret.encrypt(fhe.encode(SETUP.context, [1.0]))
    ring = SETUP.context.top
    zeroed = cw.ops.modsum(storage, 0, ring.q)
    assert not np.asarray(zeroed).any()
    assert "released" in repr(secret)
    with pytest.raises(MissingKeyError, match="released"):
        secret.decrypt(ciphertext)


def test_a_secret_is_overwritten_when_its_key_dies() -> None:
    secret = fhe.SecretKey(SETUP.context)
    storage = secret._secret
    assert storage is not None
    del secret
    assert not np.asarray(cw.ops.modsum(storage, 0, SETUP.context.top.q)).any()


def test_a_secret_is_never_copied_or_pickled() -> None:
    secret = fhe.SecretKey(SETUP.context)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            attempt(secret)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.Pickler(io.BytesIO(), protocol).dump([secret])
    with pytest.raises(TypeError):
        secret.__getstate__()


def test_a_secret_is_never_printed() -> None:
    secret = fhe.SecretKey(SETUP.context)
    for text in (repr(secret), str(secret), f"{secret}"):
        assert text == "SecretKey(degree=256, secret hidden)"
    assert not hasattr(secret, "__dict__")
    assert repr(secret._secret) == "Tensor(<secret>, shape=(256, 4), dtype=i64)"


def test_tracing_never_captures_a_secret() -> None:
    ciphertext = SETUP.encrypt(slots(SETUP))

    def decrypts(data: cw.Tensor) -> cw.Tensor:
        return SETUP.secret.decrypt(fhe.Ciphertext(data, 3, 2.0**40)).data

    with pytest.raises((CloakworkError, ValueError, TypeError), match="secret"):
        cw.trace(decrypts, ciphertext.data)


def test_the_relinearization_key_encrypts_the_gadget_times_the_square() -> None:
    key = SETUP.secret.relinearization_key()
    ring, base_log2 = SETUP.context.top, SETUP.parameters.gadget_base_log2
    assert tuple(key.data.shape) == (ring.digit_count(base_log2), 2, 4, 256)
    pairs = key.data.moveaxis(-1, -2)
    for place in range(pairs.shape[0]):
        ciphertext = fhe.Ciphertext(pairs[place].contiguous(), 3, 1.0)
        square = np.zeros((2, 256, 4), dtype=np.int64)
        square[1] = [pow(2, base_log2 * place, q) for q in ring.moduli]
        # Decrypting (0, 2^(w j)) twice over gives 2^(w j) s, then 2^(w j) s^2.
        once = SETUP.secret.decrypt(fhe.Ciphertext(cw.asarray(square), 3, 1.0))
        square[1] = np.asarray(once.data)
        twice = SETUP.secret.decrypt(fhe.Ciphertext(cw.asarray(square), 3, 1.0))
        assert np.abs(noise(SETUP, ciphertext, twice)).max() < 8 * 3.2
