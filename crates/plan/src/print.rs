//! A plan as text: what snapshot tests pin and `cloakwork inspect --plan` shows.

use crate::plan::{Address, Plan, Prepared, Space};
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.memory_text())?;
        if let Some(graph) = &self.graph {
            writeln!(f, "{graph}")?;
        }
        let mut fusions = self.fusions.iter().peekable();
        for (index, step) in (0u32..).zip(&self.steps) {
            if let Some(fusion) = fusions.next_if(|fusion| fusion.first == index) {
                let steps = fusion.end - fusion.first;
                writeln!(
                    f,
                    "     together, {} elements a block: {steps} steps",
                    fusion.block
                )?;
            }
            let geometry = &self.geometries[step.geometry as usize];
            write!(
                f,
                "{:>4} {} {:?}",
                step.origin,
                step.symbol(),
                geometry.dims
            )?;
            let first = step.first_address as usize;
            for (i, address) in self.addresses[first..first + geometry.operands()]
                .iter()
                .enumerate()
            {
                f.write_str(if i == 0 {
                    " "
                } else if i == 1 {
                    " <- "
                } else {
                    ", "
                })?;
                self.write_address(f, address)?;
            }
            match step.prepared {
                Prepared::None => {}
                Prepared::Constant(index) => write!(f, " with constants {index}")?,
                Prepared::Constants { first, count } => {
                    let units = first as usize..(first + count) as usize;
                    write!(f, " with constants {:?}", &self.prepared_units[units])?;
                }
                Prepared::Dynamic(_) | Prepared::Dynamics { .. } => {
                    f.write_str(" with constants derived here")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Plan {
    fn write_address(&self, f: &mut fmt::Formatter<'_>, at: &Address) -> fmt::Result {
        match at.space {
            Space::Buffer => {
                let start = self.buffers[at.index as usize].offset as i64;
                write!(f, "@{}", start + at.offset)
            }
            Space::Host => write!(f, "host {}+{}", at.index, at.offset),
            Space::Constant => write!(f, "constant {}+{}", at.index, at.offset),
            Space::Output => write!(f, "result {}", at.index),
            Space::Pool => write!(f, "{}", self.pool[at.index as usize]),
            Space::Slot => write!(f, "block {}", at.index),
            Space::Null => f.write_str("-"),
        }
    }

    /// The step of the program as given that a planned step serves.
    #[must_use]
    pub fn program_step(&self, origin: u32) -> u32 {
        let mapped = self
            .origins
            .as_ref()
            .and_then(|origins| origins.get(origin as usize));
        mapped.copied().unwrap_or(origin)
    }
}
