//! Which package may import which.

use std::collections::{BTreeMap, BTreeSet};

use super::Breach;
use crate::workspace::{Package, Workspace};

/// The floors below `crates/`, lowest first; a crate imports only from strictly lower floors.
const FLOORS: [&str; 12] = [
    "foundation",
    "codec",
    "protocol",
    "element",
    "assembly",
    "description",
    "runtime",
    "exchange",
    "service",
    "experiment",
    "reproduction",
    "face",
];

/// Crates that must not reach another, even by way of a third, and why.
const NEVER_REACH: [(&str, &str, &str); 6] = [
    ("windfall-link", "windfall-wire-net", "the link does not parse what it carries (S3.4)"),
    ("windfall-mac", "windfall-wire-net", "the link does not parse what it carries (S3.4)"),
    ("windfall-queue", "windfall-wire-net", "the link does not parse what it carries (S3.4)"),
    ("windfall-tcp", "windfall-wire-link", "a transport does not know the link"),
    ("windfall-sap", "windfall-wire-link", "a transport does not know the link"),
    ("windfall-ffi-c", "windfall-web", "libsap sends bodies, and needs no HTTP for it"),
];

/// The crates that may import the air directly; no machine may know it.
const MAY_IMPORT_CHANNEL: [&str; 8] = [
    "windfall-network",
    "windfall-scenario",
    "windfall-trace",
    "windfall-run-output",
    "windfall-sim",
    "windfall-live",
    "windfall-reproduce-sap",
    "windfall-reproduce-corruption",
];

/// Packages beside the levels, which may import anything and which no crate may import.
const BESIDE: [&str; 5] =
    ["windfall-testkit", "windfall-tests", "windfall-bench", "windfall-fuzz", "xtask"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let levels: BTreeMap<_, _> =
        workspace.packages.iter().filter_map(|it| Some((it.name.as_str(), level(it)?))).collect();
    let mut breaches = Vec::new();
    for package in &workspace.packages {
        let name = package.name.as_str();
        let mut breach = |what: String| breaches.push(Breach::new(name, 0, what));
        if BESIDE.contains(&name) {
            continue;
        }
        let Some(&level) = levels.get(name) else {
            breach(format!("stands on no floor; move it to crates/{{{}}}", FLOORS.join(",")));
            continue;
        };
        let dev = package.dev_dependencies.iter().filter(|it| *it != "windfall-testkit");
        for dependency in package.dependencies.iter().chain(dev) {
            match levels.get(dependency.as_str()) {
                None => breach(format!("imports {dependency}, which stands beside the crates")),
                Some(&lower) if lower >= level => breach(format!(
                    "stands on the floor `{}` and imports {dependency} of `{}`",
                    FLOORS[level], FLOORS[lower]
                )),
                Some(_) => {}
            }
            if dependency == "windfall-channel" && !MAY_IMPORT_CHANNEL.contains(&name) {
                breach("imports windfall-channel, but no machine may know the air".to_owned());
            }
        }
        for (from, to, why) in NEVER_REACH {
            if from == name && reaches(workspace, from).contains(to) {
                breach(format!("reaches {to}: {why}"));
            }
        }
    }
    breaches
}

/// The level of a package: the position of its folder, `crates/FLOOR/NAME`, among the floors.
fn level(package: &Package) -> Option<usize> {
    let (floor, _) = package.folder.strip_prefix("crates/")?.split_once('/')?;
    FLOORS.iter().position(|it| *it == floor)
}

/// Everything that a package depends on, directly or by way of others.
fn reaches<'a>(workspace: &'a Workspace, from: &str) -> BTreeSet<&'a str> {
    let of = |name: &str| workspace.packages.iter().find(|package| package.name == name);
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<_> = of(from).into_iter().collect();
    while let Some(package) = waiting.pop() {
        for dependency in &package.dependencies {
            if seen.insert(dependency.as_str()) {
                waiting.extend(of(dependency));
            }
        }
    }
    seen
}
