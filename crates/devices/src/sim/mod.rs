//! `sim`: a device that the processor simulates, with memory that the host cannot touch and queues
//! that run late.
//!
//! Its addresses are numbers that no mapping has: following one on the host crashes the process.
//! The driver alone knows which bytes are behind them, and refuses what leaves an allocation. A
//! thread a queue does the work, after a delay now and then, so that who forgot to wait is found
//! out. Its kernels are the processor's. So it proves on every machine that plans keep to the
//! device's memory, and wait for what they must wait for.
//!
//! With `CLOAKWORK_SIM` it is a device that takes time: `launch_us=2000,transfer_us=1000` makes
//! each launch and each transfer take so long, and `elements_per_us=500` a launch longer by its
//! elements, without random delays. Plans do not know of it. `lacks=ntt` withholds a kernel.

mod delays;
mod queue;
mod segment;
mod table;

use crate::{Driver, driver};
use cloakwork_process::Once;

/// The driver.
pub fn driver() -> &'static Driver {
    static DRIVER: Once<Driver> = Once::new();
    DRIVER.get_or_init(|| {
        let whole = driver::own(&table::TABLE, None);
        let lacks = delays::asked().map(|asked| asked.lacks.clone());
        let lacks = lacks.unwrap_or_default();
        let lacking = whole.varied(*whole.costs(), table::TABLE.capabilities, lacks);
        lacking.unwrap_or(whole)
    })
}

#[cfg(test)]
mod tests;
