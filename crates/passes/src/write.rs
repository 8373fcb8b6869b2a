//! Writes a draft out as a program, and has it verified like any other.
//!
//! Steps keep their names and arguments but for the names of tensors: a name that is bound more
//! than once gets a number from its second life on, so that what stands for another may live on.
//! Nothing is freed: plans know lifetimes by the steps that touch a tensor.

use crate::Draft;
use crate::draft::{Change, Fate, Group};
use cloakwork_ir::{Arg, Builder, DType, HostSlot, Op, Shape, Step, Symbol};
use cloakwork_ops::{Expansion, Joined, Named, OpDef, OpError, ParamKind, find_form};
use cloakwork_verify::{Action, Bound, Call, Mistake, ValueId, Verified, verify_rewritten};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// For each argument of a spelling, the parameter that takes it.
type Order = SmallVec<[usize; 12]>;

struct Writer<'d, 'v> {
    draft: &'d Draft<'v>,
    builder: Builder,
    /// The name of each value.
    names: Vec<Option<Symbol>>,
    /// How many values each of the program's names stands for.
    lives: Vec<u32>,
    orders: FxHashMap<(u32, usize), Order>,
    /// The room of each joined call, and how many operands it holds.
    rooms: Vec<Option<(Arg, usize)>>,
}

impl<'v> Draft<'v> {
    /// The program that the draft says, verified.
    ///
    /// # Errors
    /// The source's step, and the reason: a mistake of a pass.
    pub fn write(&self) -> Result<Verified, Mistake> {
        let program = self.verified.program();
        let mut writer = Writer {
            draft: self,
            builder: Builder {
                program: program.without_steps(),
            },
            names: vec![None; self.verified.values().len()],
            lives: vec![0; program.symbols.len()],
            orders: FxHashMap::default(),
            rooms: self.groups.iter().map(|_| None).collect(),
        };
        let mut actions = self.verified.actions().iter().peekable();
        let mut origins = Vec::with_capacity(program.steps.len());
        for (index, step) in (0u32..).zip(&program.steps) {
            // A step's last action is its own; before it may stand the making of its result.
            let mut action = None;
            while let Some((_, next)) = actions.next_if(|(at, _)| *at == index) {
                action = Some(next);
            }
            let done = match (self.fate(index), step, action) {
                (Fate::Replaced, ..) => {
                    let mut changes = self.changes(index).iter();
                    changes.try_for_each(|change| writer.change(change))
                }
                (Fate::Kept, Step::Op(op), Some(action)) => writer.op(op, action),
                (Fate::Kept, Step::SegmentStart(_) | Step::SegmentEnd, _) => {
                    writer.builder.program.steps.push(*step);
                    Ok(())
                }
                _ => Ok(()),
            };
            done.map_err(|error| Mistake {
                step: index,
                message: error.to_string(),
            })?;
            origins.resize(writer.builder.program.steps.len(), index);
        }
        verify_rewritten(writer.builder.program, self.verified, origins)
    }
}

impl Writer<'_, '_> {
    fn op(&mut self, op: &Op, action: &Action) -> Result<(), OpError> {
        let program = self.draft.verified.program();
        let mut args: SmallVec<[Arg; 8]> = program.args(op).iter().cloned().collect();
        let order = self.order(op)?;
        for (arg, &param) in args.iter_mut().zip(&order) {
            if let Arg::Device(_, claim) = *arg {
                let value = match (action, action.call()) {
                    (Action::Download { value, .. }, _) => Some(*value),
                    (_, call) => call.and_then(|call: &Call| call.value(param)),
                };
                let name = value.and_then(|value| self.name(value));
                *arg = name.map_or(Arg::None, |name| Arg::Device(name, claim));
            }
        }
        let out = match (program.out(op), action.result()) {
            (Some(Arg::Device(symbol, claim)), Some(value)) => {
                let name = self.names[value.0 as usize];
                let name = name.unwrap_or_else(|| self.define(value, *symbol));
                Some(Arg::Device(name, *claim))
            }
            (out, _) => out.cloned(),
        };
        self.builder.program.push_call(op.name, args, out);
        Ok(())
    }

    /// The parameters that a step's arguments are for.
    fn order(&mut self, op: &Op) -> Result<Order, OpError> {
        let program = self.draft.verified.program();
        let count = program.args(op).len();
        if let Some(order) = self.orders.get(&(op.name.0, count)) {
            return Ok(order.clone());
        }
        let (def, form) = find_form(program.text_name(op.name), count, program.generation)
            .map_err(|_| mistake("op", "one that verified"))?;
        let places = form.args.iter();
        let order: Order = places
            .map(|name| def.param(name).unwrap_or(usize::MAX))
            .collect();
        self.orders.insert((op.name.0, count), order.clone());
        Ok(order)
    }

    /// The name of the value that stands for this one.
    fn name(&self, value: ValueId) -> Option<Symbol> {
        let standing = self.draft.standing(value);
        self.names.get(standing.0 as usize).copied().flatten()
    }

    fn tensor(&self, value: ValueId) -> Result<Arg, OpError> {
        let name = self.name(value);
        let name = name.ok_or_else(|| mistake("operand", "a tensor that is made before"))?;
        Ok(Arg::Device(name, None))
    }

    /// Names a new value after the one that the program has for it.
    fn define(&mut self, value: ValueId, symbol: Symbol) -> Symbol {
        let lives = &mut self.lives[symbol.0 as usize];
        *lives += 1;
        let name = match *lives {
            1 => symbol,
            _ => self.next_life(symbol),
        };
        self.names[value.0 as usize] = Some(name);
        name
    }

    fn next_life(&mut self, symbol: Symbol) -> Symbol {
        let program = &mut self.builder.program;
        let own = program.symbol_name(symbol).to_owned();
        loop {
            let known = program.symbols.len();
            let name = program.symbol(&format!("{own}#{}", self.lives[symbol.0 as usize]));
            if name.0 as usize >= known {
                return name;
            }
            self.lives[symbol.0 as usize] += 1;
        }
    }

    /// Names a value that a changed step makes, unless it has a name.
    fn made(&mut self, value: ValueId) -> Symbol {
        let named = self.names[value.0 as usize];
        let own = self.draft.verified.value(value).map(|info| info.name);
        named.unwrap_or_else(|| match own {
            Some(symbol) => self.define(value, symbol),
            None => self.builder.program.fresh_symbol(),
        })
    }

    fn change(&mut self, change: &Change) -> Result<(), OpError> {
        match change {
            Change::Data { value, tensor } => {
                let name = self.made(*value);
                let slot = HostSlot::Data(tensor.clone().sound());
                self.builder.upload_as(slot, name);
                Ok(())
            }
            Change::Call {
                def,
                bounds,
                result,
            } => self.call(def, bounds, *result),
            Change::Put { group, operand } => self.put(*group as usize, *operand),
            Change::Run { group } => self.run(*group as usize),
        }
    }

    fn call(
        &mut self,
        def: &'static OpDef,
        bounds: &[Bound],
        result: ValueId,
    ) -> Result<(), OpError> {
        let mut given: Vec<Named> = Vec::new();
        let mut out = None;
        for (param, bound) in def.params.iter().zip(bounds) {
            let arg = match *bound {
                Bound::Value(value) => self.tensor(value)?,
                Bound::Int(word) => Arg::Int(word),
                Bound::DType(dtype) => Arg::DType(dtype),
                Bound::Shape(place) => Arg::Shape(self.draft.verified.items(place).into()),
                Bound::Host(_) | Bound::Absent => continue,
            };
            match param.kind {
                ParamKind::Out => out = Some(arg),
                _ => given.push((param.name, arg)),
            }
        }
        let name = self.made(result);
        let mut steps = Expansion::new(def, &[], name, &mut self.builder);
        steps.call_of(def, &given, out.as_ref())
    }

    fn put(&mut self, group: usize, operand: ValueId) -> Result<(), OpError> {
        let operand = self.tensor(operand)?;
        let (all, places) = places(self.draft.verified, &self.draft.groups[group]);
        let def = self.draft.groups[group].def;
        let mut joined = Joined::new(def, all, Symbol(0), &mut self.builder);
        let (room, filled) = match self.rooms[group].take() {
            Some(room) => room,
            None => (joined.room()?, 0),
        };
        if let Some((at, shape, _)) = places.get(filled) {
            joined.put(&room, *at, (operand, shape))?;
        }
        self.rooms[group] = Some((room, filled + 1));
        Ok(())
    }

    fn run(&mut self, group: usize) -> Result<(), OpError> {
        let room = self.rooms[group].take();
        let (room, _) = room.ok_or_else(|| mistake("group", "a room"))?;
        let (all, places) = places(self.draft.verified, &self.draft.groups[group]);
        let def = self.draft.groups[group].def;
        let result = Joined::new(def, all, Symbol(0), &mut self.builder).call(&room)?;
        for (at, shape, value) in places {
            let name = self.made(value);
            Joined::new(def, all, name, &mut self.builder).part(&result, at, shape)?;
        }
        Ok(())
    }
}

/// Where an operand of a joined call lies, its shape, and its result.
type Place<'v> = (u64, &'v Shape, ValueId);

/// The type and number of all elements of a joined call, and the places of its operands.
fn places<'v>(verified: &'v Verified, group: &Group) -> ((DType, u64), Vec<Place<'v>>) {
    let mut end = 0;
    let place = |&value: &ValueId| {
        let shape = &verified.view(value).shape;
        let at = end;
        end += shape.elements();
        (at, shape, value)
    };
    let places = group.results.iter().map(place).collect();
    let first = group.results.first();
    let info = first.and_then(|value| verified.value(*value));
    ((info.map_or(DType::Bool, |info| info.dtype), end), places)
}

fn mistake(operand: &'static str, expected: &str) -> OpError {
    OpError::new(cloakwork_ops::Code::ArgumentType, operand, expected, "none")
}
