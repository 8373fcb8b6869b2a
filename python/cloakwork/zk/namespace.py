"""The names of `cloakwork.zk`; loaded when one is asked for."""

from cloakwork.zk import groth16
from cloakwork.zk.builder import ProgramBuilder
from cloakwork.zk.fields import Curve, Field, curve, field
from cloakwork.zk.files import (
    Circuit,
    Matrix,
    ProvingKey,
    Witness,
    read_r1cs,
    read_wtns,
    read_zkey,
    write_r1cs,
    write_wtns,
)
from cloakwork.zk.hashes import poseidon
from cloakwork.zk.instructions import Program, run
from cloakwork.zk.lookups import permute_expression
from cloakwork.zk.parameters import Coef, Lagrange, Point, Points, Scalar, Tensor
from cloakwork.zk.polynomials import add_constant, as_coef, as_elements, as_lagrange
from cloakwork.zk.randomness import blind, uniform
from cloakwork.zk.running import Outcome
from cloakwork.zk.statements import Proof, Public, VerifyingKey
from cloakwork.zk.traced import ProgramFunction, Traced, compile, program
from cloakwork.zk.transcripts import Transcript
from cloakwork.zk.values import bytes_of, point, points, poly, scalar, tensor, transcript

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
    "ProvingKey",
    "Public",
    "Scalar",
    "Tensor",
    "Traced",
    "Transcript",
    "VerifyingKey",
    "Witness",
    "add_constant",
    "as_coef",
    "as_elements",
    "as_lagrange",
    "blind",
    "bytes_of",
    "compile",
    "curve",
    "field",
    "groth16",
    "permute_expression",
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
