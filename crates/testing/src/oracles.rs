//! Laws that hold for every program and every text. Each returns the law that is broken.

use cloakwork_ir::{Arg, Finding, Generation, HostSlot, Program, Severity, Step, Threaded, text};
use cloakwork_passes::{Extent, PASSES, optimize, shown};
use cloakwork_verify::{Action, Verified, annotate, is_finding_code, verify, with_frees};
use std::sync::Arc;

/// Any text is a program that prints as itself, or gives an error with a position.
///
/// # Errors
/// The printed text does not read back.
pub fn check_text(source: &str) -> Result<(), String> {
    match text::parse(source) {
        Ok(program) => check_program(program),
        Err(error) if error.line == 0 || error.column == 0 => Err(format!("no place: {error}")),
        Err(_) => Ok(()),
    }
}

/// Any bytes are a transcript, or give an error.
///
/// # Errors
/// The program of these bytes breaks a law.
pub fn check_heal_bytes(bytes: &[u8]) -> Result<(), String> {
    match cloakwork_formats::parse_heal(bytes) {
        Ok(program) => check_program(program),
        Err(error) if error.to_string().is_empty() => Err("an error without words".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Checks all laws of programs, valid or invalid.
///
/// # Errors
/// A law is broken.
pub fn check_program(program: Program) -> Result<(), String> {
    check_print(&program)?;
    check_frees(&program)?;
    let program = Arc::new(program);
    let verification = verify(Arc::clone(&program));
    for finding in &verification.findings {
        check_finding(finding, &program)?;
    }
    let is_silent = verification.errors().next().is_none();
    match verification.verified {
        Some(verified) => {
            check_verified(&verified)?;
            check_passes(&Arc::new(verified))
        }
        // The reader of the file has already reported unreadable parts about threads.
        None if program.threads.as_ref().is_some_and(|t| t.unsure) => Ok(()),
        None if is_silent => Err("refused without an error".into()),
        None => Ok(()),
    }
}

/// Verifies a program; generators promise that it has no errors.
///
/// # Errors
/// The first finding.
pub fn well_typed(program: &Program) -> Result<Verified, String> {
    let verification = verify(Arc::new(program.clone()));
    if let Some(error) = verification.errors().next() {
        return Err(format!("{}: {error}\n{}", error.code, text::print(program)));
    }
    verification
        .verified
        .ok_or_else(|| "refused without an error".to_owned())
}

/// Checks all laws for a generated program: those of any program, and that it is well typed.
///
/// # Errors
/// A law is broken.
pub fn check_all(program: Program) -> Result<(), String> {
    well_typed(&program)?;
    check_program(program)
}

fn check_print(program: &Program) -> Result<(), String> {
    let printed = text::print(program);
    let read = text::parse(&printed).map_err(|error| format!("{error} in\n{printed}"))?;
    if let Some(difference) = same_program(program, &read) {
        return Err(format!("{difference} in\n{printed}"));
    }
    let again = text::print(&read);
    if again == printed {
        Ok(())
    } else {
        Err(format!("printed\n{printed}then\n{again}"))
    }
}

/// The first difference between two programs. It compares names and contents, not symbol numbers.
#[must_use]
pub fn same_program(a: &Program, b: &Program) -> Option<String> {
    if a.generation != b.generation || a.steps.len() != b.steps.len() {
        return Some(format!("{} steps, then {}", a.steps.len(), b.steps.len()));
    }
    let mut pairs = a.steps.iter().zip(&b.steps).enumerate();
    pairs.find_map(|(index, (x, y))| {
        let (mut x, mut y) = (step_words(a, x), step_words(b, y));
        x.extend(note_words(a, index));
        y.extend(note_words(b, index));
        (x != y).then(|| format!("step {index}: {x:?}, then {y:?}"))
    })
}

fn step_words(program: &Program, step: &Step) -> Vec<String> {
    match step {
        Step::Op(op) => {
            let out = program
                .out(op)
                .map_or(String::new(), |arg| arg_words(program, arg));
            let mut words = vec![program.text_name(op.name).to_owned(), out];
            words.extend(program.args(op).iter().map(|arg| arg_words(program, arg)));
            words
        }
        Step::Free(symbol) => vec!["free".to_owned(), program.symbol_name(*symbol).to_owned()],
        Step::SegmentStart(text) => vec!["start".to_owned(), program.text_name(*text).to_owned()],
        Step::SegmentEnd => vec!["end".to_owned()],
        Step::Skip => vec!["skip".to_owned()],
        Step::Threaded(step) => threaded_words(program, *step),
    }
}

fn threaded_words(program: &Program, step: Threaded) -> Vec<String> {
    let text = |text| program.text_name(text).to_owned();
    let symbol = |symbol| program.symbol_name(symbol).to_owned();
    let mut words = vec![step.name().to_owned()];
    match step {
        Threaded::Fork(thread) | Threaded::Join(thread) => words.push(text(thread)),
        Threaded::Record { event, stream } | Threaded::Wait { event, stream } => {
            words.push(text(event));
            words.extend(stream.map(text));
        }
        Threaded::Move { from, to } => words.extend([symbol(from), symbol(to)]),
        Threaded::Forget(name) | Threaded::Unknown(name) | Threaded::Doubt(name) => {
            words.push(symbol(name))
        }
    }
    words
}

/// The annotations of a step.
fn note_words(program: &Program, index: usize) -> Vec<String> {
    let Some(threads) = &program.threads else {
        return Vec::new();
    };
    let note = threads.note(index as u32);
    let names = [note.stream, note.device, note.label].map(|name| match name {
        Some(name) => program.text_name(name).to_owned(),
        None => String::new(),
    });
    let place = note.place.map(|place| {
        let pool = program.text_name(place.pool);
        format!("{pool} {}", place.offset)
    });
    names.into_iter().chain(place).collect()
}

fn arg_words(program: &Program, arg: &Arg) -> String {
    match arg {
        Arg::Device(symbol, claim) => format!("%{:?} {claim:?}", program.symbol_name(*symbol)),
        Arg::Host(id) => match program.host(*id) {
            Some(HostSlot::Data(tensor)) => format!("{} {:?}", tensor.ty(), tensor.words()),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    }
}

fn check_finding(finding: &Finding, program: &Program) -> Result<(), String> {
    if !is_finding_code(finding.code) {
        return Err(format!("{} is no code", finding.code));
    }
    // Unused declarations are reported at step 0, even if the program has no steps.
    let is_there = (finding.step as usize) < program.steps.len().max(1);
    if !is_there || finding.expected.is_empty() || finding.got.is_empty() {
        return Err(format!("a finding without place or words: {finding:?}"));
    }
    Ok(())
}

/// Views lie within their storages, steps are in order, and HEAL's form has the same meaning.
fn check_verified(verified: &Verified) -> Result<(), String> {
    for info in verified.values() {
        let storage = verified
            .storage(info.storage)
            .ok_or("a value without a storage")?;
        let ((low, high), (root_low, root_high)) = (info.view.bounds(), storage.root.bounds());
        let inside = low >= root_low && high <= root_high && storage.dtype == info.dtype;
        if root_low != 0 || (!inside && info.view.shape.elements() > 0) {
            return Err(format!("{info:?} is not within {storage:?}"));
        }
    }
    if !verified.actions().is_sorted_by_key(|(step, _)| *step) {
        return Err("actions out of order".to_owned());
    }
    for (step, action) in verified.actions() {
        check_action(verified, action).map_err(|error| format!("step {step}: {error}"))?;
    }
    let annotated = annotate(verified, Generation::Later);
    let again = well_typed(&annotated.program).map_err(|error| format!("annotated: {error}"))?;
    if again.values() != verified.values() || again.storages() != verified.storages() {
        return Err("HEAL's form has other values".to_owned());
    }
    Ok(())
}

/// The result of each pass verifies, and the passes together keep the downloads and their steps.
fn check_passes(verified: &Arc<Verified>) -> Result<(), String> {
    shown(verified, PASSES).map_err(|mistake| mistake.to_string())?;
    let made = optimize(verified, Extent::Everywhere).map_err(|mistake| mistake.to_string())?;
    let Some(made) = made else {
        return Ok(());
    };
    let downloads = |verified: &Verified| {
        let origins = verified.origins();
        let actions = verified.actions().iter();
        let downloads = actions.filter(|(_, action)| matches!(action, Action::Download { .. }));
        let number = |step: u32| origins.as_ref().map_or(step, |all| all[step as usize]);
        let numbers = downloads.map(|(step, _)| number(*step));
        numbers.collect::<Vec<u32>>()
    };
    match downloads(verified) == downloads(&made) {
        true => Ok(()),
        false => Err("passes change what is handed out".to_owned()),
    }
}

fn check_action(verified: &Verified, action: &Action) -> Result<(), String> {
    let values = action
        .call()
        .into_iter()
        .flat_map(|call| (0..call.values.len()).map(|i| call.value(i)));
    let mut all = values.flatten().chain(action.result());
    if all.any(|value| verified.value(value).is_none()) {
        return Err("a value that is not there".to_owned());
    }
    let Some(call) = action.call() else {
        return Ok(());
    };
    for param in 0..call.values.len() {
        let constant = verified.constant(call, param);
        let ty = call.value(param).and_then(|id| verified.value(id));
        match (constant, ty) {
            (None, _) if call.is_constant(param) => return Err("a constant is lost".to_owned()),
            (Some(tensor), Some(info))
                if tensor.dtype() != info.dtype || tensor.view().shape != info.view.shape =>
            {
                return Err("a constant of another type".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Frees after the last uses add no error and leave no leak.
fn check_frees(program: &Program) -> Result<(), String> {
    if program.threads.is_some() {
        return Ok(());
    }
    let before = verify(Arc::new(program.clone()));
    let after = verify(Arc::new(with_frees(program.clone())));
    let count = |findings: &[Finding], code: &str| {
        findings
            .iter()
            .filter(|finding| finding.code == code)
            .count()
    };
    if before.verified.is_some() != after.verified.is_some() {
        return Err("frees change whether a program is right".to_owned());
    }
    let errors = |findings: &[Finding]| {
        findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count()
    };
    if errors(&before.findings) != errors(&after.findings) || count(&after.findings, "leak") > 0 {
        return Err("frees add errors or leave leaks".to_owned());
    }
    Ok(())
}
