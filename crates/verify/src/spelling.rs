//! How a name in a program maps its arguments to parameters, looked up once a name.

use crate::Bound;
use cloakwork_ir::{Op, Program};
use cloakwork_ops::{Form, FormError, OpDef, Param, find_form};
use smallvec::SmallVec;
use std::rc::Rc;

/// A spelling of an op, ready to bind arguments.
#[derive(Debug)]
pub(crate) struct Spelling {
    pub def: &'static OpDef,
    pub form: &'static Form,
    /// For each argument as written, the parameter that takes it.
    pub order: SmallVec<[usize; 12]>,
    /// For each parameter, the argument that it takes.
    pub written: SmallVec<[Option<usize>; 12]>,
    /// For each parameter, what it is where the spelling leaves it out.
    pub defaults: SmallVec<[Bound; 4]>,
    /// The parameter that is written.
    pub out: Option<usize>,
}

/// A call as its program writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    pub spelling: &'a Spelling,
    pub op: &'a Op,
}

impl Spelling {
    fn new(def: &'static OpDef, form: &'static Form) -> Self {
        // A declaration that names no such parameter is refused by the tests of the list.
        let place = |name: &&str| def.param(name).unwrap_or(usize::MAX);
        let argument = |param: &Param| form.args.iter().position(|name| *name == param.name);
        let params = def.params.iter();
        Self {
            def,
            form,
            order: form.args.iter().map(place).collect(),
            written: params.clone().map(argument).collect(),
            defaults: params
                .map(|p| p.default.map_or(Bound::Absent, Bound::Int))
                .collect(),
            out: def.out(),
        }
    }

    /// The name of a parameter.
    pub fn param_name(&self, param: usize) -> &'static str {
        self.def.params.get(param).map_or("", |param| param.name)
    }

    /// The name of the parameter that is written; empty where none is.
    pub fn out_name(&self) -> &'static str {
        self.out.map_or("", |param| self.param_name(param))
    }
}

/// Spellings that the program has used, by the op's name.
#[derive(Debug, Default)]
pub(crate) struct Spellings(Vec<Option<(usize, Rc<Spelling>)>>);

impl Spellings {
    /// The spelling of a call.
    pub fn get(&mut self, program: &Program, op: &Op) -> Result<Rc<Spelling>, FormError> {
        let (count, place) = (program.args(op).len(), op.name.0 as usize);
        if let Some(Some((known, spelling))) = self.0.get(place)
            && *known == count
        {
            return Ok(Rc::clone(spelling));
        }
        let (def, form) = find_form(program.text_name(op.name), count, program.generation)?;
        let spelling = Rc::new(Spelling::new(def, form));
        // A name that was interned: the table is no longer than the interner.
        if place < program.texts.len() {
            self.0.resize(self.0.len().max(place + 1), None);
            if let Some(entry) = self.0.get_mut(place) {
                *entry = Some((count, Rc::clone(&spelling)));
            }
        }
        Ok(spelling)
    }
}
