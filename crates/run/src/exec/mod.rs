//! Running a plan: addresses become pointers once, then the steps run, in order or side by side.

pub mod check;
pub mod clock;
pub mod devices;
pub mod dispatch;
pub mod executor;
pub mod function;
pub mod hosts;
pub mod in_order;
pub mod launch;
pub mod pool;
pub mod results;
pub mod table;
pub mod work;
