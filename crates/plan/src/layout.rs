//! Chooses how each storage lies in memory.
//!
//! HEAL's tensors have their moduli on the last axis, so neighbours in memory belong to different
//! moduli: the wrong order for SIMD. Where a kernel would read moduli along the axis with the
//! smallest stride, the storage is laid out *limb-major* instead: last axis outermost. Its logical
//! shape stays, and every view of it is replayed over the new strides. A storage with a view that
//! the new strides cannot express keeps the natural layout.

use crate::{Options, PlanError};
use cloakwork_devices::Capabilities;
use cloakwork_ir::{Device, Shape, View};
use cloakwork_ops::{
    Args, Body, ContentCheck, KernelBody, Launch, LaunchOperand, Source, Value, Viewed,
};
use cloakwork_verify::{Action, Call, StorageId, ValueId, Verified};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Physical views, where they differ from the logical views.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    limb_major: FxHashSet<StorageId>,
    views: FxHashMap<ValueId, View>,
}

impl Layout {
    /// The layout of a program's storages.
    pub fn choose(verified: &Verified, options: &Options) -> Result<Self, PlanError> {
        let mut layout = Self::default();
        if !options.limb_major {
            return Ok(layout);
        }
        for (step, action) in verified.actions() {
            if let Action::Kernel { call, .. } = action {
                layout
                    .note_wishes(verified, call, options)
                    .map_err(|message| PlanError::Internal {
                        step: *step,
                        message,
                    })?;
            }
        }
        // Each round drops the storages that do not allow it. Views depend only on their own
        // storage, so the second round drops none. It must run even if no storage is left: the
        // first round has made views of the dropped storages.
        while !layout.replay(verified) {}
        Ok(layout)
    }

    /// Whether a storage is limb-major.
    pub fn is_limb_major(&self, storage: StorageId) -> bool {
        self.limb_major.contains(&storage)
    }

    /// How many storages are limb-major.
    pub fn count(&self) -> usize {
        self.limb_major.len()
    }

    /// The physical view of a value.
    pub fn view<'a>(&'a self, verified: &'a Verified, value: ValueId) -> &'a View {
        self.views
            .get(&value)
            .unwrap_or_else(|| verified.view(value))
    }

    /// The physical view of a whole storage.
    pub fn root(&self, verified: &Verified, storage: StorageId) -> View {
        let root = verified
            .storage(storage)
            .map_or_else(no_view, |info| info.root.clone());
        if self.is_limb_major(storage) {
            limb_major(&root)
        } else {
            root
        }
    }

    fn note_wishes(
        &mut self,
        verified: &Verified,
        call: &Call,
        options: &Options,
    ) -> Result<(), String> {
        let Body::Kernel(body) = &call.def.body else {
            return Ok(());
        };
        if !(0..call.values.len()).any(|param| self.is_open((verified, options), call, param)) {
            return Ok(());
        }
        verified.with_views(
            call,
            |value| verified.view(value),
            |args| {
                let moduli = several_moduli(args, body);
                if moduli.is_empty() {
                    return Ok(());
                }
                let launches = (body.launch)(args).map_err(|error| error.to_string())?;
                for launch in &launches {
                    self.note_launch((verified, options), call, launch, &moduli);
                }
                Ok(())
            },
        )
    }

    /// Whether an operand could become limb-major and is not yet.
    fn is_open(
        &self,
        (verified, options): (&Verified, &Options),
        call: &Call,
        param: usize,
    ) -> bool {
        let storage = call
            .value(param)
            .and_then(|value| storage_of(verified, value));
        let open = |id| {
            let info = verified.storage(id)?;
            let wanted = info.root.rank() >= 2 && wishes_limb_major(info.device, options);
            (wanted && !self.is_limb_major(id)).then_some(())
        };
        storage.and_then(open).is_some()
    }

    /// Records every operand whose moduli change along its axis of smallest stride. An operand that
    /// changes with the moduli of two bases is not a tensor of residues but holds the weights
    /// between them.
    fn note_launch(
        &mut self,
        (verified, options): (&Verified, &Options),
        call: &Call,
        launch: &Launch,
        moduli: &[u8],
    ) {
        let is_moduli = |o: &&LaunchOperand| {
            let param = |&q: &u8| o.source == Source::Param(q);
            moduli.iter().any(param)
        };
        let bases: SmallVec<[&LaunchOperand; 2]> =
            launch.operands.iter().filter(is_moduli).collect();
        for operand in &launch.operands {
            let Source::Param(param) = operand.source else {
                continue;
            };
            let varies = |base: &&LaunchOperand| changes_together(operand, base, launch, |_| true);
            if bases.len() > 1 && bases.iter().all(varies) {
                continue;
            }
            let wishes = bases.iter().any(|base| {
                let spread = |((own, q), dim): ((i64, i64), i64)| q == 0 && own != 0 && dim > 1;
                changes_together(operand, base, launch, |own| own.abs() == 1)
                    && along(operand, base, launch).any(spread)
            });
            let Some(storage) = call
                .value(param as usize)
                .and_then(|v| storage_of(verified, v))
            else {
                continue;
            };
            let Some(info) = verified.storage(storage) else {
                continue;
            };
            let dense = info.root.rank() >= 2 && info.root.is_contiguous();
            if wishes && dense && wishes_limb_major(info.device, options) {
                self.limb_major.insert(storage);
            }
        }
    }

    /// Replays every view of the limb-major storages. Returns false if it had to drop some.
    fn replay(&mut self, verified: &Verified) -> bool {
        self.views.clear();
        if self.limb_major.is_empty() {
            return true;
        }
        let mut failed = FxHashSet::default();
        for (_, action) in verified.actions() {
            let (value, physical) = match action {
                Action::Upload { value, .. } | Action::Allocate { value } => {
                    let storage = storage_of(verified, *value);
                    (*value, storage.map(|storage| self.root(verified, storage)))
                }
                Action::Copy { source, value, .. } => {
                    let storage = storage_of(verified, *value);
                    let root = storage.map_or_else(no_view, |s| self.root(verified, s));
                    let shape = &verified.view(*source).shape;
                    let fits = matches!(root.reshape(shape), Ok(Some(_)));
                    (*value, fits.then_some(root))
                }
                Action::View { call, value } => (
                    *value,
                    self.replay_view(verified, call, verified.view(*value)),
                ),
                _ => continue,
            };
            let Some(storage) = storage_of(verified, value) else {
                continue;
            };
            if !self.is_limb_major(storage) {
                continue;
            }
            match physical {
                Some(view) => drop(self.views.insert(value, view)),
                None => drop(failed.insert(storage)),
            }
        }
        self.limb_major.retain(|storage| !failed.contains(storage));
        failed.is_empty()
    }

    fn replay_view(&self, verified: &Verified, call: &Call, logical: &View) -> Option<View> {
        let Body::View(view) = &call.def.body else {
            return None;
        };
        // A source of the same shape stays the same tensor: `contiguous` tests logical strides.
        let source = call.def.param("a").and_then(|a| call.value(a))?;
        if verified.view(source) == logical {
            return Some(self.view(verified, source).clone());
        }
        verified.with_views(
            call,
            |value| self.view(verified, value),
            |args| match view(args) {
                Ok(Viewed::View(view)) => Some(view),
                _ => None,
            },
        )
    }
}

/// Whether the device of a storage wants moduli outermost.
fn wishes_limb_major(own: Device, options: &Options) -> bool {
    let (driver, _) = options.drivers.of(options.device_of(own));
    driver.has(Capabilities::LIMB_MAJOR)
}

fn storage_of(verified: &Verified, value: ValueId) -> Option<StorageId> {
    verified.value(value).map(|info| info.storage)
}

fn no_view() -> View {
    View::contiguous(Shape::scalar())
}

/// The parameters that hold several moduli, by the declaration's content checks.
fn several_moduli(args: &Args, body: &KernelBody) -> SmallVec<[u8; 2]> {
    let param = |check: &ContentCheck| match check {
        ContentCheck::Modulus(name) => args.def.param(name),
        _ => None,
    };
    let several = |&param: &usize| match args.values.get(param) {
        Some(Value::Tensor(operand)) => operand.view.rank() == 1 && operand.dims()[0] > 1,
        _ => false,
    };
    let params = body.checks.iter().filter_map(param).filter(several);
    params.map(|param| param as u8).collect()
}

/// Strides of an operand and of the moduli along each axis, and the axis' size.
fn along<'a>(
    operand: &'a LaunchOperand,
    moduli: &'a LaunchOperand,
    launch: &'a Launch,
) -> impl Iterator<Item = ((i64, i64), i64)> + 'a {
    let strides = operand.strides.iter().copied();
    strides
        .zip(moduli.strides.iter().copied())
        .zip(launch.dims.iter().copied())
}

/// Whether an operand changes along an axis on which the moduli change, with such a stride.
fn changes_together(
    operand: &LaunchOperand,
    moduli: &LaunchOperand,
    launch: &Launch,
    by: impl Fn(i64) -> bool,
) -> bool {
    along(operand, moduli, launch).any(|((own, q), dim)| q != 0 && own != 0 && dim > 1 && by(own))
}

/// The same extent with the last axis outermost.
fn limb_major(root: &View) -> View {
    let rank = root.rank();
    let order: Vec<usize> = std::iter::once(rank.saturating_sub(1))
        .chain(0..rank - 1)
        .collect();
    View::with_axis_order(root.shape.clone(), &order)
}
