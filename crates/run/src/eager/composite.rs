//! Composite ops, run expansion call by expansion call.

use super::{EagerArg, EagerError, Tensor, call, check_contents, internal, with_args};
use cloakwork_ir::{Arg, Builder, Op, Program, Step, Symbol};
use cloakwork_kernels::Isa;
use cloakwork_ops::{Body, Code, Expansion, OpDef, OpError, ParamKind, find_form};
use std::collections::HashMap;

/// Runs the expansion of a composite op, call by call.
pub(super) fn composite(
    def: &'static OpDef,
    mut args: Vec<EagerArg>,
    threads: usize,
    isa: Isa,
) -> Result<Tensor, EagerError> {
    let Body::Expand(body) = &def.body else {
        return Err(internal("not composite").into());
    };
    let ty = with_args(def, &args, body.infer)?;
    check_contents(def, &args)?;
    let out = def.params.iter().position(|p| p.kind == ParamKind::Out);
    if let Some(out) = out.and_then(|place| args.get_mut(place)) {
        match out {
            EagerArg::Tensor(tensor) if tensor.ty() != ty => {
                let (expected, got) = (ty.to_string(), tensor.ty().to_string());
                let error = OpError::new(Code::Shape, "out", expected, got);
                return Err(EagerError::Call {
                    op: def.name,
                    error,
                });
            }
            EagerArg::Tensor(_) => {}
            _ => *out = EagerArg::Tensor(Tensor::zeros(&ty)?),
        }
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
                let (inner, ordered) = bind(&builder.program, op, &known)?;
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

/// The declaration that a step of an expansion calls, and a value for each of its parameters.
fn bind(
    program: &Program,
    op: &Op,
    known: &HashMap<Symbol, Tensor>,
) -> Result<(&'static OpDef, Vec<EagerArg>), EagerError> {
    let (name, args) = (program.text_name(op.name), program.args(op));
    let (def, form) = find_form(name, args.len(), program.generation)
        .map_err(|error| internal(&error.to_string()))?;
    let mut values = vec![EagerArg::None; def.params.len()];
    for (arg, param) in args.iter().zip(form.args) {
        if let Some(slot) = def.param(param).and_then(|i| values.get_mut(i)) {
            *slot = value_of(arg, known);
        }
    }
    Ok((def, values))
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
