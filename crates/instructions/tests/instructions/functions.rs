//! The table of functions in `docs/zk.md` is the list of functions.

use cloakwork_instructions::FUNCTIONS;

#[test]
fn each_function_has_its_row_in_the_documentation_with_its_attributes() {
    let page = include_str!("../../../../docs/zk.md");
    let table = page.split("| function | writes | reads |").nth(1).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row[1].trim_matches('`')).collect();
    let own: Vec<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
    assert_eq!(names, own);
    for (function, row) in FUNCTIONS.iter().zip(rows) {
        let attrs = function.attrs().map(|attr| {
            let open = if attr.required { "" } else { "?" };
            format!("{}{open}: {}", attr.name, attr.kind.replace(" | ", " or "))
        });
        let attrs: Vec<String> = attrs.collect();
        let written = if attrs.is_empty() {
            "–".to_owned()
        } else {
            attrs.join(", ")
        };
        assert_eq!(row[4], written, "{}", function.name);
    }
}
