//! What reading and lowering a program find wrong with it.

/// One thing that is wrong. What verifies the lowered program has findings of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which of the checks of `docs/zk.md`, such as `V01`.
    pub code: &'static str,
    /// The instruction's name, or its path such as `main/12`; empty: the program as a whole.
    pub label: String,
    /// The instruction's op, or empty.
    pub op: String,
    /// The first step that it was lowered to.
    pub step: u32,
    /// The field that it is about, as a path into the JSON; may be empty.
    pub field: String,
    /// Where the builder's call stands; may be empty.
    pub src_loc: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
    /// What to do; may be empty.
    pub hint: String,
}

impl Finding {
    pub(super) fn new(
        code: &'static str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self {
            code,
            label: String::new(),
            op: String::new(),
            step: 0,
            field: String::new(),
            src_loc: String::new(),
            expected: expected.into(),
            got: got.into(),
            hint: String::new(),
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(super) fn field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }
}

impl std::fmt::Display for Finding {
    /// One sentence with place, expected and got.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let places = [&self.label, &self.op, &self.field];
        let places: Vec<&str> = places.into_iter().map(String::as_str).collect();
        for place in places.iter().filter(|place| !place.is_empty()) {
            write!(f, "{place}: ")?;
        }
        write!(f, "expected {}, got {}", self.expected, self.got)?;
        for (before, text) in [("; ", &self.hint), (" (written at ", &self.src_loc)] {
            if !text.is_empty() {
                write!(f, "{before}{text}")?;
            }
        }
        f.write_str(if self.src_loc.is_empty() { "" } else { ")" })
    }
}
