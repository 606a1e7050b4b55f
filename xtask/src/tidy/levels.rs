//! Which package may import which: the floors, and the bans that mean something.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Breach;
use crate::workspace::{Package, Workspace};

/// The floors below `crates/`, lowest first, and what stands on each. A crate imports from its own
/// floor and from lower ones.
const FLOORS: [(&str, &str); 7] = [
    ("foundation", "time, units, frames, nodes, ledgers"),
    ("formats", "bits and values; no time, no state between packets"),
    ("machines", "protocols and elements without input or output of their own"),
    ("host", "the operating system"),
    ("tools", "what describes, records, shows and controls a run"),
    ("programs", "what runs on sockets and links"),
    ("faces", "what people use"),
];

/// Crates or whole floors that never reach a crate, even by way of a third, and the reason.
const BANS: [Ban; 6] = [
    Ban {
        from: &["link", "mac", "queue"],
        to: &["windfall-wire-net"],
        why: "the link does not parse what it carries (S3.4)",
    },
    Ban {
        from: &["tcp", "sap"],
        to: &["windfall-wire-link"],
        why: "a transport does not know the link",
    },
    Ban {
        from: &["phy", "link", "mac", "queue", "circuit", "ip", "tcp", "sap", "stack", "apps"],
        to: &["windfall-channel"],
        why: "no machine may know the air; `network` puts both together",
    },
    Ban {
        from: &["foundation", "formats", "machines"],
        to: &["rustix", "nix", "libc", "tokio"],
        why: "only `host` and above touch the system",
    },
    Ban { from: &["c"], to: &["windfall-web"], why: "libsap sends bodies, and needs no HTTP" },
    Ban {
        from: &["sim-link"],
        to: &["windfall-live"],
        why: "a link in simulated time builds on every system",
    },
];

/// Crates or floors, by their names below `crates/`, and the packages that they never reach.
struct Ban {
    from: &'static [&'static str],
    to: &'static [&'static str],
    why: &'static str,
}

/// Packages beside the floors, which may import anything and which no crate may import.
const BESIDE: [&str; 5] =
    ["windfall-testkit", "windfall-tests", "windfall-bench", "windfall-fuzz", "xtask"];

/// The document that has the list of floors and bans, and the lines around the list.
const PAGE: &str = "ARCHITECTURE.md";
const START: &str = "<!-- floors: `cargo xtask floors` writes this part -->\n";
const END: &str = "<!-- end of the floors -->\n";

pub(super) fn check(workspace: &Workspace) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for package in &workspace.packages {
        if !BESIDE.contains(&package.name.as_str()) {
            imports(workspace, package, &mut breaches);
            bans(workspace, package, &mut breaches);
        }
    }
    if let Some(page) = workspace.file(PAGE)
        && let Some(new) = with_list(&page.text, workspace)
        && new != page.text
    {
        breaches.push(Breach::new(PAGE, 0, "the list of floors is stale: cargo xtask floors"));
    }
    breaches
}

/// Returns the text of `ARCHITECTURE.md` with the present list of floors and bans; none if it has
/// no place for the list.
pub(crate) fn with_list(page: &str, workspace: &Workspace) -> Option<String> {
    let (before, rest) = page.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}{}{END}{after}", list(workspace)))
}

/// The floors from the highest to the lowest, and the bans.
fn list(workspace: &Workspace) -> String {
    let mut text = "\n| floor | crates | what stands there |\n|---|---|---|\n".to_owned();
    for (floor, what) in FLOORS.iter().rev() {
        let crates = workspace.packages.iter().filter_map(home).filter(|home| home.0 == *floor);
        let mut names: Vec<_> = crates.map(|(_, name)| format!("`{name}`")).collect();
        names.sort();
        let _ = writeln!(text, "| {floor} | {} | {what} |", names.join(" "));
    }
    text += "\nNever, even by way of a third crate:\n\n";
    for ban in &BANS {
        let to: Vec<_> = ban.to.iter().map(|it| it.trim_start_matches("windfall-")).collect();
        let from = quoted(ban.from);
        let to = quoted(&to);
        let _ = writeln!(text, "- {from} to {to}: {}.", ban.why);
    }
    text + "\n"
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Finds imports from higher floors, and of packages beside the floors.
fn imports(workspace: &Workspace, package: &Package, breaches: &mut Vec<Breach>) {
    let mut breach = |what: String| breaches.push(Breach::new(&package.name, 0, what));
    let Some(level) = level(package) else {
        let floors: Vec<_> = FLOORS.iter().map(|(floor, _)| *floor).collect();
        return breach(format!("stands on no floor; move it to crates/{{{}}}", floors.join(",")));
    };
    let levels: BTreeMap<_, _> = (workspace.packages.iter())
        .filter_map(|package| Some((package.name.as_str(), self::level(package)?)))
        .collect();
    let dev = package.dev_dependencies.iter().filter(|name| *name != "windfall-testkit");
    for dependency in package.dependencies.iter().chain(dev) {
        match levels.get(dependency.as_str()) {
            None => breach(format!("imports {dependency}, which stands beside the crates")),
            Some(&other) if other > level => breach(format!(
                "stands on the floor `{}` and imports {dependency} of `{}`",
                FLOORS[level].0, FLOORS[other].0
            )),
            Some(_) => {}
        }
    }
}

fn bans(workspace: &Workspace, package: &Package, breaches: &mut Vec<Breach>) {
    let Some((floor, name)) = home(package) else { return };
    for ban in BANS.iter().filter(|ban| ban.from.contains(&name) || ban.from.contains(&floor)) {
        let reached = reaches(workspace, package);
        for to in ban.to.iter().filter(|to| reached.contains(**to)) {
            breaches.push(Breach::new(&package.name, 0, format!("reaches {to}: {}", ban.why)));
        }
    }
}

/// The floor of a package and its name there, from its folder `crates/FLOOR/NAME`.
fn home(package: &Package) -> Option<(&str, &str)> {
    package.folder.strip_prefix("crates/")?.split_once('/')
}

/// The level of a package: the position of its floor.
fn level(package: &Package) -> Option<usize> {
    let (floor, _) = home(package)?;
    FLOORS.iter().position(|(name, _)| *name == floor)
}

/// Everything that a package depends on, directly or by way of others of the workspace.
fn reaches<'a>(workspace: &'a Workspace, from: &'a Package) -> BTreeSet<&'a str> {
    let find = |name: &str| workspace.packages.iter().find(|package| package.name == name);
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(package) = waiting.pop() {
        for dependency in package.dependencies.iter().chain(&package.foreign) {
            if seen.insert(dependency.as_str()) {
                waiting.extend(find(dependency));
            }
        }
    }
    seen
}
