//! Circuits: constraints (A w) (B w) = C w, row by row.

use super::sections::{Kind, Section, Sections};
use super::{Pairing, Rows};
use crate::{LoadError, files};
use cloakwork_ir::Bytes;
use std::path::Path;

pub(super) static KIND: Kind = Kind {
    magic: "r1cs",
    newest: 1,
    sections: &[
        "",
        "header",
        "constraints",
        "labels of wires",
        "custom gates",
        "uses of them",
    ],
};

/// A circuit. Wire 0 is the constant 1, then come outputs, public inputs, the private inputs that
/// some constraint uses, and what the circuit computes between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct R1cs {
    /// The curve whose scalars the wires are.
    pub curve: Pairing,
    /// Wires, the constant 1 among them.
    pub wires: u32,
    /// Outputs, all public.
    pub outputs: u32,
    /// Public inputs.
    pub public_inputs: u32,
    /// Private inputs of the source. circom counts those that no constraint uses, too, and drops
    /// their wires: there may be more than wires.
    pub private_inputs: u32,
    /// Names that the circuit's source has for wires, those that were optimised away among them.
    pub labels: u64,
    /// A, B and C: a row a constraint, a column a wire, values canonical.
    pub matrices: [Rows; 3],
}

impl R1cs {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not such a circuit.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        Self::parse(&files::read(path)?)
    }

    /// Reads a file's contents. Takes memory in proportion to them.
    ///
    /// # Errors
    /// They are not a circuit over a known prime, or are damaged.
    pub fn parse(bytes: &Bytes) -> Result<Self, LoadError> {
        let file = Sections::parse(bytes, &KIND)?;
        let (mut circuit, constraints) = header(file.section(1)?)?;
        if file.has(4) {
            refuse_custom_gates(file.section(4)?)?;
        }
        if file.has(3) {
            file.whole(3, u64::from(circuit.wires) * 8, "a label a wire")?;
        }
        circuit.matrices = matrices(file.section(2)?, &circuit, constraints)?;
        Ok(circuit)
    }

    /// Number of constraints.
    #[must_use]
    pub fn constraints(&self) -> usize {
        self.matrices[0].rows()
    }

    /// Outputs and public inputs.
    #[must_use]
    pub fn public(&self) -> u32 {
        self.outputs + self.public_inputs
    }
}

fn header(mut from: Section<'_>) -> Result<(R1cs, u32), LoadError> {
    let curve = from.scalar_prime()?;
    let start = from.at;
    let [wires, outputs, public_inputs, private_inputs] =
        [from.u32()?, from.u32()?, from.u32()?, from.u32()?];
    let kept = 1 + u64::from(outputs) + u64::from(public_inputs);
    if u64::from(wires) < kept {
        from.at = start;
        let expected = format!("at least {kept} wires: the constant, outputs and public inputs");
        return Err(from.wrong(&expected, &wires.to_string()));
    }
    let (labels, constraints) = (from.u64()?, from.u32()?);
    from.end()?;
    let circuit = R1cs {
        curve,
        wires,
        outputs,
        public_inputs,
        private_inputs,
        labels,
        matrices: [Rows::new(), Rows::new(), Rows::new()],
    };
    Ok((circuit, constraints))
}

fn refuse_custom_gates(mut from: Section<'_>) -> Result<(), LoadError> {
    let gates = from.u32()?;
    if gates == 0 {
        return Ok(());
    }
    from.at = 0;
    let hint = "custom gates are for PLONK: compile the circuit without them";
    let got = format!("{gates} custom gates");
    Err(from.hinted("a circuit of constraints alone", &got, hint))
}

fn matrices(
    mut from: Section<'_>,
    circuit: &R1cs,
    constraints: u32,
) -> Result<[Rows; 3], LoadError> {
    // A constraint takes 12 bytes at least: a count that the section cannot hold ends here.
    if constraints as usize > from.left() / 12 {
        let expected = format!("{constraints} constraints, as the header says");
        return Err(from.wrong(&expected, &format!("{} bytes", from.left())));
    }
    let mut matrices = [Rows::new(), Rows::new(), Rows::new()];
    for _ in 0..constraints {
        for matrix in &mut matrices {
            combination(&mut from, circuit, matrix)?;
            matrix.end_row();
        }
    }
    from.end()?;
    Ok(matrices)
}

/// The sum of some wires times constants.
fn combination(from: &mut Section<'_>, circuit: &R1cs, into: &mut Rows) -> Result<(), LoadError> {
    let terms = from.u32()? as usize;
    if terms > from.left() / (4 + circuit.curve.scalar_bytes()) {
        from.at -= 4;
        let expected = format!("terms that fit into {} bytes", from.left());
        return Err(from.wrong(&expected, &format!("{terms} terms")));
    }
    for _ in 0..terms {
        into.columns.push(from.index(circuit.wires, "wire")?);
        let value = from.residue(circuit.curve.scalar_prime(), "coefficient")?;
        into.values.extend_from_slice(value);
    }
    Ok(())
}
