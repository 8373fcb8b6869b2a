//! What `verify` has to say.

use cloakwork_ops::Code;
use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program cannot run.
    Error,
    /// It runs, but something is odd.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// Codes of findings that are about the program rather than about one op's rules; those are
/// [`Code`]'s names. Each of either kind is provoked by a program under `tests/programs`.
pub const FINDING_CODES: &[&str] = &[
    "claimed-dtype",
    "deadlock",
    "device",
    "double-free",
    "equal-draws",
    "event",
    "expected-mismatch",
    "host-name",
    "leak",
    "limits",
    "not-the-owner",
    "pool",
    "race",
    "read-only",
    "redefinition",
    "result-name",
    "segment",
    "segment-nesting",
    "shadowed-name",
    "thread",
    "transcript-order",
    "undefined-name",
    "unknown-op",
    "unwritten-read",
    "use-after-free",
];

/// Findings beyond this many are counted, not kept.
pub const MAX_FINDINGS: usize = 10_000;

/// One thing that is wrong or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind: one of [`FINDING_CODES`] or a [`Code`]'s name.
    pub code: &'static str,
    /// The step it is about, counted from 0.
    pub step: u32,
    /// That step as messages name it, in a program of several threads: its instruction.
    pub label: Option<String>,
    /// Where that instruction was written: a file and a line.
    pub written: Option<String>,
    /// Whether names are registers of a program of instructions, not tensors of one of steps.
    pub registers: bool,
    /// The segment around that step.
    pub segment: Option<String>,
    /// The op as the program writes it; `free`, or empty where no op is meant.
    pub op: String,
    /// Names of the tensors it is about.
    pub names: Vec<String>,
    /// The parameter it is about; may be empty.
    pub operand: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl Finding {
    /// The rule of the instruction set that is broken, `V01` to `V21`; none in a program of one
    /// thread.
    #[must_use]
    pub fn rule(&self) -> Option<&'static str> {
        self.label.as_ref().map(|_| rule(self.code))
    }

    /// Whether this is a code that a finding may have.
    #[must_use]
    pub fn is_code(code: &str) -> bool {
        FINDING_CODES.contains(&code) || Code::ALL.iter().any(|known| known.name() == code)
    }
}

fn rule(code: &'static str) -> &'static str {
    match code {
        // What reads and lowers programs has the rules themselves for codes.
        _ if code.starts_with('V') => code,
        "limits" => "V01",
        "undefined-name" | "unwritten-read" => "V02",
        "redefinition" | "shadowed-name" | "result-name" => "V03",
        "use-after-free" => "V04",
        "double-free" | "not-the-owner" | "read-only" => "V05",
        "leak" => "V06",
        "device" => "V08",
        "aliasing" => "V09",
        "axis" | "range" => "V10",
        "event" => "V12",
        "thread" => "V13",
        "deadlock" => "V14",
        "race" => "V15",
        "host-name" | "expected-mismatch" => "V18",
        "transcript-order" | "transcript" => "V19",
        "pool" => "V16",
        "segment" | "segment-nesting" => "V20",
        "equal-draws" => "V21",
        _ => "V07",
    }
}

impl fmt::Display for Finding {
    /// One lower-case sentence with place, expected and got; severity and code stand apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.label {
            Some(label) => f.write_str(label)?,
            None => write!(f, "step {}", self.step)?,
        }
        if let Some(segment) = &self.segment {
            write!(f, " in segment \"{segment}\"")?;
        }
        if !self.op.is_empty() {
            write!(f, ": {}", self.op)?;
        }
        if !self.operand.is_empty() {
            write!(f, ": `{}`", self.operand)?;
        }
        if !self.names.is_empty() && self.registers {
            write!(f, " (\"{}\")", self.names.join("\", \""))?;
        } else if !self.names.is_empty() {
            write!(f, " (%{})", self.names.join(", %"))?;
        }
        write!(f, ": expected {}, got {}", self.expected, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        if let Some(written) = &self.written {
            write!(f, " (written at {written})")?;
        }
        Ok(())
    }
}
