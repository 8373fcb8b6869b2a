//! Points of elliptic curves.

pub mod curve_mul;
pub mod msm;
mod product;

use crate::{OpError, Operand, rules};
use cloakwork_ir::DType;

/// The most scalar multiplications that a reference computes: some milliseconds each.
const MOST_MULTIPLES: u64 = 1 << 9;

/// Scalars are of the field that belongs to the points.
fn require_scalars(scalars: Operand, points: DType) -> Result<(), OpError> {
    match points.scalar_field() {
        Some(field) => rules::dtype_in("scalars", scalars, &[field]),
        None => Ok(()),
    }
}
