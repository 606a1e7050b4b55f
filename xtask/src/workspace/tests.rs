use super::*;

#[test]
fn sources_without_a_repository_are_listed_without_what_is_made() {
    let root = std::env::temp_dir().join(format!("windfall-sources-{}", std::process::id()));
    for folder in ["docs", "crates/foundation/base/src", "target/debug", "out"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        std::fs::write(root.join(folder).join("a.md"), "a").unwrap();
    }
    let mut paths = paths(&root).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    paths.sort();
    assert_eq!(paths, ["crates/foundation/base/src/a.md", "docs/a.md"]);
}
