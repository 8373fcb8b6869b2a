//! Points of elliptic curves.

pub mod curve_mul;
pub mod msm;
mod product;

use crate::{OpError, Operand, rules};
use cloakwork_ir::DType;

/// Multiples of points that references compute: a few milliseconds each.
const MOST_MULTIPLES: u64 = 1 << 13;

/// The scalar field of a group of points.
const fn scalar_field(points: DType) -> Option<DType> {
    match points {
        DType::Bn254G1 | DType::Bn254G2 => Some(DType::Bn254Fr),
        DType::Bls381G1 | DType::Bls381G2 => Some(DType::Bls381Fr),
        _ => None,
    }
}

/// Scalars are of the field that belongs to the points.
fn require_scalars(scalars: Operand, points: DType) -> Result<(), OpError> {
    match scalar_field(points) {
        Some(field) => rules::dtype_in("scalars", scalars, &[field]),
        None => Ok(()),
    }
}
