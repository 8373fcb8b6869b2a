//! One op at a time on tensors that exist: the same declarations, checks, kernels and threads as a
//! planned program, for a program of one instruction.

mod checks;
mod composite;
mod converted;
mod kept;
mod key;
mod launch;
mod list;
mod made;
mod picked;
mod prepared;
mod ready;
mod tensor;

pub use composite::replay;
pub(crate) use launch::copy as copy_elements;
pub use list::{CallList, FEW_ELEMENTS, Listed};
pub use ready::{Element, Operand as ReadyOperand, Ready};
pub use tensor::{Lent, Storage, Tensor};

use crate::RunError;
use cloakwork_ir::{DType, ShapeItem, Type};
use cloakwork_kernels::Isa;
use cloakwork_ops::{
    Args, Body, Code, ExpandBody, KernelBody, OpDef, OpError, Operand, ParamKind, Value, Viewed,
};
use composite::Composite;
use key::Key;
use prepared::{Kernel, Prepared, Repacked};
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
        /// The error.
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

/// A call of an op, looked up among the calls that this thread has prepared.
pub struct Call {
    def: &'static OpDef,
    args: Vec<EagerArg>,
    isa: Isa,
    way: Way,
}

/// The way of a call, known before it runs.
enum Way {
    /// Its result, a view.
    Viewed(Tensor),
    /// The type of its result, zeros.
    Allocated(Box<Type>),
    Prepared(Arc<Prepared>),
    Unknown,
    /// An operand could not be copied.
    Failed(EagerError),
}

impl Call {
    /// A call with one value a parameter, or fewer; an absent `out` is made.
    #[must_use]
    pub fn new(def: &'static OpDef, mut args: Vec<EagerArg>, isa: Isa) -> Self {
        args.resize(def.params.len(), EagerArg::None);
        fill_in(def, &mut args);
        let way = match (&def.body, apart(def, &mut args, isa)) {
            (_, Err(error)) => Way::Failed(error),
            (Body::View(view), _) => viewed(def, &args, *view, isa),
            (Body::Kernel(_) | Body::Expand(_), _) => looked_up(def, &args, isa),
            (Body::Allocate(infer), _) => allocated(def, &args, *infer),
            (Body::Upload | Body::Download, _) => Way::Unknown,
        };
        Self {
            def,
            args,
            isa,
            way,
        }
    }

    /// About how long the call takes on one core, in nanoseconds; `None` where that is not known.
    #[must_use]
    pub fn weight_ns(&self) -> Option<u64> {
        match &self.way {
            Way::Viewed(_) => Some(0),
            Way::Allocated(ty) => Some(ty.size_bytes() / 8),
            Way::Prepared(prepared) => Some(prepared.weight_ns()),
            Way::Unknown | Way::Failed(_) => None,
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// The findings of the verifier for a program with this call, or too little memory.
    pub fn run(mut self, threads: usize) -> Result<Tensor, EagerError> {
        let context = Context {
            def: self.def,
            threads,
            isa: self.isa,
        };
        match self.way {
            Way::Viewed(tensor) => Ok(tensor),
            Way::Allocated(ty) => Ok(Tensor::zeros(&ty)?),
            Way::Prepared(prepared) => prepared.run(context, &mut self.args),
            Way::Unknown => anew(context, &mut self.args),
            Way::Failed(error) => Err(error),
        }
    }
}

/// Calls an op, as [`Call`].
///
/// # Errors
/// As [`Call::run`].
pub fn call(
    def: &'static OpDef,
    args: Vec<EagerArg>,
    threads: usize,
    isa: Isa,
) -> Result<Tensor, EagerError> {
    Call::new(def, args, isa).run(threads)
}

/// The op of a call, and the threads and instructions for it.
#[derive(Clone, Copy)]
struct Context {
    def: &'static OpDef,
    threads: usize,
    isa: Isa,
}

type ViewFn = fn(&Args) -> Result<Viewed, OpError>;
type TypeFn = fn(&Args) -> Result<Type, OpError>;

/// A call with launches, if this thread has prepared it.
fn looked_up(def: &'static OpDef, args: &[EagerArg], isa: Isa) -> Way {
    let key = Key::of(def, args, isa);
    let prepared = key.as_ref().and_then(kept::find);
    prepared.map_or(Way::Unknown, Way::Prepared)
}

/// The result of a layout op, where it is a view of its operand; else it is a copy.
fn viewed(def: &'static OpDef, args: &[EagerArg], view: ViewFn, isa: Isa) -> Way {
    let (Ok(source), Ok(())) = (tensor_of(def, args, "a"), in_range(def, args)) else {
        return Way::Unknown;
    };
    match with_args(def, args, view) {
        Ok(Viewed::View(view)) => Way::Viewed(source.with_view(view)),
        Ok(Viewed::Copy(_)) => looked_up(def, args, isa),
        Err(_) => Way::Unknown,
    }
}

fn allocated(def: &'static OpDef, args: &[EagerArg], infer: TypeFn) -> Way {
    let ty = in_range(def, args).and_then(|()| with_args(def, args, infer));
    ty.map_or(Way::Unknown, |ty| Way::Allocated(Box::new(ty)))
}

/// Prepares a call and runs it.
fn anew(context: Context, args: &mut [EagerArg]) -> Result<Tensor, EagerError> {
    let def = context.def;
    match &def.body {
        Body::Allocate(infer) => {
            in_range(def, args)?;
            Ok(Tensor::zeros(&with_args(def, args, infer)?)?)
        }
        Body::View(_) => {
            let (prepared, _) = prepared_or_new(context, args)?;
            prepared.run(context, args)
        }
        Body::Kernel(_) | Body::Expand(_) => {
            let key = Key::of(def, args, context.isa);
            let (prepared, result) = new(context, args, key)?;
            result.map_or_else(|| prepared.run(context, args), Ok)
        }
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

/// A prepared call; and its result, where it has just been prepared by running it.
type Made = (Arc<Prepared>, Option<Tensor>);

/// A call with launches, as it was prepared before, or now.
fn prepared_or_new(context: Context, args: &mut [EagerArg]) -> Result<Made, EagerError> {
    let key = Key::of(context.def, args, context.isa);
    match key.as_ref().and_then(kept::find) {
        Some(prepared) => Ok((prepared, None)),
        None => new(context, args, key),
    }
}

/// Prepares a call with launches, and keeps that.
fn new(context: Context, args: &mut [EagerArg], key: Option<Key>) -> Result<Made, EagerError> {
    let def = context.def;
    in_range(def, args)?;
    let (prepared, result) = match &def.body {
        Body::Kernel(body) if body.custom.is_none() => {
            (Prepared::Kernel(Kernel::new(context, body, args)?), None)
        }
        Body::Kernel(KernelBody { expand: None, .. }) => return Err(without_expansion(def)),
        Body::Kernel(KernelBody { infer, .. }) | Body::Expand(ExpandBody { infer, .. }) => {
            let (composite, result) = Composite::first_run(context, *infer, args)?;
            (Prepared::Composite(composite), Some(result))
        }
        Body::View(view) => {
            let source = tensor_of(def, args, "a")?;
            let shape = match with_args(def, args, view)? {
                Viewed::View(view) => view.shape,
                Viewed::Copy(shape) => shape,
            };
            (
                Prepared::Copy(Repacked::new(&source, shape, context.isa)?),
                None,
            )
        }
        Body::Allocate(_) | Body::Upload | Body::Download => {
            return Err(internal("a call without launches").into());
        }
    };
    Ok((kept::keep(key, prepared), result))
}

/// The refusal of a vendor's op that the processor cannot compute.
fn without_expansion(def: &'static OpDef) -> EagerError {
    let expected = "an op with an expansion, or a program that runs on the op's device";
    let file = def.custom().map_or("", |custom| &custom.file);
    let got = format!("an op that {file} declares without one");
    EagerError::Call {
        op: def.name,
        error: OpError::new(Code::ArgumentType, "", expected, got),
    }
}

/// Gives omitted arguments their defaults.
fn fill_in(def: &'static OpDef, args: &mut [EagerArg]) {
    for (arg, param) in args.iter_mut().zip(def.params) {
        if let (EagerArg::None, Some(default)) = (&*arg, param.default) {
            *arg = EagerArg::Int(default);
        }
    }
}

/// Copies operands whose memory the result's overlaps as another storage: several tensors may be
/// made of one array of the caller's, and views show overlaps only within a storage.
fn apart(def: &'static OpDef, args: &mut [EagerArg], isa: Isa) -> Result<(), EagerError> {
    let Some(EagerArg::Tensor(out)) = def.out().and_then(|out| args.get(out)).cloned() else {
        return Ok(());
    };
    for arg in args {
        let EagerArg::Tensor(tensor) = arg else {
            continue;
        };
        if tensor.storage().overlaps(out.storage()) {
            let copy = Tensor::uninit(tensor.dtype(), tensor.view().shape.clone())?;
            if tensor.is_secret() {
                copy.mark_secret();
            }
            copy.assign(tensor, isa)?;
            *tensor = copy;
        }
    }
    Ok(())
}

/// Holds integers to the ranges of their parameters.
fn in_range(def: &'static OpDef, args: &[EagerArg]) -> Result<(), EagerError> {
    for (arg, param) in args.iter().zip(def.params) {
        let EagerArg::Int(value) = *arg else {
            continue;
        };
        let (low, high) = match param.kind {
            ParamKind::Int(low, high) => (low, high),
            ParamKind::Bool => (0, 1),
            _ => continue,
        };
        if !(low..=high).contains(&value) {
            let expected = format!("an integer from {low} to {high}");
            let got = value.to_string();
            return Err(EagerError::Call {
                op: def.name,
                error: OpError::new(Code::Range, param.name, expected, got),
            });
        }
    }
    Ok(())
}

/// Whether two parameters are views of one storage.
fn shares(args: &[EagerArg], one: usize, other: usize) -> bool {
    matches!((&args[one], &args[other]), (EagerArg::Tensor(a), EagerArg::Tensor(b))
        if Arc::ptr_eq(a.storage(), b.storage()))
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
