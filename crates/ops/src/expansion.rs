//! Writing an op as smaller ones.

use crate::op::ParamKind;
use crate::{Args, Code, OpDef, OpError, find, find_form, geometry};
use cloakwork_ir::{Arg, Builder, DType, Op, Program, ShapeItem, Step, Symbol, shape_arg};
use std::collections::HashMap;

/// The part of an axis that a slice keeps.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// All of this size.
    All(u64),
    /// One index: the axis is dropped.
    At(u64),
    /// From one index to before another.
    Range(u64, u64),
}

impl Part {
    fn item(self) -> ShapeItem {
        let (start, stop) = match self {
            Self::At(index) => return ShapeItem::Int(index as i64),
            Self::All(size) => (0, size),
            Self::Range(start, stop) => (start, stop),
        };
        ShapeItem::Slice {
            start: Some(start as i64),
            stop: Some(stop as i64),
            step: Some(1),
        }
    }
}

/// Appends the steps that stand for a call of an op. `args` hold one argument a parameter, `bound`
/// says what they are, and `result` is the name that the call's result gets. An op without an
/// expansion gets no steps.
///
/// # Errors
/// An error of the expansion: a mistake of the declaration in a call that verified.
pub fn write_expansion(
    (def, args): (&'static OpDef, &[Arg]),
    bound: &Args,
    result: Symbol,
    builder: &mut Builder,
) -> Result<(), OpError> {
    let Some(expand) = def.body.expansion() else {
        return Ok(());
    };
    let mut expansion = Expansion::new(def, args, result, builder);
    expand(bound, &mut expansion)?;
    expansion.finish()
}

/// The same for a vendor's op of which `out` is an operand, too: its steps may read the operand
/// after they wrote some of `out`, so that they write elsewhere, and a copy follows.
///
/// # Errors
/// As [`write_expansion`].
pub fn write_expansion_apart(
    (def, args): (&'static OpDef, &[Arg]),
    bound: &Args,
    result: Symbol,
    builder: &mut Builder,
) -> Result<(), OpError> {
    let out = def.out().and_then(|out| Some((out, def.params.get(out)?)));
    let Some((place, param)) = out else {
        return write_expansion((def, args), bound, result, builder);
    };
    let written = bound.tensor(param.name)?;
    let apart = builder.empty(written.dtype, written.shape());
    let mut own = args.to_vec();
    let out = std::mem::replace(&mut own[place], Arg::Device(apart, None));
    write_expansion((def, &own), bound, apart, builder)?;
    builder.call_into("copy", [Arg::Device(apart, None), out], result);
    builder.free(apart);
    Ok(())
}

fn not_a_call() -> OpError {
    let expected = "calls with results, and free";
    OpError::new(Code::ArgumentType, "expansion", expected, "another step")
}

/// An argument of a step by its parameter's name.
pub type Named = (&'static str, Arg);

/// The steps that take a composite op's place, being written. Ops have their canonical names, and
/// their arguments the order that the program's generation reads.
pub struct Expansion<'a> {
    def: &'static OpDef,
    args: &'a [Arg],
    result: Symbol,
    builder: &'a mut Builder,
    temporaries: Vec<Symbol>,
}

impl<'a> Expansion<'a> {
    /// Starts an expansion of a call.
    ///
    /// `args` hold one argument a parameter; `result` is the name that the call's result gets.
    pub fn new(
        def: &'static OpDef,
        args: &'a [Arg],
        result: Symbol,
        builder: &'a mut Builder,
    ) -> Self {
        Self {
            def,
            args,
            result,
            builder,
            temporaries: Vec::new(),
        }
    }

    /// The argument of a parameter, to be passed on.
    ///
    /// # Errors
    /// The op has no such parameter.
    pub fn arg(&self, name: &'static str) -> Result<Arg, OpError> {
        let arg = self
            .def
            .param(name)
            .and_then(|index| self.args.get(index))
            .cloned();
        arg.ok_or_else(|| OpError::new(Code::ArgumentType, name, "a parameter", "none"))
    }

    /// The arguments of parameters, to be passed on under the same names.
    ///
    /// # Errors
    /// The op has no such parameter.
    pub fn args<const N: usize>(&self, names: [&'static str; N]) -> Result<Vec<Named>, OpError> {
        names
            .into_iter()
            .map(|name| Ok((name, self.arg(name)?)))
            .collect()
    }

    /// The composite's result, to be written again after [`Expansion::call_result`].
    #[must_use]
    pub fn result(&self) -> Arg {
        Arg::Device(self.result, None)
    }

    /// Appends a call; its result gets an unused named at the end.
    ///
    /// # Errors
    /// The op takes no such arguments: a mistake in the expansion.
    pub fn call(&mut self, op: &'static str, given: &[Named]) -> Result<Arg, OpError> {
        let args = self.arrange(op, given, None)?;
        let name = self.builder.call(op, args);
        self.temporaries.push(name);
        Ok(Arg::Device(name, None))
    }

    /// Appends a call that writes into a tensor.
    ///
    /// # Errors
    /// The op takes no such arguments, or `out` is not a tensor.
    pub fn call_into(
        &mut self,
        op: &'static str,
        given: &[Named],
        out: &Arg,
    ) -> Result<(), OpError> {
        let Arg::Device(name, _) = *out else {
            return Err(OpError::new(
                Code::ArgumentType,
                "out",
                "a device tensor",
                "another",
            ));
        };
        let args = self.arrange(op, given, Some(out))?;
        self.builder.call_into(op, args, name);
        Ok(())
    }

    /// Appends the call whose result is the composite's result.
    ///
    /// # Errors
    /// The op takes no such arguments.
    pub fn call_result(&mut self, op: &'static str, given: &[Named]) -> Result<(), OpError> {
        let args = self.arrange(op, given, None)?;
        self.builder.call_into(op, args, self.result);
        Ok(())
    }

    /// Appends a call of this op in the expansion's place: into `out` where it is given, else the
    /// result is new.
    ///
    /// # Errors
    /// The op takes no such arguments.
    pub fn call_of(
        &mut self,
        def: &'static OpDef,
        given: &[Named],
        out: Option<&Arg>,
    ) -> Result<(), OpError> {
        let args = self.arrange(def.name, given, out)?;
        self.builder.call_into(def.name, args, self.result);
        Ok(())
    }

    /// Appends the steps of a program in which names of the op's parameters stand for its
    /// arguments; all other names are temporaries.
    ///
    /// # Errors
    /// A step calls no op, or allocates what is not a tensor.
    pub fn program(&mut self, program: &Program) -> Result<(), OpError> {
        let params = self.def.params.iter().zip(self.args);
        let mut named: HashMap<String, Arg> = params
            .map(|(param, arg)| (param.name.to_owned(), arg.clone()))
            .collect();
        for step in &program.steps {
            match step {
                Step::Op(op) => self.step(program, op, &mut named)?,
                Step::Free(name) => {
                    let freed = named.remove(program.symbol_name(*name));
                    if let Some(Arg::Device(name, _)) = freed {
                        self.temporaries.retain(|own| *own != name);
                        self.builder.free(name);
                    }
                }
                _ => return Err(not_a_call()),
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        program: &Program,
        op: &Op,
        named: &mut HashMap<String, Arg>,
    ) -> Result<(), OpError> {
        let (name, args) = (program.text_name(op.name), program.args(op));
        let known = find_form(name, args.len(), program.generation);
        let (def, form) = known.map_err(|error| {
            OpError::new(Code::ArgumentType, "expansion", "an op", error.to_string())
        })?;
        let standing = |arg: &Arg| match arg {
            Arg::Device(name, _) => named.get(program.symbol_name(*name)).cloned(),
            other => Some(other.clone()),
        };
        let out = def.out().and_then(|out| def.params.get(out));
        let mut given: Vec<Named> = Vec::new();
        let mut target = None;
        for (param, arg) in form.args.iter().zip(args) {
            let arg = standing(arg).ok_or_else(|| {
                let expected = "names of parameters, or of results before";
                OpError::new(
                    Code::ArgumentType,
                    "expansion",
                    expected,
                    program.text_name(op.name),
                )
            })?;
            match out.is_some_and(|out| out.name == *param) {
                true => target = Some(arg),
                false if arg == Arg::None => {}
                false => given.push((param, arg)),
            }
        }
        let args = self.arrange(def.name, &given, target.as_ref())?;
        let Some(Arg::Device(result, _)) = program.out(op) else {
            return Err(not_a_call());
        };
        let result = program.symbol_name(*result).to_owned();
        if target.is_none() && self.def.param(&result).is_some() {
            let expected = "a name of its own for a new tensor";
            return Err(OpError::new(
                Code::ArgumentType,
                "expansion",
                expected,
                result,
            ));
        }
        let written = match (target, named.get(&result)) {
            (Some(Arg::Device(name, _)), _) => name,
            (None, Some(Arg::Device(name, _))) => *name,
            _ => {
                let name = self.builder.program.fresh_symbol();
                self.temporaries.push(name);
                name
            }
        };
        self.builder.call_into(def.name, args, written);
        named.insert(result, Arg::Device(written, None));
        Ok(())
    }

    /// Keeps a tensor that a step made: [`Expansion::finish`] does not free it.
    pub fn keep(&mut self, tensor: &Arg) {
        if let Arg::Device(kept, _) = tensor {
            self.temporaries.retain(|own| own != kept);
        }
    }

    /// Appends a tensor that the expansion writes before it reads it: eager calls do not zero it.
    ///
    /// # Errors
    /// No shape has these sizes.
    pub fn empty(&mut self, dtype: DType, dims: &[u64]) -> Result<Arg, OpError> {
        let shape = shape_arg(&geometry::shape("a", dims)?);
        self.call("empty", &[("shape", shape), ("dtype", Arg::DType(dtype))])
    }

    /// The same, with the axis of this number innermost in memory: residues whose moduli run along
    /// the last axis want their polynomials' axis there.
    ///
    /// # Errors
    /// No shape has these sizes.
    pub fn empty_along(&mut self, dtype: DType, dims: &[u64], axis: usize) -> Result<Arg, OpError> {
        let mut order = dims.to_vec();
        let size = order.remove(axis);
        order.push(size);
        let tensor = self.empty(dtype, &order)?;
        let to = Arg::Int(axis as i64);
        let from = Arg::Int(dims.len() as i64 - 1);
        self.call(
            "moveaxis",
            &[("a", tensor), ("source", from), ("destination", to)],
        )
    }

    /// The same for residues: the axis before the last, where polynomials lie, is innermost.
    ///
    /// # Errors
    /// No shape has these sizes.
    pub fn empty_residues(&mut self, dtype: DType, dims: &[u64]) -> Result<Arg, OpError> {
        match dims.len().checked_sub(2) {
            Some(axis) => self.empty_along(dtype, dims, axis),
            None => self.empty(dtype, dims),
        }
    }

    /// Appends a view under another shape.
    ///
    /// # Errors
    /// No shape has these sizes.
    pub fn reshape(&mut self, a: &Arg, dims: &[u64]) -> Result<Arg, OpError> {
        let shape = shape_arg(&geometry::shape("a", dims)?);
        self.call("reshape", &[("a", a.clone()), ("shape", shape)])
    }

    /// Appends a view of a part; one entry an axis.
    ///
    /// # Errors
    /// The op takes no such arguments: a mistake in the expansion.
    pub fn slice(&mut self, a: &Arg, parts: &[Part]) -> Result<Arg, OpError> {
        let entries = Arg::Shape(parts.iter().map(|part| part.item()).collect());
        self.call("get_slice", &[("a", a.clone()), ("entries", entries)])
    }

    /// Puts arguments into the order of a spelling that has a place for each; what is not given
    /// has its default.
    fn arrange(
        &self,
        op: &'static str,
        given: &[Named],
        out: Option<&Arg>,
    ) -> Result<Vec<Arg>, OpError> {
        let generation = self.builder.program.generation;
        let mistake = || {
            OpError::new(
                Code::ArgumentType,
                op,
                "a spelling for these arguments",
                "none",
            )
        };
        let def = find(op).ok_or_else(mistake)?;
        let fits = |form: &&crate::Form| {
            let read = find_form(op, form.args.len(), generation);
            form.name == op
                && given.iter().all(|(name, _)| form.args.contains(name))
                && read.is_ok_and(|(_, read)| std::ptr::eq(read, *form))
        };
        let form = def.forms.iter().find(fits).ok_or_else(mistake)?;
        let arg = |name: &&str| {
            let given = given
                .iter()
                .find(|(other, _)| other == name)
                .map(|(_, arg)| arg);
            let param = def.param(name).and_then(|index| def.params.get(index));
            match (given, param) {
                (Some(arg), _) => arg.clone(),
                (None, Some(param)) if param.kind == ParamKind::Out => {
                    out.cloned().unwrap_or(Arg::None)
                }
                (None, param) => param.and_then(|p| p.default).map_or(Arg::None, Arg::Int),
            }
        };
        Ok(form.args.iter().map(arg).collect())
    }

    /// Gives the result its name where the op wrote into a tensor of another name, and frees the
    /// temporaries.
    ///
    /// # Errors
    /// None: any tensor takes another name.
    pub fn finish(self) -> Result<(), OpError> {
        let out = self.def.out();
        if let Some(Arg::Device(written, _)) = out.and_then(|out| self.args.get(out))
            && *written != self.result
        {
            let tensor = ("a", Arg::Device(*written, None));
            let args = self.arrange("new_reference", &[tensor], None)?;
            self.builder.call_into("new_reference", args, self.result);
        }
        for name in self.temporaries {
            self.builder.free(name);
        }
        Ok(())
    }
}
