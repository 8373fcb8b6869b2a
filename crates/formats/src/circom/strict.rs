//! JSON of which no object has a member twice: two readers of one text shall see one statement.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads a text.
pub(super) fn parse(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).map(|Strict(value)| value)
}

/// A value whose objects have each member once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, bit: bool) -> Result<Value, E> {
        Ok(bit.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let Strict(value) = members.next_value()?;
            if all.contains_key(&name) {
                return Err(A::Error::custom(format_args!("the member {name:?} twice")));
            }
            all.insert(name, value);
        }
        Ok(all.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::parse;
    use serde_json::Value;

    #[test]
    fn a_member_that_stands_twice_is_refused_at_any_depth() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"[{"b": {"c": 0, "d": 1, "c": 2}}]"#,
            r#"{"a": 1, "\u0061": 2}"#,
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("twice"), "{error}");
        }
    }

    #[test]
    fn everything_else_reads_as_json_does() {
        for text in [
            r#"{"a": [1, -2, 3.5, "x", null, true], "b": {}, "c": [[]], "d": {"a": 1}}"#,
            "18446744073709551615",
            "\"\\n\"",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text.as_bytes()).unwrap(), expected);
        }
        for text in ["", "{", "[1,]", "{} {}", "01", "nul"] {
            let mine = parse(text.as_bytes()).unwrap_err();
            let theirs = serde_json::from_str::<Value>(text).unwrap_err();
            assert_eq!(
                (mine.line(), mine.column()),
                (theirs.line(), theirs.column())
            );
        }
    }
}
