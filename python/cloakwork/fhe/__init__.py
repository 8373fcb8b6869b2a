"""CKKS: approximate arithmetic on encrypted vectors, written over Tensor operations.

>>> from cloakwork import fhe
>>> parameters = fhe.Parameters.with_bits(2048, (28, 24), scale_log2=22)
>>> context = fhe.Context(parameters)
>>> secret = fhe.SecretKey(context)
>>> encrypted = secret.public_key().encrypt(fhe.encode(context, [1.5, -2.0]))
>>> total = fhe.Evaluator(context).add(encrypted, encrypted)
>>> [float(round(x.real, 1)) for x in fhe.decode(context, secret.decrypt(total))[:2]]
[3.0, -4.0]
"""

from cloakwork.fhe.ciphertext import Ciphertext, Plaintext
from cloakwork.fhe.context import Context
from cloakwork.fhe.encoding import decode, encode
from cloakwork.fhe.evaluator import Evaluator
from cloakwork.fhe.keys import PublicKey, RelinearizationKey, SecretKey
from cloakwork.fhe.parameters import ERROR_SIGMA, MODULUS_LOG2_LIMIT, Parameters

__all__ = [
    "ERROR_SIGMA",
    "MODULUS_LOG2_LIMIT",
    "Ciphertext",
    "Context",
    "Evaluator",
    "Parameters",
    "Plaintext",
    "PublicKey",
    "RelinearizationKey",
    "SecretKey",
    "decode",
    "encode",
]
