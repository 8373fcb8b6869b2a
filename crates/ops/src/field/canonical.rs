//! `from_canonical` and `to_canonical`: between elements and the words of the numbers they are.

use crate::op::{Body, Family, Form, KernelBody, OpDef, Param, ParamKind};
use crate::reference::field::Field;
use crate::reference::number::exact;
use crate::reference::{Broadcast, Number, points};
use crate::{
    Args, ContentCheck, Launch, LaunchInput, Launches, OpError, Reference, geometry, rules,
};
use cloakwork_ir::{DType, Type, View};
use smallvec::smallvec;

/// The element or point of canonical words.
fn number(dtype: DType, words: &[i64]) -> Number {
    if dtype.is_point() {
        return Number::Point(points::from_canonical(dtype, words));
    }
    Number::Element(Field::of(dtype).from_canonical(words))
}

/// `from_canonical`.
pub static FROM: OpDef = OpDef {
    name: "from_canonical",
    family: Family::Field,
    doc: "The field elements, or points of a curve, with the canonical numbers `words[.., :]`, \
          the lowest word first.\n\nNumbers that are not below the prime, points that are not on \
          the curve, and points outside of the group of prime order are errors that name the \
          element. An element of an extension is its coefficients in order, a point its \
          coordinates; the point at infinity is all zeros.",
    params: &[
        Param::tensor(
            "words",
            "u64 `[.., w]`, w the words of an element's canonical numbers",
        ),
        Param::new(
            "dtype",
            ParamKind::DType,
            "a field or the points of a curve",
        ),
        Param::out("`[..]`"),
    ],
    forms: &[Form::own("from_canonical", &["words", "dtype", "out"])],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::Canonical {
            words: "words",
            dtype: "dtype",
        }],
        ..KernelBody::new(
            |args| {
                let (words, dtype) = (args.tensor("words")?, args.dtype("dtype")?);
                rules::dtype_in("words", words, &[DType::U64])?;
                if dtype.is_number() {
                    let expected = "a field or the points of a curve";
                    return Err(OpError::dtype("dtype", expected, dtype));
                }
                let count = dtype.canonical_words() as u64;
                let Some((_, kept)) = words
                    .dims()
                    .split_last()
                    .filter(|(last, _)| **last == count)
                else {
                    let expected = format!("a last axis of {count}, the words of {dtype}");
                    return Err(OpError::shape("words", expected, words.shape()));
                };
                Ok(Type::new(dtype, geometry::shape("words", kept)?))
            },
            |args| launch(args, "from_canonical", "words"),
            Reference::Values(|args, contents| {
                let dtype = args.dtype("dtype")?;
                let words = contents.words("words")?.chunks(dtype.canonical_words());
                Ok(exact(dtype, words.map(|own| number(dtype, own))))
            }),
        )
    }),
    operations: rules::out_elements,
    laws: &[],
};

/// `to_canonical`.
pub static TO: OpDef = OpDef {
    name: "to_canonical",
    family: Family::Field,
    doc: "The canonical numbers of field elements, or of points of a curve, as words, the lowest \
          first: the input of `from_canonical`.",
    params: &[
        Param::tensor("a", "of a field, or points"),
        Param::out("u64 `[.., w]`, w the words of an element's canonical numbers"),
    ],
    forms: &[Form::own("to_canonical", &["a", "out"])],
    body: Body::kernel(
        |args| {
            let a = args.tensor("a")?;
            if a.dtype.is_number() {
                let expected = "a field or the points of a curve";
                return Err(OpError::dtype("a", expected, a.dtype));
            }
            let words = a.dtype.canonical_words() as u64;
            let shape = geometry::extended("a", a.dims(), &[words])?;
            Ok(Type::new(DType::U64, shape))
        },
        |args| launch(args, "to_canonical", "out"),
        Reference::Values(|args, contents| {
            let dtype = args.tensor("a")?.dtype;
            let mut words = vec![];
            for element in Broadcast::own(args, contents, "a")?.numbers() {
                match element {
                    Number::Point(point) => points::canonical_words(dtype, &point, &mut words),
                    other => Field::of(dtype).canonical_words(&other.element(), &mut words),
                }
            }
            Ok(words.into())
        }),
    ),
    operations: rules::out_elements,
    laws: &[],
};

/// One launch over the elements: out and the operand, of which `words` lacks its last axis.
fn launch(args: &Args, kernel: &'static str, words: &'static str) -> Result<Launches, OpError> {
    let view = args.tensor(words)?.view;
    let step = view.strides.last().copied().unwrap_or(1);
    let lowest = geometry::without_axis(view, view.rank().saturating_sub(1))?;
    let shape = lowest.shape.clone();
    let operand = |name: &'static str| -> Result<LaunchInput, OpError> {
        let own: View = if name == words {
            lowest.clone()
        } else {
            args.tensor(name)?.view.clone()
        };
        Ok(LaunchInput::View(args.source(name)?, own))
    };
    let other = if words == "out" { "a" } else { words };
    let inputs = [operand("out")?, operand(other)?];
    let mut launch = Launch::elementwise(kernel, &shape, &inputs)?;
    launch.params.push(step);
    Ok(smallvec![launch])
}
