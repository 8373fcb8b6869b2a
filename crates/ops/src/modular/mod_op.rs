//! `mod`: the remainder with C's sign. (The file has another name than the op because `mod` is
//! Rust's own word.)

use crate::op::{Aliasing, Body, Family, Form, KernelBody, OpDef, Param};
use crate::reference::{Broadcast, Expected};
use crate::{
    Args, Code, ContentCheck, Contents, Expansion, MAX_MODULUS, OpError, Reference, rules,
};
use cloakwork_ir::{Arg, DType, Type};
use smallvec::smallvec;

const ARGS: &[&str] = &["a", "b", "out"];

/// The declaration.
pub static DEF: OpDef = OpDef {
    name: "mod",
    family: Family::Modular,
    doc: "`out = a % b`, element by element, with the sign of `a`, as in C; `b` is not 0.\n\n\
          Tensors do not broadcast: they have the shape of `out`; integers apply to all of it.",
    params: &[
        Param::tensor_or_int("a", "i32 or i64, or one integer"),
        Param::tensor_or_int("b", "the same dtype, or one integer; not 0"),
        Param::out("the shape of the operands"),
    ],
    forms: &[
        Form::own("mod", ARGS),
        Form::heal("_mod_tt", ARGS).ints(&[]),
        Form::heal("_mod_tc", ARGS).ints(&["b"]),
        Form::heal("_mod_ct", ARGS).ints(&["a"]),
    ],
    body: Body::Kernel(KernelBody {
        checks: &[ContentCheck::NonZero("b")],
        aliasing: Aliasing::Same,
        expand: Some(expand),
        expands: |args| modulus(args).is_some(),
        ..KernelBody::new(
            infer,
            |args| Ok(smallvec![args.elementwise("mod", ["a", "b"])?]),
            Reference::Values(reference),
        )
    }),
    operations: rules::out_elements,
    laws: &[],
};

fn infer(args: &Args) -> Result<Type, OpError> {
    let (name, tensor) = match (args.tensor_if_any("a")?, args.tensor_if_any("b")?) {
        (Some(a), _) => ("a", a),
        (None, Some(b)) => ("b", b),
        (None, None) => {
            return Err(OpError::new(
                Code::ArgumentType,
                "a",
                "a tensor",
                "two integers",
            ));
        }
    };
    rules::dtype_in(name, tensor, &rules::RESIDUES)?;
    for other in ["a", "b"] {
        rules::same_dtype(args, other, tensor.dtype)?;
        if let Some(operand) = args.tensor_if_any(other)? {
            rules::shape_is(other, operand, tensor.dims())?;
        }
    }
    Ok(tensor.ty())
}

/// The modulus of which `a % b` is the remainder, where `b` is an integer that has one.
fn modulus(args: &Args) -> Option<i64> {
    let a = args.tensor("a").ok()?;
    let most = match a.dtype {
        DType::I32 => i64::from(i32::MAX),
        _ => MAX_MODULUS,
    };
    let modulus = args.int("b").ok()?.checked_abs()?;
    (2..=most).contains(&modulus).then_some(modulus)
}

/// `modmul` by 1: the sign of `b` does not count.
fn expand(args: &Args, steps: &mut Expansion) -> Result<(), OpError> {
    let Some(modulus) = modulus(args) else {
        return Ok(());
    };
    let factors = [
        ("a", steps.arg("a")?),
        ("b", Arg::Int(1)),
        ("q", Arg::Int(modulus)),
    ];
    let out = steps.arg("out")?;
    steps.call_into("modmul", &factors, &out)
}

fn reference(args: &Args, contents: &dyn Contents) -> Result<Expected, OpError> {
    let shape = args.tensor("out")?.shape();
    let a = Broadcast::new(args, contents, "a", shape)?;
    let b = Broadcast::new(args, contents, "b", shape)?;
    let remainder = |i| (i128::from(a.at(i)) % i128::from(b.at(i))) as i64;
    Ok(Expected::Exact(
        (0..shape.elements()).map(remainder).collect(),
    ))
}
