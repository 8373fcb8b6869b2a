//! Steps that call the caller's functions.
//!
//! A plan with such steps runs in order, on the thread that runs it: side effects of the functions
//! always happen in the program's order.

use crate::RunError;
use crate::eager::{EagerError, copy_elements as copy};
use crate::exec::table::Memories;
use crate::memory::{Block, into_bytes};
use cloakwork_ir::{DType, HostTensor, Type, View};
use cloakwork_ops::elements;
use cloakwork_plan::{FunctionCall, Plan, Step};
use std::sync::Arc;

/// The caller's functions, which a program calls by number.
pub trait Functions: std::fmt::Debug + Send + Sync {
    /// A function's name in messages.
    fn name(&self, function: u32) -> String;

    /// Returns a result of a call, of this type. The function itself is called for result 0, with
    /// the operands; later requests for other results of the same call have no operands.
    ///
    /// # Errors
    /// The function is undefined, it failed, or its result has another type: as text.
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
/// The run has no functions, or the function failed.
pub fn step(
    (memories, functions): (&Memories, Option<&Arc<dyn Functions>>),
    step: &Step,
    call: &FunctionCall,
) -> Result<(), RunError> {
    let plan = memories.plan;
    let failed = |reason: String| RunError::Function {
        step: plan.program_step(step.origin),
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
        // The plan's address and view lie inside the operand's memory, which no other step touches
        // while the step runs.
        let pair = [(&dense, block.as_ptr()), (view, start.cast())];
        copied(plan, *dtype, pair)?;
        let tensor = HostTensor::new(*dtype, dense, into_bytes(block)).map(HostTensor::sound);
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
    elements::check_tensor(&made).map_err(|found| failed(found.to_string()))?;
    let from = made.bytes().as_slice().as_ptr().cast_mut();
    let to = memories.pointer(address)?.cast();
    copied(plan, *dtype, [(view, to), (made.view(), from)])?;
    Ok(())
}

/// Copies elements from one view to another of the same shape.
fn copied(plan: &Plan, dtype: DType, operands: [(&View, *mut u8); 2]) -> Result<(), RunError> {
    copy(dtype, operands, plan.options.isa).map_err(|error| match error {
        EagerError::Run(error) => error,
        EagerError::Call { error, .. } => RunError::Internal(error.to_string()),
    })
}

/// A step as messages name it.
fn place(plan: &Plan, step: &Step) -> String {
    plan.verified.label(plan.program_step(step.origin))
}
