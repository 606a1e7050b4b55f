//! Incremental redundancy held against an independent model, written from
//! `docs/reference/link-behaviour.md` alone.
//!
//! Nothing is coded or decoded in it. Bytes are wrong or right; a block of which *w* symbols are
//! wrong and *e* unknown is right once it has 2 *w* + *e* parity symbols. It knows the air, so it
//! finds the cheapest *way*, the steps at which parity goes, by trying all; the sender has to learn
//! it.

use windfall_base::{Seed, Stream};
use windfall_report::Estimate;
use windfall_tests::run::{UPLINK, pair, run};

use windfall_wire_link::pipe::{INCREMENT_LEN, NUMBERED_LEN};

/// Bytes of packets: those of the spray with the headers of IP and UDP.
const PACKET: usize = 1500;
/// Bytes of a frame around a packet, and around parity.
const AROUND: [usize; 2] = [NUMBERED_LEN + 4, INCREMENT_LEN + 4];
/// Blocks of a packet with its CRC-32, of at most 127 data symbols.
const BLOCKS: usize = (PACKET + 4).div_ceil(127);
/// Parity symbols of a block before the last step, which is 128.
const STEPS: [usize; 4] = [8, 16, 32, 64];
const ALL: usize = 128;
/// Packets that the model draws.
const PACKETS: usize = 1500;
/// Runs, and the packets of each.
const RUNS: u64 = 6;
const OFFERED: u32 = 2000;

/// The errors of the air, of which header and trailer of a frame have none.
#[derive(Clone, Copy, Debug)]
enum Errors {
    /// Each bit alike.
    Each(f64),
    /// A chain of good bits, none of which is wrong, and bad ones: p, r, and the share of wrong
    /// bits among the bad ones.
    Chain(f64, f64, f64),
    /// The share of frames with a window, its bits, and the share of wrong ones among them.
    Window(f64, usize, f64),
}

impl Errors {
    fn key(self) -> String {
        match self {
            Self::Each(rate) => format!("ber = {rate:e}"),
            Self::Chain(p, r, bad) => format!("bit-gemodel = \"{p} {r} {bad} 0\""),
            Self::Window(share, bits, rate) => {
                format!("window = \"{}% {bits} {}%\"", share * 100.0, rate * 100.0)
            }
        }
    }

    /// Sets the wrong ones of `bytes` bytes in one frame.
    fn strike(self, bytes: usize, draw: &mut Stream) -> Vec<bool> {
        let bits = bytes * 8;
        let mut wrong = vec![false; bytes];
        // Calls `hit` with those of a stretch of bits that are wrong at this rate.
        let mut stretch = |from: usize, to: usize, rate: f64, draw: &mut Stream| {
            let mut at = from + gap(rate, draw);
            while at < to {
                wrong[at / 8] = true;
                at += 1 + gap(rate, draw);
            }
        };
        match self {
            Self::Each(rate) => stretch(0, bits, rate, draw),
            Self::Chain(p, r, bad) => {
                let mut at = 0;
                let mut is_bad = draw.unit() < p / (p + r);
                while at < bits {
                    let end = (at + 1 + gap(if is_bad { r } else { p }, draw)).min(bits);
                    if is_bad {
                        stretch(at, end, bad, draw);
                    }
                    (at, is_bad) = (end, !is_bad);
                }
            }
            Self::Window(share, length, rate) => {
                if draw.unit() < share {
                    let length = length.min(bits);
                    let start = draw.below((bits - length + 1) as u64) as usize;
                    stretch(start, start + length, rate, draw);
                }
            }
        }
        wrong
    }
}

/// The trials before the next success, each of which has the chance `p`.
fn gap(p: f64, draw: &mut Stream) -> usize {
    ((1.0 - draw.unit()).ln() / (-p).ln_1p()) as usize
}

/// Counts the set bytes of each block; the blocks take turns over them.
fn by_block(bytes: &[bool]) -> [usize; BLOCKS] {
    core::array::from_fn(|block| bytes.iter().skip(block).step_by(BLOCKS).filter(|it| **it).count())
}

/// The means of a way.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Bytes on the air for each packet.
    bytes: f64,
    /// Frames for each packet.
    frames: f64,
}

/// The cost of a packet whose first copy has these wrong bytes, with parity at these steps.
fn follow(steps: &[usize], first: &[bool], errors: Errors, draw: &mut Stream) -> Cost {
    let mut cost = Cost { bytes: (PACKET + AROUND[0]) as f64, frames: 1.0 };
    if !first.contains(&true) {
        return cost;
    }
    // Of the check, which is not sent, some blocks lack a symbol.
    let unknown: [usize; BLOCKS] = core::array::from_fn(|block| {
        (PACKET..PACKET + 4).filter(|at| at % BLOCKS == block).count()
    });
    let mut is_right = [false; BLOCKS];
    let mut learn = |wrong: &[usize; BLOCKS], erased: &[usize; BLOCKS], parity: usize| {
        for block in 0..BLOCKS {
            is_right[block] |= 2 * wrong[block] + erased[block] + unknown[block] <= parity;
        }
        !is_right.contains(&false)
    };
    let data = by_block(first);
    let mut wrong_parity = [0; BLOCKS];
    let mut before = 0;
    for step in steps {
        cost.bytes += (BLOCKS * (step - before) + AROUND[1]) as f64;
        cost.frames += 1.0;
        let increment = by_block(&errors.strike(BLOCKS * (step - before), draw));
        wrong_parity = core::array::from_fn(|block| wrong_parity[block] + increment[block]);
        let wrong = core::array::from_fn(|block| data[block] + wrong_parity[block]);
        if learn(&wrong, &[0; BLOCKS], *step) {
            return cost;
        }
        before = *step;
    }
    // All parity is there: copies, whose differences from the last one are places to be made anew.
    let mut last = first.to_vec();
    loop {
        cost.bytes += (PACKET + AROUND[0]) as f64;
        cost.frames += 1.0;
        let copy = errors.strike(PACKET, draw);
        let either: Vec<bool> = copy.iter().zip(&last).map(|(a, b)| *a || *b).collect();
        let is_whole = !copy.contains(&true);
        if is_whole || learn(&wrong_parity, &by_block(&either), ALL) {
            return cost;
        }
        last = copy;
    }
}

/// The mean costs of all ways, over the same packets.
fn ways(errors: Errors) -> Vec<Cost> {
    let mut draw = Stream::new(Seed(8), &errors.key());
    let mut all = vec![Cost::default(); 1 << STEPS.len()];
    for _ in 0..PACKETS {
        let first = errors.strike(PACKET, &mut draw);
        for (set, mean) in all.iter_mut().enumerate() {
            let chosen = STEPS.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let steps: Vec<usize> = chosen.map(|(_, step)| *step).chain([ALL]).collect();
            let cost = follow(&steps, &first, errors, &mut draw);
            mean.bytes += cost.bytes / PACKETS as f64;
            mean.frames += cost.frames / PACKETS as f64;
        }
    }
    all
}

/// Measures bytes and frames of the program, in runs that end with no packet under way.
fn spent(errors: Errors, error_control: &str) -> (Estimate, Estimate) {
    const RATE: f64 = 10e6;
    let line = format!("rate = \"10Mbps\"\ndelay = \"2ms\"\narq = \"persistent\"\n{error_control}");
    let link = format!("{line}\n[link.uplink]\n{}", errors.key());
    let spray = format!(
        "[[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\nsize = {}\ncount = {OFFERED}",
        PACKET - 28
    );
    let costs = (0..RUNS).map(|seed| {
        let outcome = run(&pair(20, &link, &spray), seed);
        let ledger = outcome.ledger(UPLINK);
        assert_eq!(ledger.in_flight(), 0, "{ledger:?}");
        let delivered = ledger.delivered as f64;
        let bytes = ledger.busy.as_secs_f64() * RATE / 8.0;
        (bytes / delivered, ledger.packets.frames as f64 / delivered)
    });
    let (bytes, frames): (Vec<f64>, Vec<f64>) = costs.unzip();
    (Estimate::mean(&bytes), Estimate::mean(&frames))
}

/// The program spends no less than the cheapest way of one who knows the air, and at most 1.5 %
/// more for learning it, within the interval of 95 % over the runs and 0.5 % for the draws of the
/// model, whose standard error is 0.25 % at most. Its frames are as many as those of a way that
/// costs at most 2 % more than the cheapest.
#[test]
fn bytes_and_frames_are_those_of_an_independent_model() {
    for errors in [
        Errors::Each(1e-5),
        Errors::Each(1e-4),
        Errors::Each(3e-4),
        Errors::Each(1e-3),
        Errors::Each(3e-3),
        Errors::Each(1e-2),
        Errors::Chain(2e-4, 0.005, 0.3),
        Errors::Window(0.6, 400, 0.2),
    ] {
        let all = ways(errors);
        let least = all.iter().map(|it| it.bytes).fold(f64::INFINITY, f64::min);
        let (bytes, frames) = spent(errors, "increments = true");
        let near = all.iter().filter(|it| it.bytes < 1.02 * least).map(|it| it.frames);
        let (few, many) =
            near.fold((f64::INFINITY, 0.0_f64), |(few, many), it| (few.min(it), many.max(it)));
        println!(
            "{}: {:.1} ({:.1} to {:.1}) bytes, modelled {least:.1}; {:.3} ({:.3} to {:.3}) frames, \
             modelled {few:.3} to {many:.3}",
            errors.key(),
            bytes.value,
            bytes.low,
            bytes.high,
            frames.value,
            frames.low,
            frames.high
        );
        let found = (bytes.high / least, bytes.low / least);
        assert!(found.0 > 0.995 && found.1 < 1.02, "{errors:?}: {bytes:?}, modelled {least}");
        let is_near = frames.high > few - 0.03 && frames.low < many + 0.03;
        assert!(is_near, "{errors:?}: {frames:?}, modelled {few} to {many}");
    }
}

/// Copies alone: each arrives with the chance that none of its bits is wrong.
#[test]
fn copies_are_as_many_as_the_chance_of_a_whole_one_says() {
    for rate in [1e-5_f64, 1e-4] {
        let (_, frames) = spent(Errors::Each(rate), "");
        let expected = (1.0 - rate).powi(-8 * PACKET as i32);
        assert!(frames.low <= expected && expected <= frames.high, "{frames:?}, not {expected}");
    }
}
