//! Programs call by call: expansions of composite ops, and the part of a program that can be
//! computed where another part fails.

use super::checks::Checks;
use super::prepared::{Fresh, Prepared};
use super::{
    Context, EagerArg, EagerError, Tensor, TypeFn, call, fill_in, internal, prepared_or_new,
    shares, tensor_of, with_args,
};
use cloakwork_ir::{Arg, Builder, HostId, HostSlot, Op, Program, Step, Symbol, View};
use cloakwork_kernels::Isa;
use cloakwork_ops::{Body, OpDef, Viewed, find_form, write_expansion, write_expansion_apart};
use cloakwork_verify::check_call;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A call of a composite op: the calls that it expands into, prepared.
pub(super) struct Composite {
    /// The parameter of the written tensor, if there is one, and the tensor to make where none is
    /// given.
    out: Option<(usize, Fresh)>,
    checks: Checks,
    steps: Vec<Small>,
    /// How many tensors the steps make.
    made: usize,
    result: Place,
    weight_ns: u64,
}

/// A tensor of a composite's run.
#[derive(Clone, Copy)]
enum Place {
    /// An argument.
    Given(usize),
    /// The result of a step.
    Made(usize),
}

/// One of the steps; its result is the next tensor that is made.
enum Small {
    /// A tensor to be written.
    Fresh(Fresh),
    /// A view; its offset counts from the first element of what it is a view of.
    View(Place, View),
    /// A call.
    Call {
        def: &'static OpDef,
        prepared: Arc<Prepared>,
        args: SmallVec<[SmallArg; 6]>,
    },
    /// A tensor is of no further use.
    Free(usize),
}

/// An argument of a step.
enum SmallArg {
    Place(Place),
    Int(i64),
    None,
}

impl Composite {
    /// Runs a call for the first time, step by step, and notes the steps.
    ///
    /// # Errors
    /// As of any call.
    pub fn first_run(
        context: Context,
        infer: TypeFn,
        args: &mut [EagerArg],
    ) -> Result<(Self, Tensor), EagerError> {
        let def = context.def;
        let out = written(def, infer, args)?;
        let checks = Checks::of(context, args, &[])?;
        checks.hold(context, args)?;
        let mut builder = Builder::new();
        let mut first = First {
            context,
            known: HashMap::new(),
            steps: Vec::new(),
            made: 0,
            weight_ns: checks.weight_ns(),
        };
        let symbols = first.symbols(&mut builder, args);
        let result = builder.program.fresh_symbol();
        let place = out.as_ref().map(|(place, _)| *place);
        let is_in_place = (0..args.len())
            .any(|param| place.is_some_and(|out| out != param && shares(args, param, out)));
        let write = match is_in_place && def.custom().is_some() {
            true => write_expansion_apart,
            false => write_expansion,
        };
        with_args(def, args, |bound| {
            write((def, &symbols), bound, result, &mut builder)
        })?;
        for step in &builder.program.steps {
            match step {
                Step::Op(op) => first.step(&builder.program, op)?,
                Step::Free(symbol) => first.free(*symbol),
                _ => {}
            }
        }
        let Some((tensor, result)) = first.known.remove(&result) else {
            return Err(internal("an expansion without a result").into());
        };
        let composite = Self {
            out,
            checks,
            steps: first.steps,
            made: first.made,
            result,
            weight_ns: first.weight_ns,
        };
        Ok((composite, tensor))
    }

    /// About how long it takes on one core, in nanoseconds.
    pub fn weight_ns(&self) -> u64 {
        self.weight_ns
    }

    /// Runs the steps on arguments of the same key.
    ///
    /// # Errors
    /// Contents that the op or a step does not take, or too little memory.
    pub fn run(&self, context: Context, args: &mut [EagerArg]) -> Result<Tensor, EagerError> {
        if let Some((place, fresh)) = &self.out
            && !matches!(args[*place], EagerArg::Tensor(_))
        {
            args[*place] = EagerArg::Tensor(fresh.make()?);
        }
        self.checks.hold(context, args)?;
        let mut made: SmallVec<[Option<Tensor>; 16]> = SmallVec::with_capacity(self.made);
        for step in &self.steps {
            match step {
                Small::Fresh(fresh) => made.push(Some(fresh.make()?)),
                Small::View(of, view) => made.push(Some(tensor_at(*of, args, &made)?.seen(view))),
                Small::Call {
                    def,
                    prepared,
                    args: wanted,
                } => {
                    let mut own: SmallVec<[EagerArg; 8]> = SmallVec::new();
                    for arg in wanted {
                        own.push(match arg {
                            SmallArg::Place(place) => {
                                EagerArg::Tensor(tensor_at(*place, args, &made)?.clone())
                            }
                            SmallArg::Int(value) => EagerArg::Int(*value),
                            SmallArg::None => EagerArg::None,
                        });
                    }
                    made.push(Some(prepared.run(Context { def, ..context }, &mut own)?));
                }
                Small::Free(place) => made[*place] = None,
            }
        }
        tensor_at(self.result, args, &made).cloned()
    }
}

fn tensor_at<'a>(
    place: Place,
    args: &'a [EagerArg],
    made: &'a [Option<Tensor>],
) -> Result<&'a Tensor, EagerError> {
    let found = match place {
        Place::Given(param) => match args.get(param) {
            Some(EagerArg::Tensor(tensor)) => Some(tensor),
            _ => None,
        },
        Place::Made(index) => made.get(index).and_then(Option::as_ref),
    };
    found.ok_or_else(|| internal("a step of an expansion without its operand").into())
}

/// Sees to the tensor that a composite op writes.
fn written(
    def: &'static OpDef,
    infer: TypeFn,
    args: &mut [EagerArg],
) -> Result<Option<(usize, Fresh)>, EagerError> {
    let Some(place) = def.out() else {
        return Ok(None);
    };
    let ty = with_args(def, args, infer)?;
    let fresh = Fresh::new(ty.dtype, View::contiguous(ty.shape), true);
    if !matches!(args[place], EagerArg::Tensor(_)) {
        args[place] = EagerArg::Tensor(fresh.make()?);
    }
    with_args(def, args, |bound| {
        check_call(def, bound, &|param| shares(args, param, place))
    })?;
    Ok(Some((place, fresh)))
}

/// The first run of a composite call.
struct First {
    context: Context,
    known: HashMap<Symbol, (Tensor, Place)>,
    steps: Vec<Small>,
    made: usize,
    weight_ns: u64,
}

impl First {
    /// Names for the tensors of a call.
    fn symbols(&mut self, builder: &mut Builder, args: &[EagerArg]) -> Vec<Arg> {
        let named = args.iter().enumerate().map(|(param, arg)| match arg {
            EagerArg::Tensor(tensor) => {
                let symbol = builder.program.fresh_symbol();
                let known = (tensor.clone(), Place::Given(param));
                self.known.insert(symbol, known);
                Arg::Device(symbol, None)
            }
            EagerArg::Int(value) => Arg::Int(*value),
            EagerArg::Shape(items) => Arg::Shape(items.as_slice().into()),
            EagerArg::DType(dtype) => Arg::DType(*dtype),
            EagerArg::None => Arg::None,
        });
        named.collect()
    }

    fn step(&mut self, program: &Program, op: &Op) -> Result<(), EagerError> {
        let (def, given) = arranged(program, op)?;
        let mut args: Vec<EagerArg> = given.iter().map(|arg| self.value(*arg)).collect();
        let wanted: SmallVec<[SmallArg; 6]> = given.iter().map(|arg| self.small(*arg)).collect();
        fill_in(def, &mut args);
        let context = Context {
            def,
            ..self.context
        };
        let tensor = match &def.body {
            // Expansions write what they allocate before they read it.
            Body::Allocate(infer) => {
                let ty = with_args(def, &args, infer)?;
                let fresh = Fresh::new(ty.dtype, View::contiguous(ty.shape), false);
                let tensor = fresh.make()?;
                self.steps.push(Small::Fresh(fresh));
                tensor
            }
            Body::View(view) => match with_args(def, &args, *view)? {
                Viewed::View(view) => self.view(def, &args, &wanted, view)?,
                Viewed::Copy(_) => self.call(context, &mut args, wanted)?,
            },
            _ => self.call(context, &mut args, wanted)?,
        };
        if let Some(Arg::Device(symbol, _)) = program.out(op) {
            let known = (tensor, Place::Made(self.made));
            self.made += 1;
            // A step that writes into a tensor gives it to the same name again.
            if let Some((_, Place::Made(former))) = self.known.insert(*symbol, known) {
                self.steps.push(Small::Free(former));
            }
        } else {
            self.made += 1;
        }
        Ok(())
    }

    fn view(
        &mut self,
        def: &'static OpDef,
        args: &[EagerArg],
        wanted: &[SmallArg],
        view: View,
    ) -> Result<Tensor, EagerError> {
        let source = tensor_of(def, args, "a")?;
        let place = def.param("a").and_then(|param| wanted.get(param));
        let Some(SmallArg::Place(place)) = place else {
            return Err(internal("a view of nothing").into());
        };
        let offset = view.offset - source.view().offset;
        let relative = View { offset, ..view };
        let tensor = source.seen(&relative);
        self.steps.push(Small::View(*place, relative));
        Ok(tensor)
    }

    fn call(
        &mut self,
        context: Context,
        args: &mut [EagerArg],
        wanted: SmallVec<[SmallArg; 6]>,
    ) -> Result<Tensor, EagerError> {
        let (prepared, result) = prepared_or_new(context, args)?;
        self.weight_ns = self.weight_ns.saturating_add(prepared.weight_ns());
        let result = match result {
            Some(result) => result,
            None => prepared.run(context, args)?,
        };
        self.steps.push(Small::Call {
            def: context.def,
            prepared,
            args: wanted,
        });
        Ok(result)
    }

    fn free(&mut self, symbol: Symbol) {
        if let Some((_, Place::Made(place))) = self.known.remove(&symbol) {
            self.steps.push(Small::Free(place));
        }
    }

    fn value(&self, arg: Option<&Arg>) -> EagerArg {
        let tensor = |symbol: &Symbol| Some(self.known.get(symbol)?.0.clone());
        arg.map_or(EagerArg::None, |arg| value_of(arg, &tensor))
    }

    /// An argument for further runs, whose shapes and types are known.
    fn small(&self, arg: Option<&Arg>) -> SmallArg {
        match arg {
            Some(Arg::Device(symbol, _)) => match self.known.get(symbol) {
                Some((_, place)) => SmallArg::Place(*place),
                None => SmallArg::None,
            },
            Some(Arg::Int(value)) => SmallArg::Int(*value),
            _ => SmallArg::None,
        }
    }
}

/// The downloads of a program, in their order; `None` for those that depend on a step that fails.
#[must_use]
pub fn replay(
    program: &Program,
    inputs: &HashMap<HostId, Tensor>,
    threads: usize,
    isa: Isa,
) -> Vec<Option<Tensor>> {
    let mut known: HashMap<Symbol, Tensor> = HashMap::new();
    let mut results = Vec::new();
    let last = program.steps.iter().rposition(|step| match step {
        Step::Op(op) => {
            arranged(program, op).is_ok_and(|(def, _)| !matches!(def.body, Body::Download))
        }
        _ => false,
    });
    for (at, step) in program.steps.iter().enumerate() {
        let Step::Op(op) = step else {
            continue;
        };
        let Ok((def, given)) = arranged(program, op) else {
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
                let found = shown.next().and_then(|symbol| known.get(symbol));
                // Later calls may write to it; without any, results of one storage share it.
                let is_final = last.is_none_or(|last| at > last);
                results.push(match found {
                    Some(tensor) if !is_final => tensor.own_copy(isa).ok(),
                    found => found.cloned(),
                });
                continue;
            }
            Body::Upload => args.iter().find_map(|arg| match arg {
                Arg::Host(id) => match program.host(*id) {
                    Some(HostSlot::Data(host)) => Tensor::from_host(host, isa).ok(),
                    _ => inputs.get(id).cloned(),
                },
                _ => None,
            }),
            _ if symbols.into_iter().all(|symbol| known.contains_key(symbol)) => {
                let tensor = |symbol: &Symbol| known.get(symbol).cloned();
                let value = |arg: &Option<&Arg>| arg.map(|arg| value_of(arg, &tensor));
                let values = given.iter().map(|arg| value(arg).unwrap_or(EagerArg::None));
                call(def, values.collect(), threads, isa).ok()
            }
            _ => None,
        };
        if let Some(Arg::Device(symbol, _)) = program.out(op) {
            match made {
                Some(tensor) => known.insert(*symbol, tensor),
                // The tensor that it should have written has other contents.
                None => known.remove(symbol),
            };
        }
    }
    results
}

/// The declaration that a step calls, and its argument for each parameter.
type Arranged<'a> = (&'static OpDef, Vec<Option<&'a Arg>>);

fn arranged<'a>(program: &'a Program, op: &Op) -> Result<Arranged<'a>, EagerError> {
    let (name, args) = (program.text_name(op.name), program.args(op));
    let (def, form) = find_form(name, args.len(), program.generation)
        .map_err(|error| internal(&error.to_string()))?;
    let mut arranged = vec![None; def.params.len()];
    for (arg, param) in args.iter().zip(form.args) {
        if let Some(slot) = def.param(param).and_then(|i| arranged.get_mut(i)) {
            *slot = Some(arg);
        }
    }
    Ok((def, arranged))
}

fn value_of(arg: &Arg, tensor: &dyn Fn(&Symbol) -> Option<Tensor>) -> EagerArg {
    match arg {
        Arg::Device(symbol, _) => tensor(symbol).map_or(EagerArg::None, EagerArg::Tensor),
        Arg::Int(value) => EagerArg::Int(*value),
        Arg::Shape(items) => EagerArg::Shape(items.to_vec()),
        Arg::DType(dtype) => EagerArg::DType(*dtype),
        Arg::Host(_) | Arg::None | Arg::Invalid(_) => EagerArg::None,
    }
}
