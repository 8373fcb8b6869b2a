//! Tests of concurrent code with real threads; `tests/models` runs it under loom.

mod schedule;
mod share;
