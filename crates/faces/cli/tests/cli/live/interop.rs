//! Our TCP against the kernel's and against itself: byte-exact in both directions at once, whatever
//! the options, over links that are clean, lose packets, or damage them.
//!
//! By default a few combinations in which every pair of options occurs, with [`BYTES`] in each
//! direction. `WINDFALL_TEST_TCP` asks for more, with [`MANY_BYTES`] in each: `options:0/1` for
//! every combination of what the ends agree on, over every link, between all peers; `all:0/1` for
//! every combination of everything, which are too many; `all:17/1000000` for every
//! millionth of them, beginning with the seventeenth.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use windfall_congestion::CongestionControl;
use windfall_testkit::covering;

use crate::live::{Folder, WINDFALL, require, until, windfall};

/// Bytes from each end where pairs are enough.
const BYTES: u64 = 2_000_000;
/// Bytes from each end if every combination is asked for.
const MANY_BYTES: u64 = 100_000_000;
/// The variable that asks for them.
const MORE: &str = "WINDFALL_TEST_TCP";
/// The number of failures that end the test.
const ENOUGH: usize = 20;

/// The two ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peers {
    /// The engine connects to the kernel.
    ToKernel,
    /// The kernel connects to the engine.
    FromKernel,
    /// An engine at each end.
    Ours,
}

const PEERS: [Peers; 3] = [Peers::ToKernel, Peers::FromKernel, Peers::Ours];
const LINKS: [&str; 3] = ["", "--loss 0.5%", "--corrupt 2% --accept-damaged"];
/// The addresses of the far end's kernel and engine, by family.
const FAR: [[&str; 2]; 2] = [
    ["10.77.0.2:5001", "10.177.0.2:5001"],
    ["[fd77:696e:6400::2]:5001", "[fd77:696e:e400::2]:5001"],
];
/// The choices: those on which the ends agree are the first [`AGREED`].
const SETTINGS: [(&str, &[&str]); 21] = [
    ("timestamps", &["on", "off"]),
    ("window-scale", &["on", "off"]),
    ("sack", &["on", "off"]),
    ("ecn", &["off", "on"]),
    ("corruption", &["off", "draft-safe", "paper", "extended"]),
    ("fast-open", &["off", "on"]),
    ("paws", &["before", "after", "off"]),
    ("header-prediction", &["on", "off"]),
    ("template", &["on", "off"]),
    ("delayed-ack", &["every", "time:100ms", "traffic", "off"]),
    ("nagle", &["on", "off"]),
    ("mss", &["1460", "536", "2256"]),
    ("loss-recovery", &["new-reno", "net3"]),
    ("byte-counting", &["on", "off"]),
    ("limited-transmit", &["on", "off"]),
    ("fast-retransmit", &["on", "off"]),
    ("burst", &["off", "8"]),
    ("packing", &["packed", "aligned"]),
    ("kinds", &["27:28", "experimental"]),
    ("reaction", &["as-mark", "ignore", "as-loss"]),
    ("accurate-ecn", &["off", "on"]),
];
const AGREED: usize = 6;

/// The number of values of each choice: peers, link, family, settings, congestion control.
fn sizes() -> Vec<usize> {
    let settings = SETTINGS.iter().map(|(_, values)| values.len());
    let sizes = [PEERS.len(), LINKS.len(), FAR.len()].into_iter().chain(settings);
    sizes.chain([CongestionControl::BUILT_IN.len()]).collect()
}

/// One combination of values.
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
        let congestion = CongestionControl::BUILT_IN[row[3 + SETTINGS.len()]].name();
        let settings = settings.chain([format!("congestion={congestion}")]);
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
        let patience = 120 + self.bytes / 100_000;
        let near = format!(
            "timeout {patience} {WINDFALL} tcp send {} {}; {}",
            self.end(near_ours),
            self.far[usize::from(far_ours)],
            until(&format!("-s {}", measured.display()))
        );
        let options = format!(
            "run -q --rate 100Mbps --delay 2ms --sysctl net.ipv4.tcp_ecn=1 \
             --sysctl net.ipv4.tcp_fastopen=1027 {} --pcap {} --far",
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

    /// Returns the errors in the measurements of both ends.
    fn judge(&self, ends: &[serde_json::Value; 2]) -> Result<(), String> {
        for end in ends {
            let good = end["sent"] == self.bytes
                && end["received"] == self.bytes
                && end["first_wrong_byte"].is_null()
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
            crate::live::expert::check(folder.path(), station, self.link.contains("corrupt"))?;
        }
        Ok(())
    }
}

/// Checks cases, one at a time on each processor; returns the failures, up to [`ENOUGH`].
fn check_all(count: usize, case: impl Fn(usize) -> Case + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let lock = || failures.lock().expect("no panic");
    let work = || {
        while lock().len() < ENOUGH {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let case = case(number);
            if let Err(failure) = case.check(&format!("interop-{number}")) {
                lock().push(format!("{case:?}: {failure}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    lock().clone()
}

/// Reads [`MORE`]: the number of values of each choice, the first combination, and the step.
fn slice(text: &str) -> Option<(Vec<usize>, usize, usize)> {
    let (which, part) = text.split_once(':')?;
    let (first, step) = part.split_once('/')?;
    let mut sizes = sizes();
    match which {
        "all" => {}
        "options" => sizes[3 + AGREED..].fill(1),
        _ => return None,
    }
    Some((sizes, first.parse().ok()?, step.parse().ok().filter(|step| *step > 0)?))
}

#[test]
fn every_pair_of_options_carries_every_byte_in_both_directions() {
    require!("tshark", "timeout");
    let (count, failures) = match std::env::var(MORE) {
        Err(_) => {
            let rows = covering::pairwise(&sizes());
            (rows.len(), check_all(rows.len(), |number| Case::new(&rows[number], BYTES)))
        }
        Ok(text) => {
            let (sizes, first, step) =
                slice(&text).expect("WINDFALL_TEST_TCP=options:K/N or all:K/N");
            let (_, all) = covering::combination(&sizes, 0);
            let count = all.saturating_sub(first).div_ceil(step);
            let row = |number: usize| covering::combination(&sizes, first + number * step).0;
            (count, check_all(count, |number| Case::new(&row(number), MANY_BYTES)))
        }
    };
    let failed = failures.len();
    let lines = failures.join("\n");
    assert!(failures.is_empty(), "{failed} of {count} failed:\n{lines}");
}
