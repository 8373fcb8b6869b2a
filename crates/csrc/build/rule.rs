//! The rule of make in which a compiler lists the files that it read.

/// The files of a rule, `object: source header \` and lines that go on.
pub fn dependencies(rule: &str) -> Vec<String> {
    let files = rule.split_once(": ").map_or("", |(_, files)| files);
    let (mut found, mut name) = (Vec::new(), String::new());
    let mut characters = files.chars();
    while let Some(character) = characters.next() {
        let ends = match character {
            // A backslash before the end of a line, or before a character of a name.
            '\\' => match characters.next() {
                None | Some('\n') => true,
                Some(escaped) => {
                    name.push(escaped);
                    false
                }
            },
            // A dollar is written twice.
            '$' => {
                characters.next();
                name.push('$');
                false
            }
            space if space.is_whitespace() => true,
            other => {
                name.push(other);
                false
            }
        };
        if ends && !name.is_empty() {
            found.push(std::mem::take(&mut name));
        }
    }
    found.extend((!name.is_empty()).then_some(name));
    found
}

#[cfg(test)]
mod tests {
    use super::dependencies;

    #[test]
    fn files_are_read_over_lines_with_spaces_and_dollars() {
        let rule = "out/a.o: /x/a.cc \\\n  /x/two\\ words/b.h /usr/c$$.h \\\n d.h\n";
        let expected = ["/x/a.cc", "/x/two words/b.h", "/usr/c$.h", "d.h"];
        assert_eq!(dependencies(rule), expected);
    }

    #[test]
    fn what_is_no_rule_has_no_files() {
        for text in ["", "a.o", "a.o:", "a.o: \n", "a.o: \\"] {
            assert_eq!(dependencies(text), [""; 0], "{text:?}");
        }
    }
}
