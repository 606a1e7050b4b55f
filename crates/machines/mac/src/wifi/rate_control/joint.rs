//! A rate control that chooses rate, code and fragmentation together, for the least expected air
//! time of a delivered packet.
//!
//! A [`Record`] for each rate and signal strength estimates the number of parity symbols that
//! frames need. The signal strength is the last one that the receiver reported, in decibels. An
//! acknowledgement reports the number of corrected symbols, so one frame measures all codes at its
//! rate. Records of nearby signal strengths also count, with a weight that falls with the distance.
//! Before the first record, the receiver sensitivities of the standard are used. Unanswered frames
//! are counted separately: the receiver missed the preamble, or the frames collided. Neither their
//! length nor their code matters.
//!
//! The choice has the least expected air time among the candidates that deliver the packet, within
//! its attempts and lifetime, almost as surely as the best candidate. One packet in ten probes a
//! higher rate whose optimistic estimate beats the current rate, as long as failed probes have used
//! little air time.
//!
//! A collision in the same slot is independent of the rate. The station estimates the collision
//! probability from its own backoffs, and reduces the weight of an unanswered frame by that
//! probability. If collisions are likely and the signal is strong enough for a rate, its share of
//! unanswered frames is estimated from all such rates together.

mod candidate;
mod record;
mod signal;

use windfall_base::{Instant, Probability, Stream};
use windfall_wire_link::ieee80211::header::{FCS_LEN, MAX_BODY};
use windfall_wire_link::ieee80211::{Code, PhyRate, Report};

use super::{Attempt, AttemptOutcome, RateChoice, RateControl, RateControlKind, Setup};
use candidate::{Candidate, HOPELESS, best, delivers};
use record::{CODES, Fate, HALF_WEIGHT_FRAMES, Prior, Record, Shares};
use signal::{SIGNALS, Signal};

/// Chooses the least expected air time of a delivered packet.
pub const JOINT: RateControlKind = RateControlKind {
    name: "joint",
    help: "Least expected air time, with the code",
    is_adaptive: true,
    build: |setup| Box::new(Joint::new(setup)),
};

/// The signal that is assumed before the first report of a receiver that sends reports, in dBm.
const CAUTIOUS: i32 = -91;
/// The maximum distance, in decibels, at which records of another signal strength count.
const REACH: i32 = 3;
/// The value of a damaged packet that its owner accepts; an undamaged packet has the value 1.
const DAMAGED: f64 = 0.5;
/// The assumed coding gain of each code, in decibels.
const GAINS: [f64; CODES] = [0.0, 2.0, 2.7, 3.5, 4.3];
/// The weight, in frames, of the common share of unanswered frames, if collisions are certain and
/// the odds that the signal suffices are even.
const POOLED: f64 = 1000.0;
/// The share of packets that probe another rate.
const LOOK_AROUND: f64 = 0.1;
/// The number of rates above the current one that are probed.
const STEPS: usize = 2;
/// The share of the air time that failed probes may use, and the maximum of unused time in seconds.
const WASTE: f64 = 0.01;
const MOST_WASTE: f64 = 0.01;
/// The numbers of fragments that are compared.
const FRAGMENTS: [usize; 3] = [1, 2, 4];

/// The rates and records for one peer.
#[derive(Debug)]
struct Joint {
    setup: Setup,
    /// One record for each signal strength and rate.
    records: Vec<Vec<Record>>,
    signal: Signal,
    /// The probability that another station begins in the same slot.
    collides: f64,
    /// The air time in seconds that failed probes may still use.
    credit: f64,
    /// The current attempt is a probe.
    is_trial: bool,
    /// A frame has been sent to a receiver that sends reports.
    has_begun: bool,
}

impl Joint {
    fn new(setup: &Setup) -> Self {
        let records = SIGNALS.map(|_| vec![Record::default(); setup.rates.len()]).collect();
        Self {
            setup: setup.clone(),
            records,
            signal: Signal::new(),
            collides: 0.0,
            credit: MOST_WASTE,
            is_trial: false,
            has_begun: false,
        }
    }

    fn index(signal: i32) -> usize {
        (signal.clamp(*SIGNALS.start(), *SIGNALS.end()) - SIGNALS.start()) as usize
    }

    /// Returns the record of a rate at the current signal, combined with the records of nearby
    /// signals. Nearer records weigh more. The more frames the current record has, the less the
    /// others weigh. Records that are not in use do not decay.
    fn around(&self, place: usize) -> Record {
        let here = Self::index(self.signal.dbm());
        let mut sum = self.records[here][place];
        let others = 1.0 / (1.0 + sum.known() / HALF_WEIGHT_FRAMES);
        for off in (-REACH..=REACH).filter(|off| *off != 0) {
            if let Some(rates) = self.records.get((here as i32 + off) as usize) {
                sum.add(&rates[place], others * 0.5_f64.powi(off.abs()));
            }
        }
        sum
    }

    /// Estimates the share of frames that each code delivers at a rate, from the receiver
    /// sensitivity.
    fn presumed(&self, place: usize) -> [f64; CODES] {
        let margin = f64::from(self.signal.dbm()) - sensitivity(self.setup.rates[place]);
        GAINS.map(|gain| 1.0 / (1.0 + (-margin - gain).exp()))
    }

    /// Returns the record of each rate at the current signal, and the prior for its share of
    /// unanswered frames. If the signal suffices for a rate, unanswered frames are due to the
    /// medium, so all such rates share one estimate.
    fn known(&self) -> Vec<(Record, Prior)> {
        let suffices = |place| self.presumed(place)[CODES - 1];
        let rates: Vec<Record> =
            (0..self.setup.rates.len()).map(|place| self.around(place)).collect();
        let mut medium = Record::default();
        rates.iter().enumerate().for_each(|(place, rate)| medium.add(rate, suffices(place)));
        let share = medium.missed_at_all();
        let with_prior = |(place, rate): (usize, Record)| {
            let odds = suffices(place) / (1.0 - suffices(place)).max(1e-9);
            (rate, Prior::default().and(share, POOLED * self.collides * odds))
        };
        rates.into_iter().enumerate().map(with_prior).collect()
    }

    /// Returns the time in seconds of an attempt with `len` bytes of MAC header and body.
    fn seconds(&self, place: usize, code: Option<Code>, len: usize) -> f64 {
        let beside = (self.setup.contention + self.setup.answers[place]).as_secs_f64();
        beside + self.frame_seconds(place, code, len)
    }

    /// Returns the time in seconds of the frame of such an attempt.
    fn frame_seconds(&self, place: usize, code: Option<Code>, len: usize) -> f64 {
        let all = len + code.map_or(0, |code| code.overhead(len)) + FCS_LEN;
        self.setup.rates[place].frame_duration(self.setup.preamble, all).as_secs_f64()
    }

    /// Returns a candidate for every rate and code. Optimistic estimates are higher for candidates
    /// with fewer measured frames.
    fn candidates(&self, attempt: &Attempt, is_optimistic: bool) -> Vec<Candidate> {
        let fits = |code: &Code| attempt.len + code.overhead(attempt.len) <= MAX_BODY;
        let codes = match attempt.code {
            None => 1,
            Some(_) => 1 + Code::ALL[1..].iter().filter(|code| fits(code)).count(),
        };
        let mut all = Vec::with_capacity(self.setup.rates.len() * codes);
        let mut faster = [0.0; CODES];
        let wait = self.setup.growth.as_secs_f64();
        for (place, (record, missed)) in self.known().into_iter().enumerate().rev() {
            // A slower rate succeeds at least as often.
            let mut presumed = self.presumed(place);
            presumed.iter_mut().zip(faster).for_each(|(own, faster)| *own = own.max(faster));
            let shares =
                |is_optimistic| record.shares(&presumed, missed, attempt.len as f64, is_optimistic);
            let optimistic = shares(true);
            let shares = if is_optimistic { optimistic } else { shares(false) };
            faster = shares.whole;
            for code in &Code::ALL[..codes] {
                let worth = if attempt.accepts_damaged { DAMAGED } else { 0.0 };
                let at = code.index();
                let use_of = |it: &Shares| it.whole[at] + worth * it.damaged[at];
                let success = use_of(&shares);
                let coded = attempt.code.map(|_| *code);
                let seconds = self.seconds(place, coded, attempt.len);
                let times = [seconds, self.frame_seconds(place, coded, attempt.len)];
                let [delivers, delivery_upper_bound] =
                    [success, use_of(&optimistic)].map(|success| delivers(attempt, success, times));
                let noticed = shares.whole[at] + shares.damaged[at];
                all.push(Candidate {
                    place,
                    code: *code,
                    success,
                    noticed,
                    seconds,
                    wait,
                    delivers,
                    delivery_upper_bound,
                });
            }
        }
        all
    }

    /// Assumes a weak signal before the first report of a receiver that sends reports. The first
    /// report corrects it, and a packet may have few attempts.
    fn begin(&mut self, attempt: &Attempt) {
        if !self.has_begun && attempt.code.is_some() {
            self.has_begun = true;
            self.signal.assume(CAUTIOUS);
        }
    }

    /// Chooses a probe, for one packet in ten: a random higher rate, or a stronger code, whose
    /// optimistic estimate beats the best candidate.
    fn trial(&self, best: &Candidate, attempt: &Attempt, draw: &mut Stream) -> Option<Candidate> {
        let share = Probability::new(LOOK_AROUND).unwrap_or(Probability::ZERO);
        if attempt.number > 1 || self.credit <= 0.0 || !draw.chance(share) {
            return None;
        }
        let mut optimistic = self.candidates(attempt, true);
        optimistic.retain(|it| it.place <= best.place + STEPS && it.delivers > 0.0);
        // Slower rates and weaker codes need no probes: slower rates fail no more often, and every
        // frame measures the weaker codes.
        let tells = |it: &&Candidate| (it.place, it.code) > (best.place, best.code);
        let better = optimistic.iter().filter(tells).filter(|it| it.cost() < best.cost());
        let mut places: Vec<usize> = better.map(|it| it.place).collect();
        places.dedup();
        let place = *places.get(draw.below(places.len().max(1) as u64) as usize)?;
        // Of the codes that could be better, the strongest is chosen because its report measures
        // all weaker ones.
        let may_be = |it: &&Candidate| it.place == place && it.least_cost() < best.cost();
        optimistic.iter().filter(may_be).max_by_key(|it| it.code.index()).copied()
    }

    /// Updates the assumed signal from a report, or from an unanswered frame.
    fn sense(&mut self, report: Option<Report>, silence: Option<f64>) {
        match (report, silence) {
            (Some(Report { signal: Some(dbm), .. }), _) => self.signal.report(i32::from(dbm)),
            (Some(_), _) => self.signal.answered(),
            (None, Some(share)) => {
                self.signal.miss(share);
                // If nothing arrives at any rate, collisions are the more likely cause. Slower
                // frames would collide even more.
                if self.presumed(0)[CODES - 1] < HOPELESS {
                    self.signal.reset_to_reported();
                }
            }
            (None, None) => {}
        }
    }

    fn choice(&self, promise: &Candidate, attempt: &Attempt) -> RateChoice {
        let code = attempt.code.map(|_| promise.code);
        RateChoice { rate: self.setup.rates[promise.place], code }
    }
}

/// Classifies the outcome of a frame with a code.
fn fate(outcome: &AttemptOutcome, code: Code) -> Fate {
    match (outcome.arrived, outcome.report) {
        (true, report) => {
            let symbols = report.and_then(|it| it.corrected).unwrap_or(0);
            let needed = Code::correcting(symbols.into()).unwrap_or(code);
            Fate::Needed(needed.index().min(code.index()))
        }
        (false, None) if outcome.choice.code.is_some() => Fate::Missed,
        (false, _) => Fate::Damaged,
    }
}

/// Returns the signal in dBm at which a receiver decodes about half of all uncoded frames of 1500
/// bytes. It is 8 dB below the minimum sensitivity of the standard (802.11-2007, 17.3.10.1 and
/// 18.4.8.1), because receivers are better by about this margin.
fn sensitivity(rate: PhyRate) -> f64 {
    let asked = match rate {
        PhyRate::Dsss1 => -83.0,
        PhyRate::Dsss2 => -80.0,
        PhyRate::Cck5_5 => -79.0,
        PhyRate::Cck11 => -76.0,
        PhyRate::Ofdm6 => -82.0,
        PhyRate::Ofdm9 => -81.0,
        PhyRate::Ofdm12 => -79.0,
        PhyRate::Ofdm18 => -77.0,
        PhyRate::Ofdm24 => -74.0,
        PhyRate::Ofdm36 => -70.0,
        PhyRate::Ofdm48 => -66.0,
        PhyRate::Ofdm54 => -65.0,
    };
    asked - 8.0
}

impl RateControl for Joint {
    fn rate(&mut self, now: Instant, number: u32, draw: &mut Stream) -> PhyRate {
        let attempt = Attempt { number, len: 1500, left: 7, ..Attempt::default() };
        let lowest = self.setup.rates[0];
        self.choose(now, &attempt, draw).map_or(lowest, |choice| choice.rate)
    }

    fn on_attempt(&mut self, rate: PhyRate, arrived: bool) {
        let choice = RateChoice { rate, code: None };
        let collides = Probability::ZERO;
        self.on_outcome(&AttemptOutcome { choice, len: 1500, arrived, report: None, collides });
    }

    fn choose(&mut self, _: Instant, attempt: &Attempt, draw: &mut Stream) -> Option<RateChoice> {
        self.begin(attempt);
        let candidates = self.candidates(attempt, false);
        let best = best(&candidates, attempt)?;
        let trial = self.trial(&best, attempt, draw);
        self.is_trial = trial.is_some();
        Some(self.choice(&trial.unwrap_or(best), attempt))
    }

    fn fragments(&mut self, _: Instant, first: &Attempt) -> usize {
        self.begin(first);
        let whole = first.len;
        let head = windfall_wire_link::ieee80211::header::DATA_HEADER;
        let cost = |count: &usize| {
            let len = head + whole.saturating_sub(head).div_ceil(*count);
            // Fragments are never passed up damaged.
            let accepts_damaged = first.accepts_damaged && *count == 1;
            // All fragments have to fit into the remaining lifetime.
            let time = first.time.map(|time| time / *count as u64);
            let attempt = Attempt { len, time, accepts_damaged, ..*first };
            let promised = best(&self.candidates(&attempt, false), &attempt);
            // Only the first fragment contends.
            let saved = self.setup.contention.as_secs_f64() * (*count as f64 - 1.0);
            promised.map_or(f64::INFINITY, |it| it.cost() * *count as f64 - saved)
        };
        let least = |a: &&usize, b: &&usize| cost(a).total_cmp(&cost(b));
        FRAGMENTS.iter().min_by(least).copied().unwrap_or(1)
    }

    fn on_outcome(&mut self, outcome: &AttemptOutcome) {
        let AttemptOutcome { choice, len, arrived, report, collides } = *outcome;
        let Some(place) = self.setup.rates.iter().position(|rate| *rate == choice.rate) else {
            return;
        };
        let code = choice.code.unwrap_or_default();
        let seconds = self.seconds(place, choice.code, len);
        self.credit = (self.credit + WASTE * seconds).min(MOST_WASTE);
        let (record, prior) = self.known()[place];
        let missed = record.missed(code.index() > 0, prior);
        self.collides = collides.get();
        let silence = self.collides + (1.0 - self.collides) * missed;
        // An unanswered frame counts with the probability that it did not collide.
        let is_silence = !arrived && report.is_none();
        let weight = if is_silence { 1.0 - self.collides / silence } else { 1.0 };
        if self.is_trial && !arrived {
            self.credit -= weight * seconds;
        }
        let fate = fate(outcome, code);
        let at = Self::index(self.signal.dbm());
        for (other, record) in self.records[at].iter_mut().enumerate() {
            if other == place {
                record.record(code.index(), fate, len as f64, weight);
            } else {
                record.fade();
            }
        }
        self.sense(report, (fate == Fate::Missed).then_some(silence));
    }

    fn tries_until_expiry(&self) -> bool {
        true
    }

    fn accepts_damaged_delivery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
