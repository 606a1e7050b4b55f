//! Tells the program which commit it is built from, if the sources are a repository.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// ` (COMMIT DATE)`, or nothing if the sources come from an archive.
fn commit() -> Option<String> {
    // An archive may be unpacked inside a repository that is not its own.
    let root = git(&["rev-parse", "--show-toplevel"])?;
    // Asked for when it runs: the sources may have moved since it was compiled.
    let own = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR")?).join("../../..");
    let own = own.canonicalize().ok()?;
    if Path::new(&root).canonicalize().ok()? != own {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    // Whatever the user's configuration adds to a log would not fit the line for cargo.
    git(&["log", "-1", "--no-show-signature", "--no-color", "--format= (%h %cs)"])
        .map(|text| format!(" {text}"))
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=WINDFALL_COMMIT={}", commit().unwrap_or_default());
}
