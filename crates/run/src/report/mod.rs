//! Reports of runs and plans: outcomes, totals, profiles, descriptions.

pub mod coverage;
pub mod inspect;
pub mod names;
pub mod outcome;
pub mod profile;
pub mod totals;
