//! Programs call by call: what a composite op expands into, and what of a program can be computed
//! where some of it cannot.

use super::{EagerArg, EagerError, Tensor, call, check_contents, internal, shares, with_args};
use cloakwork_ir::{Arg, Builder, HostId, Op, Program, Step, Symbol};
use cloakwork_kernels::Isa;
use cloakwork_ops::{Body, OpDef, ParamKind, find_form, write_expansion};
use cloakwork_verify::check_composite_call;
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
    let out = def.params.iter().position(|p| p.kind == ParamKind::Out);
    if let Some(place) = out {
        if !matches!(args[place], EagerArg::Tensor(_)) {
            let ty = with_args(def, &args, body.infer)?;
            args[place] = EagerArg::Tensor(Tensor::zeros(&ty)?);
        }
        with_args(def, &args, |bound| {
            check_composite_call(def, body, bound, &|param| shares(&args, param, place))
        })?;
    }
    check_contents(def, &args, isa)?;
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
    with_args(def, &args, |bound| {
        write_expansion((def, &symbols), bound, result, &mut builder)
    })?;
    for step in &builder.program.steps {
        match step {
            Step::Op(op) => {
                let (inner, ordered) = bind(&builder.program, op, &known)?;
                let tensor = match &inner.body {
                    // Expansions write what they allocate before they read it.
                    Body::Allocate(infer) => {
                        let ty = with_args(inner, &ordered, infer)?;
                        Tensor::uninit(ty.dtype, ty.shape)?
                    }
                    _ => call(inner, ordered, threads, isa)?,
                };
                if let Some(Arg::Device(symbol, _)) = builder.program.out(op) {
                    known.insert(*symbol, tensor);
                }
            }
            Step::Free(symbol) => drop(known.remove(symbol)),
            _ => {}
        }
    }
    let result = known.remove(&result);
    result.ok_or_else(|| internal("an expansion without a result").into())
}

/// The downloads of a program, in their order; none where something fails, or depends on what did.
#[must_use]
pub fn replay(
    program: &Program,
    inputs: &HashMap<HostId, Tensor>,
    threads: usize,
    isa: Isa,
) -> Vec<Option<Tensor>> {
    let mut known: HashMap<Symbol, Tensor> = HashMap::new();
    let mut results = Vec::new();
    for step in &program.steps {
        let Step::Op(op) = step else {
            continue;
        };
        let Ok((def, values)) = bind(program, op, &known) else {
            continue;
        };
        let args = program.args(op);
        let symbols = args.iter().filter_map(|arg| match arg {
            Arg::Device(symbol, _) => Some(symbol),
            _ => None,
        });
        let made = match def.body {
            Body::Download => {
                let mut shown = symbols;
                results.push(shown.next().and_then(|symbol| known.get(symbol).cloned()));
                continue;
            }
            Body::Upload => args.iter().find_map(|arg| match arg {
                Arg::Host(id) => inputs.get(id).cloned(),
                _ => None,
            }),
            _ if symbols.into_iter().all(|symbol| known.contains_key(symbol)) => {
                call(def, values, threads, isa).ok()
            }
            _ => None,
        };
        if let Some(Arg::Device(symbol, _)) = program.out(op) {
            match made {
                Some(tensor) => known.insert(*symbol, tensor),
                // What it was to write is not what the program says.
                None => known.remove(symbol),
            };
        }
    }
    results
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
