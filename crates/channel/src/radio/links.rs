//! Who is within reach of whom, and how strongly.

use std::collections::BTreeMap;
use std::sync::Arc;

use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_phy::decibel::ratio;
use windfall_phy::ofdm::Gains;

use super::config::{RadioConfig, megahertz, overlap};
use super::fading::Process;
use super::propagation::LIGHT;
use super::selective::{Echoes, mean_and_shape};

/// While stations move, paths are computed anew so often: a walker covers 1.4 cm in it.
const REFRESH: Duration = Duration::from_millis(10);
/// Signals so many decibels below the noise of their receiver are as good as none.
const NEGLIGIBLE: f64 = 20.0;
/// Delays are rounded up to this, so that stations of one room hear at one instant.
const WAVE: u64 = 100;

/// A station within reach of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hearer {
    pub(super) port: u16,
    /// The share of the power that arrives in its band, as a ratio.
    pub(super) gain: f64,
    /// How long the signal travels.
    pub(super) delay: Duration,
    /// Whether both are on one channel; if not, the signal is only noise.
    pub(super) same_channel: bool,
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

/// How the path between two stations fades.
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
        let (a, b) = (sender.track.at(now), receiver.track.at(now));
        let metres = a.distance(b);
        let mut loss = config.path_loss.decibels(metres, megahertz(sender.channel));
        loss += config.walls.iter().filter(|w| w.between(a, b)).map(|w| w.loss).sum::<f64>();
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
        })
    }

    /// What fading makes of the power between two stations at `now`, as a ratio of mean 1.
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
