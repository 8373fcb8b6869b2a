//! Residue number systems: polynomials between bases of moduli.

pub mod base_convert;
