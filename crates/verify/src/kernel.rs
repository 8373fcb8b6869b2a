//! Calls that write: kernels and composites. Types, aliasing, and what is read before it is written.

use crate::check::Checker;
use crate::report::Issue;
use crate::spelling::Spelling;
use crate::{Action, Bound, Call, StorageOrigin, ValueId};
use cloakwork_ir::{Arg, DType, Op, Overlap, Type, View};
use cloakwork_ops::{
    Access, Aliasing, Code, ContentCheck, ExpandBody, KernelBody, OpError, OutRule, Param,
    ParamKind,
};

/// Constants with more elements than this are looked at once for equal calls, not at each.
const LARGE_CONSTANT_ELEMENTS: u64 = 64;

/// What an op demands of the tensor that it writes.
struct OutDemand {
    shape: OutRule,
    dtypes: &'static [(DType, DType)],
    aliasing: Aliasing,
}

impl OutDemand {
    /// Expansions may read any operand after they wrote some of the result.
    const OF_COMPOSITES: Self = Self {
        shape: OutRule::Exact,
        dtypes: &[],
        aliasing: Aliasing::Never,
    };
}

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
                let demand = OutDemand {
                    shape: body.out,
                    dtypes: body.dtypes,
                    aliasing: body.aliasing,
                };
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
        let listed = first.is_some_and(|first| demand.dtypes.contains(&(first, actual.dtype)));
        let dtype_fits = actual.dtype == inferred.dtype || listed;
        let shape_fits = match demand.shape {
            OutRule::Exact => actual.shape == inferred.shape,
            OutRule::Broadcast => inferred.shape.broadcasts_to(&actual.shape),
        };
        let code = match (dtype_fits, shape_fits) {
            (true, true) => return Some(()),
            (false, _) => Code::Dtype,
            (true, false) => Code::Shape,
        };
        self.refuse_out(spelling, op, code, (inferred, actual));
        None
    }

    fn refuse_out(
        &mut self,
        spelling: &Spelling,
        op: &Op,
        code: Code,
        (inferred, actual): (Type, Type),
    ) {
        let operand = spelling.out_name();
        let error = OpError::new(code, operand, inferred.to_string(), actual.to_string());
        self.refuse(spelling, op, error);
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
        let mut error = None;
        if written.view.overlaps_itself() {
            let got = "a view in which elements coincide";
            let operand = spelling.out_name();
            error = Some(OpError::new(Code::Aliasing, operand, "elements apart", got));
        }
        for (param, bound) in call.def.params.iter().zip(&call.values) {
            let Bound::Value(id) = *bound else { continue };
            let Some(read) = self.values.value(id) else {
                continue;
            };
            if !is_read(param) || read.storage != written.storage {
                continue;
            }
            let allowed = match (read.view.overlap(&written.view), rule) {
                (Overlap::Disjoint, _) | (Overlap::Same, Aliasing::Same) => true,
                (Overlap::Same, Aliasing::Only(name)) => name == param.name,
                (Overlap::Same, Aliasing::Never) | (Overlap::Partial, _) => false,
            };
            if !allowed {
                error.get_or_insert(overlapping(param, rule));
            }
        }
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

/// Whether the op's kernels read this parameter's elements. An accumulating op reads its `out`
/// too; HEAL's programs do that onto fresh zeros, so it is not counted.
fn is_read(param: &Param) -> bool {
    matches!(
        param.kind,
        ParamKind::Tensor | ParamKind::TensorOrInt | ParamKind::OptionalTensor
    )
}

fn overlapping(param: &Param, rule: Aliasing) -> OpError {
    let expected = match rule {
        Aliasing::Same => "the very elements of `out`, or none of them",
        Aliasing::Only(name) if name == param.name => "the very elements of `out`, or none of them",
        Aliasing::Only(_) | Aliasing::Never => "none of the elements of `out`",
    };
    OpError::new(Code::Aliasing, param.name, expected, "some of them")
        .hint("write into another tensor")
}
