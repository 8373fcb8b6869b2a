//! The functions of the instruction set, and the ops that they become.
//!
//! The op's declaration states the operands and attributes of a function of one op, and the
//! verifier reads the types there. This list holds the rest.
//!
//! Of functions that are made of several ops, a parameter's pattern is a kind and sizes: `F`
//! elements of one field, the same throughout; `E` the same, or numbers of one dtype; `T` a
//! transcript; `V` what it absorbs: elements and points of its curve; `B` bytes; `A` anything. `[]`
//! is a scalar, `[n]` one axis, where the same letter is the same size; no brackets: any shape.
//! `..` behind a pattern: one or more such.

use crate::lower::{Call, Lowering, Refusal};
use Kind::{Each, InPlace, Shared, Steps, Sum, Whole, WholeInPlace};
use cloakwork_formats::zk::Value;
use cloakwork_ir::Repr;
use cloakwork_ops::{OpDef, Param, ParamKind, named};

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Types of its operands and results.
    pub(crate) takes: Takes,
    /// The way in which it becomes ops.
    pub(crate) kind: Kind,
    /// Attributes that no op has.
    own_attrs: &'static [Attr],
}

/// One attribute.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    /// Its name.
    pub name: &'static str,
    /// Its kind: `int`, `bool`, `text`, `list`, or the words that it may be.
    pub kind: &'static str,
    /// Whether it must be given.
    pub required: bool,
}

/// Types of a function's operands and results.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// As the declaration of its op has them.
    Declared,
    /// As declared, for elements: points have a function of their own.
    Elements,
    /// As declared, for points.
    Points,
    /// As declared, for tensors without axes.
    Scalars,
    /// As these patterns have them.
    Patterns(Patterns),
}

/// Patterns of the operands and results of a function of several ops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patterns {
    /// Results.
    pub outs: &'static [&'static str],
    /// Operands.
    pub ins: &'static [&'static str],
    /// Description of the computation.
    pub doc: &'static str,
}

/// The way in which a function becomes ops.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// This op, element by element: pieces of windows one after another.
    Each(&'static OpDef),
    /// The same in place: the first operand is the result.
    InPlace(&'static OpDef),
    /// `+` and `-`, which have two meanings for scalars.
    Sum(&'static OpDef),
    /// This op, which takes each operand whole, then its attributes.
    Whole(&'static OpDef),
    /// The same in place.
    WholeInPlace(&'static OpDef),
    /// For each result: this op of one operand of its own and the last, which all share.
    Shared(&'static OpDef),
    /// Steps of its own.
    Steps(Lower, Reads),
}

/// Lowers a call.
type Lower = fn(&mut Lowering<'_>, &Call<'_>) -> Result<(), Refusal>;

/// When a function of several steps reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Before it writes, if it has one result.
    First,
    /// Each element before it writes that of the result.
    Elementwise,
    /// Also after it has written.
    Later,
    /// It copies operands that its results share.
    Apart,
}

const fn attr(name: &'static str, kind: &'static str) -> Attr {
    Attr {
        name,
        kind,
        required: false,
    }
}

const fn need(name: &'static str, kind: &'static str) -> Attr {
    Attr {
        name,
        kind,
        required: true,
    }
}

const SCALAR_AT: Attr = attr("scalar_at", "all | constant_term");

/// Types of operands and results as patterns, and a description of the computation.
const fn takes(outs: List, ins: List, doc: &'static str) -> Takes {
    Takes::Patterns(Patterns { outs, ins, doc })
}

/// A list of patterns.
type List = &'static [&'static str];

/// Lists functions from rows `name: kind, takes, attributes of its own`.
macro_rules! functions {
    ($($name:ident: $kind:expr, $takes:expr $(, $attr:expr)*;)*) => {
        &[$(Function {
            name: stringify!($name),
            takes: $takes,
            kind: $kind,
            own_attrs: &[$($attr),*],
        }),*]
    };
}

/// All functions, by name.
pub static FUNCTIONS: &[Function] = functions! {
    absorb: WholeInPlace(&named::ABSORB),
        takes(&["T"], &["V"], "the transcript absorbs elements or points");
    absorb_write: WholeInPlace(&named::ABSORB_WRITE),
        takes(&["T"], &["V"], "the same, and the proof gets them");
    add: Sum(&named::ADD), Takes::Elements, SCALAR_AT;
    assemble: Steps(|lowering, call| lowering.assemble(call), Reads::Later),
        takes(&["E[n]"], &["E[].."], "the polynomial of these coefficients, then zeros");
    axpy: Steps(|lowering, call| lowering.axpy(call), Reads::First),
        takes(&["E"], &["E[]", "E"], "out = out + s x");
    batch_invert: WholeInPlace(&named::BATCH_INVERT), Takes::Declared;
    distribute_powers: WholeInPlace(&named::DISTRIBUTE_POWERS), Takes::Declared;
    div: Each(&named::DIVIDE), Takes::Declared;
    evaluate: Shared(&named::EVALUATE), Takes::Declared;
    fill_lagrange_one:
        Steps(|lowering, call| lowering.fill_one(call.out()?, Repr::Lagrange), Reads::First),
        takes(&["E"], &[], "1 everywhere");
    fill_one: Steps(|lowering, call| lowering.fill_one(call.out()?, call.repr()), Reads::First),
        takes(&["E"], &[], "the polynomial 1: in coefficients only the first is 1"),
        attr("repr", "coef | lagrange");
    fill_zero: Steps(|lowering, call| lowering.fill_zero(call.out()?), Reads::First),
        takes(&["A"], &[], "0 everywhere");
    fused: Steps(|lowering, call| lowering.fused(call), Reads::Elementwise),
        takes(&["E.."], &["E.."], "steps element by element, computed block by block"),
        need("expr", "list"), need("outs", "list");
    index: Steps(|lowering, call| lowering.index(call), Reads::Apart),
        takes(&["E[]"], &["E[n]"], "p[index]"), need("index", "int");
    interpolate: Steps(|lowering, call| lowering.interpolate(call), Reads::First),
        takes(&["F[n]"], &["F.."], "the polynomial through all (xs, ys)");
    intt: Steps(|lowering, call| lowering.transform(call, true), Reads::First),
        takes(
            &["F[n]"], &["F[].."], "coefficients from values; with an operand, those on its coset"
        ),
        attr("scale", "bool"), attr("order", "natural");
    kate_div: Steps(|lowering, call| lowering.divide(call), Reads::First),
        takes(&["F[m]"], &["F[n]", "F[]"], "(p - p(b)) / (X - b)");
    msm: Shared(&named::MSM), Takes::Declared;
    mul: Each(&named::MULTIPLY), Takes::Declared;
    neg: Each(&named::NEGATIVE), Takes::Elements;
    ntt: Steps(|lowering, call| lowering.transform(call, false), Reads::First),
        takes(
            &["F[n]"], &["F[].."], "values from coefficients; with an operand, those on its coset"
        ),
        attr("scale", "bool"), attr("order", "natural");
    permute_expression: Steps(|lowering, call| lowering.permute(call), Reads::Apart),
        takes(&["F[n]", "F[n]"], &["F[n]", "F[n]"], "halo2's permuted input and table of a lookup"),
        need("usable", "int");
    point_add: Each(&named::ADD), Takes::Points;
    point_neg: Each(&named::NEGATIVE), Takes::Points;
    point_scale: Each(&named::CURVE_MUL), Takes::Declared;
    poseidon: Whole(&named::POSEIDON), Takes::Declared;
    pow: Steps(|lowering, call| lowering.power(call), Reads::First),
        takes(&["F"], &["F"], "a^e"), need("exponent", "int");
    random: Steps(|lowering, call| lowering.fill_random(call.out()?), Reads::First),
        takes(&["F[n]"], &[], "uniform elements");
    scalar_inv: InPlace(&named::RECIPROCAL), Takes::Scalars;
    scalar_pow: Steps(|lowering, call| lowering.power(call), Reads::First),
        takes(&["F[]"], &[], "s^e in place"), need("exponent", "int");
    scale: Steps(|lowering, call| lowering.scale(call), Reads::First),
        takes(&["E"], &["E[]"], "p = s p in place");
    scan_mul: Whole(&named::SCAN_MUL), Takes::Declared;
    square: Each(&named::SQUARE), Takes::Declared;
    squeeze: Steps(|lowering, call| lowering.squeeze(call), Reads::First),
        takes(&["T", "F[]"], &[], "a challenge"), attr("hash", "blake2b | keccak256");
    sub: Sum(&named::SUBTRACT), Takes::Elements, SCALAR_AT;
    transcript_finish: Steps(|lowering, call| lowering.finish_transcript(call), Reads::First),
        takes(&["B[n]"], &["T"], "the n bytes of the proof");
    transcript_new: Steps(|lowering, call| lowering.fill_zero(call.out()?), Reads::First),
        takes(&["T"], &[], "nothing absorbed yet");
};

impl Function {
    /// The op that it is, if it is one.
    pub(crate) const fn op(&self) -> Option<&'static OpDef> {
        match self.kind {
            Kind::Each(op)
            | Kind::InPlace(op)
            | Kind::Sum(op)
            | Kind::Whole(op)
            | Kind::WholeInPlace(op)
            | Kind::Shared(op) => Some(op),
            Kind::Steps(..) => None,
        }
    }

    /// Its attributes: flags and integers of its op, and its own.
    pub fn attrs(&self) -> impl Iterator<Item = Attr> {
        let params = self.op().map_or(&[][..], |op| op.params);
        params
            .iter()
            .filter_map(Attr::of)
            .chain(self.own_attrs.iter().copied())
    }

    /// The operands of its op, by name.
    pub(crate) fn operands(&self) -> Vec<&'static str> {
        let params = self.op().map_or(&[][..], |op| op.params);
        let tensors = params.iter().filter(|param| {
            use ParamKind::{OptionalTensor, Tensor, TensorOrInt};
            matches!(param.kind, Tensor | TensorOrInt | OptionalTensor)
        });
        tensors.map(|param| param.name).collect()
    }
}

impl Attr {
    /// The attribute that a parameter of an op is, if it is one.
    pub(crate) fn of(param: &Param) -> Option<Self> {
        let kind = match param.kind {
            ParamKind::Bool => "bool",
            ParamKind::Int(..) => "int",
            _ => return None,
        };
        Some(Self {
            name: param.name,
            kind,
            required: param.default.is_none(),
        })
    }

    /// Whether a value is of this kind.
    pub(crate) fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            ("int", Value::Int(_)) | ("bool", Value::Bool(_)) | ("list", Value::List(_)) => true,
            ("int" | "bool" | "list", _) => false,
            (words, Value::Text(text)) => words.split(" | ").any(|word| word == text),
            _ => false,
        }
    }
}

/// The function of this name.
#[must_use]
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
