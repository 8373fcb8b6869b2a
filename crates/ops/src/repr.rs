//! Coefficients and values: the form of an op's result by the forms of its operands, and which
//! forms it refuses. The verifier follows forms through a program; a run does not see them.

use crate::op::ParamKind;
use crate::{Args, Code, OpError};
use cloakwork_ir::Repr;
use smallvec::SmallVec;

/// The forms that an op demands of its operands, and the form of its result. Where the form of
/// an operand is unknown, any is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReprRule {
    /// The result has the form of this operand.
    As(&'static str),
    /// A sum or difference: operands alike; to coefficients no scalar is added everywhere.
    Sum,
    /// A product or quotient of values; coefficients are multiplied by scalars alone.
    Product,
    /// These operands are values; the result has the form that is known of them.
    Values(&'static [&'static str]),
    /// This operand is coefficients.
    Coefficients {
        /// The operand.
        operand: &'static str,
        /// Whether the result is coefficients too, and no list of scalars.
        gives: bool,
    },
    /// The result is coefficients.
    Interpolates,
    /// Coefficients become values; where this flag is set, values coefficients.
    Transforms(&'static str),
    /// This integer gives the form of the result: 0 none, 1 coefficients, 2 values.
    Says(&'static str),
}

/// The form of a parameter's tensor, where it is a polynomial of a known one.
pub type ReprOf<'a> = dyn Fn(&str) -> Option<Repr> + 'a;

impl ReprRule {
    /// The form of the result, where it is known.
    ///
    /// # Errors
    /// The first operand in a form that the op does not take.
    pub fn apply(self, args: &Args, of: &ReprOf) -> Result<Option<Repr>, OpError> {
        match self {
            Self::As(name) => Ok(of(name)),
            Self::Sum => sum(args, of),
            Self::Product => product(args, of),
            Self::Values(names) => {
                for &name in names {
                    demand(name, of(name), Repr::Lagrange)?;
                }
                Ok(names.iter().find_map(|name| of(name)))
            }
            Self::Coefficients { operand, gives } => {
                demand(operand, of(operand), Repr::Coef)?;
                Ok(gives.then_some(Repr::Coef))
            }
            Self::Interpolates => Ok(Some(Repr::Coef)),
            Self::Transforms(flag) => {
                let (from, to) = match args.flag(flag)? {
                    false => (Repr::Coef, Repr::Lagrange),
                    true => (Repr::Lagrange, Repr::Coef),
                };
                demand("a", of("a"), from)?;
                Ok(Some(to))
            }
            Self::Says(name) => Ok(said(args.int(name)?)),
        }
    }

    /// Whether the result may have a form where no operand has a known one.
    #[must_use]
    pub const fn gives_of_itself(self) -> bool {
        match self {
            Self::As(_) | Self::Sum | Self::Product | Self::Values(_) => false,
            Self::Coefficients { gives, .. } => gives,
            Self::Interpolates | Self::Transforms(_) | Self::Says(_) => true,
        }
    }

    /// Whether the op changes the form of what it writes, rather than computing in it.
    #[must_use]
    pub const fn changes(self) -> bool {
        matches!(
            self,
            Self::Transforms(_) | Self::Interpolates | Self::Says(_)
        )
    }
}

/// The form that an integer stands for.
const fn said(number: i64) -> Option<Repr> {
    match number {
        1 => Some(Repr::Coef),
        2 => Some(Repr::Lagrange),
        _ => None,
    }
}

const HINT: &str = "transform it (ntt, intt), or cast it (as_repr, or a View of \
                    kind coef or lagrange)";

fn demand(name: &'static str, got: Option<Repr>, wanted: Repr) -> Result<(), OpError> {
    match got {
        Some(got) if got != wanted => Err(wrong(name, wanted.described(), got)),
        _ => Ok(()),
    }
}

fn wrong(name: &'static str, expected: &str, got: Repr) -> OpError {
    OpError::new(Code::Repr, name, expected, got.described()).hint(HINT)
}

/// Names of the tensors that are read, and whether each is one element.
fn operands(args: &Args) -> SmallVec<[(&'static str, bool); 2]> {
    let read = args.def.params.iter();
    let read = read.filter(|param| param.kind == ParamKind::Tensor);
    let one = |param: &crate::op::Param| {
        let operand = args.tensor(param.name).ok()?;
        Some((param.name, operand.shape().elements() == 1))
    };
    read.filter_map(one).collect()
}

/// The form that all operands of a known one have.
fn alike(args: &Args, of: &ReprOf) -> Result<Option<Repr>, OpError> {
    let mut common: Option<Repr> = None;
    for (name, _) in operands(args) {
        match (common, of(name)) {
            (Some(known), Some(repr)) if known != repr => {
                return Err(wrong(name, known.described(), repr));
            }
            (_, repr) => common = common.or(repr),
        }
    }
    Ok(common)
}

fn sum(args: &Args, of: &ReprOf) -> Result<Option<Repr>, OpError> {
    let common = alike(args, of)?;
    let read = operands(args);
    let long = read.iter().any(|(_, is_one)| !is_one);
    let scalar = read
        .iter()
        .find(|(name, is_one)| *is_one && long && of(name).is_none());
    match (common, scalar) {
        (Some(Repr::Coef), Some((name, _))) => {
            let expected = "a polynomial: the other operand is coefficients";
            let error = OpError::new(Code::Repr, name, expected, "a scalar");
            Err(error.hint(
                "add it to the first coefficient alone (add_constant, or scalar_at \
                 \"constant_term\"), or transform to values first",
            ))
        }
        _ => Ok(common),
    }
}

fn product(args: &Args, of: &ReprOf) -> Result<Option<Repr>, OpError> {
    let common = alike(args, of)?;
    let read = operands(args);
    let by_coefficients = read.iter().filter(|(name, _)| of(name) == Some(Repr::Coef));
    let names: SmallVec<[&'static str; 2]> = by_coefficients.map(|(name, _)| *name).collect();
    match names.as_slice() {
        [name] if read.len() == 1 => Err(wrong(name, Repr::Lagrange.described(), Repr::Coef)),
        [_, name, ..] => Err(wrong(
            name,
            "a scalar, or values in both operands",
            Repr::Coef,
        )),
        _ => Ok(common),
    }
}
