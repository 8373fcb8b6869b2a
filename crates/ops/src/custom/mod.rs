//! Ops that a vendor declares as data: a signature, a shape rule, and perhaps an expansion into
//! existing ops. `docs/custom-ops.md` has the form of a declaration.
//!
//! One set of functions serves all of them: it reads the data of the op in the arguments' `def`.

mod registry;
mod rule;
mod toml;

pub use registry::{known_by_name, register, registered};
pub use rule::sample_types;
pub use toml::{DeclarationError, Declared, read};

use crate::op::{Body, KernelBody};
use crate::{Args, Code, Expansion, OpDef, OpError};
use cloakwork_ir::{DType, text};

/// One entry of a shape in a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// `"..."`, first in its list: any axes, which broadcast together by NumPy's rules.
    Leading,
    /// A name: the same size wherever it stands.
    Named(String),
    /// This size.
    Fixed(u64),
}

/// A tensor of a signature.
#[derive(Debug)]
pub(crate) struct Signature {
    pub name: &'static str,
    /// The dtypes that it may have; none: that of the operand `like`.
    pub dtypes: Vec<DType>,
    /// The operand whose dtype it has.
    pub like: Option<&'static str>,
    pub shape: Vec<Axis>,
}

/// The data of a declaration.
#[derive(Debug)]
pub struct Custom {
    /// The file of the declaration.
    pub file: String,
    /// The text of that file: the same one may be read again.
    pub(crate) text: String,
    pub(crate) operands: Vec<Signature>,
    pub(crate) result: Signature,
    /// The integer parameters, which a launch has as params in this order.
    pub(crate) integers: Vec<&'static str>,
    /// Steps in the text form, with placeholders.
    pub(crate) expansion: Option<String>,
}

impl OpDef {
    /// The declaration, if a vendor declared the op.
    #[must_use]
    pub fn custom(&self) -> Option<&'static Custom> {
        match &self.body {
            Body::Kernel(KernelBody { custom, .. }) => *custom,
            _ => None,
        }
    }
}

fn custom(args: &Args) -> Result<&'static Custom, OpError> {
    let mistake = || OpError::new(Code::ArgumentType, "", "a vendor's op", args.def.name);
    args.def.custom().ok_or_else(mistake)
}

/// The declared steps, with the sizes and integers of a call in their placeholders.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let source = filled(args)?;
    let program = text::parse(&source).map_err(|error| {
        let got = format!("{} in line {} of {source:?}", error.got, error.line);
        OpError::new(Code::ArgumentType, "expansion", error.expected, got)
    })?;
    steps.program(&program)
}

/// The text of an expansion for a call: `{n}` is the size of an axis or an integer parameter,
/// `{a.shape}` the sizes of an operand, `{a.dtype}` its dtype.
fn filled(args: &Args) -> Result<String, OpError> {
    let own = custom(args)?;
    let sizes = rule::Sizes::of(args, own)?;
    let mut rest = own.expansion.as_deref().unwrap_or_default();
    let mut filled = String::with_capacity(rest.len());
    // Braces that hold no placeholder are those of the text form.
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let value = after.split_once('}').and_then(|(name, behind)| {
            let value = placeholder(args, own, &sizes, name.trim())?;
            Some((value, behind))
        });
        match value {
            Some((value, behind)) => {
                filled.push_str(&value);
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn placeholder(args: &Args, own: &Custom, sizes: &rule::Sizes, name: &str) -> Option<String> {
    if let Some((tensor, what)) = name.split_once('.') {
        let all = own.operands.iter().chain([&own.result]);
        let named = all.into_iter().find(|one| one.name == tensor)?;
        let tensor = args.tensor(named.name).ok()?;
        let dims = tensor.dims().iter().map(u64::to_string);
        return match what {
            "shape" => Some(dims.collect::<Vec<_>>().join(", ")),
            "dtype" => Some(tensor.dtype.name().to_owned()),
            _ => None,
        };
    }
    if let Some(&integer) = own.integers.iter().find(|&&integer| integer == name) {
        return Some(args.int(integer).ok()?.to_string());
    }
    sizes.named(name).map(|size| size.to_string())
}
