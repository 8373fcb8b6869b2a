//! From what is wrong to a finding with its place.

use crate::MAX_FINDINGS;
use crate::check::Checker;
use crate::spelling::Site;
use cloakwork_ir::{Arg, Finding, Note, Severity, Step, Symbol, shortened};
use cloakwork_ops::{Code, OpError};

/// A fault, without its place.
#[derive(Debug)]
pub(crate) struct Issue {
    severity: Severity,
    code: &'static str,
    operand: &'static str,
    names: Vec<Symbol>,
    expected: String,
    got: String,
    hint: String,
}

impl Issue {
    pub fn error(code: &'static str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            operand: "",
            names: Vec::new(),
            expected: expected.into(),
            got: got.into(),
            hint: String::new(),
        }
    }

    pub fn warning(
        code: &'static str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, expected, got)
        }
    }

    pub fn of(code: Code, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::error(code.name(), expected, got)
    }

    pub fn undefined(hint: &str) -> Self {
        let expected = "a tensor that is defined before";
        Self::error("undefined-name", expected, "an undefined tensor").hint(hint)
    }

    pub fn operand(mut self, operand: &'static str) -> Self {
        self.operand = operand;
        self
    }

    pub fn names(mut self, names: impl IntoIterator<Item = Symbol>) -> Self {
        self.names.extend(names);
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// Advice for a code, where the finding itself has none.
fn advice(code: &str) -> &'static str {
    match code {
        "unwritten-read" => "write it first, or allocate it with zeros",
        "host-name" => "give each output and input a different name",
        "limits" => "split the program",
        "event" => "remove the unused event",
        "repr" => "transform it, or cast it",
        _ => "correct the operand; docs/ops.md lists what the op accepts",
    }
}

/// The register of a program of instructions that a name of its lowering belongs to, if it does to
/// one: what lowering adds stands behind a `#`.
fn register(name: &str) -> Option<&str> {
    name.split('#').next().filter(|name| !name.is_empty())
}

impl Checker<'_> {
    /// The program's note about a step, if it has several threads.
    pub(crate) fn note(&self, step: u32) -> Option<Note> {
        self.program
            .threads
            .as_ref()
            .map(|threads| threads.note(step))
    }

    /// A name as the program writes it.
    pub(crate) fn shown(&self, step: u32, symbol: Symbol) -> String {
        let name = self.program.symbol_name(symbol);
        match self.note(step).is_some_and(|note| note.op.is_some()) {
            true => match register(name) {
                Some(name) => format!("\"{name}\""),
                None => "the instruction's own memory".to_owned(),
            },
            false => format!("%{name}"),
        }
    }

    /// Records an issue about the step at hand.
    pub fn report(&mut self, issue: Issue) {
        self.report_at(self.step, issue);
    }

    /// Records an issue about a step.
    pub fn report_at(&mut self, step: u32, issue: Issue) {
        if self.errors_only && issue.severity != Severity::Error {
            return;
        }
        self.has_error |= issue.severity == Severity::Error;
        let found = self.found.entry(issue.severity).or_default();
        *found += 1;
        if *found > MAX_FINDINGS {
            return;
        }
        let program = self.program;
        let note = self.note(step).unwrap_or_default();
        let op = match (note.op, program.steps.get(step as usize)) {
            (Some(op), _) => program.text_name(op),
            (None, Some(Step::Op(op))) => program.text_name(op.name),
            (None, Some(Step::Free(_))) => "free",
            (None, Some(Step::Threaded(step))) => step.name(),
            _ => "",
        };
        let registers = note.op.is_some();
        // Shortened, because each of many findings in one segment holds its name.
        let mut names: Vec<String> = issue
            .names
            .iter()
            .filter_map(|symbol| match registers {
                true => register(program.symbol_name(*symbol)).map(shortened),
                false => Some(shortened(program.symbol_name(*symbol))),
            })
            .collect();
        names.dedup();
        let finding = Finding {
            severity: issue.severity,
            code: issue.code,
            step,
            label: program.threads.is_some().then(|| self.label(step)),
            segment: self
                .segment_of(step)
                .map(|text| shortened(program.text_name(text))),
            written: note.written.map(|text| program.text_name(text).to_owned()),
            registers,
            op: shortened(op),
            // Authors of instructions do not know the parameter names of ops.
            operand: match registers && !names.is_empty() {
                true => String::new(),
                false => issue.operand.to_owned(),
            },
            names,
            expected: issue.expected,
            got: issue.got,
            hint: match (&program.threads, issue.hint) {
                (Some(_), hint) if hint.is_empty() => advice(issue.code).to_owned(),
                (_, hint) => hint,
            },
        };
        // A name that a step gives twice, as operand and as result, is wrong in the same way twice.
        if self.findings.last() != Some(&finding) {
            self.findings.push(finding);
        }
    }

    /// Records what a declaration refuses.
    pub fn refuse(&mut self, site: Site<'_>, error: OpError) {
        let param = site.spelling.def.param(error.operand);
        let name = param.and_then(|param| self.name_of(site, param));
        let issue = Issue::of(error.code, error.expected, error.got);
        self.report(issue.operand(error.operand).names(name).hint(error.hint));
    }

    /// The name by which the step at hand gives a parameter.
    pub fn name_of(&self, site: Site<'_>, param: usize) -> Option<Symbol> {
        let written = *site.spelling.written.get(param)?;
        match self.program.args(site.op).get(written?) {
            Some(Arg::Device(symbol, _)) => Some(*symbol),
            _ => None,
        }
    }
}
