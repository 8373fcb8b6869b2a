//! Facts about a program that hold before any of it is lowered.

use cloakwork_formats::zk::{Ast, Constant, Input, Instruction, Operation, Register, Table, Type};
use cloakwork_ir::DType;
use std::collections::{HashMap, HashSet};

/// Tables by name, and what instructions do wherever they stand.
#[derive(Default)]
pub(super) struct Statics<'a> {
    pub registers: HashMap<&'a str, &'a Register>,
    pub inputs: HashMap<&'a str, &'a Input>,
    pub constants: HashMap<&'a str, &'a Constant>,
    pub outputs: HashMap<&'a str, &'a Type>,
    /// Entries of tables that could not be read, by table and name.
    broken: HashSet<(&'a str, &'a str)>,
    /// The number of instructions of each name.
    ids: HashMap<&'a str, u32>,
    /// Outputs that something fills, or may fill.
    stored: HashSet<&'a str>,
    /// Whether something is stored into an output that is not declared.
    strays: bool,
    /// How often each register is defined.
    pub definitions: HashMap<&'a str, u32>,
    /// How often each input is loaded.
    pub loads: HashMap<&'a str, u32>,
    /// Registers that are freed.
    freed: HashSet<&'a str>,
    /// Registers of constants, and of inputs that stay the caller's.
    borrowed: HashSet<&'a str>,
    /// For each register that is moved, the register that takes over its contents.
    moves: HashMap<&'a str, &'a str>,
    /// Whether a window is put over the whole buffer of a view.
    pub whole_windows: bool,
    /// Whether there are tuples.
    tuples: bool,
    /// Whether a thread other than the main one stores.
    pub stores_elsewhere: bool,
}

fn by_name<T>(table: &Table<T>) -> HashMap<&str, &T> {
    table
        .iter()
        .map(|(name, entry)| (name.as_str(), entry))
        .collect()
}

impl<'a> Statics<'a> {
    pub fn of(ast: &'a Ast) -> Self {
        let broken = ast.broken.iter();
        let mut statics = Self {
            registers: by_name(&ast.registers),
            inputs: by_name(&ast.inputs),
            constants: by_name(&ast.constants),
            outputs: by_name(&ast.outputs),
            broken: broken
                .map(|(table, name)| (table.as_str(), name.as_str()))
                .collect(),
            ..Self::default()
        };
        let mut viewed = HashSet::new();
        let mut windows = Vec::new();
        let mut lists = vec![(&ast.main, true)];
        while let Some((list, main)) = lists.pop() {
            for Instruction { op, id, .. } in list {
                if let Some(id) = id {
                    *statics.ids.entry(id).or_default() += 1;
                }
                for name in op.defines() {
                    *statics.definitions.entry(name).or_default() += 1;
                }
                statics.note(op, main, &mut viewed, &mut windows);
                if let Operation::Fork { instructions, .. } = op {
                    lists.push((instructions, false));
                }
            }
        }
        statics.whole_windows = statics.tuples || windows.iter().any(|name| viewed.contains(name));
        statics
    }

    fn note(
        &mut self,
        op: &'a Operation,
        main: bool,
        viewed: &mut HashSet<&'a str>,
        windows: &mut Vec<&'a str>,
    ) {
        match op {
            Operation::Slice { dst, .. } | Operation::View { dst, .. } => {
                viewed.insert(dst);
            }
            Operation::AssembleTuple { dst, .. } => {
                self.tuples |= true;
                viewed.insert(dst);
            }
            Operation::Rotation { src, dst, .. } | Operation::SetSliceMeta { src, dst, .. } => {
                viewed.insert(dst);
                windows.push(src);
            }
            Operation::MoveRegister { src, dst } => {
                self.moves.entry(src).or_insert(dst);
                viewed.insert(dst);
            }
            Operation::Deallocate { id } => {
                self.freed.insert(id);
            }
            Operation::LoadConstant { dst, .. } => {
                self.borrowed.insert(dst);
            }
            Operation::LoadInput { src, dst } => {
                *self.loads.entry(src).or_default() += 1;
                let input = self.inputs.get(src.as_str());
                if input.is_some_and(|input| !input.consume) {
                    self.borrowed.insert(dst);
                }
            }
            Operation::Store { output, .. } => {
                self.stores_elsewhere |= !main;
                self.stored.insert(output);
                self.strays |= !self.outputs.contains_key(output.as_str());
            }
            Operation::Return { id } => self.stored.extend(id.names.iter().map(String::as_str)),
            Operation::Unreadable { mentions, .. } => {
                self.stored.extend(mentions.iter().map(String::as_str));
            }
            _ => {}
        }
    }

    /// Whether an entry of a table could not be read, which has been told.
    pub fn is_broken(&self, table: &str, name: &str) -> bool {
        self.broken.contains(&(table, name))
    }

    /// Whether what happens before what is unknown, as some entry about it could not be read.
    pub fn is_unsure(&self) -> bool {
        let tables = ["events", "streams"];
        self.broken.iter().any(|(table, _)| tables.contains(table))
    }

    /// The label of an instruction in messages: its own name; its place where the name does not
    /// tell it apart from others.
    pub fn label(&self, id: Option<&String>, place: &str) -> String {
        let Some(id) = id else {
            return place.to_owned();
        };
        let number = id.rsplit_once('/').map(|(_, number)| number);
        let is_like_a_place = number.is_some_and(|number| number.parse::<u64>().is_ok());
        match self.ids.get(id.as_str()) {
            Some(1) if !is_like_a_place => id.clone(),
            _ => format!("{id} at {place}"),
        }
    }

    /// Outputs that are declared, and that nothing fills; where a Store names one that is not
    /// declared, that is reported.
    pub fn never_stored(&self, ast: &'a Ast) -> impl Iterator<Item = &'a str> {
        let names = ast.outputs.iter().map(|(name, _)| name.as_str());
        let names = names.filter(|_| !self.strays);
        let is_stored = |name: &str| {
            let tuple = name.split_once('.').map_or(name, |(tuple, _)| tuple);
            self.stored.contains(name) || self.stored.contains(tuple)
        };
        names.filter(move |name| !is_stored(name))
    }

    /// The last of the names that a buffer has one after another.
    pub fn last_name(&self, name: &str) -> String {
        let (mut name, mut seen) = (name, HashSet::new());
        while let Some(next) = self.moves.get(name).filter(|_| seen.insert(name)) {
            name = next;
        }
        name.to_owned()
    }

    /// Whether what goes by this name in the end is the program's own, and nothing frees it.
    pub fn is_left(&self, last_name: &str) -> bool {
        self.definitions.contains_key(last_name)
            && !self.freed.contains(last_name)
            && !self
                .borrowed
                .iter()
                .any(|name| self.last_name(name) == last_name)
    }

    /// Dtype and sizes that a register is declared with.
    pub fn declared(&self, name: &str) -> Option<(DType, Vec<u64>)> {
        self.registers.get(name)?.ty.tensor()
    }
}
