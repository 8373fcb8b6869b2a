//! A caller that never cancels.

use std::time::Duration;

pub struct Clock<'a>(std::marker::PhantomData<&'a ()>);

impl Clock<'_> {
    pub fn new() -> Self {
        Self(std::marker::PhantomData)
    }

    pub fn look(&mut self, _: usize) -> bool {
        true
    }

    pub fn rest(&self) -> Duration {
        Duration::ZERO
    }
}
