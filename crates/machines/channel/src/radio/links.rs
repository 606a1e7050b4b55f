//! The stations in range of each other, and the strengths of their signals.

use std::collections::BTreeMap;
use std::sync::Arc;

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_phy::decibel::ratio;
use windfall_phy::ofdm::Gains;

use super::config::{RadioConfig, overlap};
use super::propagation::LIGHT;
use super::receiver::PreambleKind;
use super::selective::{Echoes, mean_and_shape};
use crate::fading::Process;

/// The interval at which the paths of moving stations are computed: a walker covers 1.4 cm in it.
const REFRESH: Duration = Duration::from_millis(10);
/// Signals this many decibels below the noise of their receiver are as good as none.
const NEGLIGIBLE: f64 = 20.0;
/// Delays are rounded up to this, so that stations of one room hear at one instant.
const WAVE: u64 = 100;

/// A station within reach of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hearer {
    pub(super) port: u16,
    /// The share of the power that arrives in its band, as a ratio.
    pub(super) gain: f64,
    /// The propagation delay of the signal.
    pub(super) delay: Duration,
    /// Set if both are on one channel; if not, the signal is only noise.
    pub(super) same_channel: bool,
    /// Set if its receiver knows the preambles of OFDM.
    pub(super) reads_ofdm: bool,
}

impl Hearer {
    /// Returns `true` if the receiver knows preambles of this form from this sender; if not, the
    /// signal is only noise.
    #[inline]
    pub(super) fn reads(&self, preamble: PreambleKind) -> bool {
        self.same_channel && (self.reads_ofdm || preamble == PreambleKind::Dsss)
    }
}

/// The paths between all stations.
#[derive(Debug)]
pub(super) struct Links {
    /// Those within reach of each sender, nearest first, and until when that holds.
    reach: Vec<Option<(Instant, Arc<[Hearer]>)>>,
    moves: bool,
    shadow: Stream,
    fade: Stream,
    fading: BTreeMap<(u16, u16), Path>,
}

/// The fading of the path between two stations.
#[derive(Debug)]
enum Path {
    /// All of the band alike.
    Flat(Process),
    /// Each carrier by itself.
    Selective(Echoes),
}

impl Links {
    pub(super) fn new(config: &RadioConfig, seed: Seed, name: &str) -> Self {
        Self {
            reach: vec![None; config.stations.len()],
            moves: config.stations.iter().any(|station| station.track.moves()),
            shadow: Stream::new(seed, &format!("{name}/shadowing")),
            fade: Stream::new(seed, &format!("{name}/fading")),
            fading: BTreeMap::new(),
        }
    }

    /// Returns `true` if paths change.
    pub(super) fn moves(&self) -> bool {
        self.moves
    }

    /// The stations within reach of the one at port `from`, nearest first.
    pub(super) fn reach(&mut self, config: &RadioConfig, from: u16, now: Instant) -> Arc<[Hearer]> {
        if let Some((until, hearers)) = &self.reach[usize::from(from)]
            && (!self.moves || now < *until)
        {
            return Arc::clone(hearers);
        }
        let all = (0..config.stations.len() as u16).filter(|&to| to != from);
        let mut hearers: Vec<_> = all.filter_map(|to| self.path(config, from, to, now)).collect();
        hearers.sort_by_key(|hearer| hearer.delay);
        let hearers: Arc<[Hearer]> = hearers.into();
        self.reach[usize::from(from)] = Some((now + REFRESH, Arc::clone(&hearers)));
        hearers
    }

    fn path(&self, config: &RadioConfig, from: u16, to: u16, now: Instant) -> Option<Hearer> {
        let [sender, receiver] = [from, to].map(|port| &config.stations[usize::from(port)]);
        let (metres, mut loss) = config.mean_loss(sender, receiver, now);
        if let Some(shadowing) = &config.shadowing {
            loss += shadowing.decibels(&self.shadow.at(pair(from, to)), metres);
        }
        let gain = ratio(-loss) * overlap(sender.channel, receiver.channel);
        let noise = windfall_phy::decibel::noise_milliwatts(20e6, receiver.noise_figure);
        if ratio(sender.power.0) * gain < noise * ratio(-NEGLIGIBLE) {
            return None;
        }
        let nanos = (metres / LIGHT * 1e9) as u64;
        Some(Hearer {
            port: to,
            gain,
            delay: Duration::from_nanos((nanos / WAVE + 1) * WAVE),
            same_channel: sender.channel == receiver.channel,
            reads_ofdm: receiver.reads_ofdm,
        })
    }

    /// Returns the factor of fading on the power between two stations at `now`, of mean 1.
    pub(super) fn fading(&mut self, config: &RadioConfig, a: u16, b: u16, now: Instant) -> f64 {
        let Some((k, doppler)) = config.fading.parts() else { return 1.0 };
        let path = self.fading.entry((a.min(b), a.max(b))).or_insert_with(|| {
            let stream = &mut self.fade.at(pair(a, b));
            match config.delay_spread {
                Some(spread) => Path::Selective(Echoes::new(k, doppler, spread, stream)),
                None => Path::Flat(Process::new(k, doppler, stream)),
            }
        });
        match path {
            Path::Flat(process) => process.power(now),
            Path::Selective(echoes) => mean_and_shape(echoes.powers(now)).0,
        }
    }

    /// The powers of the carriers between two stations at `now` over their mean, where they differ.
    pub(super) fn carriers(&self, a: u16, b: u16, now: Instant) -> Option<Gains> {
        match self.fading.get(&(a.min(b), a.max(b)))? {
            Path::Flat(_) => None,
            Path::Selective(echoes) => Some(mean_and_shape(echoes.powers(now)).1),
        }
    }
}

/// The number of a pair, whichever of the two sends.
fn pair(a: u16, b: u16) -> u64 {
    u64::from(a.min(b)) << 16 | u64::from(a.max(b))
}

#[cfg(test)]
mod tests {
    use windfall_base::{Dbm, Seed};
    use windfall_phy::ofdm::CARRIERS;

    use super::*;
    use crate::radio::{Fading, PathLoss, Position, RadioStation, Shadowing, Track};

    fn two(metres: f64) -> RadioConfig {
        let station = |x| RadioStation::at(Position::new(x, 0.0));
        RadioConfig::new(vec![station(0.0), station(metres)])
    }

    fn links(config: &RadioConfig) -> Links {
        Links::new(config, Seed(1), "air")
    }

    #[test]
    fn a_signal_travels_at_the_speed_of_light_in_steps_of_a_tenth_of_a_microsecond() {
        // 300 m take 1000.7 ns.
        for (metres, nanos) in [(1.0, 100), (29.0, 100), (31.0, 200), (300.0, 1_100)] {
            let config = RadioConfig { path_loss: PathLoss::Fixed(60.0), ..two(metres) };
            let hearers = links(&config).reach(&config, 0, Instant::START);
            assert_eq!(hearers[0].delay, Duration::from_nanos(nanos), "{metres} m");
        }
    }

    #[test]
    fn a_signal_reaches_as_far_as_twenty_decibels_below_the_noise() {
        // 15 dBm; the noise of 20 MHz and a receiver of 7 dB is -93.97 dBm.
        for (loss, reaches) in [(15.0 + 93.97 + 19.0, true), (15.0 + 93.97 + 21.0, false)] {
            let config = RadioConfig { path_loss: PathLoss::Fixed(loss), ..two(1.0) };
            let hearers = links(&config).reach(&config, 0, Instant::START);
            assert_eq!(!hearers.is_empty(), reaches, "{loss} dB");
        }
        // What stronger senders reach, weaker ones do not.
        let mut config = RadioConfig { path_loss: PathLoss::Fixed(125.0), ..two(1.0) };
        config.stations[0].power = Dbm(5.0);
        let mut links = links(&config);
        assert!(links.reach(&config, 0, Instant::START).is_empty());
        assert_eq!(links.reach(&config, 1, Instant::START).len(), 1);
    }

    #[test]
    fn shadowing_is_added_to_the_loss_and_alike_in_both_directions() {
        let clear = RadioConfig { path_loss: PathLoss::Fixed(60.0), ..two(3.0) };
        let shadowing = Shadowing { sigma: 6.0, correlation: 2.0 };
        let config = RadioConfig { shadowing: Some(shadowing), ..clear.clone() };
        let gain = |config, from| links(config).reach(config, from, Instant::START)[0].gain;
        let stream = Stream::new(Seed(1), "air/shadowing").at(pair(1, 0));
        let expected = gain(&clear, 0) / ratio(shadowing.decibels(&stream, 3.0));
        assert!((gain(&config, 0) / expected - 1.0).abs() < 1e-9);
        assert_eq!(gain(&config, 0), gain(&config, 1));
        assert!((gain(&config, 0) / gain(&clear, 0) - 1.0).abs() > 1e-3);
    }

    #[test]
    fn every_pair_has_a_number_of_its_own_whichever_sends() {
        let mut seen = std::collections::BTreeSet::new();
        for a in 0..40 {
            for b in 0..a {
                assert_eq!(pair(a, b), pair(b, a));
                assert!(seen.insert(pair(a, b)), "{a} {b}");
            }
        }
    }

    #[test]
    fn paths_are_computed_anew_only_while_stations_move_and_every_ten_milliseconds() {
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let still = two(5.0);
        let mut links_of_still = links(&still);
        let first = links_of_still.reach(&still, 0, at(0));
        assert!(Arc::ptr_eq(&first, &links_of_still.reach(&still, 0, at(60_000))));
        let mut walk = two(5.0);
        let points = vec![(at(0), Position::new(5.0, 0.0)), (at(1_000), Position::new(9.0, 0.0))];
        walk.stations[1].track = Track::walk(points).expect("it is in order");
        let mut links = links(&walk);
        let first = links.reach(&walk, 0, at(0));
        assert!(Arc::ptr_eq(&first, &links.reach(&walk, 0, at(9))));
        let second = links.reach(&walk, 0, at(10));
        assert!(second[0].gain < first[0].gain);
    }

    #[test]
    fn carriers_differ_only_where_echoes_are_late() {
        for (spread, differ) in [(None, false), (Some(Duration::from_nanos(100)), true)] {
            let fading = Fading::Rayleigh { doppler: 11.0 };
            let config = RadioConfig { fading, delay_spread: spread, ..two(5.0) };
            let mut links = links(&config);
            let power = links.fading(&config, 0, 1, Instant::START);
            assert!(power > 0.0);
            let carriers = links.carriers(1, 0, Instant::START);
            assert_eq!(carriers.is_some(), differ);
            if let Some(shape) = carriers {
                let mean = shape.iter().sum::<f64>() / CARRIERS as f64;
                assert!((mean - 1.0).abs() < 1e-9, "over their mean: {mean}");
                assert!(shape.iter().any(|gain| (gain - 1.0).abs() > 0.1));
            }
        }
    }
}
