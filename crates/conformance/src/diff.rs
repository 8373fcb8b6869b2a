//! The first step of a program whose result differs between two devices.
//!
//! The program is compared window by window: the steps of a window begin, on both devices, with
//! the reference's contents, so that memory is bounded and no difference carries over. A window
//! runs with each result read right after its step, and again several times with nothing read
//! between its steps, so that order, lifetimes and segments are those of an ordinary run. A
//! difference is then made as small as it can be: the step alone from the reference's operands if
//! it is wrong there, else the fewest steps before it with which it is.

use crate::Inputs;
use crate::differences::{Unequal, unequal};
use crate::excerpt::{Contents, Excerpt, Reading, Seen, Whole, contents_after};
use crate::hold::kernels;
use crate::side::{GoOn, Refused, Side};
use cloakwork_ir::{HostSlot, HostTensor, Program, Step};
use cloakwork_run::{Against, bisect};
use cloakwork_verify::{StorageId, ValueId, Verified};
use std::ops::Range;
use std::sync::Arc;

/// The most steps of a window.
const MOST_STEPS: u32 = 1 << 14;
/// The most bytes of results that a window keeps of each device.
const MOST_BYTES: u64 = 1 << 28;

/// Options of a comparison: the devices, and how often each step runs.
pub struct Comparing {
    /// The device in question.
    pub device: Side,
    /// The device that counts as right.
    pub reference: Side,
    /// Runs of each window, and of each step that is suspected.
    pub repeat: u32,
    /// Bytes of results that a window keeps of each device.
    pub window_bytes: u64,
    /// Compare at the end also tensors that no step uses any more.
    pub keeps_all: bool,
}

impl Comparing {
    /// A comparison with the usual limits.
    #[must_use]
    pub fn new(device: Side, reference: Side) -> Self {
        Self {
            device,
            reference,
            repeat: 5,
            window_bytes: MOST_BYTES,
            keeps_all: false,
        }
    }
}

/// The bytes that differ, in terms of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The step's result.
    Result,
    /// The tensor that the step writes, outside of the view that it is given.
    BesideResult,
    /// A tensor that the step does not write; the last step that does.
    Other(u32),
}

/// The fewest steps that show a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The step alone, from the reference's operands.
    Alone,
    /// These steps together; each alone is right.
    Together {
        /// The first one.
        first: u32,
        /// The last one.
        last: u32,
    },
}

/// The first difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The step of the program as written.
    pub step: u32,
    /// Its op as written.
    pub op: String,
    /// The op of its expansion whose result differs, if it was expanded.
    pub part: Option<String>,
    /// The device's kernels that compute it; empty if the host does.
    pub kernels: Vec<String>,
    /// The segment that contains it.
    pub segment: Option<String>,
    /// The tensor that differs.
    pub name: String,
    /// The place of the difference in terms of the step.
    pub place: Place,
    /// The elements that differ; none where the run failed instead.
    pub unequal: Option<Unequal>,
    /// The error of the device, if its run failed.
    pub failed: Option<String>,
    /// Whether the device was lost by it.
    pub is_lost: bool,
    /// The fewest steps that show it.
    pub shows: Shows,
    /// The number of runs in which it was seen.
    pub wrong_runs: u32,
    /// The number of runs.
    pub runs: u32,
    /// The steps that show it, with their operands and the reference's results as data.
    pub program: Program,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The first difference.
    pub difference: Option<Difference>,
    /// Results of steps that were compared.
    pub compared: u64,
    /// Of these, floats that differ within the error that their op's declaration allows.
    pub rounded: u64,
    /// Floats that differ and are too large for the references of their ops.
    pub unjudged: u64,
    /// Windows.
    pub windows: u64,
}

/// Compares a program between two devices.
///
/// # Errors
/// The reference cannot run it, the device cannot plan it, or the caller stops.
pub fn diff(
    verified: &Arc<Verified>,
    inputs: &Inputs,
    comparing: &Comparing,
    go_on: GoOn<'_>,
) -> Result<Comparison, Refused> {
    let lowered = verified.lowered();
    let lowered = lowered.map_err(|mistake| Refused::Internal(mistake.to_string()))?;
    let whole = Whole::new(lowered, inputs, comparing.keeps_all);
    let mut search = Search {
        whole: &whole,
        comparing,
        go_on,
        done: Comparison::default(),
    };
    search.windows()?;
    Ok(search.done)
}

struct Search<'a> {
    whole: &'a Whole,
    comparing: &'a Comparing,
    go_on: GoOn<'a>,
    done: Comparison,
}

/// The outcome of comparing a window.
enum Window {
    Same(Contents),
    /// Floats differ: the steps have to be judged one by one.
    Rounded(Contents),
    Wrong(Box<Difference>),
}

/// Several runs of an excerpt on the device.
struct Trial {
    wrong: u32,
    runs: u32,
    first: Option<Sight>,
}

/// A difference in a run: the download, or the error.
#[derive(Clone)]
struct Sight {
    seen: Option<Seen>,
    unequal: Option<Unequal>,
    failed: Option<String>,
    is_lost: bool,
}

/// An excerpt and the reference's results of it.
struct Known {
    excerpt: Excerpt,
    expected: Vec<HostTensor>,
}

impl Sight {
    fn of_error(error: &Refused) -> Self {
        Self {
            seen: None,
            unequal: None,
            failed: Some(error.to_string()),
            is_lost: error.is_lost(),
        }
    }

    fn may_be_rounding(&self) -> bool {
        self.unequal
            .as_ref()
            .is_some_and(|unequal| unequal.may_be_rounding)
    }
}

impl Search<'_> {
    fn windows(&mut self) -> Result<(), Refused> {
        let (mut at, mut most) = (0, MOST_STEPS);
        let mut contents = Contents::new();
        while at < self.whole.len() {
            let steps = at..self.end_of(at, most);
            let is_one = steps.len() == 1;
            self.done.windows += 1;
            match self.window(&steps, &contents)? {
                Window::Wrong(found) => {
                    self.done.difference = Some(*found);
                    return Ok(());
                }
                // Steps are judged one by one until one agrees to the bit.
                Window::Rounded(_) if !is_one => most = 1,
                Window::Rounded(after) => (at, contents) = (steps.end, after),
                Window::Same(after) => {
                    let written = steps
                        .clone()
                        .filter(|&step| self.whole.written(step).is_some());
                    self.done.compared += written.count() as u64;
                    (at, contents) = (steps.end, after);
                    most = most.saturating_mul(2).min(MOST_STEPS);
                }
            }
        }
        Ok(())
    }

    /// The end of the window that begins at a step.
    fn end_of(&self, first: u32, most: u32) -> u32 {
        let mut bytes = 0;
        let last = first.saturating_add(most).min(self.whole.len());
        let fits = |step: &u32| {
            bytes += self.whole.written_bytes(*step);
            *step == first || bytes <= self.comparing.window_bytes
        };
        (first..last)
            .take_while(fits)
            .last()
            .map_or(first + 1, |step| step + 1)
    }

    fn window(&mut self, steps: &Range<u32>, before: &Contents) -> Result<Window, Refused> {
        let each = self.known(steps.clone(), before, Reading::Each)?;
        let after = contents_after(&each.excerpt, self.whole, &each.expected, before);
        let trial = self.trial(&each, 1)?;
        if let Some(sight) = trial.first {
            if sight.may_be_rounding() {
                return self.judged(steps, &each, before, after);
            }
            let step = sight
                .seen
                .filter(|seen| !seen.is_whole)
                .map(|seen| seen.step);
            let end = match step {
                Some(step) => step + 1,
                None => self.narrowed(steps, before, Reading::Each)?,
            };
            return self.settle(steps.start..end, before, Reading::Each);
        }
        let bare = self.known(steps.clone(), before, Reading::End)?;
        let trial = self.trial(&bare, self.comparing.repeat.max(2))?;
        if trial.wrong == 0 {
            return Ok(Window::Same(after));
        }
        let end = self.narrowed(steps, before, Reading::End)?;
        self.settle(steps.start..end, before, Reading::End)
    }

    /// Judges floats that differ by the op's own reference, if the window is one step.
    fn judged(
        &mut self,
        steps: &Range<u32>,
        known: &Known,
        before: &Contents,
        after: Contents,
    ) -> Result<Window, Refused> {
        if steps.len() > 1 {
            return Ok(Window::Rounded(after));
        }
        let mut executor = self.comparing.device.executor(&known.excerpt.verified)?;
        let go_on = &mut self.go_on;
        let held = bisect(&mut executor, &Inputs::new(), &mut |_| go_on())?;
        match held.wrong {
            None => self.done.rounded += 1,
            Some(wrong) if wrong.against == Against::PortableKernel => self.done.unjudged += 1,
            Some(_) => return self.settle(steps.clone(), before, Reading::Each),
        }
        self.done.compared += 1;
        Ok(Window::Rounded(after))
    }

    /// An excerpt, and what the reference makes of it.
    fn known(
        &mut self,
        steps: Range<u32>,
        before: &Contents,
        reading: Reading,
    ) -> Result<Known, Refused> {
        let excerpt = self.whole.excerpt(steps, before, reading);
        let excerpt = excerpt.map_err(Refused::Internal)?;
        let side = &self.comparing.reference;
        let mut executor = side.executor(&excerpt.verified)?;
        let expected = side.run(&mut executor, &Inputs::new(), self.go_on)?;
        Ok(Known { excerpt, expected })
    }

    /// Runs an excerpt on the device, several times by one executor.
    fn trial(&mut self, known: &Known, runs: u32) -> Result<Trial, Refused> {
        let side = &self.comparing.device;
        let mut trial = Trial {
            wrong: 0,
            runs: 0,
            first: None,
        };
        let mut executor = None;
        while trial.runs < runs {
            trial.runs += 1;
            let own = match executor.take() {
                Some(own) => Ok(own),
                None => side.executor(&known.excerpt.verified),
            };
            let got = own.and_then(|mut own| {
                let got = side.run(&mut own, &Inputs::new(), self.go_on)?;
                executor = Some(own);
                Ok(got)
            });
            let sight = match got {
                Ok(got) => sight(known, &got),
                Err(error) if error.is_of_device() => Some(Sight::of_error(&error)),
                Err(error) => return Err(error),
            };
            let is_lost = sight.as_ref().is_some_and(|sight| sight.is_lost);
            trial.wrong += u32::from(sight.is_some());
            trial.first = trial.first.or(sight);
            if is_lost {
                // Another run costs a process, and says no more.
                trial
                    .first
                    .iter_mut()
                    .for_each(|first| first.is_lost = true);
                break;
            }
        }
        Ok(trial)
    }

    /// The least end with which the steps from the window's start on differ: it is known that they
    /// do with the window's own.
    fn narrowed(
        &mut self,
        steps: &Range<u32>,
        before: &Contents,
        reading: Reading,
    ) -> Result<u32, Refused> {
        let (mut right, mut wrong) = (steps.start, steps.end);
        while wrong - right > 1 {
            let middle = right + (wrong - right) / 2;
            let known = self.known(steps.start..middle, before, reading)?;
            let trial = self.trial(&known, self.comparing.repeat.max(2))?;
            match trial.wrong {
                0 => right = middle,
                _ => wrong = middle,
            }
        }
        Ok(wrong)
    }

    /// The contents before a step of the window.
    fn contents_at(&mut self, steps: Range<u32>, before: &Contents) -> Result<Contents, Refused> {
        if steps.is_empty() {
            return Ok(before.clone());
        }
        let known = self.known(steps, before, Reading::End)?;
        Ok(contents_after(
            &known.excerpt,
            self.whole,
            &known.expected,
            before,
        ))
    }

    /// Says what is wrong: the last of these steps, or all of them together.
    fn settle(
        &mut self,
        steps: Range<u32>,
        before: &Contents,
        reading: Reading,
    ) -> Result<Window, Refused> {
        let last = steps.end - 1;
        let runs = self.comparing.repeat.max(2);
        let own = self.contents_at(steps.start..last, before)?;
        let alone = self.known(last..steps.end, &own, Reading::Each)?;
        let trial = self.trial(&alone, runs)?;
        if trial.first.is_some() {
            return Ok(self.wrong(last..steps.end, Shows::Alone, (trial, alone)));
        }
        let mut back = 1;
        loop {
            let first = last.saturating_sub(back).max(steps.start);
            let own = self.contents_at(steps.start..first, before)?;
            let known = self.known(first..steps.end, &own, reading)?;
            let trial = self.trial(&known, runs)?;
            let is_all = first == steps.start;
            if trial.first.is_some() || is_all {
                return Ok(self.wrong(
                    first..steps.end,
                    Shows::Together { first, last },
                    (trial, known),
                ));
            }
            back *= 2;
        }
    }

    fn wrong(&self, steps: Range<u32>, shows: Shows, (trial, known): (Trial, Known)) -> Window {
        let whole = self.whole;
        let verified = &whole.verified;
        let last = steps.end - 1;
        let sight = trial.first;
        let seen = sight.as_ref().and_then(|sight| sight.seen);
        let step = seen
            .filter(|seen| !seen.is_whole)
            .map_or(last, |seen| seen.step);
        let storage = |seen: Seen| verified.value(seen.value).map(|info| info.storage);
        let place = match seen {
            Some(seen) if seen.is_whole => self.place_of(step, storage(seen), &sight),
            _ => Place::Result,
        };
        let value = seen.map(|seen| seen.value).or(whole.written(step));
        let info = value.and_then(|value| verified.value(value));
        let name = info.map_or("", |info| verified.program().symbol_name(info.name));
        let number = |step: u32| whole.number(step);
        let (op, part) = whole.ops(step);
        let segment = verified.segment_of(step);
        Window::Wrong(Box::new(Difference {
            step: number(step),
            op,
            part,
            kernels: self.kernels(step, (shows, &known)),
            segment: segment.map(|text| verified.program().text_name(text).to_owned()),
            name: name.to_owned(),
            place: match place {
                Place::Other(writer) => Place::Other(number(writer)),
                place => place,
            },
            unequal: sight.as_ref().and_then(|sight| sight.unequal.clone()),
            is_lost: sight.as_ref().is_some_and(|sight| sight.is_lost),
            failed: sight.and_then(|sight| sight.failed),
            shows: match shows {
                Shows::Together { first, last } => Shows::Together {
                    first: number(first),
                    last: number(last),
                },
                Shows::Alone => Shows::Alone,
            },
            wrong_runs: trial.wrong,
            runs: trial.runs,
            program: with_expected(&known),
        }))
    }

    /// The place of a difference of a whole storage, in terms of a step.
    fn place_of(&self, step: u32, storage: Option<StorageId>, sight: &Option<Sight>) -> Place {
        let written = self.whole.written(step);
        let info = written.and_then(|value| self.whole.verified.value(value));
        let (Some(info), Some(storage)) = (info, storage) else {
            return Place::Result;
        };
        if info.storage != storage {
            return Place::Other(self.whole.writer(storage, step));
        }
        let root = self.whole.verified.storage(storage).map(|info| &info.root);
        let index = sight.as_ref().and_then(|sight| sight.unequal.as_ref());
        let index = index.map(|unequal| unequal.index.as_slice());
        let (Some(root), Some(index)) = (root, index) else {
            return Place::Result;
        };
        let at: i64 = index
            .iter()
            .zip(&root.strides)
            .map(|(&i, &stride)| i as i64 * stride)
            .sum();
        match info.view.offsets().any(|offset| offset == at) {
            true => Place::Result,
            false => Place::BesideResult,
        }
    }

    /// The device's kernels for a step: those of its excerpt, if that is the step alone.
    fn kernels(&self, step: u32, (shows, known): (Shows, &Known)) -> Vec<String> {
        let is_alone = shows == Shows::Alone;
        let program = match is_alone {
            true => &known.excerpt.verified,
            false => &self.whole.verified,
        };
        let device = &self.comparing.device;
        let Ok(plan) = device.plan(program) else {
            return Vec::new();
        };
        let number = self.whole.number(step);
        let found = kernels(&plan, device, |own| {
            is_alone || plan.program_step(own) == number
        });
        found.into_keys().map(str::to_owned).collect()
    }
}

impl Whole {
    /// A difference in a value that a step writes, if all of the program is needed to see it.
    pub fn difference(
        &self,
        step: u32,
        value: ValueId,
        (unequal, (wrong_runs, runs)): (Unequal, (u32, u32)),
    ) -> Difference {
        let program = self.verified.program();
        let info = self.verified.value(value);
        let segment = self.verified.segment_of(step);
        let (op, part) = self.ops(step);
        Difference {
            step: self.number(step),
            op,
            part,
            kernels: Vec::new(),
            segment: segment.map(|text| program.text_name(text).to_owned()),
            name: info
                .map_or("", |info| program.symbol_name(info.name))
                .to_owned(),
            place: Place::Result,
            unequal: Some(unequal),
            failed: None,
            is_lost: false,
            shows: Shows::Together {
                first: 0,
                last: self.number(self.len().saturating_sub(1)),
            },
            wrong_runs,
            runs,
            program: Program::clone(program),
        }
    }

    /// The step of the program as written.
    fn number(&self, step: u32) -> u32 {
        let origins = self.verified.origins();
        origins
            .and_then(|all| all.get(step as usize).copied())
            .unwrap_or(step)
    }

    /// The op of a step as written, and that of its expansion if it is another.
    fn ops(&self, step: u32) -> (String, Option<String>) {
        let own = op_name(self.verified.program(), step);
        let op = op_name(self.verified.source(), self.number(step));
        let part = (op != own).then_some(own);
        (op, part)
    }
}

/// The first download that differs from the reference's.
fn sight(known: &Known, got: &[HostTensor]) -> Option<Sight> {
    let pairs = got.iter().zip(&known.expected).zip(&known.excerpt.seen);
    let found = pairs.filter_map(|((got, expected), seen)| Some((unequal(got, expected)?, *seen)));
    found
        .map(|(unequal, seen)| Sight {
            seen: Some(seen),
            unequal: Some(unequal),
            failed: None,
            is_lost: false,
        })
        .next()
}

/// An excerpt that expects the reference's results.
fn with_expected(known: &Known) -> Program {
    let mut program = Program::clone(known.excerpt.verified.program());
    let outputs = program
        .hosts
        .iter_mut()
        .filter(|slot| matches!(slot, HostSlot::Output { .. }));
    for (slot, expected) in outputs.zip(&known.expected) {
        *slot = HostSlot::Data(expected.clone().sound());
    }
    program
}

/// The op that a step calls.
pub fn op_name(program: &Program, step: u32) -> String {
    match program.steps.get(step as usize) {
        Some(Step::Op(op)) => program.text_name(op.name).to_owned(),
        _ => String::new(),
    }
}
