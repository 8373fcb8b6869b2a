//! Writing programs from code: used by tracing, expansion and tests.

use crate::{Arg, DType, HostSlot, Program, Shape, ShapeItem, Step, Symbol};

/// Appends steps to a program, naming results as it goes.
#[derive(Debug, Default)]
pub struct Builder {
    /// The program so far.
    pub program: Program,
}

impl Builder {
    /// Starts from an empty program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a call whose result gets a new name.
    pub fn call(&mut self, op: &str, args: impl IntoIterator<Item = Arg>) -> Symbol {
        let name = self.program.fresh_symbol();
        self.program
            .push_op(op, args, Some(Arg::Device(name, None)));
        name
    }

    /// Appends a call that writes into `out`, which must also stand among `args` where the op's
    /// form has it.
    pub fn call_into(&mut self, op: &str, args: impl IntoIterator<Item = Arg>, out: Symbol) {
        self.program.push_op(op, args, Some(Arg::Device(out, None)));
    }

    /// A new tensor that reads as zeros until written.
    pub fn empty(&mut self, dtype: DType, shape: &Shape) -> Symbol {
        self.call("empty", [shape_arg(shape), Arg::DType(dtype)])
    }

    /// Uploads a host slot.
    pub fn upload(&mut self, slot: HostSlot) -> Symbol {
        let name = self.program.fresh_symbol();
        self.upload_as(slot, name);
        name
    }

    /// Uploads a host slot under this name.
    pub fn upload_as(&mut self, slot: HostSlot, name: Symbol) {
        let host = self.program.push_host(slot);
        self.call_into("host_to_device", [Arg::Host(host)], name);
    }

    /// Downloads a tensor into a host slot: the expected value, or a named output.
    pub fn download(&mut self, tensor: Symbol, slot: HostSlot) {
        let host = self.program.push_host(slot);
        let args = [Arg::Device(tensor, None), Arg::None];
        self.program
            .push_op("device_to_host", args, Some(Arg::Host(host)));
    }

    /// Gives up a name.
    pub fn free(&mut self, tensor: Symbol) {
        self.program.steps.push(Step::Free(tensor));
    }
}

/// A shape as an argument.
#[must_use]
pub fn shape_arg(shape: &Shape) -> Arg {
    Arg::Shape(
        shape
            .dims()
            .iter()
            .map(|&d| ShapeItem::Int(d as i64))
            .collect(),
    )
}
