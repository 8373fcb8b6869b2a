//! Holds one program on a device to the references of its ops and to a right device.

use crate::Inputs;
use crate::diff::{Comparing, Difference, Place, Shows, diff, op_name};
use crate::differences::{Unequal, unequal};
use crate::excerpt::{Contents, Reading, Whole};
use crate::side::{GoOn, Refused, Side};
use cloakwork_devices::Capabilities;
use cloakwork_ir::{HostTensor, Program, Step};
use cloakwork_plan::{Plan, Work};
use cloakwork_run::{Against, RunError, WrongOp, bisect};
use cloakwork_verify::Verified;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

/// A call or a program that a device computes wrongly.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The first wrong result, and the steps that show it.
    pub difference: Difference,
    /// The result that it was compared with.
    pub against: Reference,
}

/// The source of the result that a device's result is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The slow reference of the op.
    OfOp,
    /// The same program on the host.
    Host,
    /// The same program by the same device, when no other run was under way.
    OneRun,
}

/// The outcome for one program.
#[derive(Debug, Default)]
pub struct Held {
    /// Results that were compared with references of ops.
    pub by_reference: u64,
    /// Results that are too large for these, and were compared with portable kernels.
    pub by_portable: u64,
    /// Whether contents are refused, on the host as on the device.
    pub refused: bool,
    /// Launches and preparations on the device, by kernel.
    pub kernels: BTreeMap<&'static str, u64>,
    /// The first wrong result, if there is one.
    pub failure: Option<Failure>,
}

/// The kernels of a plan's steps on a device, of those whose origin is chosen, and how often.
pub fn kernels(
    plan: &Plan,
    side: &Side,
    is_chosen: impl Fn(u32) -> bool,
) -> BTreeMap<&'static str, u64> {
    let (driver, _) = side.drivers.of(side.device);
    let is_host = driver.has(Capabilities::HOST_MEMORY);
    let steps = plan.steps.iter().filter(|step| is_host || step.queue > 0);
    let prepared = plan
        .constants
        .iter()
        .filter(|constant| is_host || constant.arena > 0);
    let steps = steps.filter(|step| is_chosen(step.origin));
    let works = steps
        .map(|step| step.work)
        .chain(prepared.map(|constant| constant.work));
    let mut found = BTreeMap::new();
    for work in works {
        if let Work::Launch { row, .. } | Work::Prepare { row } = work {
            *found.entry(row.symbol).or_default() += 1;
        }
    }
    found
}

/// Options of a test of one program: the devices, and how often it runs.
pub struct Holding<'a> {
    /// The device in question.
    pub device: &'a Side,
    /// The host.
    pub reference: &'a Side,
    /// Runs of each kind.
    pub repeat: u32,
    /// Whether two executors run at once, too.
    pub at_once: bool,
}

impl Holding<'_> {
    /// Holds a program to references and to the host.
    ///
    /// # Errors
    /// It cannot be planned, or the caller stops.
    pub fn hold(
        &self,
        verified: &Arc<Verified>,
        inputs: &Inputs,
        go_on: GoOn<'_>,
    ) -> Result<Held, Refused> {
        let plan = self.device.plan(verified)?;
        let mut held = Held {
            kernels: kernels(&plan, self.device, |_| true),
            ..Held::default()
        };
        if held.kernels.is_empty() {
            return Ok(held);
        }
        let comparing = Comparing {
            repeat: self.repeat,
            keeps_all: true,
            ..Comparing::new(self.device.clone(), self.reference.clone())
        };
        let found = match diff(verified, inputs, &comparing, go_on) {
            Err(Refused::Run(RunError::Contents { .. } | RunError::Assertion { .. })) => {
                held.refused = true;
                return Ok(held);
            }
            found => found?,
        };
        if let Some(difference) = found.difference {
            let against = Reference::Host;
            held.failure = Some(Failure {
                difference,
                against,
            });
            return Ok(held);
        }
        let mut held_to = self.by_references(verified, inputs, &mut held, go_on);
        let mut against = Reference::OfOp;
        if self.at_once && held_to.is_ok() && held.failure.is_none() {
            held_to = self.at_once(verified, inputs, &mut held, go_on);
            against = Reference::OneRun;
        }
        match held_to {
            Err(error) if error.is_of_device() => {
                let kernels = held.kernels.keys().map(|symbol| (*symbol).to_owned());
                let program = Program::clone(verified.program());
                // Two runs at once are those of an excerpt, with steps of its own.
                let step = error.lost_step();
                let step = step.filter(|_| against == Reference::OfOp);
                held.failure = Some(Failure {
                    difference: of_error((&error, step), kernels.collect(), program),
                    against,
                });
            }
            other => other?,
        }
        Ok(held)
    }

    /// Compares the result of each step with the slow reference of its op.
    fn by_references(
        &self,
        verified: &Arc<Verified>,
        inputs: &Inputs,
        held: &mut Held,
        go_on: GoOn<'_>,
    ) -> Result<(), Refused> {
        let mut executor = self.device.executor(verified)?;
        let done = bisect(&mut executor, inputs, &mut |_| go_on())?;
        held.by_reference = done.by_reference;
        held.by_portable = done.by_portable_kernel.values().sum();
        if let Some(wrong) = done.wrong.filter(|wrong| !is_rounding(wrong)) {
            let kernels = held.kernels.keys().map(|symbol| (*symbol).to_owned());
            let program = Program::clone(verified.program());
            held.failure = Some(Failure {
                difference: of_wrong_op(wrong, kernels.collect(), program),
                against: Reference::OfOp,
            });
        }
        Ok(())
    }

    /// Runs a program by two executors at once.
    fn at_once(
        &self,
        verified: &Arc<Verified>,
        inputs: &Inputs,
        held: &mut Held,
        go_on: GoOn<'_>,
    ) -> Result<(), Refused> {
        let lowered = verified.lowered();
        let lowered = lowered.map_err(|mistake| Refused::Internal(mistake.to_string()))?;
        let whole = Whole::new(lowered, inputs, true);
        let all = whole.excerpt(0..whole.len(), &Contents::new(), Reading::End);
        let excerpt = all.map_err(Refused::Internal)?;
        let one = self.runs(&excerpt.verified, 1, go_on)?.remove(0);
        let (mine, other) = thread::scope(|scope| {
            let other = scope.spawn(|| self.runs(&excerpt.verified, self.repeat, &mut || true));
            let mine = self.runs(&excerpt.verified, self.repeat, go_on);
            (mine, other.join())
        });
        let other = other.map_err(|_| Refused::Internal("a run panicked".into()))?;
        let runs = [mine?, other?].concat();
        let wrong = |got: &Vec<HostTensor>| {
            let pairs = got.iter().zip(&one).zip(&excerpt.seen);
            let mut found = pairs.filter_map(|((a, b), seen)| Some((unequal(a, b)?, *seen)));
            found.next()
        };
        let found: Vec<_> = runs.iter().filter_map(wrong).collect();
        let Some((first, seen)) = found.first().cloned() else {
            return Ok(());
        };
        let info = whole.verified.value(seen.value);
        let writer = info.map_or(seen.step, |info| whole.writer(info.storage, whole.len()));
        let counts = (found.len() as u32, runs.len() as u32);
        let difference = whole.difference(writer, seen.value, (first, counts));
        held.failure = Some(Failure {
            difference,
            against: Reference::OneRun,
        });
        Ok(())
    }

    fn runs(
        &self,
        verified: &Arc<Verified>,
        count: u32,
        go_on: GoOn<'_>,
    ) -> Result<Vec<Vec<HostTensor>>, Refused> {
        let mut executor = self.device.executor(verified)?;
        let mut run = || self.device.run(&mut executor, &Inputs::new(), go_on);
        (0..count.max(1)).map(|_| run()).collect()
    }
}

/// Whether the portable kernel may have rounded another way.
fn is_rounding(wrong: &WrongOp) -> bool {
    wrong.against == Against::PortableKernel && wrong.dtype.component().is_real_float()
}

/// A run that failed, at a step if that is known, though others of the same program did not.
fn of_error(
    (error, step): (&Refused, Option<u32>),
    kernels: Vec<String>,
    program: Program,
) -> Difference {
    let mut steps = program.steps.iter();
    let last = steps.rposition(|step| matches!(step, Step::Op(_)));
    let last = last.map_or(0, |step| step as u32);
    let step = step.unwrap_or(last);
    Difference {
        step,
        op: op_name(&program, step),
        part: None,
        kernels,
        segment: None,
        name: String::new(),
        place: Place::Result,
        unequal: None,
        failed: Some(error.to_string()),
        is_lost: error.is_lost(),
        shows: Shows::Together { first: 0, last },
        wrong_runs: 1,
        runs: 1,
        program,
    }
}

fn of_wrong_op(wrong: WrongOp, kernels: Vec<String>, program: Program) -> Difference {
    Difference {
        step: wrong.step,
        op: wrong.op,
        part: None,
        kernels,
        segment: None,
        name: wrong.name,
        place: Place::Result,
        unequal: Some(Unequal {
            index: wrong.index,
            got: wrong.got,
            expected: wrong.expected,
            different: wrong.different,
            total: wrong.total,
            may_be_rounding: false,
        }),
        failed: None,
        is_lost: false,
        shows: Shows::Alone,
        wrong_runs: 1,
        runs: 1,
        program,
    }
}
