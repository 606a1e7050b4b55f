//! Bytes on the air for each byte that arrives over 802.11: attempts that are repeated, and
//! attempts whose damaged copies are combined.
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

use crate::coding::document::{FULL, hold_table};

/// The marks around the table in the document.
const BEGIN: &str = "<!-- radio-combining -->\n";
const END: &str = "<!-- end of radio-combining -->\n";

/// Seconds of a run, in which the sender is never idle.
const SECONDS: u64 = 2;

/// Parity, rate in Mb/s, path, and whether every run tries it.
type Channel = (u32, &'static str, &'static str, bool);

/// From channels on which hardly any attempt fails to those on which nearly all do.
const CHANNELS: [Channel; 14] = [
    (0, "54", "90dB", false),
    (0, "54", "91dB", false),
    (0, "54", "91.5dB", true),
    (0, "54", "92dB", false),
    (0, "54", "93dB", false),
    (16, "54", "92dB", false),
    (16, "54", "93dB", false),
    (16, "54", "93.5dB", true),
    (16, "54", "94dB", false),
    (64, "54", "95dB", false),
    (16, "12", "107.5dB", true),
    (16, "11", "107dB", false),
    (0, "54", "88dB\"\nradio.fading = \"rayleigh 10", false),
    (16, "54", "94dB\"\nradio.fading = \"rayleigh 10", true),
];

/// The cost of a scheme.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// Bytes of data frames and acknowledgements for each byte delivered; infinite if none was.
    bytes: f64,
    /// Data frames for each packet delivered.
    attempts: f64,
    /// The bytes delivered.
    delivered: f64,
    /// The share of the attempts that failed.
    failed: f64,
    /// The share of the bits of data frames that were wrong.
    wrong: f64,
}

fn effort((parity, rate, path, _): Channel, combine: bool, seed: u64) -> Effort {
    let link = format!(
        "kind = \"wifi-g\"\npolicy = \"parity-{parity}\"\nrate = \"{rate}Mbps\"\n\
         combine = {combine}\narq = \"persistent\"\nradio.path-loss = \"{path}\"\n"
    );
    let spray = "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n";
    let outcome = run(&pair(SECONDS, &link, spray), seed);
    let ledger = outcome.ledger(UPLINK);
    let acks = outcome.ledger(ElementId(1)).control_frames;
    let frames = ledger.packets.frames as f64;
    let delivered = ledger.delivered as f64;
    let sent = ledger.packets.frame_bytes as f64;
    Effort {
        bytes: (sent + acks as f64 * 16.0) / ledger.delivered_bytes as f64,
        attempts: frames / delivered,
        delivered: ledger.delivered_bytes as f64,
        failed: 1.0 - delivered / frames,
        wrong: ledger.bits_inverted as f64 / (sent * 8.0),
    }
}

/// The efforts of repetition and of combining in the same air.
fn cell(channel: Channel, seeds: u64) -> Vec<[Effort; 2]> {
    let seed = |n| Stream::new(Seed(n), channel.2).bits();
    (0..seeds).map(|n| [false, true].map(|combine| effort(channel, combine, seed(n)))).collect()
}

fn mean(cell: &[[Effort; 2]], of: impl Fn(&[Effort; 2]) -> f64) -> f64 {
    cell.iter().map(of).sum::<f64>() / cell.len() as f64
}

/// The share of the bytes of repetition that no receiver does without, where this share of the
/// attempts fails: repetition sends 1 / (1 - p) copies of each packet, and one must be sent.
fn bound(failed: f64) -> f64 {
    1.0 - failed
}

/// Fails where combining costs bytes, or saves less than 30 % of them where more than a third of
/// the attempts fail. What costs less than the bound is not counted as it should be.
fn hold(channel: Channel, cell: &[[Effort; 2]]) {
    println!("{channel:?}: {cell:?}");
    let [without, with] = [0, 1].map(|scheme| mean(cell, |it| it[scheme].bytes));
    let failed = mean(cell, |it| it[0].failed);
    let most = if failed > 1.0 / 3.0 { 0.7 } else { 1.001 };
    assert!(with <= without * most, "{channel:?}: {with} of {without}");
    // Frames and packets of one run are not the same, so that p is known to a few per cent.
    if without.is_finite() {
        assert!(with >= without * 0.9 * bound(failed), "{channel:?}: {with} of {without}");
    }
    let [before, after] = [0, 1].map(|scheme| mean(cell, |it| it[scheme].delivered));
    assert!(after >= 0.999 * before, "{channel:?}: {after} of {before}");
}

#[test]
fn combining_copies_on_a_radio_never_costs_bytes() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for channel in CHANNELS.into_iter().filter(|channel| channel.3) {
        hold(channel, &cell(channel, 1));
    }
}

/// Runs all channels and compares the document with them.
fn whole() {
    let mut table = String::from(
        "| parity, rate, path | bits wrong | attempts that fail | repeated | combined | \
         bytes, of repeated | 1 − p | delivered |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let (left, right) = CHANNELS.split_at(CHANNELS.len() / 2);
    let cells = thread::scope(|scope| {
        let all =
            |channels: &[Channel]| channels.iter().map(|it| cell(*it, 10)).collect::<Vec<_>>();
        let other = scope.spawn(move || all(right));
        let mut cells = all(left);
        cells.extend(other.join().expect("runs that end"));
        cells
    });
    for (channel, cell) in CHANNELS.iter().zip(&cells) {
        let path = channel.2.replace("\"\nradio.fading = \"", ", ");
        let ratios: Vec<f64> = cell.iter().map(|[a, b]| b.bytes / a.bytes).collect();
        let ratio = Estimate::mean(&ratios);
        let text =
            |value: f64| if value.is_finite() { format!("{value:.2}") } else { "–".into() };
        let more: Vec<f64> = cell.iter().map(|[a, b]| b.delivered / a.delivered).collect();
        let more = text(Estimate::mean(&more).value);
        let of_copies = if ratio.value > 0.005 {
            format!("{} ({} to {})", text(ratio.value), text(ratio.low), text(ratio.high))
        } else {
            "–".to_owned()
        };
        let cost = |scheme: usize| {
            let of = |of: fn(&Effort) -> f64| text(mean(cell, |it| of(&it[scheme])));
            format!("{}, {}", of(|it| it.bytes), of(|it| it.attempts))
        };
        let _ = writeln!(
            table,
            "| {}, {} Mb/s, {path} | {:.0e} | {:.0} % | {} | {} | {of_copies} | {:.2} | {more} |",
            channel.0,
            channel.1,
            mean(cell, |it| it[0].wrong),
            100.0 * mean(cell, |it| it[0].failed),
            cost(0),
            cost(1),
            bound(mean(cell, |it| it[0].failed)),
        );
    }
    println!("{table}");
    hold_table(BEGIN, END, &table);
    CHANNELS.into_iter().zip(&cells).for_each(|(channel, cell)| hold(channel, cell));
}
