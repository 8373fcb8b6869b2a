//! Frees for allocations that a program never frees: after the last use, where that is certain.
//!
//! Memory that only one thread uses, on no stream, is freed behind its last use there. What several
//! threads or a stream use is freed before the end of `main`, when all threads have been joined.

use cloakwork_formats::zk::{Ast, Instruction, Operation};
use cloakwork_ir::{Interner, Owners, ProgramPoint};
use std::collections::HashMap;

/// The same program with the missing frees.
#[must_use]
pub fn with_frees(mut ast: Ast) -> Ast {
    let mut uses = Uses::default();
    uses.walk(&ast.main);
    let mut frees = Frees::default();
    for (memory, last) in uses.owners.left() {
        let name = uses.names.get(memory.name).to_owned();
        if memory.shared {
            frees.at_end.push(name);
        } else {
            frees.behind.entry(last).or_default().push(name);
        }
    }
    ast.main = frees.rebuilt(ast.main, true);
    ast
}

/// The meaning of registers, and the last use of each.
#[derive(Default)]
struct Uses {
    names: Interner,
    owners: Owners,
    /// The parts of each tuple.
    tuples: HashMap<u32, Vec<u32>>,
    threads: u32,
}

impl Uses {
    fn walk(&mut self, instructions: &[Instruction]) {
        let thread = self.threads;
        self.threads += 1;
        for (step, Instruction { op, .. }) in (0u32..).zip(instructions) {
            self.note(op, ProgramPoint { thread, step });
            if let Operation::Fork { instructions, .. } = op {
                self.walk(instructions);
            }
        }
    }

    fn note(&mut self, op: &Operation, place: ProgramPoint) {
        match op {
            Operation::Allocate { id, .. } => {
                let name = self.names.intern(id);
                self.owners.own(name);
            }
            Operation::Rotation { src, dst, .. }
            | Operation::Slice { src, dst, .. }
            | Operation::SetSliceMeta { src, dst, .. }
            | Operation::View { src, dst, .. } => {
                let (of, name) = (self.names.intern(src), self.names.intern(dst));
                self.owners.alias(name, of);
            }
            Operation::AssembleTuple { vars, dst } => self.assembled(vars, dst),
            _ => {}
        }
        let kept = matches!(
            op,
            Operation::Return { .. } | Operation::Store { .. } | Operation::Deallocate { .. }
        );
        for name in op.defines().into_iter().chain(op.mentions()) {
            let name = self.names.intern(name);
            let parts = self.tuples.get(&name).map_or(&[][..], Vec::as_slice);
            for &used in [name].iter().chain(parts) {
                self.owners.touch(used, place, op.is_queued());
                if kept {
                    self.owners.keep(used);
                }
            }
        }
        if let Operation::MoveRegister { src, dst } = op {
            let (from, to) = (self.names.intern(src), self.names.intern(dst));
            self.owners.rename(from, to);
        }
    }

    /// The parts of a tuple are views of what it is made of.
    fn assembled(&mut self, vars: &[String], dst: &str) {
        let tuple = self.names.intern(dst);
        for (part, name) in vars.iter().enumerate() {
            let of = self.names.intern(name);
            let part_name = self.names.intern(&format!("{dst}.{part}"));
            self.owners.alias(part_name, of);
            let parts = self.tuples.entry(tuple).or_default();
            if part == parts.len() {
                parts.push(part_name);
            }
        }
    }
}

/// Registers to free, by the place of the free.
#[derive(Default)]
struct Frees {
    behind: HashMap<ProgramPoint, Vec<String>>,
    at_end: Vec<String>,
    threads: u32,
}

impl Frees {
    fn rebuilt(&mut self, instructions: Vec<Instruction>, main: bool) -> Vec<Instruction> {
        let thread = self.threads;
        self.threads += 1;
        let mut rebuilt = Vec::with_capacity(instructions.len());
        for (step, mut instruction) in (0u32..).zip(instructions) {
            match &mut instruction.op {
                Operation::Return { .. } if main => {
                    rebuilt.extend(self.at_end.iter().cloned().map(free));
                }
                Operation::Fork { instructions, .. } => {
                    *instructions = self.rebuilt(std::mem::take(instructions), false);
                }
                _ => {}
            }
            rebuilt.push(instruction);
            let names = self
                .behind
                .remove(&ProgramPoint { thread, step })
                .unwrap_or_default();
            rebuilt.extend(names.into_iter().map(free));
        }
        rebuilt
    }
}

fn free(id: String) -> Instruction {
    Instruction {
        op: Operation::Deallocate { id },
        id: None,
        src_loc: None,
        track: None,
    }
}
