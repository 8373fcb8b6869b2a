//! A sparse matrix by rows: the form that products with it want.

/// A matrix with few entries: those of row i stand from `starts[i]` to before `starts[i + 1]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// One more than there are rows, never falling, beginning with 0.
    pub starts: Vec<u64>,
    /// The column of each entry: a wire.
    pub columns: Vec<u32>,
    /// The value of each entry, as the file has it.
    pub values: Vec<u8>,
}

impl Rows {
    /// A matrix without rows.
    pub(super) fn new() -> Self {
        Self {
            starts: vec![0],
            ..Self::default()
        }
    }

    /// Number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Ends the row that was being filled.
    pub(super) fn end_row(&mut self) {
        self.starts.push(self.columns.len() as u64);
    }
}
