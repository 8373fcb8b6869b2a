//! The table of functions: what each is called with, and the ops that it becomes.
//!
//! A parameter's pattern is a kind and sizes: `F` elements of one field, the same throughout; `E`
//! the same, or numbers of one dtype; `G` points of one group, whose scalars are that field; `T` a
//! transcript; `V` what it absorbs: elements and points of its curve; `B` bytes; `A` anything.
//! `[]` is a scalar, `[n]` one axis, where the same letter is the same size; no brackets: any
//! shape. `..` behind a pattern: one or more such.

use cloakwork_formats::zk::Value;

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// What it writes.
    pub outs: &'static [&'static str],
    /// What it reads.
    pub ins: &'static [&'static str],
    /// Its attributes.
    pub attrs: &'static [Attr],
    /// How it becomes ops.
    pub(super) kind: Kind,
    /// What it computes.
    pub doc: &'static str,
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

/// How a function becomes ops.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// An op of this name, element by element: pieces of windows one after another.
    Each(&'static str),
    /// The same in place: the first operand is the result.
    InPlace(&'static str),
    /// `+` and `-`, which have two meanings for scalars.
    Sum(&'static str),
    /// An op that takes each operand whole, and attributes in this order.
    Whole(&'static str, &'static [&'static str]),
    /// The same in place.
    WholeInPlace(&'static str, &'static [&'static str]),
    /// For each result: an op of one operand of its own and the last, which all share.
    Shared(&'static str),
    /// Something else.
    Own(Own),
}

/// Functions that are lowered in a way of their own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Own {
    Transform,
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

macro_rules! function {
    ($name:literal, [$($out:literal),*], [$($in:literal),*], [$($attr:expr),*], $kind:expr,
     $doc:literal) => {
        Function {
            name: $name,
            outs: &[$($out),*],
            ins: &[$($in),*],
            attrs: &[$($attr),*],
            kind: $kind,
            doc: $doc,
        }
    };
}

/// All functions, by name.
pub static FUNCTIONS: &[Function] = &[
    function!(
        "absorb",
        ["T"],
        ["V"],
        [],
        Kind::WholeInPlace("absorb", &[]),
        "the transcript absorbs elements or points"
    ),
    function!(
        "absorb_write",
        ["T"],
        ["V"],
        [],
        Kind::WholeInPlace("absorb_write", &[]),
        "the same, and the proof gets them"
    ),
    function!(
        "add",
        ["E"],
        ["E", "E"],
        [SCALAR_AT],
        Kind::Sum("add"),
        "a + b"
    ),
    function!(
        "assemble",
        ["E[n]"],
        ["E[].."],
        [],
        Kind::Own(Own::Assemble),
        "the polynomial of these coefficients, then zeros"
    ),
    function!(
        "axpy",
        ["E"],
        ["E[]", "E"],
        [],
        Kind::Own(Own::Axpy),
        "out = out + s x"
    ),
    function!(
        "batch_invert",
        ["F[n]"],
        [],
        [attr("strict", "bool")],
        Kind::WholeInPlace("batch_invert", &["strict"]),
        "1 / p element by element; 0 stays 0"
    ),
    function!(
        "distribute_powers",
        ["F[n]"],
        ["F[m]"],
        [],
        Kind::WholeInPlace("distribute_powers", &[]),
        "p[i] = p[i] powers[i mod m]"
    ),
    function!(
        "div",
        ["E"],
        ["E", "E"],
        [],
        Kind::Each("divide"),
        "a / b; 0 where b is 0"
    ),
    function!(
        "evaluate",
        ["F[].."],
        ["F[n]..", "F[]"],
        [],
        Kind::Shared("evaluate"),
        "p(x) of each polynomial"
    ),
    function!(
        "fill_lagrange_one",
        ["E"],
        [],
        [],
        Kind::Own(Own::Fill),
        "1 everywhere"
    ),
    function!(
        "fill_one",
        ["E"],
        [],
        [attr("repr", "coef | lagrange")],
        Kind::Own(Own::Fill),
        "the polynomial 1: in coefficients only the first is 1"
    ),
    function!(
        "fill_zero",
        ["A"],
        [],
        [],
        Kind::Own(Own::Fill),
        "0 everywhere"
    ),
    function!(
        "fused",
        ["E.."],
        ["E.."],
        [need("expr", "list"), need("outs", "list")],
        Kind::Own(Own::Fused),
        "steps element by element, computed block by block"
    ),
    function!(
        "index",
        ["E[]"],
        ["E[n]"],
        [need("index", "int")],
        Kind::Own(Own::Index),
        "p[index]"
    ),
    function!(
        "interpolate",
        ["F[n]"],
        ["F.."],
        [],
        Kind::Own(Own::Interpolate),
        "the polynomial through all (xs, ys)"
    ),
    function!(
        "intt",
        ["F[n]"],
        ["F[].."],
        [attr("scale", "bool"), attr("order", "natural")],
        Kind::Own(Own::Transform),
        "coefficients from values; with an operand, those on its coset"
    ),
    function!(
        "kate_div",
        ["F[m]"],
        ["F[n]", "F[]"],
        [],
        Kind::Own(Own::Divide),
        "(p - p(b)) / (X - b)"
    ),
    function!(
        "msm",
        ["G[].."],
        ["F[n]..", "G[n]"],
        [],
        Kind::Shared("msm"),
        "sums of points times scalars, one for each polynomial"
    ),
    function!("mul", ["E"], ["E", "E"], [], Kind::Each("multiply"), "a b"),
    function!("neg", ["E"], ["E"], [], Kind::Each("negative"), "-a"),
    function!(
        "ntt",
        ["F[n]"],
        ["F[].."],
        [attr("scale", "bool"), attr("order", "natural")],
        Kind::Own(Own::Transform),
        "values from coefficients; with an operand, those on its coset"
    ),
    function!(
        "permute_expression",
        ["F[n]", "F[n]"],
        ["F[n]", "F[n]"],
        [need("usable", "int")],
        Kind::Own(Own::Permute),
        "halo2's permuted input and table of a lookup"
    ),
    function!(
        "point_add",
        ["G"],
        ["G", "G"],
        [],
        Kind::Each("add"),
        "a + b of points"
    ),
    function!(
        "point_neg",
        ["G"],
        ["G"],
        [],
        Kind::Each("negative"),
        "-a of points"
    ),
    function!(
        "point_scale",
        ["G"],
        ["F", "G"],
        [],
        Kind::Each("curve_mul"),
        "points times scalars"
    ),
    function!(
        "poseidon",
        ["F[]"],
        ["F[n]"],
        [],
        Kind::Whole("poseidon", &[]),
        "circomlib's Poseidon of the elements"
    ),
    function!(
        "pow",
        ["F"],
        ["F"],
        [need("exponent", "int")],
        Kind::Own(Own::ScalarPower),
        "a^e"
    ),
    function!(
        "random",
        ["F[n]"],
        [],
        [],
        Kind::Own(Own::Random),
        "uniform elements"
    ),
    function!(
        "scalar_inv",
        ["F[]"],
        [],
        [],
        Kind::InPlace("reciprocal"),
        "1 / s; 0 stays 0"
    ),
    function!(
        "scalar_pow",
        ["F[]"],
        [],
        [need("exponent", "int")],
        Kind::Own(Own::ScalarPower),
        "s^e in place"
    ),
    function!(
        "scale",
        ["E"],
        ["E[]"],
        [],
        Kind::Own(Own::Scale),
        "p = s p in place"
    ),
    function!(
        "scan_mul",
        ["F[n]"],
        ["F[n]", "F[]"],
        [],
        Kind::Whole("scan_mul", &[]),
        "out[i] = x0 p[0] ... p[i - 1]"
    ),
    function!("square", ["E"], ["E"], [], Kind::Each("square"), "a^2"),
    function!(
        "squeeze",
        ["T", "F[]"],
        [],
        [attr("hash", "blake2b | keccak256")],
        Kind::Own(Own::Squeeze),
        "a challenge"
    ),
    function!(
        "sub",
        ["E"],
        ["E", "E"],
        [SCALAR_AT],
        Kind::Sum("subtract"),
        "a - b"
    ),
    function!(
        "transcript_finish",
        ["B[n]"],
        ["T"],
        [],
        Kind::Own(Own::Finish),
        "the n bytes of the proof"
    ),
    function!(
        "transcript_new",
        ["T"],
        [],
        [],
        Kind::Own(Own::TranscriptNew),
        "nothing absorbed yet"
    ),
];

/// The function of this name.
#[must_use]
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

impl Attr {
    /// Whether a value is of this kind.
    pub(super) fn takes(&self, value: &Value) -> bool {
        match (self.kind, value) {
            ("int", Value::Int(_)) | ("bool", Value::Bool(_)) | ("list", Value::List(_)) => true,
            ("int" | "bool" | "list", _) => false,
            (words, Value::Text(text)) => words.split(" | ").any(|word| word == text),
            _ => false,
        }
    }
}
