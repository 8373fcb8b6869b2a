//! A dense matrix as the factorisations take it.

use faer::MatRef;

/// A matrix in one buffer, column after column.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T> {
    rows: usize,
    columns: usize,
    elements: Vec<T>,
}

impl<T: Copy> Matrix<T> {
    /// The matrix whose element in row i and column j is `element(i, j)`.
    pub fn new(rows: usize, columns: usize, mut element: impl FnMut(usize, usize) -> T) -> Self {
        let mut elements = Vec::with_capacity(rows * columns);
        for column in 0..columns {
            elements.extend((0..rows).map(|row| element(row, column)));
        }
        Self {
            rows,
            columns,
            elements,
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All elements, column after column.
    #[must_use]
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    pub(crate) fn view(&self) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&self.elements, self.rows, self.columns)
    }
}

/// Appends a matrix row after row.
pub(crate) fn pack<T: Copy>(packed: &mut Vec<T>, matrix: MatRef<'_, T>) {
    for row in 0..matrix.nrows() {
        packed.extend((0..matrix.ncols()).map(|column| matrix[(row, column)]));
    }
}
