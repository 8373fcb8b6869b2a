//! Program tests: a program as text, followed by expected findings, types and results.
//!
//! Comments after the program hold the expectations: `; unparsed: ...` if it does not parse, `;
//! error: code: ...` and `; warning: code: ...` for the verifier's findings, and if there is no
//! error, `; type %name i64[2, 3]` for each value. Its `device_to_host` steps hold the expected
//! results; `; mismatch: ...` and `; failed: ...` say where the references disagree.
//!
//! A program's plan, if any, is in a file of the same name that ends in `.plan`.

use crate::{execute, inputs};
use cloakwork_ir::{Program, text};
use cloakwork_kernels::Isa;
use cloakwork_plan::{Options, plan};
use cloakwork_verify::{ValueInfo, Verified, verify};
use std::sync::Arc;

const MARKS: [&str; 6] = [
    "; unparsed: ",
    "; error: ",
    "; warning: ",
    "; type ",
    "; mismatch: ",
    "; failed: ",
];

/// A program test, read from its file.
#[derive(Clone, Debug)]
pub struct FileTest {
    /// The program.
    pub program: String,
    /// The comments after it, one for each line.
    pub expected: Vec<String>,
}

impl FileTest {
    /// Splits a file.
    #[must_use]
    pub fn new(file: &str) -> Self {
        let lines: Vec<&str> = file.lines().collect();
        let is_expectation =
            |line: &&str| line.is_empty() || MARKS.iter().any(|mark| line.starts_with(mark));
        let behind = lines
            .iter()
            .rev()
            .take_while(|line| is_expectation(line))
            .count();
        let (program, expected) = lines.split_at(lines.len() - behind);
        let expected = expected.iter().filter(|line| !line.is_empty());
        Self {
            program: program.join("\n"),
            expected: expected.map(|&line| line.to_owned()).collect(),
        }
    }

    /// The program, if it parses.
    #[must_use]
    pub fn parsed(&self) -> Option<Program> {
        text::parse(&self.program).ok()
    }

    /// The actual outcome of the program, one comment for each line.
    #[must_use]
    pub fn actual(&self) -> Vec<String> {
        let program = match text::parse(&self.program) {
            Ok(program) => Arc::new(program),
            Err(error) => return vec![format!("; unparsed: {error}")],
        };
        let verification = verify(program);
        let findings = verification.findings.iter();
        let mut lines: Vec<String> = findings
            .map(|finding| {
                let rule = finding
                    .rule()
                    .map_or(String::new(), |rule| format!("{rule} "));
                format!("; {}: {}: {rule}{finding}", finding.severity, finding.code)
            })
            .collect();
        if let Some(verified) = verification.verified.map(Arc::new) {
            lines.extend(
                verified
                    .values()
                    .iter()
                    .map(|info| type_line(&verified, info)),
            );
            lines.extend(disagreement(&verified));
        }
        lines
    }

    /// The plan's text for two threads of portable kernels: the same on every machine.
    ///
    /// # Errors
    /// The error of planning, as text.
    pub fn plan(&self) -> Result<String, String> {
        let program = text::parse(&self.program).map_err(|error| error.to_string())?;
        let verified = verify(Arc::new(program))
            .verified
            .ok_or("the verifier refuses it")?;
        let options = Options::new(Isa::PORTABLE, 2);
        plan(Arc::new(verified), &options)
            .map(|plan| plan.to_string())
            .map_err(|error| error.to_string())
    }

    /// The whole file with these expectations.
    #[must_use]
    pub fn with_expected(&self, lines: &[String]) -> String {
        let mut file = self.program.trim_end().to_owned();
        file.push_str("\n\n");
        for line in lines {
            file.push_str(line);
            file.push('\n');
        }
        file
    }
}

fn type_line(verified: &Verified, info: &ValueInfo) -> String {
    let name = verified.program().symbol_name(info.name);
    let view = &info.view;
    let mut line = format!("; type %{name} {}{}", info.dtype, view.shape);
    if !view.is_contiguous() || view.offset != 0 {
        line.push_str(&format!(
            " strides {:?} offset {}",
            view.strides.as_slice(),
            view.offset
        ));
    }
    line
}

/// The disagreement of kernels or references with the expected values, if any. Inputs are 0, 1, 2,
/// ...
fn disagreement(verified: &Arc<Verified>) -> Option<String> {
    let inputs = inputs(verified.program(), |i| i as i64);
    let outcome = match execute(verified, &inputs) {
        Ok(outcome) => outcome,
        Err(error) => return Some(format!("; failed: {error}")),
    };
    let mismatch = outcome.mismatches.first()?;
    Some(format!("; mismatch: {mismatch}"))
}
