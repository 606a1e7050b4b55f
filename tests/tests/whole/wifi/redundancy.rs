//! Repetition, soft values that are added, and further punctured bits of the convolutional code,
//! over the chain of 802.11 bit by bit.
//!
//! Every run takes a sample. `WINDFALL_TEST_GRID=full` takes all rows with ten seeds and compares
//! `docs/measurements/coding.md` with what comes out; with `WINDFALL_BLESS=1` it writes the table.

use std::fmt::Write as _;
use std::thread;

use windfall_base::{Seed, Stream};
use windfall_phy::decibel::ratio;
use windfall_phy::ofdm::{Chain, Repetition};
use windfall_report::Estimate;
use windfall_wire_link::ieee80211::PhyRate;

use crate::coding::document::{FULL, hold_table};

/// The marks around the table in the document.
const BEGIN: &str = "<!-- redundancy -->\n";
const END: &str = "<!-- end of redundancy -->\n";

/// Data bits of a block, a packet of 1500 bytes.
const BITS: usize = 12_000;
/// Attempts at most.
const MOST: usize = 20;
/// Shares in which the bits are sent that the first attempt holds back.
const STEPS: usize = 8;

const SCHEMES: [Repetition; 3] =
    [Repetition::Alone, Repetition::Added, Repetition::Increments(STEPS)];

/// Rate, mean ratio of signal to noise in decibels, whether it fades from attempt to attempt, and
/// whether every run tries it.
type Row = (PhyRate, f64, bool, bool);

const ROWS: [Row; 12] = [
    (PhyRate::Ofdm54, 18.5, false, false),
    (PhyRate::Ofdm54, 17.75, false, false),
    (PhyRate::Ofdm54, 17.25, false, true),
    (PhyRate::Ofdm54, 16.75, false, true),
    (PhyRate::Ofdm54, 16.25, false, false),
    (PhyRate::Ofdm48, 16.0, false, false),
    (PhyRate::Ofdm18, 5.0, false, true),
    (PhyRate::Ofdm12, 3.0, false, false),
    (PhyRate::Ofdm54, 24.0, true, false),
    (PhyRate::Ofdm54, 20.0, true, true),
    (PhyRate::Ofdm54, 17.0, true, false),
    (PhyRate::Ofdm18, 8.0, true, false),
];

/// Coded bits on the carriers for each coded bit of one attempt, attempts for each block, and the
/// share of attempts that failed.
#[derive(Clone, Copy, Debug)]
struct Effort {
    sent: f64,
    attempts: f64,
    failed: f64,
}

fn effort((rate, decibels, fades, _): Row, scheme: Repetition, blocks: u64, seed: u64) -> Effort {
    let mut chain = Chain::new(rate).expect("a rate of OFDM");
    let mut data = Stream::new(Seed(seed), "data");
    let mut noise = Stream::new(Seed(seed), "noise");
    let fading = Stream::new(Seed(seed), "fading");
    let mut sent = 0.0;
    let mut attempts = 0;
    let per_symbol = f64::from(rate.bits_per_symbol().expect("OFDM"));
    let coded = 48.0 * chain.constellation().bits() as f64;
    for block in 0..blocks {
        let mut bits: Vec<u8> = (0..BITS).map(|_| (data.bits() & 1) as u8).collect();
        bits.extend([0; 6]);
        // Every scheme meets the same fading.
        let gain = |attempt| {
            let power = -(1.0 - fading.at(block * 100 + attempt as u64).unit()).ln();
            if fades { power.sqrt() } else { 1.0 }
        };
        let found = chain.deliver(&bits, scheme, MOST, (ratio(decibels), gain), &mut noise);
        let symbols = (bits.len() as f64 / per_symbol).ceil();
        let (more, count) =
            found.map_or((MOST as f64 * symbols, MOST), |it| (it.sent as f64 / coded, it.attempts));
        sent += more / symbols;
        attempts += count;
    }
    let attempts = attempts as f64 / blocks as f64;
    Effort { sent: sent / blocks as f64, attempts, failed: 1.0 - 1.0 / attempts }
}

/// The efforts of all schemes for each seed.
fn cell(row: Row, seeds: u64, blocks: u64) -> Vec<[Effort; 3]> {
    (0..seeds).map(|seed| SCHEMES.map(|scheme| effort(row, scheme, blocks, seed))).collect()
}

fn mean(cell: &[[Effort; 3]], of: impl Fn(&[Effort; 3]) -> f64) -> f64 {
    cell.iter().map(of).sum::<f64>() / cell.len() as f64
}

/// Fails where adding costs anything, or increments save less than 30 % where a third fails; 15 %
/// where attempts fade, of which some leave nothing to add to.
fn hold(row: Row, cell: &[[Effort; 3]]) {
    println!("{row:?}: {cell:?}");
    let [alone, added, increments] = [0, 1, 2].map(|scheme| mean(cell, |it| it[scheme].sent));
    assert!(added <= alone * 1.02, "{row:?}: {added} of {alone}");
    assert!(increments <= alone * 1.02, "{row:?}: {increments} of {alone}");
    let has_more = row.0 != PhyRate::Ofdm12;
    if mean(cell, |it| it[0].failed) > 1.0 / 3.0 && has_more {
        let most = if row.2 { 0.85 } else { 0.7 };
        assert!(increments < most * alone, "{row:?}: {increments} of {alone}");
    }
}

#[test]
fn punctured_bits_in_place_of_copies_save_a_third_where_a_third_fails() {
    if std::env::var_os(FULL).is_some() {
        return whole();
    }
    for row in ROWS.into_iter().filter(|row| row.3) {
        hold(row, &cell(row, 1, 30));
    }
}

/// Runs all rows and compares the document with them.
fn whole() {
    let mut table = String::from(
        "| rate, mean ratio | attempts that fail | copies | added | further bits | of copies |\n\
         |---|---|---|---|---|---|\n",
    );
    let (left, right) = ROWS.split_at(ROWS.len() / 2);
    let cells = thread::scope(|scope| {
        let all = |rows: &[Row]| rows.iter().map(|row| cell(*row, 10, 12)).collect::<Vec<_>>();
        let other = scope.spawn(move || all(right));
        let mut cells = all(left);
        cells.extend(other.join().expect("runs that end"));
        cells
    });
    for ((rate, decibels, fades, _), cell) in ROWS.into_iter().zip(&cells) {
        let ratios: Vec<f64> = cell.iter().map(|it| it[2].sent / it[0].sent).collect();
        let ratio = Estimate::mean(&ratios);
        let cost = |scheme: usize| {
            let of = |of: fn(&Effort) -> f64| mean(cell, |it| of(&it[scheme]));
            format!("{:.2}, {:.2}", of(|it| it.sent), of(|it| it.attempts))
        };
        let _ = writeln!(
            table,
            "| {rate}, {decibels} dB{} | {:.0} % | {} | {} | {} | {:.2} ({:.2} to {:.2}) |",
            if fades { ", fading" } else { "" },
            100.0 * mean(cell, |it| it[0].failed),
            cost(0),
            cost(1),
            cost(2),
            ratio.value,
            ratio.low,
            ratio.high,
        );
    }
    println!("{table}");
    hold_table(BEGIN, END, &table);
    ROWS.into_iter().zip(&cells).for_each(|(row, cell)| hold(row, cell));
}
