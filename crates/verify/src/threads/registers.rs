//! Registers: defined once, used only after their definition, and removed by their owners.

use super::accesses::Kind;
use super::{Freed, Walk};
use crate::StorageId;
use crate::check::Checker;
use crate::names::Name;
use crate::report::Issue;
use cloakwork_ir::{Arg, Op, Program, Symbol, Threaded};
use smallvec::SmallVec;

/// Accesses of threads to a register, as nodes.
#[derive(Clone, Default)]
struct Register {
    defined: Option<u32>,
    /// The last use of each chain.
    uses: SmallVec<[(u32, u32); 2]>,
    /// Where its last lifetime ended.
    ended: Option<u32>,
}

/// All registers.
#[derive(Default)]
pub(super) struct Registers(Vec<Register>);

impl Registers {
    pub fn new(count: usize) -> Self {
        Self(vec![Register::default(); count])
    }

    fn get(&mut self, symbol: Symbol) -> Option<&mut Register> {
        self.0.get_mut(symbol.0 as usize)
    }
}

/// The registers that a call uses, and the one that it defines.
pub(super) fn of_call(program: &Program, op: &Op) -> (SmallVec<[Symbol; 6]>, Option<Symbol>) {
    let mut used: SmallVec<[Symbol; 6]> = SmallVec::new();
    for arg in program.args(op) {
        if let Arg::Device(symbol, _) = arg
            && !used.contains(symbol)
        {
            used.push(*symbol);
        }
    }
    let defined = match program.out(op) {
        Some(Arg::Device(symbol, _)) if !used.contains(symbol) => Some(*symbol),
        _ => None,
    };
    (used, defined)
}

impl Walk {
    fn is_owner(&self, storage: StorageId, symbol: Symbol) -> bool {
        let owner = self.owners.get(&storage);
        owner.is_some_and(|(owner, _)| *owner == symbol)
    }
}

impl Checker<'_> {
    /// The storage of a register, if it holds something.
    pub(super) fn storage_of(&self, symbol: Symbol) -> Option<StorageId> {
        let Name::Live { value, .. } = self.names.get(symbol) else {
            return None;
        };
        self.values.storage_of(value)
    }

    /// Whether a word is due about the order in which threads come to a register; once.
    fn order_is_due(&mut self, symbol: Symbol) -> bool {
        let storage = self.storage_of(symbol);
        self.sound && storage.is_none_or(|storage| self.doubtful.insert(storage))
    }

    /// A register is used: behind its definition, whatever the order of threads.
    pub(super) fn use_register(&mut self, walk: &mut Walk, symbol: Symbol) {
        let (node, schedule) = (walk.node, std::rc::Rc::clone(&walk.schedule));
        let Some(register) = walk.registers.get(symbol) else {
            return;
        };
        let (chain, _) = schedule.place(node);
        match register.uses.iter_mut().find(|(other, _)| *other == chain) {
            Some((_, last)) => *last = node,
            None => register.uses.push((chain, node)),
        }
        let defined = register.defined;
        if let Some(defined) = defined.filter(|&at| !schedule.before(at, node))
            && self.order_is_due(symbol)
        {
            let at = self.place(schedule.step(defined));
            let expected = "a definition that always runs before";
            let got = format!("{at}, which another thread may run later");
            let issue = Issue::error("undefined-name", expected, got).names([symbol]);
            self.report(issue.hint("wait for an event that is recorded after the definition"));
        }
    }

    /// A register is defined: it is empty, whatever the order of threads.
    pub(super) fn define_register(&mut self, walk: &mut Walk, symbol: Symbol) {
        let (node, schedule) = (walk.node, std::rc::Rc::clone(&walk.schedule));
        if let Name::Live { value, step } = self.names.get(symbol) {
            let got = format!("a register that {} defined", self.place(step));
            let issue = Issue::error("redefinition", "an empty register", got).names([symbol]);
            self.report(issue.hint("deallocate or remove it first, or use another name"));
            self.names.set(symbol, Name::Unbound);
            if let Some(info) = self.values.value(value) {
                walk.owners.remove(&info.storage);
                self.doubtful.insert(info.storage);
            }
        }
        let Some(register) = walk.registers.get(symbol) else {
            return;
        };
        let unsure = register.ended.filter(|&at| !schedule.before(at, node));
        *register = Register {
            defined: Some(node),
            ..Register::default()
        };
        if let Some(ended) = unsure.filter(|_| self.sound) {
            let at = self.place(schedule.step(ended));
            let got = format!("a register that {at} empties, possibly later");
            let issue = Issue::error("redefinition", "an empty register", got).names([symbol]);
            self.report(issue.hint("order the two by an event, or use another name"));
        }
    }

    /// A register is emptied: behind all its uses, whatever the order of threads.
    fn end_register(&mut self, walk: &mut Walk, symbol: Symbol) {
        let (node, schedule) = (walk.node, std::rc::Rc::clone(&walk.schedule));
        let Some(register) = walk.registers.get(symbol) else {
            return;
        };
        let unsure = register.uses.iter().map(|(_, at)| *at);
        let unsure = unsure
            .filter(|&at| at != node && !schedule.before(at, node))
            .min();
        register.ended = Some(node);
        if let Some(used) = unsure
            && self.order_is_due(symbol)
        {
            let at = self.place(schedule.step(used));
            let got = format!("{at}, which another thread may run later");
            let expected = "all uses of the register before it is emptied";
            let issue = Issue::error("use-after-free", expected, got).names([symbol]);
            self.report(issue.hint("join or wait for the thread that uses it first"));
        }
    }

    /// The owner of memory gives it back.
    pub(super) fn give_back(&mut self, walk: &mut Walk, symbol: Symbol) {
        self.use_before_end(walk, symbol);
        let Name::Live { value, .. } = self.names.get(symbol) else {
            self.free(symbol);
            return;
        };
        let Some(storage) = self.values.storage_of(value) else {
            return;
        };
        if let Some(freed) = walk.freed.get(&storage) {
            let got = format!("memory that {} gave back", self.place(freed.step));
            let issue = Issue::error("double-free", "allocated memory", got).names([symbol]);
            self.report(issue.hint("free memory once, by its owner"));
        } else if walk.is_owner(storage, symbol) {
            let (node, step) = (walk.node, self.step);
            walk.freed.insert(storage, Freed { node, step });
            self.touched(walk, value, Kind::Free);
        } else {
            let (got, hint) = match walk.owners.get(&storage) {
                Some((owner, _)) => (
                    format!("a view of {}", self.shown(self.step, *owner)),
                    "remove the register; its owner frees the memory",
                ),
                None => (
                    "a constant or input".to_owned(),
                    "remove the register; the program does not own borrowed memory",
                ),
            };
            let issue = Issue::error("not-the-owner", "the register that allocated", got);
            if !self.doubtful.contains(&storage) {
                self.report(issue.names([symbol]).hint(hint));
            }
        }
        self.names.set(symbol, Name::Freed { step: self.step });
    }

    fn use_before_end(&mut self, walk: &mut Walk, symbol: Symbol) {
        self.use_register(walk, symbol);
        self.end_register(walk, symbol);
    }

    /// Steps on registers; those of threads and events are the schedule's.
    pub(super) fn threaded(&mut self, walk: &mut Walk, step: &Threaded) {
        match *step {
            Threaded::Forget(symbol) => self.forget(walk, symbol),
            Threaded::Move { from, to } => self.move_register(walk, from, to),
            Threaded::Unknown(symbol) => {
                self.define_register(walk, symbol);
                self.names.set(symbol, Name::Poisoned);
            }
            Threaded::Doubt(symbol) => {
                if let Some(storage) = self.storage_of(symbol) {
                    self.doubtful.insert(storage);
                    self.doubt_contents(storage);
                }
            }
            Threaded::Fork(_)
            | Threaded::Join(_)
            | Threaded::Record { .. }
            | Threaded::Wait { .. } => {}
        }
    }

    fn forget(&mut self, walk: &mut Walk, symbol: Symbol) {
        self.use_before_end(walk, symbol);
        let Some(value) = self.look_up(symbol, "") else {
            return;
        };
        let owned = self
            .values
            .storage_of(value)
            .filter(|storage| walk.is_owner(*storage, symbol) && !walk.freed.contains_key(storage));
        if let Some(storage) = owned {
            let issue = Issue::error("leak", "a register of a view", "the owner of memory");
            self.report(issue.names([symbol]).hint("deallocate it instead"));
            self.doubtful.insert(storage);
            walk.owners.remove(&storage);
        }
        self.names.set(symbol, Name::Freed { step: self.step });
    }

    fn move_register(&mut self, walk: &mut Walk, from: Symbol, to: Symbol) {
        self.use_before_end(walk, from);
        self.define_register(walk, to);
        let state = match self.look_up(from, "") {
            Some(value) => {
                if let Some(info) = self.values.value(value)
                    && let Some((owner, _)) = walk.owners.get_mut(&info.storage)
                    && *owner == from
                {
                    *owner = to;
                }
                Name::Live {
                    value,
                    step: self.step,
                }
            }
            None => Name::Poisoned,
        };
        self.names.set(from, Name::Freed { step: self.step });
        self.names.set(to, state);
    }
}
