//! `poseidon`: circomlib's hash.

use super::poseidon_reference;
use crate::op::Param;
use crate::{
    Body, Extents, Family, Form, Launch, OpDef, OpError, Operand, Reference, geometry, rules,
};
use cloakwork_ir::{DType, Field, Type};
use smallvec::{SmallVec, smallvec};

/// Elements that one hash takes.
const MAX_INPUTS: u64 = 16;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "poseidon",
    family: Family::Hash,
    doc: "The Poseidon hash of each row of 1 to 16 elements, as in circomlib: the first \
          element of the permutation of width n + 1 of 0 and the row. x^5, 8 full rounds; \
          constants by the Grain LFSR (eprint 2019/458).",
    params: &[
        Param::tensor("a", "bn254.fr `[.., n]`, n from 1 to 16"),
        Param::out("`[..]`"),
    ],
    forms: &[Form::own("poseidon", &["a", "out"])],
    body: Body::kernel(
        |args| {
            let (rows, _) = inputs(args.tensor("a")?)?;
            Ok(Type::new(
                DType::Field(Field::BN254_FR),
                geometry::shape("a", rows)?,
            ))
        },
        |args| {
            let (a, out) = (args.tensor("a")?, args.tensor("out")?);
            let (rows, width) = inputs(a)?;
            let mut strides = Extents::from_slice(&out.view.strides);
            strides.push(0);
            let operands: SmallVec<_> = smallvec![
                args.operand("out", &strides)?,
                args.operand("a", &a.view.strides)?
            ];
            Ok(smallvec![Launch {
                kernel: "poseidon",
                dims: a.dims().iter().map(|&dim| dim as i64).collect(),
                split: rows.len(),
                operands,
                params: smallvec![width as i64],
            }])
        },
        Reference::Values(poseidon_reference::values),
    ),
    // About the products of a hash of two.
    operations: |args| rules::out_elements(args).saturating_mul(600),
    laws: &[],
};

/// The axes of rows, and the width of the state.
pub(super) fn inputs(a: Operand<'_>) -> Result<(&[u64], u64), OpError> {
    rules::dtype_in("a", a, &[DType::Field(Field::BN254_FR)])?;
    match a.dims() {
        [rows @ .., count] if (1..=MAX_INPUTS).contains(count) => Ok((rows, count + 1)),
        _ => {
            let expected = "a last axis of 1 to 16 elements";
            Err(OpError::shape("a", expected, a.shape()))
        }
    }
}
