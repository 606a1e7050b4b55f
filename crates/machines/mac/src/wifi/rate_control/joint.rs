//! Rate, code and fragments chosen together, by the air time that a delivered packet is expected to
//! take.
//!
//! For each rate and each signal strength, in decibels as the receiver last reported it, a
//! [`Record`] estimates how many symbols of parity frames need. An acknowledgement reports the
//! corrections, so one frame measures all codes at its rate. Records of nearby strengths count too,
//! less with each decibel; before there are any, the sensitivities of the standard replace them.
//! Frames without an answer are counted separately: the receiver missed their preamble, or they
//! collided, and neither length nor code would have saved them.
//!
//! The choice has the least expected air time for a delivered packet, among those that deliver it
//! nearly as surely as any would within its attempts and its lifetime. One packet in ten probes a
//! higher rate whose optimistic estimate beats the current one, as long as failed probes took
//! little of the air time.
//!
//! Collisions with frames that begin in the same slot are no fault of a rate. The station estimates
//! their probability from its own backoffs, and a silence counts less by it. The more likely they
//! are, and the more surely the signal suffices for a rate, the more its share of silences is that
//! of all such rates.

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

/// The least expected air time of a delivered packet.
pub const JOINT: RateControlKind = RateControlKind {
    name: "joint",
    help: "Least expected air time, with the code",
    is_adaptive: true,
    build: |setup| Box::new(Joint::new(setup)),
};

/// The signal that is assumed of a receiver that may report before it does, in dBm.
const CAUTIOUS: i32 = -91;
/// Decibels by which the record of another signal may be off to count.
const REACH: i32 = 3;
/// The worth of a damaged packet whose owner takes it so.
const DAMAGED: f64 = 0.5;
/// Decibels by which each code presumably lowers the signal that a rate needs.
const GAINS: [f64; CODES] = [0.0, 2.0, 2.7, 3.5, 4.3];
/// The weight, in frames, of the share of silences of all rates, if a collision is certain and the
/// signal suffices with even odds.
const POOLED: f64 = 1000.0;
/// The share of packets that probe another rate.
const LOOK_AROUND: f64 = 0.1;
/// Places above the rate in use that are looked at.
const STEPS: usize = 2;
/// The share of the air time that trials may waste, and the most seconds at once.
const WASTE: f64 = 0.01;
const MOST_WASTE: f64 = 0.01;
/// Fragments of a packet that are weighed.
const FRAGMENTS: [usize; 3] = [1, 2, 4];

/// The rates and records for one peer.
#[derive(Debug)]
struct Joint {
    setup: Setup,
    /// For each signal one record for each rate.
    records: Vec<Vec<Record>>,
    signal: Signal,
    /// The chance that another station begins in the same slot.
    collides: f64,
    /// Seconds that trials may still take.
    credit: f64,
    /// The attempt under way is a trial.
    is_trial: bool,
    /// Frames have gone to a receiver that may report.
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

    /// The records of a rate near the present signal: nearer ones weigh more, and others less the
    /// more frames the present one has. Records that are not in use do not decay.
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

    /// The share of frames that arrive at a rate with each code, by the standard's sensitivity.
    fn presumed(&self, place: usize) -> [f64; CODES] {
        let margin = f64::from(self.signal.dbm()) - sensitivity(self.setup.rates[place]);
        GAINS.map(|gain| 1.0 / (1.0 + (-margin - gain).exp()))
    }

    /// The record of each rate at the present signal, and the share of frames that nothing answers
    /// before anything is known of it: the more surely the signal suffices for a rate, the more
    /// that is a matter of the medium, and the same for all such rates.
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

    /// Seconds of an attempt with `len` bytes of MAC header and body.
    fn seconds(&self, place: usize, code: Option<Code>, len: usize) -> f64 {
        let beside = (self.setup.contention + self.setup.answers[place]).as_secs_f64();
        beside + self.frame_seconds(place, code, len)
    }

    /// Seconds of its frame.
    fn frame_seconds(&self, place: usize, code: Option<Code>, len: usize) -> f64 {
        let all = len + code.map_or(0, |code| code.overhead(len)) + FCS_LEN;
        self.setup.rates[place].frame_duration(self.setup.preamble, all).as_secs_f64()
    }

    /// Estimates every rate and code; if `is_optimistic`, the fewer frames, the better.
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

    /// Presumes a long path while nothing is known of a receiver that reports: its first report
    /// gives a better value, and a packet may have few attempts.
    fn begin(&mut self, attempt: &Attempt) {
        if !self.has_begun && attempt.code.is_some() {
            self.has_begun = true;
            self.signal.assume(CAUTIOUS);
        }
    }

    /// Looks around, if it is time to: takes a higher rate by chance of those that would be better,
    /// or a stronger code.
    fn trial(&self, best: &Candidate, attempt: &Attempt, draw: &mut Stream) -> Option<Candidate> {
        let share = Probability::new(LOOK_AROUND).unwrap_or(Probability::ZERO);
        if attempt.number > 1 || self.credit <= 0.0 || !draw.chance(share) {
            return None;
        }
        let mut optimistic = self.candidates(attempt, true);
        optimistic.retain(|it| it.place <= best.place + STEPS && it.delivers > 0.0);
        // The prior suffices for slower rates and weaker codes: they fail no more often, or every
        // frame measures them.
        let tells = |it: &&Candidate| (it.place, it.code) > (best.place, best.code);
        let better = optimistic.iter().filter(tells).filter(|it| it.cost() < best.cost());
        let mut places: Vec<usize> = better.map(|it| it.place).collect();
        places.dedup();
        let place = *places.get(draw.below(places.len().max(1) as u64) as usize)?;
        // Of the codes that may be better, the strongest one also measures all weaker ones.
        let may_be = |it: &&Candidate| it.place == place && it.least_cost() < best.cost();
        optimistic.iter().filter(may_be).max_by_key(|it| it.code.index()).copied()
    }

    /// Learns the signal to assume from the answer to a frame, or from the silence.
    fn sense(&mut self, report: Option<Report>, silence: Option<f64>) {
        match (report, silence) {
            (Some(report), _) => self.signal.report(i32::from(report.signal)),
            (None, Some(share)) => {
                self.signal.miss(share);
                // If nothing arrives at any rate, collisions are the likelier cause, and slow
                // frames would make them worse.
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

/// The fate of a frame with a code.
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

/// The signal of which a receiver reads half of the uncoded frames of 1500 bytes, about, in dBm:
/// the sensitivity that the standard asks for (802.11-2007, 17.3.10.1 and 18.4.8.1), less the 8 dB
/// by which receivers beat it.
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
            // Of fragments none is passed up damaged.
            let accepts_damaged = first.accepts_damaged && *count == 1;
            // All of them have to fit into the time that is left.
            let time = first.time.map(|time| time / *count as u64);
            let attempt = Attempt { len, time, accepts_damaged, ..*first };
            let promised = best(&self.candidates(&attempt, false), &attempt);
            // The fragments after the first do not contend.
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
        // A silence is one of this rate by the chance that it was no collision.
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
