//! Polynomials over fields, by coefficients or by values on a domain; rows along the last
//! axis.
//!
//! Long rows are cut by their length alone, never by the number of threads.

pub mod as_repr;
pub mod division;
pub mod evaluate;
pub mod interpolate;
pub mod inverse;
pub mod lookup;
pub mod ntt;
pub mod powers;
pub mod scan;
pub mod sparse;

use crate::op::Param;
use crate::reference::field::{Element, Field};
use crate::reference::number::exact;
use crate::reference::{Broadcast, Contents, Expected, Number};
use crate::{Args, Extents, Launch, LaunchOperand, OpError, Operand, Source};
use cloakwork_ir::View;
use smallvec::{SmallVec, smallvec};

/// Elements of a run, and runs of a unit: `csrc/kernels/poly/groups.h` has the same.
const RUN: u64 = 128;
const UNIT: u64 = 8 * RUN;

/// Rows of a field's elements.
const A: Param = Param::tensor("a", "of a field, `[.., n]`");

/// Declares an op that kernels compute.
macro_rules! declare {
    ($name:ident, $text:literal, $doc:expr, $params:expr, $args:expr, $checks:expr, $infer:expr,
     $launch:expr, $temporary:expr, $reference:expr $(, $law:expr)* $(; $cuts:expr)?) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Poly,
            doc: $doc,
            params: $params,
            forms: &[$crate::Form::own($text, $args)],
            body: $crate::Body::Kernel($crate::KernelBody {
checks: $checks,
temporary: $temporary,
$(cuts: Some($cuts),)?
..$crate::KernelBody::new(
$infer,
$launch,
$crate::Reference::Values($reference),
)
}),
            operations: $crate::rules::out_elements,
            laws: &[$($crate::Law::Reprs($law)),*],
        };
    };
}
use declare;

/// A tensor of a field with at least one axis; the length of its last axis.
fn length(name: &'static str, operand: Operand) -> Result<u64, OpError> {
    crate::rules::dtype_in(name, operand, &cloakwork_ir::FIELD_DTYPES)?;
    operand
        .dims()
        .last()
        .copied()
        .ok_or_else(|| OpError::shape(name, "at least one axis", operand.shape()))
}

/// One element of the dtype of `a`, without axes.
fn scalar(args: &Args, name: &'static str) -> Result<(), OpError> {
    crate::rules::same_dtype(args, name, args.tensor("a")?.dtype)?;
    crate::rules::rank_is(name, args.tensor(name)?, 0)
}

/// Runs of a row.
const fn runs(n: u64) -> u64 {
    n.div_ceil(RUN)
}

/// The stride along the last axis.
fn step(view: &View) -> i64 {
    view.strides.last().copied().unwrap_or(1)
}

/// A launch over rows, and maybe parts of each; the last dimension says how long a unit takes.
struct Rows {
    rows: SmallVec<[i64; 8]>,
    parts: Option<u64>,
    weight_ns: u64,
}

impl Rows {
    /// Rows of a tensor along its last axis.
    fn of(view: &View) -> Self {
        let dims = view.shape.dims();
        let rows = dims.iter().take(dims.len().saturating_sub(1));
        Self {
            rows: rows.map(|&dim| dim as i64).collect(),
            parts: None,
            weight_ns: 1,
        }
    }

    /// Cut into so many parts.
    fn parts(self, parts: u64) -> Self {
        Self {
            parts: Some(parts),
            ..self
        }
    }

    /// About the nanoseconds of a unit.
    fn weight(self, weight_ns: u64) -> Self {
        Self { weight_ns, ..self }
    }

    fn count(&self) -> u64 {
        self.rows.iter().map(|&dim| dim as u64).product()
    }

    /// A tensor whose first axes are the rows; a part is so many elements after the one before.
    fn operand(
        &self,
        args: &Args,
        name: &'static str,
        part: i64,
    ) -> Result<LaunchOperand, OpError> {
        let view = args.tensor(name)?.view;
        let rows = view.strides.iter().copied().take(self.rows.len());
        Ok(LaunchOperand {
            source: args.source(name)?,
            offset: view.offset,
            strides: self.strides(rows, part),
        })
    }

    /// An element for all rows, or nothing.
    fn same(&self, args: &Args, name: &'static str) -> Result<LaunchOperand, OpError> {
        args.operand_if_any(
            name,
            &self.strides(std::iter::repeat_n(0, self.rows.len()), 0),
        )
    }

    /// Memory of the call's own from an element on: rows of so many elements, one after another.
    fn temporary(
        &self,
        args: &Args,
        (offset, row): (u64, u64),
        part: i64,
    ) -> Result<LaunchOperand, OpError> {
        let mut stride = row as i64;
        let mut strides: SmallVec<[i64; 8]> = smallvec![0; self.rows.len()];
        for (own, &dim) in strides.iter_mut().zip(&self.rows).rev() {
            *own = stride;
            stride = stride.saturating_mul(dim);
        }
        Ok(LaunchOperand {
            source: Source::Temporary(args.tensor("out")?.dtype),
            offset: offset as i64,
            strides: self.strides(strides.into_iter(), part),
        })
    }

    fn strides(&self, rows: impl Iterator<Item = i64>, part: i64) -> Extents {
        let parts = self.parts.map(|_| part);
        rows.chain(parts).chain([0]).collect()
    }

    fn launch(
        &self,
        kernel: &'static str,
        operands: SmallVec<[LaunchOperand; 5]>,
        params: &[i64],
    ) -> Launch {
        let parts = self.parts.map(|parts| parts as i64);
        let units = self.rows.iter().copied().chain(parts);
        let mut dims: Extents = units.collect();
        let split = dims.len();
        dims.push(self.weight_ns.max(1) as i64);
        Launch {
            kernel,
            dims,
            split,
            operands,
            params: Extents::from_slice(params),
        }
    }
}

/// Rows along the last axis of an operand, each made a row of the result.
fn each_row(
    args: &Args,
    contents: &dyn Contents,
    name: &'static str,
    made: &dyn Fn(&Field, &[Element]) -> Vec<Element>,
) -> Result<Expected, OpError> {
    let operand = args.tensor(name)?;
    let field = Field::of(operand.dtype);
    let rows = numbers(args, contents, name)?;
    let (n, count) = (length(name, operand)?, Rows::of(operand.view).count());
    let row = |at: u64| &rows[(at * n) as usize..((at + 1) * n) as usize];
    let results = (0..count).flat_map(|at| made(&field, row(at)));
    Ok(exact(
        args.tensor("out")?.dtype,
        results.map(Number::Element),
    ))
}

/// The elements of an operand of a field.
fn numbers(
    args: &Args,
    contents: &dyn Contents,
    name: &'static str,
) -> Result<Vec<Element>, OpError> {
    let all = Broadcast::own(args, contents, name)?.numbers();
    Ok(all.iter().map(Number::element).collect())
}

/// The one element of an operand, if it is given.
fn one_number(
    args: &Args,
    contents: &dyn Contents,
    name: &'static str,
) -> Result<Option<Element>, OpError> {
    Ok(match args.tensor_if_any(name)? {
        Some(_) => numbers(args, contents, name)?.into_iter().next(),
        None => None,
    })
}

/// `sum_i a[i] x^i`, power by power.
fn value_at(field: &Field, a: &[Element], x: &Element) -> Element {
    let mut power = field.one();
    a.iter().fold(field.zero(), |sum, coefficient| {
        let term = field.multiply(coefficient, &power);
        power = field.multiply(&power, x);
        field.add(&sum, &term)
    })
}

/// Nanoseconds that a unit of runs takes, by so many a step.
const fn unit_ns(n: u64, step_ns: u64) -> u64 {
    (if n < UNIT { n } else { UNIT }) * step_ns
}
