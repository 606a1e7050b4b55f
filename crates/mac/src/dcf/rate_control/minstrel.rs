//! A rate control after Minstrel: measure success, use what gives most, look around a little.

use windfall_base::{Duration, Instant, Preamble, Probability, Stream};
use windfall_wire_link::ieee80211::PhyRate;
use windfall_wire_link::ieee80211::timing::ACK_LEN;

/// How often the measurements become the statistics.
const INTERVAL: Duration = Duration::from_millis(100);
/// What the statistics so far weigh against an interval.
const MEMORY: f64 = 0.75;
/// The share of packets whose first attempt looks around.
const LOOK_AROUND: f64 = 0.1;
/// The frame by which rates are compared, in bytes.
const TYPICAL: usize = 1_200;
/// Attempts that each rate of the chain gets.
const EACH: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Statistics {
    rate: PhyRate,
    /// Attempts and arrivals of this interval.
    attempts: u32,
    arrivals: u32,
    /// The smoothed share of arrivals; `None` while the rate was never used.
    success: Option<f64>,
}

impl Statistics {
    /// Frames per second that would arrive, or what could at most while nothing is known.
    fn throughput(&self, preamble: Preamble) -> f64 {
        let frame = self.rate.frame_duration(preamble, TYPICAL);
        let answer = self.rate.frame_duration(preamble, ACK_LEN);
        // A rate that rarely succeeds costs more in backoff than its frames show.
        let success = self.success.unwrap_or(0.0);
        if success < 0.1 { 0.0 } else { success / (frame + answer).as_secs_f64() }
    }
}

/// The rates for one peer.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    preamble: Preamble,
    rates: Vec<Statistics>,
    /// Places of the best throughput, the next best, and the surest.
    chain: [usize; 3],
    /// The rate at which the packet under way looks around.
    trial: Option<usize>,
    next_update: Option<Instant>,
}

impl Minstrel {
    pub(super) fn new(rates: Vec<PhyRate>, preamble: Preamble) -> Self {
        let rates = if rates.is_empty() { vec![PhyRate::Dsss1] } else { rates };
        let fresh = |rate| Statistics { rate, attempts: 0, arrivals: 0, success: None };
        let rates: Vec<_> = rates.into_iter().map(fresh).collect();
        // The lowest rate is the safe one to begin with.
        Self { preamble, rates, chain: [0; 3], trial: None, next_update: None }
    }

    pub(super) fn rate(&mut self, now: Instant, attempt: u32, draw: &mut Stream) -> PhyRate {
        if self.next_update.is_none_or(|at| at <= now) {
            self.update();
            self.next_update = Some(now + INTERVAL);
        }
        let [best, second, surest] = self.chain;
        if attempt == 1 {
            let looks = Probability::new(LOOK_AROUND).is_some_and(|share| draw.chance(share));
            self.trial = looks.then(|| draw.below(self.rates.len() as u64) as usize);
        }
        let place = match (attempt, self.trial) {
            (1, Some(trial)) => trial,
            (attempt, _) if attempt <= EACH => best,
            (attempt, _) if attempt <= 2 * EACH => second,
            (attempt, _) if attempt <= 3 * EACH => surest,
            _ => 0,
        };
        self.rates[place].rate
    }

    pub(super) fn learn(&mut self, rate: PhyRate, arrived: bool) {
        if let Some(statistics) = self.rates.iter_mut().find(|known| known.rate == rate) {
            statistics.attempts += 1;
            statistics.arrivals += u32::from(arrived);
        }
    }

    fn update(&mut self) {
        for rate in &mut self.rates {
            if rate.attempts > 0 {
                let share = f64::from(rate.arrivals) / f64::from(rate.attempts);
                let smooth = |old: f64| MEMORY * old + (1.0 - MEMORY) * share;
                rate.success = Some(rate.success.map_or(share, smooth));
                (rate.attempts, rate.arrivals) = (0, 0);
            }
        }
        let by = |measure: &dyn Fn(&Statistics) -> f64, but: Option<usize>| {
            let places = (0..self.rates.len()).filter(|place| Some(*place) != but);
            places
                .max_by(|a, b| measure(&self.rates[*a]).total_cmp(&measure(&self.rates[*b])))
                .unwrap_or(0)
        };
        if self.rates.iter().all(|rate| rate.success.is_none()) {
            return;
        }
        let throughput = |rate: &Statistics| rate.throughput(self.preamble);
        let best = by(&throughput, None);
        let second = by(&throughput, Some(best));
        let surest = by(&|rate| rate.success.unwrap_or(0.0), None);
        self.chain = [best, second, surest];
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::Seed;

    use super::*;

    /// Sends packets of which each attempt at a rate arrives with the given probability, and tells
    /// which rate was used most in the end.
    fn favourite(success: impl Fn(PhyRate) -> f64) -> PhyRate {
        let mut draw = Stream::new(Seed(1), "minstrel");
        let mut minstrel = Minstrel::new(PhyRate::ALL[4..].to_vec(), Preamble::Long);
        let mut used = [0; 12];
        for packet in 0..20_000 {
            let now = Instant::START + Duration::from_millis(packet);
            for attempt in 1..=7 {
                let rate = minstrel.rate(now, attempt, &mut draw);
                let arrived = draw.chance(Probability::new(success(rate)).unwrap());
                minstrel.learn(rate, arrived);
                used[rate as usize] += usize::from(packet > 10_000);
                if arrived {
                    break;
                }
            }
        }
        let most = (0..12).max_by_key(|index| used[*index]).unwrap();
        PhyRate::ALL[most]
    }

    #[test]
    fn it_finds_the_rate_with_the_best_throughput() {
        assert_eq!(favourite(|_| 1.0), PhyRate::Ofdm54);
        assert_eq!(
            favourite(|rate| if rate > PhyRate::Ofdm24 { 0.0 } else { 1.0 }),
            PhyRate::Ofdm24
        );
        // 36 Mb/s at 0.4 gives less than 24 Mb/s at 0.95.
        let falling = |rate| match rate {
            PhyRate::Ofdm36 => 0.4,
            rate if rate > PhyRate::Ofdm36 => 0.05,
            _ => 0.95,
        };
        assert_eq!(favourite(falling), PhyRate::Ofdm24);
    }
}
