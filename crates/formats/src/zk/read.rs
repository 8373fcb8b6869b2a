//! From the tree to the program: which fields each part has. All that is wrong is found at once.

use super::ast::{Ast, Constant, Data, Event, Input, Register, Signature, Table, Type};
use super::fields::{Fields, joined};
use super::instructions::instructions;
use super::value::Value;
use cloakwork_ir::{Device, Finding};

/// The contents of a file, and its defects.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The program.
    pub ast: Ast,
    /// The findings of reading.
    pub findings: Vec<Finding>,
}

/// Reads a program from its tree.
pub(super) fn read(tree: &Value) -> Parsed {
    let (mut ast, mut found) = (Ast::default(), Vec::new());
    let mut broken = Vec::new();
    let mut fields = Fields::new(tree, String::new(), None, &mut found);
    let format = fields.text("format");
    if fields.ok && format != "program" {
        fields.wrong("format", "\"program\"", format!("\"{format}\""), "");
    }
    match fields.required("version", "1") {
        Some(Value::Int(1)) | None => {}
        Some(other) => {
            let hint = "this reader knows version 1; write the program anew for it";
            fields.wrong("version", "1", other.described(), hint);
        }
    }
    if fields.optional("curve").is_some() {
        ast.curve = fields.curve("curve");
        fields.curve = ast.curve;
    }
    ast.registers = table(&mut fields, &mut broken, "registers", |fields| Register {
        ty: fields.ty("type"),
        device: fields.device("device", Some("cpu")),
    });
    ast.inputs = table(&mut fields, &mut broken, "inputs", |fields| Input {
        ty: fields.ty("type"),
        device: fields.device("device", Some("cpu")),
        consume: fields.flag("consume"),
    });
    ast.constants = table(&mut fields, &mut broken, "constants", |fields| Constant {
        ty: fields.ty("type"),
        device: fields.device("device", Some("cpu")),
        data: data(fields),
    });
    ast.events = table(&mut fields, &mut broken, "events", event);
    ast.streams = table(&mut fields, &mut broken, "streams", |fields| {
        fields.device("device", None)
    });
    ast.outputs = types(&mut fields, &mut broken);
    ast.functions = fields.names("functions");
    ast.user_functions = table(&mut fields, &mut broken, "user_functions", |fields| {
        Signature {
            outs: fields.tys("outs"),
            ins: fields.tys("ins"),
        }
    });
    ast.budget = budget(&mut fields);
    let main = fields.required("main", "a list of instructions");
    let curve = fields.curve;
    fields.end();
    ast.broken = broken;
    if let Some(main) = main {
        ast.main = instructions(main, "main", "main", curve, &mut found);
    }
    Parsed {
        ast,
        findings: found,
    }
}

/// An object whose keys are names.
fn table<T>(
    fields: &mut Fields<'_, '_>,
    broken: &mut Vec<(String, String)>,
    key: &str,
    mut read: impl FnMut(&mut Fields<'_, '_>) -> T,
) -> Table<T> {
    let mut table = Table::new();
    for (name, value) in entries(fields, key) {
        let path = joined(key, name);
        if name.is_empty() || name.contains(['#', '%']) {
            let got = format!("\"{name}\"");
            fields.wrong(&path, "a name without # and %", got, "choose another name");
        }
        let (entry, ok) = fields.within(value, path, &mut read);
        if !ok {
            broken.push((key.to_owned(), name.clone()));
        }
        table.push((name.clone(), entry));
    }
    table
}

fn entries<'a>(fields: &mut Fields<'a, '_>, key: &str) -> &'a [(String, Value)] {
    match fields.optional(key) {
        None => &[],
        Some(Value::Map(entries)) => entries,
        Some(other) => {
            fields.wrong(key, "an object", other.described(), "its keys are names");
            &[]
        }
    }
}

fn event(fields: &mut Fields<'_, '_>) -> Event {
    let device = match fields.text("kind").as_str() {
        "thread" => None,
        "gpu" => Some(fields.device("device", None)),
        other => fields.known("kind", None, "\"thread\" or \"gpu\"", other),
    };
    Event { device }
}

fn data(fields: &mut Fields<'_, '_>) -> Data {
    match fields.optional("values") {
        Some(Value::List(values)) => return Data::Values(values.clone()),
        Some(other) => {
            fields.wrong("values", "a list of integers", other.described(), "");
            return Data::Values(Vec::new());
        }
        None => {}
    }
    let file = fields.text("file");
    let offset = fields.maybe_size("offset").unwrap_or(0);
    let bytes = fields.size("bytes");
    let sha256 = fields.maybe_text("sha256").map(|text| text.to_lowercase());
    let is_digest = |sum: &String| sum.len() == 64 && sum.bytes().all(|c| c.is_ascii_hexdigit());
    if let Some(sum) = sha256.as_ref().filter(|sum| !is_digest(sum)) {
        let got = format!("\"{}\"", cloakwork_ir::shortened(sum));
        fields.wrong("sha256", "64 hexadecimal digits", got, "");
    }
    Data::File {
        file,
        offset,
        bytes,
        sha256,
    }
}

fn types(fields: &mut Fields<'_, '_>, broken: &mut Vec<(String, String)>) -> Table<Type> {
    let mut outputs = Table::new();
    for (name, value) in entries(fields, "outputs") {
        match fields.ty_of(&joined("outputs", name), value) {
            Some(ty) => outputs.push((name.clone(), ty)),
            None => broken.push(("outputs".to_owned(), name.clone())),
        }
    }
    outputs
}

fn budget(fields: &mut Fields<'_, '_>) -> Table<u64> {
    let mut budget = Table::new();
    for (name, value) in entries(fields, "budget") {
        let key = joined("budget", name);
        fields.known(&key, Device::from_name(name), "the name of a device", name);
        budget.push((name.clone(), fields.size_of(&key, value)));
    }
    budget
}
