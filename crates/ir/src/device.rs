//! Devices as programs name them. What a name is bound to is decided when a program is run.

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
}

/// The number of `sim:0`: behind those of all that can be named `gpu`.
const FIRST_SIM: i64 = 1 + (1 << 16);

impl Device {
    /// How messages list the names there are.
    pub const NAMES: &str = "cpu, gpu:<i>, sim:<i>, disk or disk:<i>";

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
            _ => None,
        }
    }

    /// The number of a device in a call: 0 is the host, positive ones compute (first those of
    /// `gpu`, then those of `sim`), negative ones store.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::Cpu => 0,
            Self::Gpu(index) => 1 + index as i64,
            Self::Sim(index) => FIRST_SIM + index as i64,
            Self::Disk(index) => -1 - index as i64,
        }
    }

    /// The device of a number; `None` beyond those that can be named.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => Some(Self::Cpu),
            1..FIRST_SIM => u16::try_from(number - 1).ok().map(Self::Gpu),
            FIRST_SIM.. => u16::try_from(number - FIRST_SIM).ok().map(Self::Sim),
            _ => u16::try_from(-1 - number).ok().map(Self::Disk),
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

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
