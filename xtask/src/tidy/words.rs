//! Words that no file may hold, and `unsafe` without its argument.

use super::Breach;
use crate::workspace::{File, Workspace};

/// Banned in Rust code, outside of comments and literals, and what to do instead.
const IN_CODE: [(&str, &str); 7] = [
    ("todo!", "finish it"),
    ("unimplemented!", "finish it"),
    ("dbg!", "remove it"),
    ("#[allow(", "write #[expect(…, reason = \"…\")]"),
    ("#![allow(", "write #![expect(…, reason = \"…\")]"),
    ("#[ignore", "make the test run, or let it say windfall_testkit::skip!(…)"),
    ("should_panic]", "say what the panic says: should_panic(expected = \"…\")"),
];

/// Banned everywhere; in two halves, so that this file does not hold them either.
const ANYWHERE: [(&str, &str, &str); 7] = [
    ("FIX", "ME", "finish it"),
    ("XX", "X", "finish it"),
    ("TO", "DO", "finish it"),
    ("/wo", "rk/", "a path of one machine: make it relative"),
    ("/ho", "me/", "a path of one machine: make it relative"),
    ("/Us", "ers/", "a path of one machine: make it relative"),
    ("/tm", "p/wf", "a path of one machine: make it relative"),
];

/// The only source from which a locked dependency may come.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Folders of crates that may hold `unsafe`.
const UNSAFE: [&str; 7] = [
    "crates/host/live/",
    "crates/host/socket/",
    "crates/host/system/",
    "crates/faces/c/",
    "crates/faces/python/",
    "crates/faces/preload/",
    "crates/formats/fec/",
];

/// Declarations, which promise nothing: the argument stands where they are used.
const DECLARED: [&str; 3] = ["unsafe fn", "unsafe extern", "unsafe(no_mangle)"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for file in &workspace.files {
        for (number, line) in file.text.lines().enumerate() {
            for (start, end, fix) in ANYWHERE {
                if line.contains(&format!("{start}{end}")) {
                    let what = format!("\"{start}{end}\": {fix}");
                    breaches.push(Breach::new(&file.path, number + 1, what));
                }
            }
        }
        if file.is_rust() {
            code(file, &mut breaches);
        }
        if file.name() == "Cargo.lock" {
            sources(file, &mut breaches);
        }
    }
    breaches
}

fn code(file: &File, breaches: &mut Vec<Breach>) {
    let text: Vec<&str> = file.text.lines().collect();
    for (number, line) in file.code.lines().enumerate() {
        let mut breach = |what: String| breaches.push(Breach::new(&file.path, number + 1, what));
        for (word, fix) in IN_CODE {
            if line.contains(word) {
                breach(format!("`{word}`: {fix}"));
            }
        }
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| word == "unsafe") {
            if !UNSAFE.iter().any(|folder| file.path.starts_with(folder)) {
                breach("`unsafe` outside of the crates that may hold it".to_owned());
            } else if !DECLARED.iter().any(|it| line.contains(it)) && !argued(&text, number) {
                breach("`unsafe` without a comment `SAFETY:` above it".to_owned());
            }
        }
    }
}

/// Tells whether the comment above a line, or above the statement it ends, holds `SAFETY:`.
fn argued(text: &[&str], number: usize) -> bool {
    let above = text[..=number].iter().rev();
    let comment = |line: &&&str| line.trim_start().starts_with("//");
    // The statement may have begun one or two lines before its `unsafe`.
    let mut above = above.skip_while(|line| !comment(line)).take_while(comment).peekable();
    let near = text[number.saturating_sub(3)..=number].iter().any(|line| comment(&line));
    near && above.any(|line| line.contains("SAFETY:"))
}

fn sources(file: &File, breaches: &mut Vec<Breach>) {
    for (number, line) in file.text.lines().enumerate() {
        if let Some(source) = line.strip_prefix("source = ")
            && source.trim_matches('"') != REGISTRY
        {
            let what = format!("a dependency from {source}; only the public registry is meant");
            breaches.push(Breach::new(&file.path, number + 1, what));
        }
    }
}
