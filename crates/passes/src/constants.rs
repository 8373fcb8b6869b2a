//! Constant folding: results of single elements that the program holds become data.
//!
//! Results are those of the references in the declarations, which say of integers, bool and
//! elements of fields exactly what kernels give. Larger tensors of a program stand for the inputs
//! of other runs as often as not, and kernels compute with them.

use crate::Draft;
use crate::draft::Change;
use crate::facts::{effect, for_demanded, for_operands};
use crate::uses::Uses;
use cloakwork_ir::{DType, HostTensor, Type, write_word};
use cloakwork_ops::{Args, Body, Code, Contents, Expected, KernelBody, OpError, Reference, Slack};
use cloakwork_verify::{Action, Bound, Call, StorageId, ValueId};
use rustc_hash::FxHashMap;

/// A result of more elements is not folded.
const MOST_ELEMENTS: u64 = 1;
/// Operands of more elements are not read.
const MOST_READ: u64 = 64;

/// Elements of the operands of a call, by parameter.
struct Known<'c> {
    call: &'c Call,
    words: Vec<Vec<i64>>,
}

impl Contents for Known<'_> {
    fn words(&self, param: &str) -> Result<&[i64], OpError> {
        let words = self.call.def.param(param).and_then(|at| self.words.get(at));
        let none = || OpError::new(Code::ArgumentType, "", "a parameter", "none");
        words.map(Vec::as_slice).ok_or_else(none)
    }
}

pub(crate) fn run(draft: &mut Draft<'_>) {
    let mut folds = Vec::new();
    let mut known: FxHashMap<StorageId, HostTensor> = FxHashMap::default();
    let mut uses = None;
    for (index, step, action) in draft.kept() {
        let Some((call, body, out)) = foldable(draft, action, &known) else {
            continue;
        };
        let (storage, _) = draft.place(out);
        let used = *uses.get_or_insert_with(|| Uses::of(draft)).get(storage);
        let own = used.writes == 1 && used.named.first == index && used.read.first > index;
        if own
            && draft.root(storage) == out
            && let Some(tensor) = folded(draft, (call, body), out, &known)
        {
            folds.push((step, out, tensor.clone()));
            known.insert(storage, tensor);
        }
    }
    let held = held_to_demands(draft, &known);
    folds.retain(|(_, value, _)| !held.contains(&draft.place(*value).0));
    for (step, value, tensor) in folds {
        draft.replace(step, Change::Data { value, tensor });
        draft.drop_maker(value, step);
    }
}

/// Storages of which some call demands what they contain: a run that refuses them is to refuse them
/// as a run does, not as the verifier refuses data.
fn held_to_demands(draft: &Draft, known: &FxHashMap<StorageId, HostTensor>) -> Vec<StorageId> {
    let mut held = Vec::new();
    for (_, _, action) in draft.kept().filter(|_| !known.is_empty()) {
        for_demanded(action, |value| held.push(draft.place(value).0));
    }
    held.retain(|storage| known.contains_key(storage));
    held
}

/// A call on operands that are known, of which the reference says the one result.
fn foldable<'v>(
    draft: &Draft<'v>,
    action: &'v Action,
    known: &FxHashMap<StorageId, HostTensor>,
) -> Option<(&'v Call, &'v KernelBody, ValueId)> {
    let Action::Kernel { call, out } = action else {
        return None;
    };
    let Body::Kernel(body) = &call.def.body else {
        return None;
    };
    let info = draft.verified.value(*out)?;
    if info.view.shape.elements() > MOST_ELEMENTS || !is_exact(info.dtype) {
        return None;
    }
    let (mut all, mut some) = (true, false);
    for_operands(call, |param, value| {
        let (storage, _) = draft.place(value);
        let info = draft.verified.value(value);
        let small = info
            .is_some_and(|info| info.view.shape.elements() <= MOST_READ && is_exact(info.dtype));
        some = true;
        all &= small && (call.is_constant(param) || known.contains_key(&storage));
    });
    let plain = effect(action).is_none() && draft.replaces_all(action);
    (all && some && plain).then_some((call, body, *out))
}

/// Elements that are equal where their numbers are.
fn is_exact(dtype: DType) -> bool {
    dtype.is_integer() || dtype.is_field() || dtype == DType::Bool
}

/// The result of a call; none where a run would refuse it.
fn folded(
    draft: &Draft,
    (call, body): (&Call, &KernelBody),
    out: ValueId,
    known: &FxHashMap<StorageId, HostTensor>,
) -> Option<HostTensor> {
    let Reference::Values(values) = body.reference else {
        return None;
    };
    let params = 0..call.values.len();
    let words = params.map(|param| words(draft, call, param, known));
    let contents = Known {
        call,
        words: words.collect::<Option<_>>()?,
    };
    let view_of = |value| draft.view(value);
    let expected = draft.verified.with_args(call, view_of, |args| {
        hold(args, body, &contents).ok()?;
        values(args, &contents).ok()
    })?;
    let words = match expected {
        Expected::Exact(words) => words,
        Expected::Near { words, slack } if slack.iter().all(|s| *s == Slack::Bits) => words,
        _ => return None,
    };
    let info = draft.verified.value(out)?;
    let component = info.dtype.component();
    let mut bytes = vec![0; words.len() * component.size_bytes()];
    for (to, word) in bytes.chunks_exact_mut(component.size_bytes()).zip(words) {
        write_word(component, word, to);
    }
    let tensor = HostTensor::from_vec(info.dtype, info.view.shape.clone(), bytes).ok()?;
    (tensor.ty() == Type::new(info.dtype, info.view.shape.clone())).then_some(tensor)
}

/// Checks operands as the declaration demands.
fn hold(args: &Args, body: &KernelBody, contents: &Known) -> Result<(), OpError> {
    for check in body.checks {
        if let Some(bound) = check.bound(args)? {
            check.check(bound, contents.words(check.operand())?)?;
        }
    }
    Ok(())
}

fn words(
    draft: &Draft,
    call: &Call,
    param: usize,
    known: &FxHashMap<StorageId, HostTensor>,
) -> Option<Vec<i64>> {
    let Some(value) = call.value(param) else {
        return Some(match call.values.get(param) {
            Some(Bound::Int(word)) => vec![*word],
            _ => Vec::new(),
        });
    };
    let (storage, shift) = draft.place(value);
    if let Some(tensor) = known.get(&storage) {
        let mut view = draft.view(value).clone();
        view.offset += shift;
        return Some(tensor.with_view(view).ok()?.words());
    }
    match draft.verified.constant(call, param) {
        Some(tensor) => Some(tensor.words()),
        // What is written, not read.
        None => Some(Vec::new()),
    }
}
