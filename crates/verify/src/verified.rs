//! A program that has been made sense of.

use crate::values::{Values, items};
use crate::{Action, ArgPlace, Call, StorageId, StorageInfo, ValueId, ValueInfo};
use cloakwork_ir::{Device, Finding, HostTensor, Program, Severity, ShapeItem, Text, View};
use cloakwork_ops::Args;
use cloakwork_process::Once;
use std::fmt;
use std::sync::Arc;

/// A program each step of which is resolved, typed and in bounds. Only [`crate::verify`] makes one.
#[derive(Debug)]
pub struct Verified {
    pub(crate) program: Arc<Program>,
    /// The program that this one was made from, and where its steps come from: of several threads,
    /// with ops that were expanded, or as it was before passes.
    pub(crate) source: Option<(Arc<Program>, Arc<[u32]>)>,
    pub(crate) values: Values,
    pub(crate) actions: Vec<(u32, Action)>,
    /// Steps from which another innermost segment holds, in order.
    pub(crate) segments: Vec<(u32, Option<Text>)>,
    /// The same without composite ops, once it was wanted.
    pub(crate) lowered: Once<Arc<Verified>>,
    /// The same as passes made it, once that was wanted; none where they change nothing.
    pub(crate) cleaned: Once<Option<Arc<Verified>>>,
}

/// A program derived from a verified one does not verify: a mistake of its maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The source's step.
    pub step: u32,
    /// The mistake, in words.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.message)
    }
}

/// The outcome of [`crate::verify`].
#[derive(Debug)]
pub struct Verification {
    /// Everything found, in the order of steps.
    pub findings: Vec<Finding>,
    /// The program's meaning, if there is no error among the findings.
    pub verified: Option<Verified>,
}

impl Verification {
    /// Findings that forbid running.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

impl Verified {
    /// The program: as written, or what was made of it, in one thread, expanded or by passes.
    #[must_use]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The program as written.
    #[must_use]
    pub fn source(&self) -> &Arc<Program> {
        self.source
            .as_ref()
            .map_or(&self.program, |(source, _)| source)
    }

    /// The same program as passes make it, which `make` does when it is first wanted; none where
    /// they change nothing.
    ///
    /// # Errors
    /// What `make` says, each time.
    pub fn cleaned<E>(
        &self,
        make: impl FnOnce() -> Result<Option<Arc<Self>>, E>,
    ) -> Result<Option<Arc<Self>>, E> {
        if let Some(made) = self.cleaned.get() {
            return Ok(made.clone());
        }
        let made = make()?;
        Ok(self.cleaned.get_or_init(|| made).clone())
    }

    /// The limit of each device as the program states it, in bytes; entries whose names are no
    /// device are left out.
    pub fn budgets(&self) -> impl Iterator<Item = (Device, u64)> {
        let source = self.source();
        let said = source
            .threads
            .as_deref()
            .map_or(&[][..], |threads| &threads.budgets);
        said.iter()
            .filter_map(|(name, bytes)| Some((Device::from_name(source.text_name(*name))?, *bytes)))
    }

    /// For each step of [`Verified::program`] the one of [`Verified::source`], where they differ.
    #[must_use]
    pub fn origins(&self) -> Option<Arc<[u32]>> {
        self.source.as_ref().map(|(_, origins)| Arc::clone(origins))
    }

    /// A step of the source as messages name it.
    #[must_use]
    pub fn label(&self, step: u32) -> String {
        crate::threads::label(self.source(), step)
    }

    /// The message of a step of the source whose assertion does not hold, if it has one.
    #[must_use]
    pub fn message(&self, step: u32) -> Option<&str> {
        let source = self.source();
        let note = source.threads.as_ref()?.note(step);
        note.message.map(|text| source.text_name(text))
    }

    /// All values, indexed by [`ValueId`].
    #[must_use]
    pub fn values(&self) -> &[ValueInfo] {
        &self.values.values
    }

    /// All storages, indexed by [`StorageId`].
    #[must_use]
    pub fn storages(&self) -> &[StorageInfo] {
        &self.values.storages
    }

    /// A value; `None` for an id of another program.
    #[must_use]
    pub fn value(&self, id: ValueId) -> Option<&ValueInfo> {
        self.values.value(id)
    }

    /// A storage; `None` for an id of another program.
    #[must_use]
    pub fn storage(&self, id: StorageId) -> Option<&StorageInfo> {
        self.values.storage(id)
    }

    /// The logical view of a value: what [`Verified::with_args`] wants for `infer` and views.
    #[must_use]
    pub fn view(&self, id: ValueId) -> &View {
        self.values.view(id)
    }

    /// The actions in order, each with its step number.
    #[must_use]
    pub fn actions(&self) -> &[(u32, Action)] {
        &self.actions
    }

    /// The innermost segment around a step.
    #[must_use]
    pub fn segment_of(&self, step: u32) -> Option<Text> {
        let next = self.segments.partition_point(|&(from, _)| from <= step);
        let (_, segment) = self.segments.get(next.checked_sub(1)?)?;
        *segment
    }

    /// The entries of a list argument.
    #[must_use]
    pub fn items(&self, place: ArgPlace) -> &[ShapeItem] {
        items(&self.program, place.step, place.index)
    }

    /// The contents of a parameter under the value's logical view, where `call.constants` says that
    /// they are known.
    #[must_use]
    pub fn constant(&self, call: &Call, param: usize) -> Option<HostTensor> {
        self.values.constant(&self.program, call, param)
    }

    /// Shows a call to a function of its declaration, with the views that `view_of` gives: logical
    /// ones, or those over a layout that a planner chose.
    pub fn with_args<'v, R>(
        &'v self,
        call: &Call,
        view_of: impl Fn(ValueId) -> &'v View,
        f: impl FnOnce(&Args) -> R,
    ) -> R {
        self.values.with_args(&self.program, call, view_of, f)
    }

    /// As [`Verified::with_args`], without contents: all that launches depend on, and quicker.
    pub fn with_views<'v, R>(
        &'v self,
        call: &Call,
        view_of: impl Fn(ValueId) -> &'v View,
        f: impl FnOnce(&Args) -> R,
    ) -> R {
        self.values
            .with_contents(&self.program, call, view_of, &[], f)
    }
}
