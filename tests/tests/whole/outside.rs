//! Examples that implement a trait of Windfall in a workspace of their own.

use std::path::Path;
use std::process::Command;

/// Builds and runs an example without network, and returns what it prints.
fn run(example: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "--locked", "--manifest-path"])
        .arg(root.join("examples").join(example).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target").join(example))
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{errors}");
    String::from_utf8_lossy(&built.stdout).into_owned()
}

#[test]
fn a_policy_in_rust_works_from_outside_the_workspace() {
    let text = run("own-policy");
    let arrived = text.lines().filter(|line| line.contains("200 of 200 packets")).count();
    assert_eq!(arrived, 4, "{text}");
}

#[test]
fn a_congestion_control_works_from_outside_the_workspace() {
    let text = run("own-controller");
    // 4 MB take 3.2 s at 10 Mb/s without headers. Without a slow start few segments are dropped.
    let [own, cubic] = ["aimd", "cubic"].map(|name| {
        let line = text.lines().find(|line| line.starts_with(name)).expect(&text);
        let numbers = line.split(' ').filter_map(|word| word.parse().ok());
        let [bytes, seconds, dropped] = numbers.collect::<Vec<f64>>()[..] else { panic!("{text}") };
        assert_eq!(bytes, 4e6, "{text}");
        assert!((3.2..6.4).contains(&seconds), "{text}");
        dropped
    });
    assert!(own < cubic, "{text}");
}
