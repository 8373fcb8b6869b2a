//! The value of each name while the program is read.

use crate::ValueId;
use cloakwork_ir::Symbol;

/// The state of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Name {
    /// Nothing bound it yet.
    #[default]
    Unbound,
    /// It names a value since this step.
    Live { value: ValueId, step: u32 },
    /// It was given up at this step.
    Freed { step: u32 },
    /// An error was reported about it; what it names is unknown, and no further word is due.
    Poisoned,
}

/// All names.
#[derive(Debug)]
pub(crate) struct Names(Vec<Name>);

impl Names {
    pub fn new(count: usize) -> Self {
        Self(vec![Name::Unbound; count])
    }

    pub fn get(&self, symbol: Symbol) -> Name {
        self.0.get(symbol.0 as usize).copied().unwrap_or_default()
    }

    /// Symbols that the program never interned keep no state.
    pub fn set(&mut self, symbol: Symbol, name: Name) {
        if let Some(place) = self.0.get_mut(symbol.0 as usize) {
            *place = name;
        }
    }

    /// Names that are still live, with the step that bound them.
    pub fn live(&self) -> impl Iterator<Item = (Symbol, u32)> + '_ {
        self.0
            .iter()
            .enumerate()
            .filter_map(|(index, name)| match name {
                Name::Live { step, .. } => Some((Symbol(index as u32), *step)),
                _ => None,
            })
    }
}
