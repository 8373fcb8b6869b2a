//! Indented JSON as Python's `json.dump(..., indent=2)` lays it out, streamed.

use super::text;
use std::io::{self, Write};

/// A writer that knows where commas and line breaks go.
pub(super) struct Pretty<'w, W: Write> {
    out: &'w mut W,
    depth: usize,
    /// Nothing stands yet in the innermost bracket.
    fresh: bool,
}

impl<'w, W: Write> Pretty<'w, W> {
    pub(super) fn new(out: &'w mut W) -> Self {
        Self {
            out,
            depth: 0,
            fresh: true,
        }
    }

    /// The bytes below, for a value written in pieces.
    pub(super) fn out(&mut self) -> &mut W {
        self.out
    }

    pub(super) fn open(&mut self, bracket: &str) -> io::Result<()> {
        self.depth += 1;
        self.fresh = true;
        self.raw(bracket)
    }

    /// Closes brackets, the innermost first.
    pub(super) fn close(&mut self, brackets: &str) -> io::Result<()> {
        for bracket in brackets.bytes() {
            self.depth -= 1;
            if !self.fresh {
                self.new_line()?;
            }
            self.fresh = false;
            self.out.write_all(&[bracket])?;
        }
        Ok(())
    }

    /// Starts an item of an array.
    pub(super) fn item(&mut self) -> io::Result<()> {
        if !self.fresh {
            self.raw(",")?;
        }
        self.fresh = false;
        self.new_line()
    }

    /// Starts a field of an object.
    pub(super) fn key(&mut self, key: &str) -> io::Result<()> {
        self.item()?;
        self.string(key)?;
        self.raw(": ")
    }

    /// Opens an object of this `__type__`.
    pub(super) fn open_typed(&mut self, ty: &str) -> io::Result<()> {
        self.open("{")?;
        self.text_field("__type__", ty)
    }

    pub(super) fn text_field(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.key(key)?;
        self.string(value)
    }

    pub(super) fn field(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.key(key)?;
        self.raw(value)
    }

    /// `{"__type__": ty, "value": name}`.
    pub(super) fn enumerator(&mut self, ty: &str, name: &str) -> io::Result<()> {
        self.open_typed(ty)?;
        self.text_field("value", name)?;
        self.close("}")
    }

    pub(super) fn string(&mut self, value: &str) -> io::Result<()> {
        self.out.write_all(text::encode(value).as_bytes())
    }

    /// Text that is JSON already.
    pub(super) fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    fn new_line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")?;
        for _ in 0..self.depth {
            self.out.write_all(b"  ")?;
        }
        Ok(())
    }
}
