//! One op at a time on tensors that exist: the same declarations, checks, kernels and threads as a
//! planned program, for a program of one instruction.

use crate::launch::{SPLIT_NS, Workers};
use crate::memory::{Block, into_bytes};
use crate::{RunError, check, pool};
use cloakwork_ir::{Arg, Builder, DType, HostTensor, ShapeItem, Step, Symbol, Type, View};
use cloakwork_kernels::{Isa, LaunchShape, RawLaunch, select};
use cloakwork_ops::{
    Args, Body, Code, Expansion, Launch, OpDef, OpError, Operand, ParamKind, Source, Value, Viewed,
    find,
};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that tensors are views of.
pub struct Storage {
    block: Block,
    secret: AtomicBool,
}

impl Storage {
    /// The bytes' start, for exporting them without a copy.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.block.as_ptr()
    }

    /// Bytes.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.block.len()
    }
}

impl Drop for Storage {
    /// What was secret leaves nothing behind.
    fn drop(&mut self) {
        if self.secret.load(Ordering::Relaxed) {
            self.block.zeroize();
        }
    }
}

impl AsRef<[u8]> for Storage {
    fn as_ref(&self) -> &[u8] {
        self.block.as_slice()
    }
}

/// A tensor that exists: a view of shared storage.
#[derive(Clone)]
pub struct Tensor {
    storage: Arc<Storage>,
    dtype: DType,
    view: View,
}

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
                dtype: tensor.dtype,
                view: &tensor.view,
                constant: None,
            }),
            Self::Int(value) => Value::Int(*value),
            Self::Shape(items) => Value::Shape(items),
            Self::DType(dtype) => Value::DType(*dtype),
            Self::None => Value::Absent,
        }
    }
}

impl Tensor {
    /// A tensor of zeros.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn zeros(ty: &Type) -> Result<Self, RunError> {
        let storage = Storage {
            block: Block::zeroed(ty.size_bytes())?,
            secret: false.into(),
        };
        let view = View::contiguous(ty.shape.clone());
        Ok(Self {
            storage: Arc::new(storage),
            dtype: ty.dtype,
            view,
        })
    }

    /// A tensor with a host tensor's elements, row-major.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn from_host(host: &HostTensor) -> Result<Self, EagerError> {
        let tensor = Self::zeros(&host.ty())?;
        let source = host.bytes().as_slice().as_ptr().cast_mut();
        let operands = [
            (tensor.view(), tensor.storage.as_ptr()),
            (host.view(), source),
        ];
        copy(host.dtype(), operands)?;
        Ok(tensor)
    }

    /// This tensor for the host, without a copy. Later writes through views of the same storage
    /// show in it.
    ///
    /// # Errors
    /// Never, unless the view is broken: an internal error.
    pub fn to_host(&self) -> Result<HostTensor, RunError> {
        let bytes = cloakwork_ir::Bytes::new(self.storage.clone());
        HostTensor::new(self.dtype, self.view.clone(), bytes)
            .map_err(|error| RunError::Internal(error.to_string()))
    }

    /// A row-major copy for the host.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn copy_to_host(&self) -> Result<HostTensor, EagerError> {
        let block = Block::zeroed(self.ty().size_bytes())?;
        let view = View::contiguous(self.view.shape.clone());
        copy(
            self.dtype,
            [(&view, block.as_ptr()), (&self.view, self.storage.as_ptr())],
        )?;
        HostTensor::new(self.dtype, view, into_bytes(block))
            .map_err(|error| RunError::Internal(error.to_string()).into())
    }

    /// Dtype and shape.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::new(self.dtype, self.view.shape.clone())
    }

    /// Element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape, strides and offset.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// What it is a view of.
    #[must_use]
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Marks the storage, and with it every view of it, as secret: it is zeroed when released.
    pub fn mark_secret(&self) {
        self.storage.secret.store(true, Ordering::Relaxed);
    }

    /// Whether the storage is marked as secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.storage.secret.load(Ordering::Relaxed)
    }

    /// Overwrites the whole storage with zeros now.
    pub fn zeroize(&self) {
        self.storage.block.zeroize();
    }

    fn with_view(&self, view: View) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            dtype: self.dtype,
            view,
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
    }
    match &def.body {
        Body::View(view) => {
            let source = tensor_of(def, &args, "a")?;
            match with_args(def, &args, view)? {
                Viewed::View(view) => Ok(source.with_view(view)),
                Viewed::Copy(shape) => {
                    let result = Tensor::zeros(&Type::new(source.dtype, shape))?;
                    let target = View::contiguous(source.view.shape.clone());
                    let to = (&target, result.storage.as_ptr());
                    copy(source.dtype, [to, (&source.view, source.storage.as_ptr())])?;
                    Ok(result)
                }
            }
        }
        Body::Allocate(infer) => Ok(Tensor::zeros(&with_args(def, &args, infer)?)?),
        Body::Kernel(_) => kernel(def, args, threads, isa),
        Body::Expand(_) => composite(def, args, threads, isa),
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

/// The type of a call's result, from types alone: what tracing needs.
///
/// # Errors
/// What the declaration finds wrong.
pub fn result_type(def: &'static OpDef, args: &Args) -> Result<Type, OpError> {
    cloakwork_verify::result_type(def, args)
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
        let ty = with_args(def, &args, |args| result_type(def, args))?;
        args[place] = EagerArg::Tensor(Tensor::zeros(&ty)?);
    }
    let out = tensor_of(def, &args, def.params[place].name)?;
    with_args(def, &args, |bound| {
        cloakwork_verify::check_kernel_call(def, body, bound, &|param| {
            matches!((&args[param], &args[place]), (EagerArg::Tensor(a), EagerArg::Tensor(b))
                if Arc::ptr_eq(&a.storage, &b.storage))
        })
    })?;
    check_contents(def, body.checks, &args)?;
    let launches = with_args(def, &args, |args| (body.launch)(args))?;
    for launch in &launches {
        run_launch(launch, &args, threads, isa)?;
    }
    Ok(out)
}

fn check_contents(
    def: &'static OpDef,
    rules: &[cloakwork_ops::ContentCheck],
    args: &[EagerArg],
) -> Result<(), EagerError> {
    for rule in rules {
        let Some(EagerArg::Tensor(tensor)) = def.param(rule.operand()).and_then(|i| args.get(i))
        else {
            continue;
        };
        let Some(bound) = with_args(def, args, |args| rule.bound(args))? else {
            continue;
        };
        check::rule(
            *rule,
            bound,
            tensor.dtype,
            &tensor.view,
            tensor.storage.block.as_slice(),
        )
        .map_err(|error| EagerError::Call {
            op: def.name,
            error,
        })?;
    }
    Ok(())
}

fn run_launch(
    launch: &Launch,
    args: &[EagerArg],
    threads: usize,
    isa: Isa,
) -> Result<(), EagerError> {
    let mut pool_words: SmallVec<[[u8; 8]; 6]> = SmallVec::new();
    for operand in &launch.operands {
        let value = if let Source::Int(value) = operand.source {
            value
        } else {
            0
        };
        pool_words.push(value.to_le_bytes());
    }
    let mut data: SmallVec<[*mut std::ffi::c_void; 6]> = SmallVec::new();
    let mut dtypes: SmallVec<[Option<DType>; 6]> = SmallVec::new();
    for (operand, word) in launch.operands.iter().zip(&pool_words) {
        let (pointer, dtype) = match operand.source {
            Source::Param(param) => match args.get(param as usize) {
                Some(EagerArg::Tensor(t)) => {
                    let bytes = operand.offset as isize * t.dtype.size_bytes() as isize;
                    (t.storage.as_ptr().wrapping_offset(bytes), Some(t.dtype))
                }
                _ => return Err(internal("a launch names no tensor").into()),
            },
            Source::Int(_) => (word.as_ptr().cast_mut(), None),
            Source::Null => (std::ptr::null_mut(), None),
        };
        data.push(pointer.cast());
        dtypes.push(dtype);
    }
    let output = dtypes
        .first()
        .copied()
        .flatten()
        .ok_or_else(|| internal("no result"))?;
    let input = dtypes.get(1).copied().flatten().unwrap_or(output);
    run_raw(launch, &data, (input, output), threads, isa).map_err(Into::into)
}

/// Runs one launch on resolved operands.
fn run_raw(
    launch: &Launch,
    data: &[*mut std::ffi::c_void],
    (input, output): (DType, DType),
    threads: usize,
    isa: Isa,
) -> Result<(), RunError> {
    let units = launch.units();
    if units == 0 {
        return Ok(());
    }
    let row = select(launch.kernel, input, output, isa)
        .ok_or_else(|| internal(&format!("no kernel {} {input} -> {output}", launch.kernel)))?;
    let strides: SmallVec<[i64; 16]> = launch
        .operands
        .iter()
        .flat_map(|o| o.strides.iter().copied())
        .collect();
    let shape = LaunchShape {
        dims: &launch.dims,
        strides: &strides,
        params: &launch.params,
    };
    let prepared = Block::zeroed(row.prepared_bytes(&shape))?;
    let threads = if launch.weight_ns() > 200_000 {
        threads.max(1)
    } else {
        1
    };
    let scratch = Block::zeroed(row.scratch_bytes(&shape).next_multiple_of(64) * threads as u64)?;
    let pool = if threads > 1 {
        Some(pool::pool(threads)?)
    } else {
        None
    };
    let raw = RawLaunch {
        rank: launch.dims.len() as u32,
        operands: data.len() as u32,
        dims: launch.dims.as_ptr(),
        strides: strides.as_ptr(),
        data: data.as_ptr(),
        params: launch.params.as_ptr(),
        prepared: prepared.as_ptr().cast_const().cast(),
    };
    let workers = Workers::new(pool.as_deref(), &scratch, SPLIT_NS);
    // SAFETY: the launch comes from a declaration over the views of tensors whose storage is alive
    // and large enough; the call was checked before.
    unsafe {
        row.prepare(&raw, prepared.as_ptr().cast());
        workers.run(row, &raw, units, launch.weight_ns(), &mut || true);
    }
    Ok(())
}

/// Copies elements between two views of the same shape.
fn copy(dtype: DType, operands: [(&View, *mut u8); 2]) -> Result<(), EagerError> {
    let size = dtype.size_bytes() as isize;
    let inputs = [0, 1].map(|i| {
        let view = View {
            offset: 0,
            ..operands[i].0.clone()
        };
        cloakwork_ops::LaunchInput::View(Source::Param(i as u8), view)
    });
    let launch = Launch::elementwise("copy", &operands[0].0.shape, &inputs)
        .map_err(|error| internal(&error.to_string()))?;
    let data =
        operands.map(|(view, base)| base.wrapping_offset(view.offset as isize * size).cast());
    run_raw(
        &launch,
        &data,
        (dtype, dtype),
        1,
        cloakwork_kernels::best_isa(),
    )
    .map_err(Into::into)
}

/// Runs the expansion of a composite op, call by call.
fn composite(
    def: &'static OpDef,
    mut args: Vec<EagerArg>,
    threads: usize,
    isa: Isa,
) -> Result<Tensor, EagerError> {
    let Body::Expand(body) = &def.body else {
        return Err(internal("not composite").into());
    };
    if let Some(place) = def.params.iter().position(|p| p.kind == ParamKind::Out)
        && matches!(args[place], EagerArg::None)
    {
        let ty = with_args(def, &args, |args| (body.infer)(args))?;
        args[place] = EagerArg::Tensor(Tensor::zeros(&ty)?);
    }
    let mut builder = Builder::new();
    let mut known: HashMap<Symbol, Tensor> = HashMap::new();
    let symbols: Vec<Arg> = args
        .iter()
        .map(|arg| match arg {
            EagerArg::Tensor(tensor) => {
                let symbol = builder.program.fresh_symbol();
                known.insert(symbol, tensor.clone());
                Arg::Device(symbol, None)
            }
            EagerArg::Int(value) => Arg::Int(*value),
            EagerArg::Shape(items) => Arg::Shape(items.as_slice().into()),
            EagerArg::DType(dtype) => Arg::DType(*dtype),
            EagerArg::None => Arg::None,
        })
        .collect();
    let result = builder.program.fresh_symbol();
    let mut expansion = Expansion::new(def, &symbols, result, &mut builder);
    with_args(def, &args, |args| (body.expand)(args, &mut expansion))?;
    expansion.finish();
    let mut last = None;
    for step in &builder.program.steps {
        match step {
            Step::Op(op) => {
                let name = builder.program.text_name(op.name);
                let inner = find(name).ok_or_else(|| internal(name))?;
                let form = inner.forms.iter().find(|f| f.name == name);
                let form = form.ok_or_else(|| internal(name))?;
                let values = builder
                    .program
                    .args(op)
                    .iter()
                    .zip(form.args)
                    .map(|(arg, param)| (*param, value_of(arg, &known)));
                let mut ordered = vec![EagerArg::None; inner.params.len()];
                for (param, value) in values {
                    if let Some(slot) = inner.param(param).and_then(|i| ordered.get_mut(i)) {
                        *slot = value;
                    }
                }
                let tensor = call(inner, ordered, threads, isa)?;
                if let Some(Arg::Device(symbol, _)) = builder.program.out(op) {
                    known.insert(*symbol, tensor.clone());
                }
                last = Some(tensor);
            }
            Step::Free(symbol) => drop(known.remove(symbol)),
            _ => {}
        }
    }
    match known.remove(&result).or(last) {
        Some(tensor) => Ok(tensor),
        None => Err(internal("an expansion without a result").into()),
    }
}

fn value_of(arg: &Arg, known: &HashMap<Symbol, Tensor>) -> EagerArg {
    match arg {
        Arg::Device(symbol, _) => known
            .get(symbol)
            .map_or(EagerArg::None, |t| EagerArg::Tensor(t.clone())),
        Arg::Int(value) => EagerArg::Int(*value),
        Arg::Shape(items) => EagerArg::Shape(items.to_vec()),
        Arg::DType(dtype) => EagerArg::DType(*dtype),
        Arg::Host(_) | Arg::None | Arg::Invalid(_) => EagerArg::None,
    }
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
