//! The slow interpreter: computes each op of a verified program by its reference, over 64-bit words
//! in the layout of HEAL's runtime. The oracle for kernels and planner.

use crate::RunError;
use crate::eager::{self, EagerArg, EagerError};
use crate::exec::hosts::Inputs;
use cloakwork_ir::{HostId, HostSlot, HostTensor, View};
use cloakwork_kernels::Isa;
use cloakwork_ops::{
    Args, Body, Code, Contents, Expected, OpError, Reference, Value, Verdict, check_known,
};
use cloakwork_verify::{Action, Bound, Call, StorageId, ValueId, Verified};

/// The contents of all storages, step by step.
pub struct Interpreter<'a> {
    verified: &'a Verified,
    inputs: &'a dyn Inputs,
    storages: Vec<Vec<i64>>,
}

impl<'a> Interpreter<'a> {
    /// Starts with no computed values.
    #[must_use]
    pub fn new(verified: &'a Verified, inputs: &'a dyn Inputs) -> Self {
        let storages = vec![Vec::new(); verified.storages().len()];
        Self {
            verified,
            inputs,
            storages,
        }
    }

    /// Executes one action that no kernel computes.
    ///
    /// # Errors
    /// An action of kernels, or a composite op: lower the program first.
    pub fn action(&mut self, action: &Action) -> Result<(), RunError> {
        match action {
            Action::Upload { host, value } => {
                let words = self.host_words(*host)?;
                self.allocate(*value)?;
                self.write(*value, &words)
            }
            Action::Allocate { value } => self.allocate(*value),
            Action::View { .. } | Action::Download { .. } => Ok(()),
            Action::Copy { source, value, .. } => {
                let words = self.words(*source);
                self.allocate(*value)?;
                self.write(*value, &words)
            }
            Action::Kernel { .. } => Err(RunError::Internal("`judge` holds kernels".into())),
            Action::Composite { .. } => {
                Err(RunError::Internal("a composite op was not expanded".into()))
            }
        }
    }

    /// The components of a value's elements, row-major.
    #[must_use]
    pub fn words(&self, value: ValueId) -> Vec<i64> {
        let Some(info) = self.verified.value(value) else {
            return Vec::new();
        };
        let Some(storage) = self.storages.get(info.storage.0 as usize) else {
            return Vec::new();
        };
        let parts = info.dtype.components();
        let at = |place: usize| storage.get(place).copied().unwrap_or(0);
        let element = |offset: i64| (0..parts).map(move |part| at(offset as usize * parts + part));
        info.view.offsets().flat_map(element).collect()
    }

    /// Judges the result of a kernel call. Operands are those before the call: call `adopt` with
    /// the result afterwards. `step` is the program's step, for errors.
    ///
    /// # Errors
    /// Contents that an op does not accept.
    pub fn judge(
        &self,
        step: u32,
        (call, out): (&Call, ValueId),
        got: &[i64],
    ) -> Result<Judgement, RunError> {
        let Body::Kernel(body) = &call.def.body else {
            return Err(RunError::Internal(
                "a kernel action without a kernel".into(),
            ));
        };
        let operands = Operands {
            call,
            words: (0..call.values.len())
                .map(|param| self.operand(call, param))
                .collect(),
        };
        let wrong = |error: OpError| RunError::Contents {
            step,
            place: self.verified.label(step),
            op: call.def.name.to_owned(),
            error: Box::new(error),
        };
        let view_of = |value| self.verified.view(value);
        let judgement = self.verified.with_args(call, view_of, |args| {
            check_contents(args, &operands)?;
            Ok(match body.reference {
                Reference::Values(values) => match values(args, &operands)? {
                    Expected::TooLarge => None,
                    expected => Some(Judgement::Reference(expected)),
                },
                Reference::Judge(judge) => match judge(args, &operands, got)? {
                    Verdict::TooLarge => None,
                    verdict => Some(Judgement::Verdict(verdict)),
                },
                Reference::Callers => Some(Judgement::Callers),
            })
        });
        match judgement.map_err(wrong)? {
            Some(judgement) => Ok(judgement),
            None => {
                let words = self.portable(step, call, out)?;
                Ok(Judgement::Portable(words))
            }
        }
    }

    /// Stores the result of a kernel call, so that the next call is judged independently.
    ///
    /// # Errors
    /// The value is undefined.
    pub fn adopt(&mut self, out: ValueId, words: &[i64]) -> Result<(), RunError> {
        self.write(out, words)
    }

    /// The result by portable kernels, if the reference takes too long: over the same strides,
    /// since the order of floating-point sums depends on them.
    ///
    /// # Errors
    /// As the call's.
    /// As the call's.
    pub fn portable(&self, step: u32, call: &Call, out: ValueId) -> Result<Vec<i64>, RunError> {
        let args = call.values.iter().map(|bound| match bound {
            Bound::Value(value) => self.tensor(*value).map(EagerArg::Tensor),
            Bound::Int(value) => Ok(EagerArg::Int(*value)),
            Bound::Shape(place) => Ok(EagerArg::Shape(self.verified.items(*place).to_vec())),
            Bound::DType(dtype) => Ok(EagerArg::DType(*dtype)),
            Bound::Host(_) | Bound::Absent => Ok(EagerArg::None),
        });
        let mut args: Vec<EagerArg> = args.collect::<Result<_, RunError>>()?;
        if let Some(slot) = call.def.out().and_then(|place| args.get_mut(place)) {
            *slot = EagerArg::Tensor(self.tensor(out)?);
        }
        let result = eager::call(call.def, args, 1, Isa::PORTABLE).and_then(|t| Ok(t.to_host()?));
        match result {
            Ok(host) => Ok(host.words()),
            Err(EagerError::Run(error)) => Err(error),
            Err(EagerError::Call { op, error }) => Err(RunError::Contents {
                step,
                place: self.verified.label(step),
                op: op.to_owned(),
                error: Box::new(error),
            }),
        }
    }

    /// A value as a tensor of the same view, over a copy of its storage.
    fn tensor(&self, value: ValueId) -> Result<eager::Tensor, RunError> {
        let info = self.verified.value(value).ok_or_else(no_value)?;
        let words = self
            .storages
            .get(info.storage.0 as usize)
            .ok_or_else(no_value)?;
        let component = info.dtype.component();
        let mut bytes = vec![0; words.len() * component.size_bytes()];
        for (to, &word) in bytes.chunks_exact_mut(component.size_bytes()).zip(words) {
            cloakwork_ir::write_word(component, word, to);
        }
        eager::Tensor::from_bytes(info.dtype, info.view.clone(), &bytes)
    }

    fn operand(&self, call: &Call, param: usize) -> Vec<i64> {
        match (call.value(param), call.values.get(param)) {
            (Some(value), _) => self.words(value),
            (None, Some(cloakwork_verify::Bound::Int(value))) => vec![*value],
            _ => Vec::new(),
        }
    }

    fn allocate(&mut self, value: ValueId) -> Result<(), RunError> {
        let id = self.storage_of(value)?;
        let extent = self
            .verified
            .storage(id)
            .map_or(0, |info| info.root.bounds().1);
        if let Some(storage) = self.storages.get_mut(id.0 as usize) {
            let parts = self
                .verified
                .value(value)
                .map_or(1, |v| v.dtype.components());
            *storage = vec![0; extent as usize * parts];
        }
        Ok(())
    }

    fn write(&mut self, value: ValueId, words: &[i64]) -> Result<(), RunError> {
        let id = self.storage_of(value)?;
        let info = self.verified.value(value).ok_or_else(no_value)?;
        let storage = self.storages.get_mut(id.0 as usize).ok_or_else(no_value)?;
        let view: &View = &info.view;
        let parts = info.dtype.components();
        for (offset, element) in view.offsets().zip(words.chunks_exact(parts)) {
            for (part, &word) in element.iter().enumerate() {
                if let Some(place) = storage.get_mut(offset as usize * parts + part) {
                    *place = wrap(info.dtype, word);
                }
            }
        }
        Ok(())
    }

    fn storage_of(&self, value: ValueId) -> Result<StorageId, RunError> {
        self.verified
            .value(value)
            .map(|info| info.storage)
            .ok_or_else(no_value)
    }

    fn host_words(&self, host: HostId) -> Result<Vec<i64>, RunError> {
        match self.verified.program().host(host) {
            Some(HostSlot::Data(tensor)) => Ok(tensor.words()),
            _ => self
                .inputs
                .input(host)
                .map(HostTensor::words)
                .ok_or_else(no_value),
        }
    }
}

/// The oracle for a kernel's result.
pub enum Judgement {
    /// The result of the op's reference.
    Reference(Expected),
    /// The verdict of the op's reference.
    Verdict(Verdict),
    /// The result of the portable kernel: the reference takes too long.
    Portable(Vec<i64>),
    /// No oracle: the caller's function computed it.
    Callers,
}

fn no_value() -> RunError {
    RunError::Internal("the interpreter met a value that is not there".into())
}

/// The word as the dtype stores it: i8 results wrap.
pub fn wrap(dtype: cloakwork_ir::DType, word: i64) -> i64 {
    let mut bytes = [0; 8];
    cloakwork_ir::write_word(dtype, word, &mut bytes);
    cloakwork_ir::read_word(dtype, &bytes)
}

/// Applies the declaration's content checks to all operands: here, all contents are known.
fn check_contents(args: &Args, operands: &Operands) -> Result<(), OpError> {
    check_known(args)?;
    let Body::Kernel(body) = &args.def.body else {
        return Ok(());
    };
    for rule in body.checks {
        if matches!(args.value(rule.operand())?, Value::Absent) {
            continue;
        }
        if let Some(bound) = rule.bound(args)? {
            rule.check(bound, operands.words(rule.operand())?)?;
        }
    }
    Ok(())
}

struct Operands<'a> {
    call: &'a Call,
    words: Vec<Vec<i64>>,
}

impl Contents for Operands<'_> {
    fn words(&self, param: &str) -> Result<&[i64], OpError> {
        let words = self
            .call
            .def
            .param(param)
            .and_then(|index| self.words.get(index));
        words.map(Vec::as_slice).ok_or_else(|| {
            OpError::new(
                Code::ArgumentType,
                "",
                format!("a parameter {param}"),
                "none",
            )
        })
    }
}
