//! A rate control after Minstrel: it measures success, uses the best rate, and probes a few others.
//!
//! As in Linux, each packet has a retry chain of rates, and probes are cheap. A slower rate is
//! probed in the second place of the chain, which costs nothing if the first attempt succeeds. A
//! faster rate is probed first, with one attempt, as long as failed probes have used little air
//! time. After a successful probe, the next packet probes the same rate again. Three consecutive
//! failures of the best rate update the statistics at once, because an interval is long on a fading
//! path. Rates far below the best are not probed.
//!
//! A packet with one or two attempts never reaches the second place of its chain, so it probes a
//! slower rate first. Before the first measurement, each packet starts at the rate below the one at
//! which the last packet failed.

use windfall_base::{Duration, Instant, Probability, Stream};
use windfall_wire_link::ieee80211::PhyRate;

use super::{RateControl, RateControlKind, Setup};

/// Uses the rate with the best throughput according to measured success. A tenth of the packets
/// probe other rates, as in Minstrel.
pub const MINSTREL: RateControlKind = RateControlKind {
    name: "minstrel",
    help: "Measured success, after Minstrel",
    is_adaptive: true,
    build: |setup| Box::new(Minstrel::new(setup)),
};

/// The interval after which the measurements are added to the statistics.
const INTERVAL: Duration = Duration::from_millis(20);
/// The first interval. Each following interval is twice as long, up to [`INTERVAL`].
const FIRST_INTERVAL: Duration = Duration::from_millis(10);
/// The weight of earlier attempts after an interval with attempts.
const MEMORY: f64 = 0.75;
/// The maximum weight of earlier attempts, in attempts.
const MOST_KEPT: f64 = 5.0;
/// The number of consecutive failures of the best rate after which the statistics are updated at
/// once.
const MANY: u32 = 3;
/// The share of packets that probe another rate.
const LOOK_AROUND: f64 = 0.1;
/// The number of attempts at the rate above the best one, after which it is probed as rarely as
/// others.
const FEW: f64 = 4.0;
/// The number of rates above and below the best rate that are probed.
const REACH: usize = 3;
/// The share of the air time that failed probes of faster rates may use.
const WASTE: f64 = 0.01;
/// The maximum of unused air time for such probes, in seconds.
const MOST_WASTE: f64 = 0.01;
/// The length of the frame by which rates are compared, in bytes.
const TYPICAL: usize = 1_200;
/// The number of attempts at each rate of the chain.
const EACH: u32 = 2;
/// The number of attempts from the highest rate to the lowest before the first measurement.
const STEPS: u32 = 6;

#[derive(Clone, Copy, Debug)]
struct Statistics {
    rate: PhyRate,
    /// The air time of an attempt in seconds.
    seconds: f64,
    /// Attempts and successes in this interval.
    attempts: u32,
    arrivals: u32,
    /// Attempts and successes in all intervals with attempts. Earlier intervals weigh less.
    all_attempts: f64,
    all_arrivals: f64,
}

impl Statistics {
    /// Returns the estimated success probability; `faster` is that of the next faster rate.
    ///
    /// A slower rate succeeds at least as often, so `faster` counts as one more attempt. Without it
    /// a rarely probed rate would never become the best: there are too few attempts in the second
    /// place of the chain.
    fn success(&self, faster: f64) -> f64 {
        (self.all_arrivals + faster) / (self.all_attempts + 1.0)
    }
}

/// The rate that a packet probes.
#[derive(Clone, Copy, Debug)]
struct Trial {
    place: usize,
    /// `true` if the probe is the first attempt, `false` if it has the second place of the chain.
    first: bool,
}

/// The rates for one peer.
#[derive(Debug)]
struct Minstrel {
    rates: Vec<Statistics>,
    /// The indices of the rates with the best and second-best throughput, and of the most reliable
    /// rate; `None` before the first measurement.
    chain: Option<[usize; 3]>,
    trial: Option<Trial>,
    /// Consecutive failures of the best rate.
    failures: u32,
    /// A faster rate whose last probe succeeded: the next packet probes it again.
    promising: Option<usize>,
    /// The air time in seconds that failed probes may still use.
    credit: f64,
    interval: Duration,
    next_update: Option<Instant>,
    /// The number of attempts on the way down from the highest rate, before the first measurement.
    steps: u32,
    /// The number of the last attempt, and whether it succeeded.
    last: (u32, bool),
    /// The last packet that failed had too few attempts to reach the second place of its chain.
    is_short: bool,
}

impl Minstrel {
    fn new(setup: &Setup) -> Self {
        let fresh = |(place, rate): (usize, &PhyRate)| Statistics {
            rate: *rate,
            seconds: setup.attempt_time(place, TYPICAL).as_secs_f64(),
            attempts: 0,
            arrivals: 0,
            all_attempts: 0.0,
            all_arrivals: 0.0,
        };
        Self {
            rates: setup.rates.iter().enumerate().map(fresh).collect(),
            chain: None,
            trial: None,
            promising: None,
            failures: 0,
            credit: MOST_WASTE,
            interval: FIRST_INTERVAL,
            next_update: None,
            steps: 0,
            last: (0, true),
            is_short: false,
        }
    }

    /// Records that attempt `attempt` begins.
    fn begin(&mut self, attempt: u32) {
        let (last, arrived) = self.last;
        if attempt == 1 && !arrived {
            self.is_short = last <= EACH;
        }
        self.last = (attempt, false);
    }

    /// Returns the rate of an attempt before the first measurement: from highest to lowest in six
    /// steps.
    fn descend(&mut self, attempt: u32) -> PhyRate {
        if attempt == 1 && self.steps >= STEPS {
            self.steps = 0;
        }
        let top = self.rates.len() - 1;
        let down = (self.steps.min(STEPS - 1) as usize * top).div_ceil(STEPS as usize - 1);
        self.steps += 1;
        self.rates[top - down].rate
    }

    /// Chooses a rate to probe, if this packet probes one.
    fn look_around(&self, best: usize, draw: &mut Stream) -> Option<Trial> {
        if let Some(place) = self.promising.filter(|place| *place > best) {
            return Some(Trial { place, first: true });
        }
        let above = best + 1;
        let is_new = |rate: &Statistics| rate.all_attempts + f64::from(rate.attempts) < FEW;
        if self.credit > 0.0 && self.rates.get(above).is_some_and(is_new) {
            return Some(Trial { place: above, first: true });
        }
        let looks = Probability::new(LOOK_AROUND).is_some_and(|share| draw.chance(share));
        let from = best.saturating_sub(REACH);
        let to = (best + REACH).min(self.rates.len() - 1);
        let place = from + draw.below((to - from + 1) as u64) as usize;
        let first = place > best || self.is_short;
        let allowed = place != best && (place < best || self.credit > 0.0);
        (looks && allowed).then_some(Trial { place, first })
    }

    fn update(&mut self) {
        for rate in self.rates.iter_mut().filter(|rate| rate.attempts > 0) {
            let kept = MEMORY.min(MOST_KEPT / rate.all_attempts.max(1.0));
            rate.all_attempts = kept * rate.all_attempts + f64::from(rate.attempts);
            rate.all_arrivals = kept * rate.all_arrivals + f64::from(rate.arrivals);
            (rate.attempts, rate.arrivals) = (0, 0);
        }
        let mut faster = 0.0;
        let mut success: Vec<f64> = self
            .rates
            .iter()
            .rev()
            .map(|rate| {
                faster = rate.success(faster);
                faster
            })
            .collect();
        success.reverse();
        if success.iter().all(|share| *share == 0.0) {
            return;
        }
        // A rate that rarely succeeds costs more backoff than its own frames account for.
        let throughput = |place: &usize| match success[*place] {
            share if share < 0.1 => 0.0,
            share => share / self.rates[*place].seconds,
        };
        let most = |places: &mut dyn Iterator<Item = usize>, measure: &dyn Fn(&usize) -> f64| {
            places.max_by(|a, b| measure(a).total_cmp(&measure(b))).unwrap_or(0)
        };
        // Of equally good rates the slowest is chosen: if almost nothing arrives, all rates are
        // equal.
        let places = (0..self.rates.len()).rev();
        let best = most(&mut places.clone(), &throughput);
        let second = most(&mut places.clone().filter(|place| *place != best), &throughput);
        let surest = most(&mut places.clone(), &|place| success[*place]);
        self.chain = Some([best, second, surest]);
    }
}

impl RateControl for Minstrel {
    fn rate(&mut self, now: Instant, attempt: u32, draw: &mut Stream) -> PhyRate {
        self.begin(attempt);
        let due = *self.next_update.get_or_insert(now + self.interval);
        if due <= now || self.failures >= MANY {
            self.failures = 0;
            self.update();
            if self.chain.is_some() {
                self.interval = (self.interval * 2).min(INTERVAL);
            }
            self.next_update = Some(now + self.interval);
        }
        let Some(chain) = self.chain else { return self.descend(attempt) };
        if attempt == 1 {
            self.trial = self.look_around(chain[0], draw);
        }
        let [best, second, surest] = chain;
        let place = match (attempt, self.trial) {
            (1, Some(Trial { place, first: true })) => place,
            (attempt, _) if attempt <= EACH => best,
            (attempt, Some(Trial { place, first: false })) if attempt <= 2 * EACH => place,
            (attempt, _) if attempt <= 2 * EACH => second,
            (attempt, _) if attempt <= 3 * EACH => surest,
            _ => 0,
        };
        self.rates[place].rate
    }

    fn on_attempt(&mut self, rate: PhyRate, arrived: bool) {
        let Some(place) = self.rates.iter().position(|known| known.rate == rate) else { return };
        let statistics = &mut self.rates[place];
        statistics.attempts += 1;
        statistics.arrivals += u32::from(arrived);
        self.last.1 = arrived;
        let seconds = statistics.seconds;
        self.credit = (self.credit + WASTE * seconds).min(MOST_WASTE);
        let is_trial = self.trial.is_some_and(|trial| trial.first && trial.place == place);
        if self.chain.is_some_and(|[best, ..]| best == place) {
            self.failures = if arrived { 0 } else { self.failures + 1 };
        }
        if is_trial {
            self.promising = arrived.then_some(place);
        }
        if is_trial && !arrived {
            self.credit -= seconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::{Preamble, Seed};
    use windfall_wire_link::ieee80211::{MacAddress, Phy, Timing};

    use super::*;
    use crate::wifi::{Config, Protection};

    const ADDRESS: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    /// One for some rates of a station of 802.11g.
    fn among(rates: &[PhyRate]) -> Minstrel {
        let config = Config { rate_control: MINSTREL, ..Config::new(ADDRESS, Phy::G) };
        let mut minstrel = Minstrel::new(&config.rates(Phy::G));
        minstrel.rates.retain(|it| rates.contains(&it.rate));
        minstrel
    }

    /// Sends packets of which each attempt at a rate arrives with the given probability, and tells
    /// which rate was used most in the end.
    fn favourite(attempts: u32, success: impl Fn(PhyRate) -> f64) -> PhyRate {
        let mut draw = Stream::new(Seed(1), "minstrel");
        let mut minstrel = among(&PhyRate::ALL[4..]);
        let mut used = [0; 12];
        for packet in 0..20_000 {
            let now = Instant::START + Duration::from_millis(packet);
            for attempt in 1..=attempts {
                let rate = minstrel.rate(now, attempt, &mut draw);
                let arrived = draw.chance(Probability::new(success(rate)).unwrap());
                minstrel.on_attempt(rate, arrived);
                used[rate as usize] += usize::from(packet > 10_000);
                if arrived {
                    break;
                }
            }
        }
        let most = (0..12).max_by_key(|index| used[*index]).unwrap();
        PhyRate::ALL[most]
    }

    /// One that knows of all rates and takes 24 Mb/s for the best, 18 for the next and 9 for the
    /// surest.
    fn settled() -> Minstrel {
        let mut minstrel = among(&PhyRate::ALL[4..]);
        minstrel.rates.iter_mut().for_each(|rate| rate.all_attempts = 100.0);
        minstrel.chain = Some([4, 3, 1]);
        minstrel.next_update = Some(Instant::START + Duration::from_secs(1));
        minstrel
    }

    #[test]
    fn each_rate_of_the_chain_gets_two_attempts_and_the_lowest_the_rest() {
        let draw = &mut Stream::new(Seed(1), "minstrel");
        let mut minstrel = settled();
        let mut rates = |trial| {
            minstrel.trial = trial;
            [2, 3, 4, 5, 6, 7].map(|attempt| minstrel.rate(Instant::START, attempt, draw))
        };
        let [low, sure, second, best] =
            [PhyRate::Ofdm6, PhyRate::Ofdm9, PhyRate::Ofdm18, PhyRate::Ofdm24];
        let chain = [best, second, second, sure, sure, low];
        assert_eq!(rates(None), chain);
        assert_eq!(rates(Some(Trial { place: 6, first: true })), chain);
        let slower = PhyRate::Ofdm12;
        let trial = Some(Trial { place: 2, first: false });
        assert_eq!(rates(trial), [best, slower, slower, sure, sure, low]);
    }

    #[test]
    fn a_tenth_looks_around_near_the_best_and_faster_only_on_credit() {
        let mut draw = Stream::new(Seed(1), "minstrel");
        let mut minstrel = settled();
        for (credit, places) in [(MOST_WASTE, &[1, 2, 3, 5, 6, 7][..]), (0.0, &[1, 2, 3])] {
            minstrel.credit = credit;
            let trials: Vec<Trial> =
                (0..10_000).filter_map(|_| minstrel.look_around(4, &mut draw)).collect();
            // Of seven places the best itself is none; four standard deviations.
            let expected = 1_000.0 * places.len() as f64 / 7.0;
            let off = (trials.len() as f64 - expected).abs();
            assert!(off < 4.0 * expected.sqrt(), "{} of {expected}", trials.len());
            assert!(places.iter().all(|place| trials.iter().any(|it| it.place == *place)));
            assert!(trials.iter().all(|it| places.contains(&it.place)));
            assert!(trials.iter().all(|it| it.first == (it.place > 4)));
        }
        // The rate above the best is looked at first while little is known of it.
        minstrel.credit = MOST_WASTE;
        minstrel.rates[5].all_attempts = 0.0;
        assert_eq!(minstrel.rate(Instant::START, 1, &mut draw), PhyRate::Ofdm36);
        minstrel.credit = 0.0;
        minstrel.rates[5].all_attempts = FEW - 1.0;
        assert!(minstrel.look_around(4, &mut draw).is_none_or(|it| !it.first), "no credit");
        minstrel.credit = MOST_WASTE;
        for (attempts, at_once) in [(0, true), (1, false)] {
            minstrel.rates[5].attempts = attempts;
            let trials = (0..100).filter_map(|_| minstrel.look_around(4, &mut draw));
            let count = trials.filter(|it| it.first && it.place == 5).count();
            assert_eq!(count == 100, at_once, "{count}");
        }
    }

    #[test]
    fn trials_that_fail_cost_their_time_and_all_attempts_earn_a_hundredth_of_theirs() {
        let mut minstrel = settled();
        minstrel.credit = 0.0;
        let seconds = |minstrel: &Minstrel, place: usize| minstrel.rates[place].seconds;
        minstrel.on_attempt(PhyRate::Ofdm24, false);
        let earned = 0.01 * seconds(&minstrel, 4);
        assert!((minstrel.credit - earned).abs() < 1e-12, "{}", minstrel.credit);
        minstrel.trial = Some(Trial { place: 5, first: true });
        minstrel.on_attempt(PhyRate::Ofdm36, true);
        let earned = earned + 0.01 * seconds(&minstrel, 5);
        assert!((minstrel.credit - earned).abs() < 1e-12, "it has arrived");
        minstrel.on_attempt(PhyRate::Ofdm36, false);
        let left = earned - 0.99 * seconds(&minstrel, 5);
        assert!((minstrel.credit - left).abs() < 1e-12, "{}", minstrel.credit);
        minstrel.credit = MOST_WASTE;
        minstrel.on_attempt(PhyRate::Ofdm24, true);
        assert!((minstrel.credit - MOST_WASTE).abs() < 1e-12, "the most there can be");
    }

    #[test]
    fn it_finds_the_rate_with_the_best_throughput() {
        let up_to_24 = |rate| if rate > PhyRate::Ofdm24 { 0.0 } else { 1.0 };
        // 36 Mb/s at 0.4 gives less than 24 Mb/s at 0.95.
        let falling = |rate| match rate {
            PhyRate::Ofdm36 => 0.4,
            rate if rate > PhyRate::Ofdm36 => 0.05,
            _ => 0.95,
        };
        // Packets with few attempts find it as well.
        for attempts in [1, 2, 3, 7] {
            assert_eq!(favourite(attempts, |_| 1.0), PhyRate::Ofdm54, "{attempts}");
            assert_eq!(favourite(attempts, up_to_24), PhyRate::Ofdm24, "{attempts}");
            assert_eq!(favourite(attempts, falling), PhyRate::Ofdm24, "{attempts}");
        }
    }

    #[test]
    fn packets_of_one_attempt_find_a_slower_rate_when_the_path_gets_worse() {
        let mut draw = Stream::new(Seed(1), "minstrel");
        let mut minstrel = among(&PhyRate::ALL[4..]);
        let mut arrived = 0;
        for packet in 0..4_000 {
            let now = Instant::START + Duration::from_millis(packet);
            let most = if packet < 2_000 { PhyRate::Ofdm54 } else { PhyRate::Ofdm12 };
            let rate = minstrel.rate(now, 1, &mut draw);
            minstrel.on_attempt(rate, rate <= most);
            arrived += u32::from(rate <= most && packet >= 2_000);
        }
        assert!(arrived > 1_800, "{arrived} of 2000");
    }

    /// One of three rates, each with as many attempts and arrivals as are given.
    fn counted(counts: [(u32, u32); 3]) -> Minstrel {
        let mut minstrel = among(&[PhyRate::Ofdm6, PhyRate::Ofdm24, PhyRate::Ofdm54]);
        for (rate, (attempts, arrivals)) in minstrel.rates.iter_mut().zip(counts) {
            (rate.attempts, rate.arrivals) = (attempts, arrivals);
        }
        minstrel
    }

    #[test]
    fn an_attempt_costs_the_air_time_that_its_station_takes_for_it() {
        let config = |phy| Config { rate_control: MINSTREL, ..Config::new(ADDRESS, phy) };
        let mixed = Config {
            timing: Timing::of(Phy::G, false),
            protection: Some(Protection::CtsToSelf),
            ..config(Phy::G)
        };
        let short = Config { preamble: Preamble::Short, ..config(Phy::B) };
        let slow = Config { basic_rates: vec![PhyRate::Ofdm6], ..config(Phy::G) };
        for config in [config(Phy::B), short, config(Phy::G), slow, mixed] {
            for peer in [Phy::B, Phy::G] {
                for known in Minstrel::new(&config.rates(peer)).rates {
                    let expected = config.attempt_time(known.rate, TYPICAL).as_secs_f64();
                    assert_eq!(known.seconds, expected, "{} of {config:?}", known.rate);
                }
            }
        }
    }

    #[test]
    fn an_attempt_that_is_answered_at_24_mbps_costs_what_the_standard_says() {
        let minstrel = among(&[PhyRate::Ofdm54]);
        // DIFS and the mean backoff; the frame; SIFS and the ACK. Frames end with signal extension.
        let contention = 28.0 + 9.0 * 15.0 / 2.0;
        let frame = 20.0 + 45.0 * 4.0 + 6.0;
        let answer = 10.0 + 28.0 + 6.0;
        let expected = (contention + frame + answer) * 1e-6;
        assert!((minstrel.rates[0].seconds - expected).abs() < 1e-12);
    }

    #[test]
    fn statistics_fade_by_a_quarter_with_each_interval_that_has_attempts() {
        let mut minstrel = counted([(4, 3), (0, 0), (0, 0)]);
        minstrel.update();
        (minstrel.rates[0].attempts, minstrel.rates[0].arrivals) = (5, 1);
        minstrel.update();
        minstrel.update();
        let rate = minstrel.rates[0];
        assert_eq!((rate.all_attempts, rate.all_arrivals), (8.0, 3.25));
        assert_eq!((rate.attempts, rate.arrivals), (0, 0));
        // The next faster rate counts as one attempt; a rate that was never tried has nothing else.
        assert_eq!(rate.success(0.0), 3.25 / 9.0);
        assert_eq!(rate.success(0.5), 3.75 / 9.0);
        assert_eq!(minstrel.rates[1].success(0.5), 0.5);
    }

    #[test]
    fn attempts_of_long_ago_weigh_no_more_than_five() {
        let mut minstrel = counted([(400, 0), (0, 0), (0, 0)]);
        minstrel.update();
        (minstrel.rates[0].attempts, minstrel.rates[0].arrivals) = (5, 5);
        minstrel.update();
        let rate = minstrel.rates[0];
        assert_eq!((rate.all_attempts, rate.all_arrivals), (10.0, 5.0));
    }

    #[test]
    fn three_failures_of_the_best_rate_bring_new_statistics_at_once() {
        let draw = &mut Stream::new(Seed(1), "minstrel");
        let mut minstrel = settled();
        let mut fail = |failures| {
            (0..failures).for_each(|_| minstrel.on_attempt(PhyRate::Ofdm24, false));
            minstrel.rate(Instant::START, 1, draw);
            minstrel.rates[4].attempts
        };
        assert_eq!(fail(2), 2);
        assert_eq!(fail(1), 0);
    }

    #[test]
    fn a_faster_rate_that_arrives_is_tried_again_until_it_fails() {
        let draw = &mut Stream::new(Seed(1), "minstrel");
        let mut minstrel = settled();
        let chain = minstrel.chain;
        minstrel.trial = Some(Trial { place: 6, first: true });
        for _ in 0..9 {
            minstrel.on_attempt(PhyRate::Ofdm48, true);
            assert_eq!(minstrel.rate(Instant::START, 1, draw), PhyRate::Ofdm48);
        }
        minstrel.on_attempt(PhyRate::Ofdm48, false);
        assert_eq!(minstrel.promising, None);
        assert_eq!(minstrel.chain, chain);
    }

    #[test]
    fn where_hardly_anything_arrives_the_slowest_rate_is_the_best() {
        let mut minstrel = counted([(99, 2), (99, 2), (99, 2)]);
        minstrel.update();
        assert_eq!(minstrel.chain.map(|[best, ..]| best), Some(0));
    }

    #[test]
    fn the_best_rate_gives_most_and_the_next_best_is_another() {
        // Of 99 attempts each: 24 Mb/s gives most, then 54, and 6 is the surest.
        let mut minstrel = counted([(99, 99), (99, 95), (99, 40)]);
        minstrel.update();
        assert_eq!(minstrel.chain, Some([1, 2, 0]));
        // Frames of which fewer than a tenth arrive cost more than they show: 6 Mb/s, a fifth of
        // which arrive, give less in their air time than 54 Mb/s at 9 %.
        let mut minstrel = counted([(99, 20), (99, 0), (99, 9)]);
        let seconds = |minstrel: &Minstrel, place: usize| minstrel.rates[place].seconds;
        assert!(9.0 / seconds(&minstrel, 2) > 20.0 / seconds(&minstrel, 0));
        minstrel.update();
        assert_eq!(minstrel.chain.map(|[best, _, surest]| (best, surest)), Some((0, 0)));
        // Two attempts in the second place tell that the slower rate is the better one.
        let mut minstrel = among(&[PhyRate::Ofdm48, PhyRate::Ofdm54]);
        (minstrel.rates[0].attempts, minstrel.rates[0].arrivals) = (2, 2);
        (minstrel.rates[1].attempts, minstrel.rates[1].arrivals) = (99, 80);
        minstrel.update();
        assert_eq!(minstrel.chain.map(|[best, ..]| best), Some(0));
        // What was never tried is taken to succeed as often as the next faster rate that was.
        let mut minstrel = counted([(0, 0), (0, 0), (99, 50)]);
        minstrel.update();
        assert_eq!(minstrel.chain, Some([2, 1, 0]));
        // Nothing arrives: nothing is known.
        let mut minstrel = counted([(99, 0), (0, 0), (99, 0)]);
        minstrel.update();
        assert_eq!(minstrel.chain, None);
    }

    #[test]
    fn intervals_double_from_a_hundredth_to_a_fiftieth_of_a_second_once_something_arrives() {
        let mut draw = Stream::new(Seed(1), "minstrel");
        let mut minstrel = among(&PhyRate::ALL[4..]);
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let mut next = |minstrel: &mut Minstrel, millis| {
            minstrel.rate(at(millis), 1, &mut draw);
            minstrel.next_update.expect("it is set by the first packet") - at(0)
        };
        assert_eq!(next(&mut minstrel, 0), Duration::from_millis(10));
        assert_eq!(next(&mut minstrel, 9), Duration::from_millis(10));
        assert_eq!(next(&mut minstrel, 10), Duration::from_millis(20), "nothing is known");
        minstrel.on_attempt(PhyRate::Ofdm54, true);
        for (now, due) in [(20, 40), (39, 40), (40, 60), (60, 80), (300, 320)] {
            assert_eq!(next(&mut minstrel, now), Duration::from_millis(due), "at {now} ms");
        }
    }

    #[test]
    fn while_nothing_is_known_attempts_go_down_to_the_lowest_rate_in_six() {
        use PhyRate::{Ofdm6, Ofdm9, Ofdm12, Ofdm24, Ofdm36, Ofdm54};
        let down = [Ofdm54, Ofdm36, Ofdm24, Ofdm12, Ofdm9, Ofdm6, Ofdm6];
        let mut minstrel = among(&PhyRate::ALL[4..]);
        for _ in 0..2 {
            assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|attempt| minstrel.descend(attempt)), down);
        }
        // Of packets with two attempts each goes on where the last one failed.
        let rates = [1, 2, 1, 2, 1, 2, 1].map(|attempt| minstrel.descend(attempt));
        assert_eq!(rates, [Ofdm54, Ofdm36, Ofdm24, Ofdm12, Ofdm9, Ofdm6, Ofdm54]);
    }

    #[test]
    fn what_looks_around_stays_among_the_rates_and_within_three_of_the_best() {
        let mut draw = Stream::new(Seed(1), "minstrel");
        let minstrel = settled();
        for (best, expected) in [(0, vec![1, 2, 3]), (7, vec![4, 5, 6]), (2, vec![0, 1, 3, 4, 5])] {
            let trials = (0..5_000).filter_map(|_| minstrel.look_around(best, &mut draw));
            let places: std::collections::BTreeSet<usize> = trials.map(|it| it.place).collect();
            assert!(places.into_iter().eq(expected), "around {best}");
        }
    }

    #[test]
    fn only_the_rate_that_is_tried_pays_for_its_failure() {
        let mut minstrel = settled();
        minstrel.credit = 0.0;
        // A trial in the second place costs nothing, nor does another rate beside a trial.
        for trial in [Trial { place: 2, first: false }, Trial { place: 5, first: true }] {
            minstrel.trial = Some(trial);
            let before = minstrel.credit;
            minstrel.on_attempt(PhyRate::Ofdm12, false);
            assert!(minstrel.credit > before);
        }
    }
}
