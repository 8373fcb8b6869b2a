//! The text form: the same tree, one declaration or instruction a line, quotes only where needed.
//!
//! ```text
//! program version=1 curve=bn254          ; a comment
//! register w type=bn254.fr<8>:lagrange device=gpu:0
//! stream s device=gpu:0
//! main {
//!   Fork new_thread=t {
//!     FuncCall func=ntt arg_mut=[w] arg=[] attrs={inverse=true} stream=s
//!   }
//!   Join thread=t
//! }
//! ```

use super::value::{MAX_DEPTH, Value, print_as, print_text};
use crate::{LoadError, Mismatch};

/// Words that begin a line, and the tables that their lines are entries of.
const TABLES: [(&str, &str); 8] = [
    ("register", "registers"),
    ("input", "inputs"),
    ("constant", "constants"),
    ("event", "events"),
    ("stream", "streams"),
    ("output", "outputs"),
    ("function", "user_functions"),
    ("budget", "budget"),
];
/// Bytes that end a word.
const ENDS: &[u8] = b" \t\r\n,;=[]{}\"";

/// The text of a tree of a program.
pub(super) fn print(tree: &Value) -> String {
    let mut out = String::from("program");
    for key in ["version", "curve"] {
        if let Some(value) = tree.get(key) {
            field(key, value, &mut out);
        }
    }
    out.push('\n');
    for (word, key) in TABLES {
        let Some(Value::Map(entries)) = tree.get(key) else {
            continue;
        };
        for (name, value) in entries {
            out.push_str(word);
            out.push(' ');
            quoted(name, &mut out);
            match value {
                Value::Map(fields) if key != "outputs" => {
                    fields
                        .iter()
                        .for_each(|(key, value)| field(key, value, &mut out));
                }
                value => field("is", value, &mut out),
            }
            out.push('\n');
        }
    }
    if let Some(functions) = tree.get("functions") {
        out.push_str("functions");
        field("is", functions, &mut out);
        out.push('\n');
    }
    out.push_str("main");
    block(tree.get("main"), 0, &mut out);
    out
}

fn block(list: Option<&Value>, depth: usize, out: &mut String) {
    out.push_str(" {\n");
    if let Some(Value::List(list)) = list {
        for instruction in list {
            line(instruction, depth + 1, out);
        }
    }
    out.push_str(&"  ".repeat(depth));
    out.push_str("}\n");
}

fn line(instruction: &Value, depth: usize, out: &mut String) {
    out.push_str(&"  ".repeat(depth));
    let Value::Map(fields) = instruction else {
        return;
    };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("op", Value::Text(name)) => quoted(name, out),
            ("instructions", _) => {}
            _ => field(key, value, out),
        }
    }
    match instruction.get("instructions") {
        Some(list) => block(Some(list), depth, out),
        None => out.push('\n'),
    }
}

fn field(key: &str, value: &Value, out: &mut String) {
    out.push(' ');
    quoted(key, out);
    out.push('=');
    print_as(value, (quoted, "="), out);
}

/// A text as a word if that reads back as the same text, else in quotes.
fn quoted(text: &str, out: &mut String) {
    let plain = text
        .bytes()
        .all(|c| c > b' ' && c < 0x7f && !ENDS.contains(&c));
    if plain && !text.is_empty() && matches!(word(text), Value::Text(_)) {
        out.push_str(text);
    } else {
        print_text(text, out);
    }
}

/// The value of a word.
fn word(text: &str) -> Value {
    match text {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if text
            .bytes()
            .next()
            .is_some_and(|c| c == b'-' || c.is_ascii_digit()) =>
        {
            match crate::heal::number_length(text.as_bytes()) {
                Some(length) if length == text.len() => Value::number(text),
                _ => Value::text(text),
            }
        }
        _ => Value::text(text),
    }
}

/// The tree of a text.
pub(super) fn parse(text: &[u8]) -> Result<Value, LoadError> {
    let mut reader = Reader { text, at: 0 };
    reader.program().map_err(|(at, expected, hint)| {
        let rest = text.get(at..).unwrap_or(&[]);
        let shown: Vec<u8> = rest
            .iter()
            .copied()
            .take(20)
            .take_while(|&c| c != b'\n')
            .collect();
        let got = match shown.as_slice() {
            [] if rest.is_empty() => "the end of the text".to_owned(),
            [] => "the end of the line".to_owned(),
            shown => format!(
                "`{}`",
                cloakwork_ir::printable(&String::from_utf8_lossy(shown))
            ),
        };
        LoadError::text(text, at, Mismatch::new(expected, got, hint))
    })
}

/// A mistake: the place, the expected content, and advice.
type Mistake = (usize, String, &'static str);

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn program(&mut self) -> Result<Value, Mistake> {
        let mut map = vec![("format".to_owned(), Value::text("program"))];
        let mut tables: Vec<Vec<(String, Value)>> = vec![Vec::new(); TABLES.len()];
        let mut known = std::collections::HashSet::new();
        let mut main = None;
        if !self.line_begins() {
            let hint = "a program begins with its version, or is a JSON object";
            return Err((self.at, "the line program version=1".to_owned(), hint));
        }
        while self.line_begins() {
            let start = self.at;
            let word = self.name()?;
            let table = TABLES.iter().position(|(own, _)| *own == word);
            match (word.as_str(), table.and_then(|index| tables.get_mut(index))) {
                ("program", _) => {
                    let fields = self.fields(0)?;
                    map.extend(fields);
                }
                ("functions", _) => {
                    let fields = self.fields(0)?;
                    map.extend(fields.into_iter().map(|(_, v)| ("functions".to_owned(), v)));
                }
                ("main", _) if main.is_none() => main = Some(self.block(1)?),
                (_, Some(table)) => {
                    let name = self.name()?;
                    if !known.insert((word.clone(), name.clone())) {
                        let expected = format!("each {word} once");
                        return Err((start, expected, "give one of the two another name"));
                    }
                    let mut fields = self.fields(0)?;
                    let is = fields.iter().position(|(key, _)| key == "is");
                    let value = match is {
                        Some(index) if fields.len() == 1 => fields.swap_remove(index).1,
                        _ => Value::Map(fields),
                    };
                    table.push((name, value));
                }
                _ => {
                    let expected = "program, main, functions, or a declaration: register, input, \
                                    output, constant, event, stream, budget";
                    return Err((start, expected.to_owned(), "instructions stand in main { }"));
                }
            }
        }
        for ((_, key), table) in TABLES.iter().zip(tables) {
            if !table.is_empty() {
                map.push(((*key).to_owned(), Value::Map(table)));
            }
        }
        map.extend(main.map(|main| ("main".to_owned(), main)));
        let mut keys = std::collections::HashSet::new();
        if map.iter().any(|(key, _)| !keys.insert(key)) {
            return Err((self.at, "each key once".to_owned(), "one line says it"));
        }
        Ok(Value::Map(map))
    }

    /// The instructions up to the closing brace.
    fn block(&mut self, depth: u32) -> Result<Value, Mistake> {
        self.deep(depth)?;
        self.expect(b'{')?;
        let mut list = Vec::new();
        loop {
            if !self.line_begins() {
                let hint = "the text seems truncated";
                return Err((self.at, "`}` of the block".to_owned(), hint));
            }
            if self.eat(b'}') {
                return Ok(Value::List(list));
            }
            let mut map = vec![("op".to_owned(), Value::Text(self.name()?))];
            let fields = self.fields(depth)?;
            map.extend(fields);
            if self.byte() == Some(b'{') {
                let inner = self.block(depth + 1)?;
                map.push(("instructions".to_owned(), inner));
            }
            list.push(Value::Map(map));
        }
    }

    /// `key=value` up to the end of the line or a brace.
    fn fields(&mut self, depth: u32) -> Result<Vec<(String, Value)>, Mistake> {
        let mut fields: Vec<(String, Value)> = Vec::new();
        loop {
            self.blank();
            if matches!(self.byte(), None | Some(b'\n' | b';' | b'{' | b'}')) {
                return Ok(fields);
            }
            let entry = self.entry(depth)?;
            self.add(&mut fields, entry)?;
        }
    }

    fn entry(&mut self, depth: u32) -> Result<(String, Value), Mistake> {
        let key = self.name()?;
        self.expect(b'=')?;
        Ok((key, self.value(depth + 1)?))
    }

    fn add(
        &self,
        fields: &mut Vec<(String, Value)>,
        entry: (String, Value),
    ) -> Result<(), Mistake> {
        // Lines have few fields: a line of many costs no more than the square of a small number.
        const MOST: usize = 4096;
        if fields.len() >= MOST || fields.iter().any(|(key, _)| *key == entry.0) {
            let hint = "give one of the two another name, or remove it";
            return Err((self.at, "each key once, and at most 4096".to_owned(), hint));
        }
        fields.push(entry);
        Ok(())
    }

    fn value(&mut self, depth: u32) -> Result<Value, Mistake> {
        self.deep(depth)?;
        self.blank();
        if self.eat(b'[') {
            let mut list = Vec::new();
            while !self.eat(b']') {
                list.push(self.value(depth + 1)?);
                if !self.eat(b',') {
                    self.expect(b']')?;
                    break;
                }
            }
            return Ok(Value::List(list));
        }
        if self.eat(b'{') {
            let mut map = Vec::new();
            while !self.eat(b'}') {
                let entry = self.entry(depth)?;
                self.add(&mut map, entry)?;
                if !self.eat(b',') {
                    self.expect(b'}')?;
                    break;
                }
            }
            return Ok(Value::Map(map));
        }
        if self.byte() == Some(b'"') {
            return self.name().map(Value::Text);
        }
        self.name().map(|text| word(&text))
    }

    fn deep(&self, depth: u32) -> Result<(), Mistake> {
        if depth < MAX_DEPTH / 2 {
            return Ok(());
        }
        let expected = format!("at most {} values in one another", MAX_DEPTH / 2);
        Err((self.at, expected, "nest less deeply"))
    }

    /// A word, or a text in quotes.
    fn name(&mut self) -> Result<String, Mistake> {
        self.blank();
        let start = self.at;
        if self.byte() == Some(b'"') {
            let rest = self.text.get(start..).unwrap_or(&[]);
            let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let mut cursor = crate::heal::cursor::Cursor::new(rest.get(..line).unwrap_or(rest));
            let text = cursor.string().map(std::borrow::Cow::into_owned);
            let Ok(text) = text else {
                let hint = "quotes close on the same line; escapes are those of JSON";
                return Err((start, "a text in quotes".to_owned(), hint));
            };
            self.at += cursor.passed();
            return Ok(text);
        }
        while self.byte().is_some_and(|c| !ENDS.contains(&c)) {
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or(&[]);
        match std::str::from_utf8(word) {
            Ok(word) if !word.is_empty() => Ok(word.to_owned()),
            _ => {
                self.at = start;
                Err((start, "a word, or a text in quotes".to_owned(), ""))
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Passes blank lines and comments; whether anything comes.
    fn line_begins(&mut self) -> bool {
        loop {
            self.blank();
            match self.byte() {
                Some(b'\n') => self.at += 1,
                Some(b';') => {
                    let rest = self.text.get(self.at..).unwrap_or(&[]);
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                other => return other.is_some(),
            }
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.blank();
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Mistake> {
        if self.eat(byte) {
            return Ok(());
        }
        Err((self.at, format!("`{}`", byte as char), ""))
    }
}
