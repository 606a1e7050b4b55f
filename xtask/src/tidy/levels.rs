//! Which package may import which.

use std::collections::{BTreeMap, BTreeSet};

use super::Breach;
use crate::workspace::Workspace;

/// The level of every crate; a crate imports only from strictly lower levels.
const LEVELS: [(&str, u8); 29] = [
    ("windfall-base", 0),
    ("windfall-wire-link", 1),
    ("windfall-wire-net", 1),
    ("windfall-fec", 1),
    ("windfall-media", 1),
    ("windfall-phy", 2),
    ("windfall-link", 2),
    ("windfall-mac", 2),
    ("windfall-queue", 2),
    ("windfall-ip", 2),
    ("windfall-tcp", 2),
    ("windfall-sap", 2),
    ("windfall-channel", 3),
    ("windfall-stack", 3),
    ("windfall-apps", 3),
    ("windfall-network", 4),
    ("windfall-trace", 5),
    ("windfall-energy", 5),
    ("windfall-scenario", 5),
    ("windfall-socket", 5),
    ("windfall-report", 6),
    ("windfall-sim", 6),
    ("windfall-live", 6),
    ("windfall-reproduce", 7),
    ("windfall-reproduce-sap", 7),
    ("windfall", 8),
    ("windfall-cli", 8),
    ("windfall-ffi-c", 8),
    ("windfall-ffi-py", 8),
];

/// Crates that must not reach another, even by way of a third, and why.
const NEVER_REACH: [(&str, &str, &str); 5] = [
    ("windfall-link", "windfall-wire-net", "the link does not parse what it carries (S3.4)"),
    ("windfall-mac", "windfall-wire-net", "the link does not parse what it carries (S3.4)"),
    ("windfall-queue", "windfall-wire-net", "the link does not parse what it carries (S3.4)"),
    ("windfall-tcp", "windfall-wire-link", "a transport does not know the link"),
    ("windfall-sap", "windfall-wire-link", "a transport does not know the link"),
];

/// The crates that may import the air directly; no machine may know it.
const MAY_IMPORT_CHANNEL: [&str; 8] = [
    "windfall-network",
    "windfall-scenario",
    "windfall-trace",
    "windfall-report",
    "windfall-sim",
    "windfall-live",
    "windfall-reproduce",
    "windfall-reproduce-sap",
];

/// Packages beside the levels, which may import anything and which no crate may import.
const BESIDE: [&str; 5] =
    ["windfall-testkit", "windfall-tests", "windfall-bench", "windfall-fuzz", "xtask"];

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let levels = BTreeMap::from(LEVELS);
    let mut breaches = Vec::new();
    for package in &workspace.packages {
        let name = package.name.as_str();
        let mut breach = |what: String| breaches.push(Breach::new(name, 0, what));
        if BESIDE.contains(&name) {
            continue;
        }
        let Some(level) = levels.get(name) else {
            breach("has no level; add it to the table in xtask/src/tidy/levels.rs".to_owned());
            continue;
        };
        let dev = package.dev_dependencies.iter().filter(|it| *it != "windfall-testkit");
        for dependency in package.dependencies.iter().chain(dev) {
            match levels.get(dependency.as_str()) {
                None => breach(format!("imports {dependency}, which stands beside the crates")),
                Some(lower) if lower >= level => breach(format!(
                    "stands on level {level} and imports {dependency} of level {lower}"
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
