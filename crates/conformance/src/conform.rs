//! All ops that a device claims, held to their references.
//!
//! Calls follow from declarations and a seed. Each round tries every op once in a style: small
//! tensors, edge values, strides, then sizes around the widths of vectors and tiles. An op counts
//! as claimed once a plan launches one of the device's kernels for it. After the first rounds each
//! kernel is launched at every size of a list. Random programs of many steps follow, whose order
//! only waits and segments keep.

use crate::Inputs;
use crate::calls::Style;
use crate::effort::Effort;
use crate::generators::{generate, generate_styled};
use crate::hold::{Failure, Held, Holding, kernels};
use crate::inputs::inputs;
use crate::rows::Rows;
use crate::shrink;
use crate::side::{Refused, Side};
use crate::sizes::Sizes;
use crate::source::Source;
use crate::speed::{self, Speed};
use cloakwork_ir::{DType, Device};
use cloakwork_ops::custom::registered;
use cloakwork_ops::{ALL, Body, OpDef, Reference as OpReference};
use cloakwork_verify::{Verified, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sizes of last axes, in the order of rounds.
const SIZES: [u64; 40] = [
    1000, 17, 64, 257, 4096, 33, 1024, 65, 1, 512, 1023, 129, 16, 8, 2048, 1025, 100, 31, 256, 7,
    8192, 513, 63, 5, 128, 4095, 32, 255, 9, 511, 4097, 127, 3, 15, 2047, 2049, 500, 16384, 10000,
    65536,
];
/// Rounds before those with sizes.
const STYLES: usize = 4;
/// Rounds after which an op that ran nothing on the device is one that it does not claim.
const PROBES: usize = 3;
/// An op of which a case takes longer is tried with small tensors from then on.
const SLOW: Duration = Duration::from_millis(500);
/// An op that takes longer to time with a few elements is not timed with a thousand times as many.
const SLOW_SMALL: Duration = Duration::from_millis(50);
/// Searches for a call of an op in each round.
const ATTEMPTS: u64 = 8;
/// Random programs in a round.
const PROGRAMS: u64 = 4;

/// Options of a conformance run: the devices, the ops, and the limits.
pub struct Trying<'a> {
    /// The device in question.
    pub device: Side,
    /// The host.
    pub host: Side,
    /// Every choice follows from it.
    pub seed: u64,
    /// These ops; all if there are none here.
    pub ops: BTreeSet<String>,
    /// Rounds at most.
    pub rounds: usize,
    /// No case begins after so long.
    pub budget: Duration,
    /// Whether calls are timed, too.
    pub speed: bool,
    /// Called before each case with what is done; returns whether to continue.
    pub progress: &'a mut dyn FnMut(Progress) -> bool,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The round, and how many there are.
    pub round: (usize, usize),
    /// Cases so far.
    pub cases: u64,
    /// The op that is next; none for random programs.
    pub op: Option<&'static str>,
}

/// The outcome for one op.
#[derive(Clone, Debug)]
pub struct OpHeld {
    /// The op.
    pub def: &'static OpDef,
    /// Cases that ran on the device.
    pub cases: u64,
    /// Results that were compared with its reference, or those of its expansion.
    pub by_reference: u64,
    /// Results that were compared with portable kernels.
    pub by_portable: u64,
    /// Cases whose contents the op does not accept.
    pub refused: u64,
    /// Launches by kernel.
    pub kernels: BTreeMap<&'static str, u64>,
    /// The first wrong call, as small as it could be made.
    pub failure: Option<Failure>,
    /// Times, at a small and a large size.
    pub speeds: Vec<Speed>,
    /// Whether a case took so long that only small ones follow.
    is_slow: bool,
    /// In how many rounds a call of it was looked for.
    probes: usize,
}

/// The outcome for a device.
#[derive(Debug, Default)]
pub struct Conformance {
    /// The ops of which calls ran on the device.
    pub ops: Vec<OpHeld>,
    /// Ops with no call on the device.
    pub unclaimed: Vec<&'static str>,
    /// Ops of which the budget ended the search for a call on the device.
    pub untried: Vec<&'static str>,
    /// Kernels of the device that no call reached.
    pub unreached: Vec<String>,
    /// Kernels that are never chosen, as others for the same types are preferred.
    pub shadowed: Vec<String>,
    /// At how many sizes the kernels were tried.
    pub sizes: Sizes,
    /// Random programs that ran, and their first failure.
    pub programs: u64,
    /// Results in these.
    pub program_steps: u64,
    /// The first random program that is computed wrongly.
    pub program_failure: Option<Failure>,
    /// Rounds that were completed.
    pub rounds: usize,
    /// Whether the budget ended it before its last round.
    pub is_cut: bool,
}

/// The ops that can be held to a reference; a vendor's to its expansion.
pub fn ops_held() -> impl Iterator<Item = &'static OpDef> {
    let all = ALL.iter().copied().chain(registered());
    all.filter(|def| match &def.body {
        Body::Kernel(body) => !matches!(body.reference, OpReference::Callers),
        Body::Expand(_) => true,
        _ => false,
    })
}

/// Holds a device to the references of all ops that it claims.
///
/// # Errors
/// The device cannot be opened or planned for, or the caller stops.
pub fn conform(trying: &mut Trying<'_>) -> Result<Conformance, Refused> {
    let rows = Rows::of(&trying.device);
    // Of other vendors' ops the device would run expansions, whose ops are tried anyway.
    let is_its_own = |def: &OpDef| def.custom().is_none() || rows.has(def.name);
    let wanted = |def: &&OpDef| match trying.ops.is_empty() {
        true => is_its_own(def),
        false => trying.ops.contains(def.name),
    };
    let ops: Vec<OpHeld> = ops_held().filter(wanted).map(OpHeld::new).collect();
    let mut run = Run {
        dtypes: rows.dtypes(),
        rows,
        ops,
        found: Conformance::default(),
        begun: Instant::now(),
        cases: 0,
        round: 0,
        trying,
    };
    run.rounds()?;
    run.speeds()?;
    let (mut found, ops) = (run.found, run.ops);
    let probes = PROBES.min(trying.rounds);
    if trying.ops.is_empty() {
        let reached = ops.iter().flat_map(|op| op.kernels.keys().copied());
        let rows = Rows::of(&trying.device);
        (found.unreached, found.shadowed) = rows.left(&reached.collect());
    }
    let (claimed, others): (Vec<_>, Vec<_>) = ops.into_iter().partition(|op| op.cases > 0);
    let (unclaimed, untried): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|op| op.probes >= probes);
    let names = |ops: Vec<OpHeld>| ops.into_iter().map(|op| op.def.name).collect();
    (found.ops, found.unclaimed, found.untried) = (claimed, names(unclaimed), names(untried));
    Ok(found)
}

impl OpHeld {
    fn new(def: &'static OpDef) -> Self {
        Self {
            def,
            cases: 0,
            by_reference: 0,
            by_portable: 0,
            refused: 0,
            kernels: BTreeMap::new(),
            failure: None,
            speeds: Vec::new(),
            is_slow: false,
            probes: 0,
        }
    }

    /// Whether some call of it launched a kernel of a name.
    pub(crate) fn names(&self, kernel: &str) -> bool {
        let mut symbols = self.kernels.keys();
        symbols.any(|symbol| {
            symbol
                .strip_prefix(kernel)
                .is_some_and(|rest| rest.starts_with('_'))
        })
    }

    pub(crate) fn add(&mut self, held: Held) {
        if held.kernels.is_empty() {
            return;
        }
        self.cases += 1;
        self.by_reference += held.by_reference;
        self.by_portable += held.by_portable;
        self.refused += u64::from(held.refused);
        for (kernel, count) in held.kernels {
            *self.kernels.entry(kernel).or_default() += count;
        }
        self.failure = self.failure.take().or(held.failure);
    }
}

pub(crate) struct Run<'a, 'b> {
    pub(crate) trying: &'a mut Trying<'b>,
    dtypes: Vec<DType>,
    pub(crate) rows: Rows,
    pub(crate) ops: Vec<OpHeld>,
    pub(crate) found: Conformance,
    pub(crate) begun: Instant,
    cases: u64,
    round: usize,
}

impl Run<'_, '_> {
    fn is_over(&self) -> bool {
        self.begun.elapsed() >= self.trying.budget
    }

    fn rounds(&mut self) -> Result<(), Refused> {
        for round in 0..self.trying.rounds {
            self.round = round;
            for index in 0..self.ops.len() {
                let op = &self.ops[index];
                let is_done = op.failure.is_some() || (round >= PROBES && op.cases == 0);
                if is_done {
                    continue;
                }
                if self.is_over() {
                    self.found.is_cut = true;
                    return Ok(());
                }
                let (def, op_is_slow) = (op.def, op.is_slow);
                self.go_on(Some(def.name))?;
                let effort = Effort::begin();
                let held = self.call(def, op_is_slow)?;
                let op = &mut self.ops[index];
                held.into_iter().for_each(|held| op.add(held));
                op.is_slow |= effort.exceeds(SLOW);
                op.probes += 1;
            }
            if round + 1 == PROBES {
                self.reach()?;
                self.every_size()?;
            }
            self.programs()?;
            self.found.rounds = round + 1;
        }
        Ok(())
    }

    /// Tries, for each kernel that no call reached, the ops of its name on its types.
    fn reach(&mut self) -> Result<(), Refused> {
        for (number, row) in (0..).zip(self.rows.chosen()) {
            let is_reached = self
                .ops
                .iter()
                .any(|op| op.kernels.contains_key(row.symbol));
            if is_reached {
                continue;
            }
            let named = |op: &OpHeld| op.failure.is_none() && !op.is_slow && op.names(row.kernel);
            let Some(index) = self.ops.iter().position(named) else {
                continue;
            };
            let dtypes = Rows::types_of(row);
            for attempt in 0..2 {
                if self.is_over() {
                    return Ok(());
                }
                let def = self.ops[index].def;
                self.go_on(Some(def.name))?;
                let style = Style {
                    edges: attempt == 0,
                    dtypes: &dtypes,
                    ..Style::default()
                };
                let held = self.tried(def, style, self.seed(number << 24 | attempt))?;
                let is_reached = held.kernels.contains_key(row.symbol);
                self.ops[index].add(held);
                if is_reached {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Says how far it is.
    pub(crate) fn go_on(&mut self, op: Option<&'static str>) -> Result<(), Refused> {
        let progress = Progress {
            round: (self.round, self.trying.rounds),
            cases: self.cases,
            op,
        };
        self.cases += 1;
        match (self.trying.progress)(progress) {
            true => Ok(()),
            false => Err(cloakwork_run::RunError::Interrupted { step: 0 }.into()),
        }
    }

    pub(crate) fn seed(&self, number: u64) -> u64 {
        let mut source = Source::from_seed(self.trying.seed ^ ((self.round as u64) << 32 | number));
        source.word()
    }

    /// The tensors of a round.
    fn style(&self) -> Style<'static> {
        let round = self.round;
        Style {
            edges: round % 2 == 1 || round >= STYLES,
            strided: round >= 2 && round % 3 != 1,
            size: round.checked_sub(STYLES).map(|at| SIZES[at % SIZES.len()]),
            ..Style::default()
        }
    }

    /// Tries an op in the style of this round: twice where strides are odd, as there are many ways,
    /// and where it has a size also with just as many elements, as faults may depend on that.
    fn call(&mut self, def: &'static OpDef, is_slow: bool) -> Result<Vec<Held>, Refused> {
        let number = ALL.iter().position(|own| own.name == def.name);
        let number = number.unwrap_or(ALL.len()) as u64;
        let dtypes = match self.round {
            0 => Vec::new(),
            _ => self.dtypes.clone(),
        };
        let style = self.style();
        let style = Style {
            size: style.size.filter(|_| !is_slow),
            dtypes: &dtypes,
            ..style
        };
        let flat = Style {
            flat: true,
            strided: false,
            ..style
        };
        let again = [
            (style.strided, style, 1 << 16),
            (style.size.is_some(), flat, 1 << 17),
        ];
        let mut all = vec![self.tried(def, style, self.seed(number))?];
        for (is_wanted, style, other) in again {
            if is_wanted && all.iter().all(|held| held.failure.is_none()) {
                all.push(self.tried(def, style, self.seed(other | number))?);
            }
        }
        Ok(all)
    }

    /// Tries an op once in a style, or without odd strides if there is no such call.
    fn tried(&mut self, def: &'static OpDef, style: Style<'_>, seed: u64) -> Result<Held, Refused> {
        let plain = Style {
            strided: false,
            ..style
        };
        let mut made = None;
        for attempt in 0..ATTEMPTS {
            let style = if attempt % 2 == 0 { style } else { plain };
            let mut source = Source::from_seed(seed.wrapping_add(attempt / 2));
            let program = generate_styled(&mut source, def, style, 1);
            let Some(found) = verified(program).filter(|verified| calls(verified, def)) else {
                continue;
            };
            if !self.has_meaning(def, &found) {
                continue;
            }
            let plan = self.trying.device.plan(&found)?;
            if !kernels(&plan, &self.trying.device, |_| true).is_empty() {
                made = Some(found);
                break;
            }
        }
        let Some(verified) = made else {
            return Ok(Held::default());
        };
        let given = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
        let mut held = self.held(&verified, &given, false)?;
        if let Some(failure) = held.failure.take() {
            held.failure = Some(self.smallest(failure)?);
        }
        Ok(held)
    }

    /// Whether the host runs a program that calls an op: the expansion of a vendor's op need not be
    /// written for all shapes that its declaration takes.
    pub(crate) fn has_meaning(&self, def: &OpDef, verified: &Arc<Verified>) -> bool {
        def.custom().is_none() || self.trying.host.plan(verified).is_ok()
    }

    pub(crate) fn held(
        &mut self,
        verified: &Arc<Verified>,
        given: &Inputs,
        at_once: bool,
    ) -> Result<Held, Refused> {
        let holding = Holding {
            device: &self.trying.device,
            reference: &self.trying.host,
            repeat: 3,
            at_once,
        };
        holding.hold(verified, given, &mut || true)
    }

    /// The same failure in a call as small as possible.
    pub(crate) fn smallest(&mut self, failure: Failure) -> Result<Failure, Refused> {
        let program = failure.difference.program.clone();
        let mut smallest = failure;
        let repeat = match smallest.difference.wrong_runs < smallest.difference.runs {
            true => 8,
            false => 2,
        };
        let holding = Holding {
            device: &self.trying.device,
            reference: &self.trying.host,
            repeat,
            at_once: false,
        };
        let mut found = None;
        let mut fails = |verified: &Arc<Verified>| {
            let held = holding.hold(verified, &Inputs::new(), &mut || true);
            let failure = held.ok().and_then(|held| held.failure);
            let is_wrong = failure.is_some();
            found = failure.or(found.take());
            is_wrong
        };
        let attempts = match smallest.difference.is_lost {
            true => shrink::ATTEMPTS_OF_PROCESSES,
            false => shrink::ATTEMPTS,
        };
        let program = shrink::shrunk(program, attempts, &mut fails);
        let Some(found) = found else {
            return Ok(smallest);
        };
        smallest = Failure {
            difference: crate::Difference {
                program,
                segment: None,
                ..found.difference
            },
            ..found
        };
        Ok(smallest)
    }

    /// Tries random programs, also by two executors at once.
    fn programs(&mut self) -> Result<(), Refused> {
        for number in 0..PROGRAMS {
            if self.is_over() || self.found.program_failure.is_some() {
                return Ok(());
            }
            if !self.trying.ops.is_empty() {
                return Ok(());
            }
            self.go_on(None)?;
            let mut source = Source::from_seed(self.seed(1 << 20 | number));
            let Some(verified) = verified(generate(&mut source)) else {
                continue;
            };
            if !names_no_device(&verified) {
                continue;
            }
            let given = inputs(verified.program(), |i| (i as i64 * 7) % 23 - 5);
            let held = self.held(&verified, &given, true)?;
            if held.kernels.is_empty() {
                continue;
            }
            self.found.programs += 1;
            self.found.program_steps += held.by_reference + held.by_portable;
            self.found.program_failure = held.failure;
        }
        Ok(())
    }

    /// Times each op that is right, as long as there is time.
    fn speeds(&mut self) -> Result<(), Refused> {
        if !self.trying.speed {
            return Ok(());
        }
        for index in 0..self.ops.len() {
            let op = &self.ops[index];
            if op.cases == 0 || op.failure.is_some() || op.is_slow {
                continue;
            }
            let def = op.def;
            for size in speed::SIZES {
                if self.begun.elapsed() >= self.trying.budget * 3 / 2 {
                    return Ok(());
                }
                let style = Style {
                    size: Some(size),
                    dtypes: &self.dtypes,
                    ..Style::default()
                };
                let sides = (&self.trying.device, &self.trying.host);
                let effort = Effort::begin();
                let measured = speed::measured(def, style, sides, self.trying.seed)?;
                self.ops[index].speeds.extend(measured);
                // Points of curves, for one, take minutes to make for a large call.
                if effort.exceeds(SLOW_SMALL) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether a program calls an op.
fn calls(verified: &Verified, def: &'static OpDef) -> bool {
    let mut actions = verified.actions().iter();
    actions.any(|(_, action)| action.call().is_some_and(|call| call.def.name == def.name))
}

/// A program that names no device but disks can run on any.
fn names_no_device(verified: &Verified) -> bool {
    let mut storages = verified.storages().iter();
    storages.all(|storage| matches!(storage.device, Device::Cpu | Device::Disk(_)))
}

/// The meaning of a generated program; none if it has errors.
pub(crate) fn verified(program: cloakwork_ir::Program) -> Option<Arc<Verified>> {
    verify(Arc::new(program)).verified.map(Arc::new)
}
