//! How long things may be.

use super::Breach;
use crate::rust;
use crate::workspace::Workspace;

/// Lines of code in a file, tests apart.
const FILE: usize = 700;
/// Lines of a function, from its name to its brace.
const FUNCTION: usize = 80;
/// Elements of a tuple that a parameter takes apart: more of them want names.
const TUPLE: usize = 2;
/// Columns of a line.
const LINE: usize = 100;

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in workspace.files.iter().filter(|file| file.is_rust()) {
        let mut breach = |line, what| breaches.push(Breach::new(&file.path, line, what));
        for (number, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            // A row of a table in a comment cannot be broken.
            let row = line.trim_start().starts_with("//") && line.ends_with('|');
            if columns > LINE && !row {
                breach(number + 1, format!("{columns} columns; {LINE} are allowed"));
            }
        }
        for function in rust::functions(&file.code) {
            let name = function.name;
            let lines = function.lines;
            if lines > FUNCTION {
                let what = format!("`{name}` has {lines} lines; {FUNCTION} are allowed");
                breach(function.line, what);
            }
        }
        let tests = rust::test_regions(&file.code);
        for (line, name, elements) in rust::tuple_parameters(&file.code) {
            let is_test = file.is_test() || tests.iter().any(|test| test.contains(&line));
            if elements > TUPLE && !is_test {
                let what = format!(
                    "`{name}` takes a tuple of {elements} apart: make it a struct or parameters"
                );
                breach(line, what);
            }
        }
        let lines = rust::code_lines(&file.code);
        if !file.is_test() && lines > FILE {
            breach(0, format!("{lines} lines of code; {FILE} are allowed"));
        }
    }
    breaches
}
