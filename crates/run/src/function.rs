//! Steps that the caller's own code does.
//!
//! A plan with such steps runs in its order, on the thread that runs it: what the code does beside
//! its results happens in the program's order, always.

use crate::RunError;
use crate::memory::{Block, into_bytes};
use crate::table::Memories;
use cloakwork_ir::{DType, HostTensor, Shape, Type, View};
use cloakwork_kernels::{RawLaunch, best_isa, select};
use cloakwork_plan::{FunctionCall, Plan, Step};
use std::ffi::c_void;
use std::sync::Arc;

/// Functions that a program calls by number.
pub trait Functions: std::fmt::Debug + Send + Sync {
    /// What messages call a function.
    fn name(&self, function: u32) -> String;

    /// A result of a call, of this type. The function itself is called for result 0, with the
    /// operands; other results of the same call come after, without operands.
    ///
    /// # Errors
    /// There is no such function, it failed, or what it gave is of another type: in words.
    fn call(
        &self,
        call: &FunctionCall,
        operands: Vec<HostTensor>,
        expected: &Type,
    ) -> Result<HostTensor, String>;
}

/// Runs a step of a plan that calls a function.
///
/// # Errors
/// There are no functions, or what the function did.
pub fn step(
    (memories, functions): (&Memories, Option<&Arc<dyn Functions>>),
    step: &Step,
    call: &FunctionCall,
) -> Result<(), RunError> {
    let plan = memories.plan;
    let failed = |reason: String| RunError::Function {
        place: place(plan, step),
        function: functions.map_or_else(
            || call.function.to_string(),
            |functions| functions.name(call.function),
        ),
        reason,
    };
    let functions = functions.ok_or_else(|| failed("the run was given none".to_owned()))?;
    let first = step.first_address as usize;
    let addresses = &plan.addresses[first..first + call.operands.len()];
    let mut operands = Vec::with_capacity(call.operands.len());
    for ((dtype, view), address) in call.operands.iter().zip(addresses).skip(1) {
        let start = memories.pointer(address)?;
        let block = Block::uninit(Type::new(*dtype, view.shape.clone()).size_bytes())?;
        let dense = View::contiguous(view.shape.clone());
        // SAFETY: the plan's address and view lie inside the operand's memory, which nobody else
        // touches while the step runs; the bytes are as many as the elements have.
        unsafe { copy(*dtype, (block.as_ptr().cast(), &dense), (start, view)) };
        let tensor = HostTensor::new(*dtype, dense, into_bytes(block));
        operands.push(tensor.map_err(|error| RunError::Internal(error.to_string()))?);
    }
    let (Some((dtype, view)), Some(address)) = (call.operands.first(), addresses.first()) else {
        return Err(RunError::Internal("a function without a result".to_owned()));
    };
    let expected = Type::new(*dtype, view.shape.clone());
    let made = functions.call(call, operands, &expected).map_err(failed)?;
    if made.ty() != expected {
        return Err(failed(format!("expected {expected}, got {}", made.ty())));
    }
    let from = made.view();
    let size = dtype.size_bytes() as i64;
    let begin = made.bytes().as_slice().as_ptr();
    let begin = begin.wrapping_offset((from.offset * size) as isize);
    let start = memories.pointer(address)?;
    // SAFETY: as above; a host tensor's view lies inside its bytes.
    unsafe { copy(*dtype, (start, view), (begin.cast_mut().cast(), from)) };
    Ok(())
}

/// Copies elements from one view to another of the same shape; the pointers are their first
/// elements'.
///
/// # Safety
/// The elements of both are there, those written are nobody else's.
unsafe fn copy(
    dtype: DType,
    (to, to_view): (*mut c_void, &View),
    (from, from_view): (*mut c_void, &View),
) {
    let shape: &Shape = &to_view.shape;
    let Some(row) = select("copy", dtype, dtype, best_isa()) else {
        return;
    };
    let dims: Vec<i64> = shape.dims().iter().map(|&dim| dim as i64).collect();
    let strides = [&to_view.strides[..], &from_view.strides[..]].concat();
    let data = [to, from];
    let launch = RawLaunch {
        rank: dims.len() as u32,
        operands: 2,
        dims: dims.as_ptr(),
        strides: strides.as_ptr(),
        data: data.as_ptr().cast(),
        params: std::ptr::null(),
        prepared: std::ptr::null(),
    };
    // SAFETY: the caller's promise.
    unsafe { row.run(&launch, 0, shape.elements(), std::ptr::null_mut()) };
}

/// A step as messages name it.
fn place(plan: &Plan, step: &Step) -> String {
    plan.verified.label(plan.program_step(step.origin))
}
