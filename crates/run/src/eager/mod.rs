//! One op at a time on tensors that exist: the same declarations, checks, kernels and threads as a
//! planned program, for a program of one instruction.

mod composite;
mod launch;
mod ready;
mod tensor;

pub use composite::replay;
pub(crate) use launch::copy as copy_elements;
pub use ready::{Element, Operand as ReadyOperand, Ready};
pub use tensor::{Lent, Storage, Tensor};

use crate::RunError;
use crate::exec::check;
use crate::memory::Block;
use cloakwork_ir::{DType, Shape, ShapeItem, View};
use cloakwork_kernels::Isa;
use cloakwork_ops::{
    Access, Args, Body, Code, Family, OpDef, OpError, Operand, Param, ParamKind, Value, Viewed,
    check_known,
};
use std::sync::Arc;

/// A value for one parameter of an eager call.
#[derive(Clone)]
pub enum EagerArg {
    /// A tensor.
    Tensor(Tensor),
    /// An integer.
    Int(i64),
    /// A list of sizes, indices and ranges.
    Shape(Vec<ShapeItem>),
    /// An element type.
    DType(DType),
    /// Left out.
    None,
}

/// Why an eager call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EagerError {
    /// The call is wrong.
    #[error("{op}: {error}")]
    Call {
        /// The op.
        op: &'static str,
        /// What is wrong.
        error: OpError,
    },
    /// It could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl EagerArg {
    fn bound(&self) -> Value<'_> {
        match self {
            Self::Tensor(tensor) => Value::Tensor(Operand {
                dtype: tensor.dtype(),
                view: tensor.view(),
                constant: None,
            }),
            Self::Int(value) => Value::Int(*value),
            Self::Shape(items) => Value::Shape(items),
            Self::DType(dtype) => Value::DType(*dtype),
            Self::None => Value::Absent,
        }
    }
}

/// Calls an op. `args` holds one value a parameter; an absent `out` is made.
///
/// # Errors
/// Whatever the verifier would find in a program with this call, or too little memory.
pub fn call(
    def: &'static OpDef,
    mut args: Vec<EagerArg>,
    threads: usize,
    isa: Isa,
) -> Result<Tensor, EagerError> {
    args.resize(def.params.len(), EagerArg::None);
    for (arg, param) in args.iter_mut().zip(def.params) {
        if let (EagerArg::None, Some(default)) = (&*arg, param.default) {
            *arg = EagerArg::Int(default);
        }
        if let EagerArg::Int(value) = arg {
            in_range(param, *value).map_err(|error| EagerError::Call {
                op: def.name,
                error,
            })?;
        }
    }
    match &def.body {
        Body::View(view) => {
            let source = tensor_of(def, &args, "a")?;
            match with_args(def, &args, view)? {
                Viewed::View(view) => Ok(source.with_view(view)),
                Viewed::Copy(shape) => {
                    let result = Tensor::uninit(source.dtype(), shape)?;
                    let target = View::contiguous(source.view().shape.clone());
                    let to = (&target, result.storage().as_ptr());
                    let from = (source.view(), source.storage().as_ptr());
                    launch::copy(source.dtype(), [to, from], isa)?;
                    Ok(result)
                }
            }
        }
        Body::Allocate(infer) => Ok(Tensor::zeros(&with_args(def, &args, infer)?)?),
        Body::Kernel(_) => kernel(def, args, threads, isa),
        Body::Expand(_) => composite::composite(def, args, threads, isa),
        Body::Upload | Body::Download => {
            let error = OpError::new(Code::ArgumentType, "", "an op on device tensors", def.name)
                .hint("use cloakwork.asarray and numpy.asarray");
            Err(EagerError::Call {
                op: def.name,
                error,
            })
        }
    }
}

/// Holds an integer to what its parameter takes, as a program's would be.
fn in_range(param: &Param, value: i64) -> Result<(), OpError> {
    let (low, high) = match param.kind {
        ParamKind::Int(low, high) => (low, high),
        ParamKind::Bool => (0, 1),
        _ => return Ok(()),
    };
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let expected = format!("an integer from {low} to {high}");
    let got = value.to_string();
    Err(OpError::new(Code::Range, param.name, expected, got))
}

fn kernel(
    def: &'static OpDef,
    mut args: Vec<EagerArg>,
    threads: usize,
    isa: Isa,
) -> Result<Tensor, EagerError> {
    let Body::Kernel(body) = &def.body else {
        return Err(internal("not a kernel").into());
    };
    let Some(place) = def.params.iter().position(|p| p.kind == ParamKind::Out) else {
        return Err(internal("a kernel op without a result").into());
    };
    if matches!(args[place], EagerArg::None) {
        let ty = with_args(def, &args, |args| cloakwork_verify::result_type(def, args))?;
        args[place] = EagerArg::Tensor(match (body.access, like(def, &args, &ty.shape)) {
            (Access::Write, Some(view)) => Tensor::uninit_like(ty.dtype, ty.shape, view)?,
            (Access::Write, None) => Tensor::uninit(ty.dtype, ty.shape)?,
            (Access::Accumulate, _) => Tensor::zeros(&ty)?,
        });
    }
    let out = tensor_of(def, &args, def.params[place].name)?;
    with_args(def, &args, |bound| {
        cloakwork_verify::check_kernel_call(def, body, bound, &|param| shares(&args, param, place))
    })?;
    for rule in body.checks.iter().filter(|rule| rule.guards_memory()) {
        let operand = def.param(rule.operand()).and_then(|i| args.get_mut(i));
        if let Some(EagerArg::Tensor(tensor)) = operand
            && !tensor.is_frozen()
        {
            *tensor = tensor.own_copy(isa)?;
        }
    }
    check_contents(def, &args, isa)?;
    if out.storage().is_read_only() {
        return Err(EagerError::Call {
            op: def.name,
            error: OpError::new(
                Code::Aliasing,
                "out",
                "memory that may be written",
                "read-only",
            ),
        });
    }
    let (launches, temporary_bytes) = with_args(def, &args, |args| {
        let bytes = body.temporary.map_or(Ok(0), |bytes| bytes(args))?;
        Ok(((body.launch)(args)?, bytes))
    })?;
    let temporary = Block::uninit(temporary_bytes)?;
    for launch in &launches {
        launch::run_launch(launch, &args, &temporary, threads, isa)?;
    }
    Ok(out)
}

/// The operand whose order of axes a result takes over. Residues come with their moduli on the
/// last axis, the wrong order for SIMD: whoever lays them out limb by limb gets results that are.
fn like<'a>(def: &OpDef, args: &'a [EagerArg], shape: &Shape) -> Option<&'a View> {
    if def.family.is_of_numbers() || def.family == Family::Layout {
        return None;
    }
    match args.first() {
        Some(EagerArg::Tensor(a)) if a.view().rank() == shape.rank() => Some(a.view()),
        _ => None,
    }
}

/// Whether two parameters are views of one storage.
fn shares(args: &[EagerArg], one: usize, other: usize) -> bool {
    matches!((&args[one], &args[other]), (EagerArg::Tensor(a), EagerArg::Tensor(b))
        if Arc::ptr_eq(a.storage(), b.storage()))
}

/// Holds integers and elements to what the declaration demands of contents.
fn check_contents(def: &'static OpDef, args: &[EagerArg], isa: Isa) -> Result<(), EagerError> {
    with_args(def, args, check_known)?;
    for rule in def.body.checks() {
        let Some(EagerArg::Tensor(tensor)) = def.param(rule.operand()).and_then(|i| args.get(i))
        else {
            continue;
        };
        let Some(bound) = with_args(def, args, |args| rule.bound(args))? else {
            continue;
        };
        let (storage, view) = (tensor.storage(), tensor.view());
        let bytes = (**storage).as_ref();
        let check = || check::rule(*rule, bound, (tensor.dtype(), view, bytes), isa);
        let checked = match storage.derived() {
            Some(derived) => derived.once(*rule, bound, view, check),
            None => check(),
        };
        checked.map_err(|error| EagerError::Call {
            op: def.name,
            error,
        })?;
    }
    Ok(())
}

fn tensor_of(
    def: &'static OpDef,
    args: &[EagerArg],
    name: &'static str,
) -> Result<Tensor, EagerError> {
    match def.param(name).and_then(|index| args.get(index)) {
        Some(EagerArg::Tensor(tensor)) => Ok(tensor.clone()),
        _ => {
            let error = OpError::new(Code::ArgumentType, name, "a tensor", "something else");
            Err(EagerError::Call {
                op: def.name,
                error,
            })
        }
    }
}

/// Shows eager values to a function of a declaration. Contents are checked apart.
fn with_args<R>(
    def: &'static OpDef,
    args: &[EagerArg],
    f: impl FnOnce(&Args) -> Result<R, OpError>,
) -> Result<R, EagerError> {
    let bound = Args {
        def,
        values: args.iter().map(EagerArg::bound).collect(),
    };
    f(&bound).map_err(|error| EagerError::Call {
        op: def.name,
        error,
    })
}

fn internal(message: &str) -> RunError {
    RunError::Internal(message.to_owned())
}
