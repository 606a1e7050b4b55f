//! Rate, code and fragments chosen together, by the air time that a delivered packet is expected to
//! take.
//!
//! Of each rate and each signal strength, in decibels as the receiver last reported it, a
//! [`Record`] tells how many symbols of parity frames need: an acknowledgement reports what was
//! corrected, so one frame tells of all codes at its rate whether they would have sufficed. Records
//! of strengths nearby count too, less with each decibel; before there are any, the sensitivities
//! of the standard stand in. Frames that nothing answers are counted by themselves: the receiver
//! missed their beginning, or they collided, and neither length nor code would have saved them.
//!
//! The choice has the least expected air time for a delivered packet, among those that deliver it
//! nearly as surely as any would within its attempts and its lifetime. A tenth of the packets try
//! what would be better by as much hope as little is known of it, as long as such trials that
//! failed took little of the air time.

mod record;

use windfall_base::{Instant, Probability, Stream};
use windfall_wire_link::ieee80211::header::{FCS_LEN, MAX_BODY};
use windfall_wire_link::ieee80211::{Code, PhyRate, Report};

use super::{Attempt, AttemptOutcome, RateChoice, RateControl, RateControlKind, Setup};
use record::{CODES, Fate, Record};

/// The least expected air time of a delivered packet.
pub const JOINT: RateControlKind = RateControlKind {
    name: "joint",
    help: "Least expected air time, with the code",
    is_adaptive: true,
    build: |setup| Box::new(Joint::new(setup)),
};

/// The weakest and the strongest signal with records of their own, in dBm.
const SIGNALS: core::ops::RangeInclusive<i32> = -110..=-31;
/// The signal that is assumed before one is reported, and where none ever will be.
const CAUTIOUS: i32 = -91;
const UNKNOWN: i32 = -70;
/// Decibels by which the record of another signal may be off to count.
const REACH: i32 = 3;
/// The share of the best chance of delivery that a choice may lack.
const NEARLY: f64 = 0.01;
/// The chance of delivery that is enough where a packet has no lifetime.
const ENOUGH: f64 = 0.95;
/// The worth of a damaged packet whose owner takes it so.
const DAMAGED: f64 = 0.5;
/// Decibels by which each code presumably lowers the signal that a rate needs.
const GAINS: [f64; CODES] = [0.0, 2.0, 2.7, 3.5, 4.3];
/// The chance of the silences by themselves below which the signal is taken to have fallen.
const DOUBT: f64 = 0.05;
/// The share of packets that look around.
const LOOK_AROUND: f64 = 0.1;
/// Places above the rate in use that are looked at.
const STEPS: usize = 2;
/// The share of the air time that trials may waste, and the most seconds at once.
const WASTE: f64 = 0.01;
const MOST_WASTE: f64 = 0.01;
/// The share of attempts that arrive below which a choice is none while there is another.
const HOPELESS: f64 = 0.05;
/// Fragments of a packet that are weighed.
const FRAGMENTS: [usize; 3] = [1, 2, 4];

/// The rates and records for one peer.
#[derive(Debug)]
struct Joint {
    setup: Setup,
    /// For each signal one record for each rate.
    records: Vec<Vec<Record>>,
    /// The signal that was reported last, less one decibel, two, three and so on for each attempt
    /// since then that nothing answered.
    signal: i32,
    /// The chance of the silence since then if the signal were still the same.
    doubt: f64,
    /// Steps by which the assumed signal has been lowered since then.
    silent: i32,
    /// Seconds that trials may still take.
    credit: f64,
    /// The attempt under way is a trial.
    is_trial: bool,
    /// Frames have gone to a receiver that may report.
    has_begun: bool,
}

/// A rate and a code, and what they promise.
#[derive(Clone, Copy, Debug)]
struct Promise {
    place: usize,
    code: Code,
    /// The chance that an attempt is of use.
    success: f64,
    /// Seconds of an attempt.
    seconds: f64,
    /// The chance that some attempt is of use.
    delivers: f64,
}

impl Promise {
    /// Seconds of air for each packet that is delivered.
    fn cost(&self) -> f64 {
        self.seconds / self.success.max(1e-9)
    }
}

impl Joint {
    fn new(setup: &Setup) -> Self {
        let records = SIGNALS.map(|_| vec![Record::default(); setup.rates.len()]).collect();
        Self {
            setup: setup.clone(),
            records,
            signal: UNKNOWN,
            doubt: 1.0,
            silent: 0,
            credit: MOST_WASTE,
            is_trial: false,
            has_begun: false,
        }
    }

    fn index(signal: i32) -> usize {
        (signal.clamp(*SIGNALS.start(), *SIGNALS.end()) - SIGNALS.start()) as usize
    }

    /// The records of a rate around the present signal, the nearer the heavier.
    fn around(&self, place: usize) -> Record {
        let mut sum = Record::default();
        let here = Self::index(self.signal) as i32;
        for off in -REACH..=REACH {
            if let Some(rates) = self.records.get((here + off) as usize) {
                sum.add(&rates[place], 0.5_f64.powi(off.abs()));
            }
        }
        sum
    }

    /// The share of frames that arrive at a rate with each code, by the standard's sensitivity.
    fn presumed(&self, place: usize) -> [f64; CODES] {
        let margin = f64::from(self.signal) - sensitivity(self.setup.rates[place]);
        GAINS.map(|gain| 1.0 / (1.0 + (-margin - gain).exp()))
    }

    /// Seconds of an attempt with `len` bytes of MAC header and body.
    fn seconds(&self, place: usize, code: Option<Code>, len: usize) -> f64 {
        let all = len + code.map_or(0, |code| code.overhead(len)) + FCS_LEN;
        let frame = self.setup.rates[place].frame_duration(self.setup.preamble, all);
        (self.setup.contention + frame + self.setup.answers[place]).as_secs_f64()
    }

    /// Estimates what every rate and code promises; if `hopeful`, the less is known the more.
    fn promises(&self, attempt: &Attempt, hopeful: bool) -> Vec<Promise> {
        let fits = |code: &Code| attempt.len + code.overhead(attempt.len) <= MAX_BODY;
        let codes = match attempt.code {
            None => 1,
            Some(_) => 1 + Code::ALL[1..].iter().filter(|code| fits(code)).count(),
        };
        let mut all = Vec::with_capacity(self.setup.rates.len() * codes);
        let mut faster = [0.0; CODES];
        for place in (0..self.setup.rates.len()).rev() {
            let record = self.around(place);
            // A slower rate succeeds at least as often.
            let mut presumed = self.presumed(place);
            presumed.iter_mut().zip(faster).for_each(|(own, faster)| *own = own.max(faster));
            let shares = record.shares(&presumed, attempt.len as f64, hopeful);
            faster = shares.whole;
            for code in &Code::ALL[..codes] {
                let worth = if attempt.accepts_damaged { DAMAGED } else { 0.0 };
                let at = code.index();
                let success = shares.whole[at] + worth * shares.damaged[at];
                let coded = attempt.code.map(|_| *code);
                let seconds = self.seconds(place, coded, attempt.len);
                let delivers = delivers(attempt, success, seconds);
                all.push(Promise { place, code: *code, success, seconds, delivers });
            }
        }
        all
    }

    /// Takes the path for a long one as long as nothing is known of a receiver that reports: it
    /// says better with the first frame that it hears, and a packet may have few attempts.
    fn begin(&mut self, attempt: &Attempt) {
        if !self.has_begun && attempt.code.is_some() {
            (self.has_begun, self.signal) = (true, CAUTIOUS);
        }
    }

    fn choice(&self, promise: &Promise, attempt: &Attempt) -> RateChoice {
        let code = attempt.code.map(|_| promise.code);
        RateChoice { rate: self.setup.rates[promise.place], code }
    }
}

/// The chance that one of the attempts is of use that are left and fit into the time that is left.
fn delivers(attempt: &Attempt, success: f64, seconds: f64) -> f64 {
    let fit = attempt.time.map_or(f64::INFINITY, |time| (time.as_secs_f64() / seconds).floor());
    let count = f64::from(attempt.left).min(fit);
    1.0 - (1.0 - success).powf(count)
}

/// The best of the promises, if any delivers anything.
fn best(promises: &[Promise], attempt: &Attempt) -> Option<Promise> {
    let surest = promises.iter().map(|it| it.delivers).fold(0.0, f64::max);
    // Where time is no limit, what is left of the attempts may be surer than this one.
    let enough = if attempt.time.is_some() { 1.0 } else { ENOUGH };
    let least = (surest - NEARLY).min(enough);
    let near = promises.iter().filter(|it| it.delivers > 0.0 && it.delivers >= least);
    let hopes = |it: &&Promise| it.success >= HOPELESS;
    let cheaper = |a: &&Promise, b: &&Promise| a.cost().total_cmp(&b.cost());
    near.clone().filter(hopes).min_by(cheaper).or_else(|| near.min_by(cheaper)).copied()
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
        let attempt =
            Attempt { number, len: 1500, left: 7, time: None, accepts_damaged: false, code: None };
        let lowest = self.setup.rates[0];
        self.choose(now, &attempt, draw).map_or(lowest, |choice| choice.rate)
    }

    fn learn(&mut self, rate: PhyRate, arrived: bool) {
        let choice = RateChoice { rate, code: None };
        self.hear(&AttemptOutcome { choice, len: 1500, arrived, report: None });
    }

    fn choose(&mut self, _: Instant, attempt: &Attempt, draw: &mut Stream) -> Option<RateChoice> {
        self.begin(attempt);
        let promises = self.promises(attempt, false);
        let best = best(&promises, attempt)?;
        self.is_trial = false;
        let looks = attempt.number == 1 && self.credit > 0.0;
        if looks && draw.chance(Probability::new(LOOK_AROUND).unwrap_or(Probability::ZERO)) {
            let hopes = self.promises(attempt, true);
            let better = |it: &&Promise| {
                it.place <= best.place + STEPS
                    && (it.place, it.code) != (best.place, best.code)
                    && it.cost() < best.cost()
                    && it.delivers > 0.0
            };
            let hopes = hopes.iter().filter(better);
            let least = hopes.clone().min_by(|a, b| a.cost().total_cmp(&b.cost()));
            // Of its codes the strongest tells the most: of all weaker ones too.
            let at = |it: &&Promise| Some(it.place) == least.map(|it| it.place);
            if let Some(trial) = hopes.filter(at).max_by_key(|it| it.code.index()) {
                self.is_trial = true;
                return Some(self.choice(trial, attempt));
            }
        }
        Some(self.choice(&best, attempt))
    }

    fn fragments(&mut self, _: Instant, first: &Attempt) -> usize {
        self.begin(first);
        let whole = first.len;
        let head = windfall_wire_link::ieee80211::header::DATA_HEADER;
        let cost = |count: &usize| {
            let len = head + whole.saturating_sub(head).div_ceil(*count);
            // Of fragments none is passed up damaged.
            let accepts_damaged = first.accepts_damaged && *count == 1;
            let attempt = Attempt { len, accepts_damaged, ..*first };
            let promised = best(&self.promises(&attempt, false), &attempt);
            // The fragments behind the first do not contend.
            let saved = self.setup.contention.as_secs_f64() * (*count as f64 - 1.0);
            promised.map_or(f64::INFINITY, |it| it.cost() * *count as f64 - saved)
        };
        let least = |a: &&usize, b: &&usize| cost(a).total_cmp(&cost(b));
        FRAGMENTS.iter().min_by(least).copied().unwrap_or(1)
    }

    fn hear(&mut self, outcome: &AttemptOutcome) {
        let AttemptOutcome { choice, len, arrived, report } = *outcome;
        let Some(place) = self.setup.rates.iter().position(|rate| *rate == choice.rate) else {
            return;
        };
        let code = choice.code.unwrap_or_default();
        let seconds = self.seconds(place, choice.code, len);
        self.credit = (self.credit + WASTE * seconds).min(MOST_WASTE);
        if self.is_trial && !arrived {
            self.credit -= seconds;
        }
        let at = Self::index(self.signal);
        let silence = choice.code.is_some().then(|| self.around(place).missed(code.index() > 0));
        let fate = match (arrived, report) {
            (true, _) => {
                let symbols = report.and_then(|it: Report| it.corrected).unwrap_or(0);
                let needed = Code::correcting(symbols.into()).unwrap_or(code);
                Fate::Needed(needed.index().min(code.index()))
            }
            (false, None) if choice.code.is_some() => Fate::Missed,
            (false, _) => Fate::Damaged,
        };
        for (other, record) in self.records[at].iter_mut().enumerate() {
            if other == place {
                record.learn(code.index(), fate, len as f64);
            } else {
                record.fade();
            }
        }
        match (report, silence) {
            (Some(report), _) => {
                (self.signal, self.doubt, self.silent) = (i32::from(report.signal), 1.0, 0);
            }
            (None, Some(share)) if !arrived => {
                self.doubt *= share;
                if self.doubt < DOUBT {
                    self.silent += 1;
                    self.signal = (self.signal - self.silent).max(*SIGNALS.start());
                }
            }
            _ => {}
        }
    }

    fn tries_until_expiry(&self) -> bool {
        true
    }

    fn settles_for_damage(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
