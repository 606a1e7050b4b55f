//! One station's receiver: the signals around it, and the frame that it decodes.

use windfall_base::{Dbm, Duration, Instant};
use windfall_phy::decibel::{decibels, ratio};
use windfall_wire_link::ieee80211::{MacAddress, PhyRate};

use super::config::{CarrierSense, PREAMBLE_DETECTION, Thresholds};
use crate::fate::Missed;

/// Preambles whose powers differ by less than this ratio, 0.1 dB, are equally strong: which of them
/// a receiver synchronises to is left to chance, and not to the rounding of their powers.
const EQUALLY_STRONG: f64 = 1.023_3;

/// Powers are products of rounded ratios: one that is the threshold but for this share reaches it.
const ROUNDING: f64 = 1e-9;

/// [`Thresholds`] as receivers compare with them: in milliwatts and ratios.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    preamble_power: f64,
    preamble_sinr: f64,
    dsss_preamble_sinr: f64,
    energy: f64,
    carrier_sense: CarrierSense,
    capture: Option<f64>,
    capture_window: Duration,
}

impl Levels {
    pub(super) fn new(thresholds: &Thresholds) -> Self {
        Self {
            preamble_power: ratio(thresholds.preamble_power.0) * (1.0 - ROUNDING),
            preamble_sinr: ratio(thresholds.preamble_sinr),
            dsss_preamble_sinr: ratio(thresholds.dsss_preamble_sinr),
            energy: ratio(thresholds.energy.0),
            carrier_sense: thresholds.carrier_sense,
            capture: thresholds.capture.map(ratio),
            capture_window: thresholds.capture_window,
        }
    }
}

/// The two forms of preamble, which receivers detect by different means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PreambleKind {
    #[default]
    Ofdm,
    Dsss,
}

impl PreambleKind {
    /// The form of the preambles of frames at this rate.
    pub(super) const fn of(rate: PhyRate) -> Self {
        if rate.is_ofdm() { Self::Ofdm } else { Self::Dsss }
    }
}

impl Levels {
    /// The least power of a preamble that is detected in this noise and nothing else.
    pub(super) fn least(&self, preamble: PreambleKind, noise: f64) -> f64 {
        self.preamble_power.max(self.sinr(preamble) * noise)
    }

    /// The least ratio of a preamble to everything else, as a ratio.
    const fn sinr(&self, preamble: PreambleKind) -> f64 {
        match preamble {
            PreambleKind::Ofdm => self.preamble_sinr,
            PreambleKind::Dsss => self.dsss_preamble_sinr,
        }
    }
}

/// The frame that a receiver follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Reception {
    pub(super) transmission: u32,
    pub(super) power: f64,
    pub(super) preamble: PreambleKind,
    pub(super) began: Instant,
    /// Set if the receiver is synchronised to the frame. If not, preambles were detected that
    /// drown each other: the medium is busy until the strongest of the frames ends, and none of
    /// them is read.
    pub(super) synchronised: bool,
    /// Interference from each instant on, in milliwatts; the first from the beginning.
    pub(super) interference: Vec<(Instant, f64)>,
}

/// A signal that arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) transmission: u32,
    /// Milliwatts in the receiver's band.
    pub(super) power: f64,
    /// The form of its preamble.
    pub(super) preamble: PreambleKind,
}

/// The preambles that begin at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Beginning {
    /// The power of all of them.
    together: f64,
    /// The strongest that can be detected.
    strongest: Option<Arrival>,
    /// Its lot, once it was drawn.
    lot: Option<u64>,
}

impl Beginning {
    /// Tells whether an arrival beats the strongest so far; among equally strong ones the greatest
    /// lot does.
    fn is_won_by(&mut self, arrival: &Arrival, lot: impl Fn(u32) -> u64) -> bool {
        let Some(best) = self.strongest else { return true };
        if are_unlike(arrival.power, best.power) {
            self.lot = None;
            return arrival.power > best.power;
        }
        let own = lot(arrival.transmission);
        let other = self.lot;
        let other = other.unwrap_or_else(|| lot(best.transmission));
        self.lot = Some(own.max(other));
        own > other
    }
}

/// A station's receiver. What a signal costs does not grow with the number of others in the air.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Noise in 20 MHz, in milliwatts.
    pub(super) noise: f64,
    /// The address whose frames it passes up whole; all frames if `None`.
    pub(super) address: Option<MacAddress>,
    /// The power of all signals in its band, and their number.
    energy: f64,
    signals: u32,
    /// The signals that have arrived at this instant and are not judged.
    beginning: Option<Beginning>,
    follows: Option<Reception>,
    /// Memory of a reception that is over.
    spare: Vec<(Instant, f64)>,
    pub(super) transmits: bool,
    /// The carrier sense as it was last told to the station.
    busy: bool,
    /// The power of the last frame for the station, in milliwatts and in dBm: mostly the next has
    /// the same.
    strength: (f64, Dbm),
}

impl Receiver {
    pub(super) fn new(noise: f64, address: Option<MacAddress>) -> Self {
        Self {
            noise,
            address,
            energy: 0.0,
            signals: 0,
            beginning: None,
            follows: None,
            spare: Vec::new(),
            transmits: false,
            busy: false,
            strength: (1.0, Dbm(0.0)),
        }
    }

    /// Converts the power of a frame for the station from milliwatts.
    #[inline]
    pub(super) fn strength(&mut self, power: f64) -> Dbm {
        if self.strength.0 != power {
            self.strength = (power, Dbm(decibels(power)));
        }
        self.strength.1
    }

    /// A signal arrives, which is only noise without a preamble that the receiver knows;
    /// [`detect`](Self::detect) follows once all signals of this instant have. Tells whether it is
    /// the first of them.
    ///
    /// Among equally strong preambles the one with the greatest `lot` wins.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        power: f64,
        arrival: Option<Arrival>,
        levels: &Levels,
        lot: impl Fn(u32) -> u64,
    ) -> bool {
        self.energy += power;
        self.signals += 1;
        let first = self.beginning.is_none();
        let beginning = self.beginning.get_or_insert_default();
        if let Some(arrival) = arrival {
            beginning.together += power;
            let wins = power >= levels.preamble_power && beginning.is_won_by(&arrival, lot);
            if wins {
                beginning.strongest = Some(arrival);
            }
        }
        first
    }

    /// Judges the preambles that begin at this instant against everything that is in the air.
    ///
    /// Preambles that begin within the time of detection compete by their strength, whichever came
    /// first. Gives the transmission that the receiver leaves for another, and the reason.
    pub(super) fn detect(
        &mut self,
        now: Instant,
        levels: &Levels,
        lot: impl Fn(u32) -> u64,
    ) -> Option<(u32, Missed)> {
        let beginning = self.beginning.take()?;
        let won = beginning.strongest.filter(|arrival| match &self.follows {
            _ if self.transmits => false,
            // Alike as preambles are, they hide none of them from a receiver: together they have
            // to stand out.
            None => self.stands_out(arrival.preamble, beginning.together, levels),
            Some(reception) if now <= reception.began + PREAMBLE_DETECTION => {
                let transmission = reception.transmission;
                let power = reception.power;
                is_stronger(arrival, &Arrival { transmission, power, ..*arrival }, lot)
            }
            Some(reception) => {
                self.stands_out(arrival.preamble, arrival.power, levels)
                    && captures(reception, now, arrival.power, levels)
            }
        });
        if let Some(arrival) = won {
            let left = self.follows.as_ref().map(|reception| {
                let detecting = now <= reception.began + PREAMBLE_DETECTION;
                let why = if detecting { Missed::Preamble } else { Missed::Captured };
                (reception.transmission, why)
            });
            self.follow(now, &arrival, levels);
            return left;
        }
        let energy = self.energy;
        let Some(reception) = &mut self.follows else { return None };
        reception.interfere(now, energy);
        if now <= reception.began + PREAMBLE_DETECTION {
            let kind = reception.preamble;
            let power = reception.power;
            let stands_out = self.stands_out(kind, power, levels);
            self.follows.as_mut()?.synchronised &= stands_out;
        }
        None
    }

    /// Follows a signal that has begun at this instant.
    fn follow(&mut self, now: Instant, arrival: &Arrival, levels: &Levels) {
        self.abandon();
        let &Arrival { transmission, power, preamble } = arrival;
        let mut interference = core::mem::take(&mut self.spare);
        interference.clear();
        interference.push((now, (self.energy - power).max(0.0)));
        let synchronised = self.stands_out(preamble, power, levels);
        let began = now;
        self.follows =
            Some(Reception { transmission, power, preamble, began, synchronised, interference });
    }

    /// Returns `true` if preambles of such a power stand far enough above everything else.
    fn stands_out(&self, preamble: PreambleKind, power: f64, levels: &Levels) -> bool {
        let others = (self.energy - power).max(0.0);
        power >= levels.sinr(preamble) * (self.noise + others)
    }

    /// Why the receiver does not follow a signal that has begun at this instant; `None` if it does.
    pub(super) fn reason(&self, arrival: &Arrival, levels: &Levels) -> Option<Missed> {
        let follows = self.follows.as_ref().map(|reception| reception.transmission);
        if follows == Some(arrival.transmission) {
            return None;
        }
        let stands_out = self.stands_out(arrival.preamble, arrival.power, levels);
        Some(if arrival.power < levels.preamble_power || !stands_out {
            Missed::Preamble
        } else if self.transmits {
            Missed::Transmitting
        } else {
            Missed::Busy
        })
    }

    /// A signal ends. Gives the reception, if it is the one that the receiver follows.
    #[inline]
    pub(super) fn leave(
        &mut self,
        now: Instant,
        transmission: u32,
        power: f64,
    ) -> Option<Reception> {
        self.signals -= 1;
        // Clears the rounding errors as soon as there is no signal.
        self.energy = if self.signals == 0 { 0.0 } else { (self.energy - power).max(0.0) };
        let energy = self.energy;
        match &mut self.follows {
            Some(reception) if reception.transmission == transmission => self.follows.take(),
            Some(reception) => {
                reception.interfere(now, energy);
                None
            }
            None => None,
        }
    }

    /// Takes back the memory of a reception that was judged.
    pub(super) fn recycle(&mut self, reception: Reception) {
        self.spare = reception.interference;
    }

    /// Leaves the frame that it follows, and tells which.
    pub(super) fn abandon(&mut self) -> Option<u32> {
        let reception = self.follows.take()?;
        let left = reception.transmission;
        self.recycle(reception);
        Some(left)
    }

    /// Returns `true` if no signal is there, and its station knows that.
    pub(super) fn is_quiet(&self) -> bool {
        self.signals == 0 && !self.transmits && !self.busy
    }

    /// The carrier sense, if it has changed since it was last asked for.
    pub(super) fn carrier(&mut self, levels: &Levels) -> Option<bool> {
        let follows = |reception: &Reception| {
            reception.synchronised || levels.carrier_sense == CarrierSense::Follow
        };
        let busy = self.follows.as_ref().is_some_and(follows)
            || (self.signals > 0 && self.energy >= levels.energy);
        (busy != self.busy).then(|| {
            self.busy = busy;
            busy
        })
    }
}

/// Returns `true` if two powers are so far apart that the greater wins.
fn are_unlike(a: f64, b: f64) -> bool {
    a > b * EQUALLY_STRONG || b > a * EQUALLY_STRONG
}

/// Tells whether a preamble wins over another; among equally strong ones the greatest `lot` does.
fn is_stronger(a: &Arrival, b: &Arrival, lot: impl Fn(u32) -> u64) -> bool {
    if are_unlike(a.power, b.power) {
        return a.power > b.power;
    }
    lot(a.transmission) > lot(b.transmission)
}

impl Reception {
    /// From `now` on everything in the air has the power `energy`, the frame itself included.
    fn interfere(&mut self, now: Instant, energy: f64) {
        let others = (energy - self.power).max(0.0);
        match self.interference.last_mut() {
            Some((at, level)) if *at == now => *level = others,
            _ => self.interference.push((now, others)),
        }
    }
}

/// Tells whether a receiver leaves `reception` for a signal of `power` that arrives now.
fn captures(reception: &Reception, now: Instant, power: f64, levels: &Levels) -> bool {
    levels.capture.is_some_and(|margin| {
        now <= reception.began + levels.capture_window && power >= reception.power * margin
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: f64 = 1e-10;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1_000)
    }

    fn levels() -> Levels {
        Levels::new(&Thresholds { capture: Some(10.0), ..Thresholds::default() })
    }

    fn arrival(transmission: u32, power: f64) -> Arrival {
        Arrival { transmission, power, preamble: PreambleKind::Dsss }
    }

    /// A preamble arrives alone, and is judged.
    fn hear(receiver: &mut Receiver, now: Instant, arrival: Arrival) -> Option<(u32, Missed)> {
        let lot = |transmission| u64::from(transmission);
        receiver.arrive(arrival.power, Some(arrival), &levels(), lot);
        receiver.detect(now, &levels(), lot)
    }

    #[test]
    fn nothing_remains_of_signals_that_are_over() {
        let mut receiver = Receiver::new(NOISE, None);
        for power in [0.1, 0.2, 0.3] {
            receiver.arrive(power, None, &levels(), |_| 0);
        }
        for power in [0.1, 0.2, 0.3] {
            receiver.leave(at(1), 0, power);
        }
        // Sums of these are not what they are in decimals.
        assert_eq!(receiver.energy, 0.0);
        assert_eq!(receiver.carrier(&levels()), None, "it was never told busy");
    }

    #[test]
    fn energy_without_a_preamble_makes_the_medium_busy_from_the_threshold_on() {
        // -62 dBm.
        for (dbm, busy) in [(-62.1, None), (-61.9, Some(true))] {
            let mut receiver = Receiver::new(NOISE, None);
            receiver.arrive(ratio(dbm), None, &levels(), |_| 0);
            receiver.detect(at(0), &levels(), |_| 0);
            assert_eq!(receiver.carrier(&levels()), busy, "{dbm} dBm");
            assert_eq!(receiver.carrier(&levels()), None, "told once");
            receiver.leave(at(1), 0, ratio(dbm));
            assert_eq!(receiver.carrier(&levels()), busy.map(|_| false));
        }
    }

    #[test]
    fn without_a_signal_the_medium_is_idle_however_low_the_threshold() {
        let energy = windfall_base::Dbm(f64::NEG_INFINITY);
        let levels = Levels::new(&Thresholds { energy, ..Thresholds::default() });
        let mut receiver = Receiver::new(NOISE, None);
        assert_eq!(receiver.carrier(&levels), None);
        receiver.arrive(ratio(-200.0), None, &levels, |_| 0);
        assert_eq!(receiver.carrier(&levels), Some(true), "any signal counts");
        receiver.leave(at(1), 0, ratio(-200.0));
        assert_eq!(receiver.carrier(&levels), Some(false));
    }

    #[test]
    fn preambles_that_drown_each_other_make_the_medium_busy_only_if_they_are_followed() {
        for (carrier_sense, busy) in
            [(CarrierSense::Follow, Some(true)), (CarrierSense::Energy, None)]
        {
            let levels = Levels::new(&Thresholds { carrier_sense, ..Thresholds::default() });
            let ofdm = |transmission| Arrival {
                transmission,
                power: ratio(-88.0),
                preamble: PreambleKind::Ofdm,
            };
            let mut receiver = Receiver::new(NOISE, None);
            // Two of equal strength, at once: neither stands out.
            for transmission in 0..2 {
                let arrival = ofdm(transmission);
                receiver.arrive(arrival.power, Some(arrival), &levels, u64::from);
            }
            receiver.detect(at(0), &levels, u64::from);
            assert_eq!(receiver.carrier(&levels), busy, "{carrier_sense:?}");
            // One alone is followed in any case.
            let mut receiver = Receiver::new(NOISE, None);
            receiver.arrive(ratio(-88.0), Some(ofdm(0)), &levels, u64::from);
            receiver.detect(at(0), &levels, u64::from);
            assert_eq!(receiver.carrier(&levels), Some(true), "{carrier_sense:?}");
        }
    }

    #[test]
    fn of_equal_preambles_the_later_one_wins_by_its_lot_within_the_time_of_detection() {
        // The number of the transmission is its lot.
        let power = 1e-6;
        for (first, second, left) in [(0, 1, Some((0, Missed::Preamble))), (1, 0, None)] {
            let mut receiver = Receiver::new(NOISE, None);
            assert_eq!(hear(&mut receiver, at(0), arrival(first, power)), None);
            assert_eq!(hear(&mut receiver, at(3), arrival(second, power)), left);
        }
    }

    #[test]
    fn a_stronger_preamble_captures_within_the_window_and_from_the_margin_on() {
        // 10 dB within 16 µs.
        let weak = 1e-7;
        for (late, times, captured) in
            [(10, 10.1, true), (16, 10.1, true), (17, 10.1, false), (10, 9.9, false)]
        {
            let mut receiver = Receiver::new(NOISE, None);
            assert_eq!(hear(&mut receiver, at(0), arrival(0, weak)), None);
            let left = hear(&mut receiver, at(late), arrival(1, weak * times));
            assert_eq!(left, captured.then_some((0, Missed::Captured)), "{late} µs, {times}");
        }
    }

    #[test]
    fn the_reason_why_a_signal_is_not_followed() {
        let mut receiver = Receiver::new(NOISE, None);
        assert_eq!(hear(&mut receiver, at(0), arrival(0, 1e-6)), None);
        let reason = |receiver: &mut Receiver, power: f64| {
            receiver.energy = power;
            receiver.reason(&arrival(1, power), &levels())
        };
        assert_eq!(reason(&mut receiver, 1e-6), Some(Missed::Busy));
        // Too weak for any receiver, though nothing else is in the air; and too weak for the noise.
        receiver.noise = 1e-30;
        assert_eq!(reason(&mut receiver, ratio(-95.1)), Some(Missed::Preamble));
        assert_eq!(reason(&mut receiver, ratio(-94.9)), Some(Missed::Busy));
        receiver.noise = 1e-3;
        assert_eq!(reason(&mut receiver, 1e-6), Some(Missed::Preamble));
        receiver.noise = NOISE;
        receiver.transmits = true;
        assert_eq!(reason(&mut receiver, 1e-6), Some(Missed::Transmitting));
        assert_eq!(receiver.reason(&arrival(0, 1e-6), &levels()), None, "it follows this one");
    }

    #[test]
    fn a_preamble_that_is_drowned_within_the_time_of_detection_is_lost_and_later_ones_harm_it_not()
    {
        for (late, synchronised) in [(0, true), (4, false), (5, true)] {
            let mut receiver = Receiver::new(NOISE, None);
            hear(&mut receiver, at(0), arrival(0, 1e-6));
            if late > 0 {
                // Energy ten times as strong, without a preamble that competes.
                receiver.arrive(1e-5, None, &levels(), |_| 0);
                receiver.detect(at(late), &levels(), |_| 0);
                receiver.leave(at(late + 1), 9, 1e-5);
            }
            let reception = receiver.leave(at(100), 0, 1e-6).expect("it is followed");
            assert_eq!(reception.synchronised, synchronised, "{late} µs");
        }
    }

    #[test]
    fn interference_is_known_piece_by_piece() {
        let mut receiver = Receiver::new(NOISE, None);
        hear(&mut receiver, at(0), arrival(0, 1e-6));
        for (now, power) in [(10, 1e-7), (10, 2e-7), (20, 4e-7)] {
            receiver.arrive(power, None, &levels(), |_| 0);
            receiver.detect(at(now), &levels(), |_| 0);
        }
        receiver.leave(at(30), 8, 4e-7);
        let reception = receiver.leave(at(40), 0, 1e-6).expect("it is followed");
        let expected = [(0, 0.0), (10, 3e-7), (20, 7e-7), (30, 3e-7)];
        assert_eq!(reception.interference.len(), expected.len());
        for ((now, level), (micros, expected)) in reception.interference.iter().zip(expected) {
            assert_eq!(*now, at(micros));
            assert!((level - expected).abs() < 1e-15, "{level}, not {expected}");
        }
    }
}
