//! Calls that write: kernels and composites. Types, aliasing, and what is read before it is written.

use crate::check::Checker;
use crate::report::Issue;
use crate::single::{OutDemand, aliasing_error, is_read};
use crate::spelling::Spelling;
use crate::{Action, Bound, Call, StorageOrigin, ValueId};
use cloakwork_ir::{Arg, Op, Type, View};
use cloakwork_ops::{Access, Aliasing, ContentCheck, ExpandBody, KernelBody, OpError, ParamKind};

/// Constants with more elements than this are looked at once for equal calls, not at each.
const LARGE_CONSTANT_ELEMENTS: u64 = 64;

impl<'p> Checker<'p> {
    pub fn kernel(
        &mut self,
        spelling: &Spelling,
        op: &'p Op,
        mut call: Call,
        body: &KernelBody,
    ) -> Option<()> {
        let inferred = self.ask(spelling, op, &call, body.infer)?;
        self.check_contents(spelling, op, &call, body.checks)?;
        let param = spelling.out?;
        let out = match call.value(param) {
            Some(out) => {
                let demand = OutDemand::of(body);
                self.check_out(spelling, op, &call, (out, inferred), &demand)?;
                out
            }
            None => {
                let name = self.result_name(op)?;
                let origin = match body.access {
                    Access::Write => StorageOrigin::Copy,
                    Access::Accumulate => StorageOrigin::Zeros,
                };
                let root = View::contiguous(inferred.shape);
                let value = self.create(name, (inferred.dtype, root), origin)?;
                self.actions.push((self.step, Action::Allocate { value }));
                *call.values.get_mut(param)? = Bound::Value(value);
                value
            }
        };
        self.read_operands(spelling, op, &call);
        self.write(out);
        self.finish(op, Action::Kernel { call, out })
    }

    pub fn composite(
        &mut self,
        spelling: &Spelling,
        op: &'p Op,
        call: Call,
        body: &ExpandBody,
    ) -> Option<()> {
        let inferred = self.ask(spelling, op, &call, body.infer)?;
        self.check_contents(spelling, op, &call, body.checks)?;
        let result = match spelling.out.and_then(|param| call.value(param)) {
            Some(out) => {
                self.check_out(
                    spelling,
                    op,
                    &call,
                    (out, inferred),
                    &OutDemand::OF_COMPOSITES,
                )?;
                out
            }
            None => {
                let name = self.result_name(op)?;
                let root = View::contiguous(inferred.shape);
                self.create(name, (inferred.dtype, root), StorageOrigin::Copy)?
            }
        };
        self.read_operands(spelling, op, &call);
        if call.values.contains(&Bound::Value(result)) {
            self.write(result);
        }
        self.finish(op, Action::Composite { call, result })
    }

    fn type_of(&self, value: ValueId) -> Option<Type> {
        let info = self.values.value(value)?;
        Some(Type::new(info.dtype, info.view.shape.clone()))
    }

    /// Applies the declaration's demands on contents to what is known of them. Large constants,
    /// such as the permutation of each transform, are looked at once for equal demands.
    fn check_contents(
        &mut self,
        spelling: &Spelling,
        op: &Op,
        call: &Call,
        checks: &[ContentCheck],
    ) -> Option<()> {
        for (index, check) in checks.iter().enumerate() {
            let param = call.def.param(check.operand())?;
            let bound = self.ask(spelling, op, call, |args| check.bound(args))?;
            let (Some(bound), Some(value)) = (bound, call.values.get(param)) else {
                continue;
            };
            let words = match *value {
                Bound::Int(word) => vec![word],
                Bound::Value(id) if call.is_constant(param) => {
                    let info = self.values.value(id)?;
                    if info.view.shape.elements() > LARGE_CONSTANT_ELEMENTS {
                        let def = std::ptr::from_ref(call.def) as usize;
                        let key = (def, index, bound, info.storage, info.view.clone());
                        if !self.checked.insert(key) {
                            continue;
                        }
                    }
                    self.values.constant(self.program, call, param)?.words()
                }
                _ => continue,
            };
            if let Err(error) = check.check(bound, &words) {
                self.refuse(spelling, op, error);
                return None;
            }
        }
        Some(())
    }

    /// The tensor that is written is of the right type and apart from what is read.
    fn check_out(
        &mut self,
        spelling: &Spelling,
        op: &Op,
        call: &Call,
        (out, inferred): (ValueId, Type),
        demand: &OutDemand,
    ) -> Option<()> {
        let own = match self.program.out(op) {
            Some(Arg::Device(symbol, _)) => Some(*symbol),
            None | Some(Arg::None) => None,
            Some(_) => Some(self.result_name(op)?),
        };
        let typed = self.check_out_type(spelling, op, call, (out, inferred), demand);
        let apart = self.check_aliasing(spelling, op, call, out, demand.aliasing);
        typed.and(apart)?;
        let written = self.name_of(spelling, op, spelling.out_name())?;
        if let Some(own) = own.filter(|own| *own != written) {
            // HEAL binds the step's own name to the tensor that was written.
            let name = |symbol| format!("%{}", self.program.symbol_name(symbol));
            let issue = Issue::warning("result-name", name(written), name(own))
                .operand("result")
                .names([own, written])
                .hint("both names now stand for the tensor that was written");
            self.report(issue);
        }
        Some(())
    }

    fn check_out_type(
        &mut self,
        spelling: &Spelling,
        op: &Op,
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
        let operand = spelling.out_name();
        let error = OpError::new(code, operand, inferred.to_string(), actual.to_string());
        self.refuse(spelling, op, error);
        None
    }

    /// What is written overlaps neither itself nor, but for what the op allows, an operand.
    fn check_aliasing(
        &mut self,
        spelling: &Spelling,
        op: &Op,
        call: &Call,
        out: ValueId,
        rule: Aliasing,
    ) -> Option<()> {
        let written = self.values.value(out)?;
        let bound = call.def.params.iter().zip(&call.values);
        let reads = bound.filter_map(|(param, bound)| {
            let Bound::Value(id) = *bound else {
                return None;
            };
            let read = self.values.value(id)?;
            (is_read(param) && read.storage == written.storage).then_some((param, &read.view))
        });
        let error = aliasing_error(spelling.out_name(), &written.view, reads, rule);
        match error {
            None => Some(()),
            Some(error) => {
                self.refuse(spelling, op, error);
                None
            }
        }
    }

    fn read_operands(&mut self, spelling: &Spelling, op: &Op, call: &Call) {
        for (param, bound) in call.def.params.iter().zip(&call.values) {
            if let Bound::Value(id) = *bound
                && is_read(param)
            {
                let name = self.name_of(spelling, op, param.name);
                self.read(id, param.name, name);
            }
        }
    }
}
