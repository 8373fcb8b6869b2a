//! Writing an op as smaller ones.

use crate::{Code, OpDef, OpError};
use cloakwork_ir::{Arg, Builder, Symbol};

/// The steps that take a composite op's place, being written.
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

    /// Appends a call by canonical name; its result gets a name that is freed at the end.
    pub fn call(&mut self, op: &str, args: impl IntoIterator<Item = Arg>) -> Arg {
        let name = self.builder.call(op, args);
        self.temporaries.push(name);
        Arg::Device(name, None)
    }

    /// Appends a call that writes into a tensor.
    pub fn call_into(&mut self, op: &str, args: impl IntoIterator<Item = Arg>, out: &Arg) {
        if let Arg::Device(name, _) = out {
            self.builder.call_into(op, args, *name);
        }
    }

    /// Appends the call whose result is the composite's result.
    pub fn call_result(&mut self, op: &str, args: impl IntoIterator<Item = Arg>) {
        self.builder.call_into(op, args, self.result);
    }

    /// Frees the temporaries.
    pub fn finish(self) {
        for name in self.temporaries {
            self.builder.free(name);
        }
    }
}
