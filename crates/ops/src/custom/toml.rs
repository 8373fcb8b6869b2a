//! Reads declarations: TOML, one table `[[op]]` an op.

use super::{Axis, Custom, Signature, expand, rule};
use crate::op::{Aliasing, Body, Family, Form, KernelBody, OpDef, Param, ParamKind};
use crate::{ContentCheck, Expected, Reference, list, rules};
use cloakwork_ir::{DType, MAX_RANK, text};
use std::fmt;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value};

/// An error in a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclarationError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The expected content.
    pub expected: String,
    /// The content that was found.
    pub got: String,
}

impl fmt::Display for DeclarationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = (&self.file, self.line);
        let (expected, got) = (&self.expected, &self.got);
        write!(f, "{file}, line {line}: expected {expected}, got {got}")
    }
}

impl std::error::Error for DeclarationError {}

/// A declaration that was read.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The op.
    pub def: &'static OpDef,
    /// The file, the line of its name and that of its expansion.
    file: String,
    lines: [usize; 2],
}

impl Declared {
    /// An error of the op's name.
    #[must_use]
    pub fn error(&self, expected: &str, got: String) -> DeclarationError {
        self.error_at(self.lines[0], expected, got)
    }

    /// An error of its expansion.
    #[must_use]
    pub fn error_of_expansion(&self, expected: &str, got: String) -> DeclarationError {
        self.error_at(self.lines[1], expected, got)
    }

    fn error_at(&self, line: usize, expected: &str, got: String) -> DeclarationError {
        DeclarationError {
            file: self.file.clone(),
            line,
            expected: expected.to_owned(),
            got,
        }
    }
}

/// Reads the declarations of a file.
///
/// # Errors
/// The first place that is wrong.
pub fn read(text: &str, file: &str) -> Result<Vec<Declared>, DeclarationError> {
    let reader = Reader { text, file };
    let document = Document::parse(text)
        .map_err(|error| reader.error(error.span(), "TOML", error.message().to_owned()))?;
    let root = document.as_table();
    reader.keys(root, &["op"], None)?;
    let Some(tables) = root.get("op").and_then(Item::as_array_of_tables) else {
        return Err(reader.error(None, "a table [[op]] for each op", "none".to_owned()));
    };
    let declared = tables.iter().map(|table| reader.op(table, table.span()));
    let declared = declared.collect::<Result<Vec<_>, _>>()?;
    for (index, own) in declared.iter().enumerate() {
        if declared[..index]
            .iter()
            .any(|other| other.def.name == own.def.name)
        {
            return Err(own.error("one declaration a name", format!("{} again", own.def.name)));
        }
    }
    Ok(declared)
}

type Span = Option<Range<usize>>;
type Found<T> = Result<T, DeclarationError>;

struct Reader<'t> {
    text: &'t str,
    file: &'t str,
}

/// A declaration lives as long as the process, as its names do in plans and errors.
fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn span_of(table: &dyn TableLike, key: &str, outer: &Span) -> Span {
    table
        .get(key)
        .and_then(Item::span)
        .or_else(|| outer.clone())
}

impl Reader<'_> {
    /// A value as the file has it.
    fn raw(&self, value: &Value) -> String {
        let text = value.span().and_then(|span| self.text.get(span));
        text.unwrap_or_default().to_owned()
    }

    fn line(&self, span: &Span) -> usize {
        let start = span.as_ref().map_or(0, |span| span.start);
        1 + self
            .text
            .bytes()
            .take(start)
            .filter(|&byte| byte == b'\n')
            .count()
    }

    fn error(&self, span: Span, expected: impl Into<String>, got: String) -> DeclarationError {
        DeclarationError {
            file: self.file.to_owned(),
            line: self.line(&span),
            expected: expected.into(),
            got,
        }
    }

    /// Refuses keys that mean nothing.
    fn keys(&self, table: &dyn TableLike, known: &[&str], outer: Span) -> Found<()> {
        match table.iter().find(|(key, _)| !known.contains(key)) {
            Some((key, item)) => {
                let expected = format!("one of the keys {}", known.join(", "));
                Err(self.error(item.span().or(outer), expected, key.to_owned()))
            }
            None => Ok(()),
        }
    }

    fn text(&self, table: &dyn TableLike, key: &str, outer: &Span) -> Found<String> {
        let found = self.text_if_any(table, key, outer)?;
        found.ok_or_else(|| self.error(outer.clone(), format!("the key {key}"), "none".to_owned()))
    }

    fn text_if_any(&self, table: &dyn TableLike, key: &str, outer: &Span) -> Found<Option<String>> {
        let Some(item) = table.get(key) else {
            return Ok(None);
        };
        let span = span_of(table, key, outer);
        let wrong = || {
            self.error(
                span,
                format!("a text as {key}"),
                item.type_name().to_owned(),
            )
        };
        item.as_str()
            .map(|text| Some(text.to_owned()))
            .ok_or_else(wrong)
    }

    fn integer(&self, table: &dyn TableLike, key: &str, outer: &Span) -> Found<Option<i64>> {
        let Some(item) = table.get(key) else {
            return Ok(None);
        };
        let span = span_of(table, key, outer);
        let wrong = || {
            self.error(
                span,
                format!("an integer as {key}"),
                item.type_name().to_owned(),
            )
        };
        item.as_integer().map(Some).ok_or_else(wrong)
    }

    fn flag(&self, table: &dyn TableLike, key: &str, outer: &Span) -> Found<bool> {
        let Some(item) = table.get(key) else {
            return Ok(false);
        };
        let span = span_of(table, key, outer);
        let wrong = || {
            self.error(
                span,
                format!("true or false as {key}"),
                item.type_name().to_owned(),
            )
        };
        item.as_bool().ok_or_else(wrong)
    }

    /// The tables of a list.
    fn list<'i>(
        &self,
        table: &'i dyn TableLike,
        key: &str,
        outer: &Span,
    ) -> Found<Vec<(&'i dyn TableLike, Span)>> {
        let Some(item) = table.get(key) else {
            return Ok(Vec::new());
        };
        let span = span_of(table, key, outer);
        let wrong = |span: Span| {
            self.error(
                span,
                format!("a list of tables as {key}"),
                "another".to_owned(),
            )
        };
        if let Some(tables) = item.as_array_of_tables() {
            return Ok(tables
                .iter()
                .map(|own| (own as &dyn TableLike, own.span()))
                .collect());
        }
        let entries = item.as_array().ok_or_else(|| wrong(span.clone()))?;
        let own = entries.iter().map(|entry| {
            let own = entry
                .as_inline_table()
                .ok_or_else(|| wrong(entry.span().or(span.clone())))?;
            Ok((own as &dyn TableLike, entry.span().or(span.clone())))
        });
        own.collect()
    }

    /// The name of an op or of a parameter.
    fn name(&self, table: &dyn TableLike, outer: &Span) -> Found<&'static str> {
        let name = self.text(table, "name", outer)?;
        let starts = name.starts_with(|first: char| first.is_ascii_lowercase());
        let is_word =
            |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
        if starts && name.chars().all(is_word) {
            return Ok(leaked(&name));
        }
        let expected = "a name of lower-case letters, digits and _ that begins with a letter";
        Err(self.error(span_of(table, "name", outer), expected, format!("{name:?}")))
    }

    fn op(&self, table: &dyn TableLike, outer: Span) -> Found<Declared> {
        let known = [
            "name",
            "doc",
            "operands",
            "integers",
            "result",
            "in_place",
            "expansion",
        ];
        self.keys(table, &known, outer.clone())?;
        let name = self.name(table, &outer)?;
        if list::is_own(name) {
            let got = format!("{name}, which Cloakwork has");
            return Err(self.error(span_of(table, "name", &outer), "a name that no op has", got));
        }
        let (operands, mut params) = self.operands(table, &outer)?;
        let checks = self.checks(table, &outer)?;
        let result = self.result(table, &operands, &outer)?;
        let integers = self.integers(table, &mut params, &outer)?;
        let in_place = self.flag(table, "in_place", &outer)?;
        if in_place
            && operands
                .iter()
                .chain([&result])
                .any(|one| one.shape != [Axis::Leading])
        {
            let expected = "no in_place where a shape is not [\"...\"]";
            return Err(self.error(
                span_of(table, "in_place", &outer),
                expected,
                "true".to_owned(),
            ));
        }
        let expansion = self.expansion(table, &outer)?;
        let place = span_of(table, "expansion", &outer);
        let span = outer.clone().unwrap_or_default();
        let custom: &'static Custom = Box::leak(Box::new(Custom {
            file: self.file.to_owned(),
            text: self.text.to_owned(),
            operands,
            result,
            integers,
            expansion,
        }));
        params.push(Param::out("the result"));
        let doc = self.text_if_any(table, "doc", &outer)?;
        let body = body(custom, checks, in_place);
        let def = def((name, leaked(&doc.unwrap_or_default())), params, body);
        let lines = [
            self.line(&span_of(table, "name", &Some(span))),
            self.line(&place),
        ];
        let file = self.file.to_owned();
        Ok(Declared { def, file, lines })
    }

    fn operands(&self, table: &dyn TableLike, outer: &Span) -> Found<(Vec<Signature>, Vec<Param>)> {
        let (mut operands, mut params) = (Vec::<Signature>::new(), Vec::<Param>::new());
        let known = [
            "name", "dtypes", "like", "shape", "integer", "contents", "doc",
        ];
        for (own, span) in self.list(table, "operands", outer)? {
            self.keys(own, &known, span.clone())?;
            let name = self.name(own, &span)?;
            self.is_new(name, &params, &span)?;
            let like = self.like(own, &operands, &span)?;
            let dtypes = self.dtypes(own, &span)?;
            if like.is_some() != dtypes.is_empty() {
                let got = if like.is_some() { "both" } else { "neither" };
                return Err(self.error(span, "dtypes or like", got.to_owned()));
            }
            let shape = self.shape(own, &span)?;
            let is_integer = self.flag(own, "integer", &span)?;
            if is_integer && operands.is_empty() {
                let expected = "a tensor as the first operand: it tells the dtype";
                return Err(self.error(span, expected, "one that may be an integer".to_owned()));
            }
            let doc = leaked(&self.text_if_any(own, "doc", &span)?.unwrap_or_default());
            params.push(match is_integer {
                true => Param::tensor_or_int(name, doc),
                false => Param::tensor(name, doc),
            });
            operands.push(Signature {
                name,
                dtypes,
                like,
                shape,
            });
        }
        match operands.is_empty() {
            true => Err(self.error(outer.clone(), "one operand or more", "none".to_owned())),
            false => Ok((operands, params)),
        }
    }

    fn is_new(&self, name: &str, params: &[Param], span: &Span) -> Found<()> {
        match name == "out" || params.iter().any(|param| param.name == name) {
            true => Err(self.error(
                span.clone(),
                "a name for each parameter, none of them out",
                format!("{name} again"),
            )),
            false => Ok(()),
        }
    }

    fn like(
        &self,
        own: &dyn TableLike,
        operands: &[Signature],
        span: &Span,
    ) -> Found<Option<&'static str>> {
        let Some(like) = self.text_if_any(own, "like", span)? else {
            return Ok(None);
        };
        let found = operands.iter().find(|operand| operand.name == like);
        let wrong = || {
            self.error(
                span_of(own, "like", span),
                "an operand that stands before",
                like.clone(),
            )
        };
        found.map(|operand| Some(operand.name)).ok_or_else(wrong)
    }

    fn dtypes(&self, own: &dyn TableLike, span: &Span) -> Found<Vec<DType>> {
        let Some(item) = own.get("dtypes") else {
            return Ok(Vec::new());
        };
        let wrong = |got: String| self.error(span_of(own, "dtypes", span), "a list of dtypes", got);
        let list = item
            .as_array()
            .ok_or_else(|| wrong(item.type_name().to_owned()))?;
        let dtype = |entry: &Value| {
            let name = entry.as_str().unwrap_or_default();
            DType::from_name(name).ok_or_else(|| wrong(self.raw(entry)))
        };
        list.iter().map(dtype).collect()
    }

    fn shape(&self, own: &dyn TableLike, span: &Span) -> Found<Vec<Axis>> {
        let Some(item) = own.get("shape") else {
            return Ok(vec![Axis::Leading]);
        };
        let wrong = |got: String| {
            let expected = "a list of names, sizes, and perhaps \"...\" as the first";
            self.error(span_of(own, "shape", span), expected, got)
        };
        let list = item
            .as_array()
            .ok_or_else(|| wrong(item.type_name().to_owned()))?;
        let axis = |(index, entry): (usize, &Value)| match (entry.as_str(), entry.as_integer()) {
            (Some("..."), _) if index == 0 => Ok(Axis::Leading),
            (Some(name), _) if name.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                Ok(Axis::Named(name.to_owned()))
            }
            (None, Some(size)) if size >= 0 => Ok(Axis::Fixed(size as u64)),
            _ => Err(wrong(self.raw(entry))),
        };
        let shape: Vec<Axis> = list.iter().enumerate().map(axis).collect::<Found<_>>()?;
        match shape.len() <= MAX_RANK {
            true => Ok(shape),
            false => Err(wrong(format!("{} axes", shape.len()))),
        }
    }

    fn result(
        &self,
        table: &dyn TableLike,
        operands: &[Signature],
        outer: &Span,
    ) -> Found<Signature> {
        let item = table.get("result").and_then(Item::as_table_like);
        let missing = || self.error(outer.clone(), "the key result, a table", "none".to_owned());
        let own = item.ok_or_else(missing)?;
        let span = span_of(table, "result", outer);
        self.keys(own, &["dtype", "shape"], span.clone())?;
        let dtype = self.text(own, "dtype", &span)?;
        let like = operands
            .iter()
            .find(|operand| operand.name == dtype)
            .map(|operand| operand.name);
        let fixed = DType::from_name(&dtype).filter(|_| like.is_none());
        if like.is_none() && fixed.is_none() {
            let place = span_of(own, "dtype", &span);
            return Err(self.error(place, "the name of an operand or of a dtype", dtype));
        }
        let shape = self.shape(own, &span)?;
        for axis in &shape {
            let has = |operand: &Signature| operand.shape.contains(axis);
            if !matches!(axis, Axis::Fixed(_)) && !operands.iter().any(has) {
                let got = format!("{axis:?}, which no operand has");
                return Err(self.error(span_of(own, "shape", &span), "axes of operands", got));
            }
        }
        Ok(Signature {
            name: "out",
            dtypes: fixed.into_iter().collect(),
            like,
            shape,
        })
    }

    fn integers(
        &self,
        table: &dyn TableLike,
        params: &mut Vec<Param>,
        outer: &Span,
    ) -> Found<Vec<&'static str>> {
        let mut names = Vec::new();
        for (own, span) in self.list(table, "integers", outer)? {
            self.keys(
                own,
                &["name", "low", "high", "default", "doc"],
                span.clone(),
            )?;
            let name = self.name(own, &span)?;
            self.is_new(name, params, &span)?;
            let low = self.integer(own, "low", &span)?.unwrap_or(i64::MIN);
            let high = self.integer(own, "high", &span)?.unwrap_or(i64::MAX);
            let default = self.integer(own, "default", &span)?;
            if low > high || default.is_some_and(|value| !(low..=high).contains(&value)) {
                let got = format!("low {low}, high {high}, default {default:?}");
                return Err(self.error(span, "low <= default <= high", got));
            }
            let doc = leaked(&self.text_if_any(own, "doc", &span)?.unwrap_or_default());
            let param = Param::new(name, ParamKind::Int(low, high), doc);
            params.push(Param { default, ..param });
            names.push(name);
        }
        Ok(names)
    }

    /// The checks of contents that operands ask for.
    fn checks(&self, table: &dyn TableLike, outer: &Span) -> Found<Vec<ContentCheck>> {
        let mut checks = Vec::new();
        for (own, span) in self.list(table, "operands", outer)? {
            let name = self.name(own, &span)?;
            match self.text_if_any(own, "contents", &span)?.as_deref() {
                None => {}
                Some("modulus") => checks.push(ContentCheck::Modulus(name)),
                Some("nonzero") => checks.push(ContentCheck::NonZero(name)),
                Some(other) => {
                    let place = span_of(own, "contents", &span);
                    return Err(self.error(place, "modulus or nonzero", other.to_owned()));
                }
            }
        }
        Ok(checks)
    }

    /// The expansion, which must be a program but for its placeholders.
    fn expansion(&self, table: &dyn TableLike, outer: &Span) -> Found<Option<String>> {
        let expansion = self.text_if_any(table, "expansion", outer)?;
        if let Some(lines) = &expansion {
            // Each placeholder stands for a list of sizes, an integer or a dtype.
            let sample = placeholders(lines);
            if let Err(error) = text::parse(&sample) {
                let place = span_of(table, "expansion", outer);
                let (expected, got) = (error.expected, error.got);
                let got = format!("{got} in line {} of the expansion", error.line);
                return Err(self.error(place, expected, got));
            }
        }
        Ok(expansion)
    }
}

/// An expansion with a value in each placeholder.
fn placeholders(lines: &str) -> String {
    let mut filled = String::new();
    let mut rest = lines;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}') {
            Some((name, behind)) if name.trim().ends_with(".dtype") => {
                filled.push_str("i64");
                rest = behind;
            }
            Some((_, behind)) => {
                filled.push('1');
                rest = behind;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled + rest
}

fn body(custom: &'static Custom, checks: Vec<ContentCheck>, in_place: bool) -> KernelBody {
    let has_expansion = custom.expansion.is_some();
    KernelBody {
        checks: checks.leak(),
        aliasing: if in_place {
            Aliasing::Same
        } else {
            Aliasing::Never
        },
        expand: has_expansion.then_some(expand),
        custom: Some(custom),
        ..KernelBody::new(
            rule::infer,
            rule::launch,
            match has_expansion {
                // Kernels of the processor compute the expansion.
                true => Reference::Values(|_, _| Ok(Expected::TooLarge)),
                false => Reference::Callers,
            },
        )
    }
}

fn def(
    (name, doc): (&'static str, &'static str),
    params: Vec<Param>,
    body: KernelBody,
) -> &'static OpDef {
    let names: Vec<&'static str> = params.iter().map(|param| param.name).collect();
    let form = Form::own(name, names.leak());
    Box::leak(Box::new(OpDef {
        name,
        family: Family::Custom,
        doc,
        params: params.leak(),
        forms: vec![form].leak(),
        body: Body::Kernel(body),
        operations: rules::out_elements,
        laws: &[],
    }))
}
