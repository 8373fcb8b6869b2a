//! Contents that a call demands: launches of checks before its own, whose status words are read at
//! once.

use super::launch::{OwnCopy, Settled};
use super::{Context, EagerArg, EagerError, Tensor, with_args};
use crate::exec::check;
use crate::memory::derived::Blocks;
use cloakwork_ir::{DType, View, read_word};
use cloakwork_kernels::Isa;
use cloakwork_ops::ContentCheck;
use smallvec::SmallVec;
use std::convert::Infallible;
use std::sync::atomic::AtomicU64;

/// A demand on the contents of an argument, with the launch that checks it.
struct Due {
    param: usize,
    rule: ContentCheck,
    bound: i64,
    launch: Option<Settled>,
}

impl Due {
    /// `None` for the launch of integers, and where there is nothing to check.
    fn new(
        (param, rule, bound): (usize, ContentCheck, i64),
        operand: Option<(DType, &View)>,
        isa: Isa,
    ) -> Result<Self, EagerError> {
        let checking = operand.and_then(|(dtype, view)| rule.launch(bound, dtype, view));
        let launch = match checking {
            Some(checking) => Settled::new(&checking.launch, |_| Some(checking.dtype), isa)?
                .map(|launch| launch.weighing(checking.weight_ns)),
            None => None,
        };
        Ok(Self {
            param,
            rule,
            bound,
            launch,
        })
    }

    /// Checks a tensor of the layout that this was made for.
    fn hold(&self, context: Context, tensor: &Tensor) -> Result<(), EagerError> {
        let Some(launch) = &self.launch else {
            return Ok(());
        };
        let status = AtomicU64::new(0);
        let data = [status.as_ptr().cast(), tensor.data().cast()];
        // SAFETY: the status word is this call's, and the tensor has the layout that the launch was
        // made for; checks have no constants.
        unsafe { launch.start(&data, &Blocks::default(), context.threads) }?;
        match status.into_inner() {
            0 => Ok(()),
            status => Err(self.refused(context, tensor, status)),
        }
    }

    #[cold]
    fn refused(&self, context: Context, tensor: &Tensor, status: u64) -> EagerError {
        let (view, bytes) = (tensor.view(), (**tensor.storage()).as_ref());
        let (dtype, size) = (tensor.dtype(), tensor.dtype().size_bytes());
        let read = |offset: i64| {
            let first = (view.offset + offset) as usize * size;
            let element = bytes.get(first..first + size).unwrap_or_default();
            Ok::<_, Infallible>(read_word(dtype, element))
        };
        let Ok(error) = check::refusal((self.rule, self.bound), view, status, read);
        EagerError::Call {
            op: context.def.name,
            error,
        }
    }
}

/// The demands of a call on contents.
pub(super) struct Checks(SmallVec<[Due; 1]>);

impl Checks {
    /// The demands of a call with these arguments, of which some are copied before.
    pub fn of(
        Context { def, isa, .. }: Context,
        args: &[EagerArg],
        copies: &[(usize, OwnCopy)],
    ) -> Result<Self, EagerError> {
        let mut due = SmallVec::new();
        for rule in def.body.checks() {
            let Some(param) = def.param(rule.operand()) else {
                continue;
            };
            if let Some(bound) = with_args(def, args, |args| rule.bound(args))? {
                let copied = copies.iter().find(|(other, _)| *other == param);
                let operand = match &args[param] {
                    EagerArg::Tensor(tensor) => {
                        let view = copied.map_or_else(|| tensor.view(), |(_, copy)| copy.view());
                        Some((tensor.dtype(), view))
                    }
                    _ => None,
                };
                due.push(Due::new((param, *rule, bound), operand, isa)?);
            }
        }
        Ok(Self(due))
    }

    /// Holds arguments to them: integers, then elements.
    pub fn hold(&self, context: Context, args: &[EagerArg]) -> Result<(), EagerError> {
        let refused = |error| EagerError::Call {
            op: context.def.name,
            error,
        };
        for due in &self.0 {
            if let Some(EagerArg::Int(value)) = args.get(due.param) {
                due.rule.check(due.bound, &[*value]).map_err(refused)?;
            }
        }
        for due in &self.0 {
            let Some(EagerArg::Tensor(tensor)) = args.get(due.param) else {
                continue;
            };
            let check = || due.hold(context, tensor);
            match tensor.storage().derived() {
                Some(derived) => derived.once(due.rule, due.bound, tensor.view(), check),
                None => check(),
            }?;
        }
        Ok(())
    }

    /// About how long it takes to hold arguments to them.
    pub fn weight_ns(&self) -> u64 {
        let launches = self.0.iter().filter_map(|due| due.launch.as_ref());
        let weights = launches.map(|launch| launch.weight_ns);
        weights.fold(0, u64::saturating_add)
    }
}
