"""x (x + 1) on encrypted numbers: computed eagerly, then recorded as a HEAL transcript and run.

python examples/encrypted_polynomial.py [folder for the transcript]
"""

import sys
import tempfile
from pathlib import Path

import cloakwork as cw
import numpy as np
from cloakwork import fhe

# The client: parameters that the 2024 tables call 128-bit secure, keys, an encrypted vector.
parameters = fhe.Parameters.with_bits(8192, (60, 40, 40), scale_log2=40)
context = fhe.Context(parameters)
secret = fhe.SecretKey(context)
x = np.linspace(-2, 2, parameters.degree // 2)
encrypted = secret.public_key().encrypt(fhe.encode(context, x))

# The server: it holds the relinearization key and the ciphertext, and can read neither.
evaluator = fhe.Evaluator(context, secret.relinearization_key())


def polynomial(a: fhe.Ciphertext) -> fhe.Ciphertext:
    """X (x + 1): one multiplication, and the rescaling that keeps the scale small."""
    return evaluator.rescale(evaluator.multiply(a, evaluator.add_constants(a, 1.0)))


eager = polynomial(encrypted)


def compute(data: cw.Tensor) -> cw.Tensor:
    """The same code over residues: what a program is traced from."""
    return polynomial(fhe.Ciphertext(data, encrypted.level, encrypted.scale)).data


program = cw.trace(compute, encrypted.data)
transcript = program.to_transcript(inputs=[encrypted.data])
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
transcript.save(folder / "polynomial.json")

# Anyone: load it, run it, compare with the values it expects.
result = cw.heal.load(folder / "polynomial.json").run(verify=True)
assert result.mismatches == []
np.testing.assert_array_equal(np.asarray(result.outputs[0]), np.asarray(eager.data))

# The client again.
got = fhe.decode(context, secret.decrypt(eager)).real
print(f"largest error of x (x + 1) on {len(x)} numbers: {np.abs(got - x * (x + 1)).max():.1e}")
assert np.abs(got - x * (x + 1)).max() < 1e-4
