//! Frees for allocations that a program never frees: after the last use, where that is certain.
//!
//! Memory that only one thread uses, on no stream, is freed behind its last use there. What several
//! threads or a stream use is freed before the end of `main`, when all threads have been joined.

use cloakwork_formats::zk::{Ast, Instruction, Operation};
use std::collections::{BTreeSet, HashMap};

/// The same program with the missing frees.
#[must_use]
pub fn with_frees(mut ast: Ast) -> Ast {
    let mut uses = Uses::default();
    uses.walk(&ast.main);
    let mut frees = Frees::default();
    for memory in uses.memories.into_iter().flatten() {
        let Some(last) = memory.last.filter(|_| !memory.kept) else {
            continue;
        };
        if memory.queued || memory.threads.len() > 1 {
            frees.at_end.push(memory.name);
        } else {
            frees.behind.entry(last).or_default().push(memory.name);
        }
    }
    ast.main = frees.rebuilt(ast.main, true);
    ast
}

/// The uses of an allocation, and the last one.
#[derive(Default)]
struct Memory {
    name: String,
    threads: BTreeSet<u32>,
    /// A thread, and a place in it.
    last: Option<(u32, usize)>,
    /// Whether a stream uses it.
    queued: bool,
    /// Whether the program frees it or hands it out.
    kept: bool,
}

/// All allocations, in their order, and which one each register means.
#[derive(Default)]
struct Uses {
    memories: Vec<Option<Memory>>,
    /// The allocation that a register's name owns.
    owned: HashMap<String, usize>,
    /// The register that owns what a register means.
    owner: HashMap<String, String>,
    threads: u32,
}

impl Uses {
    fn walk(&mut self, instructions: &[Instruction]) {
        let thread = self.threads;
        self.threads += 1;
        for (index, Instruction { op, .. }) in instructions.iter().enumerate() {
            self.note(op, (thread, index));
            if let Operation::Fork { instructions, .. } = op {
                self.walk(instructions);
            }
        }
    }

    fn note(&mut self, op: &Operation, place: (u32, usize)) {
        match op {
            Operation::Allocate { id, .. } => {
                self.insert(id, Memory::default());
                self.owner.insert(id.clone(), id.clone());
            }
            Operation::Rotation { src, dst, .. }
            | Operation::Slice { src, dst, .. }
            | Operation::SetSliceMeta { src, dst, .. }
            | Operation::View { src, dst, .. } => self.same_owner(src, dst.clone()),
            Operation::AssembleTuple { vars, dst } => {
                for (part, name) in vars.iter().enumerate() {
                    self.same_owner(name, format!("{dst}.{part}"));
                }
            }
            _ => {}
        }
        let kept = matches!(
            op,
            Operation::Return { .. } | Operation::Store { .. } | Operation::Deallocate { .. }
        );
        let named: Vec<&str> = op.defines().chain(op.mentions()).collect();
        for name in named {
            self.used(name, place, op.is_queued(), kept);
            for part in 0.. {
                let part = format!("{name}.{part}");
                if !self.owner.contains_key(&part) {
                    break;
                }
                self.used(&part, place, op.is_queued(), kept);
            }
        }
        if let Operation::MoveRegister { src, dst } = op {
            self.moved(src, dst);
        }
    }

    fn insert(&mut self, name: &str, memory: Memory) {
        let memory = Memory {
            name: name.to_owned(),
            ..memory
        };
        match self
            .owned
            .get(name)
            .and_then(|&at| self.memories.get_mut(at))
        {
            Some(known) => *known = Some(memory),
            None => {
                self.owned.insert(name.to_owned(), self.memories.len());
                self.memories.push(Some(memory));
            }
        }
    }

    fn same_owner(&mut self, of: &str, name: String) {
        let owner = self.owner.get(of).cloned().unwrap_or_default();
        self.owner.insert(name, owner);
    }

    fn used(&mut self, name: &str, place: (u32, usize), queued: bool, kept: bool) {
        let owner = self.owner.get(name).and_then(|owner| self.owned.get(owner));
        let memory = owner.and_then(|&at| self.memories.get_mut(at)?.as_mut());
        if let Some(memory) = memory {
            memory.threads.insert(place.0);
            memory.last = Some(place);
            memory.queued |= queued;
            memory.kept |= kept;
        }
    }

    /// The owner of memory has another name from now on.
    fn moved(&mut self, from: &str, to: &str) {
        if self.owner.get(from).is_none_or(|owner| owner != from) {
            return;
        }
        let at = self.owned.remove(from);
        let Some(memory) = at.and_then(|at| self.memories.get_mut(at)?.take()) else {
            return;
        };
        self.insert(to, memory);
        for owner in self.owner.values_mut().filter(|owner| *owner == from) {
            to.clone_into(owner);
        }
        self.owner.insert(to.to_owned(), to.to_owned());
    }
}

/// What is freed where.
#[derive(Default)]
struct Frees {
    behind: HashMap<(u32, usize), Vec<String>>,
    at_end: Vec<String>,
    threads: u32,
}

impl Frees {
    fn rebuilt(&mut self, instructions: Vec<Instruction>, main: bool) -> Vec<Instruction> {
        let thread = self.threads;
        self.threads += 1;
        let mut rebuilt = Vec::with_capacity(instructions.len());
        for (index, mut instruction) in instructions.into_iter().enumerate() {
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
            let names = self.behind.remove(&(thread, index)).unwrap_or_default();
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
