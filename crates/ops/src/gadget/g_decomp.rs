//! `g_decomp`: the digits of a word.

use crate::op::{Body, Family, Form, KernelBody, OpDef, Param};
use crate::reference::Expected;
use crate::{Args, Contents, Launch, LaunchInput, Launches, OpError, Reference, geometry, rules};
use cloakwork_ir::Type;
use smallvec::smallvec;

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "g_decomp",
    family: Family::Gadget,
    doc: "`out[.., j] = (a >> (j * g_base_bits)) & (2^g_base_bits - 1)`: the digits of each word, \
          the low one first, along a new last axis.\n\nNegative words count as two's complement \
          with sign extension; bits beyond `g_exp` digits are dropped.",
    params: &[
        Param::tensor("a", "i32 or i64, at most 15 axes"),
        Param::new("g_exp", super::DIGITS, "how many digits"),
        Param::new(
            "g_base_bits",
            super::DIGIT_BITS,
            "bits of a digit; an i8 result holds 8",
        ),
        Param::out("the shape of `a` and an axis of digits; as `a`, or i8"),
    ],
    forms: &[
        Form::own("g_decomp", &["a", "g_exp", "g_base_bits", "out"]),
        Form::heal("apply_g_decomp", &["a", "g_exp", "g_base_bits", "out"]),
        Form::documents("g_decomposition", &["a", "out", "g_exp", "g_base_bits"]),
    ],
    body: Body::Kernel(KernelBody {
        dtypes: super::DTYPES,
        ..KernelBody::new(infer, launch, Reference::Values(reference))
    }),
    operations: rules::out_elements,
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let a = args.tensor("a")?;
    rules::dtype_in("a", a, &rules::RESIDUES)?;
    let (count, _) = super::digits(args)?;
    let shape = geometry::extended("a", a.dims(), &[count])?;
    Ok(Type::new(a.dtype, shape))
}

fn launch(args: &Args) -> Result<Launches, OpError> {
    let (count, bits) = super::digits(args)?;
    let (a, out) = (args.tensor("a")?, args.tensor("out")?);
    let last = a.view.rank();
    let first_digits = geometry::without_axis(out.view, last)?;
    let operands = [
        LaunchInput::View(args.source("out")?, first_digits),
        args.input("a")?,
    ];
    let mut launch = Launch::elementwise("g_decomp", a.shape(), &operands)?;
    launch.params = smallvec![i64::from(bits), count as i64, out.view.strides[last]];
    Ok(smallvec![launch])
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let (count, bits) = super::digits(args)?;
    let dtype = args.tensor("out")?.dtype;
    let nth = |word: i64, j: u64| {
        let shift = (j * u64::from(bits)).min(63);
        super::digit(word >> shift, bits, dtype)
    };
    let words = contents.words("a")?.iter();
    Ok(Expected::Exact(
        words
            .flat_map(|&word| (0..count).map(move |j| nth(word, j)))
            .collect(),
    ))
}
