//! The drivers that this process has loaded.

use crate::Driver;
use cloakwork_ir::{DriverName, NameError};
use cloakwork_process::{Mutex, Once};
use std::path::{Path, PathBuf};

#[derive(Debug)]
struct Loaded {
    driver: Driver,
    file: Option<PathBuf>,
}

/// By the place of their names. A driver is never removed.
static DRIVERS: [Once<Loaded>; 256] = [const { Once::new() }; 256];
/// Held while a driver is added: a name without a driver is seen by nobody else.
static ADDING: Mutex<()> = Mutex::new(());

/// Registers a driver's name.
pub fn add(name: &str, driver: Driver, file: Option<PathBuf>) -> Result<DriverName, NameError> {
    let _adding = ADDING.lock();
    let name = DriverName::register(name)?;
    // The place is free, as the name is new.
    let _ = DRIVERS[name.place()].set(Loaded { driver, file });
    Ok(name)
}

/// The driver of a name, which may be registered just now.
pub fn of(name: DriverName) -> Option<&'static Driver> {
    let slot = &DRIVERS[name.place()];
    let found = slot.get().or_else(|| {
        let _adding = ADDING.lock();
        slot.get()
    });
    found.map(|loaded| &loaded.driver)
}

/// The driver that was loaded from a file.
pub fn of_file(file: &Path) -> Option<DriverName> {
    DriverName::all().find(|name| file_of(*name) == Some(file))
}

/// The file that a driver was loaded from.
pub fn file_of(name: DriverName) -> Option<&'static Path> {
    DRIVERS[name.place()].get()?.file.as_deref()
}
