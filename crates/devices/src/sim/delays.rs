//! Settings of `sim` by the user: times that commands take, for measurements of plans that overlap
//! transfers with work, and kernels that it lacks, for measurements of fallback.

use cloakwork_kernels::host_rows;
use cloakwork_process::Once;
use std::collections::BTreeSet;
use std::time::Duration;

const VARIABLE: &str = "CLOAKWORK_SIM";
const EXAMPLE: &str = "launch_us=2000,transfer_us=1000,elements_per_us=500,lacks=ntt";

/// How long each command takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    pub launch: Duration,
    pub transfer: Duration,
    /// Elements that a launch visits in a microsecond; none if they take no time.
    pub elements_per_us: Option<u64>,
}

/// Settings that the environment requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// None: random delays.
    pub delays: Option<Delays>,
    pub lacks: BTreeSet<String>,
}

impl Delays {
    /// The time of launches that visit so many elements in all.
    pub fn of_launches(&self, count: u32, elements: u64) -> Duration {
        let visiting = self.elements_per_us.map_or(Duration::ZERO, |rate| {
            Duration::from_nanos(elements.saturating_mul(1_000) / rate.max(1))
        });
        self.launch * count + visiting
    }
}

impl Settings {
    /// Reads settings like the example; none if a word has no meaning.
    fn read(text: &str) -> Option<Self> {
        let mut settings = Self::default();
        for setting in text.split(',') {
            let (name, value) = setting.split_once('=')?;
            let value = value.trim();
            let number = || value.parse::<u64>().ok();
            let delays = settings.delays;
            let given = delays.unwrap_or_default();
            match name.trim() {
                "launch_us" => {
                    let launch = Duration::from_micros(number()?);
                    settings.delays = Some(Delays { launch, ..given });
                }
                "transfer_us" => {
                    let transfer = Duration::from_micros(number()?);
                    settings.delays = Some(Delays { transfer, ..given });
                }
                "elements_per_us" => {
                    let elements_per_us = Some(number().filter(|&rate| rate > 0)?);
                    settings.delays = Some(Delays {
                        elements_per_us,
                        ..given
                    });
                }
                "lacks" => {
                    let mut rows = host_rows().all().iter();
                    rows.find(|row| row.kernel == value)?;
                    settings.lacks.insert(value.to_owned());
                }
                _ => return None,
            }
        }
        Some(settings)
    }
}

/// The settings that the environment requests, or why it cannot be read.
pub fn asked() -> Result<&'static Settings, &'static str> {
    static ASKED: Once<Result<Settings, String>> = Once::new();
    let asked = ASKED.get_or_init(|| match std::env::var(VARIABLE) {
        Err(_) => Ok(Settings::default()),
        Ok(text) => Settings::read(&text).ok_or_else(|| {
            format!(
                "{VARIABLE}: expected settings like {EXAMPLE}, with a kernel's name, got {text:?}"
            )
        }),
    });
    asked.as_ref().map_err(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read() {
        let us = Duration::from_micros;
        let (launch, transfer) = (us(5), us(7));
        let delays = |elements_per_us| {
            Some(Delays {
                launch,
                transfer,
                elements_per_us,
            })
        };
        let read = |text| Settings::read(text).map(|settings| settings.delays);
        assert_eq!(read("launch_us=5, transfer_us=7"), Some(delays(None)));
        let all = "launch_us=5,transfer_us=7,elements_per_us=2";
        assert_eq!(read(all), Some(delays(Some(2))));
        let takes = delays(Some(2)).map(|delays| delays.of_launches(3, 100));
        assert_eq!(takes, Some(us(65)));
        let lacking = Settings::read("lacks=ntt,lacks=modmul").unwrap_or_default();
        let lacks: Vec<&str> = lacking.lacks.iter().map(String::as_str).collect();
        assert_eq!((lacks, lacking.delays), (vec!["modmul", "ntt"], None));
        let wrong = [
            "",
            "launch_us",
            "launch_us=x",
            "other=1",
            "lacks=ntl",
            "elements_per_us=0",
        ];
        for wrong in wrong {
            assert_eq!(Settings::read(wrong), None, "{wrong}");
        }
        assert!(Settings::read(EXAMPLE).is_some());
    }
}
