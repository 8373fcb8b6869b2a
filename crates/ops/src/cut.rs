//! How a call is cut into calls on parts of its operands, which several devices compute.
//!
//! The parts are independent, and their results together are the call's, to the bit.

use crate::{Args, OpError, Operand, Value};
use smallvec::SmallVec;

/// One way to cut a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The axis of the result that is cut; none where the results of the parts are added up.
    pub out: Option<usize>,
    /// The size of what is cut.
    pub size: u64,
    /// The operands that are cut, each with its axis. All others go to each part whole.
    pub operands: SmallVec<[(&'static str, usize); 4]>,
}

/// The ways to cut a call.
pub type CutsFn = fn(&Args) -> Result<Vec<Cut>, OpError>;

impl Cut {
    /// A cut of an axis of the result and, of each operand that is given, of one of its axes.
    #[must_use]
    pub fn along(out: usize, size: u64, operands: &[(&'static str, usize)]) -> Self {
        Self {
            out: Some(out),
            size,
            operands: operands.into(),
        }
    }
}

/// All axes of the result of an op that computes each element from one element of each operand, by
/// NumPy's rules of broadcasting. None if an operand is longer than the result.
pub(crate) fn elementwise(args: &Args) -> Vec<Cut> {
    let Some(out) = args.def.out() else {
        return Vec::new();
    };
    let Some(&Value::Tensor(result)) = args.values.get(out) else {
        return Vec::new();
    };
    let rank = result.view.rank();
    let named = args.def.params.iter().zip(&args.values).enumerate();
    let operands = named.filter_map(|(index, (param, value))| match value {
        Value::Tensor(operand) if index != out => Some((param.name, operand)),
        _ => None,
    });
    let operands: SmallVec<[(&'static str, &Operand); 4]> = operands.collect();
    if operands
        .iter()
        .any(|(_, operand)| operand.view.rank() > rank)
    {
        return Vec::new();
    }
    let cut = |axis: usize| {
        let size = result.dims()[axis];
        let cut = operands.iter().filter_map(|(name, operand)| {
            let own = (axis + operand.view.rank()).checked_sub(rank)?;
            (operand.dims()[own] == size).then_some((*name, own))
        });
        Cut {
            out: Some(axis),
            size,
            operands: cut.collect(),
        }
    };
    (0..rank).map(cut).collect()
}

/// The axes before the last one, of the result and of an operand of its shape: an op that computes
/// row by row.
pub(crate) fn rows(args: &Args, name: &'static str) -> Result<Vec<Cut>, OpError> {
    let a = args.tensor(name)?;
    let rows = a.dims().iter().take(a.view.rank().saturating_sub(1));
    let cut = |(axis, &size): (usize, &u64)| Cut::along(axis, size, &[(name, axis)]);
    Ok(rows.enumerate().map(cut).collect())
}
