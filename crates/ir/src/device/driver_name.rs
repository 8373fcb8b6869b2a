//! Names of drivers that a process loads.

use cloakwork_process::{Mutex, Once};
use std::fmt;

/// The most drivers of a process.
const MOST: usize = 256;
/// The longest name.
const LONGEST: usize = 32;
/// Names with a meaning of their own.
const TAKEN: [&str; 5] = ["cpu", "gpu", "sim", "disk", "host"];
/// Numbers of drivers have so many bits, so that those of devices fit into 63.
const NUMBER_BITS: u32 = 46;

/// The registered names, in their order. A name is never removed.
static NAMES: [Once<&str>; MOST] = [const { Once::new() }; MOST];
/// Held while a name is added.
static ADDING: Mutex<()> = Mutex::new(());

/// The name of a driver that this process has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DriverName(u8);

/// Why a name cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is not a name of a driver.
    #[error(
        "expected a name of 1 to {LONGEST} letters a-z, digits and _, the first a letter, got {0:?}"
    )]
    Malformed(String),
    /// It has another meaning.
    #[error("the name {0:?} has a meaning of its own; choose another name")]
    Taken(String),
    /// It is registered.
    #[error("a driver with the name {0:?} is loaded already")]
    Registered(String),
    /// Another name has the same number.
    #[error("devices of {0:?} would have the numbers of those of {1:?}; choose another name")]
    SameNumber(String, String),
    /// There are too many drivers.
    #[error("{MOST} drivers are loaded; a process loads no more")]
    TooMany,
}

impl DriverName {
    /// Registers a name. Devices of the driver can be named from now on.
    ///
    /// # Errors
    /// The name is malformed, has another meaning, or is registered.
    pub fn register(name: &str) -> Result<Self, NameError> {
        let first = name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase());
        let of_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if !first || name.len() > LONGEST || !name.bytes().all(of_name) {
            return Err(NameError::Malformed(
                name.chars().take(LONGEST + 1).collect(),
            ));
        }
        if TAKEN.contains(&name) {
            return Err(NameError::Taken(name.to_owned()));
        }
        let _adding = ADDING.lock();
        let mut known = known().map(Self::as_str);
        let same = known.find(|known| number_of(known) == number_of(name));
        match same {
            Some(same) if same == name => return Err(NameError::Registered(name.to_owned())),
            Some(same) => return Err(NameError::SameNumber(name.to_owned(), same.to_owned())),
            None => {}
        }
        let free = NAMES.iter().position(|slot| slot.get().is_none());
        let free = free.ok_or(NameError::TooMany)?;
        // A name lives as long as the process. The slot is free: this thread holds the lock.
        let _ = NAMES[free].set(Box::leak(name.into()));
        Ok(Self(free as u8))
    }

    /// The registered name that is spelled so.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        known().find(|known| known.as_str() == name)
    }

    /// All registered names, in the order of their registration.
    pub fn all() -> impl Iterator<Item = Self> {
        known()
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        NAMES[usize::from(self.0)].get().copied().unwrap_or("?")
    }

    /// Its place among the registered names.
    #[must_use]
    pub fn place(self) -> usize {
        usize::from(self.0)
    }

    /// A number that the name has in every process.
    pub(super) fn number(self) -> i64 {
        number_of(self.as_str())
    }

    pub(super) fn from_number(number: i64) -> Option<Self> {
        known().find(|known| known.number() == number)
    }
}

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn known() -> impl Iterator<Item = DriverName> {
    (0..MOST).map_while(|place| NAMES[place].get().map(|_| DriverName(place as u8)))
}

/// The low bits of the name's FNV-1a hash, beyond the numbers of `gpu` and `sim`.
fn number_of(name: &str) -> i64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let low = (hash & ((1 << NUMBER_BITS) - 1)) as i64;
    low.max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_driver_can_have_are_refused() {
        for name in [
            "",
            "1chip",
            "My",
            "my chip",
            "my-chip",
            "a:b",
            &"a".repeat(33),
        ] {
            let refused = DriverName::register(name);
            assert!(matches!(refused, Err(NameError::Malformed(_))), "{name}");
        }
        for name in TAKEN {
            assert_eq!(
                DriverName::register(name),
                Err(NameError::Taken(name.into()))
            );
        }
        DriverName::register("twice").expect("a new name");
        let again = DriverName::register("twice");
        assert_eq!(again, Err(NameError::Registered("twice".into())));
    }
}
