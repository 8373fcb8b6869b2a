//! Ops that vendors declare: their expansions are held to their declarations, then they are known.

use crate::{result_type, verify};
use cloakwork_ir::{Arg, Builder, HostSlot, Program, View};
use cloakwork_ops::custom::{DeclarationError, Declared, read, register, sample_types};
use cloakwork_ops::{Args, OpDef, Operand, ParamKind, Value, write_expansion};
use smallvec::SmallVec;
use std::sync::Arc;

/// Reads the declarations of a file and makes their ops known, in every program from then on. The
/// same file may be read again.
///
/// # Errors
/// The first declaration that is wrong, with its line: none of the file's ops is known then.
pub fn declare(text: &str, file: &str) -> Result<Vec<&'static OpDef>, DeclarationError> {
    let declared = read(text, file)?;
    for own in &declared {
        held(own)?;
    }
    register(declared)
}

/// Verifies the expansion of an op on a sample call: all named axes have this size.
const SIZE: u64 = 4;

/// Holds the expansion of a declaration to its shape rule.
fn held(declared: &Declared) -> Result<(), DeclarationError> {
    if declared.def.body.expansion().is_none() {
        return Ok(());
    }
    let wrong = |got: String| {
        let expected = format!("steps that give the result on axes of size {SIZE}");
        declared.error_of_expansion(&expected, got)
    };
    let program = sample(declared.def).map_err(&wrong)?;
    let found = verify(Arc::new(program));
    match found.errors().next() {
        Some(error) => Err(wrong(error.to_string())),
        None => Ok(()),
    }
}

/// A program that is the expansion of a call.
fn sample(def: &'static OpDef) -> Result<Program, String> {
    let mut builder = Builder::new();
    let types = sample_types(def, SIZE);
    let views: Vec<Option<View>> = types
        .iter()
        .map(|ty| ty.as_ref().map(|ty| View::contiguous(ty.shape.clone())))
        .collect();
    let (mut args, mut values) = (Vec::new(), SmallVec::new());
    for ((param, ty), view) in def.params.iter().zip(types).zip(&views) {
        let (arg, value) = match (param.kind, ty, view) {
            (_, Some(ty), Some(view)) => {
                let dtype = ty.dtype;
                let name = param.name.to_owned();
                let symbol = builder.upload(HostSlot::Input { name, ty });
                let operand = Operand {
                    dtype,
                    view,
                    constant: None,
                };
                (Arg::Device(symbol, None), Value::Tensor(operand))
            }
            (ParamKind::Int(low, high), ..) => {
                let value = param.default.unwrap_or(1.clamp(low, high));
                (Arg::Int(value), Value::Int(value))
            }
            _ => (Arg::None, Value::Absent),
        };
        args.push(arg);
        values.push(value);
    }
    let bound = Args { def, values };
    let ty = result_type(def, &bound).map_err(|error| error.to_string())?;
    let out = builder.empty(ty.dtype, &ty.shape);
    let view = View::contiguous(ty.shape);
    let operand = Operand {
        dtype: ty.dtype,
        view: &view,
        constant: None,
    };
    let values = bound.values.iter().copied().collect();
    let mut bound = Args { def, values };
    let place = def.out().unwrap_or_default();
    if let (Some(arg), Some(value)) = (args.get_mut(place), bound.values.get_mut(place)) {
        (*arg, *value) = (Arg::Device(out, None), Value::Tensor(operand));
    }
    let written = write_expansion((def, &args), &bound, out, &mut builder);
    written.map_err(|error| error.to_string())?;
    let name = "out".to_owned();
    builder.download(out, HostSlot::Output { name });
    Ok(builder.program)
}
