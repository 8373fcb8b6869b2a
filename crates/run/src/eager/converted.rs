//! Conversions between types of numbers without a detour: rows of kernels, looked up once.

use super::ready::{Operand, run_dense};
use super::{EagerError, Tensor};
use cloakwork_ir::DType;
use cloakwork_kernels::{Isa, KernelRow, select};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

const DTYPES: usize = cloakwork_ir::ALL_DTYPES.len();

/// By named instruction set, the type given, and the type wanted; null where not looked up yet.
static ROWS: [[[AtomicPtr<KernelRow>; DTYPES]; DTYPES]; Isa::NAMED] =
    [const { [const { [const { AtomicPtr::new(null_mut()) }; DTYPES] }; DTYPES] }; Isa::NAMED];

impl Tensor {
    /// The elements of a contiguous tensor of numbers as another type of number; `None` for other
    /// tensors and types, which the op converts or refuses.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn converted(
        &self,
        dtype: DType,
        threads: usize,
        isa: Isa,
    ) -> Result<Option<Self>, EagerError> {
        let of_numbers = self.dtype().is_number() && dtype.is_number() && self.dtype() != dtype;
        if !of_numbers || !self.view().is_contiguous() {
            return Ok(None);
        }
        let Some(row) = row(self.dtype(), dtype, isa) else {
            return Ok(None);
        };
        let out = Self::uninit(dtype, self.view().shape.clone())?;
        run_dense(row, &out, &[Operand::Tensor(self)], threads)?;
        Ok(Some(out))
    }
}

fn row(from: DType, to: DType, isa: Isa) -> Option<&'static KernelRow> {
    let select = || select("cast", from, to, isa);
    let Some(index) = isa.named_index() else {
        return select();
    };
    let slot = ROWS.get(index)?.get(from.index())?.get(to.index())?;
    let known = slot.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: only rows of the table, which live forever, are stored, and were written before:
        // it was read before it was stored.
        return Some(unsafe { &*known });
    }
    let row = select()?;
    slot.store(std::ptr::from_ref(row).cast_mut(), Ordering::Release);
    Some(row)
}
