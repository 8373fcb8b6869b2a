//! Elements of fields and the numbers that they are.
//!
//! Sums, products and quotients are the element-wise ops of numbers; the ops of this family are for
//! fields alone.

pub mod canonical;
pub mod elements;
pub mod pow;
pub(crate) mod primes;
