//! Every rule finds its breach in a small workspace made for it, and nothing in a tidy one.

use super::*;
use crate::workspace::{File, Package};

fn workspace(files: &[(&str, &str)]) -> Workspace {
    let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
    let package = Package { name: "windfall-link".into(), ..Package::default() };
    Workspace {
        files,
        packages: vec![Package { folder: "crates/machines/link".into(), ..package }],
    }
}

/// The folder of a crate below `crates/`.
fn home(name: &str) -> &'static str {
    match name {
        "windfall-wire-link" => "formats/wire-link",
        "windfall-link" => "machines/link",
        "windfall-mac" => "machines/mac",
        "windfall-stack" => "machines/stack",
        "windfall-network" => "machines/network",
        _ => "elsewhere",
    }
}

fn package(name: &str, dependencies: &[&str], dev: &[&str]) -> Package {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Package {
        name: name.to_owned(),
        folder: format!("crates/{}", home(name)),
        dependencies: own(dependencies),
        dev_dependencies: own(dev),
        ..Package::default()
    }
}

/// The breaches in the file `crates/machines/link/src/lib.rs` with this text.
fn about(text: &str) -> Vec<String> {
    let breaches = check(&workspace(&[("crates/machines/link/src/lib.rs", text)]));
    breaches.into_iter().map(|breach| format!("{}: {}", breach.line, breach.what)).collect()
}

fn only(breaches: &[String], words: &str) {
    assert_eq!(breaches.len(), 1, "{breaches:?}");
    assert!(breaches[0].contains(words), "{breaches:?} should say {words:?}");
}

#[test]
fn the_workspace_itself_keeps_to_its_floors() {
    let metadata = Workspace::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
    assert!(metadata.packages.len() > 15);
    assert_eq!(levels::check(&metadata), []);
}

#[test]
fn a_tidy_file_passes() {
    assert_eq!(about("//! A link.\n\n/// Adds two numbers.\npub fn add() {}\n"), [""; 0]);
}

#[test]
fn an_import_from_a_higher_floor_is_found() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-wire-link", &["windfall-mac"], &[]));
    workspace.packages.push(package("windfall-mac", &[], &[]));
    let breaches = levels::check(&workspace);
    assert_eq!(breaches.len(), 1);
    assert!(breaches[0].what.contains("floor `formats` and imports windfall-mac of `machines`"));
}

#[test]
fn crates_of_one_floor_may_import_each_other() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-link", &["windfall-mac"], &[]));
    workspace.packages.push(package("windfall-mac", &[], &[]));
    assert_eq!(levels::check(&workspace), []);
}

#[test]
fn tests_may_use_the_testkit_and_code_may_not() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-link", &[], &["windfall-testkit"]));
    assert_eq!(levels::check(&workspace), []);
    workspace.packages.push(package("windfall-mac", &["windfall-testkit"], &[]));
    assert_eq!(levels::check(&workspace).len(), 1);
}

#[test]
fn the_link_may_not_reach_the_network_by_way_of_a_third() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-link", &["windfall-wire-link"], &[]));
    workspace.packages.push(package("windfall-wire-link", &["windfall-wire-net"], &[]));
    let breaches = levels::check(&workspace);
    assert!(breaches.iter().any(|breach| breach.what.contains("S3.4")), "{breaches:?}");
}

#[test]
fn no_machine_may_know_the_air() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-stack", &["windfall-channel"], &[]));
    workspace.packages.push(package("windfall-network", &["windfall-channel"], &[]));
    let mut breaches = levels::check(&workspace);
    breaches.retain(|breach| breach.what.contains("the air"));
    assert_eq!(breaches.len(), 1);
    assert_eq!(breaches[0].place, "windfall-stack");
}

#[test]
fn no_machine_may_touch_the_system() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-mac", &[], &[]));
    workspace.packages[0].foreign = vec!["nix".to_owned()];
    let breaches = levels::check(&workspace);
    assert_eq!(breaches.len(), 1);
    assert!(breaches[0].what.contains("reaches nix"), "{breaches:?}");
}

#[test]
fn the_list_of_floors_is_put_between_its_marks() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-mac", &[], &[]));
    let page = "a\n<!-- floors: `cargo xtask floors` writes this part -->\nold\n\
                <!-- end of the floors -->\nb\n";
    let new = levels::with_list(page, &workspace).unwrap();
    assert!(new.starts_with("a\n") && new.ends_with("b\n") && !new.contains("old"), "{new}");
    assert!(new.contains("| machines | `mac` |"), "{new}");
    assert_eq!(levels::with_list(&new, &workspace), Some(new.clone()));
    assert_eq!(levels::with_list("a\n", &workspace), None);
}

#[test]
fn a_package_on_no_floor_is_found() {
    let mut workspace = Workspace::default();
    workspace.packages.push(package("windfall-surprise", &[], &[]));
    assert!(levels::check(&workspace)[0].what.contains("stands on no floor"));
}

#[test]
fn long_lines_functions_and_files_are_found() {
    only(&about(&format!("// {}\n", "x".repeat(98))), "101 columns");
    let body = "    let _ = 1;\n".repeat(79);
    only(&about(&format!("fn long() {{\n{body}}}\n")), "`long` has 81 lines");
    let body = "    let _ = 1;\n".repeat(78);
    assert_eq!(about(&format!("fn fits() {{\n{body}}}\n")), [""; 0]);
    only(&about(&"use a;\n".repeat(701)), "701 lines of code");
    assert_eq!(about(&"// a\n\n".repeat(701)), [""; 0]);
}

#[test]
fn tuples_of_three_as_parameters_are_found() {
    let tuple = "fn long(\n    (a, b, c): (u8, Vec<(u8, u8)>, u8),\n) {\n}\n";
    only(&about(tuple), "`long` takes a tuple of 3 apart");
    let pair = "fn pair(x: (u8, u8, u8), (a, b): (u8, u8), f: impl Fn((u8, u8, u8)) -> u8) {\n}\n";
    assert_eq!(about(pair), [""; 0]);
    let closure = "fn outer() {\n    let inner = |(a, b, c): (u8, u8, u8)| a;\n}\n";
    assert_eq!(about(closure), [""; 0]);
}

#[test]
fn tests_do_not_count_as_code() {
    let test = "use a;\n".repeat(701);
    let breaches = budgets::check(&workspace(&[("crates/machines/link/src/arq/tests.rs", &test)]));
    assert_eq!(breaches, []);
    let inline = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    use a;\n".repeat(701));
    assert_eq!(about(&inline), [""; 0]);
}

#[test]
fn banned_words_are_found_in_code_and_not_in_comments_or_strings() {
    for word in ["todo!()", "unimplemented!()", "dbg!(x)", "#[allow(dead_code)]", "#[ignore]"] {
        only(&about(&format!("fn f() {{\n    {word}\n}}\n")), "`");
        assert_eq!(about(&format!("// {word}\nconst A: &str = \"{word}\";\n")), [""; 0]);
    }
    for (start, end) in [("FIX", "ME"), ("XX", "X"), ("/wo", "rk/a"), ("/ho", "me/a")] {
        only(&about(&format!("// {start}{end}\n")), start);
    }
}

#[test]
fn a_foreign_registry_is_found() {
    let good = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    let bad = "source = \"registry+https://mirror.example/index\"\n";
    assert_eq!(words::check(&workspace(&[("Cargo.lock", good)])), []);
    assert_eq!(words::check(&workspace(&[("Cargo.lock", bad)])).len(), 1);
}

#[test]
fn unsafe_needs_a_crate_that_may_and_an_argument() {
    let bare = "fn f() {\n    unsafe { g() }\n}\n";
    let argued = "fn f() {\n    // SAFETY: g has no conditions.\n    unsafe { g() }\n}\n";
    only(&about(argued), "outside of the crates");
    let live = |text| words::check(&workspace(&[("crates/host/live/src/lib.rs", text)])).len();
    assert_eq!((live(bare), live(argued)), (1, 0));
    assert_eq!(live("// We never say \"unsafe\" lightly.\nconst UNSAFE: u8 = 0;\n"), 0);
}

#[test]
fn empty_names_and_undeclared_files_are_found() {
    let lib = ("crates/machines/link/src/lib.rs", "pub(crate) mod utils;\npub mod arq;\n");
    let breaches = modules::check(&workspace(&[
        lib,
        ("crates/machines/link/src/utils.rs", ""),
        ("crates/machines/link/src/arq.rs", ""),
        ("crates/machines/link/src/dead.rs", ""),
        ("crates/machines/link/tests/whole.rs", ""),
    ]));
    let places: Vec<_> = breaches.iter().map(|breach| &breach.place[..]).collect();
    assert_eq!(places, ["crates/machines/link/src/utils.rs", "crates/machines/link/src/dead.rs"]);
}

#[test]
fn import_cycles_are_found() {
    let lib = "pub mod a;\npub mod b;\npub mod c;\npub use c::Three;\n";
    let knot = |a: &str, b: &str, c: &str| {
        let files = [
            ("crates/machines/link/src/lib.rs", lib),
            ("crates/machines/link/src/a.rs", a),
            ("crates/machines/link/src/b.rs", b),
            ("crates/machines/link/src/c.rs", c),
        ];
        cycles::check(&workspace(&files)).into_iter().map(|it| it.what).collect::<Vec<_>>()
    };
    let free = knot("use crate::b::{One, Two};\n", "use crate::c::X;\n", "");
    assert_eq!(free, [""; 0]);
    let direct = knot("use crate::b::{One, Two};\n", "use super::a::X;\n", "");
    only(&direct, "a, b");
    // By way of a name that the root exports, and of a path without `use`.
    let hidden = knot("fn f() -> crate::Three {}\n", "", "use crate::{a::One, b};\n");
    only(&hidden, "a, c");
    let tests = "#[cfg(test)]\nmod tests {\n    use crate::a::One;\n}\n";
    assert_eq!(knot("use crate::b::One;\n", tests, ""), [""; 0]);
}

#[test]
fn a_module_and_its_children_may_know_each_other() {
    let files = [
        ("crates/machines/link/src/lib.rs", "mod arq;\n"),
        ("crates/machines/link/src/arq.rs", "mod window;\nuse window::Window;\npub struct Arq;\n"),
        ("crates/machines/link/src/arq/window.rs", "use super::Arq;\npub struct Window;\n"),
    ];
    assert_eq!(cycles::check(&workspace(&files)), []);
}

#[test]
fn dead_links_and_missing_scenarios_are_found() {
    let readme = "[a](docs/run.md#the-seed) [b](docs/none.md) [c](https://x.y/z) [d](docs)\n\
                  [e](docs/run.md#nothing) `windfall sim scenarios/none.toml`\n";
    let files = [("README.md", readme), ("docs/run.md", "## The seed\n[up](../README.md)\n")];
    let breaches = links::check(&workspace(&files));
    let said: Vec<_> = breaches.iter().map(|breach| &breach.what[..]).collect();
    assert_eq!(
        said,
        [
            "the link to docs/none.md leads nowhere",
            "the link to docs/run.md#nothing leads nowhere",
            "there is no scenarios/none.toml",
        ]
    );
}

#[test]
fn unlisted_documents_are_found() {
    let files = [("docs/README.md", "[a](a.md)\n"), ("docs/a.md", ""), ("docs/b.md", "")];
    let breaches = links::check(&workspace(&files));
    assert_eq!(breaches.len(), 1);
    assert_eq!(breaches[0].place, "docs/b.md");
}

#[test]
fn documents_that_are_listed_twice_are_found() {
    let files = [("docs/README.md", "[a](a.md)\n[also a](a.md)\n"), ("docs/a.md", "")];
    let breaches = links::check(&workspace(&files));
    assert_eq!(breaches.len(), 1);
    assert_eq!(breaches[0].what, "docs/README.md lists it 2 times");
}

#[test]
fn crates_that_have_two_entries_among_the_changes_are_found() {
    let text = "## 2\n- **a**, **b**: one\n- **b**: two\n### 3\n- **b**: one\n## 1\n- **a**: old\n";
    let breaches = links::check(&workspace(&[("CHANGELOG.md", text)]));
    assert_eq!(breaches.len(), 1);
    assert_eq!(breaches[0].line, 3);
}

#[test]
fn dependencies_that_nothing_names_are_found() {
    let mut workspace = workspace(&[
        (
            "crates/machines/link/src/lib.rs",
            "use windfall_base::Node;\n/// `rand::random()`\nstruct A;\n",
        ),
        ("crates/linked/src/lib.rs", "use other::Thing;\n"),
    ]);
    workspace.packages[0].imports = ["windfall_base", "rand", "other"].map(str::to_owned).to_vec();
    let breaches = super::unused::check(&workspace);
    let said: Vec<_> = breaches.iter().map(|breach| breach.what.as_str()).collect();
    assert_eq!(said, ["depends on other and never names it: remove it"]);
}
