//! Random numbers that a key determines: not for cryptography, which has its own module.

use crate::op::{Param, ParamKind};
use crate::{Args, Code, Launch, OpError, rules};
use cloakwork_ir::{DType, Type, View};
use smallvec::{SmallVec, smallvec};

macro_rules! random {
    ($name:ident, $text:literal, $doc:literal) => {
        #[doc = concat!("`", $text, "`.")]
        pub static $name: $crate::OpDef = $crate::OpDef {
            name: $text,
            family: $crate::Family::Creation,
            doc: $doc,
            params: &[
                Param::new("key", ParamKind::Tensor, "u64 `[2]`"),
                Param::new("shape", ParamKind::Shape, "sizes of 0 or more, at most 16"),
                Param::new("dtype", ParamKind::DType, "f32 or f64"),
                Param::new("out", ParamKind::Out, "the shape"),
            ],
            forms: &[$crate::Form::own($text, &["key", "shape", "dtype", "out"])],
            body: crate::reduction::along::body!(infer, |args| launch($text, args)),
            operations: rules::out_elements,
            laws: &[],
        };
    };
}

random!(
    UNIFORM,
    "philox_uniform",
    "Uniform numbers in [0, 1): Philox 4x32-10 of the key, counted by the row-major position."
);
random!(
    NORMAL,
    "philox_normal",
    "Normally distributed numbers of mean 0 and variance 1: Box and Muller's transform of Philox \
     4x32-10 of the key, counted by the row-major position."
);

fn infer(args: &Args) -> Result<Type, OpError> {
    let (key, dtype) = (args.tensor("key")?, args.dtype("dtype")?);
    rules::dtype_in("key", key, &[DType::U64])?;
    rules::shape_is("key", key, &[2])?;
    if !dtype.is_real_float() {
        return Err(OpError::new(
            Code::Dtype,
            "dtype",
            "f32 or f64",
            dtype.name(),
        ));
    }
    Ok(Type::new(dtype, args.shape("shape")?))
}

/// One launch over the shape: out, key, whose second word lies `params[0]` after the first.
fn launch(kernel: &'static str, args: &Args) -> Result<SmallVec<[Launch; 1]>, OpError> {
    let out = args.tensor("out")?;
    let order = View::contiguous(out.shape().clone());
    let dims: SmallVec<[i64; 4]> = if *order.strides == *out.view.strides {
        smallvec![out.shape().elements() as i64]
    } else {
        out.dims().iter().map(|&dim| dim as i64).collect()
    };
    let dense = [1];
    let strides: &[i64] = if dims.len() == 1 && out.view.rank() != 1 {
        &dense
    } else {
        &out.view.strides
    };
    let still = vec![0; dims.len()];
    Ok(smallvec![Launch {
        kernel,
        split: dims.len(),
        operands: smallvec![args.operand("out", strides)?, args.operand("key", &still)?],
        params: smallvec![args.tensor("key")?.view.strides[0]],
        dims,
    }])
}
