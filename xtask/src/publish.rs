//! The crates that a registry gets: their packages, their features, and their interfaces.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace::{Package, Workspace, output};

/// The packages, and the workspace that is made of them, below the root.
const PACKAGES: &str = "target/package";
const UNPACKED: &str = "target/package/unpacked";

/// Packages the published crates and checks what the packages contain. It needs no network once
/// the dependencies of `Cargo.lock` are fetched, and uploads nothing.
///
/// `cargo publish --dry-run` builds every package in a folder of its own, and so all dependencies
/// of each one. Here the packages become one workspace, which shares the dependencies that are
/// compiled already.
pub(crate) fn dry_run(root: &Path) -> Result<(), String> {
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let crates = published(Workspace::load(&root)?.packages);
    // Packages of an earlier run would stay beside those of this one.
    let _ = std::fs::remove_dir_all(root.join(PACKAGES));
    let mut package = cargo(&root);
    package.args(["package", "--locked", "--offline", "--no-verify", "--allow-dirty", "--quiet"]);
    output(package.args(selection(&crates)))?;
    let unpacked = root.join(UNPACKED);
    write_workspace(&root, &unpacked, &crates)?;
    let mut check = cargo(&unpacked);
    check.args(["check", "--offline", "--quiet", "--workspace", "--all-features"]);
    run(check.env("CARGO_TARGET_DIR", root.join("target")))?;
    for it in &crates {
        let archive = root.join(PACKAGES).join(format!("{}.crate", stem(it)));
        let size = std::fs::metadata(&archive).map_or(0, |it| it.len());
        println!("{:9.1} kB  {}", size as f64 / 1e3, stem(it));
    }
    println!("publish: {} packages, whose contents compile with all features", crates.len());
    Ok(())
}

/// Publishes the crates in the order of their dependencies.
pub(crate) fn publish(root: &Path) -> Result<(), String> {
    let crates = published(Workspace::load(root)?.packages);
    run(cargo(root).args(["publish", "--locked"]).args(selection(&crates)))
}

/// Checks every combination of the features of the published crates, each crate by itself, since
/// others of the workspace would turn features on.
pub(crate) fn features(root: &Path) -> Result<(), String> {
    let crates = published(Workspace::load(root)?.packages);
    need(root, "hack")?;
    let mut hack = cargo(root);
    hack.args(["hack", "check", "--locked", "--quiet", "--feature-powerset"]);
    run(hack.args(selection(&crates)))
}

/// Compares the interfaces of the published crates with those of the last version that has a tag,
/// or with those of a revision.
pub(crate) fn semver(root: &Path, revision: Option<&str>) -> Result<(), String> {
    let last = || {
        let last = ["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"];
        output(Command::new("git").args(last).current_dir(root)).ok()
    };
    let Some(baseline) = revision.map(str::to_owned).or_else(last) else {
        println!("semver: no version has a tag yet, so there is no interface to keep");
        return Ok(());
    };
    let baseline = baseline.trim();
    need(root, "semver-checks")?;
    let listing = output(
        Command::new("git").args(["ls-tree", "-r", "--name-only", baseline]).current_dir(root),
    )?;
    let before: BTreeSet<&str> = listing.lines().collect();
    let mut crates = published(Workspace::load(root)?.packages);
    crates.retain(|it| {
        let is_old = before.contains(&*format!("{}/Cargo.toml", it.folder));
        if !is_old {
            println!("semver: {} is not in {baseline}", it.name);
        }
        is_old
    });
    let mut semver = cargo(root);
    semver.args(["semver-checks", "--baseline-rev", baseline]);
    run(semver.args(selection(&crates)))
}

/// The packages that may be published.
fn published(packages: Vec<Package>) -> Vec<Package> {
    packages.into_iter().filter(|it| it.published).collect()
}

/// The options that name the packages.
fn selection(crates: &[Package]) -> impl Iterator<Item = &str> {
    crates.iter().flat_map(|it| ["--package", it.name.as_str()])
}

/// The name of a package and its version, as its archive is named.
fn stem(package: &Package) -> String {
    format!("{}-{}", package.name, package.version)
}

/// Unpacks the packages and makes a workspace of them, in which each finds the others.
fn write_workspace(root: &Path, unpacked: &Path, crates: &[Package]) -> Result<(), String> {
    std::fs::create_dir_all(unpacked)
        .map_err(|error| format!("{}: {error}", unpacked.display()))?;
    for it in crates {
        let archive: PathBuf = root.join(PACKAGES).join(format!("{}.crate", stem(it)));
        output(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(unpacked))?;
    }
    let write = |name: &str, text: &str| {
        std::fs::write(unpacked.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    let read = |name: &str| {
        std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    // Other profiles would compile the dependencies once more.
    write("Cargo.toml", &(manifest(crates) + &profiles(&read("Cargo.toml")?)))?;
    write("Cargo.lock", &read("Cargo.lock")?)
}

/// The tables of a manifest that are profiles.
fn profiles(manifest: &str) -> String {
    let tables = manifest.split_inclusive("\n[").collect::<Vec<_>>();
    let profiles = tables.iter().filter(|table| table.starts_with("profile."));
    profiles.map(|table| format!("\n[{}", table.trim_end_matches("\n["))).collect()
}

/// The manifest of the workspace of the packages.
fn manifest(crates: &[Package]) -> String {
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [\n".to_owned();
    for it in crates {
        let _ = writeln!(text, "    \"{}\",", stem(it));
    }
    text.push_str("]\n\n[patch.crates-io]\n");
    // A patch that nothing uses is a warning.
    let used: BTreeSet<&String> = crates.iter().flat_map(|it| &it.dependencies).collect();
    for it in crates.iter().filter(|it| used.contains(&it.name)) {
        let _ = writeln!(text, "{} = {{ path = \"{}\" }}", it.name, stem(it));
    }
    text
}

/// A command of cargo in a folder.
fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder).stdin(Stdio::null());
    // The variables of the run of this program are not those of the packages.
    command.env_remove("CARGO_MANIFEST_DIR");
    command
}

/// Fails if cargo does not have a subcommand, and says how to install it.
fn need(root: &Path, subcommand: &str) -> Result<(), String> {
    let help = format!("cargo-{subcommand} is missing: cargo install cargo-{subcommand} --locked");
    output(cargo(root).args([subcommand, "--version"])).map(|_| ()).map_err(|_| help)
}

/// Runs a command, whose output is shown.
fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("cargo failed".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str], published: bool) -> Package {
        let dependencies = dependencies.iter().map(|it| (*it).to_owned()).collect();
        let name = name.to_owned();
        let version = "0.1.0".to_owned();
        Package { name, version, dependencies, published, ..Package::default() }
    }

    #[test]
    fn profiles_are_taken_from_the_manifest() {
        let text = "[workspace]\na = 1\n\n[profile.dev]\ndebug = false\n\n[lints]\n\n[profile.a]\n";
        assert_eq!(profiles(text), "\n[profile.dev]\ndebug = false\n\n[profile.a]\n");
    }

    #[test]
    fn packages_find_each_other_in_one_workspace() {
        let all = vec![package("a", &[], true), package("b", &["a"], true)];
        let own = published([all, vec![package("c", &["a", "b"], false)]].concat());
        let text = manifest(&own);
        assert!(text.contains("\"a-0.1.0\",\n    \"b-0.1.0\",\n]"), "{text}");
        assert!(text.ends_with("[patch.crates-io]\na = { path = \"a-0.1.0\" }\n"), "{text}");
        assert_eq!(selection(&own).collect::<Vec<_>>(), ["--package", "a", "--package", "b"]);
    }
}
