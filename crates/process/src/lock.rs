//! Locks that no thread holds, and tables that no thread initializes, while the process forks.

use crate::fork::Inside;
use std::ops::{Deref, DerefMut};
use std::sync::{MutexGuard, OnceLock, PoisonError, TryLockError};

/// A lock for short sections: while it is held, no foreign code runs and the thread does not wait.
/// After a panic the value is used as it was left.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// The value of a [`Mutex`].
pub struct Guard<'a, T> {
    // Dropped first: the lock is released while this thread is still inside the gate.
    value: MutexGuard<'a, T>,
    _inside: Inside,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks it, and waits if another thread holds it.
    pub fn lock(&self) -> Guard<'_, T> {
        let inside = Inside::enter();
        Guard {
            value: self.0.lock().unwrap_or_else(PoisonError::into_inner),
            _inside: inside,
        }
    }

    /// Locks it; `None` if another thread holds it.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let inside = Inside::enter();
        let value = match self.0.try_lock() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Guard {
            value,
            _inside: inside,
        })
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A lazy value. Its initialization never waits.
#[derive(Debug)]
pub struct Once<T>(OnceLock<T>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Once<T> {
    /// An uninitialized value.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value, if initialized.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value; initializes it if necessary.
    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        match self.0.get() {
            Some(made) => made,
            None => self.make(make),
        }
    }

    #[cold]
    fn make(&self, make: impl FnOnce() -> T) -> &T {
        let _inside = Inside::enter();
        self.0.get_or_init(make)
    }

    /// Initializes the value.
    ///
    /// # Errors
    /// Already initialized: returns the given value.
    pub fn set(&self, value: T) -> Result<(), T> {
        let _inside = Inside::enter();
        self.0.set(value)
    }
}
