//! From instructions to steps. Registers become names, instructions ops with notes; windows that
//! wrap become two pieces, which ops take one after the other. All that is wrong is found at once.

mod apart;
mod calls;
mod data;
mod emit;
mod fused;
mod lookup;
mod registers;
mod statics;
mod unify;
mod user;
mod views;

use crate::functions::function;
pub(crate) use calls::Call;
use cloakwork_formats::zk::{Ast, Canonical, Files, Instruction, Operation, load_constants};
use cloakwork_ir::{
    Event, Finding, HostTensor, Note, Notes, Program, Step, Stream, Text, Thread, Threaded, Threads,
};
pub use data::KEY_INPUT;
use registers::{Known, Register};
use statics::Statics;
use std::collections::{HashMap, VecDeque};

/// Runs over the program: one more for each thread on whose registers another depends, and one if
/// it draws.  No more than this where all of them together came to so many steps, which takes some
/// ten seconds; a run counts as this many at least.
const MAX_RUNS: usize = 16;
const MAX_STEPS: usize = 1 << 21;
const LEAST_STEPS: usize = 1 << 8;

/// Converts canonical words to a tensor in memory's form, or says why they are invalid.
pub type Convert<'a> = dyn Fn(&Canonical) -> Result<HostTensor, String> + 'a;

/// An output that the program prints and does not return to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The name of the output.
    pub output: String,
    /// The label that it is printed under.
    pub label: String,
}

/// The result of lowering a program.
#[derive(Debug, Default)]
pub struct Lowered {
    /// The steps.
    pub program: Program,
    /// The findings, those of the constants among them.
    pub findings: Vec<Finding>,
    /// The outputs that are printed, in order.
    pub printed: Vec<Printed>,
}

/// Why an instruction is not lowered: a finding, or a register that an earlier finding is about.
pub(crate) type Refusal = Option<Box<Finding>>;

/// Lowers a program whose constants are in these files. `convert` makes tensors of canonical words.
#[must_use]
pub fn lower(ast: &Ast, files: &Files, convert: &Convert<'_>) -> Lowered {
    let mut found = Vec::new();
    let constants = load_constants(&ast.constants, files, &mut found);
    functions_differ(ast, &mut found);
    let (converted, mut invalid) = converted(&constants, convert);
    found.append(&mut invalid);
    let statics = Statics::of(ast);
    let shared = Shared {
        ast,
        statics: &statics,
        constants: &converted,
        convert,
    };
    let (mut known, mut steps) = (Known::default(), 0);
    for run in 1.. {
        let last = run >= MAX_RUNS && steps >= MAX_STEPS;
        let mut lowering = Lowering::new(&shared, known, last);
        lowering.threads();
        steps += lowering.program.steps.len().max(LEAST_STEPS);
        let settled = lowering.registers.unresolved == 0;
        if settled || last || (run > 1 && !lowering.registers.learned()) {
            if !settled && !last {
                // What nothing defines stays so: once more, with findings.
                let mut last = Lowering::new(&shared, lowering.registers.into_known(), true);
                last.threads();
                return last.finish(found);
            }
            return lowering.finish(found);
        }
        known = lowering.registers.into_known();
    }
    Lowered::default()
}

/// A function of the caller's is called otherwise than those of the instruction set.
fn functions_differ(ast: &Ast, found: &mut Vec<Finding>) {
    for (name, _) in &ast.user_functions {
        if function(name).is_some() {
            let expected = "a name that no function of the instruction set has";
            let finding = Finding::error("V01", expected, format!("\"{name}\""));
            let key = format!("user_functions.{name}");
            found.push(finding.field(key).hint("choose another name"));
        }
    }
}

/// The constants in memory's form, by name, and the invalid ones.
fn converted<'a>(
    constants: &'a HashMap<String, Canonical>,
    convert: &Convert<'_>,
) -> (HashMap<&'a str, HostTensor>, Vec<Finding>) {
    let (mut converted, mut found) = (HashMap::new(), Vec::new());
    for (name, canonical) in constants {
        match convert(canonical) {
            Ok(tensor) => {
                converted.insert(name.as_str(), tensor);
            }
            Err(got) => {
                let expected = format!("elements of {}", canonical.dtype);
                let hint = "constants are canonical: reduced, and points on their curve";
                let finding = Finding::error("V18", expected, got).hint(hint);
                found.push(finding.field(format!("constants.{name}")));
            }
        }
    }
    found.sort_by(|a, b| a.operand.cmp(&b.operand));
    (converted, found)
}

/// State that all runs share.
struct Shared<'a> {
    ast: &'a Ast,
    statics: &'a Statics<'a>,
    constants: &'a HashMap<&'a str, HostTensor>,
    convert: &'a Convert<'a>,
}

/// One run over a program.
pub(crate) struct Lowering<'a> {
    shared: &'a Shared<'a>,
    program: Program,
    notes: Notes,
    findings: Vec<Finding>,
    printed: Vec<Printed>,
    registers: registers::Registers,
    /// Threads whose steps are to come.
    waiting: VecDeque<(&'a str, &'a [Instruction])>,
    done: Vec<Thread>,
    /// The note of the steps of the instruction at hand.
    note: Note,
    label: String,
    /// The domain of random elements of an instruction that states none.
    domain: String,
    fresh: u32,
    /// Calls of the caller's functions so far.
    user_calls: u32,
    /// Whether something about the order of threads could not be read.
    unsure: bool,
}

impl<'a> Lowering<'a> {
    fn new(shared: &'a Shared<'a>, known: Known, last: bool) -> Self {
        Self {
            shared,
            program: Program::new(),
            notes: Notes::default(),
            findings: Vec::new(),
            printed: Vec::new(),
            registers: registers::Registers::new(known, last),
            waiting: VecDeque::new(),
            done: Vec::new(),
            note: Note::default(),
            label: String::new(),
            domain: String::new(),
            fresh: 0,
            user_calls: 0,
            unsure: shared.statics.is_unsure(),
        }
    }

    fn threads(&mut self) {
        if self.shared.statics.stores_elsewhere && self.registers.is_first() {
            // What is stored is freed at the end of main, which is lowered first.
            self.registers.unresolved += 1;
        }
        self.waiting.push_back(("main", &self.shared.ast.main));
        while let Some((name, instructions)) = self.waiting.pop_front() {
            let start = self.program.steps.len() as u32;
            self.registers.begin_thread();
            if self.done.is_empty() {
                self.keys();
                self.ends_with_return(instructions);
                self.outputs_are_stored();
            }
            for (index, instruction) in instructions.iter().enumerate() {
                let place = format!("{name}/{index}");
                self.label = self.shared.statics.label(instruction.id.as_ref(), &place);
                self.domain = instruction.id.clone().unwrap_or(place);
                self.instruction(instruction);
            }
            let name = self.program.text(name);
            let steps = start..self.program.steps.len() as u32;
            self.done.push(Thread { name, steps });
        }
    }

    fn ends_with_return(&mut self, instructions: &[Instruction]) {
        match instructions.last().map(|last| &last.op) {
            Some(Operation::Return { .. } | Operation::Unreadable { .. }) => {}
            other => {
                let got = other.map_or("an empty thread", Operation::name).to_owned();
                let finding = Finding::error("V01", "Return at the end of main", got);
                self.label = "main".to_owned();
                self.report(finding.hint("end the program with Return"), "", 0, None);
            }
        }
    }

    fn outputs_are_stored(&mut self) {
        let ast = self.shared.ast;
        for name in self.shared.statics.never_stored(ast) {
            let expected = format!("a Store into the output \"{name}\"");
            let hint = "store or return a value under this name, or remove the declaration";
            let finding = Finding::error("V18", expected, "none").hint(hint);
            self.label = String::new();
            self.report(finding.field(format!("outputs.{name}")), "", 0, None);
        }
    }

    fn instruction(&mut self, instruction: &'a Instruction) {
        let (op, start) = (&instruction.op, self.program.steps.len());
        self.note = Note {
            label: Some(self.program.text(&self.label)),
            op: Some(self.program.text(&op.said())),
            written: instruction.src_loc.as_ref().map(|at| self.program.text(at)),
            ..Note::default()
        };
        let unresolved = self.registers.unresolved;
        let Err(refusal) = self.operation(op) else {
            return;
        };
        // What awaits another run may be known then.
        let settled = self.registers.last || self.registers.unresolved == unresolved;
        let unresolved = self.registers.unresolved;
        // Half of an instruction would be wrong in ways of its own. What it was meant to do to
        // registers is unknown; of the order of threads nothing must be lost.
        if !op.may_order() {
            self.program.steps.truncate(start);
        }
        for name in op.mentions() {
            self.doubt(name);
        }
        let guessed = matches!(op, Operation::Unreadable { .. });
        for name in op.defines() {
            // What else defines a register is not a guess.
            if guessed && self.shared.statics.definitions.get(name) > Some(&1) {
                continue;
            }
            self.define_unknown(name);
            if settled {
                self.tell_no_more(name);
            }
        }
        self.registers.unresolved = unresolved;
        if let Some(finding) = refusal {
            let src_loc = instruction.src_loc.as_ref();
            self.report(*finding, &op.said(), start as u32, src_loc);
        }
    }

    fn report(&mut self, mut finding: Finding, op: &str, step: u32, src_loc: Option<&String>) {
        finding.label = Some(self.label.clone());
        op.clone_into(&mut finding.op);
        finding.step = step;
        finding.written = src_loc.filter(|place| !place.is_empty()).cloned();
        self.findings.push(finding);
    }

    fn operation(&mut self, op: &'a Operation) -> Result<(), Refusal> {
        match op {
            Operation::Fork {
                new_thread,
                instructions,
            } => {
                let name = self.program.text(new_thread);
                self.threaded(Threaded::Fork(name));
                self.waiting.push_back((new_thread, instructions));
            }
            Operation::Join { thread } => {
                let name = self.program.text(thread);
                self.threaded(Threaded::Join(name));
            }
            Operation::Record { event, stream } => {
                let (event, stream) = (self.program.text(event), self.stream(stream));
                self.threaded(Threaded::Record { event, stream });
            }
            Operation::Wait {
                event,
                slave,
                stream,
            } => {
                let (event, queue) = (self.program.text(event), self.stream(stream));
                self.threaded(Threaded::Wait {
                    event,
                    stream: queue,
                });
                self.slave(slave.as_deref(), stream.as_deref())?;
            }
            Operation::SegmentStart { name } => {
                let name = self.program.text(name);
                self.push(Step::SegmentStart(name));
            }
            Operation::SegmentEnd { .. } => self.push(Step::SegmentEnd),
            Operation::Unreadable { .. } => {
                self.unsure |= op.may_order();
                return Err(None);
            }
            Operation::Rotation { .. }
            | Operation::Slice { .. }
            | Operation::SetSliceMeta { .. }
            | Operation::View { .. }
            | Operation::AssembleTuple { .. } => return self.view(op),
            Operation::FuncCall { .. } => return self.function(op),
            _ => return self.data(op),
        }
        Ok(())
    }

    /// A stream blocks where the waiting device is one with streams.
    fn slave(&self, slave: Option<&str>, stream: Option<&str>) -> Result<(), Refusal> {
        let streams = &self.shared.ast.streams;
        let device = stream.and_then(|s| streams.iter().find(|(name, _)| name == s));
        match (slave, stream, device) {
            (None, ..) | (Some("cpu"), None, _) => Ok(()),
            (Some(slave), _, Some((_, device))) if slave == device => Ok(()),
            (Some(slave), stream, _) => {
                let expected = format!("a stream of {slave}");
                let Some(stream) = stream else {
                    return refuse("V12", "", expected, "none", "name the stream that waits");
                };
                let hint = "the stream that waits is one of the device that waits";
                refuse("V08", "", expected, format!("\"{stream}\""), hint)
            }
        }
    }

    fn stream(&mut self, stream: &Option<String>) -> Option<Text> {
        stream.as_ref().map(|name| self.program.text(name))
    }

    fn finish(mut self, mut found: Vec<Finding>) -> Lowered {
        let ast = self.shared.ast;
        let mut threads = Threads {
            threads: self.done,
            notes: self.notes,
            unsure: self.unsure,
            ..Threads::default()
        };
        for (name, event) in &ast.events {
            let device = event
                .device
                .as_ref()
                .map(|device| self.program.text(device));
            let name = self.program.text(name);
            threads.events.push(Event { name, device });
        }
        for (name, device) in &ast.streams {
            let (name, device) = (self.program.text(name), self.program.text(device));
            threads.streams.push(Stream { name, device });
        }
        for (device, bytes) in &ast.budget {
            threads.budgets.push((self.program.text(device), *bytes));
        }
        let consumed = ast.inputs.iter().filter(|(_, input)| input.consume);
        threads.consumed = consumed.map(|(name, _)| name.clone()).collect();
        self.program.threads = Some(Box::new(threads));
        found.extend(self.findings);
        Lowered {
            program: self.program,
            findings: found,
            printed: self.printed,
        }
    }
}

/// Refuses an instruction for a field or register of it.
pub(super) fn refuse<T>(
    code: &'static str,
    field: impl Into<String>,
    expected: impl Into<String>,
    got: impl Into<String>,
    hint: impl Into<String>,
) -> Result<T, Refusal> {
    let finding = Finding::error(code, expected, got);
    Err(Some(Box::new(finding.field(field).hint(hint))))
}

/// Refuses an instruction for a register of another type or place than it takes.
pub(super) fn misfit<T>(
    code: &'static str,
    register: &Register,
    expected: impl Into<String>,
    got: impl Into<String>,
) -> Result<T, Refusal> {
    refuse(code, &register.name, expected, got, "")
}
