//! Runs a plan: resolves addresses to pointers once, then runs the steps, in order or side by side.

pub mod check;
pub mod clock;
pub mod devices;
pub mod dispatch;
pub mod executor;
pub mod function;
pub mod hosts;
pub mod in_order;
pub mod launch;
pub mod lent;
pub mod lost;
pub mod measured;
pub mod pool;
pub mod results;
mod segments;
pub mod table;
pub mod work;
