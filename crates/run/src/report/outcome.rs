//! The outcome of a run.

use crate::OnDevice;
use cloakwork_ir::{DType, HostTensor, Shape, read_word, shortened};
use cloakwork_kernels::Difference;
use cloakwork_plan::{Download, Plan};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of planned steps done.
    pub done: usize,
    /// Number of planned steps.
    pub total: usize,
}

/// One result.
#[derive(Clone, Debug)]
pub struct Output {
    /// The output's name, if the program names it.
    pub name: Option<String>,
    /// The program's step that downloads it.
    pub step: u32,
    /// The elements.
    pub tensor: HostTensor,
}

/// A download that differs from the value that the program expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The program's step.
    pub step: u32,
    /// The segment that contains it.
    pub segment: Option<String>,
    /// The tensor's name.
    pub name: String,
    /// The op that last wrote it, with its step.
    pub written_by: Option<(u32, String)>,
    /// Whether shape and dtype are as expected. If not, `got` and `expected` are types.
    pub same_type: bool,
    /// Index of the first element that differs; empty if the types differ.
    pub index: Vec<u64>,
    /// The computed element, or type.
    pub got: String,
    /// The expected element, or type.
    pub expected: String,
    /// Number of elements that differ.
    pub different: u64,
    /// Number of elements.
    pub total: u64,
}

impl Mismatch {
    pub(crate) fn new(
        plan: &Plan,
        (index, download): (usize, &Download),
        difference: &Difference,
        got: &[u8],
        expected: &HostTensor,
    ) -> Self {
        let program = plan.verified.program();
        let origin = download.origin;
        let (name, written_by) = crate::report::names::downloaded(plan, index);
        let dtype = download.ty.dtype;
        let size = dtype.size_bytes();
        let first = difference.first as usize;
        let own = got.get(first * size..(first + 1) * size);
        let segment = plan.verified.segment_of(origin);
        let same_type = expected.ty() == download.ty;
        let (index, got, expected) = if same_type {
            let wanted = crate::report::names::element(expected, difference.first);
            let show = |element: Option<&[u8]>| show_element(dtype, element.unwrap_or(&[]));
            (
                unravel(difference.first, &download.ty.shape),
                show(own),
                show(wanted),
            )
        } else {
            (
                Vec::new(),
                download.ty.to_string(),
                expected.ty().to_string(),
            )
        };
        Self {
            step: plan.program_step(origin),
            segment: segment.map(|text| shortened(program.text_name(text))),
            name,
            written_by,
            same_type,
            index,
            got,
            expected,
            different: difference.count,
            total: download.ty.shape.elements(),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: device_to_host %{}", self.step, self.name)?;
        if let Some(segment) = &self.segment {
            write!(f, " in segment \"{segment}\"")?;
        }
        if self.same_type {
            let (different, total) = (self.different, self.total);
            write!(
                f,
                ": {different} of {total} elements differ, first at {:?}",
                self.index
            )?;
        } else {
            f.write_str(": another shape or dtype")?;
        }
        write!(f, ": expected {}, got {}", self.expected, self.got)?;
        if let Some((step, op)) = &self.written_by {
            write!(f, "; last written by {op} in step {step}")?;
        }
        Ok(())
    }
}

/// An element as text; a complex one as its parts.
fn show_element(dtype: DType, element: &[u8]) -> String {
    let component = dtype.component();
    let parts = element.chunks_exact(component.size_bytes());
    let mut shown = parts.map(|part| show_word(component, read_word(component, part)));
    match (shown.next(), shown.next()) {
        (Some(real), Some(imaginary)) => format!("({real}, {imaginary})"),
        (real, _) => real.unwrap_or_default(),
    }
}

/// A 64-bit word, shown as an element of its dtype.
#[must_use]
pub fn show_word(dtype: DType, word: i64) -> String {
    match dtype {
        DType::F32 => f32::from_bits(word as u32).to_string(),
        DType::F64 => f64::from_bits(word as u64).to_string(),
        DType::U64 => (word as u64).to_string(),
        _ => word.to_string(),
    }
}

/// The index of an element, from its row-major position.
#[must_use]
pub fn unravel(flat: u64, shape: &Shape) -> Vec<u64> {
    let mut rest = flat;
    let mut index: Vec<u64> = shape
        .dims()
        .iter()
        .rev()
        .map(|&dim| {
            let digit = rest % dim.max(1);
            rest /= dim.max(1);
            digit
        })
        .collect();
    index.reverse();
    index
}

/// Start and end of a step, and the worker that began it: 0 is the calling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// In nanoseconds from the run's start.
    pub begun_ns: u64,
    /// In nanoseconds from the run's start.
    pub ended_ns: u64,
    /// The worker.
    pub worker: u32,
}

/// Time that a worker spent on pieces of a step that another worker began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Help {
    /// The planned step; for a fusion, its first one.
    pub step: u32,
    /// The worker.
    pub worker: u32,
    /// In nanoseconds from the run's start.
    pub begun_ns: u64,
    /// In nanoseconds from the run's start.
    pub ended_ns: u64,
}

/// Times of steps, in nanoseconds from the run's start.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// End of each step, if they ran in order.
    ends_ns: Vec<u64>,
    /// Span of each step, if they ran side by side.
    spans: Vec<Span>,
    /// Time that workers spent on steps of other workers.
    helps: Vec<Help>,
}

impl Profile {
    /// The profile of steps that ran in order.
    pub(crate) fn in_order(ends_ns: Vec<u64>) -> Self {
        Self {
            ends_ns,
            ..Self::default()
        }
    }

    /// The profile of steps that ran side by side. On entry, only the first step of a fusion has a
    /// span.
    pub(crate) fn apart(plan: &Plan, mut spans: Vec<Span>, helps: Vec<Help>) -> Self {
        for fusion in &plan.fusions {
            let first = spans[fusion.first as usize];
            let mut ends_ns = Vec::new();
            let steps = fusion.first as usize..fusion.end as usize;
            share(plan, steps, (first.begun_ns, first.ended_ns), &mut ends_ns);
            let mut begun_ns = first.begun_ns;
            for (span, ended_ns) in spans[fusion.first as usize..].iter_mut().zip(ends_ns) {
                *span = Span {
                    begun_ns,
                    ended_ns,
                    worker: first.worker,
                };
                begun_ns = ended_ns;
            }
        }
        Self {
            ends_ns: Vec::new(),
            spans,
            helps,
        }
    }

    /// The worker that began a step: 0 is the calling thread.
    #[must_use]
    pub fn worker(&self, step: usize) -> u32 {
        self.spans.get(step).map_or(0, |span| span.worker)
    }

    /// Time that workers spent on steps of other workers, in no order.
    #[must_use]
    pub fn helps(&self) -> &[Help] {
        &self.helps
    }

    /// Start and end of a step.
    #[must_use]
    pub fn span_ns(&self, step: usize) -> (u64, u64) {
        if let Some(span) = self.spans.get(step) {
            return (span.begun_ns, span.ended_ns);
        }
        let end = self.ends_ns.get(step).copied().unwrap_or(0);
        let before = step
            .checked_sub(1)
            .and_then(|previous| self.ends_ns.get(previous));
        (before.copied().unwrap_or(0), end)
    }
}

/// End times of steps that ran together, as a fusion or a segment: each gets a share by weight.
pub(crate) fn share(
    plan: &Plan,
    steps: Range<usize>,
    (begun, ended): (u64, u64),
    ends_ns: &mut Vec<u64>,
) {
    let members = &plan.steps[steps];
    let weights = members.iter().map(|step| u64::from(step.weight).max(1));
    let total: u64 = weights.clone().sum();
    let mut done = 0;
    for weight in weights {
        done += weight;
        let part = u128::from(ended - begun) * u128::from(done) / u128::from(total);
        ends_ns.push(begun + part as u64);
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// All downloads, in order.
    pub outputs: Vec<Output>,
    /// All downloads, if a device keeps them: then there are no `outputs`.
    pub kept: Vec<Arc<OnDevice>>,
    /// Downloads that differ from the expected values; empty without verification.
    pub mismatches: Vec<Mismatch>,
    /// Times of steps, if requested.
    pub profile: Option<Profile>,
    /// From the first step to the last.
    pub wall_ns: u64,
    /// Number of threads that took part.
    pub threads: usize,
}
