"""Key generation from the powers of tau of a ceremony; the same key for everybody, no secrets."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import cloakwork as cw
from cloakwork import _core, files, ops
from cloakwork._core import Tensor
from cloakwork.errors import LoadError, ParamError
from cloakwork.fields.parameters import ORDERS
from cloakwork.recognition import expecting
from cloakwork.zk.ceremony.contributions import Contribution, check_contributed
from cloakwork.zk.ceremony.powers_file import read
from cloakwork.zk.circom.files import Circuit, read_r1cs
from cloakwork.zk.groth16.algebra import from_words, joined, point_bytes, scalars
from cloakwork.zk.plonk.keys import ProvingKey, read_zkey
from cloakwork.zk.plonk.statements import VerifyingKey
from cloakwork.zk.protocol.fields import curve as named
from cloakwork.zk.protocol.fields import field

_Path = str | PathLike[str]

# The factors of the permutation's second and third column, as in snarkjs's keys.
_SHIFTS = (2, 3)
# Powers of tau beyond the domain.
_MORE = 6


def setup(
    r1cs: _Path | Circuit, ptau: _Path, zkey: _Path, *, vkey: _Path | None = None
) -> ProvingKey:
    """Make a proving key for a circuit, write it to `zkey`, and return it.

    The key is the one that `snarkjs plonk setup` makes of these files, byte for byte.  There are no
    secrets in it but tau, which the ceremony's contributors know nothing of if one of them was
    honest.

    ptau    powers of tau as snarkjs writes them, prepared for phase 2 or not
    vkey    the file for its verifying key; a key of another setup is never left next to it

    The powers are not checked: that is `cloakwork ptau verify`'s.

    Raises LoadError for a damaged circuit or ceremony, ParamError for a ceremony over another curve
    or with too few powers, and ProofError for one to which no party has contributed.
    """
    given = [] if isinstance(r1cs, Circuit) else [r1cs]
    files.claim([zkey, vkey], [*given, ptau])
    circuit = r1cs if isinstance(r1cs, Circuit) else read_r1cs(r1cs)
    _core.unrecorded(lambda: _write(circuit, ptau, zkey, vkey))
    return read_zkey(zkey, check=False)


def _powers(circuit: Circuit, ptau: _Path, domain: int) -> tuple[Tensor, Tensor]:
    """Powers of tau in G1, six more than the domain has points, and tau in G2, [1]."""
    name = files.name_of(ptau)
    with expecting("powers of tau, .ptau", name, "ptau"):
        curve, power, g1, g2 = _core.read_ptau(name)
    if curve != circuit.curve:
        raise ParamError("ptau", f"powers over {curve}", f"over {circuit.curve}, as the circuit")
    if domain > 1 << power or g1.shape[0] < domain + _MORE:
        raise ParamError(
            "ptau", f"2^{power} powers", f"2^{domain.bit_length() - 1} at least, for this circuit"
        )
    powers = g1[: domain + _MORE]
    if point_bytes(powers[:1]) != point_bytes(named(curve).g1_generator.reshape(1)):
        raise LoadError(f"{name}: ptau, powers of tau in G1: the first is not the generator")
    _not_known(name, powers)
    return powers, g2[1:]


def _not_known(name: str, powers: Tensor) -> None:
    """Raise ProofError where everyone knows tau: it is 1, or no party contributed."""
    told: Sequence[Contribution] = ()
    if point_bytes(powers[:1]) != point_bytes(powers[1:2]):
        try:
            told = read(name).contributions
        except LoadError:
            # A setup needs the powers alone: other programs may leave the rest out.
            return
    check_contributed(told, name, "tau", "ptau")


def _combined(table: Tensor, places: Tensor) -> Tensor:
    """The numbers x y - z of places [k, 3] in a table: [k]."""
    x, y, z = (cw.take(table, ops.contiguous(places[:, column])) for column in range(3))
    return x * y - z


def _write(circuit: Circuit, ptau: _Path, zkey: _Path, vkey: _Path | None) -> None:
    curve = circuit.curve
    matrices = (circuit.a, circuit.b, circuit.c)
    counts = (circuit.outputs, circuit.public_inputs, circuit.wires)
    parts = [[m.starts, m.columns, m.values] for m in matrices]
    made = _core.plonk_gates(curve, counts, parts)
    domain: int = made["domain"]
    powers, x2 = _powers(circuit, ptau, domain)
    table = scalars(curve, [0, 1])
    for matrix in reversed(matrices):
        table = joined(from_words(curve, matrix.values), table)
    terms = _combined(table, made["terms"])
    polynomials = [_selector(_combined(terms, one), domain) for one in made["selectors"]]
    polynomials += _permutation(curve, made["permutation"], domain)
    commitments = ops.empty((len(polynomials),), powers.dtype)
    for place, polynomial in enumerate(polynomials):
        total = ops.msm(polynomial, powers[:domain])
        commitments[place : place + 1] = total.reshape(1)
    left, right, first, second = made["additions"]
    factors = [cw.take(terms, places) for places in (first, second)]
    shifts = scalars(curve, _SHIFTS)
    rest = _lagrange(curve, domain)
    rest += [_with_values(polynomial) for polynomial in polynomials[:5]]
    rest.append(cw.concat([_with_values(polynomial) for polynomial in polynomials[5:]]))
    rest.append(powers)
    root = scalars(curve, [field(f"{curve}.fr").root_number(domain)])
    key = VerifyingKey(
        curve, circuit.public, domain.bit_length() - 1, point_bytes(joined(shifts, root)),
        point_bytes(commitments), point_bytes(x2),
    )  # fmt: skip
    sizes = (made["wires"], circuit.public, domain, left.shape[0], made["maps"][0].shape[0])
    beside = [] if vkey is None else [(files.name_of(vkey), key.to_json())]
    _core.write_plonk_zkey(
        files.name_of(zkey), (curve, sizes), [shifts, commitments, x2],
        ([left, right], factors, made["maps"]), rest, beside,
    )  # fmt: skip


def _selector(values: Tensor, domain: int) -> Tensor:
    """The polynomial with these values on the domain, and 0 after them."""
    padded = ops.zeros((domain,), values.dtype)
    padded[: values.shape[0]] = values
    return ops.field_ntt(padded, inverse=True)


def _permutation(curve: str, places: Tensor, domain: int) -> list[Tensor]:
    """S1, S2 and S3: for each place the number of the one that follows in its cycle."""
    root = scalars(curve, [field(f"{curve}.fr").root_number(domain)])
    points = ops.powers(root[0], domain)
    k1, k2 = (scalars(curve, [shift]) for shift in _SHIFTS)
    numbers = cw.take(joined(joined(points, points * k1), points * k2), places)
    columns = ops.reshape(numbers, (3, domain))
    return [ops.field_ntt(column, inverse=True) for column in columns]


def _with_values(polynomial: Tensor) -> Tensor:
    """The n coefficients, then the values on the domain of 4 n points: as snarkjs stores them."""
    size = polynomial.shape[0]
    padded = ops.zeros((4 * size,), polynomial.dtype)
    padded[:size] = polynomial
    return joined(polynomial, ops.field_ntt(padded))


def _lagrange(curve: str, domain: int) -> list[Tensor]:
    """The first Lagrange polynomial's values on 4 n points, and w^-i / n for each place i."""
    prime = ORDERS[curve]
    share = pow(domain, -1, prime)
    root = field(f"{curve}.fr").root_number(domain)
    inverse, start = scalars(curve, [pow(root, -1, prime), share])
    padded = ops.zeros((4 * domain,), inverse.dtype)
    padded[:domain] = start
    return [ops.field_ntt(padded), ops.powers(inverse, domain, start=start)]
