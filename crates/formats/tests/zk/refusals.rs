//! Malformed programs are errors with their place; faults in parts of a program are findings.

use cloakwork_formats::zk::parse;

#[test]
fn malformed_text_is_an_error_with_its_place() {
    let deep = format!("{{\"format\": {}1{}}}", "[".repeat(80), "]".repeat(80));
    for (text, expected) in [
        ("", "program version=1"),
        (" \n; a comment\n", "program version=1, got the end"),
        ("{}", "a program: an object with"),
        ("{\"a\": 1}", "a program: an object with"),
        (
            "{\"__type__\": \"ExecutionTranscript\", \"transcript\": []}",
            "a program: an object with",
        ),
        ("{\"format\": \"program\",", "a key in double quotes"),
        ("{\"format\": \"program\", \"format\": 1}", "each key once"),
        (deep.as_str(), "at most 64 values in one another"),
        ("{\"format\": NaN}", "a value"),
        (
            "program version=1\nmain {\nJoin thread=t\n",
            "`}` of the block",
        ),
        (
            "program version=1\nregister a type=u64\nregister a type=u64\n",
            "each register once",
        ),
        (
            "program version=1\nJoin thread=t",
            "program, main, functions",
        ),
        ("program version=[1\n", "`]`"),
        ("program version=\"1\nmain {}", "a text in quotes"),
    ] {
        let error = parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    for (text, expected) in [
        (
            "{\"format\": \"other\", \"version\": 1, \"main\": []}",
            "`format`: expected \"program\"",
        ),
        (
            "{\"format\": \"program\", \"version\": 2, \"main\": []}",
            "`version`: expected 1, got 2",
        ),
        (
            "{\"format\": \"program\", \"version\": 1}",
            "`main`: expected a list of instructions",
        ),
        (
            "{\"format\": \"program\", \"version\": 1, \"mian\": [], \"main\": []}",
            "`mian`: expected",
        ),
    ] {
        let found = parse(text.as_bytes()).unwrap().findings;
        assert!(
            found.len() == 1 && found[0].to_string().contains(expected),
            "{found:#?}"
        );
    }
}

#[test]
fn bombs_take_time_in_proportion_to_their_size() {
    let entry = |index: usize| format!("\"r{index}\": {{\"type\": \"u64\"}}");
    let entries: Vec<String> = (0..100_000).map(entry).collect();
    let text = format!(
        "{{\"format\": \"program\", \"version\": 1, \"registers\": {{{}}}, \"main\": []}}",
        entries.join(", ")
    );
    // In time that grows with the square it would take hours.
    assert_eq!(parse(text.as_bytes()).unwrap().ast.registers.len(), 100_000);
}
