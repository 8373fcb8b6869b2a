//! The header of a `.npy` file: a Python dict literal with three known keys, and nothing else of
//! Python.

use super::wrong;
use crate::TensorError;

/// The entries of a header, and their places in it.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) descr: String,
    pub(super) descr_at: usize,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
    pub(super) shape_at: usize,
}

/// Reads a header that stands `base` bytes into the array.
pub(super) fn parse(text: &[u8], base: usize) -> Result<Header, TensorError> {
    let mut reader = Reader { text, at: 0, base };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    reader.expect(b'{', "`{`")?;
    while !reader.eat(b'}') {
        let key_at = reader.blank();
        let key = reader.string()?;
        reader.expect(b':', "`:`")?;
        let at = base + reader.blank();
        match key.as_str() {
            "descr" => descr = Some((reader.descr()?, at)),
            "fortran_order" => fortran_order = Some(reader.boolean()?),
            "shape" => shape = Some((reader.tuple()?, at)),
            _ => {
                let expected = "one of the keys descr, fortran_order, shape";
                return Err(wrong(base + key_at, expected, format!("'{key}'"), ""));
            }
        }
        if !reader.eat(b',') {
            reader.expect(b'}', "`,` or `}`")?;
            break;
        }
    }
    reader.blank();
    if reader.at != text.len() {
        return Err(reader.unexpected("the end of the header"));
    }
    let missing = |key: &str| wrong(base, format!("the key {key}"), "a header without it", "");
    let (descr, descr_at) = descr.ok_or_else(|| missing("descr"))?;
    let (shape, shape_at) = shape.ok_or_else(|| missing("shape"))?;
    let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
    Ok(Header {
        descr,
        descr_at,
        fortran_order,
        shape,
        shape_at,
    })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    base: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Passes white space and says where it ends.
    fn blank(&mut self) -> usize {
        while self
            .peek()
            .is_some_and(|c| matches!(c, b' ' | b'\n' | b'\t' | b'\r'))
        {
            self.at += 1;
        }
        self.at
    }

    fn eat(&mut self, c: u8) -> bool {
        self.blank();
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, c: u8, name: &str) -> Result<(), TensorError> {
        if self.eat(c) {
            Ok(())
        } else {
            Err(self.unexpected(name))
        }
    }

    fn unexpected(&self, expected: &str) -> TensorError {
        let got = match self.peek() {
            Some(c) => format!("`{}`", c.escape_ascii()),
            None => "the end of the header".to_owned(),
        };
        wrong(self.base + self.at, expected, got, "")
    }

    fn string(&mut self) -> Result<String, TensorError> {
        self.blank();
        let quote = match self.peek() {
            Some(c @ (b'\'' | b'"')) => c,
            _ => return Err(self.unexpected("a string")),
        };
        let rest = self.text.get(self.at + 1..).unwrap_or(&[]);
        let end = rest.iter().position(|&c| c == quote || c == b'\\');
        match end.and_then(|end| Some((end, rest.get(..end)?))) {
            Some((end, body)) if rest.get(end) == Some(&quote) => {
                self.at += end + 2;
                Ok(body.escape_ascii().to_string())
            }
            _ => Err(self.unexpected("a string that ends, without escapes")),
        }
    }

    fn descr(&mut self) -> Result<String, TensorError> {
        if matches!(self.peek(), Some(b'[' | b'(')) {
            let hint = "structured arrays are not tensors; save each field by itself";
            let at = self.base + self.at;
            return Err(wrong(at, "one dtype", "a list of fields", hint));
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, TensorError> {
        let rest = self.text.get(self.at..).unwrap_or(&[]);
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<u64>, TensorError> {
        let mut items = Vec::new();
        self.expect(b'(', "a tuple")?;
        while !self.eat(b')') {
            items.push(self.integer()?);
            if !self.eat(b',') {
                // (5) is a number in Python, not a tuple.
                if items.len() == 1 {
                    return Err(self.unexpected("`,`"));
                }
                self.expect(b')', "`,` or `)`")?;
                break;
            }
        }
        Ok(items)
    }

    fn integer(&mut self) -> Result<u64, TensorError> {
        let start = self.blank();
        let rest = self.text.get(start..).unwrap_or(&[]);
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        if digits == 0 {
            return Err(self.unexpected("a size"));
        }
        self.at += digits;
        let text = String::from_utf8_lossy(rest.get(..digits).unwrap_or(&[])).into_owned();
        text.parse()
            .map_err(|_| wrong(self.base + start, "a size below 2^64", text, ""))
    }
}
