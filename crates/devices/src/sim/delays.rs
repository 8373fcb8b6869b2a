//! Delays that a user asks for: measures of plans that overlap transfers with work.

use cloakwork_process::Once;
use std::time::Duration;

const VARIABLE: &str = "CLOAKWORK_SIM";

/// What each command takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    pub launch: Duration,
    pub transfer: Duration,
}

impl Delays {
    /// Reads `launch_us=2000,transfer_us=1000`; none if a word of it has no meaning.
    fn read(text: &str) -> Option<Self> {
        let mut delays = Self::default();
        for setting in text.split(',') {
            let (name, value) = setting.split_once('=')?;
            let value = Duration::from_micros(value.trim().parse().ok()?);
            match name.trim() {
                "launch_us" => delays.launch = value,
                "transfer_us" => delays.transfer = value,
                _ => return None,
            }
        }
        Some(delays)
    }
}

/// The delays that the environment asks for, or why its text is none.
pub fn asked() -> Result<Option<Delays>, &'static str> {
    static ASKED: Once<Result<Option<Delays>, String>> = Once::new();
    let asked = ASKED.get_or_init(|| match std::env::var(VARIABLE) {
        Err(_) => Ok(None),
        Ok(text) => Delays::read(&text).map(Some).ok_or_else(|| {
            format!("{VARIABLE}: expected launch_us=2000,transfer_us=1000, got {text:?}")
        }),
    });
    asked.as_ref().map(|delays| *delays).map_err(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read() {
        let us = Duration::from_micros;
        let (launch, transfer) = (us(5), us(7));
        let delays = Delays { launch, transfer };
        assert_eq!(Delays::read("launch_us=5, transfer_us=7"), Some(delays));
        for wrong in ["", "launch_us", "launch_us=x", "other=1"] {
            assert_eq!(Delays::read(wrong), None, "{wrong}");
        }
    }
}
