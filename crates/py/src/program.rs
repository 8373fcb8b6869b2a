//! A program, loaded or traced, with its findings and plans.

mod heal;
mod inputs;
mod residence;

use crate::contents::{held, host_copy};
use crate::device::{self, Count, Place};
use crate::errors;
use crate::files;
use crate::guard::unlocked;
use crate::on_device;
use crate::run::{Run, Settings};
use crate::target::{Budget, Passed, Target, passed};
use crate::tensor::{self, Elements, Inner, Tensor};
use cloakwork_formats::{Seal, container_bytes, load_sealed, save_container, save_heal};
use cloakwork_ir::{Device, HostId, HostSlot, HostTensor, Type, text};
use cloakwork_kernels::Isa;
use cloakwork_ops::{Form, OpDef, find, named};
use cloakwork_plan::{Options, Plan, Resident, lower_for, plan};
use cloakwork_process::{Mutex, Once};
use cloakwork_run::{Executor, eager, is_wiping};
use cloakwork_verify::{
    Verification, Verified, annotate, downloads, for_device, opened, uploads, verify,
};
use inputs::Input;
pub use inputs::lend;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program.
#[pyclass(frozen, module = "cloakwork._core")]
pub struct Program {
    program: Arc<cloakwork_ir::Program>,
    /// The checksums of its tensors, and the file in which they lie.
    seal: Option<(Seal, PathBuf)>,
    /// Whether that was done.
    intact: Once<()>,
    /// Findings of its front end.
    found: Vec<cloakwork_ir::Finding>,
    checked: Once<Checked>,
    plans: Mutex<HashMap<(Target, Isa), Arc<Plan>>>,
    /// The inputs in the order in which a run takes them.
    inputs: Once<Vec<Input>>,
    /// The executor of the last run, for a run with the same target.
    last: Mutex<Option<Box<Ready>>>,
}

/// An executor, and the target of its plan.
pub struct Ready {
    target: Target,
    isa: Isa,
    /// Ready to run.
    pub executor: Executor,
}

struct Checked {
    findings: Vec<cloakwork_ir::Finding>,
    verified: Option<Arc<Verified>>,
}

impl From<Verification> for Checked {
    fn from(verification: Verification) -> Self {
        let Verification { findings, verified } = verification;
        Self {
            findings,
            verified: verified.map(Arc::new),
        }
    }
}

impl Program {
    /// A program that nothing is known of yet.
    pub fn new(program: cloakwork_ir::Program) -> Self {
        Self {
            program: Arc::new(program),
            seal: None,
            intact: Once::new(),
            found: Vec::new(),
            checked: Once::new(),
            plans: Mutex::default(),
            inputs: Once::new(),
            last: Mutex::default(),
        }
    }

    /// A program with findings of its front end.
    pub fn with_findings(
        program: cloakwork_ir::Program,
        found: Vec<cloakwork_ir::Finding>,
    ) -> Self {
        Self {
            found,
            ..Self::new(program)
        }
    }

    /// The program with these notes, once its tensors are what their file's checksums say.
    fn noted(
        &self,
        py: Python<'_>,
        notes: Option<BTreeMap<String, String>>,
    ) -> PyResult<Arc<cloakwork_ir::Program>> {
        self.intact(py)?;
        let mut program = Arc::clone(&self.program);
        if let Some(notes) = notes {
            Arc::make_mut(&mut program).notes = notes;
        }
        Ok(program)
    }

    /// Compares the tensors of a container with their checksums, once: before the first use.
    fn intact(&self, py: Python<'_>) -> PyResult<()> {
        if let Some((seal, path)) = &self.seal
            && self.intact.get().is_none()
        {
            let checked = unlocked(py, || seal.check())?;
            checked.map_err(|error| errors::load(error, path))?;
            self.intact.get_or_init(|| ());
        }
        Ok(())
    }

    /// The program as it was made, once its file is known to be whole.
    pub fn source(&self, py: Python<'_>) -> PyResult<&cloakwork_ir::Program> {
        self.intact(py)?;
        Ok(&self.program)
    }

    fn checked(&self, py: Python<'_>) -> PyResult<&Checked> {
        self.intact(py)?;
        if let Some(checked) = self.checked.get() {
            return Ok(checked);
        }
        let mut found = unlocked(py, || verify(Arc::clone(&self.program)))?;
        if !self.found.is_empty() {
            found.verified = None;
            found.findings.splice(0..0, self.found.iter().cloned());
            found.findings.sort_by_key(|finding| finding.step);
        }
        Ok(self.checked.get_or_init(|| found.into()))
    }

    /// Its meaning; the findings as an error if it has none.
    pub fn verified(&self, py: Python<'_>) -> PyResult<Arc<Verified>> {
        let checked = self.checked(py)?;
        checked
            .verified
            .clone()
            .ok_or_else(|| errors::program(py, &checked.findings))
    }

    /// The plan for a target and the instructions that are selected: made once.
    pub fn plan(&self, py: Python<'_>, target: Target) -> PyResult<Arc<Plan>> {
        let key = (target, device::isa(py)?);
        if let Some(plan) = self.plans.lock().get(&key) {
            return Ok(Arc::clone(plan));
        }
        let verified = self.verified(py)?;
        let (target, isa) = &key;
        let options = Options {
            memory_budget_bytes: target.budget.total,
            device_budgets: target.budget.devices.clone(),
            optimize: target.optimize,
            fallback: target.fallback,
            device: target.place.device,
            peers: target.place.peers.clone(),
            resident: target.resident.clone(),
            ..Options::new(*isa, target.threads)
        };
        let made = unlocked(py, || plan(verified, &options))?.map_err(errors::plan)?;
        let made = Arc::new(made);
        let replaced = self.plans.lock().insert(key, Arc::clone(&made));
        drop(replaced);
        Ok(made)
    }

    /// The plan without a budget, for so many threads or all.
    fn plan_unbounded(
        &self,
        py: Python<'_>,
        threads: Option<Count>,
        optimize: bool,
        device: &str,
    ) -> PyResult<Arc<Plan>> {
        let target = Target {
            threads: device::threads(threads)?,
            place: Place::named(device)?,
            budget: Budget::default(),
            optimize,
            fallback: true,
            resident: Resident::default(),
        };
        self.plan(py, target)
    }

    /// An executor for a run whose plan passes a check: the last run's if it was for the same.
    /// [`Program::keep`] takes it back.
    pub fn ready(
        &self,
        py: Python<'_>,
        target: Target,
        check: impl Fn(&Plan) -> PyResult<()>,
    ) -> PyResult<Box<Ready>> {
        let isa = device::isa(py)?;
        let last = self.last.lock().take();
        if let Some(ready) = last.filter(|last| last.isa == isa && last.target == target) {
            check(ready.executor.plan())?;
            return Ok(ready);
        }
        let plan = self.plan(py, target.clone())?;
        check(&plan)?;
        let made = unlocked(py, || Executor::new(plan))?;
        Ok(Box::new(Ready {
            target,
            isa,
            executor: made.map_err(errors::run)?,
        }))
    }

    /// Whether another program is the same; see [`cloakwork_ir::Program::is_same`].
    pub fn is_same(&self, other: &cloakwork_ir::Program) -> bool {
        self.program.is_same(other)
    }

    /// Memory of devices and the host that its executor keeps for the next run.
    pub fn kept_bytes(&self) -> u64 {
        let last = self.last.lock();
        let plan = last.as_ref().map(|ready| ready.executor.plan());
        let arenas = plan.iter().flat_map(|plan| &plan.arenas);
        let bytes = arenas.map(|arena| arena.bytes.saturating_add(arena.constant_bytes));
        bytes.fold(0, u64::saturating_add)
    }

    /// Keeps an executor for the next run.
    pub fn keep(&self, ready: Box<Ready>) {
        let replaced = self.last.lock().replace(ready);
        drop(replaced);
    }

    /// The downloads as far as they can be computed, call by call: none where a call fails.
    pub fn replay(
        &self,
        py: Python<'_>,
        tensors: &[eager::Tensor],
    ) -> PyResult<Vec<Option<eager::Tensor>>> {
        let mut given = HashMap::new();
        for input in self.inputs() {
            let tensor = Self::tensor_of(&input.name, tensors)?;
            given.extend(input.slots.iter().map(|id| (*id, tensor.clone())));
        }
        let (threads, isa) = (device::threads(None)?, device::isa(py)?);
        unlocked(py, || eager::replay(&self.program, &given, threads, isa))
    }
}

/// A copy of a tensor's elements, which no later write changes.
pub fn own(tensor: &Inner) -> PyResult<HostTensor> {
    host_copy(tensor.real("data of a program")?)
}

#[pymethods]
impl Program {
    /// Load a file: HEAL's JSON in any of its forms, or a container. `contents` are those of the
    /// file, if somebody has read it. A container's tensors are compared with their checksums when
    /// they are first used, with `checksums` at once. `generation` overrides what the file's ops
    /// say of its op set.
    #[staticmethod]
    #[pyo3(signature = (path, contents=None, checksums=false, generation=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        contents: Option<&Bound<'_, PyAny>>,
        checksums: bool,
        generation: Option<&str>,
    ) -> PyResult<Self> {
        let generation = generation.map(heal::generation_named).transpose()?;
        let bytes = files::contents_or(py, &path, contents)?;
        let loaded = unlocked(py, || load_sealed(&bytes))?;
        let (mut program, seal) = loaded.map_err(|error| errors::load(error, &path))?;
        program.generation = generation.unwrap_or(program.generation);
        let seal = seal.map(|seal| (seal, path));
        let loaded = Self {
            seal,
            ..Self::new(program)
        };
        if checksums {
            loaded.intact(py)?;
        }
        Ok(loaded)
    }

    /// Everything that the verifier finds, in the order of steps.
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        errors::findings(py, &self.checked(py)?.findings)
    }

    /// The findings; errors among them are raised.
    fn validated<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.verified(py)?;
        self.findings(py)
    }

    /// The same program with every op expanded that a device with these ops lacks; without a list,
    /// into what HEAL's interface has.
    #[pyo3(signature = (ops=None))]
    fn expanded(&self, py: Python<'_>, ops: Option<BTreeSet<String>>) -> PyResult<Self> {
        for name in ops.iter().flatten() {
            if find(name).is_none() {
                return Err(errors::param(
                    "ops",
                    name,
                    "names of ops: docs/ops.md lists them",
                ));
            }
        }
        let has = |def: &OpDef| {
            def.is_heals() || ops.as_ref().is_some_and(|names| names.contains(def.name))
        };
        let verified = self.verified(py)?;
        let lowered = unlocked(py, || lower_for(&verified, &has))?.map_err(errors::plan)?;
        Ok(Self::new(cloakwork_ir::Program::clone(lowered.program())))
    }

    /// Names and types of what it uploads of its own data: what `opened` can make inputs.
    fn uploads(&self) -> Vec<(String, &'static str, Vec<u64>)> {
        let named = |(name, ty): (String, Type)| {
            let dims = ty.shape.dims().to_vec();
            (name, ty.dtype.name(), dims)
        };
        uploads(&self.program).into_iter().map(named).collect()
    }

    /// The names of the outputs, in order.
    fn output_names(&self) -> Vec<String> {
        downloads(&self.program)
    }

    /// The same program with the first uploads of these names as inputs, all downloads as outputs.
    fn opened(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        self.intact(py)?;
        let asked: Vec<&str> = names.iter().map(String::as_str).collect();
        let open = opened(&self.program, &asked).map_err(|unknown| {
            let known: Vec<String> = uploads(&self.program).into_iter().map(|u| u.0).collect();
            errors::param("inputs", unknown, &known.join(", "))
        })?;
        Ok(Self::new(open))
    }

    /// The same program with its first inputs and its outputs under these names.
    fn renamed(&self, py: Python<'_>, inputs: Vec<String>, outputs: Vec<String>) -> PyResult<Self> {
        self.intact(py)?;
        let mut program = cloakwork_ir::Program::clone(&self.program);
        let (mut inputs, mut outputs) = (inputs.into_iter(), outputs.into_iter());
        for slot in &mut program.hosts {
            let (place, fresh) = match slot {
                HostSlot::Input { name, .. } => (name, inputs.next()),
                HostSlot::Output { name } => (name, outputs.next()),
                HostSlot::Data(_) => continue,
            };
            *place = fresh.unwrap_or_else(|| std::mem::take(place));
        }
        Ok(Self::new(program))
    }

    /// The same program with these tensors as data in place of the inputs of these names.
    fn bound(&self, names: Vec<String>, tensors: &Bound<'_, PyList>) -> PyResult<Self> {
        self.intact(tensors.py())?;
        let mut program = cloakwork_ir::Program::clone(&self.program);
        let given = tensor::tensors(tensors)?;
        if given.iter().any(Inner::is_secret) {
            return Err(errors::secret("a program must not hold a secret tensor"));
        }
        for (name, tensor) in names.iter().zip(&given) {
            let tensor = tensor.real("an input of a program")?;
            let own = Type::new(tensor.dtype(), tensor.view().shape.clone());
            for slot in &mut program.hosts {
                match slot {
                    HostSlot::Input { name: known, ty } if known == name => {
                        if *ty != own {
                            let expected = ty.to_string();
                            return Err(errors::param(&format!("input {name}"), own, &expected));
                        }
                        *slot = HostSlot::Data(held(tensor)?);
                    }
                    _ => {}
                }
            }
        }
        Ok(Self::new(program))
    }

    /// The notes of the front end that wrote its file.
    fn notes(&self) -> BTreeMap<String, String> {
        self.program.notes.clone()
    }

    /// Names of the inputs, in the order in which a run takes them.
    fn input_names(&self) -> Vec<String> {
        let names = self.inputs().iter().map(|input| input.name.clone());
        names.collect()
    }

    /// Names, dtypes and shapes of the inputs, in the order in which a run takes them.
    fn input_types(&self) -> Vec<(String, &'static str, Vec<u64>)> {
        let types = self.inputs().iter().map(|input| {
            let dims = input.ty.shape.dims().to_vec();
            (input.name.clone(), input.ty.dtype.name(), dims)
        });
        types.collect()
    }

    /// Number of steps, as written.
    fn step_count(&self) -> usize {
        self.program.steps.len()
    }

    /// The text form.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.intact(py)?;
        unlocked(py, || text::print(&self.program))
    }

    /// The first and last steps, at most so many, for people.
    fn page(&self, py: Python<'_>, steps: usize) -> PyResult<String> {
        self.intact(py)?;
        unlocked(py, || text::page(&self.program, steps))
    }

    /// The parts of the program, and the needs of a run of it: JSON.
    #[pyo3(signature = (threads=None, optimize=true, device=device::CPU))]
    fn inspect(
        &self,
        py: Python<'_>,
        threads: Option<Count>,
        optimize: bool,
        device: &str,
    ) -> PyResult<String> {
        let verified = self.verified(py)?;
        let plan = self.plan_unbounded(py, threads, optimize, device)?;
        unlocked(py, || {
            cloakwork_run::inspect::inspect(&verified, &plan).to_string()
        })
    }

    /// The plan as text.
    #[pyo3(signature = (threads=None, optimize=true, device=device::CPU))]
    fn plan_text(
        &self,
        py: Python<'_>,
        threads: Option<Count>,
        optimize: bool,
        device: &str,
    ) -> PyResult<String> {
        let plan = self.plan_unbounded(py, threads, optimize, device)?;
        unlocked(py, || plan.to_string())
    }

    /// The program's text, and for each pass its name, what it does, how many calls of each op
    /// there are less behind it, and the text behind it if that is another.
    fn passes(&self, py: Python<'_>) -> PyResult<(String, Vec<Passed>)> {
        passed(py, &self.verified(py)?)
    }

    /// The memory that a run needs, in words and as bytes at its peak, and the bytes of its
    /// constants.
    #[pyo3(signature = (threads=None, memory_budget=None, device_budgets=None, optimize=true,
                        device=device::CPU, fallback=true))]
    #[expect(clippy::too_many_arguments, reason = "one a keyword")]
    fn memory(
        &self,
        py: Python<'_>,
        threads: Option<Count>,
        memory_budget: Option<u64>,
        device_budgets: Option<BTreeMap<String, u64>>,
        optimize: bool,
        device: &str,
        fallback: bool,
    ) -> PyResult<(String, u64, u64)> {
        let target = Target {
            threads: device::threads(threads)?,
            place: Place::named(device)?,
            budget: Budget::new(memory_budget, device_budgets)?,
            optimize,
            fallback,
            resident: Resident::default(),
        };
        let plan = self.plan(py, target)?;
        let memory = &plan.memory;
        Ok((
            plan.memory_text(),
            memory.peak_bytes(),
            memory.constant_bytes,
        ))
    }

    /// Run the program once on tensors that are just as its inputs are; None for any others, and
    /// for secrets: `run` says what is wrong with them.
    #[pyo3(signature = (values, threads=None, profile=true))]
    fn run_tensors(
        &self,
        values: &Bound<'_, PyTuple>,
        threads: Option<Count>,
        profile: bool,
    ) -> PyResult<Option<Run>> {
        let Some(inputs) = self.matching(values)? else {
            return Ok(None);
        };
        let settings = Settings {
            threads: device::threads(threads)?,
            profile,
            optimize: true,
            ..Settings::default()
        };
        Run::start(values.py(), self, &inputs, settings).map(Some)
    }

    /// The name of the device that holds inputs of a run; the host's if none does, for secrets, and
    /// for programs that name devices themselves.
    fn place_of(&self, py: Python<'_>, inputs: &Bound<'_, PyList>) -> PyResult<String> {
        let found = self.holder_of(py, &tensor::tensors(inputs)?)?;
        Ok(found.map_or_else(|| device::CPU.to_owned(), |on| on.to_string()))
    }

    /// Run the program once.
    #[pyo3(signature = (inputs, *, device="cpu", threads=None, memory_budget=None,
                        device_budgets=None, verify=false, profile=true, bisect=false,
                        progress=None, schedule_seed=None, spill_dir=None, functions=None,
                        optimize=true, fallback=true, keep=false))]
    #[expect(clippy::too_many_arguments, reason = "one a keyword")]
    fn run(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyList>,
        device: &str,
        threads: Option<Count>,
        memory_budget: Option<u64>,
        device_budgets: Option<BTreeMap<String, u64>>,
        verify: bool,
        profile: bool,
        bisect: bool,
        progress: Option<Py<PyAny>>,
        schedule_seed: Option<u64>,
        spill_dir: Option<PathBuf>,
        functions: Option<Vec<(String, Py<PyAny>)>>,
        optimize: bool,
        fallback: bool,
        keep: bool,
    ) -> PyResult<Run> {
        let place = Place::named(device)?;
        let threads = device::threads(threads)?;
        let given = tensor::tensors(inputs)?;
        let given = given.iter().map(on_device::settled);
        let given = given.collect::<PyResult<Vec<_>>>()?;
        let secret = given.iter().any(Inner::is_secret);
        if keep {
            residence::check_keeper(&place, device, secret || is_wiping())?;
        }
        // References, which look for a wrong op, run on the host.
        let on = if bisect { Device::Cpu } else { place.device };
        let (inputs, resident) = self.bound_in_order(&given, on, keep)?;
        let settings = Settings {
            threads,
            memory_budget: Budget::new(memory_budget, device_budgets)?,
            verify,
            profile,
            bisect,
            progress,
            schedule_seed,
            spill_dir,
            functions: functions.unwrap_or_default(),
            secret,
            optimize,
            no_fallback: !fallback,
            place,
            resident,
        };
        Run::start(py, self, &inputs, settings)
    }

    /// The same program with its inputs and expected outputs as data.
    fn with_data(&self, inputs: &Bound<'_, PyList>, outputs: &Bound<'_, PyList>) -> PyResult<Self> {
        self.intact(inputs.py())?;
        let given = tensor::tensors(inputs)?;
        if given.iter().any(Inner::is_secret) {
            return Err(errors::secret("a transcript must not hold a secret tensor"));
        }
        let copies = given.iter().map(own).collect::<PyResult<Vec<_>>>()?;
        let inputs = self.bind(&copies)?;
        let mut outputs = tensor::tensors(outputs)?.into_iter();
        let mut program = cloakwork_ir::Program::clone(&self.program);
        for (index, slot) in program.hosts.iter_mut().enumerate() {
            let data = match slot {
                HostSlot::Data(_) => continue,
                HostSlot::Input { .. } => inputs.get(&HostId(index as u32)).cloned(),
                HostSlot::Output { .. } => outputs.next().map(|o| own(&o)).transpose()?,
            };
            *slot = HostSlot::Data(data.ok_or_else(|| errors::internal("a slot without data"))?);
        }
        Ok(Self::new(program))
    }

    /// The same program in the ops of a device of HEAL's interface: those that a generation's
    /// public runtime has, or `ops`, and `keep` beside them.
    #[pyo3(signature = (generation, ops=None, keep=None))]
    fn for_device(
        &self,
        py: Python<'_>,
        generation: &str,
        ops: Option<BTreeSet<String>>,
        keep: Option<BTreeSet<String>>,
    ) -> PyResult<Self> {
        let device = heal::device_of(generation, ops, keep.unwrap_or_default())?;
        let has = |def: &OpDef| {
            let spelled =
                |form: &Form| device.ops.contains(form.name) && form.is_heals(device.generation);
            def.forms.iter().any(spelled)
                || device.keep.contains(def.name)
                || (def.name == named::ZEROS.name && device.ops.contains(named::EMPTY.name))
                // Ops that cannot be expressed are reported together, HEAL's by their own names.
                || def.body.expansion().is_none()
                || def.is_heals()
        };
        let verified = self.verified(py)?;
        let lowered = unlocked(py, || lower_for(&verified, &has))?.map_err(errors::plan)?;
        let fitted = unlocked(py, || for_device(&lowered, &device))?;
        let fitted = fitted.map_err(|misfits| {
            let lacking: Vec<String> = misfits.into_iter().map(|misfit| misfit.text).collect();
            let text = format!(
                "a device of HEAL's {generation} generation with these ops cannot do, and its \
                 ops do not express: {}",
                lacking.join(", ")
            );
            errors::make(py, "PlanError", (text,))
        })?;
        Ok(Self::new(fitted))
    }

    /// Write HEAL's JSON in a generation's spellings. Refuses what HEAL has no spelling for, but
    /// for the ops in `keep`, which stay as they are.
    #[pyo3(signature = (path, generation="later", keep=None))]
    fn save_heal(
        &self,
        py: Python<'_>,
        path: PathBuf,
        generation: &str,
        keep: Option<HashSet<String>>,
    ) -> PyResult<()> {
        let keep = keep.unwrap_or_default();
        let generation = heal::generation_named(generation)?;
        let verified = self.verified(py)?;
        let annotated = unlocked(py, || annotate(&verified, generation))?;
        let is_vendors = |op: &str| find(op).is_some_and(|def| def.custom().is_some());
        let mut foreign = annotated.foreign.iter();
        let foreign = foreign.find(|(_, op)| !keep.contains(op) && !is_vendors(op));
        if let Some((step, op)) = foreign {
            let text = format!(
                "{}: step {step}: HEAL has no op {op}; save as .cwk, or keep it by name for a \
                 device that has it",
                path.display()
            );
            return Err(errors::make(py, "SaveError", (text,)));
        }
        let saved = unlocked(py, || save_heal(&annotated.program, &path))?;
        saved.map_err(|error| errors::save(error, &path))
    }

    /// Write the project's own container, with these notes.
    #[pyo3(signature = (path, notes=None))]
    fn save_container(
        &self,
        py: Python<'_>,
        path: PathBuf,
        notes: Option<BTreeMap<String, String>>,
    ) -> PyResult<()> {
        let program = self.noted(py, notes)?;
        let saved = unlocked(py, || save_container(&program, &path))?;
        saved.map_err(|error| errors::save(error, &path))
    }

    /// The bytes that `save_container` writes: u8 `[size]`, read-only.
    #[pyo3(signature = (notes=None))]
    fn container(
        &self,
        py: Python<'_>,
        notes: Option<BTreeMap<String, String>>,
    ) -> PyResult<Tensor> {
        let program = self.noted(py, notes)?;
        let bytes = unlocked(py, || container_bytes(&program))?;
        let bytes = bytes.map_err(|error| errors::save(error, Path::new("the bytes")))?;
        files::bytes_tensor(bytes.into())
    }
}
