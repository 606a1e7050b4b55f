//! Our TCP against the kernel's and against itself: byte-exact in both directions at once, whatever
//! the options, over links that are clean, lose packets, or damage them.
//!
//! By default a few combinations in which every pair of options occurs, with [`BYTES`] in each
//! direction. `WINDFALL_TEST_TCP=K/N` runs every N-th of all combinations beginning with the K-th,
//! with 100 MB each: `0/1` all of them, `17/1000` a thousandth.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use windfall_testkit::covering;

use crate::{Folder, WINDFALL, require, windfall};

/// What each end sends.
const BYTES: u64 = 2_000_000;
/// The same where every combination is asked for.
const MANY_BYTES: u64 = 100_000_000;
/// The variable that asks for them.
const ALL: &str = "WINDFALL_TEST_TCP";

/// Who speaks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peers {
    /// The engine connects to the kernel.
    ToKernel,
    /// The kernel connects to the engine.
    FromKernel,
    /// Two engines.
    Ours,
}

const PEERS: [Peers; 3] = [Peers::ToKernel, Peers::FromKernel, Peers::Ours];
const LINKS: [&str; 3] = ["", "--loss 0.5%", "--corrupt 2% --accept-damaged"];
/// The addresses of the far end's kernel and engine, by family.
const FAR: [[&str; 2]; 2] = [
    ["10.77.0.2:5001", "10.177.0.2:5001"],
    ["[fd77:696e:6400::2]:5001", "[fd77:696e:e400::2]:5001"],
];
const SETTINGS: [(&str, &[&str]); 19] = [
    ("timestamps", &["on", "off"]),
    ("paws", &["before", "after", "off"]),
    ("window-scale", &["on", "off"]),
    ("sack", &["on", "off"]),
    ("ecn", &["off", "on"]),
    ("header-prediction", &["on", "off"]),
    ("template", &["on", "off"]),
    ("delayed-ack", &["every", "time:100ms", "traffic", "off"]),
    ("nagle", &["on", "off"]),
    ("mss", &["1460", "536"]),
    ("law", &["cubic", "reno", "net3-reno"]),
    ("repair", &["new-reno", "net3"]),
    ("byte-counting", &["on", "off"]),
    ("limited-transmit", &["on", "off"]),
    ("burst", &["off", "8"]),
    ("corruption", &["off", "draft-safe", "paper", "extended"]),
    ("packing", &["packed", "aligned"]),
    ("kinds", &["27:28", "experimental"]),
    ("reaction", &["as-mark", "ignore", "as-loss"]),
];

/// How many values each choice has: peers, link, family, settings.
fn sizes() -> Vec<usize> {
    let settings = SETTINGS.iter().map(|(_, values)| values.len());
    [PEERS.len(), LINKS.len(), FAR.len()].into_iter().chain(settings).collect()
}

/// One combination.
#[derive(Debug)]
struct Case {
    peers: Peers,
    link: &'static str,
    far: [&'static str; 2],
    settings: String,
    bytes: u64,
}

impl Case {
    fn new(row: &[usize], bytes: u64) -> Self {
        let settings = SETTINGS.iter().zip(&row[3..]);
        let settings = settings.map(|((name, values), value)| format!("{name}={}", values[*value]));
        let settings = settings.collect::<Vec<_>>().join(",");
        Self { peers: PEERS[row[0]], link: LINKS[row[1]], far: FAR[row[2]], settings, bytes }
    }

    /// The options of one end.
    fn end(&self, is_ours: bool) -> String {
        let which = if is_ours { format!("--tcp {}", self.settings) } else { "--kernel".into() };
        format!("--check --json --bytes {} {which}", self.bytes)
    }

    /// Runs it; what the near and the far end measured.
    fn run(&self, folder: &Path) -> Result<[serde_json::Value; 2], String> {
        let measured = folder.join("far.json");
        let (near_ours, far_ours) =
            (self.peers != Peers::FromKernel, self.peers != Peers::ToKernel);
        let far = format!(
            "exec {WINDFALL} tcp receive --both {} > {}",
            self.end(far_ours),
            measured.display()
        );
        let patience = 30 + self.bytes / 100_000;
        let near = format!(
            "timeout {patience} {WINDFALL} tcp send {} {}; \
             for i in 1 2 3 4 5 6 7 8 9; do test -s {} && exit; sleep 0.1; done",
            self.end(near_ours),
            self.far[usize::from(far_ours)],
            measured.display()
        );
        let options = format!(
            "run -q --rate 100Mbps --delay 2ms --sysctl net.ipv4.tcp_ecn=1 {} --pcap {} --far",
            self.link,
            folder.display()
        );
        let output = windfall(&options)
            .args([&far, "--", "sh", "-c", &near])
            .output()
            .map_err(|error| error.to_string())?;
        let far = std::fs::read_to_string(&measured).unwrap_or_default();
        let of = |text: &str| {
            let why = String::from_utf8_lossy(&output.stderr);
            serde_json::from_str(text).map_err(|_| format!("said \"{text}\"; {why}"))
        };
        Ok([of(&String::from_utf8_lossy(&output.stdout))?, of(&far)?])
    }

    /// What is wrong with what both ends measured.
    fn judge(&self, ends: &[serde_json::Value; 2]) -> Result<(), String> {
        for end in ends {
            let good = end["sent"] == self.bytes
                && end["received"] == self.bytes
                && end["wrong"].is_null()
                && end["error"].is_null();
            if !good {
                return Err(format!("{end}"));
            }
        }
        Ok(())
    }

    fn check(&self, name: &str) -> Result<(), String> {
        let folder = Folder::new(name);
        self.judge(&self.run(folder.path())?)?;
        let ours = match self.peers {
            Peers::ToKernel => &["near"][..],
            Peers::FromKernel => &["far"],
            Peers::Ours => &["near", "far"],
        };
        for station in ours {
            crate::expert::check(folder.path(), station, self.link.contains("corrupt"))?;
        }
        Ok(())
    }
}

/// Checks the cases, as many at a time as there are processors; all that failed.
fn check_all(cases: &[Case]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut failures = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(number) else { return failures };
            if let Err(failure) = case.check(&format!("interop-{number}")) {
                failures.push(format!("{case:?}: {failure}"));
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    })
}

#[test]
fn every_pair_of_options_carries_every_byte_in_both_directions() {
    require!("tshark", "timeout");
    let sizes = sizes();
    let cases: Vec<Case> = match std::env::var(ALL) {
        Err(_) => covering::pairwise(&sizes).iter().map(|row| Case::new(row, BYTES)).collect(),
        Ok(slice) => {
            let parts = slice.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n)));
            let (first, step) = parts.expect("WINDFALL_TEST_TCP=K/N");
            let (_, all) = covering::combination(&sizes, 0);
            let rows = (first..all).step_by(step.parse().expect("a number"));
            rows.map(|row| Case::new(&covering::combination(&sizes, row).0, MANY_BYTES)).collect()
        }
    };
    let failures = check_all(&cases);
    let (failed, all) = (failures.len(), cases.len());
    assert!(failures.is_empty(), "{failed} of {all} failed:\n{}", failures.join("\n"));
}
