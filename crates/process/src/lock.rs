//! Locks that no thread holds, and tables that no thread initializes, while the process forks.

use crate::fork::Inside;
use std::ops::{Deref, DerefMut};
use std::sync::{MutexGuard, OnceLock, PoisonError, TryLockError};

/// A lock for short: nothing of anybody else's runs, and nobody waits, while it is held. What a
/// panic has left in it is taken as it is.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// The value of a [`Mutex`].
pub struct Guard<'a, T> {
    // Dropped first: the lock is given back inside.
    value: MutexGuard<'a, T>,
    _inside: Inside,
}

impl<T> Mutex<T> {
    /// Nobody holds it.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for it.
    pub fn lock(&self) -> Guard<'_, T> {
        let inside = Inside::enter();
        Guard {
            value: self.0.lock().unwrap_or_else(PoisonError::into_inner),
            _inside: inside,
        }
    }

    /// None if it is held.
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
    /// Not made yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// It, if it was made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// It, made now if need be.
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

    /// Gives it a value.
    ///
    /// # Errors
    /// It has one: this one comes back.
    pub fn set(&self, value: T) -> Result<(), T> {
        let _inside = Inside::enter();
        self.0.set(value)
    }
}
