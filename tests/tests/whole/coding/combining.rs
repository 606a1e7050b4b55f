//! Bytes on the air for each byte delivered, with and without combining of damaged copies.
//!
//! Every run takes a sample. `WINDFALL_TEST_GRID=full` takes all channels with ten seeds and
//! compares `docs/measurements/coding.md` with what comes out; with `WINDFALL_BLESS=1` it writes
//! the table.

use std::fmt::Write as _;
use std::thread;

use windfall_base::{Seed, Stream};
use windfall_network::ElementId;
use windfall_tests::run::{UPLINK, pair, run};

use super::document::{FULL, hold_table};

/// The marks around the table in the document.
const BEGIN: &str = "<!-- combining -->\n";
const END: &str = "<!-- end of combining -->\n";
/// Seconds of a run, in which the sender is never idle.
const SECONDS: u64 = 2;
const RATE: f64 = 10e6;

/// The error control, as a scenario says it.
const SCHEMES: [(&str, &str); 6] = [
    ("whole packets", "arq = \"persistent\""),
    ("bold", "policy = \"bold\""),
    ("light", "policy = \"light\""),
    ("robust", "policy = \"robust\""),
    ("flex", "policy = \"flex\""),
    ("best", "policy = \"best\""),
];

/// The errors of frames, and whether every run tries them.
const CHANNELS: [(&str, bool); 11] = [
    ("ber = 1e-5", false),
    ("ber = 3e-5", false),
    ("ber = 1e-4", true),
    ("ber = 3e-4", false),
    ("ber = 1e-3", true),
    ("ber = 3e-3", false),
    ("ber = 1e-2", false),
    ("ber = 3e-2", true),
    ("bit-gemodel = \"2e-5 0.0005 0.3 0\"", true),
    ("bit-gemodel = \"1e-4 0.001 0.1 1e-5\"", false),
    ("window = \"60% 400 20%\"", true),
];

/// Bytes on the air in both directions for each byte that was delivered; infinite if none was.
fn effort(channel: &str, scheme: &str, combine: bool, seed: u64) -> f64 {
    let combine = if combine { "combine = true\n" } else { "" };
    let link =
        format!("rate = \"10Mbps\"\ndelay = \"5ms\"\n{scheme}\n{combine}[link.uplink]\n{channel}");
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    let outcome = run(&pair(SECONDS, &link, spray), seed);
    let busy = [UPLINK, ElementId(1)].map(|end| outcome.ledger(end).busy.as_secs_f64());
    let bytes = (busy[0] + busy[1]) * RATE / 8.0;
    bytes / outcome.ledger(UPLINK).delivered_bytes as f64
}

/// The mean efforts of all schemes without and with combining; infinite if in some run nothing
/// was delivered.
fn cell(channel: &str, seeds: u64) -> [[f64; 2]; 6] {
    let mean = |scheme, combine| {
        let seed = |n| Stream::new(Seed(n), channel).bits();
        let all = (0..seeds).map(|n| effort(channel, scheme, combine, seed(n)));
        all.sum::<f64>() / seeds as f64
    };
    thread::scope(|scope| {
        let runs = SCHEMES
            .map(|(_, scheme)| scope.spawn(move || [mean(scheme, false), mean(scheme, true)]));
        runs.map(|run| run.join().expect("a run that ends"))
    })
}

/// Fails where combining costs more bytes than it saves, or saves too few of whole packets.
fn hold(channel: &str, cell: &[[f64; 2]; 6]) {
    for ([alone, combined], (name, _)) in cell.iter().zip(SCHEMES) {
        assert!(*combined <= alone * 1.01, "{name}, {channel}: {combined:.3} of {alone:.3}");
    }
    let [alone, combined] = cell[0];
    // Of whole packets more than every second attempt fails: most of the repetitions are saved.
    assert!(alone < 2.2 || combined < 0.7 * alone, "{channel}: {combined:.3} of {alone:.3}");
}

#[test]
fn combining_never_costs_bytes_and_saves_most_repetitions() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for (channel, _) in CHANNELS.into_iter().filter(|(_, always)| *always) {
        hold(channel, &cell(channel, 1));
    }
}

/// Runs all channels and compares the document with them.
fn whole() {
    let mut table = String::from("| channel |");
    table.extend(SCHEMES.iter().map(|(name, _)| format!(" {name} |")));
    table.push_str("\n|---|---|---|---|---|---|---|\n");
    let cells = CHANNELS.map(|(channel, _)| (channel, cell(channel, 10)));
    for (channel, cell) in &cells {
        let _ = write!(table, "| {} |", channel.replace('"', ""));
        for [alone, combined] in cell {
            let text = |effort: f64| match effort {
                effort if effort.is_infinite() => "–".to_owned(),
                effort if effort < 100.0 => format!("{effort:.2}"),
                effort => format!("{effort:.0}"),
            };
            let _ = write!(table, " {} → {} |", text(*alone), text(*combined));
        }
        table.push('\n');
    }
    hold_table(BEGIN, END, &table);
    cells.iter().for_each(|(channel, cell)| hold(channel, cell));
}
