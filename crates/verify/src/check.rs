//! The pass over the steps.

use crate::known::{Copies, Draws, Heads};
use crate::names::{Name, Names};
use crate::region::Region;
use crate::report::Issue;
use crate::reprs::Reprs;
use crate::spelling::{Site, Spelling, Spellings};
use crate::threads::{Linear, linearize};
use crate::values::Values;
use crate::{Action, Call, MAX_FINDINGS, Mistake, StorageId, ValueId, Verification, Verified};
use cloakwork_ir::{
    Arg, Finding, HostId, Op, Program, Severity, Step, Symbol, Text, Type, View, shortened,
};
use cloakwork_ops::{Code, FormError, VENDORS_OP};
use cloakwork_process::Once;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// More steps than this are refused: step and value numbers are 32 bits wide.
const MAX_STEPS: usize = 1 << 30;

/// State of the checker while it reads the program.
pub(crate) struct Checker<'p> {
    pub program: &'p Program,
    pub names: Names,
    pub values: Values,
    pub actions: Vec<(u32, Action)>,
    pub segments: Vec<(u32, Option<Text>)>,
    /// The segments around the step at hand, outermost first, with the steps that began them.
    open: Vec<(Text, u32)>,
    pub findings: Vec<Finding>,
    pub has_error: bool,
    /// The number of findings, kept or not.
    pub found: HashMap<Severity, usize>,
    /// Whether warnings are dropped: those of the source were reported.
    pub errors_only: bool,
    pub spellings: Spellings,
    /// Values whose contents were looked at: by declaration, index of the demand and its bound.
    pub checked: FxHashSet<(usize, usize, i64, ValueId)>,
    /// The same for large ones, by what is seen of which storage.
    pub checked_large: HashSet<(usize, usize, i64, StorageId, View)>,
    /// The program's tensors whose elements were looked at.
    pub looked_at: FxHashSet<HostId>,
    /// Storages about which an unwritten read was reported.
    pub read_unwritten: FxHashSet<StorageId>,
    /// In a program of several threads, the elements of each storage that something wrote.
    pub regions: FxHashMap<StorageId, Region>,
    /// Reads of unwritten memory, reported at the end: a missing order is reported instead.
    pub unwritten: Vec<(StorageId, u32, Issue)>,
    /// Storages about which an error was told, or might have been: no further word is due.
    pub doubtful: FxHashSet<StorageId>,
    /// Whether threads, events and streams are as they should be. Where not, what is out of order
    /// follows from that.
    pub sound: bool,
    /// The first definition of each register, found when it is asked for.
    pub definitions: OnceCell<FxHashMap<Symbol, u32>>,
    pub reprs: Reprs,
    pub heads: Heads,
    pub copies: Copies,
    pub draws: Draws<'p>,
    pub inputs: HashMap<&'p str, &'p Type>,
    pub outputs: HashMap<&'p str, u32>,
    /// The step at hand.
    pub step: u32,
}

/// Makes sense of a program, or says everything that is wrong with it.
#[must_use]
pub fn verify(program: Arc<Program>) -> Verification {
    if program.threads.is_none() {
        return verify_thread(program);
    }
    let Verification { findings, verified } = verify_thread(Arc::clone(&program));
    // Without a known happens-before relation, steps cannot be ordered.
    let unsure = program.threads.as_ref().is_some_and(|t| t.unsure);
    if verified.is_none() || unsure {
        return Verification {
            findings,
            verified: verified.filter(|_| !unsure),
        };
    }
    let Linear {
        program: linear,
        origins,
    } = linearize(&program);
    let Verification {
        findings: more,
        verified,
    } = verify_thread(Arc::new(linear));
    let verified = verified.map(|verified| Verified {
        source: Some((program, origins.into())),
        ..verified
    });
    let errors = more.into_iter().filter(|_| verified.is_none());
    let findings = findings.into_iter().chain(errors).collect();
    Verification { findings, verified }
}

/// Makes sense of a program that was made from a verified one and computes the same. Its steps go
/// by the numbers of the source: `origins` says for each which step of `from` it stands for.
///
/// # Errors
/// The source's step and its first error: a mistake of the program's maker.
pub fn verify_rewritten(
    program: Program,
    from: &Verified,
    mut origins: Vec<u32>,
) -> Result<Verified, Mistake> {
    if let Some((_, sources)) = &from.source {
        for origin in &mut origins {
            *origin = sources.get(*origin as usize).copied().unwrap_or(*origin);
        }
    }
    let mut found = verify_steps(Arc::new(program), true);
    let Some(verified) = found.verified.take() else {
        let error = found.errors().next();
        let step = error.map_or(0, |finding| finding.step);
        let step = origins.get(step as usize).copied().unwrap_or(step);
        let message = error.map_or_else(String::new, Finding::to_string);
        return Err(Mistake { step, message });
    };
    Ok(Verified {
        source: Some((Arc::clone(from.source()), origins.into())),
        ..verified
    })
}

fn verify_thread(program: Arc<Program>) -> Verification {
    verify_steps(program, false)
}

fn verify_steps(program: Arc<Program>, errors_only: bool) -> Verification {
    let mut checker = Checker::new(&program);
    checker.errors_only = errors_only;
    checker.check_all();
    let mut findings = std::mem::take(&mut checker.findings);
    findings.sort_by_key(|finding| finding.step);
    let Checker {
        values,
        actions,
        segments,
        has_error,
        ..
    } = checker;
    let verified = (!has_error).then(|| Verified {
        program: Arc::clone(&program),
        source: None,
        values,
        actions,
        segments,
        lowered: Once::new(),
        cleaned: Once::new(),
    });
    Verification { findings, verified }
}

impl<'p> Checker<'p> {
    fn new(program: &'p Program) -> Self {
        Self {
            program,
            names: Names::new(program.symbols.len()),
            values: Values::default(),
            actions: Vec::new(),
            segments: Vec::new(),
            open: Vec::new(),
            findings: Vec::new(),
            has_error: false,
            found: HashMap::new(),
            errors_only: false,
            spellings: Spellings::default(),
            checked: FxHashSet::default(),
            checked_large: HashSet::new(),
            looked_at: FxHashSet::default(),
            read_unwritten: FxHashSet::default(),
            regions: FxHashMap::default(),
            unwritten: Vec::new(),
            doubtful: FxHashSet::default(),
            sound: true,
            definitions: OnceCell::new(),
            reprs: Reprs::default(),
            heads: Heads::default(),
            copies: Copies::default(),
            draws: Draws::default(),
            inputs: HashMap::new(),
            outputs: HashMap::new(),
            step: 0,
        }
    }

    fn check_all(&mut self) {
        let program = self.program;
        if program.steps.len() > MAX_STEPS {
            let expected = format!("at most {MAX_STEPS} steps");
            let got = program.steps.len().to_string();
            self.report(Issue::error("limits", expected, got));
            return;
        }
        if let Some(threads) = &program.threads {
            return self.check_threads(threads);
        }
        for (index, step) in program.steps.iter().enumerate() {
            self.step = index as u32;
            match step {
                Step::Op(op) => self.op(op),
                Step::Free(symbol) => self.free(*symbol),
                Step::SegmentStart(text) => self.segment_start(*text),
                Step::SegmentEnd => self.segment_end(),
                Step::Skip | Step::Threaded(_) => {}
            }
        }
        self.check_end();
    }

    pub(crate) fn op(&mut self, op: &'p Op) {
        let call = self.bound(op);
        self.sense(op, call);
    }

    /// A call with its arguments bound; `None` where they are wrong, which is reported.
    pub(crate) fn bound(&mut self, op: &Op) -> Option<(Rc<Spelling>, Call)> {
        let spelling = match self.spellings.get(self.program, op) {
            Ok(spelling) => spelling,
            Err(error) => {
                self.unknown_form(op, error);
                return None;
            }
        };
        let call = self.bind_args(&spelling, op);
        if call.is_none() {
            self.touch_out(Site {
                spelling: &spelling,
                op,
            });
        }
        Some((spelling, call?))
    }

    /// Makes sense of a call.
    pub(crate) fn sense(&mut self, op: &'p Op, call: Option<(Rc<Spelling>, Call)>) {
        let done = call.and_then(|(spelling, call)| {
            let site = Site {
                spelling: &spelling,
                op,
            };
            let done = self.call(site, call);
            if done.is_none() {
                self.touch_out(site);
            }
            done
        });
        if done.is_none() {
            self.poison_result(op);
        }
    }

    fn unknown_form(&mut self, op: &Op, error: FormError) {
        let issue = match error {
            FormError::Unknown { name, suggestion } => {
                let near = suggestion.map(|known| format!("did you mean `{known}`?"));
                let name = shortened(&name);
                Issue::error("unknown-op", "the name of an op", format!("`{name}`"))
                    .hint(near.unwrap_or_else(|| VENDORS_OP.to_owned()))
            }
            FormError::Count { forms, got, .. } => {
                let counts: Vec<String> = forms.iter().map(|args| args.len().to_string()).collect();
                let expected = format!("{} arguments", counts.join(" or "));
                let orders: Vec<String> = forms.iter().map(|args| args.join(", ")).collect();
                Issue::of(Code::ArgumentCount, expected, got.to_string())
                    .hint(format!("in order: {}", orders.join("; or ")))
            }
        };
        self.report(issue);
        for arg in self.program.args(op) {
            if let Arg::Device(symbol, _) = arg {
                self.look_up(*symbol, "");
            }
        }
    }

    /// Marks the result of a failed step as unknown.
    fn poison_result(&mut self, op: &Op) {
        if let Some(Arg::Device(symbol, _)) = self.program.out(op) {
            let kept = matches!(self.names.get(*symbol), Name::Live { .. });
            // A register stays what it was; only what is new to it is unknown.
            if !(kept && self.program.threads.is_some()) {
                self.names.set(*symbol, Name::Poisoned);
            }
        }
    }

    pub(crate) fn free(&mut self, symbol: Symbol) {
        let issue = match self.names.get(symbol) {
            Name::Live { .. } | Name::Poisoned => None,
            Name::Unbound => Some(Issue::undefined("remove the free, or correct the name")),
            Name::Freed { step } => {
                let got = format!("a tensor freed at {}", self.place(step));
                Some(Issue::error("double-free", "a live tensor", got).hint("free a name once"))
            }
        };
        if let Some(issue) = issue {
            self.report(issue.names([symbol]));
        }
        self.names.set(symbol, Name::Freed { step: self.step });
    }

    fn segment_start(&mut self, text: Text) {
        self.open.push((text, self.step));
        self.segments.push((self.step, Some(text)));
    }

    fn segment_end(&mut self) {
        if self.open.pop().is_none() {
            self.report(Issue::warning("segment-nesting", "an open segment", "none"));
        }
        // The end itself still lies in the segment that it ends.
        let around = self.open.last().map(|&(text, _)| text);
        self.segments.push((self.step + 1, around));
    }

    /// The innermost segment around a step that has been read.
    pub fn segment_of(&self, step: u32) -> Option<Text> {
        let next = self.segments.partition_point(|&(from, _)| from <= step);
        self.segments.get(next.checked_sub(1)?)?.1
    }

    fn check_end(&mut self) {
        if self.errors_only {
            return;
        }
        for (text, step) in std::mem::take(&mut self.open) {
            let got = format!("no end of \"{}\"", self.program.text_name(text));
            let issue = Issue::warning("segment-nesting", "an end of the segment", got);
            self.report_at(step, issue);
        }
        let live: Vec<(Symbol, u32)> = self.names.live().collect();
        for (symbol, step) in live {
            let issue = Issue::warning("leak", "a free of the tensor", "none");
            self.report_at(step, issue.names([symbol]));
        }
        let found = std::mem::take(&mut self.found);
        for (severity, count) in found.into_iter().filter(|&(_, count)| count > MAX_FINDINGS) {
            let expected = format!("at most {MAX_FINDINGS} {severity}s");
            let issue = Issue::warning("limits", expected, count.to_string());
            self.report(issue.hint("the others are counted but not listed"));
        }
    }
}
