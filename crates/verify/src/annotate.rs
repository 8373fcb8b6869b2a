//! The same program as HEAL's file form wants it: HEAL's spellings, and a dtype with every name.

use crate::Verified;
use cloakwork_ir::{Arg, DType, Generation, Op, Program, Step, Symbol};
use cloakwork_ops::{Form, OpDef, Param, ParamKind, find_form, runtime_ops};

/// A program ready to be saved in HEAL's form.
#[derive(Debug)]
pub struct Annotated {
    /// The program, in the generation's spellings.
    pub program: Program,
    /// Steps whose op HEAL has no spelling for, with its name; they stay as they were.
    pub foreign: Vec<(u32, String)>,
}

/// Gives each device argument its dtype and each op the spelling of one of HEAL's generations.
#[must_use]
pub fn annotate(verified: &Verified, generation: Generation) -> Annotated {
    let source = verified.program();
    let mut program = Program::new();
    program.hosts.clone_from(&source.hosts);
    program.symbols = source.symbols.clone();
    program.generation = generation;
    let mut dtypes = Dtypes(vec![None; source.symbols.len()]);
    let mut actions = verified.actions().iter().peekable();
    let mut foreign = Vec::new();
    for (index, step) in source.steps.iter().enumerate() {
        match step {
            Step::Op(op) => {
                let args = source
                    .args(op)
                    .iter()
                    .map(|arg| dtypes.annotate(arg))
                    .collect();
                let (name, args) = respell(source, op, args, generation).unwrap_or_else(|args| {
                    let name = source.text_name(op.name);
                    foreign.push((index as u32, name.to_owned()));
                    (name, args)
                });
                let mut result = None;
                while let Some((_, action)) = actions.next_if(|(at, _)| *at == index as u32) {
                    result = action.result().and_then(|id| verified.value(id)).or(result);
                }
                if let (Some(info), Some(Arg::Device(symbol, _))) = (result, source.out(op)) {
                    dtypes.set(*symbol, info.dtype);
                }
                let out = source.out(op).map(|arg| dtypes.annotate(arg));
                program.push_op(name, args, out);
            }
            Step::SegmentStart(text) => {
                let text = program.text(source.text_name(*text));
                program.steps.push(Step::SegmentStart(text));
            }
            Step::Free(_) | Step::SegmentEnd | Step::Skip | Step::Threaded(_) => {
                program.steps.push(*step);
            }
        }
    }
    Annotated { program, foreign }
}

/// The dtype that each name has at the step at hand.
struct Dtypes(Vec<Option<DType>>);

impl Dtypes {
    fn set(&mut self, symbol: Symbol, dtype: DType) {
        if let Some(place) = self.0.get_mut(symbol.0 as usize) {
            *place = Some(dtype);
        }
    }

    fn annotate(&self, arg: &Arg) -> Arg {
        match arg {
            Arg::Device(symbol, claim) => {
                let known = self.0.get(symbol.0 as usize).copied().flatten();
                Arg::Device(*symbol, known.or(*claim))
            }
            other => other.clone(),
        }
    }
}

/// HEAL's spelling of a call, or the arguments back if there is none.
fn respell(
    program: &Program,
    op: &Op,
    args: Vec<Arg>,
    generation: Generation,
) -> Result<(&'static str, Vec<Arg>), Vec<Arg>> {
    let name = program.text_name(op.name);
    let Ok((def, own)) = find_form(name, args.len(), program.generation) else {
        return Err(args);
    };
    let is_heal = |form: &&Form| form.is_heals(generation);
    let aliased = !runtime_ops(generation).contains(&own.name) && def.forms.len() > 1;
    if is_heal(&own) && !aliased {
        return Ok((own.name, args));
    }
    let given = |param: &str| own.argument(param, &args);
    let heal = def.forms.iter().filter(is_heal);
    for form in heal.filter(|form| says_all(def, form, given)) {
        let params = form
            .args
            .iter()
            .filter_map(|name| def.params.get(def.param(name)?));
        let spelled: Option<Vec<Arg>> = params
            .map(|param| given(param.name).cloned().or_else(|| default_of(param)))
            .collect();
        if let Some(spelled) = spelled.filter(|spelled| spelled.len() == form.args.len()) {
            return Ok((form.name, spelled));
        }
    }
    Err(args)
}

/// Whether a spelling can say a call: integers where it has them, and nothing left out but hints
/// and what is as it is by default.
fn says_all<'a>(def: &OpDef, form: &Form, given: impl Fn(&str) -> Option<&'a Arg>) -> bool {
    def.params.iter().all(|param| {
        let arg = given(param.name);
        if !form.args.contains(&param.name) {
            let by_default = param.default.map(Arg::Int);
            return param.kind == ParamKind::Hint
                || arg.is_none_or(|arg| *arg == Arg::None || Some(arg) == by_default.as_ref());
        }
        match (param.kind, form.ints, arg) {
            (ParamKind::TensorOrInt, Some(ints), Some(arg)) => {
                ints.contains(&param.name) == matches!(arg, Arg::Int(_))
            }
            _ => true,
        }
    })
}

/// The argument for a parameter that the program's own spelling leaves out.
fn default_of(param: &Param) -> Option<Arg> {
    match (param.default, param.kind) {
        (Some(default), _) => Some(Arg::Int(default)),
        (None, ParamKind::Hint | ParamKind::OptionalTensor | ParamKind::Host) => Some(Arg::None),
        _ => None,
    }
}
