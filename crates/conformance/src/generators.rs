//! Random programs that verify without an error.

use crate::Source;
use crate::calls::{Found, Outcome, Pick, Search, Style, Tensor};
use crate::strides::{Spread, Taken};
use cloakwork_ir::{
    Arg, Builder, Generation, HostSlot, HostTensor, Overlap, Program, Step, Type, View,
};
use cloakwork_ops::{ALL, Aliasing, Body, Code, Family, OpDef, ParamKind};
use cloakwork_verify::verify;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A well-typed program: any op, any spelling of its generation, views, writes through them, frees,
/// redefined names, segments, downloads.
#[must_use]
pub fn generate(source: &mut Source) -> Program {
    let mut builder = Builder::new();
    if source.chance(4) {
        builder.program.generation = Generation::First;
    }
    let mut generator = Generator::new(source, builder, Style::default());
    let steps = 1 + generator.source.below(24);
    let mut open = 0usize;
    for _ in 0..steps {
        match generator.source.below(16) {
            0 if generator.tensors.len() > 2 => generator.free(),
            1 => {
                let text = generator.builder.program.text("part \"one\"");
                generator
                    .builder
                    .program
                    .steps
                    .push(Step::SegmentStart(text));
                open += 1;
            }
            2 if open > 0 => {
                generator.builder.program.steps.push(Step::SegmentEnd);
                open -= 1;
            }
            3 => generator.builder.program.steps.push(Step::Skip),
            _ => {
                if let Some(def) = generator.source.pick(ALL).filter(|def| !def.calls_back()) {
                    generator.step(def);
                }
            }
        }
    }
    for _ in 0..open {
        generator.builder.program.steps.push(Step::SegmentEnd);
    }
    while !generator.tensors.is_empty() && !generator.source.chance(8) {
        generator.free();
    }
    generator.builder.program
}

/// A program with all calls of this op that a few attempts find, on new tensors or on results of
/// other ops.
#[must_use]
pub fn generate_calls(source: &mut Source, def: &'static OpDef) -> Program {
    let mut generator = Generator::new(source, Builder::new(), Style::default());
    for _ in 0..generator.source.below(3) {
        if let Some(def) = generator.source.pick(ALL).filter(|def| !def.calls_back()) {
            generator.step(def);
        }
    }
    for _ in 0..3 {
        generator.step(def);
    }
    generator.download();
    generator.builder.program
}

/// A program with calls of this op on tensors of a style.
#[must_use]
pub fn generate_styled(
    source: &mut Source,
    def: &'static OpDef,
    style: Style<'_>,
    calls: usize,
) -> Program {
    let mut generator = Generator::new(source, Builder::new(), style);
    for _ in 0..calls {
        generator.step(def);
    }
    generator.builder.program
}

/// A program with calls of this op on new tensors whose largest has one of these sizes, and for
/// each call its size and step.
pub(crate) fn generate_sizes(
    source: &mut Source,
    def: &'static OpDef,
    style: Style<'_>,
    sizes: &BTreeSet<u64>,
) -> (Program, Vec<(u64, u32)>) {
    let mut generator = Generator::new(source, Builder::new(), style);
    let mut calls = Vec::new();
    for &size in sizes {
        generator.style.size = Some(size);
        for large in [Large::Result, Large::Operand] {
            calls.extend(generator.sized(def, large).map(|step| (size, step)));
        }
    }
    (generator.builder.program, calls)
}

/// The tensor of a call that has the wanted size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Large {
    Result,
    /// The result has another.
    Operand,
}

/// Calls that are searched for one of a size.
const SIZED_ATTEMPTS: usize = 4;

struct Generator<'a, 'b> {
    style: Style<'a>,
    source: &'a mut Source<'b>,
    builder: Builder,
    tensors: Vec<Tensor>,
    storages: usize,
    outputs: usize,
}

impl<'a, 'b> Generator<'a, 'b> {
    const fn new(source: &'a mut Source<'b>, builder: Builder, style: Style<'a>) -> Self {
        Self {
            style,
            source,
            builder,
            tensors: Vec::new(),
            storages: 0,
            outputs: 0,
        }
    }

    fn free(&mut self) {
        let index = self.source.below(self.tensors.len());
        let tensor = self.tensors.swap_remove(index);
        self.builder.free(tensor.name);
    }

    fn step(&mut self, def: &'static OpDef) {
        match &def.body {
            Body::Upload => self.input(),
            Body::Download => self.download(),
            _ => {
                if let Some(found) = self.find(def) {
                    self.call_if_forms_fit(found);
                }
            }
        }
    }

    fn find(&mut self, def: &'static OpDef) -> Option<Found> {
        let mut search = Search {
            tensors: &self.tensors,
            source: &mut *self.source,
            generation: self.builder.program.generation,
            style: self.style,
        };
        search.find(def)
    }

    /// Adds a call with a tensor of the style's size, on new tensors; its step.
    fn sized(&mut self, def: &'static OpDef, large: Large) -> Option<u32> {
        let size = self.style.size?;
        for _ in 0..SIZED_ATTEMPTS {
            self.tensors.clear();
            let Some(found) = self.find(def) else {
                continue;
            };
            let largest = match (found.elements() == size, large) {
                (is_result, Large::Result) => is_result.then_some(size),
                (true, Large::Operand) => None,
                (false, Large::Operand) => found.largest_operand(),
            };
            let before = self.builder.program.steps.len();
            if largest == Some(size) {
                self.call_if_forms_fit(found);
            }
            let steps = self.builder.program.steps.len();
            if steps > before {
                return Some(steps as u32 - 1);
            }
        }
        None
    }

    fn input(&mut self) {
        let Some(like) = self.source.pick(&self.tensors) else {
            return;
        };
        let ty = Type::new(like.dtype, like.view.shape.clone());
        let name = format!("input {}", self.storages);
        let slot = HostSlot::Input {
            name,
            ty: ty.clone(),
        };
        let name = self.builder.upload(slot);
        self.own(name, &ty);
    }

    fn download(&mut self) {
        if let Some(tensor) = self.source.pick(&self.tensors) {
            let name = format!("output {}", self.outputs);
            self.builder
                .download(tensor.name, HostSlot::Output { name });
            self.outputs += 1;
        }
    }

    /// Uploads a tensor; in a strided style sometimes under other strides than its own.
    fn upload(&mut self, data: HostTensor) -> usize {
        let strided = match self.style.strided {
            true => self.source.pick(&Spread::ALL).copied(),
            false => None,
        };
        let spread = strided.and_then(|how| how.of(&data));
        let Some((root, steps)) = spread else {
            let name = self.builder.upload(HostSlot::Data(data.clone()));
            let index = self.own(name, &data.ty());
            self.tensors[index].data = Some(data);
            return index;
        };
        self.spread(root, steps, Some(data))
    }

    /// Uploads a tensor and takes a view of it.
    fn spread(&mut self, root: HostTensor, step: Option<Taken>, data: Option<HostTensor>) -> usize {
        let name = self.builder.upload(HostSlot::Data(root.clone()));
        let index = self.own(name, &root.ty());
        self.tensors[index].view = cloakwork_verify::upload_root(&root);
        let Some(taken) = step else {
            self.tensors[index].data = data;
            return index;
        };
        let view = taken.of(&self.tensors[index].view);
        let name = self
            .builder
            .call(taken.name(), [Arg::Device(name, None), taken.arg()]);
        let (dtype, storage) = (root.dtype(), self.tensors[index].storage);
        self.tensors.push(Tensor {
            name,
            dtype,
            view,
            storage,
            data,
        });
        self.tensors.len() - 1
    }

    /// A tensor to write whose elements have others between them, which stay as they are.
    fn spread_target(&mut self, ty: &Type) -> Option<usize> {
        let size = usize::try_from(ty.size_bytes()).ok()?;
        let zeros = HostTensor::from_vec(ty.dtype, ty.shape.clone(), vec![0; size]).ok()?;
        let (root, taken) = Spread::Sliced.of(&zeros)?;
        Some(self.spread(root, taken, None))
    }

    /// Records a tensor with its own storage.
    fn own(&mut self, name: cloakwork_ir::Symbol, ty: &Type) -> usize {
        let view = View::contiguous(ty.shape.clone());
        self.tensors.push(Tensor {
            name,
            dtype: ty.dtype,
            view,
            storage: self.storages,
            data: None,
        });
        self.storages += 1;
        self.tensors.len() - 1
    }

    /// Adds a call, unless it mixes coefficients with values or overfills a transcript: that
    /// depends on earlier steps, which the generator does not track.
    fn call_if_forms_fit(&mut self, found: Found) {
        let (steps, tensors) = (self.builder.program.steps.len(), self.tensors.clone());
        let minds = [Code::Repr, Code::Transcript].map(Code::name);
        let def = found.def;
        self.call(found);
        if !def.family.is_of_numbers() && def.family != Family::Hash {
            return;
        }
        let verification = verify(Arc::new(self.builder.program.clone()));
        if verification
            .errors()
            .any(|error| minds.contains(&error.code))
        {
            self.builder.program.steps.truncate(steps);
            self.tensors = tensors;
        }
    }

    fn call(&mut self, mut found: Found) {
        for pick in &mut found.picks {
            if let Pick::Fresh(data) = pick {
                let index = self.upload(data.clone());
                *pick = Pick::Old(index);
            }
        }
        let out = found.def.out();
        let written = match (&found.outcome, out) {
            (Outcome::Write(ty), Some(param)) => {
                let ty = ty.clone();
                let target = self.target(&mut found, param, &ty);
                found.picks[param] = Pick::Old(target);
                Some(target)
            }
            _ => None,
        };
        let claims = self.source.chance(4);
        let args: Vec<Arg> = found
            .form
            .args
            .iter()
            .map(|name| {
                let param = found.def.param(name).unwrap_or(0);
                match &found.picks[param] {
                    Pick::Old(index) => {
                        let tensor = &self.tensors[*index];
                        Arg::Device(tensor.name, claims.then_some(tensor.dtype))
                    }
                    Pick::Fresh(_) => Arg::None,
                    Pick::Other(arg) => arg.clone(),
                }
            })
            .collect();
        if let Some(target) = written {
            let name = self.tensors[target].name;
            self.builder.call_into(found.form.name, args, name);
            let storage = self.tensors[target].storage;
            self.tensors
                .iter_mut()
                .filter(|t| t.storage == storage)
                .for_each(|t| t.data = None);
            return;
        }
        let name = self.builder.call(found.form.name, args);
        self.result(name, &found);
    }

    fn result(&mut self, name: cloakwork_ir::Symbol, found: &Found) {
        match &found.outcome {
            Outcome::View(view) => {
                let a = found
                    .def
                    .param("a")
                    .and_then(|param| found.picks.get(param));
                if let Some(Pick::Old(index)) = a {
                    let base = &self.tensors[*index];
                    let data = base
                        .data
                        .as_ref()
                        .and_then(|d| d.with_view(view.clone()).ok());
                    let (dtype, storage) = (base.dtype, base.storage);
                    self.tensors.push(Tensor {
                        name,
                        dtype,
                        view: view.clone(),
                        storage,
                        data,
                    });
                }
            }
            Outcome::New(ty) | Outcome::Write(ty) => {
                self.own(name, ty);
            }
        }
    }

    /// A tensor to write: an existing one that the op may write, or a new one.
    fn target(&mut self, found: &mut Found, param: usize, ty: &Type) -> usize {
        if let Pick::Old(index) = found.picks[param]
            && self.may_write(found, param, index)
        {
            return index;
        }
        let start = self.source.below(self.tensors.len().max(1));
        for turn in 0..self.tensors.len() {
            let index = (start + turn) % self.tensors.len();
            let tensor = &self.tensors[index];
            if tensor.dtype == ty.dtype
                && tensor.view.shape == ty.shape
                && self.source.chance(2)
                && self.may_write(found, param, index)
            {
                return index;
            }
        }
        if self.style.strided && self.source.chance(2) {
            let spread = self.spread_target(ty);
            if let Some(index) = spread.filter(|&index| self.may_write(found, param, index)) {
                return index;
            }
        }
        let name = self.builder.empty(ty.dtype, &ty.shape);
        self.own(name, ty)
    }

    fn may_write(&mut self, found: &Found, param: usize, index: usize) -> bool {
        let rule = match &found.def.body {
            Body::Kernel(body) => body.aliasing,
            _ => Aliasing::Never,
        };
        let target = &self.tensors[index];
        let apart = found
            .def
            .params
            .iter()
            .zip(&found.picks)
            .enumerate()
            .all(|(i, (p, pick))| {
                let Pick::Old(other) = pick else { return true };
                let read = &self.tensors[*other];
                if i == param || p.kind == ParamKind::Hint || read.storage != target.storage {
                    return true;
                }
                match (read.view.overlap(&target.view), rule) {
                    (Overlap::Disjoint, _) | (Overlap::Same, Aliasing::Same) => true,
                    (Overlap::Same, Aliasing::Only(name)) => name == p.name,
                    _ => false,
                }
            });
        if !apart || target.view.overlaps_itself() {
            return false;
        }
        let mut picks = found.picks.clone();
        picks[param] = Pick::Old(index);
        let generation = self.builder.program.generation;
        let search = Search {
            tensors: &self.tensors,
            source: self.source,
            generation,
            style: self.style,
        };
        search.judge(found.def, &picks).is_ok()
    }
}
