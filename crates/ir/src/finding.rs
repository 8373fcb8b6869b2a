//! Errors and warnings of a program, from a reader, a lowering, or the verifier.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program cannot run.
    Error,
    /// The program runs, but something is odd.
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

/// One thing that is wrong or odd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The kind: a code of the verifier, of an op's rules, or of the instruction set: `V01`.
    pub code: &'static str,
    /// The step it is about, counted from 0.
    pub step: u32,
    /// The step's name in messages, in a program of instructions: its instruction; empty: the
    /// program as a whole.
    pub label: Option<String>,
    /// The place where that instruction was written: a file and a line.
    pub written: Option<String>,
    /// Whether names are registers of a program of instructions, not tensors of one of steps.
    pub registers: bool,
    /// The segment around that step.
    pub segment: Option<String>,
    /// The op as the program writes it; `free`, or empty where no op is meant.
    pub op: String,
    /// Names of the tensors it is about.
    pub names: Vec<String>,
    /// The parameter, or the field of an instruction, it is about; may be empty.
    pub operand: String,
    /// The expected value or property, in words.
    pub expected: String,
    /// The actual one.
    pub got: String,
    /// Advice; may be empty.
    pub hint: String,
}

impl Finding {
    /// An error in a program of instructions, without its place.
    #[must_use]
    pub fn error(code: &'static str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            step: 0,
            label: Some(String::new()),
            written: None,
            registers: true,
            segment: None,
            op: String::new(),
            names: Vec::new(),
            operand: String::new(),
            expected: expected.into(),
            got: got.into(),
            hint: String::new(),
        }
    }

    /// With advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// With the field or register that it is about.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.operand = field.into();
        self
    }

    /// The rule of the instruction set that is broken, `V01` to `V21`; none in a program of one
    /// thread.
    #[must_use]
    pub fn rule(&self) -> Option<&'static str> {
        self.label.as_ref().map(|_| rule(self.code))
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
        let mut places = vec![match &self.label {
            Some(label) => label.clone(),
            None => format!("step {}", self.step),
        }];
        if let (Some(segment), Some(place)) = (&self.segment, places.first_mut()) {
            place.push_str(&format!(" in segment \"{segment}\""));
        }
        places.push(self.op.clone());
        if !self.operand.is_empty() {
            places.push(format!("`{}`", self.operand));
        }
        places.retain(|place| !place.is_empty());
        f.write_str(&places.join(": "))?;
        if !self.names.is_empty() && self.registers {
            write!(f, " (\"{}\")", self.names.join("\", \""))?;
        } else if !self.names.is_empty() {
            write!(f, " (%{})", self.names.join(", %"))?;
        }
        let separator = if places.is_empty() { "" } else { ": " };
        write!(f, "{separator}expected {}, got {}", self.expected, self.got)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        if let Some(written) = &self.written {
            write!(f, " (written at {written})")?;
        }
        Ok(())
    }
}
