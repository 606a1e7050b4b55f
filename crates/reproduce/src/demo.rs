//! The demonstration: a file by curl from an HTTP server, without and with local retransmission.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bytes::Bytes;
use serde_json::Value;
use windfall_base::{Probability, Seed};
use windfall_report::{
    Axis, Chart, Claim, Finding, Mark, Point, Provenance, Series, Table, Verdict,
};
use windfall_scenario::NEAR;

use crate::error::Error;
use crate::scratch::Scratch;
use crate::sequence::received;

/// The link of the demonstration but for its errors: 10 Mb/s, 20 ms there and back.
const LINK: [&str; 4] = ["--rate", "10Mbps", "--delay", "10ms"];
/// The congestion control that backs off when packets are lost, as TCP was meant to.
const CONGESTION: [&str; 2] = ["--tcp-congestion", "reno"];
/// The port of the HTTP server.
const PORT: u16 = 8000;

/// What to demonstrate.
#[derive(Clone, Debug)]
pub struct Demo {
    /// This program, to be started again as `windfall run`.
    pub program: PathBuf,
    /// The file to move; one is made up if `None`.
    pub file: Option<PathBuf>,
    /// Bit error rate of the link, both ways.
    pub ber: Probability,
    /// The seed.
    pub seed: Seed,
}

/// One way to move the file.
struct Case {
    name: &'static str,
    ber: f64,
    arq: &'static str,
}

/// What came of it.
struct Moved {
    name: &'static str,
    command: String,
    seconds: f64,
    bytes: u64,
    same: bool,
    summary: Value,
    progress: Vec<(f64, f64)>,
}

impl Demo {
    /// Moves the file over a link without errors, with errors, and with errors that it repairs.
    ///
    /// # Errors
    /// If the file cannot be read or a run fails.
    pub fn run(&self, progress: &dyn Fn(&str)) -> Result<Finding, Error> {
        let scratch = Scratch::new()?;
        let served = scratch.0.join("file");
        self.provide(&served)?;
        let ber = self.ber.get();
        let cases = [
            Case { name: "no bit errors", ber: 0.0, arq: "none" },
            Case { name: "bit errors", ber, arq: "none" },
            Case { name: "bit errors, local retransmission", ber, arq: "persistent" },
        ];
        let mut moved = Vec::new();
        for case in cases {
            progress(&format!("moving the file: {}", case.name));
            moved.push(self.transfer(&case, &scratch.0, &served)?);
        }
        Ok(self.finding(&moved))
    }

    /// Puts the file where the server finds it.
    fn provide(&self, served: &Path) -> Result<(), Error> {
        let failed = |path: &Path, source| Error::File { path: path.to_owned(), source };
        match &self.file {
            Some(file) => fs::copy(file, served).map(|_| ()).map_err(|error| failed(file, error)),
            // The program itself is a file that every machine has and no middle box can compress.
            None => {
                let bytes = fs::read(&self.program).map_err(|e| failed(&self.program, e))?;
                let part = &bytes[..bytes.len().min(1_000_000)];
                fs::write(served, part).map_err(|error| failed(served, error))
            }
        }
    }

    fn transfer(&self, case: &Case, scratch: &Path, served: &Path) -> Result<Moved, Error> {
        let [summary, got] = ["summary.json", "got"].map(|name| scratch.join(name));
        let pcap = scratch.join("pcap");
        let server = format!(
            "exec python3 -m http.server {PORT} --directory {} >/dev/null 2>&1",
            scratch.display()
        );
        // The server starts in its own time; curl says 7 until it listens.
        let client = format!(
            "for i in $(seq 100); do \
               curl -sf -o {} -w '%{{time_total}}\\n' http://$WINDFALL_BASE:{PORT}/file && exit; \
               [ $? = 7 ] || exit 1; sleep 0.1; \
             done; exit 1",
            got.display()
        );
        let mut shown = vec!["run".to_owned()];
        shown.extend(LINK.map(str::to_owned));
        shown.extend(["--ber".into(), case.ber.to_string(), "--arq".into(), case.arq.into()]);
        shown.extend(CONGESTION.map(str::to_owned));
        shown.extend(["--seed".into(), self.seed.to_string()]);
        let mut command = Command::new(&self.program);
        command.args(&shown).arg("--json").arg("--summary").arg(&summary).arg("--pcap").arg(&pcap);
        command.arg("--far").arg(server).args(["--", "sh", "-c"]).arg(client);
        let shown = format!("windfall {}", shown.join(" "));
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Error::Start { command: shown.clone(), source })?;
        let seconds = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
        let Some(seconds) = seconds.filter(|_| output.status.success()) else {
            let errors = String::from_utf8_lossy(&output.stderr);
            let message = errors.lines().last().unwrap_or("curl got nothing").to_owned();
            return Err(Error::Run { command: shown, message });
        };
        let read = |path: &Path| {
            fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })
        };
        let (sent, got) = (read(served)?, read(&got)?);
        let capture = Bytes::from(read(&pcap.join(format!("{NEAR}.pcapng")))?);
        Ok(Moved {
            name: case.name,
            command: shown,
            seconds,
            bytes: sent.len() as u64,
            same: sent == got,
            summary: serde_json::from_slice(&read(&summary)?).unwrap_or_default(),
            progress: received(&capture).unwrap_or_default(),
        })
    }

    fn finding(&self, moved: &[Moved]) -> Finding {
        Finding {
            figure: "demo",
            title: "A file by curl across a link that damages bits".to_owned(),
            method: format!(
                "curl fetches the file from Python's HTTP server in another network namespace, \
                 over TCP Reno of this machine's kernel. Between them: {}.",
                moved.last().map_or("", |last| last.command.as_str())
            ),
            claims: claims(moved),
            expected: Verdict::Reproduced,
            charts: vec![("", chart(moved, self.ber))],
            tables: vec![("", table(moved))],
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                seed: self.seed,
                command: format!("windfall demo --ber {} --seed {}", self.ber, self.seed),
            },
        }
    }
}

impl Moved {
    /// A count of the direction from far to near, which carried the file.
    fn count(&self, name: &str) -> u64 {
        self.summary["links"][1][name].as_u64().unwrap_or(0)
    }

    fn dropped(&self) -> u64 {
        let dropped = self.summary["links"][1]["dropped"].as_object();
        dropped.map_or(0, |reasons| reasons.values().filter_map(Value::as_u64).sum())
    }

    fn throughput(&self) -> f64 {
        self.bytes as f64 / 1e3 / self.seconds
    }
}

/// What the demonstration should show; the file must arrive whole in any case.
fn claims(moved: &[Moved]) -> Vec<Claim> {
    let [clean, damaged, repaired] = moved else { return Vec::new() };
    let frames = repaired.count("frames").max(1) as f64;
    let loss = repaired.count("retransmitted") as f64 / frames;
    let share = repaired.throughput() / ((1.0 - loss) * clean.throughput());
    let without = damaged.throughput() / clean.throughput();
    vec![
        Claim {
            requirement: "S3.6",
            paper: "without local retransmission a few per cent of lost packets ruin TCP".into(),
            measured: format!("{:.0} % of the throughput without errors", 100.0 * without),
            verdict: Verdict::of(without < 0.5),
        },
        Claim {
            requirement: "S3.8",
            paper: "with it TCP gets what the link has left".into(),
            measured: format!(
                "{:.0} % of that, while {:.1} % of the frames were repetitions",
                100.0 * share,
                100.0 * loss
            ),
            verdict: Verdict::of(share >= 0.9),
        },
        Claim {
            requirement: "S0.5",
            paper: "what arrives is what was sent".into(),
            measured: match moved.iter().all(|case| case.same) {
                true => "byte for byte the same in every case".into(),
                false => "the files differ".into(),
            },
            verdict: Verdict::of(moved.iter().all(|case| case.same)),
        },
    ]
}

fn table(moved: &[Moved]) -> Table {
    let mut table = Table::new([
        "link",
        "time s",
        "KB/s",
        "packets",
        "dropped",
        "repeated by the link",
        "bits inverted",
        "file",
    ]);
    for case in moved {
        table.push([
            case.name.to_owned(),
            format!("{:.2}", case.seconds),
            format!("{:.0}", case.throughput()),
            case.count("entered").to_string(),
            case.dropped().to_string(),
            case.count("retransmitted").to_string(),
            case.count("bits_inverted").to_string(),
            if case.same { "whole" } else { "differs" }.to_owned(),
        ]);
    }
    table
}

fn chart(moved: &[Moved], ber: Probability) -> Chart {
    let series = moved.iter().enumerate().map(|(color, case)| {
        let points = case.progress.iter().map(|(at, kilobytes)| Point::new(*at, *kilobytes));
        Series::new(case.name, Mark::Line, points.collect()).with_color([6, 1, 0][color % 3])
    });
    Chart {
        title: "One file, three links".to_owned(),
        subtitle: format!("10 Mb/s, 20 ms round trip, bit error rate {ber}; one transfer by curl"),
        x: Axis::linear("time (s)"),
        y: Axis::linear("received (kB)"),
        series: series.collect(),
        rules: Vec::new(),
    }
}
