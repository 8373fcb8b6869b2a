//! Every kernel at every size of a list: a fault at one exact size cannot hide behind chance.
//!
//! A program has calls of one op at many sizes. A size counts as tried once a call whose result,
//! or whose largest operand, has just as many elements launched the kernel on the device.

use crate::calls::Style;
use crate::conform::{OpHeld, Run, verified};
use crate::generators::generate_sizes;
use crate::inputs;
use crate::rows::Rows;
use crate::side::Refused;
use crate::source::Source;
use cloakwork_kernels::KernelRow;
use cloakwork_plan::Work;
use cloakwork_verify::Verified;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sizes in one program: those of small tensors together, as its fixed costs are the greater part.
const TOGETHER: [usize; 4] = [36, 12, 6, 6];
/// Programs for the same sizes, until each is tried.
const ATTEMPTS: u64 = 6;
/// Ops that are tried for a kernel, until calls of one launch it.
const OPS: usize = 3;
/// A kernel of which all sizes take longer gets no more programs.
const LONGEST: Duration = Duration::from_secs(2);

/// The sizes: all up to 36, and on both sides of the powers of two up to 4096.
pub fn sizes() -> impl Iterator<Item = u64> {
    let beside = (6..=12).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]);
    (1..=36).chain([100, 500, 1000]).chain(beside)
}

/// How many sizes of the list a kernel was launched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sized {
    /// Those that were tried.
    pub tried: usize,
    /// The length of the list.
    pub of: usize,
}

impl Run<'_, '_> {
    /// Tries each kernel that some call reached at every size, by the ops that are most about it.
    pub(crate) fn every_size(&mut self) -> Result<(), Refused> {
        let half = self.trying.budget / 2;
        for (number, row) in (0..).zip(self.rows.chosen()) {
            let left = half.saturating_sub(self.begun.elapsed()).min(LONGEST);
            let end = Instant::now() + left;
            let mut tried = None;
            for index in self.ops_about(row) {
                let found = self.row_at_sizes(row, index, (number, end))?;
                if self.ops[index].failure.is_some() {
                    tried = None;
                    break;
                }
                tried = tried.max(Some(found));
                if found > 0 {
                    break;
                }
            }
            let of = sizes().count();
            let sized = tried.map(|tried| (row.symbol, Sized { tried, of }));
            self.found.sizes.extend(sized);
        }
        Ok(())
    }

    /// The op of a kernel's name, then of the others that reached it those with the greatest share
    /// of launches of it.
    fn ops_about(&self, row: &'static KernelRow) -> Vec<usize> {
        let share = |op: &OpHeld| match (op.def.name == row.kernel, op.kernels.get(row.symbol)) {
            (true, _) => op.names(row.kernel).then_some(u64::MAX),
            (false, own) => {
                let all: u64 = op.kernels.values().sum();
                own.map(|own| own * 1000 / all.max(1))
            }
        };
        let ops = self.ops.iter().enumerate();
        let right = ops.filter(|(_, op)| op.failure.is_none());
        let mut shares: Vec<(u64, usize)> = right
            .filter_map(|(index, op)| Some((share(op)?, index)))
            .collect();
        shares.sort_by_key(|(share, index)| (Reverse(*share), *index));
        shares.iter().take(OPS).map(|(_, index)| *index).collect()
    }

    /// The number of sizes at which calls of an op launched a kernel, before a time.
    fn row_at_sizes(
        &mut self,
        row: &'static KernelRow,
        index: usize,
        (number, end): (u64, Instant),
    ) -> Result<usize, Refused> {
        let all: Vec<u64> = sizes().collect();
        let (mut tried, mut from) = (0, 0);
        for (part, count) in (0..).zip(TOGETHER) {
            let to = all.len().min(from + count);
            let mut wanted: BTreeSet<u64> = all[from..to].iter().copied().collect();
            from = to;
            for attempt in 0..ATTEMPTS {
                let is_other = tried == 0 && attempt == ATTEMPTS / 2;
                if is_other || Instant::now() >= end || self.ops[index].failure.is_some() {
                    return Ok(tried);
                }
                if wanted.is_empty() {
                    break;
                }
                self.go_on(Some(self.ops[index].def.name))?;
                let seed = self.seed(3 << 40 | number << 16 | part << 8 | attempt);
                let done = self.sized_program(row, index, (&wanted, seed))?;
                tried += done.len();
                wanted.retain(|size| !done.contains(size));
            }
        }
        Ok(tried)
    }

    /// Holds one program with calls at these sizes; those that launched the kernel.
    fn sized_program(
        &mut self,
        row: &'static KernelRow,
        index: usize,
        (wanted, seed): (&BTreeSet<u64>, u64),
    ) -> Result<BTreeSet<u64>, Refused> {
        let (def, dtypes) = (self.ops[index].def, Rows::types_of(row));
        let style = Style {
            flat: true,
            dtypes: &dtypes,
            ..Style::default()
        };
        let (program, calls) = generate_sizes(&mut Source::from_seed(seed), def, style, wanted);
        let Some(verified) = verified(program) else {
            return Ok(BTreeSet::new());
        };
        if !self.has_meaning(def, &verified) {
            return Ok(BTreeSet::new());
        }
        let steps = self.launching(row, &verified)?;
        let launched = calls.iter().filter(|(_, step)| steps.contains(step));
        let done: BTreeSet<u64> = launched.map(|(size, _)| *size).collect();
        if done.is_empty() {
            return Ok(done);
        }
        let given = inputs(verified.program(), |i| i as i64 % 17);
        let mut held = self.held(&verified, &given, false)?;
        if held.refused {
            return Ok(BTreeSet::new());
        }
        if let Some(failure) = held.failure.take() {
            held.failure = Some(self.smallest(failure)?);
        }
        self.ops[index].add(held);
        Ok(done)
    }

    /// The steps of a program that launch a kernel on the device.
    fn launching(
        &self,
        row: &'static KernelRow,
        verified: &Arc<Verified>,
    ) -> Result<BTreeSet<u32>, Refused> {
        let plan = self.trying.device.plan(verified)?;
        let steps = plan.steps.iter().filter(|step| match step.work {
            Work::Launch { row: own, .. } => own.symbol == row.symbol,
            _ => false,
        });
        Ok(steps.map(|step| plan.program_step(step.origin)).collect())
    }
}

/// Sizes by kernel.
pub type Sizes = BTreeMap<&'static str, Sized>;
