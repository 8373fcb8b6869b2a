"""Microsoft SEAL without HEXL, as TenSEAL's wheel carries it: `tenseal.sealapi`.

Argument: a JSON object with `degree`, `moduli` (bits of the chain) and `special` (bits); or with
`degree` and `ntt_bits` for one transform.  SEAL has one special prime and a digit for each limb.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Callable

from serve import serve, status_bytes
from tenseal import sealapi as seal


def main(wanted: dict) -> None:
    """Make the requested objects and serve operations on them."""
    serve(*(transforms(wanted) if "ntt_bits" in wanted else evaluator(wanted)))


def context_of(scheme: object, degree: int, bits: list[int]) -> seal.SEALContext:
    """Parameters that SEAL's own table may refuse: it has none above degree 2^15."""
    parameters = seal.EncryptionParameters(scheme)
    parameters.set_poly_modulus_degree(degree)
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(degree, bits))
    if scheme == seal.SCHEME_TYPE.BFV:
        parameters.set_plain_modulus(65537)
    context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.NONE)
    assert context.parameters_set(), context.parameters_error_message()
    return context


def transforms(wanted: dict) -> tuple[dict[str, Callable[[], object]], dict[str, float]]:
    """Two limbs: a fresh BFV ciphertext has two polynomials, here of one limb each."""
    bits = wanted["ntt_bits"]
    context = context_of(seal.SCHEME_TYPE.BFV, wanted["degree"], [bits, bits])
    generator = seal.KeyGenerator(context)
    encryptor = seal.Encryptor(context, generator.secret_key())
    evaluator = seal.Evaluator(context)
    ciphertext = seal.Ciphertext()
    encryptor.encrypt_symmetric(seal.Plaintext("1x^3 + 5"), ciphertext)

    def there_and_back() -> None:
        for _ in range(wanted["pairs"]):
            evaluator.transform_to_ntt_inplace(ciphertext)
            evaluator.transform_from_ntt_inplace(ciphertext)

    return {"ntt and intt": there_and_back}, {"pairs": 2 * wanted["pairs"]}


def evaluator(wanted: dict) -> tuple[dict[str, Callable[[], object]], dict[str, float]]:
    """Keys for one rotation and for relinearization, two ciphertexts, and their operations."""
    start = {"start_bytes": float(status_bytes("VmHWM"))}
    degree, moduli = wanted["degree"], wanted["moduli"]
    context = context_of(seal.SCHEME_TYPE.CKKS, degree, [*moduli, wanted["special"][0]])
    scale = 2.0 ** moduli[-1]
    generator = seal.KeyGenerator(context)
    relinearization, galois = seal.RelinKeys(), seal.GaloisKeys()
    generator.create_relin_keys(relinearization)
    element = pow(3, 1, 2 * degree)
    generator.create_galois_keys([element], galois)
    encoder, evaluator = seal.CKKSEncoder(context), seal.Evaluator(context)
    public = seal.PublicKey()
    generator.create_public_key(public)
    encryptor = seal.Encryptor(context, public)
    decryptor = seal.Decryptor(context, generator.secret_key())
    values = [random.uniform(-1, 1) for _ in range(degree // 2)]
    plain, x, y, product = (
        seal.Plaintext(),
        seal.Ciphertext(),
        seal.Ciphertext(),
        seal.Ciphertext(),
    )
    encoder.encode(values, scale, plain)
    encryptor.encrypt(plain, x)
    encryptor.encrypt(plain, y)
    evaluator.multiply(x, y, product)

    def multiply() -> None:
        out = seal.Ciphertext()
        evaluator.multiply(x, y, out)
        evaluator.relinearize_inplace(out, relinearization)
        evaluator.rescale_to_next_inplace(out)

    def multiply_plain() -> None:
        out = seal.Ciphertext()
        evaluator.multiply_plain(x, plain, out)
        evaluator.rescale_to_next_inplace(out)

    operations = {
        "relinearize": lambda: evaluator.relinearize(product, relinearization, seal.Ciphertext()),
        "rotate": lambda: evaluator.rotate_vector(x, 1, galois, seal.Ciphertext()),
        "multiply": multiply,
        "multiply_plain": multiply_plain,
        "encrypt": lambda: encryptor.encrypt(plain, seal.Ciphertext()),
        "decrypt": lambda: decryptor.decrypt(x, seal.Plaintext()),
    }
    limbs = len(moduli) + 1
    memory = float((limbs - 1) * 2 * limbs * degree * 8)
    disk = file_bytes(generator, element)
    return operations, {**start, "key_bytes": memory, "key_file_bytes": disk}


def file_bytes(generator: seal.KeyGenerator, element: int) -> float:
    """Bytes of a rotation key on disk: from a seed, and compressed, as SEAL saves it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "key")
        generator.create_galois_keys([element]).save(path)
        return float(os.path.getsize(path))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
