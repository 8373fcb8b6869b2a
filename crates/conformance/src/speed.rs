//! The time of one call on a device, beside the host's.

use crate::calls::Style;
use crate::generators::generate_styled;
use crate::hold::kernels;
use crate::side::{Refused, Side};
use crate::source::Source;
use crate::{Inputs, inputs};
use cloakwork_ops::OpDef;
use cloakwork_plan::Plan;
use cloakwork_run::RunOptions;
use cloakwork_verify::{Action, Verified, verify};
use std::sync::Arc;

/// The sizes at which calls are timed.
pub const SIZES: [u64; 2] = [64, 1 << 16];
/// Runs of each; the first only warms up.
const RUNS: usize = 6;
/// Programs that are tried until one has the size and runs on the device.
const ATTEMPTS: u64 = 4;

/// The times of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Elements of its result.
    pub elements: u64,
    /// Bytes that it reads and writes.
    pub bytes: u64,
    /// Median nanoseconds of its launches on the device.
    pub device_ns: u64,
    /// The same on the host.
    pub host_ns: u64,
    /// The device's kernels.
    pub kernels: Vec<String>,
}

/// Times a call of an op with a result of about so many elements; none if no program is found.
pub fn measured(
    def: &'static OpDef,
    style: Style<'_>,
    (device, host): (&Side, &Side),
    seed: u64,
) -> Result<Option<Speed>, Refused> {
    let size = style.size.unwrap_or(SIZES[0]);
    for attempt in 0..ATTEMPTS {
        let mut source = Source::from_seed(seed.wrapping_add(attempt));
        let program = Arc::new(generate_styled(&mut source, def, style, 1));
        let Some(verified) = verify(program).verified.map(Arc::new) else {
            continue;
        };
        let elements = written(&verified);
        if elements < size / 2 || kernels(&*device.plan(&verified)?, device, |_| true).is_empty() {
            continue;
        }
        let given = inputs(verified.program(), |i| i as i64 % 17);
        let times = [device, host].map(|side| median_ns(side, &verified, &given));
        let [Ok((device_ns, plan)), Ok((host_ns, _))] = times else {
            continue;
        };
        let own = kernels(&plan, device, |_| true).into_keys();
        return Ok(Some(Speed {
            elements,
            bytes: launched(&plan).map(|step| plan.costs[step].bytes).sum(),
            device_ns,
            host_ns,
            kernels: own.map(str::to_owned).collect(),
        }));
    }
    Ok(None)
}

/// Elements that the last call of a program writes.
fn written(verified: &Verified) -> u64 {
    let mut actions = verified.actions().iter().rev();
    let written = actions.find_map(|(_, action)| match action {
        Action::Kernel { out, .. } => Some(*out),
        Action::Composite { result, .. } => Some(*result),
        _ => None,
    });
    let info = written.and_then(|value| verified.value(value));
    info.map_or(0, |info| info.view.shape.elements())
}

/// The steps that launch kernels.
fn launched(plan: &Plan) -> impl Iterator<Item = usize> + '_ {
    let steps = plan.steps.iter().enumerate();
    steps.filter_map(|(index, step)| step.launched().map(|_| index))
}

/// The median time of a program's launches, and its plan.
fn median_ns(
    side: &Side,
    verified: &Arc<Verified>,
    given: &Inputs,
) -> Result<(u64, Arc<Plan>), Refused> {
    let mut executor = side.executor(verified)?;
    let plan = Arc::clone(executor.plan());
    let options = RunOptions {
        profile: true,
        threads: side.threads,
        ..RunOptions::default()
    };
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let outcome = executor.run(given, &options, &mut |_| true)?;
        let profile = outcome.profile.unwrap_or_default();
        let spans = launched(&plan).map(|step| profile.span_ns(step));
        times.push(
            spans
                .map(|(begun, ended)| ended.saturating_sub(begun))
                .sum::<u64>(),
        );
    }
    times.remove(0);
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or(0);
    Ok((median, plan))
}
