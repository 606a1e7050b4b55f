//! Whether a frame that a receiver followed to its end has come through.

use core::ops::Range;

use bytes::Bytes;
use windfall_base::{Duration, Instant, Preamble, Stream};
use windfall_phy::event::{Sampler, Tables};
use windfall_phy::formula;
use windfall_phy::ofdm::{Gains, effective_ratio};
use windfall_phy::soft::Odds;
use windfall_wire_link::ieee80211::PhyRate;

use super::config::Errors;
use super::receiver::{PreambleKind, Reception};
use crate::fate::{FrameFate, Missed};

/// SYNC and SFD of 802.11b, whose bits are known and no data: the long form.
const SYNC_LONG: Duration = Duration::from_micros(144);
/// The short form.
const SYNC_SHORT: Duration = Duration::from_micros(72);
/// The training symbols of OFDM.
const TRAINING: Duration = Duration::from_micros(16);

/// The factor by which other signals disturb CCK more than white noise of their power in 22 MHz.
///
/// A filter for chips of 11 MHz passes half of such noise. Of chips of the same kind, late by a
/// part t of a chip, it passes t² + (1 − t)²: 2/3 on average, since t drifts by a good part of a
/// chip during a frame where clocks differ by 25 ppm. CCK has no code beyond that, as 1 and 2 Mb/s
/// have, to tell them apart.
const CHIPS_OVER_NOISE: f64 = 4.0 / 3.0;

/// A part of a frame: its rate, its beginning and end from that of the frame, its bits.
type Field = (PhyRate, Duration, Duration, f64);

/// A frame as its receiver sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) rate: PhyRate,
    bytes: usize,
    header: Field,
    payload: Field,
}

impl Sent {
    pub(super) fn new(rate: PhyRate, preamble: Preamble, bytes: usize) -> Self {
        let header = header(rate, preamble);
        let payload = payload(rate, preamble, bytes);
        Self { rate, bytes, header, payload }
    }

    /// The form of the frame's preamble.
    pub(super) const fn preamble(&self) -> PreambleKind {
        PreambleKind::of(self.rate)
    }
}

/// The PHY header of a frame.
fn header(rate: PhyRate, preamble: Preamble) -> Field {
    let end = rate.preamble_duration(preamble);
    if rate.is_ofdm() {
        (PhyRate::Ofdm6, TRAINING, end, 24.0)
    } else if end > SYNC_LONG {
        (PhyRate::Dsss1, SYNC_LONG, end, 48.0)
    } else {
        (PhyRate::Dsss2, SYNC_SHORT, end, 48.0)
    }
}

/// Returns the field behind the header.
fn payload(rate: PhyRate, preamble: Preamble, bytes: usize) -> Field {
    let begin = rate.preamble_duration(preamble);
    let end = rate.signal_duration(preamble, bytes);
    let bits = match rate.bits_per_symbol() {
        // Whole symbols, with SERVICE, tail and padding.
        Some(per_symbol) => (end - begin).as_micros() / 4 * u64::from(per_symbol),
        None => bytes as u64 * 8,
    };
    (rate, begin, end, bits as f64)
}

/// The noise against the signal in a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise<'a> {
    /// Heat and the receiver's own, in 20 MHz, in milliwatts.
    pub(super) floor: f64,
    /// The distortion of sender and receiver, over the signal, as a ratio.
    pub(super) distortion: f64,
    /// The powers of the carriers over their mean, where they differ.
    pub(super) carriers: Option<&'a Gains>,
    /// The weight of interference for CCK, over white noise of its power.
    pub(super) cck_interference: f64,
}

/// The weight of interference for CCK, over white noise of its power: formulas, like ns-3's, make
/// no difference.
pub(super) const fn cck_interference(errors: Errors) -> f64 {
    match errors {
        Errors::Formula => 1.0,
        Errors::Pattern => CHIPS_OVER_NOISE,
    }
}

impl Noise<'_> {
    /// The ratio of a signal's power to all that disturbs it; of unequal carriers the one that
    /// stands for them. Receivers of 802.11b gather their echoes.
    fn sinr(self, rate: PhyRate, power: f64, interference: f64) -> f64 {
        let floor = self.floor * formula::bandwidth(rate) / 20e6;
        let interference = match rate {
            PhyRate::Cck5_5 | PhyRate::Cck11 => interference * self.cck_interference,
            _ => interference,
        };
        let ratio = power / (floor + interference + self.distortion * power);
        match self.carriers {
            Some(gains) if rate.is_ofdm() => effective_ratio(rate, ratio, gains),
            _ => ratio,
        }
    }
}

impl Sent {
    /// Why there is no frame when the PHY header is damaged.
    const fn without_header(self) -> Missed {
        if self.rate.is_ofdm() { Missed::Signal } else { Missed::Plcp }
    }
}

/// Decides by formula whether the frame arrives as a whole.
pub(super) fn by_formula(
    sent: Sent,
    reception: &Reception,
    noise: Noise<'_>,
    stream: &mut Stream,
) -> FrameFate {
    if stream.unit() >= survival(sent.header, reception, noise) {
        return FrameFate::Missed(sent.without_header());
    }
    if stream.unit() >= survival(sent.payload, reception, noise) {
        return FrameFate::Missed(Missed::Payload);
    }
    FrameFate::Intact
}

/// The chance that a field comes through, piece by piece of constant interference.
fn survival(field: Field, reception: &Reception, noise: Noise<'_>) -> f64 {
    let (rate, begin, end, bits) = field;
    let begin = reception.began + begin;
    let end = reception.began + end;
    let length = (end - begin).as_secs_f64();
    pieces(reception, begin, end)
        .map(|(from, to, interference)| {
            let share = (to - from).as_secs_f64() / length;
            let sinr = noise.sinr(rate, reception.power, interference);
            formula::success(rate, sinr, bits * share)
        })
        .product()
}

/// SERVICE, and the bits of it that set the descrambler.
const SERVICE: u32 = 16;
const DESCRAMBLER: u32 = 7;

/// The samplers of bit errors, for each rate in the order of [`PhyRate::ALL`].
pub(super) type Samplers = [Sampler<'static>; 12];

/// The samplers over the tables that are shipped.
pub(super) fn samplers() -> Samplers {
    PhyRate::ALL.map(|rate| Sampler::new(Tables::shipped(), rate))
}

/// For each rate the ratio from which on no error event can fall into a frame.
pub(super) fn flawless(samplers: &Samplers) -> [f64; 12] {
    core::array::from_fn(|rate| samplers[rate].flawless_from())
}

/// Returns `true` if no error event can fall into a frame, so that nothing need be drawn.
#[inline]
pub(super) fn is_flawless(
    flawless: &[f64; 12],
    sent: Sent,
    reception: &Reception,
    noise: Noise<'_>,
) -> bool {
    if noise.carriers.is_some() {
        return false;
    }
    let worst = reception.interference.iter().map(|(_, level)| *level).fold(0.0, f64::max);
    [sent.header.0, sent.payload.0]
        .into_iter()
        .all(|rate| noise.sinr(rate, reception.power, worst) >= flawless[rate as usize])
}

/// Draws which bits of the frame are wrong; only whether some are, unless `which` is asked for.
pub(super) fn by_pattern(
    samplers: &mut Samplers,
    sent: Sent,
    reception: &Reception,
    noise: Noise<'_>,
    which: bool,
    stream: &mut Stream,
) -> FrameFate {
    let mut clean = true;
    sample_hits(samplers, sent.header, reception, noise, stream, |_, _| {
        clean = false;
        false
    });
    if !clean {
        return FrameFate::Missed(sent.without_header());
    }
    let service = if sent.rate.is_ofdm() { SERVICE } else { 0 };
    let bits = sent.bytes as u32 * 8;
    let mut mask = Vec::new();
    let mut damaged = false;
    let mut lost = false;
    sample_hits(samplers, sent.payload, reception, noise, stream, |first, event| {
        lost |= first < DESCRAMBLER && service > 0;
        if which {
            mask.resize((service + bits).div_ceil(64) as usize, 0);
            mark(&mut mask, first, event);
        } else {
            let mut places = event.iter().map(|offset| first + u32::from(*offset));
            damaged |= places.any(|place| (service..service + bits).contains(&place));
        }
        !(lost || damaged)
    });
    if lost {
        return FrameFate::Missed(Missed::Service);
    }
    let inverted = places(&mask, service..service + bits);
    if damaged || !inverted.is_empty() {
        return FrameFate::Damaged { truncated: None, inverted };
    }
    FrameFate::Intact
}

/// Marks the bit errors of an event in a mask, in the order of the air.
fn mark(mask: &mut [u64], first: u32, event: &[u16]) {
    // Gathered word by word: a store for each bit would wait for the one before.
    let mut word = 0;
    let mut wrong = 0;
    for offset in event {
        let place = first + u32::from(*offset);
        if place / 64 != word {
            put(mask, word, wrong);
            (word, wrong) = (place / 64, 0);
        }
        wrong |= 1 << (place % 64);
    }
    put(mask, word, wrong);
}

fn put(mask: &mut [u64], word: u32, wrong: u64) {
    // Bits beyond the mask belong to no frame.
    if let Some(bits) = mask.get_mut(word as usize) {
        *bits |= wrong;
    }
}

/// The places of the marked bits of a field within a mask, counted from the beginning of the field.
///
/// On the air the least significant bit of a byte goes first; places count from the most.
fn places(mask: &[u64], field: Range<u32>) -> Vec<u32> {
    let count: u32 = mask.iter().map(|word| word.count_ones()).sum();
    let mut places = Vec::with_capacity(count as usize);
    for (begin, word) in (0..).step_by(64).zip(mask) {
        // The bits of each byte turned round, so that the lowest is the next place.
        let mut word = word.swap_bytes().reverse_bits();
        while word != 0 {
            let place = begin + word.trailing_zeros();
            if field.contains(&place) {
                places.push(place - field.start);
            }
            word &= word - 1;
        }
    }
    places
}

/// Calls `hit` with the error events of a field until it returns false.
fn sample_hits(
    samplers: &mut Samplers,
    field: Field,
    reception: &Reception,
    noise: Noise<'_>,
    stream: &mut Stream,
    hit: impl FnMut(u32, &[u16]) -> bool,
) {
    let (rate, .., bits) = field;
    let sampler = &mut samplers[rate as usize];
    if let [(_, interference)] = reception.interference[..] {
        let sinr = noise.sinr(rate, reception.power, interference);
        return sampler.strike_events([(bits as u32, sinr)], stream, hit);
    }
    sampler.strike_events(stretches(field, reception, noise), stream, hit);
}

/// Draws the reliability of each byte of a damaged frame: of the frame as a whole its receiver
/// knows what share of the bytes is wrong, and where only as far as chance tells it.
pub(super) fn reliability(
    samplers: &mut Samplers,
    sent: Sent,
    fate: &FrameFate,
    reception: &Reception,
    noise: Noise<'_>,
    stream: &mut Stream,
) -> Option<Bytes> {
    let FrameFate::Damaged { inverted, .. } = fate else { return None };
    let sampler = &mut samplers[sent.rate as usize];
    let odds = Odds::of(sampler.wrong_bytes(stretches(sent.payload, reception, noise)));
    let mut wrong = inverted.iter().map(|bit| *bit as usize / 8).peekable();
    let mut of_byte = |byte| {
        let is_wrong = wrong.peek() == Some(&byte);
        while wrong.next_if_eq(&byte).is_some() {}
        odds.reliability(is_wrong, stream)
    };
    Some((0..sent.bytes).map(&mut of_byte).collect())
}

/// The bits of the pieces of a field, and the ratio of signal to all that disturbs it in each.
fn stretches(
    field: Field,
    reception: &Reception,
    noise: Noise<'_>,
) -> impl Iterator<Item = (u32, f64)> {
    let (rate, begin, end, bits) = field;
    let power = reception.power;
    let begin = reception.began + begin;
    let end = reception.began + end;
    let length = (end - begin).as_secs_f64();
    let mut before = 0;
    pieces(reception, begin, end).map(move |(_, to, interference)| {
        let until = ((to - begin).as_secs_f64() / length * bits).round() as u32;
        let count = until - before;
        before = until;
        (count, noise.sinr(rate, power, interference))
    })
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
        let from = (*from).max(begin);
        let to = until(i);
        (to > from).then_some((from, to, *level))
    };
    changes.iter().enumerate().filter_map(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Noise<'_> =
        Noise { floor: 1.0, distortion: 0.0, carriers: None, cck_interference: 1.0 };

    fn reception(power: f64, interference: &[(u64, f64)]) -> Reception {
        let at = |&(micros, level): &(u64, f64)| (Instant::from_nanos(micros * 1_000), level);
        let interference = interference.iter().map(at).collect();
        Reception { power, interference, ..Reception::default() }
    }

    #[test]
    fn a_frame_has_its_header_and_its_payload_where_the_standard_puts_them() {
        let micros = Duration::from_micros;
        // 54 Mb/s: 20 µs of preamble and SIGNAL, then 50 symbols of 216 bits for 1347 bytes.
        let sent = Sent::new(PhyRate::Ofdm54, Preamble::Long, 1_347);
        assert_eq!(sent.header, (PhyRate::Ofdm6, micros(16), micros(20), 24.0));
        assert_eq!(sent.payload, (PhyRate::Ofdm54, micros(20), micros(220), 50.0 * 216.0));
        // 11 Mb/s: 192 µs with the long preamble, 96 µs with the short one; 500 bytes.
        let sent = Sent::new(PhyRate::Cck11, Preamble::Long, 500);
        assert_eq!(sent.header, (PhyRate::Dsss1, micros(144), micros(192), 48.0));
        assert_eq!((sent.payload.1, sent.payload.3), (micros(192), 4_000.0));
        let sent = Sent::new(PhyRate::Cck11, Preamble::Short, 500);
        assert_eq!(sent.header, (PhyRate::Dsss2, micros(72), micros(96), 48.0));
        assert_eq!((sent.payload.1, sent.payload.3), (micros(96), 4_000.0));
    }

    #[test]
    fn a_signal_stands_against_noise_interference_and_its_own_distortion() {
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a}, not {b}");
        close(NOISE.sinr(PhyRate::Ofdm54, 12.0, 2.0), 4.0);
        let distorted = Noise { distortion: 0.25, ..NOISE };
        close(distorted.sinr(PhyRate::Ofdm54, 12.0, 2.0), 2.0);
        // In 22 MHz there is a tenth more noise; other chips disturb CCK by a third more.
        let pattern = Noise { cck_interference: cck_interference(Errors::Pattern), ..NOISE };
        close(pattern.sinr(PhyRate::Cck11, 10.2, 3.0), 10.2 / (1.1 + 4.0));
        close(pattern.sinr(PhyRate::Dsss1, 8.2, 3.0), 2.0);
        let formula = Noise { cck_interference: cck_interference(Errors::Formula), ..NOISE };
        close(formula.sinr(PhyRate::Cck11, 8.2, 3.0), 2.0);
    }

    #[test]
    fn unequal_carriers_weaken_ofdm_and_not_those_who_gather_their_echoes() {
        let mut gains = [0.2; windfall_phy::ofdm::CARRIERS];
        gains[..windfall_phy::ofdm::CARRIERS / 2].fill(1.8);
        let unequal = Noise { carriers: Some(&gains), ..NOISE };
        let [alike, weak] = [NOISE, unequal].map(|n| n.sinr(PhyRate::Ofdm24, 20.0, 0.0));
        assert!(weak < 0.8 * alike, "{weak} of {alike}");
        let [alike, same] = [NOISE, unequal].map(|n| n.sinr(PhyRate::Dsss1, 20.0, 0.0));
        assert_eq!(alike, same);
    }

    #[test]
    fn whether_bits_are_wrong_is_the_same_whether_or_not_their_places_are_asked_for() {
        let mut kinds = [0; 3];
        for (rate, decibels) in
            [(PhyRate::Ofdm54, 14.0), (PhyRate::Ofdm54, 19.0), (PhyRate::Cck11, -5.0)]
        {
            let sent = Sent::new(rate, Preamble::Long, 300);
            let reception = reception(10_f64.powf(decibels / 10.0), &[(0, 0.0)]);
            for seed in 0..400 {
                let fate = |which| {
                    let stream = &mut Stream::new(windfall_base::Seed(seed), "judge");
                    let samplers = &mut samplers();
                    by_pattern(samplers, sent, &reception, NOISE, which, stream)
                };
                let kind = |fate: &FrameFate| match fate {
                    FrameFate::Intact => 0,
                    FrameFate::Damaged { .. } => 1,
                    _ => 2,
                };
                let [which, whether] = [true, false].map(fate);
                assert_eq!(kind(&which), kind(&whether), "{which:?} {whether:?}");
                kinds[kind(&which)] += 1;
            }
        }
        assert!(kinds.iter().all(|count| *count > 20), "{kinds:?}");
    }

    #[test]
    fn wrong_bits_fall_where_the_interference_is() {
        // 10 800 bits from 20 to 220 µs, with SERVICE before the frame's own.
        let sent = Sent::new(PhyRate::Ofdm54, Preamble::Long, 1_347);
        let wrong = |interference: &[(u64, f64)]| {
            let reception = reception(1e3, interference);
            let mut wrong = Vec::new();
            for seed in 0..40 {
                let stream = &mut Stream::new(windfall_base::Seed(seed), "judge");
                let fate = by_pattern(&mut samplers(), sent, &reception, NOISE, true, stream);
                wrong.extend_from_slice(fate.inverted());
            }
            wrong.sort_unstable();
            assert!(wrong.len() > 100, "{}", wrong.len());
            (wrong[0], wrong[wrong.len() - 1])
        };
        // From the middle to three quarters: 120 to 170 µs. An event that begins there may end
        // behind.
        let (first, last) = wrong(&[(0, 0.0), (120, 40.0), (170, 0.0)]);
        assert!((5_384..5_600).contains(&first), "{first}");
        assert!((7_900..8_600).contains(&last), "{last}");
    }

    #[test]
    fn every_bit_of_a_long_run_is_marked_in_its_place() {
        let mut mask = vec![0; 8];
        // Whole bytes, so that their bits turned round are the same.
        let offsets: Vec<u16> = (0..296).collect();
        mark(&mut mask, 40, &offsets);
        let marked: u32 = mask.iter().map(|word| word.count_ones()).sum();
        assert_eq!(marked, 296);
        assert_eq!(places(&mask, 40..336), (0..296).collect::<Vec<u32>>());
    }

    #[test]
    fn marked_bits_of_the_field_come_back_turned_within_their_bytes() {
        let mut mask = vec![0; 4];
        // The last bit before the field, four of it, the first behind it, one far beyond.
        mark(&mut mask, 15, &[0, 1, 8, 60, 200, 201, 9_000]);
        mark(&mut mask, 17, &[0]);
        assert_eq!(places(&mask, 16..216), [0, 6, 7, 60, 192]);
    }
}
