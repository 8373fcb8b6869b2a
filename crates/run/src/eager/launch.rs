//! Running one launch on tensors that exist, by the workers that run plans.

use super::{EagerArg, EagerError, internal};
use crate::RunError;
use crate::exec::dispatch;
use crate::exec::launch::{SPLIT_NS, Workers};
use crate::exec::pool;
use crate::memory::Block;
use crate::memory::derived::{Constant, constants};
use cloakwork_ir::{DType, View};
use cloakwork_kernels::{Isa, LaunchShape, RawLaunch, select};
use cloakwork_ops::{COPY_KERNEL, Launch, Source};
use smallvec::SmallVec;

/// Runs one launch of a call.
pub(super) fn run_launch(
    launch: &Launch,
    args: &[EagerArg],
    temporary: &Block,
    threads: usize,
    isa: Isa,
) -> Result<(), EagerError> {
    let mut pool_words: SmallVec<[i64; 6]> = SmallVec::new();
    for operand in &launch.operands {
        let value = if let Source::Int(value) = operand.source {
            value
        } else {
            0
        };
        pool_words.push(value.to_le());
    }
    let mut operands: SmallVec<[Constant<'_>; 6]> = SmallVec::new();
    let mut dtypes: SmallVec<[Option<DType>; 6]> = SmallVec::new();
    for (operand, word) in launch.operands.iter().zip(&pool_words) {
        let mut frozen = None;
        let (pointer, dtype) = match operand.source {
            Source::Param(param) => match args.get(param as usize) {
                Some(EagerArg::Tensor(t)) => {
                    let bytes = operand.offset as isize * t.dtype().size_bytes() as isize;
                    frozen = t.is_frozen().then(|| t.storage());
                    (t.storage().as_ptr().wrapping_offset(bytes), Some(t.dtype()))
                }
                _ => return Err(internal("a launch names no tensor").into()),
            },
            Source::Int(_) => (std::ptr::from_ref(word).cast_mut().cast(), None),
            Source::Temporary(dtype) => {
                let bytes = operand.offset as isize * dtype.size_bytes() as isize;
                (temporary.as_ptr().wrapping_offset(bytes), Some(dtype))
            }
            Source::Null => (std::ptr::null_mut(), None),
        };
        operands.push(Constant {
            start: pointer.cast(),
            size_bytes: dtype.map_or(0, DType::size_bytes),
            frozen,
        });
        dtypes.push(dtype);
    }
    let output = dtypes
        .first()
        .copied()
        .flatten()
        .ok_or_else(|| internal("no result"))?;
    let input = dtypes.get(1).copied().flatten().unwrap_or(output);
    run_raw(launch, &operands, (input, output), threads, isa).map_err(Into::into)
}

/// Runs one launch on resolved operands.
fn run_raw(
    launch: &Launch,
    operands: &[Constant<'_>],
    (input, output): (DType, DType),
    threads: usize,
    isa: Isa,
) -> Result<(), RunError> {
    let units = launch.units();
    let data: SmallVec<[*mut std::ffi::c_void; 6]> = operands.iter().map(|o| o.start).collect();
    if units == 0 || moves_nothing(launch, &data) {
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
    // SAFETY: as below.
    let prepared = unsafe { constants(row, &shape, operands) }?;
    let threads = if launch.weight_ns() >= 2 * SPLIT_NS {
        threads.max(1)
    } else {
        1
    };
    let scratch = Block::uninit(row.scratch_bytes(&shape).next_multiple_of(64) * threads as u64)?;
    let pool = if threads > 1 {
        Some(pool::pool(threads)?)
    } else {
        None
    };
    let raw = RawLaunch::new(&shape, &data, prepared.pointer());
    dispatch::note(row, units, threads);
    let workers = Workers::new(pool.as_deref(), &scratch, SPLIT_NS);
    // SAFETY: the launch comes from a declaration over the views of tensors whose storage is alive
    // and large enough; the call was checked before.
    unsafe { workers.run(row, &raw, units, launch.weight_ns(), &mut || true) };
    Ok(())
}

/// Whether a launch copies elements onto themselves.
fn moves_nothing(launch: &Launch, data: &[*mut std::ffi::c_void]) -> bool {
    let same = |pair: &[*mut std::ffi::c_void]| pair[0] == pair[1];
    let strides = || launch.operands[0].strides == launch.operands[1].strides;
    launch.kernel == COPY_KERNEL && data.len() == 2 && same(data) && strides()
}

/// Copies elements between two views of the same shape.
pub(crate) fn copy(
    dtype: DType,
    operands: [(&View, *mut u8); 2],
    isa: Isa,
) -> Result<(), EagerError> {
    let size = dtype.size_bytes() as isize;
    let inputs = [0, 1].map(|i| {
        let view = View {
            offset: 0,
            ..operands[i].0.clone()
        };
        cloakwork_ops::LaunchInput::View(Source::Param(i as u8), view)
    });
    let launch = Launch::elementwise(COPY_KERNEL, &operands[0].0.shape, &inputs)
        .map_err(|error| internal(&error.to_string()))?;
    let data = operands.map(|(view, base)| Constant {
        start: base.wrapping_offset(view.offset as isize * size).cast(),
        size_bytes: dtype.size_bytes(),
        frozen: None,
    });
    run_raw(&launch, &data, (dtype, dtype), 1, isa).map_err(Into::into)
}
