//! The fields of one object, taken one after another; what is wrong with them is gathered.

use super::ast::Type;
use super::value::Value;
use cloakwork_ir::{Curve, DType, Device, Finding, MAX_ELEMENTS, Repr, Shape};

/// The largest size, index or number of bytes that a program may say.
pub(super) const MAX_SIZE: u64 = 1 << 40;
/// Bytes that a transcript has room for where its type says nothing.
const TRANSCRIPT_BYTES: u64 = 1 << 16;
/// Hashes of transcripts; the first where a type says nothing.
const HASHES: [&str; 2] = ["blake2b", "keccak256"];
/// Characters that names must not contain: they mark names that lowering adds.
const RESERVED: [char; 2] = ['#', '%'];

/// The fields of an object.
pub(super) struct Fields<'a, 'f> {
    entries: &'a [(String, Value)],
    taken: Vec<bool>,
    /// Whether all fields taken so far are as they should be.
    pub ok: bool,
    pub path: String,
    pub curve: Option<Curve>,
    pub found: &'f mut Vec<Finding>,
}

impl<'a, 'f> Fields<'a, 'f> {
    /// The fields of a value; a finding if it is not an object.
    pub fn new(
        value: &'a Value,
        path: String,
        curve: Option<Curve>,
        found: &'f mut Vec<Finding>,
    ) -> Self {
        let entries: &[(String, Value)] = match value {
            Value::Map(entries) => entries,
            _ => &[],
        };
        let ok = matches!(value, Value::Map(_));
        if !ok {
            let finding = Finding::error("V01", "an object", value.described());
            found.push(finding.field(path.clone()));
        }
        let taken = vec![false; entries.len()];
        Self {
            entries,
            taken,
            ok,
            path,
            curve,
            found,
        }
    }

    /// Reads the fields of an object within this one; whether all are as they should be.
    pub fn within<T>(
        &mut self,
        value: &'a Value,
        path: String,
        read: impl FnOnce(&mut Fields<'a, '_>) -> T,
    ) -> (T, bool) {
        let mut inner = Fields::new(value, path, self.curve, self.found);
        let read = read(&mut inner);
        let ok = inner.end();
        self.ok &= ok;
        (read, ok)
    }

    /// Records a wrong field.
    pub fn wrong(&mut self, key: &str, expected: &str, got: impl Into<String>, hint: &str) {
        self.ok = false;
        let finding = Finding::error("V01", expected, got).hint(hint);
        self.found.push(finding.field(joined(&self.path, key)));
    }

    /// The value of a field that may be absent; null is absent.
    pub fn optional(&mut self, key: &str) -> Option<&'a Value> {
        let index = self.entries.iter().position(|(k, _)| k == key)?;
        if let Some(taken) = self.taken.get_mut(index) {
            *taken = true;
        }
        let (_, value) = self.entries.get(index)?;
        (*value != Value::Null).then_some(value)
    }

    /// All strings that the fields hold, those in lists too.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (_, value) in self.entries {
            match value {
                Value::Text(text) => texts.push(text.clone()),
                Value::List(list) => texts.extend(list.iter().filter_map(|value| match value {
                    Value::Text(text) => Some(text.clone()),
                    _ => None,
                })),
                _ => {}
            }
        }
        texts
    }

    /// The value of a field.
    pub fn required(&mut self, key: &str, expected: &str) -> Option<&'a Value> {
        let value = self.optional(key);
        if value.is_none() {
            self.wrong(key, expected, "nothing", "the field must be there");
        }
        value
    }

    /// Records unknown fields.
    pub fn end(mut self) -> bool {
        for index in 0..self.entries.len() {
            if self.taken.get(index) == Some(&false)
                && let Some((key, _)) = self.entries.get(index)
            {
                let hint = "remove the field, or see docs/zk.md for how it is spelled";
                self.wrong(key, "a field that is known here", "an unknown one", hint);
            }
        }
        self.ok
    }

    /// Reads a value; adds a finding where it is of another kind.
    fn read<T>(
        &mut self,
        key: &str,
        value: &'a Value,
        (expected, hint): (&str, &str),
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let found = read(value);
        if found.is_none() {
            self.wrong(key, expected, value.described(), hint);
        }
        found
    }

    fn a_text(&mut self, key: &str, value: Option<&'a Value>, what: &str) -> Option<String> {
        self.read(key, value?, (what, "write a string"), |value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// The values of a list; none where the value is another.
    fn list(&mut self, key: &str, value: &'a Value, words: (&str, &str)) -> &'a [Value] {
        let list = self.read(key, value, words, |value| match value {
            Value::List(list) => Some(list.as_slice()),
            _ => None,
        });
        list.unwrap_or_default()
    }

    /// Passes on the meaning of a name; adds a finding where the name is unknown.
    pub fn known<T>(
        &mut self,
        key: &str,
        known: Option<T>,
        expected: &str,
        name: &str,
    ) -> Option<T> {
        if known.is_none() {
            self.wrong(key, expected, format!("\"{name}\""), "");
        }
        known
    }

    /// A string.
    pub fn text(&mut self, key: &str) -> String {
        let value = self.required(key, "a string");
        self.a_text(key, value, "a string").unwrap_or_default()
    }

    /// A string that may be absent.
    pub fn maybe_text(&mut self, key: &str) -> Option<String> {
        let value = self.optional(key);
        self.a_text(key, value, "a string")
    }

    /// The name of something of this kind.
    pub fn name(&mut self, key: &str) -> String {
        let name = self.text(key);
        self.check_name(key, &name);
        name
    }

    fn check_name(&mut self, key: &str, name: &str) {
        if name.contains(RESERVED) {
            let hint = "choose another name";
            self.wrong(key, "a name without # and %", format!("\"{name}\""), hint);
        }
    }

    /// A list of names.
    pub fn names(&mut self, key: &str) -> Vec<String> {
        match self.optional(key) {
            None => Vec::new(),
            Some(value) => self.names_of(key, value),
        }
    }

    /// The names in a list.
    pub fn names_of(&mut self, key: &str, value: &'a Value) -> Vec<String> {
        let list = self.list(key, value, ("a list of names", "write [\"a\", \"b\"]"));
        let mut names = Vec::with_capacity(list.len());
        for (index, value) in list.iter().enumerate() {
            let key = format!("{key}[{index}]");
            let name = self.a_text(&key, Some(value), "a name").unwrap_or_default();
            self.check_name(&key, &name);
            names.push(name);
        }
        names
    }

    /// A truth value; false if it is absent.
    pub fn flag(&mut self, key: &str) -> bool {
        let flag = self.optional(key).and_then(|value| {
            self.read(key, value, ("true or false", ""), |value| match value {
                Value::Bool(flag) => Some(*flag),
                _ => None,
            })
        });
        flag.unwrap_or_default()
    }

    /// A size, an index or a number of bytes.
    pub fn size(&mut self, key: &str) -> u64 {
        let value = self.required(key, "an integer of 0 or more");
        value.map_or(0, |value| self.size_of(key, value))
    }

    /// A size that may be absent.
    pub fn maybe_size(&mut self, key: &str) -> Option<u64> {
        let value = self.optional(key)?;
        Some(self.size_of(key, value))
    }

    /// The size that a value says.
    pub fn size_of(&mut self, key: &str, value: &'a Value) -> u64 {
        let words = ("an integer of 0 or more, at most 2^40", "");
        let size = self.read(key, value, words, |value| match value {
            Value::Int(number) => u64::try_from(*number).ok().filter(|size| *size <= MAX_SIZE),
            _ => None,
        });
        size.unwrap_or_default()
    }

    /// An integer of either sign.
    pub fn int(&mut self, key: &str) -> i64 {
        let number = self.required(key, "an integer").and_then(|value| {
            self.read(
                key,
                value,
                ("an integer within 2^40", ""),
                |value| match value {
                    Value::Int(value) if value.unsigned_abs() <= MAX_SIZE => Some(*value),
                    _ => None,
                },
            )
        });
        number.unwrap_or_default()
    }

    /// A list of sizes.
    pub fn sizes(&mut self, key: &str) -> Vec<u64> {
        let Some(value) = self.required(key, "a list of sizes") else {
            return Vec::new();
        };
        let list = self
            .list(key, value, ("a list of sizes", "write [8, 4]"))
            .iter()
            .enumerate();
        list.map(|(i, value)| self.size_of(&format!("{key}[{i}]"), value))
            .collect()
    }

    /// A device; `cpu` if it may be absent and is.
    pub fn device(&mut self, key: &str, default: Option<&str>) -> String {
        let name = match (default, self.maybe_text(key)) {
            (_, Some(name)) => name,
            (Some(default), None) => return default.to_owned(),
            (None, None) if !self.ok => return String::new(),
            (None, None) => {
                self.wrong(key, "a device", "nothing", "write \"cpu\" or \"gpu:0\"");
                return String::new();
            }
        };
        if Device::from_name(&name).is_none() {
            let hint = "write \"cpu\", \"gpu:0\", \"sim:0\", \"disk\" or \"disk:0\"";
            self.wrong(key, "the name of a device", format!("\"{name}\""), hint);
        }
        name
    }

    /// A type.
    pub fn ty(&mut self, key: &str) -> Type {
        let nothing = Type::Bytes(Some(0));
        match self.required(key, "a type") {
            Some(value) => self.ty_of(key, value).unwrap_or(nothing),
            None => nothing,
        }
    }

    /// A list of types.
    pub fn tys(&mut self, key: &str) -> Vec<Type> {
        let Some(value) = self.required(key, "a list of types") else {
            return Vec::new();
        };
        let list = self.list(key, value, ("a list of types", ""));
        match self.tuple(key, list) {
            Some(Type::Tuple(types)) => types,
            _ => Vec::new(),
        }
    }

    /// The type that a value says; what is wrong is recorded.
    pub fn ty_of(&mut self, key: &str, value: &'a Value) -> Option<Type> {
        match value {
            Value::Text(text) => self.short_type(key, text),
            Value::List(list) => self.tuple(key, list),
            Value::Map(entries) if entries.len() == 1 => {
                let (kind, value) = entries.first()?;
                if let ("Tuple", Value::List(list)) = (kind.as_str(), value) {
                    return self.tuple(key, list);
                }
                let path = joined(&joined(&self.path, key), kind);
                let (ty, ok) = self.within(value, path, |fields| fields.of_kind(kind));
                ty.filter(|_| ok)
            }
            other => {
                let expected = "a type: an object with one key, or a short form";
                let hint = "write {\"Tensor\": {\"dtype\": \"bn254.fr\", \"shape\": [8]}}, or \
                            \"bn254.fr<8>\"";
                self.wrong(key, expected, other.described(), hint);
                None
            }
        }
    }

    fn tuple(&mut self, key: &str, list: &'a [Value]) -> Option<Type> {
        let types = list.iter().enumerate();
        let types = types.map(|(i, value)| self.ty_of(&format!("{key}[{i}]"), value));
        types.collect::<Option<Vec<_>>>().map(Type::Tuple)
    }

    fn of_kind(&mut self, kind: &str) -> Option<Type> {
        match kind {
            "Tensor" => {
                let (dtype, shape) = (self.dtype("dtype"), self.sizes("shape"));
                let repr = self.maybe_text("repr").and_then(|name| {
                    let expected = "\"coef\" or \"lagrange\"";
                    self.known("repr", Repr::from_name(&name), expected, &name)
                });
                self.checked("shape", dtype?, shape, repr)
            }
            "Scalar" => {
                let dtype = self.dtype("field");
                self.checked("field", dtype?, Vec::new(), None)
            }
            "Points" | "Point" => {
                let dtype = self.points()?;
                let shape = match kind {
                    "Point" => Vec::new(),
                    _ => vec![self.size("n")],
                };
                self.checked("n", dtype, shape, None)
            }
            "Transcript" => Some(Type::Transcript {
                curve: self.curve("curve")?,
                hash: self.hash()?,
                bytes: self.maybe_size("bytes").unwrap_or(TRANSCRIPT_BYTES),
            }),
            "Bytes" => Some(Type::Bytes(self.maybe_size("n"))),
            "Stream" => {
                let hint = "declare streams under \"streams\"";
                self.wrong("", "the type of a register", "Stream", hint);
                None
            }
            _ => {
                let expected = "Tensor, Scalar, Points, Point, Transcript, Tuple or Bytes";
                self.wrong("", expected, kind, "");
                None
            }
        }
    }

    fn points(&mut self) -> Option<DType> {
        let curve = self.curve("curve")?;
        let facts = curve.facts();
        let name = self.maybe_text("group").unwrap_or_else(|| "g1".to_owned());
        let (group, expected) = match (name.as_str(), facts.g2) {
            ("g1", _) => (Some(facts.g1), ""),
            ("g2", Some(g2)) => (Some(g2), ""),
            (_, Some(_)) => (None, "\"g1\" or \"g2\""),
            (_, None) => (None, "\"g1\": the curve has no pairing"),
        };
        self.known("group", group.map(DType::Point), expected, &name)
    }

    fn hash(&mut self) -> Option<String> {
        let hash = self.maybe_text("hash");
        let hash = hash.unwrap_or_else(|| HASHES[0].to_owned());
        let known = HASHES.contains(&hash.as_str()).then(|| hash.clone());
        self.known("hash", known, "\"blake2b\" or \"keccak256\"", &hash)
    }

    fn dtype(&mut self, key: &str) -> Option<DType> {
        let name = self.text(key);
        let dtype = DType::from_name(&name);
        if !self.ok {
            return dtype;
        }
        let expected = "an element type, such as bn254.fr, bls12_381.g1 or u64";
        self.known(key, dtype, expected, &name)
    }

    /// The curve that a field names, else the program's.
    pub fn curve(&mut self, key: &str) -> Option<Curve> {
        let Some(name) = self.maybe_text(key) else {
            if self.curve.is_none() {
                let hint = "name it here, or for the whole program under \"curve\"";
                self.wrong(key, "a curve", "nothing", hint);
            }
            return self.curve;
        };
        let names: Vec<String> = Curve::all().map(|c| format!("\"{}\"", c.name())).collect();
        self.known(key, Curve::from_name(&name), &names.join(" or "), &name)
    }

    fn checked(
        &mut self,
        key: &str,
        dtype: DType,
        shape: Vec<u64>,
        repr: Option<Repr>,
    ) -> Option<Type> {
        match Shape::new(&shape) {
            Ok(legal) if legal.elements() <= MAX_SIZE.min(MAX_ELEMENTS) => {
                Some(Type::Tensor { dtype, shape, repr })
            }
            _ => {
                let expected = "at most 16 axes and 2^40 elements";
                self.wrong(key, expected, format!("{shape:?}"), "");
                None
            }
        }
    }

    /// `bn254.fr<8x4>:lagrange`, `transcript:blake2b`, `bytes<64>`.
    fn short_type(&mut self, key: &str, text: &str) -> Option<Type> {
        let ty = parse_short(text, self.curve);
        if let Some(Type::Tensor { dtype, shape, repr }) = ty {
            return self.checked(key, dtype, shape, repr);
        }
        if ty.is_none() {
            let hint = "write bn254.fr<8>, bn254.fr<8>:lagrange, bn254.g1, bytes<64> or \
                        transcript:blake2b:bn254";
            self.wrong(key, "the short form of a type", format!("\"{text}\""), hint);
        }
        ty
    }
}

fn parse_short(text: &str, curve: Option<Curve>) -> Option<Type> {
    let mut parts = text.split(':');
    let head = parts.next()?;
    let (name, shape) = match head.split_once('<') {
        None => (head, Vec::new()),
        Some((name, sizes)) => {
            let sizes = sizes.strip_suffix('>')?;
            let size = |size: &str| size.parse().ok().filter(|&size: &u64| size <= MAX_SIZE);
            let sizes: Option<Vec<u64>> = sizes.split('x').map(size).collect();
            (name, sizes?)
        }
    };
    let ty = match name {
        "bytes" => Type::Bytes(shape.first().copied()),
        "transcript" => Type::Transcript {
            hash: parts.next().unwrap_or(HASHES[0]).to_owned(),
            curve: match parts.next() {
                None => curve?,
                Some(name) => Curve::from_name(name)?,
            },
            bytes: shape.first().copied().unwrap_or(TRANSCRIPT_BYTES),
        },
        _ => Type::Tensor {
            dtype: DType::from_name(name)?,
            shape,
            repr: match parts.next() {
                None => None,
                Some(name) => Some(Repr::from_name(name)?),
            },
        },
    };
    let known = match &ty {
        Type::Transcript { hash, .. } => HASHES.contains(&hash.as_str()),
        _ => true,
    };
    (known && parts.next().is_none()).then_some(ty)
}

/// The short form of a type, if it has one.
pub(super) fn short(ty: &Type) -> Option<String> {
    let sizes = |shape: &[u64]| {
        let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
        if sizes.is_empty() {
            String::new()
        } else {
            format!("<{}>", sizes.join("x"))
        }
    };
    Some(match ty {
        Type::Tensor { dtype, shape, repr } => {
            let repr = repr.map_or(String::new(), |repr| format!(":{}", repr.name()));
            format!("{}{}{repr}", dtype.name(), sizes(shape))
        }
        Type::Transcript { curve, hash, bytes } => {
            format!("transcript<{bytes}>:{hash}:{}", curve.name())
        }
        Type::Bytes(n) => format!("bytes{}", n.map_or(String::new(), |n| format!("<{n}>"))),
        Type::Tuple(_) => return None,
    })
}

/// A path and a key of what it leads to.
pub(super) fn joined(path: &str, key: &str) -> String {
    match (path.is_empty(), key.is_empty()) {
        (true, _) => key.to_owned(),
        (_, true) => path.to_owned(),
        _ => format!("{path}.{key}"),
    }
}
