//! Examples in the documents are what they say they are.

use std::path::{Path, PathBuf};

use windfall_files::traces::error_trace::ErrorTrace;
use windfall_scenario::Scenario;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of each fenced block of `language` in a document.
fn blocks(document: &Path, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(document).expect("the document can be read");
    let fence = format!("```{language}");
    let mut blocks = Vec::new();
    let mut inside: Option<String> = None;
    for line in text.lines() {
        match &mut inside {
            Some(_) if line == "```" => blocks.extend(inside.take()),
            Some(block) => *block += &format!("{line}\n"),
            None if line.split(' ').next() == Some(&fence) => inside = Some(String::new()),
            None => {}
        }
    }
    blocks
}

/// Returns the pages in a folder and in the folders below it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The README and everything in `docs`.
fn documents() -> Vec<PathBuf> {
    let mut paths = pages(&root().join("docs"));
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
    let traces = blocks(&root().join("docs/reference/error-trace.md"), "error-trace");
    assert!(!traces.is_empty());
    for text in traces {
        let trace = ErrorTrace::from_text(&text).expect("the example is right");
        assert_eq!(trace.len(), 100);
    }
}

#[test]
fn the_reference_names_every_key_of_a_scenario() {
    let pages = ["scenario-file", "scenario", "station", "link", "radio", "flow", "app"];
    let page = |name| std::fs::read_to_string(root().join(format!("docs/reference/{name}.md")));
    let reference: String = pages.into_iter().map(|name| page(name).expect("it exists")).collect();
    let station = "[[station]]\nname = \"a\"\n";
    let link = "[[link]]\nstations = [\"a\", \"b\"]\n";
    let uplink = format!("{link}[link.uplink]\n");
    let radio = format!("{link}[link.radio]\n");
    let flow = "[[flow]]\nname = \"a\"\n";
    let app = "[[app]]\nkind = \"sink\"\nstation = \"a\"\n";
    for table in ["", station, link, &uplink, &radio, flow, app] {
        // What the parser offers for a key that resembles none is the list of all.
        let text = format!("format = 1\n{table}qqqqqqqqqqqqqqqq = 1\n");
        let error = Scenario::parse("keys.toml", &text).expect_err("the key is unknown");
        let error = error.to_string();
        let (_, keys) = error.split_once("allowed here are ").expect(&error);
        for key in keys.trim().split(", ") {
            let named = ["`", "[[", "[link.", "[station."]
                .iter()
                .any(|mark| reference.contains(&format!("{mark}{key}")));
            assert!(named, "the reference does not name {key}");
        }
    }
}

/// Every Rust file under a folder of the project.
fn sources(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one"));
    let mut texts = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.push(std::fs::read_to_string(&path).expect("a file"));
        }
    }
    texts
}

/// The texts between pairs of backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_table_of_tcp_settings_has_each_with_its_default() {
    let text =
        std::fs::read_to_string(root().join("docs/reference/tcp-engine.md")).expect("it exists");
    let (_, table) = text.split_once("| setting | default |").expect("the table is there");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<_> = rows.map(|row| quoted(row).take(2).collect::<Vec<_>>()).collect();
    let settings = windfall_scenario::TcpSettings::default();
    let values: Vec<_> = settings.values().collect();
    let expected: Vec<_> =
        values.iter().map(|(setting, value)| vec![setting.name, value]).collect();
    assert_eq!(rows, expected);
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let [_, _, _, source, tests, _] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let is_paper = |word: &str| {
            let digit = |at: usize| word.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
            word.starts_with('S') && digit(1) && digit(3)
        };
        let sourced = source.contains("RFC ") || source.split([' ', ',', ';']).any(is_paper);
        assert!(sourced && quoted(tests).count() > 0, "{row}");
    }
}

#[test]
fn the_tests_that_the_page_about_tcp_names_exist() {
    let text =
        std::fs::read_to_string(root().join("docs/reference/tcp-engine.md")).expect("it exists");
    let folders = [
        "crates/machines/tcp",
        "crates/machines/congestion",
        "crates/formats/wire-net",
        "crates/programs/conformance",
    ];
    let sources: Vec<_> = folders.iter().flat_map(|folder| sources(&root().join(folder))).collect();
    let is_name =
        |text: &&str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_:".contains(&b));
    let long = |name: &&str| name.bytes().filter(|byte| *byte == b'_').count() >= 3;
    let names: Vec<_> = quoted(&text).filter(is_name).filter(long).collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let function = format!("fn {}(", name.rsplit("::").next().unwrap_or(name));
        assert!(sources.iter().any(|text| text.contains(&function)), "there is no test {name}");
    }
}

/// Lines of code of a module, or of a crate by its `lib.rs`, without tests.
fn lines_of_code(path: &Path) -> usize {
    let lines = |path: &Path| {
        let text = std::fs::read_to_string(path).expect("the source can be read");
        let code = text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
        code.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
    };
    let folder =
        if path.ends_with("lib.rs") { path.with_file_name("") } else { path.with_extension("") };
    let mut folders = vec![folder];
    let mut files = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let entry = entry.expect("the folder can be listed").path();
            let is_test = entry.file_stem().is_some_and(|stem| stem == "tests");
            if is_test || files.contains(&entry) {
                continue;
            }
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files.iter().map(|file| lines(file)).sum()
}

//= S0.15
//= S0.43
#[test]
fn the_sizes_beside_the_papers_are_those_of_the_tree() {
    let page = std::fs::read_to_string(root().join("docs/measurements/sap.md"))
        .expect("the page is there");
    let mut count = 0;
    for link in page.split('[').skip(1) {
        let Some((text, rest)) = link.split_once("](") else { continue };
        let said = text.split(' ').next().and_then(|word| word.parse::<usize>().ok());
        let Some((said, path)) = said.zip(rest.split(')').next()) else { continue };
        let found = lines_of_code(&root().join("docs/measurements").join(path));
        assert!(found.abs_diff(said) * 5 <= said, "{path} has {found} lines, the page says {said}");
        count += 1;
    }
    assert_eq!(count, 10, "every size is a link");
}
