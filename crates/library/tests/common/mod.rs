//! Matrices to test with, and arithmetic on results, row-major.
#![allow(dead_code, reason = "each test file uses its own part")]

pub use cloakwork_library::{Complex, Matrix, Scalar};
use std::fmt::Debug;

pub type C = Complex<f64>;

/// An element type, so that every test runs on both.
pub trait Element: Scalar + Debug + PartialEq {
    fn of(value: C) -> Self;
    fn wide(self) -> C;
}

impl Element for f64 {
    fn of(value: C) -> Self {
        value.re
    }

    fn wide(self) -> C {
        C::new(self, 0.0)
    }
}

impl Element for C {
    fn of(value: C) -> Self {
        value
    }

    fn wide(self) -> C {
        self
    }
}

/// Numbers in [-1, 1), the same in each run.
pub struct Sequence(pub u64);

impl Sequence {
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn complex(&mut self) -> C {
        C::new(self.next(), self.next())
    }
}

/// A row-major matrix to compare with.
#[derive(Clone, Debug)]
pub struct Plain {
    pub rows: usize,
    pub columns: usize,
    pub elements: Vec<C>,
}

impl Plain {
    pub fn new<T: Element>(rows: usize, columns: usize, elements: &[T]) -> Self {
        assert_eq!(elements.len(), rows * columns);
        let elements = elements.iter().map(|e| e.wide()).collect();
        Self {
            rows,
            columns,
            elements,
        }
    }

    pub fn random<T: Element>(rows: usize, columns: usize, seed: u64) -> Self {
        let mut sequence = Sequence(seed);
        let elements: Vec<T> = (0..rows * columns)
            .map(|_| T::of(sequence.complex()))
            .collect();
        Self::new(rows, columns, &elements)
    }

    pub fn identity(n: usize) -> Self {
        Self::diagonal(n, n, &vec![C::new(1.0, 0.0); n])
    }

    pub fn diagonal(rows: usize, columns: usize, values: &[C]) -> Self {
        let mut elements = vec![C::default(); rows * columns];
        for (i, &value) in values.iter().enumerate() {
            elements[i * columns + i] = value;
        }
        Self {
            rows,
            columns,
            elements,
        }
    }

    pub fn at(&self, row: usize, column: usize) -> C {
        self.elements[row * self.columns + column]
    }

    pub fn adjoint(&self) -> Self {
        let (rows, columns) = (self.columns, self.rows);
        let elements = (0..rows * columns)
            .map(|at| self.at(at % columns, at / columns).conj())
            .collect();
        Self {
            rows,
            columns,
            elements,
        }
    }

    pub fn times(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.rows);
        let (rows, columns) = (self.rows, other.columns);
        let term = |i, j, k| self.at(i, k) * other.at(k, j);
        let elements = (0..rows * columns)
            .map(|at| {
                (0..self.columns)
                    .map(|k| term(at / columns, at % columns, k))
                    .sum()
            })
            .collect();
        Self {
            rows,
            columns,
            elements,
        }
    }

    pub fn matrix<T: Element>(&self) -> Matrix<T> {
        Matrix::new(self.rows, self.columns, |i, j| T::of(self.at(i, j)))
    }

    pub fn assert_near(&self, other: &Self, what: &str) {
        assert_eq!(
            (self.rows, self.columns),
            (other.rows, other.columns),
            "{what}"
        );
        let distance = self
            .elements
            .iter()
            .zip(&other.elements)
            .map(|(a, b)| (a - b).norm());
        let worst = distance.fold(0.0, f64::max);
        let bound = 1e-11 * (1 + self.rows.max(self.columns)) as f64;
        assert!(
            worst < bound,
            "{what}, {} x {}: off by {worst}",
            self.rows,
            self.columns
        );
    }

    pub fn assert_orthonormal_columns(&self, what: &str) {
        self.adjoint()
            .times(self)
            .assert_near(&Self::identity(self.columns), what);
    }
}

/// Sizes with the smallest, those around a vector, and one beyond a block.
pub const SIZES: [usize; 9] = [0, 1, 2, 3, 5, 8, 17, 33, 70];
