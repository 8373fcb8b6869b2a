//! The passes in their order, and the functions that run them.

use crate::{Draft, common, composites, constants, copies, dead, inversions};
use cloakwork_ir::{Program, Step, text};
use cloakwork_verify::{Mistake, Verified, with_frees};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
    run: fn(&mut Draft<'_>),
}

impl Pass {
    /// Runs it over a draft.
    pub fn run(&self, draft: &mut Draft<'_>) {
        (self.run)(draft);
    }
}

/// All passes, in the order in which they run.
pub static PASSES: &[Pass] = &[
    Pass {
        name: "common-subexpressions",
        doc: "equal steps with equal operands run once",
        run: common::run,
    },
    Pass {
        name: "copies",
        doc: "a copy that is never written is replaced by its source",
        run: copies::run,
    },
    DEAD,
    Pass {
        name: "constants",
        doc: "single elements that depend only on the program's data are computed",
        run: constants::run,
    },
    Pass {
        name: "inversions",
        doc: "independent calls on small tensors that can share work become one call",
        run: inversions::run,
    },
    Pass {
        name: "composites",
        doc: "the expansion of an op with a kernel becomes that op",
        run: composites::run,
    },
    DEAD,
];

const DEAD: Pass = Pass {
    name: "dead-code",
    doc: "steps whose results are never read are removed, unless they may fail",
    run: dead::run,
};

/// How many of the passes only drop steps and let values stand for others, so that they work on one
/// draft; those behind them write steps of their own, on a second.
const DROPPING: usize = 3;

/// Which programs are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All in which a pass finds something.
    Everywhere,
    /// Of longer programs, those where the first run gains more than rewriting takes.
    WherePaid,
}

/// Programs of up to so many steps are rewritten in a few milliseconds.
const SHORT_STEPS: usize = 4096;
/// Time to write a step out and verify it again.
const REWRITE_NS: u64 = 1300;
/// Time to plan a step.
const PLAN_NS: u64 = 2000;

/// Runs all passes; none where they find nothing, or nothing that pays.
///
/// # Errors
/// A mistake of a pass.
pub fn optimize(
    verified: &Arc<Verified>,
    extent: Extent,
) -> Result<Option<Arc<Verified>>, Mistake> {
    let mut draft = Draft::new(verified);
    PASSES[..DROPPING]
        .iter()
        .for_each(|pass| pass.run(&mut draft));
    if !draft.is_changed() {
        return behind(draft, extent);
    }
    let Some(first) = written(&draft, extent)? else {
        return Ok(None);
    };
    let second = behind(Draft::new(&first), extent)?;
    Ok(Some(second.unwrap_or(first)))
}

/// Runs the passes that write steps of their own, over a draft that is unchanged.
fn behind(mut draft: Draft, extent: Extent) -> Result<Option<Arc<Verified>>, Mistake> {
    for pass in &PASSES[DROPPING..] {
        // Where none of them wrote anything, what is dead was dropped before.
        if pass.name != DEAD.name || draft.is_changed() {
            pass.run(&mut draft);
        }
    }
    written(&draft, extent)
}

fn written(draft: &Draft, extent: Extent) -> Result<Option<Arc<Verified>>, Mistake> {
    if !draft.is_changed() || (extent == Extent::WherePaid && !pays(draft)) {
        return Ok(None);
    }
    Ok(Some(Arc::new(draft.write()?)))
}

/// Whether the first run gains more time than rewriting takes.
fn pays(draft: &Draft) -> bool {
    let verified = draft.verified;
    let steps = verified.program().steps.len();
    if steps <= SHORT_STEPS {
        return true;
    }
    let cost = REWRITE_NS * steps as u64;
    let mut gain = 0u64;
    for (step, action) in verified.actions() {
        if let (Some(call), false) = (action.call(), draft.keeps(*step)) {
            let view_of = |value| verified.view(value);
            let operations = verified.with_views(call, view_of, call.def.operations);
            gain = gain.saturating_add(PLAN_NS).saturating_add(operations);
        }
    }
    gain >= cost
}

/// The effect of a pass on a program.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The pass.
    pub pass: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
    /// How many calls of each op there are less, or more (negative).
    pub removed: BTreeMap<String, i64>,
    /// The program behind it, if it changed.
    pub after: Option<String>,
}

impl Shown {
    /// The steps that it removed and added, in words.
    #[must_use]
    pub fn counted(&self) -> String {
        let part = |(op, count): (&String, &i64)| match count {
            0.. => format!("-{count} {op}"),
            _ => format!("+{} {op}", -count),
        };
        match self.after {
            None => "no change".to_owned(),
            Some(_) => self.removed.iter().map(part).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Runs the passes one by one, each on what the one before it wrote, and says what each did. The
/// first entry is the program as it comes, without a pass.
///
/// # Errors
/// A mistake of a pass.
pub fn shown(verified: &Arc<Verified>, passes: &[Pass]) -> Result<(String, Vec<Shown>), Mistake> {
    let before = printed(verified);
    let mut now = Arc::clone(verified);
    let mut all = Vec::new();
    for pass in passes {
        let mut draft = Draft::new(&now);
        pass.run(&mut draft);
        let written = match draft.is_changed() {
            true => Some(draft.write()?),
            false => None,
        };
        let mut shown = Shown {
            pass: pass.name,
            doc: pass.doc,
            removed: BTreeMap::new(),
            after: None,
        };
        if let Some(written) = written {
            shown.removed = calls(now.program());
            for (op, count) in calls(written.program()) {
                *shown.removed.entry(op).or_default() -= count;
            }
            shown.removed.retain(|_, count| *count != 0);
            shown.after = Some(printed(&written));
            now = Arc::new(written);
        }
        all.push(shown);
    }
    Ok((before, all))
}

fn printed(verified: &Verified) -> String {
    text::print(&with_frees(Program::clone(verified.program())))
}

/// How often each op is called.
fn calls(program: &Program) -> BTreeMap<String, i64> {
    let mut calls = BTreeMap::new();
    for step in &program.steps {
        if let Step::Op(op) = step {
            *calls
                .entry(program.text_name(op.name).to_owned())
                .or_default() += 1;
        }
    }
    calls
}
