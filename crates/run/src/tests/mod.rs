//! What runs side by side, with real threads; `tests/models` has the same under loom.

mod schedule;
mod share;
