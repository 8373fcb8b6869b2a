//! Elements of fields and the numbers that they are.
//!
//! Sums, products and quotients are the element-wise ops of numbers; here is what only fields have.

pub mod canonical;
pub mod elements;
pub mod pow;
pub(crate) mod primes;
