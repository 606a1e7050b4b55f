//! One station's receiver: what is in the air around it, and the frame that it follows.

use windfall_base::{Duration, Instant};
use windfall_phy::decibel::{decibels, ratio};

use super::config::Thresholds;
use crate::verdict::Missed;

/// [`Thresholds`] as receivers compare with them: in milliwatts and ratios.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    preamble_power: f64,
    preamble_sinr: f64,
    energy: f64,
    capture: Option<f64>,
    capture_window: Duration,
}

impl Levels {
    pub(super) fn new(thresholds: &Thresholds) -> Self {
        Self {
            preamble_power: ratio(thresholds.preamble_power.0),
            preamble_sinr: ratio(thresholds.preamble_sinr),
            energy: ratio(thresholds.energy.0),
            capture: thresholds.capture.map(ratio),
            capture_window: thresholds.capture_window,
        }
    }
}

/// A signal in the air around a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Signal {
    transmission: u32,
    /// Milliwatts in the receiver's band.
    power: f64,
}

/// The frame that a receiver follows.
#[derive(Clone, Debug, Default)]
pub(super) struct Reception {
    pub(super) transmission: u32,
    pub(super) power: f64,
    pub(super) began: Instant,
    /// Interference from each instant on, in milliwatts; the first from the beginning.
    pub(super) interference: Vec<(Instant, f64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Noise in 20 MHz, in milliwatts.
    pub(super) noise: f64,
    signals: Vec<Signal>,
    follows: Option<Reception>,
    /// Memory of a reception that is over.
    spare: Vec<(Instant, f64)>,
    pub(super) transmits: bool,
    /// The carrier sense as it was last told to the station.
    busy: bool,
}

impl Receiver {
    pub(super) fn new(noise: f64) -> Self {
        Self {
            noise,
            signals: Vec::new(),
            follows: None,
            spare: Vec::new(),
            transmits: false,
            busy: false,
        }
    }

    /// A signal arrives. Gives the reason why the receiver does not follow it, if so, and the
    /// transmission that it leaves for this one.
    pub(super) fn arrive(
        &mut self,
        now: Instant,
        transmission: u32,
        power: f64,
        readable: bool,
        levels: &Levels,
    ) -> (Option<Missed>, Option<u32>) {
        let before = self.energy();
        self.signals.push(Signal { transmission, power });
        let weak =
            power < levels.preamble_power || power < levels.preamble_sinr * (self.noise + before);
        let miss = match &self.follows {
            _ if !readable || weak => Some(Missed::Preamble),
            _ if self.transmits => Some(Missed::Transmitting),
            Some(reception) if !captures(reception, now, power, levels) => Some(Missed::Busy),
            _ => None,
        };
        let mut left = None;
        if miss.is_none() {
            left = self.abandon();
            let mut interference = core::mem::take(&mut self.spare);
            interference.clear();
            interference.push((now, before));
            self.follows = Some(Reception { transmission, power, began: now, interference });
        } else if let Some(reception) = &mut self.follows {
            let others = before + power - reception.power;
            reception.interference.push((now, others.max(0.0)));
        }
        (miss, left)
    }

    /// A signal ends. Gives the reception, if it is the one that the receiver follows.
    pub(super) fn leave(&mut self, now: Instant, transmission: u32) -> Option<Reception> {
        if let Some(i) = self.signals.iter().position(|it| it.transmission == transmission) {
            self.signals.remove(i);
        }
        if self.follows.as_ref().is_some_and(|it| it.transmission == transmission) {
            return self.follows.take();
        }
        if let Some(reception) = &mut self.follows {
            let own = reception.transmission;
            let others = self.signals.iter().filter(|signal| signal.transmission != own);
            let interference = others.map(|signal| signal.power).sum();
            reception.interference.push((now, interference));
        }
        None
    }

    /// How strongly a signal arrives that is in the air, in whole dBm.
    pub(super) fn strength(&self, transmission: u32) -> Option<i8> {
        let signal = self.signals.iter().find(|signal| signal.transmission == transmission)?;
        Some(decibels(signal.power).round().clamp(-127.0, 127.0) as i8)
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

    /// The carrier sense, if it has changed since it was last asked for.
    pub(super) fn carrier(&mut self, levels: &Levels) -> Option<bool> {
        let busy =
            self.follows.is_some() || (!self.signals.is_empty() && self.energy() >= levels.energy);
        (busy != self.busy).then(|| {
            self.busy = busy;
            busy
        })
    }

    fn energy(&self) -> f64 {
        self.signals.iter().map(|signal| signal.power).sum()
    }
}

/// Whether a receiver leaves `reception` for a signal of `power` that arrives now.
fn captures(reception: &Reception, now: Instant, power: f64, levels: &Levels) -> bool {
    levels.capture.is_some_and(|margin| {
        now <= reception.began + levels.capture_window && power >= reception.power * margin
    })
}
