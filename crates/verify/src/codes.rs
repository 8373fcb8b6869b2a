//! Which codes findings of the verifier have.

use cloakwork_ops::Code;

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

/// Whether this is a code that a finding may have.
#[must_use]
pub fn is_finding_code(code: &str) -> bool {
    FINDING_CODES.contains(&code) || Code::ALL.iter().any(|known| known.name() == code)
}
