//! Bytes on the air and attempts for each packet delivered: repetition, combining of copies, and
//! parity in place of copies.
//!
//! Every run takes a sample. `WINDFALL_TEST_GRID=full` takes all channels with ten seeds and
//! compares `docs/measurements/coding.md` with what comes out; with `WINDFALL_BLESS=1` it writes
//! the table.

use std::fmt::Write as _;
use std::thread;

use windfall_base::{Seed, Stream};
use windfall_network::ElementId;
use windfall_report::Estimate;
use windfall_tests::run::{UPLINK, pair, run};

use super::document::{FULL, hold_table};

/// The marks around the table in the document.
const BEGIN: &str = "<!-- increments -->\n";
const END: &str = "<!-- end of increments -->\n";
/// Seconds of a run, in which the sender is never idle.
const SECONDS: u64 = 2;
const RATE: f64 = 10e6;

/// Settings beside `arq = "persistent"`.
const SCHEMES: [&str; 4] =
    ["", "combine = true", "increments = true", "increments = true\ncombine = true"];

/// The errors of frames, and whether every run tries them.
const CHANNELS: [(&str, bool); 14] = [
    ("ber = 1e-5", true),
    ("ber = 3e-5", false),
    ("ber = 1e-4", true),
    ("ber = 3e-4", false),
    ("ber = 1e-3", true),
    ("ber = 3e-3", false),
    ("ber = 1e-2", true),
    ("ber = 3e-2", true),
    ("bit-gemodel = \"2e-5 0.0005 0.3 0\"", false),
    ("bit-gemodel = \"2e-4 0.005 0.3 0\"", false),
    ("bit-gemodel = \"1e-4 0.001 0.1 1e-5\"", true),
    ("bit-gemodel = \"5e-5 1e-4 0.5 0\"", true),
    ("window = \"60% 400 20%\"", true),
    ("loss = 0.4\nber = 1e-5", true),
];

/// Channels on which what fails is beyond all parity.
const BEYOND_PARITY: [&str; 2] = ["bit-gemodel = \"5e-5 1e-4 0.5 0\"", "loss = 0.4\nber = 1e-5"];

/// The cost of a scheme.
#[derive(Clone, Copy, Debug, Default)]
struct Effort {
    /// Bytes on the air in both directions for each byte that was delivered; infinite if none was.
    bytes: f64,
    /// Those of them that the sender sent.
    sent: f64,
    /// Frames with the packet or its parity for each packet that was delivered.
    attempts: f64,
    /// The share of the frames that repeat a packet.
    again: f64,
}

fn effort(channel: &str, scheme: &str, seed: u64) -> Effort {
    let line = "rate = \"10Mbps\"\ndelay = \"5ms\"\narq = \"persistent\"";
    let link = format!("{line}\n{scheme}\n[link.uplink]\n{channel}");
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    let outcome = run(&pair(SECONDS, &link, spray), seed);
    let busy = [UPLINK, ElementId(1)].map(|end| outcome.ledger(end).busy.as_secs_f64());
    let ledger = outcome.ledger(UPLINK);
    Effort {
        bytes: (busy[0] + busy[1]) * RATE / 8.0 / ledger.delivered_bytes as f64,
        sent: busy[0] * RATE / 8.0 / ledger.delivered_bytes as f64,
        attempts: ledger.packets.frames as f64 / ledger.delivered as f64,
        again: ledger.packets.retransmissions as f64 / ledger.packets.frames as f64,
    }
}

/// The efforts of all schemes in the same air, by seeds.
type Cell = Vec<[Effort; SCHEMES.len()]>;

fn cell(channel: &str, seeds: u64) -> Cell {
    let all = |scheme: &'static str| -> Vec<Effort> {
        let seed = |n| Stream::new(Seed(n), channel).bits();
        (0..seeds).map(|n| effort(channel, scheme, seed(n))).collect()
    };
    let all = thread::scope(|scope| {
        let runs = SCHEMES.map(|scheme| scope.spawn(move || all(scheme)));
        runs.map(|run| run.join().expect("a run that ends"))
    });
    (0..seeds as usize).map(|n| all.each_ref().map(|scheme| scheme[n])).collect()
}

/// The mean efforts.
fn mean(cell: &Cell) -> [Effort; SCHEMES.len()] {
    core::array::from_fn(|scheme| {
        let mean = |of: fn(&Effort) -> f64| {
            cell.iter().map(|it| of(&it[scheme])).sum::<f64>() / cell.len() as f64
        };
        Effort {
            bytes: mean(|it| it.bytes),
            sent: mean(|it| it.sent),
            attempts: mean(|it| it.attempts),
            again: mean(|it| it.again),
        }
    })
}

/// The bytes of one scheme over those of another, with the interval of 95 %.
fn ratio(cell: &Cell, scheme: usize, of: usize) -> String {
    let ratios: Vec<f64> = cell.iter().map(|it| it[scheme].bytes / it[of].bytes).collect();
    let ratio = Estimate::mean(&ratios);
    if !cell.iter().all(|it| it[scheme].bytes.is_finite() && it[of].bytes.is_finite()) {
        return "–".to_owned();
    }
    format!("{:.2} ({:.2} to {:.2})", ratio.value, ratio.low, ratio.high)
}

/// Fails where parity costs more bytes than copies, or saves too little of many copies.
fn hold(channel: &str, [copies, combined, parity, both]: [Effort; SCHEMES.len()]) {
    println!("{channel}: {copies:?} {combined:?} {parity:?} {both:?}");
    assert!(parity.bytes <= copies.bytes * 1.005, "{channel}: {parity:?} of {copies:?}");
    // Frames that were lost, or of which bursts leave random bits, need copies in any case.
    if BEYOND_PARITY.contains(&channel) {
        return;
    }
    assert!(both.bytes <= combined.bytes * 1.01, "{channel}: {both:?} of {combined:?}");
    if copies.again > 1.0 / 3.0 {
        assert!(parity.bytes < 0.7 * copies.bytes, "{channel}: {parity:?} of {copies:?}");
    }
    assert!(parity.bytes.is_finite(), "{channel}: {parity:?}");
}

#[test]
fn parity_in_place_of_copies_never_costs_bytes_and_saves_a_third_where_a_third_fails() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for (channel, _) in CHANNELS.into_iter().filter(|(_, always)| *always) {
        hold(channel, mean(&cell(channel, 1)));
    }
}

/// The share of the packets that arrive, where attempts are few.
fn delivered(channel: &str, error_control: &str, seed: u64) -> f64 {
    let line = "rate = \"10Mbps\"\ndelay = \"5ms\"";
    let link = format!("{line}\n{error_control}\n[link.uplink]\n{channel}");
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    let outcome = run(&pair(SECONDS, &link, spray), seed);
    let ledger = outcome.ledger(UPLINK);
    ledger.delivered as f64 / (ledger.packets.frames - ledger.packets.retransmissions) as f64
}

/// Parity brings no fewer packets than copies where few attempts are left: within the error of the
/// mean of eight pairs, and clearly more where bits are wrong here and there.
#[test]
fn with_few_attempts_parity_delivers_what_copies_do_and_more() {
    for (channel, arq, more) in [
        ("ber = 1e-4", 1, 0.2),
        ("ber = 3e-4", 1, 0.4),
        ("ber = 1e-3", 1, 0.4),
        ("ber = 1e-2", 1, 0.4),
        ("ber = 3e-4", 2, 0.4),
        ("bit-gemodel = \"1e-4 0.001 0.1 1e-5\"", 1, 0.1),
        ("bit-gemodel = \"5e-5 1e-4 0.5 0\"", 1, 0.0),
        ("bit-gemodel = \"5e-5 1e-4 0.5 0\"", 2, 0.0),
        ("window = \"60% 12000 50%\"", 1, 0.0),
        ("window = \"60% 12000 50%\"", 3, 0.0),
        ("loss = 0.4", 1, 0.0),
    ] {
        let copies = format!("arq = \"{arq}\"");
        let parity = format!("{copies}\nincrements = true");
        let gains: Vec<f64> = (0..8)
            .map(|seed| delivered(channel, &parity, seed) - delivered(channel, &copies, seed))
            .collect();
        let gain = Estimate::mean(&gains);
        println!("{channel}, {arq}: {:+.4} ({:+.4} to {:+.4})", gain.value, gain.low, gain.high);
        // Where copies are as good, within the interval of the mean.
        let found = if more > 0.0 { gain.low } else { gain.high };
        assert!(found >= more, "{channel}, {arq}: {gain:?}");
    }
}

/// Runs all channels and compares the document with them.
fn whole() {
    let mut table = String::from(
        "| channel | frames that repeat | copies | combined | increments | of copies | both | of \
         combined |\n|---|---|---|---|---|---|---|---|\n",
    );
    let cells = CHANNELS.map(|(channel, _)| (channel, cell(channel, 10)));
    for (channel, cell) in &cells {
        let name = channel.replace('"', "").replace('\n', ", ");
        let means = mean(cell);
        let share = match means[0].again {
            again if again.is_finite() && means[0].bytes.is_finite() => {
                format!("{:.0} %", 100.0 * again)
            }
            _ => "all".to_owned(),
        };
        let text = |value: f64| match value {
            value if !value.is_finite() => "–".to_owned(),
            value if value < 100.0 => format!("{value:.2}"),
            value => format!("{value:.0}"),
        };
        let [copies, combined, parity, both] =
            means.map(|it| format!("{}, {}", text(it.bytes), text(it.attempts)));
        let of_copies = ratio(cell, 2, 0);
        let of_combined = ratio(cell, 3, 1);
        let _ = writeln!(
            table,
            "| {name} | {share} | {copies} | {combined} | {parity} | {of_copies} | {both} | \
             {of_combined} |"
        );
    }
    println!("{table}");
    hold_table(BEGIN, END, &table);
    cells.iter().for_each(|(channel, cell)| hold(channel, mean(cell)));
}
