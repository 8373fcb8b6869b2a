//! The functions of the instruction set, and the ops that they become.
//!
//! What a function of one op takes, the op's declaration says: how many operands, which attributes,
//! and to the verifier which types. This list holds what a declaration cannot say.
//!
//! Of functions that are made of several ops, a parameter's pattern is a kind and sizes: `F`
//! elements of one field, the same throughout; `E` the same, or numbers of one dtype; `T` a
//! transcript; `V` what it absorbs: elements and points of its curve; `B` bytes; `A` anything. `[]`
//! is a scalar, `[n]` one axis, where the same letter is the same size; no brackets: any shape.
//! `..` behind a pattern: one or more such.

use cloakwork_formats::zk::Value;
use cloakwork_ops::{OpDef, Param, ParamKind, named};

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What it takes and gives.
    pub(crate) takes: Takes,
    /// How it becomes ops.
    pub(crate) kind: Kind,
    /// Attributes that no op has.
    own_attrs: &'static [Attr],
}

/// One attribute.
#[derive(Clone, Copy, Debug)]
pub struct Attr {
    /// Its name.
    pub name: &'static str,
    /// What it is: `int`, `bool`, `text`, `list`, or the words that it may be.
    pub kind: &'static str,
    /// Whether it must be given.
    pub required: bool,
}

/// What a function takes and gives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Takes {
    /// What the declaration of its op takes.
    Declared,
    /// Of that, elements: points have a function of their own.
    Elements,
    /// Of that, points.
    Points,
    /// Of that, what has no axes.
    Scalars,
    /// What these patterns say.
    Patterns(Patterns),
}

/// Patterns of what a function of several ops takes and gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patterns {
    /// What it writes.
    pub outs: &'static [&'static str],
    /// What it reads.
    pub ins: &'static [&'static str],
    /// What it computes.
    pub doc: &'static str,
}

/// How a function becomes ops.
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
    /// Something else.
    Own(Own),
}

/// Functions that are lowered in a way of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Own {
    Transform,
    InverseTransform,
    Scale,
    Axpy,
    Divide,
    Fused,
    Permute,
    Assemble,
    Index,
    Fill,
    Random,
    TranscriptNew,
    Squeeze,
    Finish,
    Interpolate,
    ScalarPower,
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

const fn op(name: &'static str, kind: Kind, takes: Takes) -> Function {
    Function {
        name,
        takes,
        kind,
        own_attrs: &[],
    }
}

/// A list of patterns.
type List = &'static [&'static str];

const fn own(
    name: &'static str,
    own: Own,
    (outs, ins): (List, List),
    doc: &'static str,
) -> Function {
    op(
        name,
        Kind::Own(own),
        Takes::Patterns(Patterns { outs, ins, doc }),
    )
}

/// All functions, by name.
pub static FUNCTIONS: &[Function] = &[
    op(
        "absorb",
        Kind::WholeInPlace(&named::ABSORB),
        Takes::Patterns(Patterns {
            outs: &["T"],
            ins: &["V"],
            doc: "the transcript absorbs elements or points",
        }),
    ),
    op(
        "absorb_write",
        Kind::WholeInPlace(&named::ABSORB_WRITE),
        Takes::Patterns(Patterns {
            outs: &["T"],
            ins: &["V"],
            doc: "the same, and the proof gets them",
        }),
    ),
    op("add", Kind::Sum(&named::ADD), Takes::Elements).and(&[SCALAR_AT]),
    own(
        "assemble",
        Own::Assemble,
        (&["E[n]"], &["E[].."]),
        "the polynomial of these coefficients, then zeros",
    ),
    own(
        "axpy",
        Own::Axpy,
        (&["E"], &["E[]", "E"]),
        "out = out + s x",
    ),
    op(
        "batch_invert",
        Kind::WholeInPlace(&named::BATCH_INVERT),
        Takes::Declared,
    ),
    op(
        "distribute_powers",
        Kind::WholeInPlace(&named::DISTRIBUTE_POWERS),
        Takes::Declared,
    ),
    op("div", Kind::Each(&named::DIVIDE), Takes::Declared),
    op("evaluate", Kind::Shared(&named::EVALUATE), Takes::Declared),
    own(
        "fill_lagrange_one",
        Own::Fill,
        (&["E"], &[]),
        "1 everywhere",
    ),
    own(
        "fill_one",
        Own::Fill,
        (&["E"], &[]),
        "the polynomial 1: in coefficients only the first is 1",
    )
    .and(&[attr("repr", "coef | lagrange")]),
    own("fill_zero", Own::Fill, (&["A"], &[]), "0 everywhere"),
    own(
        "fused",
        Own::Fused,
        (&["E.."], &["E.."]),
        "steps element by element, computed block by block",
    )
    .and(&[need("expr", "list"), need("outs", "list")]),
    own("index", Own::Index, (&["E[]"], &["E[n]"]), "p[index]").and(&[need("index", "int")]),
    own(
        "interpolate",
        Own::Interpolate,
        (&["F[n]"], &["F.."]),
        "the polynomial through all (xs, ys)",
    ),
    own(
        "intt",
        Own::InverseTransform,
        (&["F[n]"], &["F[].."]),
        "coefficients from values; with an operand, those on its coset",
    )
    .and(&[attr("scale", "bool"), attr("order", "natural")]),
    own(
        "kate_div",
        Own::Divide,
        (&["F[m]"], &["F[n]", "F[]"]),
        "(p - p(b)) / (X - b)",
    ),
    op("msm", Kind::Shared(&named::MSM), Takes::Declared),
    op("mul", Kind::Each(&named::MULTIPLY), Takes::Declared),
    op("neg", Kind::Each(&named::NEGATIVE), Takes::Elements),
    own(
        "ntt",
        Own::Transform,
        (&["F[n]"], &["F[].."]),
        "values from coefficients; with an operand, those on its coset",
    )
    .and(&[attr("scale", "bool"), attr("order", "natural")]),
    own(
        "permute_expression",
        Own::Permute,
        (&["F[n]", "F[n]"], &["F[n]", "F[n]"]),
        "halo2's permuted input and table of a lookup",
    )
    .and(&[need("usable", "int")]),
    op("point_add", Kind::Each(&named::ADD), Takes::Points),
    op("point_neg", Kind::Each(&named::NEGATIVE), Takes::Points),
    op(
        "point_scale",
        Kind::Each(&named::CURVE_MUL),
        Takes::Declared,
    ),
    op("poseidon", Kind::Whole(&named::POSEIDON), Takes::Declared),
    own("pow", Own::ScalarPower, (&["F"], &["F"]), "a^e").and(&[need("exponent", "int")]),
    own("random", Own::Random, (&["F[n]"], &[]), "uniform elements"),
    op(
        "scalar_inv",
        Kind::InPlace(&named::RECIPROCAL),
        Takes::Scalars,
    ),
    own(
        "scalar_pow",
        Own::ScalarPower,
        (&["F[]"], &[]),
        "s^e in place",
    )
    .and(&[need("exponent", "int")]),
    own("scale", Own::Scale, (&["E"], &["E[]"]), "p = s p in place"),
    op("scan_mul", Kind::Whole(&named::SCAN_MUL), Takes::Declared),
    op("square", Kind::Each(&named::SQUARE), Takes::Declared),
    own("squeeze", Own::Squeeze, (&["T", "F[]"], &[]), "a challenge")
        .and(&[attr("hash", "blake2b | keccak256")]),
    op("sub", Kind::Sum(&named::SUBTRACT), Takes::Elements).and(&[SCALAR_AT]),
    own(
        "transcript_finish",
        Own::Finish,
        (&["B[n]"], &["T"]),
        "the n bytes of the proof",
    ),
    own(
        "transcript_new",
        Own::TranscriptNew,
        (&["T"], &[]),
        "nothing absorbed yet",
    ),
];

impl Function {
    const fn and(mut self, attrs: &'static [Attr]) -> Self {
        self.own_attrs = attrs;
        self
    }

    /// The op that it is, if it is one.
    pub(crate) const fn op(&self) -> Option<&'static OpDef> {
        match self.kind {
            Kind::Each(op)
            | Kind::InPlace(op)
            | Kind::Sum(op)
            | Kind::Whole(op)
            | Kind::WholeInPlace(op)
            | Kind::Shared(op) => Some(op),
            Kind::Own(_) => None,
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
