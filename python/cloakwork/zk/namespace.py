"""The names of `cloakwork.zk`; loaded when one is asked for."""

from cloakwork.zk import groth16
from cloakwork.zk.builder import ProgramBuilder
from cloakwork.zk.draws import blind, uniform
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
from cloakwork.zk.program import Outcome, Program, run
from cloakwork.zk.statements import Proof, Public, VerifyingKey
from cloakwork.zk.transcripts import Transcript
from cloakwork.zk.values import bytes_of, point, points, poly, scalar, tensor, transcript

__all__ = [
    "Circuit",
    "Curve",
    "Field",
    "Matrix",
    "Outcome",
    "Program",
    "ProgramBuilder",
    "Proof",
    "ProvingKey",
    "Public",
    "Transcript",
    "VerifyingKey",
    "Witness",
    "blind",
    "bytes_of",
    "curve",
    "field",
    "groth16",
    "point",
    "points",
    "poly",
    "poseidon",
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
