//! What a run did, and what a plan will do: outcomes, totals, profiles, descriptions.

pub mod inspect;
pub mod names;
pub mod outcome;
pub mod profile;
pub mod totals;
