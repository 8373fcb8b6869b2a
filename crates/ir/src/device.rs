//! Devices as programs name them. What a name is bound to is decided when a program is run.

mod driver_name;

pub use driver_name::{DriverName, NameError};

use std::fmt;

/// Where memory lies and calls run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Device {
    /// The host.
    #[default]
    Cpu,
    /// A device with memory of its own: `gpu:0`.
    Gpu(u16),
    /// A device with memory of its own that the processor always serves: `sim:0`.
    Sim(u16),
    /// A disk: memory only. `disk` is `disk:0`.
    Disk(u16),
    /// A device of a driver that this process has loaded: `mychip:0`.
    Loaded(DriverName, u16),
}

/// The number of `sim:0`: behind those of all that can be named `gpu`.
const FIRST_SIM: i64 = 1 + (1 << 16);
/// The number of the first device that can be loaded: behind those of `sim`.
const FIRST_LOADED: i64 = FIRST_SIM + (1 << 16);

impl Device {
    /// How messages list the names there are.
    pub const NAMES: &str = "cpu, gpu:<i>, sim:<i>, disk, disk:<i> or a device of a loaded driver";

    /// Reads one of [`Self::NAMES`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let number = |text: &str| {
            let index: u16 = text.parse().ok()?;
            // A device has one name: neither `sim:+1` nor `sim:01`.
            (index.to_string() == text).then_some(index)
        };
        match name.split_once(':') {
            None if name == "cpu" => Some(Self::Cpu),
            None if name == "disk" => Some(Self::Disk(0)),
            Some(("gpu", index)) => number(index).map(Self::Gpu),
            Some(("sim", index)) => number(index).map(Self::Sim),
            Some(("disk", index)) => number(index).map(Self::Disk),
            Some((driver, index)) => Some(Self::Loaded(DriverName::find(driver)?, number(index)?)),
            None => None,
        }
    }

    /// The number of a device in a call: 0 is the host, positive ones compute (first those of
    /// `gpu`, then those of `sim`, then those of loaded drivers), negative ones store. It is the
    /// same in all processes.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::Cpu => 0,
            Self::Gpu(index) => 1 + i64::from(index),
            Self::Sim(index) => FIRST_SIM + i64::from(index),
            Self::Loaded(driver, index) => (driver.number() << 16) + 1 + i64::from(index),
            Self::Disk(index) => -1 - i64::from(index),
        }
    }

    /// The device of a number; `None` beyond those that can be named.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Cpu),
            1..FIRST_SIM => u16::try_from(number - 1).ok().map(Self::Gpu),
            FIRST_SIM..FIRST_LOADED => u16::try_from(number - FIRST_SIM).ok().map(Self::Sim),
            FIRST_LOADED.. => {
                let driver = DriverName::from_number((number - 1) >> 16)?;
                Some(Self::Loaded(driver, (number - 1) as u16))
            }
            _ => u16::try_from(-1 - number).ok().map(Self::Disk),
        }
    }

    /// The device that is this many places further, of the same driver; `None` beyond the last
    /// index. The host has one device.
    #[must_use]
    pub fn sibling(self, further: u16) -> Option<Self> {
        let next = |index: u16| index.checked_add(further);
        match self {
            Self::Cpu => (further == 0).then_some(Self::Cpu),
            Self::Gpu(index) => next(index).map(Self::Gpu),
            Self::Sim(index) => next(index).map(Self::Sim),
            Self::Disk(index) => next(index).map(Self::Disk),
            Self::Loaded(driver, index) => Some(Self::Loaded(driver, next(index)?)),
        }
    }

    /// Whether calls can run there.
    #[must_use]
    pub const fn computes(self) -> bool {
        !matches!(self, Self::Disk(_))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu(index) => write!(f, "gpu:{index}"),
            Self::Sim(index) => write!(f, "sim:{index}"),
            Self::Disk(index) => write!(f, "disk:{index}"),
            Self::Loaded(driver, index) => write!(f, "{driver}:{index}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Device, DriverName};

    #[test]
    fn devices_of_a_registered_driver_have_names_and_stable_numbers() {
        let driver = DriverName::register("testchip").expect("a new name");
        let device = Device::Loaded(driver, 7);
        assert_eq!(Device::from_name("testchip:7"), Some(device));
        assert_eq!(device.to_string(), "testchip:7");
        assert_eq!(
            device.number(),
            0x2191_6922_e06f_0008,
            "as in every process"
        );
        assert_eq!(Device::from_number(device.number()), Some(device));
        assert_eq!(device.sibling(1), Device::from_name("testchip:8"));
        assert_eq!(Device::Loaded(driver, u16::MAX).sibling(1), None);
        let last = Device::Loaded(driver, u16::MAX);
        assert_eq!(Device::from_number(last.number()), Some(last));
        assert_eq!(Device::from_name("otherchip:0"), None, "not registered");
    }

    #[test]
    fn names_and_numbers_read_back() {
        for device in [
            Device::Cpu,
            Device::Gpu(0),
            Device::Gpu(u16::MAX),
            Device::Sim(0),
            Device::Sim(u16::MAX),
            Device::Disk(3),
        ] {
            assert_eq!(Device::from_name(&device.to_string()), Some(device));
            assert_eq!(Device::from_number(device.number()), Some(device));
        }
        for name in [
            "",
            "gpu",
            "gpu:",
            "gpu:-1",
            "gpu:70000",
            "tpu:0",
            "cpu:0",
            "sim",
            "sim:00",
            "sim:+1",
        ] {
            assert_eq!(Device::from_name(name), None, "{name}");
        }
        assert_eq!(Device::from_number(1 << 20), None);
        assert_eq!(Device::from_number(i64::MAX), None);
        assert_eq!(Device::from_number(i64::MIN), None);
    }
}
