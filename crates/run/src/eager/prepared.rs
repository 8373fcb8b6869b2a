//! Calls with everything settled that their keys decide: checked against the declaration, the
//! result's type and layout, kernels and geometry. What is left for each call is to allocate, to
//! look at contents, and to run.

use super::checks::Checks;
use super::launch::{OwnCopy, Settled};
use super::{
    Composite, Context, EagerArg, EagerError, Tensor, internal, shares, tensor_of, with_args,
};
use crate::memory::Block;
use cloakwork_ir::{DType, Shape, View};
use cloakwork_kernels::Isa;
use cloakwork_ops::{
    Access, Args, Code, Family, KernelBody, OpDef, OpError, Operand, Value, check_known,
};
use smallvec::SmallVec;
use std::ptr::null_mut;

/// A prepared call.
pub(super) enum Prepared {
    Kernel(Kernel),
    Composite(Composite),
    Copy(Repacked),
}

impl Prepared {
    /// About how long it takes on one core, in nanoseconds.
    pub fn weight_ns(&self) -> u64 {
        match self {
            Self::Kernel(kernel) => kernel.weight_ns,
            Self::Composite(composite) => composite.weight_ns(),
            Self::Copy(copy) => copy.launch.as_ref().map_or(0, |launch| launch.weight_ns),
        }
    }

    /// Runs it on the arguments of a call with its key, one a parameter.
    ///
    /// # Errors
    /// Contents that the op does not take, or too little memory.
    pub fn run(&self, context: Context, args: &mut [EagerArg]) -> Result<Tensor, EagerError> {
        match self {
            Self::Kernel(kernel) => kernel.run(context, args),
            Self::Composite(composite) => composite.run(context, args),
            Self::Copy(copy) => copy.run(context, args),
        }
    }
}

/// A tensor to be made.
pub(super) struct Fresh {
    dtype: DType,
    view: View,
    bytes: u64,
    zeroed: bool,
}

impl Fresh {
    pub fn new(dtype: DType, view: View, zeroed: bool) -> Self {
        Self {
            bytes: view.shape.elements() * dtype.size_bytes() as u64,
            dtype,
            view,
            zeroed,
        }
    }

    pub fn make(&self) -> Result<Tensor, EagerError> {
        let block = if self.zeroed {
            Block::zeroed_reusable(self.bytes)?
        } else {
            Block::uninit(self.bytes)?
        };
        Ok(Tensor::own(block, self.dtype, self.view.clone()))
    }
}

/// A call of an op that kernels compute.
pub(super) struct Kernel {
    /// The parameter of the result, and the tensor to make where none is given.
    out: usize,
    result: Option<Fresh>,
    /// Operands that contain indices, which another thread may write meanwhile.
    copies: Box<[(usize, OwnCopy)]>,
    checks: Checks,
    launches: Box<[Settled]>,
    temporary_bytes: u64,
    weight_ns: u64,
}

impl Kernel {
    /// Prepares a call. Where it has no `out`, it has one afterwards.
    ///
    /// # Errors
    /// The declaration refuses the call.
    pub fn new(
        context: Context,
        body: &'static KernelBody,
        args: &mut [EagerArg],
    ) -> Result<Self, EagerError> {
        let Context { def, isa, .. } = context;
        let Some(out) = def.out() else {
            return Err(internal("a kernel op without a result").into());
        };
        let mut result = None;
        if matches!(args[out], EagerArg::None) {
            let fresh = fresh(def, body, args)?;
            args[out] = EagerArg::Tensor(fresh.make()?);
            result = Some(fresh);
        }
        tensor_of(def, args, def.params[out].name)?;
        with_args(def, args, |bound| {
            cloakwork_verify::check_call(def, bound, &|param| shares(args, param, out))
        })?;
        let copies = copies(def, body, args, isa)?;
        let checks = Checks::of(context, args, &copies)?;
        let (launches, temporary_bytes) = launches(def, body, args, &copies, isa)?;
        let weights = launches.iter().map(|launch| launch.weight_ns);
        let copied = copies.iter().map(|(_, copy)| copy.weight_ns());
        let weights = weights.chain(copied).chain([checks.weight_ns()]);
        Ok(Self {
            out,
            result,
            weight_ns: weights.fold(0, u64::saturating_add),
            copies,
            checks,
            launches,
            temporary_bytes,
        })
    }

    fn run(&self, context: Context, args: &mut [EagerArg]) -> Result<Tensor, EagerError> {
        if let (Some(fresh), EagerArg::None) = (&self.result, &args[self.out]) {
            args[self.out] = EagerArg::Tensor(fresh.make()?);
        }
        let EagerArg::Tensor(out) = args[self.out].clone() else {
            return Err(internal("a result that is no tensor").into());
        };
        for (param, copy) in &self.copies {
            if let EagerArg::Tensor(tensor) = &args[*param] {
                args[*param] = EagerArg::Tensor(copy.of(tensor)?);
            }
        }
        self.checks.hold(context, args)?;
        if self.result.is_none() && out.is_read_only() {
            let found = if out.repeats() {
                "a view that repeats elements, so that one write would change several"
            } else {
                "read-only"
            };
            let error = OpError::new(Code::Aliasing, "out", "memory that may be written", found);
            return Err(EagerError::Call {
                op: context.def.name,
                error,
            });
        }
        let temporary = match self.temporary_bytes {
            0 => None,
            bytes => Some(Block::uninit(bytes)?),
        };
        let start = temporary.as_ref().map_or(null_mut(), Block::as_ptr);
        for launch in &self.launches {
            // SAFETY: the arguments have the key for which this was prepared from the declaration,
            // so that their types and layouts are those of the launch; contents were checked just
            // now, in private copies where they contain indices.
            unsafe { launch.run(args, start, context.threads) }?;
        }
        Ok(out)
    }
}

/// The result of a call without `out`.
fn fresh(def: &'static OpDef, body: &KernelBody, args: &[EagerArg]) -> Result<Fresh, EagerError> {
    let ty = with_args(def, args, |args| cloakwork_verify::result_type(def, args))?;
    let view = match (body.access, like(def, args, &ty.shape)) {
        (Access::Write, Some(view)) => View::ordered_like(ty.shape, view),
        (Access::Write, None) | (Access::Accumulate, _) => View::contiguous(ty.shape),
    };
    Ok(Fresh::new(
        ty.dtype,
        view,
        body.access == Access::Accumulate,
    ))
}

/// The operand whose order of axes a result takes over. Residues come with their moduli on the
/// last axis, the wrong order for SIMD: operands laid out limb by limb give such results.
fn like<'a>(def: &OpDef, args: &'a [EagerArg], shape: &Shape) -> Option<&'a View> {
    if def.family.is_of_numbers() || def.family == Family::Layout {
        return None;
    }
    match args.first() {
        Some(EagerArg::Tensor(a)) if a.view().rank() == shape.rank() => Some(a.view()),
        _ => None,
    }
}

/// Copies of the operands by which kernels go to places in memory, where they may be written.
fn copies(
    def: &'static OpDef,
    body: &KernelBody,
    args: &[EagerArg],
    isa: Isa,
) -> Result<Box<[(usize, OwnCopy)]>, EagerError> {
    let mut copies: Vec<(usize, OwnCopy)> = Vec::new();
    for rule in body.checks.iter().filter(|rule| rule.guards_memory()) {
        let Some(param) = def.param(rule.operand()) else {
            continue;
        };
        if let Some(EagerArg::Tensor(tensor)) = args.get(param)
            && !tensor.is_frozen()
            && !copies.iter().any(|(other, _)| *other == param)
        {
            copies.push((param, OwnCopy::new(tensor.dtype(), tensor.view(), isa)?));
        }
    }
    Ok(copies.into())
}

type Launches = (Box<[Settled]>, u64);

/// The launches of a call, and the bytes of memory that they share.
fn launches(
    def: &'static OpDef,
    body: &KernelBody,
    args: &[EagerArg],
    copies: &[(usize, OwnCopy)],
    isa: Isa,
) -> Result<Launches, EagerError> {
    // Offsets count from the first elements, wherever those lie.
    let views: SmallVec<[Option<(DType, View)>; 10]> = args
        .iter()
        .enumerate()
        .map(|(param, arg)| match arg {
            EagerArg::Tensor(tensor) => {
                let copied = copies.iter().find(|(other, _)| *other == param);
                let view = copied.map_or_else(|| tensor.view(), |(_, copy)| copy.view());
                let view = View {
                    offset: 0,
                    ..view.clone()
                };
                Some((tensor.dtype(), view))
            }
            _ => None,
        })
        .collect();
    let values = args.iter().zip(&views).map(|(arg, shown)| match shown {
        Some((dtype, view)) => Value::Tensor(Operand {
            dtype: *dtype,
            view,
            constant: None,
        }),
        None => arg.bound(),
    });
    let bound = Args {
        def,
        values: values.collect(),
    };
    let refused = |error| EagerError::Call {
        op: def.name,
        error,
    };
    check_known(&bound).map_err(refused)?;
    let temporary_bytes = match body.temporary {
        Some(bytes) => bytes(&bound).map_err(refused)?,
        None => 0,
    };
    let mut settled = Vec::new();
    for launch in &(body.launch)(&bound).map_err(refused)? {
        let dtype_of = |param: u8| Some(views.get(usize::from(param))?.as_ref()?.0);
        settled.extend(Settled::new(launch, dtype_of, isa)?);
    }
    Ok((settled.into(), temporary_bytes))
}

/// A copy of a layout op, where no view can say its result.
pub(super) struct Repacked {
    result: Fresh,
    launch: Option<Settled>,
}

impl Repacked {
    /// The copy of a tensor in row-major order, under a shape.
    ///
    /// # Errors
    /// No kernel copies: an internal error.
    pub fn new(source: &Tensor, shape: Shape, isa: Isa) -> Result<Self, EagerError> {
        let dense = View::contiguous(source.view().shape.clone());
        Ok(Self {
            launch: Settled::copy(source.dtype(), (&dense, source.view()), isa)?,
            result: Fresh::new(source.dtype(), View::contiguous(shape), false),
        })
    }

    fn run(&self, context: Context, args: &[EagerArg]) -> Result<Tensor, EagerError> {
        let source = tensor_of(context.def, args, "a")?;
        let result = self.result.make()?;
        if let Some(launch) = &self.launch {
            let operands = [EagerArg::Tensor(result.clone()), EagerArg::Tensor(source)];
            // SAFETY: the source has the layout that this was made for, and the result is as large
            // and new.
            unsafe { launch.run(&operands, null_mut(), 1) }?;
        }
        Ok(result)
    }
}
