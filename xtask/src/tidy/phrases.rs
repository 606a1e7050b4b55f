//! Plain technical English: the words of the glossary, and doc comments that state something.

use super::Breach;
use crate::workspace::{File, Workspace};

/// Folders and files whose words were not revised yet; the list only gets shorter.
const NOT_REVISED: &[&str] = &[];

/// Phrases that no file may hold, in lower case, and what to write instead.
const PHRASES: [(&str, &str); 39] = [
    ("anybody", "any station, any host, anything"),
    ("became of", "what happened to, the outcome of"),
    ("bruised", "damaged"),
    ("came to nothing", "failed, was dropped"),
    ("come to nothing", "fail, are dropped"),
    ("gets on", "advances, makes progress"),
    ("get on", "advance, make progress"),
    ("hand up", "pass up, deliver to the upper layer"),
    ("handed up", "passed up, delivered to the upper layer"),
    ("hands up", "passes up, delivers to the upper layer"),
    ("handing up", "passing up, delivering to the upper layer"),
    ("has nothing to say", "is unset, has no opinion"),
    ("if silent", "by default, if unset"),
    ("in vain", "without success, unsuccessfully"),
    ("knob", "option, setting, parameter"),
    ("knobs", "options, settings, parameters"),
    ("nobody", "no station, no host, nothing"),
    ("no more than so many", "at most n"),
    ("other end's", "peer's"),
    ("other ends", "peers"),
    ("pass over", "skip, ignore"),
    ("passed over", "skipped, ignored"),
    ("passes over", "skips, ignores"),
    ("passing over", "skipping, ignoring"),
    ("riddle", "say it plainly"),
    ("ruined", "damaged, corrupted"),
    ("says nothing", "leaves it unset, is unset"),
    ("silent by default", "unset by default"),
    ("so many", "a number of, the count of, n"),
    ("somebody", "a station, another host"),
    ("spoiled", "damaged, corrupted"),
    ("spoils", "damages, corrupts"),
    ("the one beyond", "the peer, the remote end"),
    ("the other end", "the peer, the remote end"),
    ("the other side's", "the peer's"),
    ("wants to know", "asks for, reads"),
    ("whereto", "destination, target"),
    ("wrong bit", "bit error, damaged bit"),
    ("wrong bits", "bit errors, damaged bits"),
];

/// Words with which no summary of a doc comment begins.
const OPENINGS: [&str; 7] = ["How", "So", "What", "Where", "Whereto", "Whether", "Who"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let revised = |file: &&File| {
        !NOT_REVISED.iter().any(|start| file.path.starts_with(start))
            && !file.path.starts_with("xtask/src/tidy/phrases")
    };
    let mut breaches = Vec::new();
    for file in workspace.files.iter().filter(revised) {
        phrases(file, &mut breaches);
        if file.is_rust() {
            summaries(file, &mut breaches);
            aliases(file, &mut breaches);
        }
    }
    breaches
}

fn phrases(file: &File, breaches: &mut Vec<Breach>) {
    for (number, line) in file.text.lines().enumerate() {
        let line = line.to_lowercase();
        // The poem of the front page.
        if file.path == "README.md" && line.contains("what the wind brings down") {
            continue;
        }
        for (phrase, instead) in PHRASES {
            if holds(&line, phrase) {
                let what = format!("\"{phrase}\": write {instead}");
                breaches.push(Breach::new(&file.path, number + 1, what));
            }
        }
    }
}

/// Tells whether a line holds a phrase that neither begins nor ends inside a word.
fn holds(line: &str, phrase: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    line.match_indices(phrase).any(|(at, _)| {
        let after = &line[at + phrase.len()..];
        !letter(line[..at].chars().next_back()) && !letter(after.chars().next())
    })
}

/// The first lines of doc comments: statements of at least three words.
fn summaries(file: &File, breaches: &mut Vec<Breach>) {
    let mut before = false;
    for (number, line) in file.text.lines().enumerate() {
        let doc = line.trim_start().strip_prefix("///").map(str::trim);
        if let Some(summary) = doc.filter(|_| !before) {
            let mut breach = |what| breaches.push(Breach::new(&file.path, number + 1, what));
            let mut words = summary.split_whitespace();
            let first = words.next().unwrap_or_default();
            if OPENINGS.contains(&first) {
                breach(format!(
                    "a summary begins with \"{first}\": state what the item is or does"
                ));
            } else if summary.ends_with('.') && words.count() < 2 {
                breach(format!("\"{summary}\" is no summary: write a statement"));
            }
        }
        before = doc.is_some();
    }
}

/// Imports that give a type another name: the type itself needs the better one.
fn aliases(file: &File, breaches: &mut Vec<Breach>) {
    let mut in_use = false;
    for (number, line) in file.code.lines().enumerate() {
        let start = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        in_use |= start.starts_with("use ");
        if in_use {
            let words: Vec<&str> =
                line.split(|c: char| c.is_whitespace() || "{},;:".contains(c)).collect();
            for pair in words.windows(3).filter(|pair| pair[1] == "as") {
                if [pair[0], pair[2]].iter().all(|it| it.starts_with(char::is_uppercase)) {
                    let what = format!("`{} as {}`: rename the type itself", pair[0], pair[2]);
                    breaches.push(Breach::new(&file.path, number + 1, what));
                }
            }
        }
        in_use &= !line.contains(';');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let files = vec![File::new(path, text)];
        let breaches = check(&Workspace { files, packages: Vec::new() });
        breaches.into_iter().map(|it| format!("{}: {}", it.line, it.what)).collect()
    }

    #[test]
    fn a_phrase_is_found_in_any_case_and_only_as_whole_words() {
        assert_eq!(found("a.md", "a\nNobody knows.\n").len(), 1);
        assert!(found("a.rs", "fn the_knob() {}\n")[0].contains("option, setting"));
        assert_eq!(found("a.md", "doorknobless, so manyfold\n"), [""; 0]);
        let poem = "*What the wind brings down is bruised, and still good to eat.*\n";
        assert_eq!(found("README.md", poem), [""; 0]);
    }

    #[test]
    fn a_summary_is_a_statement() {
        for bad in ["What it is made of.", "Whether it is up.", "The rate.", "Rate."] {
            assert_eq!(found("a.rs", &format!("/// {bad}\nfn f() {{}}\n")).len(), 1, "{bad}");
        }
        let good = "/// Returns the rate.\n///\n/// What follows is free.\nfn f() {}\n";
        assert_eq!(found("a.rs", good), [""; 0]);
        assert_eq!(found("a.rs", "/// The rate of a link, as its\n/// owner set it.\n"), [""; 0]);
    }

    #[test]
    fn an_alias_of_a_type_is_found() {
        let text = "use a::{\n    B,\n    Place as Number,\n};\nlet x = y as Foo;\n";
        assert_eq!(found("a.rs", text).len(), 1);
        assert_eq!(found("a.rs", "use a::Trait as _;\nuse std::io as other;\n"), [""; 0]);
    }
}
