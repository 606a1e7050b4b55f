//! Whether a frame that a receiver followed to its end has come through.

use windfall_base::{Duration, Instant, Preamble, Stream};
use windfall_phy::formula;
use windfall_wire_link::ieee80211::PhyRate;

use super::receiver::Reception;
use crate::verdict::{Missed, Verdict};

/// SYNC and SFD of 802.11b, whose bits are known and no data: the long form.
const SYNC_LONG: Duration = Duration::from_micros(144);
/// The short form.
const SYNC_SHORT: Duration = Duration::from_micros(72);
/// The training symbols of OFDM.
const TRAINING: Duration = Duration::from_micros(16);

/// A frame as its receiver sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) rate: PhyRate,
    pub(super) preamble: Preamble,
    pub(super) bytes: usize,
}

impl Sent {
    /// The rate, the beginning, the end and the bits of its PHY header.
    fn header(self) -> (PhyRate, Duration, Duration, f64) {
        let end = self.rate.preamble_duration(self.preamble);
        if self.rate.is_ofdm() {
            (PhyRate::Ofdm6, TRAINING, end, 24.0)
        } else if end > SYNC_LONG {
            (PhyRate::Dsss1, SYNC_LONG, end, 48.0)
        } else {
            (PhyRate::Dsss2, SYNC_SHORT, end, 48.0)
        }
    }

    /// The rate, the beginning, the end and the bits of what comes behind it.
    fn payload(self) -> (PhyRate, Duration, Duration, f64) {
        let begin = self.rate.preamble_duration(self.preamble);
        let end = self.rate.signal_duration(self.preamble, self.bytes);
        let bits = match self.rate.bits_per_symbol() {
            // Whole symbols, with SERVICE, tail and padding.
            Some(per_symbol) => (end - begin).as_micros() / 4 * u64::from(per_symbol),
            None => self.bytes as u64 * 8,
        };
        (self.rate, begin, end, bits as f64)
    }
}

/// Decides by formula; `noise` is that of the receiver in 20 MHz, in milliwatts.
pub(super) fn by_formula(
    sent: Sent,
    reception: &Reception,
    noise: f64,
    stream: &mut Stream,
) -> Verdict {
    if stream.unit() >= survival(sent.header(), reception, noise) {
        let missed = if sent.rate.is_ofdm() { Missed::Signal } else { Missed::Plcp };
        return Verdict::Missed(missed);
    }
    if stream.unit() >= survival(sent.payload(), reception, noise) {
        return Verdict::Missed(Missed::Payload);
    }
    Verdict::Intact
}

/// The chance that a field comes through, piece by piece of constant interference.
fn survival(
    (rate, begin, end, bits): (PhyRate, Duration, Duration, f64),
    reception: &Reception,
    noise: f64,
) -> f64 {
    let noise = noise * formula::bandwidth(rate) / 20e6;
    let (begin, end) = (reception.began + begin, reception.began + end);
    let length = (end - begin).as_secs_f64();
    pieces(reception, begin, end)
        .map(|(from, to, interference)| {
            let share = (to - from).as_secs_f64() / length;
            formula::success(rate, reception.power / (noise + interference), bits * share)
        })
        .product()
}

/// The pieces of constant interference from `begin` to `end`: from, to, milliwatts.
fn pieces(
    reception: &Reception,
    begin: Instant,
    end: Instant,
) -> impl Iterator<Item = (Instant, Instant, f64)> {
    let changes = &reception.interference;
    let until = move |i: usize| changes.get(i + 1).map_or(end, |(at, _)| (*at).min(end));
    let piece = move |(i, (from, level)): (usize, &(Instant, f64))| {
        let (from, to) = ((*from).max(begin), until(i));
        (to > from).then_some((from, to, *level))
    };
    changes.iter().enumerate().filter_map(piece)
}
