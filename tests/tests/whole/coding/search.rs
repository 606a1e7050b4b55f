//! The adaptive policies beside the static ones on channels that chance draws.
//!
//! Every run takes the first few of them with one seed. `WINDFALL_TEST_GRID=full` takes 200 with
//! ten seeds; `-- --nocapture` prints each.

use std::sync::Mutex;
use std::thread;

use windfall_base::{Seed, Stream};
use windfall_tests::run::{pair, run};

use super::document::FULL;
use super::grid::{Cell, POLICIES, mean, shares};

/// The least shares of the best static policy that FLEX and BEST must reach on every channel.
const WITHIN: [f64; 2] = [0.90, 0.90];
/// Channels and seeds of a full run, and channels of every run.
const CHANNELS: u64 = 200;
const SEEDS: u64 = 10;
const SAMPLE: u64 = 16;

/// A channel: what a scenario says of the link and of its errors, the size of the datagrams if not
/// as fits the link, and seconds.
#[derive(Clone, Debug)]
struct Channel {
    link: String,
    errors: String,
    size: Option<u64>,
    seconds: u64,
    /// Its spells are so long that one run says little.
    has_spells: bool,
}

/// Channels on which parity that mends all costs about as much as repetition without any.
const NARROW: [(&str, Option<u64>); 6] = [
    ("window = \"49% 8095 3.58%\"", Some(500)),
    ("window = \"30% 12000 2%\"", Some(500)),
    ("window = \"85% 12000 6%\"", None),
    ("window = \"73% 9770 5.02%\"", None),
    ("window = \"55% 9494 3.78%\"", Some(205)),
    ("window = \"50% 12000 4%\"", None),
];

/// The channels of a run: those above and those that chance draws.
fn channels(count: u64) -> Vec<Channel> {
    let narrow = NARROW.map(|(errors, size)| Channel {
        link: "kind = \"wavelan\"".to_owned(),
        errors: errors.to_owned(),
        size,
        seconds: 20,
        has_spells: false,
    });
    narrow.into_iter().chain((0..count).map(drawn)).collect()
}

/// Draws the channel of a number: every kind of damage, alone and together, over both media.
fn drawn(number: u64) -> Channel {
    let draw = std::cell::RefCell::new(Stream::new(Seed(number), "channel"));
    let uniform = |low: f64, high: f64| low + (high - low) * draw.borrow_mut().unit();
    let power = |low: f64, high: f64| low * (high / low).powf(draw.borrow_mut().unit());
    let either = |value: f64| if uniform(0.0, 1.0) < 0.5 { 0.0 } else { value };
    let (mut seconds, link) = if number.is_multiple_of(2) {
        (20, "kind = \"wavelan\"".to_owned())
    } else {
        let rate = power(1.0, 20.0);
        let delay = power(0.1, 30.0);
        (4, format!("rate = \"{rate:.1}Mbps\"\ndelay = \"{delay:.1}ms\""))
    };
    let mut has_spells = false;
    let errors = match number / 2 % 8 {
        0 => format!("ber = {:.1e}", power(1e-6, 2e-2)),
        1 => format!("loss = \"{:.0}%\"\nber = {:.1e}", uniform(2.0, 60.0), power(1e-6, 1e-2)),
        2 => format!("gemodel = \"{:.0}% {:.0}%\"", uniform(1.0, 50.0), uniform(5.0, 80.0)),
        3 => {
            // Up to nine of ten bits lie in bad spells, of up to half a million bits.
            let share = uniform(0.05, 0.9);
            let ends = power(2e-6, 1e-2);
            let begins = ends * share / (1.0 - share);
            has_spells = begins.min(ends) < 1e-4;
            if has_spells {
                seconds *= 5;
            }
            let bad = power(3e-3, 0.5);
            let good = either(power(1e-6, 3e-4));
            format!("bit-gemodel = \"{begins:.1e} {ends:.1e} {bad:.2e} {good:.1e}\"")
        }
        4 => {
            let share = uniform(5.0, 100.0);
            let len = power(64.0, 12e3);
            let rate = power(0.5, 50.0);
            format!("window = \"{share:.0}% {len:.0} {rate:.2}%\"")
        }
        // Whole frames that strong parity mends, or that are sent again.
        5 => {
            let share = uniform(10.0, 90.0);
            let len = uniform(6e3, 12e3);
            format!("window = \"{share:.0}% {len:.0} {:.2}%\"", uniform(2.0, 6.0))
        }
        6 => format!("truncate = \"{:.0}%\"", uniform(5.0, 95.0)),
        _ => {
            let share = uniform(5.0, 80.0);
            let len = power(256.0, 12e3);
            let rate = power(1.0, 50.0);
            let ber = power(1e-6, 3e-3);
            let cut = either(uniform(1.0, 40.0));
            format!(
                "window = \"{share:.0}% {len:.0} {rate:.1}%\"\nber = {ber:.1e}\n\
                 truncate = \"{cut:.0}%\""
            )
        }
    };
    let size = (uniform(0.0, 1.0) < 0.5).then(|| power(150.0, 1400.0) as u64);
    Channel { link, errors, size, seconds, has_spells }
}

/// The kb/s of datagrams that fill the link from near to far.
fn throughput(channel: &Channel, policy: &str, seed: u64) -> f64 {
    let Channel { link, errors, size, seconds, .. } = channel;
    let link = format!("{link}\npolicy = \"{policy}\"\n[link.uplink]\n{errors}");
    let size = size.map(|size| format!("size = {size}\n")).unwrap_or_default();
    let spray = format!("[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n{size}");
    let report = run(&pair(*seconds, &link, &spray), seed).report("sink");
    report["received_bytes"] * 8.0 / *seconds as f64 / 1e3
}

fn cell(channel: &Channel, seeds: u64) -> Cell {
    POLICIES.map(|policy| (1..=seeds).map(|seed| throughput(channel, policy, seed)).collect())
}

/// The shares of the best static policy, what each carries, and the channel.
fn text(channel: &Channel, cell: &Cell) -> String {
    let rates = cell.each_ref().map(|rates| mean(rates));
    format!("{:.3?} of {rates:.0?} kb/s: {channel:?}", shares(cell))
}

//= S3.21
//= S3.22
#[test]
fn adaptive_policies_stay_with_the_best_static_one_on_channels_of_chance() {
    let is_full = std::env::var_os(FULL).is_some();
    let (count, seeds) = if is_full { (CHANNELS, SEEDS) } else { (SAMPLE, 1) };
    let all = channels(count).into_iter().filter(|it| is_full || !it.has_spells);
    let next = Mutex::new(all);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let turn = || {
            while let Some(channel) = { next.lock().expect("a lock").next() } {
                let cell = cell(&channel, seeds);
                println!("{}", text(&channel, &cell));
                found.lock().expect("a lock").push((channel, cell));
            }
        };
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| {
            scope.spawn(turn);
        });
    });
    let mut behind = Vec::new();
    let found = found.into_inner().expect("all have ended");
    for (channel, cell) in &found {
        if shares(cell).iter().zip(WITHIN).any(|(share, least)| *share < least) {
            behind.push(text(channel, cell));
        }
    }
    for (policy, name) in ["flex", "best"].into_iter().enumerate() {
        let all: Vec<f64> = found.iter().map(|(_, cell)| shares(cell)[policy]).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{name}: {:.3} of the best static policy on average, {least:.3} at least",
            mean(&all)
        );
    }
    assert!(behind.is_empty(), "{}", behind.join("\n"));
}
