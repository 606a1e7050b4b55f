//! Examples in the documents are what they say they are.

use std::path::{Path, PathBuf};

use windfall_channel::error_trace::ErrorTrace;
use windfall_scenario::Scenario;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of each fenced block of `language` in a document.
fn blocks(document: &Path, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(document).expect("the document can be read");
    let mut blocks = Vec::new();
    let mut inside: Option<String> = None;
    for line in text.lines() {
        match &mut inside {
            Some(_) if line == "```" => blocks.extend(inside.take()),
            Some(block) => *block += &format!("{line}\n"),
            None if line == format!("```{language}") => inside = Some(String::new()),
            None => {}
        }
    }
    blocks
}

/// The README and everything in `docs`.
fn documents() -> Vec<PathBuf> {
    let listing = std::fs::read_dir(root().join("docs")).expect("there are documents");
    let paths = listing.map(|file| file.expect("the folder can be listed").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    paths.push(root().join("README.md"));
    paths.sort();
    paths
}

#[test]
fn every_scenario_in_the_documents_can_be_read() {
    let mut count = 0;
    for document in documents().iter().filter(|path| path.exists()) {
        for text in blocks(document, "toml") {
            let name = document.display().to_string();
            if let Err(error) = Scenario::parse(&name, &text) {
                panic!("{error}\n{text}");
            }
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn every_error_trace_in_the_documents_can_be_read() {
    let traces = blocks(&root().join("docs/error-trace.md"), "error-trace");
    assert!(!traces.is_empty());
    for text in traces {
        let trace = ErrorTrace::from_text(&text).expect("the example is right");
        assert_eq!(trace.len(), 100);
    }
}

#[test]
fn the_reference_names_every_key_of_a_scenario() {
    let reference = std::fs::read_to_string(root().join("docs/scenario.md")).expect("it exists");
    let station = "[[station]]\nname = \"a\"\n";
    let link = "[[link]]\nstations = [\"a\", \"b\"]\n";
    let uplink = format!("{link}[link.uplink]\n");
    let app = "[[app]]\nkind = \"sink\"\nstation = \"a\"\n";
    for table in ["", station, link, &uplink, app] {
        // What the parser offers for a key that resembles none is the list of all.
        let text = format!("format = 1\n{table}qqqqqqqqqqqqqqqq = 1\n");
        let error = Scenario::parse("keys.toml", &text).expect_err("the key is unknown");
        let error = error.to_string();
        let (_, keys) = error.split_once("allowed here are ").expect(&error);
        for key in keys.trim().split(", ") {
            let named = ["`", "[[", "[link.", "[station."]
                .iter()
                .any(|mark| reference.contains(&format!("{mark}{key}")));
            assert!(named, "docs/scenario.md does not name {key}");
        }
    }
}
