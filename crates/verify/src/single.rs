//! The rules for one call, apart from any program: the checker applies them to each step, and an
//! eager call follows them, too.

use cloakwork_ir::{DType, Overlap, Type, View};
use cloakwork_ops::{
    Aliasing, Args, Body, Code, KernelBody, OpDef, OpError, OutRule, Param, ParamKind, Value,
};

/// The type of a call's result, from operands alone.
///
/// # Errors
/// What the declaration finds wrong.
pub fn result_type(def: &'static OpDef, args: &Args) -> Result<Type, OpError> {
    match &def.body {
        Body::Kernel(body) => (body.infer)(args),
        Body::Expand(body) => (body.infer)(args),
        Body::Allocate(infer) => infer(args),
        Body::View(view) => {
            let source = args.tensor("a")?;
            let shape = match view(args)? {
                cloakwork_ops::Viewed::View(view) => view.shape,
                cloakwork_ops::Viewed::Copy(shape) => shape,
            };
            Ok(Type::new(source.dtype, shape))
        }
        Body::Upload | Body::Download => {
            let expected = "an op on device tensors";
            Err(OpError::new(Code::ArgumentType, "", expected, def.name))
        }
    }
}

/// Holds a call of a kernel or composite op with an `out` to its declaration. `shares_out` says
/// which parameters are views of the storage that is written.
///
/// # Errors
/// The first rule that is broken.
pub fn check_call(
    def: &'static OpDef,
    args: &Args,
    shares_out: &dyn Fn(usize) -> bool,
) -> Result<(), OpError> {
    let (inferred, demand) = match &def.body {
        Body::Kernel(body) => ((body.infer)(args)?, OutDemand::of(body)),
        Body::Expand(body) => ((body.infer)(args)?, OutDemand::OF_COMPOSITES),
        Body::View(_) | Body::Allocate(_) | Body::Upload | Body::Download => return Ok(()),
    };
    let Some((place, name)) = def.out().and_then(|i| Some((i, def.params.get(i)?.name))) else {
        return Ok(());
    };
    let written = args.tensor(name)?;
    let actual = Type::new(written.dtype, written.shape().clone());
    let tensors = || {
        def.params.iter().zip(&args.values).enumerate().filter_map(
            |(i, (param, value))| match value {
                Value::Tensor(operand) if i != place => Some((i, param, operand)),
                _ => None,
            },
        )
    };
    let first = tensors().next().map(|(_, _, operand)| operand.dtype);
    if let Some(code) = demand.type_code(first, &inferred, &actual) {
        let (expected, got) = (inferred.to_string(), actual.to_string());
        return Err(OpError::new(code, name, expected, got));
    }
    let reads = tensors()
        .filter(|(i, param, _)| is_read(param) && shares_out(*i))
        .map(|(_, param, operand)| (param, operand.view));
    aliasing_error(name, written.view, reads, demand.aliasing).map_or(Ok(()), Err)
}

/// The demands of an op on the tensor that it writes.
pub(crate) struct OutDemand {
    shape: OutRule,
    dtypes: &'static [(DType, DType)],
    pub aliasing: Aliasing,
}

impl OutDemand {
    /// Expansions may read any operand after they wrote some of the result.
    pub const OF_COMPOSITES: Self = Self {
        shape: OutRule::Exact,
        dtypes: &[],
        aliasing: Aliasing::Never,
    };

    /// The demands of a kernel's declaration.
    pub fn of(body: &KernelBody) -> Self {
        Self {
            shape: body.out,
            dtypes: body.dtypes,
            aliasing: body.aliasing,
        }
    }

    /// The fault in the type of `out`, if there is one.
    pub fn type_code(
        &self,
        first_operand: Option<DType>,
        inferred: &Type,
        actual: &Type,
    ) -> Option<Code> {
        let listed =
            first_operand.is_some_and(|first| self.dtypes.contains(&(first, actual.dtype)));
        let shape_fits = match self.shape {
            OutRule::Exact => actual.shape == inferred.shape,
            OutRule::Broadcast => inferred.shape.broadcasts_to(&actual.shape),
        };
        if actual.dtype != inferred.dtype && !listed {
            return Some(Code::Dtype);
        }
        (!shape_fits).then_some(Code::Shape)
    }
}

/// Checks that the result overlaps neither itself nor, but for overlaps that the op allows, an
/// operand that is read.
pub(crate) fn aliasing_error<'a>(
    name: &'static str,
    written: &View,
    mut reads: impl Iterator<Item = (&'a Param, &'a View)>,
    rule: Aliasing,
) -> Option<OpError> {
    if written.overlaps_itself() {
        let got = "a view with overlapping elements";
        return Some(OpError::new(Code::Aliasing, name, "elements apart", got));
    }
    reads.find_map(|(param, read)| {
        let allowed = match (read.overlap(written), rule) {
            (Overlap::Disjoint, _) | (Overlap::Same, Aliasing::Same) => true,
            (Overlap::Same, Aliasing::Only(only)) => only == param.name,
            (Overlap::Same, Aliasing::Never) | (Overlap::Partial, _) => false,
        };
        (!allowed).then(|| overlapping(param, rule))
    })
}

/// Whether an op's kernels read this parameter's elements. An accumulating op reads its `out` too;
/// HEAL's programs do that onto fresh zeros, so it is not counted.
pub(crate) fn is_read(param: &Param) -> bool {
    matches!(
        param.kind,
        ParamKind::Tensor | ParamKind::TensorOrInt | ParamKind::OptionalTensor
    )
}

fn overlapping(param: &Param, rule: Aliasing) -> OpError {
    let same = "exactly the elements of `out`, or none of them";
    let expected = match rule {
        Aliasing::Same => same,
        Aliasing::Only(name) if name == param.name => same,
        Aliasing::Only(_) | Aliasing::Never => "none of the elements of `out`",
    };
    let got = "some of the elements of `out`";
    OpError::new(Code::Aliasing, param.name, expected, got).hint("write into another tensor")
}
