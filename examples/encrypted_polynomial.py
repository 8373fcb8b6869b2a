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
context = fhe.ckks(degree=8192, moduli=[50, 40, 40], special=[50])
keys = context.keygen()
x = np.linspace(-2, 2, context.slots)
encrypted = keys.encrypt(x, bound=2.0)


# The server: it holds `keys.evaluation` and the ciphertext, and can read neither.
def polynomial(a: fhe.CkksCiphertext) -> fhe.CkksCiphertext:
    """X (x + 1): one multiplication, and the rescaling that keeps the scale small."""
    return (a * (a + 1)).rescale()


eager = polynomial(encrypted)

# The same code over ciphertexts without elements gives a program, and that a transcript.
program = cw.trace(polynomial, encrypted)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
program.to_heal().save(folder / "polynomial.json")

# Anyone: load it, run it, compare with the values it expects.
result = cw.heal.load(folder / "polynomial.json").run(verify=True)
assert result.mismatches == []
(computed,) = program.results(result.outputs)
np.testing.assert_array_equal(np.asarray(computed.data), np.asarray(eager.data))

# The client again.
got = keys.decrypt(computed).real
print(f"largest error of x (x + 1) on {len(x)} numbers: {np.abs(got - x * (x + 1)).max():.1e}")
print(f"it was to stay below 2^-{computed.precision_estimate():.1f}")
assert np.abs(got - x * (x + 1)).max() < 2.0 ** -computed.precision_estimate()
