//! Calls that write, kernels and composites: types, contents, and what may be where.

use crate::check::Checker;
use crate::report::Issue;
use crate::single::{OutDemand, aliasing_error};
use crate::spelling::Site;
use crate::{Action, Bound, Call, StorageOrigin, ValueId};
use cloakwork_ir::{Arg, Type, View};
use cloakwork_ops::{
    Access, Aliasing, Args, ContentCheck, ExpandBody, KernelBody, OpError, ParamKind,
};
use smallvec::SmallVec;

/// Constants with more elements than this are looked at once even if other values show them.
const LARGE_CONSTANT_ELEMENTS: u64 = 64;

type Bounds = SmallVec<[Option<i64>; 4]>;

impl<'p> Checker<'p> {
    pub fn kernel(&mut self, site: Site<'_>, mut call: Call, body: &KernelBody) -> Option<()> {
        let inferred = self.infer(site, &call, body.infer)?;
        let param = site.spelling.out?;
        let accumulates = body.access == Access::Accumulate && self.program.threads.is_some();
        let out = match call.value(param) {
            Some(out) => {
                let demand = OutDemand::of(body);
                self.check_out(site, &call, (out, inferred), &demand)?;
                if accumulates {
                    self.read(site, param, out);
                }
                out
            }
            None => {
                let origin = match body.access {
                    Access::Write => StorageOrigin::Copy,
                    Access::Accumulate => StorageOrigin::Zeros,
                };
                let value = self.made(site, &call, inferred, origin)?;
                self.actions.push((self.step, Action::Allocate { value }));
                *call.values.get_mut(param)? = Bound::Value(value);
                value
            }
        };
        self.read_operands(site, &call);
        self.follow_repr(site, &call, out)?;
        self.drawn(&call);
        self.written(&call, out);
        self.finish(site.op, Action::Kernel { call, out })
    }

    /// Notes that a call writes, and what is known of the contents then.
    fn written(&mut self, call: &Call, out: ValueId) {
        let (grown, copied) = (self.grown(call, out), self.copied(call, out));
        self.write(out);
        let Some(storage) = self.values.storage_of(out) else {
            return;
        };
        if let Some(lengths) = grown {
            self.heads.insert(storage, lengths);
        }
        if let Some(source) = copied {
            self.copies.insert(storage, source);
        }
    }

    pub fn composite(&mut self, site: Site<'_>, call: Call, body: &ExpandBody) -> Option<()> {
        let inferred = self.infer(site, &call, body.infer)?;
        let result = match site.spelling.out.and_then(|param| call.value(param)) {
            Some(out) => {
                self.check_out(site, &call, (out, inferred), &OutDemand::OF_COMPOSITES)?;
                out
            }
            None => self.made(site, &call, inferred, StorageOrigin::Copy)?,
        };
        self.read_operands(site, &call);
        self.follow_repr(site, &call, result)?;
        if call.values.contains(&Bound::Value(result)) {
            self.written(&call, result);
        } else if let (Some(lengths), Some(info)) =
            (self.grown(&call, result), self.values.value(result))
        {
            self.heads.insert(info.storage, lengths);
        }
        self.finish(site.op, Action::Composite { call, result })
    }

    /// A new result, where the call computes.
    fn made(
        &mut self,
        site: Site<'_>,
        call: &Call,
        ty: Type,
        origin: StorageOrigin,
    ) -> Option<ValueId> {
        let name = self.result_name(site.op)?;
        let value = self.create(name, (ty.dtype, View::contiguous(ty.shape)), origin)?;
        self.values.put(value, self.values.device_of_call(call));
        Some(value)
    }

    fn type_of(&self, value: ValueId) -> Option<Type> {
        let info = self.values.value(value)?;
        Some(Type::new(info.dtype, info.view.shape.clone()))
    }

    /// The type that the declaration infers, if known contents satisfy its checks.
    fn infer(
        &mut self,
        site: Site<'_>,
        call: &Call,
        infer: fn(&Args) -> Result<Type, OpError>,
    ) -> Option<Type> {
        let checks = call.def.body.checks();
        let (ty, bounds) = self.ask(site, call, |args| {
            let ty = infer(args)?;
            let bounds: Result<Bounds, OpError> =
                checks.iter().map(|check| check.bound(args)).collect();
            Ok((ty, bounds?))
        })?;
        for (index, (check, bound)) in checks.iter().zip(bounds).enumerate() {
            if let Some(bound) = bound
                && let Err(error) = self.check_contents(call, index, check, bound)
            {
                self.refuse(site, error);
                return None;
            }
        }
        Some(ty)
    }

    /// Looks at the contents of a parameter, if they are known; once for equal demands.
    fn check_contents(
        &mut self,
        call: &Call,
        index: usize,
        check: &ContentCheck,
        bound: i64,
    ) -> Result<(), OpError> {
        let Some(param) = call.def.param(check.operand()) else {
            return Ok(());
        };
        let value = match call.values.get(param) {
            Some(Bound::Int(word)) => return check.check(bound, &[*word]),
            Some(Bound::Value(value)) if check.is_about_transcripts() => {
                let head = self.head_of(*value);
                return head.map_or(Ok(()), |head| check.check(bound, &head));
            }
            Some(Bound::Value(value)) if call.is_constant(param) => *value,
            _ => return Ok(()),
        };
        let def = std::ptr::from_ref(call.def) as usize;
        let key = (def, index, bound, value);
        if self.checked.contains(&key) {
            return Ok(());
        }
        let large = self.values.value(value).and_then(|info| {
            let is_large = info.view.shape.elements() > LARGE_CONSTANT_ELEMENTS;
            is_large.then(|| (def, index, bound, info.storage, info.view.clone()))
        });
        let seen = large
            .as_ref()
            .is_some_and(|key| self.checked_large.contains(key));
        if let Some(tensor) = self
            .values
            .constant(self.program, call, param)
            .filter(|_| !seen)
        {
            check.check_tensor(bound, &tensor)?;
        }
        self.checked.insert(key);
        self.checked_large.extend(large);
        Ok(())
    }

    /// The tensor that is written is of the right type and apart from what is read.
    fn check_out(
        &mut self,
        site: Site<'_>,
        call: &Call,
        (out, inferred): (ValueId, Type),
        demand: &OutDemand,
    ) -> Option<()> {
        let own = match self.program.out(site.op) {
            Some(Arg::Device(symbol, _)) => Some(*symbol),
            None | Some(Arg::None) => None,
            Some(_) => Some(self.result_name(site.op)?),
        };
        let typed = self.check_out_type(site, call, (out, inferred), demand);
        let apart = self.check_aliasing(site, call, out, demand.aliasing);
        typed.and(apart)?;
        let written = self.name_of(site, site.spelling.out?)?;
        if let Some(own) = own.filter(|own| *own != written) {
            // HEAL binds the step's own name to the tensor that was written.
            let name = |symbol| format!("%{}", self.program.symbol_name(symbol));
            let issue = Issue::warning("result-name", name(written), name(own))
                .operand("result")
                .names([own, written])
                .hint("both names now refer to the tensor that was written");
            self.report(issue);
        }
        Some(())
    }

    fn check_out_type(
        &mut self,
        site: Site<'_>,
        call: &Call,
        (out, inferred): (ValueId, Type),
        demand: &OutDemand,
    ) -> Option<()> {
        let actual = self.type_of(out)?;
        let first = call
            .def
            .params
            .iter()
            .zip(&call.values)
            .find_map(|(param, bound)| match (param.kind, bound) {
                (ParamKind::Out, _) => None,
                (_, Bound::Value(id)) => self.values.value(*id).map(|info| info.dtype),
                _ => None,
            });
        let code = demand.type_code(first, &inferred, &actual);
        let Some(code) = code else { return Some(()) };
        let operand = site.spelling.out_name();
        let error = OpError::new(code, operand, inferred.to_string(), actual.to_string());
        self.refuse(site, error);
        None
    }

    /// Checks that the result overlaps neither itself nor, but for overlaps that the op allows, an
    /// operand.
    fn check_aliasing(
        &mut self,
        site: Site<'_>,
        call: &Call,
        out: ValueId,
        rule: Aliasing,
    ) -> Option<()> {
        let written = self.values.value(out)?;
        let reads = call.reads().filter_map(|(_, param, id)| {
            let read = self.values.value(id)?;
            (read.storage == written.storage).then_some((param, &read.view))
        });
        let error = aliasing_error(site.spelling.out_name(), &written.view, reads, rule);
        match error {
            None => Some(()),
            Some(error) => {
                self.refuse(site, error);
                None
            }
        }
    }

    fn read_operands(&mut self, site: Site<'_>, call: &Call) {
        for (index, _, value) in call.reads() {
            self.read(site, index, value);
        }
    }
}
