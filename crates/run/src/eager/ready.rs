//! Element-wise calls without a detour: operands that are dense, of one type and of one shape (or
//! one of them a single element) need nothing of the declaration but its row of kernels, which is
//! looked up once. All other calls are prepared calls, with equal results.

use super::{EagerArg, EagerError, Tensor, call, internal};
use crate::exec::dispatch;
use crate::exec::launch::{Workers, split_ns};
use crate::exec::pool;
use crate::memory::Block;
use cloakwork_ir::{DType, Shape};
use cloakwork_kernels::{Isa, KernelRow, LaunchShape, RawLaunch, select};
use cloakwork_ops::{Body, Elementwise, KernelBody, OpDef, elementwise, find};
use cloakwork_process::Once;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

const DTYPES: usize = cloakwork_ir::ALL_DTYPES.len();

/// An element-wise op with its kernels looked up.
pub struct Ready {
    name: &'static str,
    found: Once<Option<(&'static OpDef, &'static Elementwise)>>,
    /// By named instruction set and the operands' type; null where not looked up yet.
    rows: [[AtomicPtr<KernelRow>; DTYPES]; Isa::NAMED],
}

/// An operand: a tensor, or a single element of the same type.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// One element's bytes, aligned as 16-byte elements are.
    Element(&'a Element),
}

/// One element of any type, in its first bytes.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub struct Element(pub [u8; 16]);

/// How the operands lie: the result's elements, and each operand's step.
struct Dense {
    elements: u64,
    steps: [i64; 2],
}

impl Ready {
    /// The op of this name; it is looked for when it is first called.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            found: Once::new(),
            rows: [const { [const { AtomicPtr::new(null_mut()) }; DTYPES] }; Isa::NAMED],
        }
    }

    /// The declaration.
    ///
    /// # Errors
    /// There is no such element-wise op: an internal error.
    pub fn def(&self) -> Result<(&'static OpDef, &'static Elementwise), EagerError> {
        let found = self.found.get_or_init(|| {
            let def = find(self.name)?;
            match def.body {
                Body::Kernel(KernelBody {
                    elementwise: Some(rule),
                    ..
                }) => Some((def, rule)),
                _ => None,
            }
        });
        found.ok_or_else(|| internal(&format!("{} is no element-wise op", self.name)).into())
    }

    fn row(&self, rule: &Elementwise, dtype: DType, isa: Isa) -> Option<&'static KernelRow> {
        let select = || select(rule.kernel, dtype, rule.gives.of(dtype), isa);
        let Some(index) = isa.named_index() else {
            return select();
        };
        let slot = self.rows.get(index)?.get(dtype.index())?;
        let known = slot.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: only rows of the table, which live forever, are stored, and were written
            // before: it was read before it was stored.
            return Some(unsafe { &*known });
        }
        let row = select()?;
        slot.store(std::ptr::from_ref(row).cast_mut(), Ordering::Release);
        Some(row)
    }

    /// About how long a call takes on one core, in nanoseconds: one per element.
    #[inline]
    #[must_use]
    pub fn weight_ns(operands: &[Operand<'_>]) -> u64 {
        let mut most = 1;
        for operand in operands {
            if let Operand::Tensor(tensor) = operand {
                most = tensor.view().shape.elements().max(most);
            }
        }
        most
    }

    /// The result of one or two operands of type `dtype`.
    ///
    /// # Errors
    /// The declaration refuses the call, or there is too little memory.
    pub fn call(
        &self,
        dtype: DType,
        operands: &[Operand<'_>],
        threads: usize,
        isa: Isa,
    ) -> Result<Tensor, EagerError> {
        let (def, rule) = self.def()?;
        if rule.takes.allows(dtype)
            && let Some((dense, shape)) = dense(operands)
            && let Some(row) = self.row(rule, dtype, isa)
        {
            let out = Tensor::uninit(rule.gives.of(dtype), shape.clone())?;
            run(row, &dense, &out, operands, threads)?;
            return Ok(out);
        }
        called(def, dtype, operands, threads, isa)
    }

    /// Writes the result of a tensor and an operand into the tensor; false where the declaration
    /// has to say whether and how.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn call_in_place(
        &self,
        to: &Tensor,
        operand: Operand<'_>,
        threads: usize,
        isa: Isa,
    ) -> Result<bool, EagerError> {
        let (_, rule) = self.def()?;
        let dtype = to.dtype();
        let own = rule.takes.allows(dtype)
            && rule.takes.computes_in(dtype) == dtype
            && rule.gives.of(dtype) == dtype;
        // A tensor of the same memory may only be the written one itself.
        let apart = match operand {
            Operand::Element(_) => true,
            Operand::Tensor(other) => {
                let same = Arc::ptr_eq(other.storage(), to.storage());
                let itself = same && std::ptr::eq(other.data(), to.data());
                other.dtype() == dtype
                    && (!same || (itself && other.view().shape == to.view().shape))
                    && !other.storage().overlaps(to.storage())
            }
        };
        if !own || !apart || to.is_read_only() {
            return Ok(false);
        }
        let operands = [Operand::Tensor(to), operand];
        let Some((dense, shape)) = dense(&operands) else {
            return Ok(false);
        };
        let Some(row) = self
            .row(rule, dtype, isa)
            .filter(|_| *shape == to.view().shape)
        else {
            return Ok(false);
        };
        run(row, &dense, to, &operands, threads)?;
        Ok(true)
    }

    /// As [`Ready::call`] on one thread; the result may be a tensor that nobody else has any more.
    ///
    /// # Errors
    /// As [`Ready::call`].
    pub fn call_reusing(
        &self,
        dtype: DType,
        operands: &[Operand<'_>],
        spare: Option<Tensor>,
        isa: Isa,
    ) -> Result<Tensor, EagerError> {
        let (_, rule) = self.def()?;
        if let Some(spare) = spare.filter(Tensor::is_only)
            && spare.dtype() == rule.gives.of(dtype)
            && rule.takes.allows(dtype)
            && let Some((dense, shape)) = dense(operands)
            && spare.view().is_contiguous()
            && spare.view().shape == *shape
            && let Some(row) = self.row(rule, dtype, isa)
        {
            run(row, &dense, &spare, operands, 1)?;
            return Ok(spare);
        }
        self.call(dtype, operands, 1, isa)
    }
}

/// Runs an element-wise row on contiguous operands that are as long as the result.
pub(super) fn run_dense(
    row: &'static KernelRow,
    out: &Tensor,
    operands: &[Operand<'_>],
    threads: usize,
) -> Result<(), EagerError> {
    let (elements, steps) = (out.view().shape.elements(), [1; 2]);
    run(row, &Dense { elements, steps }, out, operands, threads)
}

/// A call by the declaration.
fn called(
    def: &'static OpDef,
    dtype: DType,
    operands: &[Operand<'_>],
    threads: usize,
    isa: Isa,
) -> Result<Tensor, EagerError> {
    let tensor = |operand: &Operand| match operand {
        Operand::Tensor(tensor) => Ok(EagerArg::Tensor((*tensor).clone())),
        Operand::Element(element) => element.tensor(dtype).map(EagerArg::Tensor),
    };
    let args = operands.iter().map(tensor).collect::<Result<_, _>>()?;
    call(def, args, threads, isa)
}

impl Element {
    /// A tensor without axes that holds it.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn tensor(&self, dtype: DType) -> Result<Tensor, EagerError> {
        let view = cloakwork_ir::View::contiguous(Shape::scalar());
        Ok(Tensor::from_bytes(dtype, view, &self.0)?)
    }
}

/// The geometry, if there is nothing to it, and the result's shape.
#[inline]
fn dense<'a>(operands: &[Operand<'a>]) -> Option<(Dense, &'a Shape)> {
    let mut whole: Option<&'a Tensor> = None;
    for operand in operands {
        let Operand::Tensor(tensor) = operand else {
            continue;
        };
        let view = tensor.view();
        if !view.is_contiguous() {
            return None;
        }
        match whole {
            None => whole = Some(tensor),
            Some(other) if other.view().shape == view.shape => {}
            // A tensor of no axes and one element goes with any shape.
            Some(other) if other.view().rank() == 0 => whole = Some(tensor),
            Some(_) if view.rank() == 0 => {}
            Some(_) => return None,
        }
    }
    let shape = &whole?.view().shape;
    let step = |place: usize| match operands.get(place) {
        Some(Operand::Tensor(tensor)) => i64::from(tensor.view().rank() == shape.rank()),
        _ => 0,
    };
    let steps = [step(0), step(1)];
    let elements = shape.elements();
    Some((Dense { elements, steps }, shape))
}

fn run(
    row: &'static KernelRow,
    dense: &Dense,
    out: &Tensor,
    operands: &[Operand<'_>],
    threads: usize,
) -> Result<(), EagerError> {
    let start = |place: usize| match operands.get(place) {
        Some(Operand::Tensor(tensor)) => tensor.data().cast(),
        Some(Operand::Element(element)) => std::ptr::from_ref(*element).cast_mut().cast(),
        None => null_mut(),
    };
    let data: [*mut c_void; 3] = [out.data().cast(), start(0), start(1)];
    let dims = [dense.elements as i64];
    let strides = [1, dense.steps[0], dense.steps[1]];
    let bytes = dense.elements * out.dtype().size_bytes() as u64;
    let params = [i64::from(bytes >= elementwise::STREAM_BYTES)];
    let shape = LaunchShape {
        dims: &dims,
        strides: &strides,
        params: &params,
    };
    let launch = RawLaunch::new(&shape, &data[..=operands.len()], std::ptr::null());
    if dense.elements == 0 {
        return Ok(());
    }
    let threads = match dense.elements < 2 * split_ns() {
        true => 1,
        false => threads,
    };
    dispatch::launched(
        row,
        dense.elements,
        threads,
        || bytes_of(out, operands),
        || {
            if threads == 1 {
                // SAFETY: the operands are dense, of the row's types and as long as the launch
                // says; the result is new, or the first operand. Element-wise rows need neither
                // scratch memory nor constants.
                unsafe { row.run(&launch, 0, dense.elements, null_mut()) };
                return Ok(());
            }
            let pool = pool::pool(threads)?;
            let scratch = Block::uninit(0)?;
            let workers = Workers::new(Some(&pool), &scratch, split_ns());
            // SAFETY: as above; parts write disjoint elements.
            unsafe { workers.run(row, &launch, dense.elements, dense.elements, &mut || true) };
            Ok(())
        },
    )
}

/// Bytes of a result and its operands.
fn bytes_of(out: &Tensor, operands: &[Operand<'_>]) -> u64 {
    let given = operands.iter().map(|operand| match operand {
        Operand::Tensor(tensor) => tensor.ty().size_bytes(),
        Operand::Element(_) => 0,
    });
    given.sum::<u64>() + out.ty().size_bytes()
}
