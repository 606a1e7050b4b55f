//! The paper's streamer from end to end: SAP, UDP-Lite, IP, the classifier and the link (S0.32).

use core::ops::Add;

use windfall_apps::streamer::{Comparison, StreamPlan};
use windfall_base::{Duration, Port, Seed};
use windfall_mac::wifi::radio::State;
use windfall_report::statistics;

use super::ends::{Pair, ProtocolUnderTest};
use super::frames::{Damage, bit_errors};
use super::office::Office;

/// The data length of a datagram of the paper, in bytes.
pub(super) const DATA: u32 = 1_024;
/// The time limit of a run, and that of what is still under way at its end.
const LONGEST: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(5);
/// The time between two looks at the sender.
const STEP: Duration = Duration::from_micros(100);

/// The mode of the streamer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamerMode {
    /// Retransmitted until acknowledged; damaged frames are discarded.
    Precise,
    /// One attempt, damage accepted.
    Approximate,
    /// One attempt, damaged frames discarded: the mutation.
    Discarding,
}

/// The parameters of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) office: Office,
    pub(super) mode: StreamerMode,
    pub(super) datagrams: u32,
    /// The data length of each datagram in bytes.
    pub(super) size: u32,
    pub(super) seed: u64,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Frames on the air, each with its packet.
    pub(super) frames: Damage,
    /// Of these, those sent more than once.
    pub(super) retransmitted: u64,
    /// Datagrams of the application.
    pub(super) datagrams: Damage,
    /// The duration in nanoseconds.
    pub(super) nanos: u64,
    /// Of these, the time for which the receiver's radio was off.
    pub(super) dozed_nanos: u64,
}

impl Add for Outcome {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            retransmitted: self.retransmitted + other.retransmitted,
            datagrams: self.datagrams + other.datagrams,
            nanos: self.nanos + other.nanos,
            dozed_nanos: self.dozed_nanos + other.dozed_nanos,
        }
    }
}

impl Outcome {
    //= S0.34
    /// Returns the share of frames that were sent more than once.
    pub(super) fn retransmitted_share(&self) -> Option<f64> {
        statistics::retransmitted_fraction(self.retransmitted, self.frames.sent)
    }

    //= S0.28
    /// Returns the rate of intact bits that arrived, in Mb/s.
    pub(super) fn goodput(&self) -> f64 {
        let intact = self.datagrams.bits - self.datagrams.bit_errors;
        intact as f64 * 1e3 / self.nanos.max(1) as f64
    }

    //= S0.28
    /// Returns the fraction of the time for which the receiver's radio was off.
    pub(super) fn dozed(&self) -> f64 {
        self.dozed_nanos as f64 / self.nanos.max(1) as f64
    }

    /// Returns the bit error rate of all that arrived.
    pub(super) fn residual_bit_error_rate(&self) -> f64 {
        1.0 - self.datagrams.intact_bits().unwrap_or(1.0)
    }
}

impl Run {
    /// Creates a run of the paper's streamer.
    pub(super) const fn new(
        office: Office,
        mode: StreamerMode,
        datagrams: u32,
        seed: Seed,
    ) -> Self {
        Self { office, mode, datagrams, size: DATA, seed: seed.0 }
    }

    //= S0.32
    //= S0.33
    /// Streams and returns the counts; nothing arrives where the two ends do not connect.
    pub(super) fn stream(self) -> Outcome {
        let sent = Damage { sent: self.datagrams.into(), ..Damage::default() };
        let nothing = Outcome { frames: sent, datagrams: sent, ..Outcome::default() };
        let protocol = match self.mode {
            StreamerMode::Precise => ProtocolUnderTest::Paper,
            _ => ProtocolUnderTest::Approximate,
        };
        let accepts = self.mode == StreamerMode::Approximate;
        let size = self.size as usize;
        let Some(mut pair) = Pair::accepting(self.office, protocol, accepts, size, self.seed)
        else {
            return nothing;
        };
        let plan = StreamPlan { seed: self.seed as u32, count: self.datagrams, size: self.size };
        if !pair.describe(&plan.to_bytes(), LONGEST) {
            return nothing;
        }
        pair.observe(size);
        let began = pair.now;
        let dozed = pair.radio(Port(1), State::Doze);
        let mut next = 0;
        while next < self.datagrams && pair.now < began + LONGEST {
            while next < self.datagrams && pair.has_room() && pair.send(&plan.datagram(next)) {
                next += 1;
            }
            pair.run(pair.now + STEP);
        }
        pair.finish();
        let patience = pair.now + PATIENCE;
        while !pair.is_over() && pair.now < patience {
            pair.run(pair.now + STEP);
        }
        let dozed = pair.radio(Port(1), State::Doze).saturating_sub(dozed);
        self.outcome(&pair, &plan, dozed).with_time(pair.now.saturating_since(began))
    }

    fn outcome(self, pair: &Pair, plan: &StreamPlan, dozed: Duration) -> Outcome {
        let mut comparison = Comparison::new(*plan);
        let mut datagrams = Damage { sent: self.datagrams.into(), ..Damage::default() };
        // The plan is the first precise message.
        let first = u32::from(self.mode == StreamerMode::Precise);
        for (_, number, data) in &pair.received {
            let Some(number) = number.checked_sub(first) else { continue };
            comparison.take(number, data);
            let errors = bit_errors(&plan.datagram(number), data);
            datagrams.arrive(data.len(), errors > 0, errors);
        }
        // Each arrives once.
        debug_assert_eq!(comparison.figures().arrived, datagrams.arrived);
        let frames = pair.frames.as_ref();
        Outcome {
            frames: frames.map_or_else(Damage::default, |frames| frames.damage),
            retransmitted: frames.map_or(0, |frames| frames.retransmitted),
            datagrams,
            dozed_nanos: dozed.as_nanos(),
            nanos: 0,
        }
    }
}

impl Outcome {
    fn with_time(self, time: Duration) -> Self {
        Self { nanos: time.as_nanos(), ..self }
    }
}
