"""The names of `cloakwork.zk`; loaded when one is asked for."""

from cloakwork.zk import ceremony, export, groth16, plonk
from cloakwork.zk.circom.files import (
    Circuit,
    Matrix,
    ProvingKey,
    Witness,
    read_r1cs,
    read_wtns,
    write_r1cs,
    write_wtns,
)
from cloakwork.zk.circom.statements import Proof, Public, VerifyingKey
from cloakwork.zk.circom.systems import Prover, read_zkey
from cloakwork.zk.circom.witnesses import WitnessGenerator, generate_witness
from cloakwork.zk.instructions.builder import ProgramBuilder
from cloakwork.zk.instructions.program import Program, run
from cloakwork.zk.instructions.running import Outcome
from cloakwork.zk.instructions.values import (
    Type,
    bytes_of,
    point,
    points,
    poly,
    scalar,
    tensor,
    transcript,
)
from cloakwork.zk.protocol.fields import Curve, Field, curve, field
from cloakwork.zk.protocol.hashes import poseidon
from cloakwork.zk.protocol.lookups import permute_expression
from cloakwork.zk.protocol.pairings import pairing_check
from cloakwork.zk.protocol.polynomials import add_constant, as_coef, as_elements, as_lagrange
from cloakwork.zk.protocol.randomness import blind, uniform
from cloakwork.zk.protocol.transcripts import Transcript
from cloakwork.zk.tracing.parameters import Coef, Lagrange, Point, Points, Scalar, Tensor
from cloakwork.zk.tracing.traced import ProgramFunction, Traced, compile, program

__all__ = [
    "Circuit",
    "Coef",
    "Curve",
    "Field",
    "Lagrange",
    "Matrix",
    "Outcome",
    "Point",
    "Points",
    "Program",
    "ProgramBuilder",
    "ProgramFunction",
    "Proof",
    "Prover",
    "ProvingKey",
    "Public",
    "Scalar",
    "Tensor",
    "Traced",
    "Transcript",
    "Type",
    "VerifyingKey",
    "Witness",
    "WitnessGenerator",
    "add_constant",
    "as_coef",
    "as_elements",
    "as_lagrange",
    "blind",
    "bytes_of",
    "ceremony",
    "compile",
    "curve",
    "export",
    "field",
    "generate_witness",
    "groth16",
    "pairing_check",
    "permute_expression",
    "plonk",
    "point",
    "points",
    "poly",
    "poseidon",
    "program",
    "read_r1cs",
    "read_wtns",
    "read_zkey",
    "run",
    "scalar",
    "tensor",
    "transcript",
    "uniform",
    "write_r1cs",
    "write_wtns",
]
