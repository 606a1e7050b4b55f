//! Reachability of stations, before anything is sent.

use windfall_base::Instant;
use windfall_phy::decibel::{decibels, noise_milliwatts, ratio};
use windfall_wire_link::ieee80211::PhyRate;

use super::config::RadioConfig;
use super::receiver::{Levels, PreambleKind};

/// A preamble at a receiver, in noise and nothing else, without shadowing and fading.
#[derive(Clone, Copy, Debug)]
struct LonePreamble {
    /// The rate of the frame that it begins.
    rate: PhyRate,
    /// The power at which it arrives, in dBm.
    power: f64,
    /// The least power at which its receiver detects it, in dBm.
    needed: f64,
    /// Set if the receiver detects it, by the comparison that it makes at work.
    is_detected: bool,
}

impl RadioConfig {
    /// Says why no station could ever detect a frame of another, with the numbers and the fix;
    /// `None` if one does, or may since stations move.
    ///
    /// `rate` gives the highest rate of the frames of the station at a place.
    #[must_use]
    pub fn why_unheard(&self, rate: impl Fn(usize) -> PhyRate) -> Option<String> {
        if self.stations.iter().any(|station| station.track.moves()) {
            return None;
        }
        let Some(clearest) = self.clearest_preamble(rate) else {
            return Some("no two stations share a channel".to_owned());
        };
        // Rounded apart, so that two that differ by little do not read alike; what rounding has
        // put off by less is what the scenario says.
        let power = (clearest.power * 100.0 + 1e-6).floor() / 100.0;
        let needed = (clearest.needed * 100.0 - 1e-6).ceil() / 100.0;
        let slowest = self.clearest_preamble(|_| PhyRate::ALL[0]);
        let slower = if slowest.is_some_and(|it| it.is_detected) {
            ", or set rate = \"1Mbps\", whose preamble they hear"
        } else {
            ""
        };
        (!clearest.is_detected).then(|| {
            format!(
                "the strongest signal is {power:.2} dBm, and {needed:.2} dBm are needed at {}; \
                 bring the stations nearer to each other, or raise the power{slower}",
                clearest.rate
            )
        })
    }

    /// Returns a preamble that is detected of all that stations send to others on their channel,
    /// from where they stand at the start, or else the one that comes nearest to it; `None` if no
    /// two stations share a channel.
    fn clearest_preamble(&self, rate: impl Fn(usize) -> PhyRate) -> Option<LonePreamble> {
        let levels = Levels::new(&self.thresholds);
        let mut clearest: Option<LonePreamble> = None;
        for (from, sender) in self.stations.iter().enumerate() {
            let sent = ratio(sender.power.0);
            for (to, receiver) in self.stations.iter().enumerate() {
                if to == from || receiver.channel != sender.channel {
                    continue;
                }
                let rate = if receiver.reads_ofdm { rate(from) } else { rate(from).without_ofdm() };
                let kind = PreambleKind::of(rate);
                let (_, loss) = self.mean_loss(sender, receiver, Instant::START);
                let power = sent * ratio(-loss);
                let needed = levels.least(kind, noise_milliwatts(20e6, receiver.noise_figure));
                let found = LonePreamble {
                    rate,
                    power: decibels(power),
                    needed: decibels(needed),
                    is_detected: power >= needed,
                };
                if found.is_detected {
                    return Some(found);
                }
                let margin = |it: &LonePreamble| it.power - it.needed;
                if clearest.is_none_or(|other| margin(&found) > margin(&other)) {
                    clearest = Some(found);
                }
            }
        }
        clearest
    }
}

#[cfg(test)]
mod tests {
    use windfall_base::{Dbm, Duration};

    use super::super::{PathLoss, Position, RadioStation, Track};
    use super::*;

    fn at(loss: f64) -> RadioConfig {
        let station = |x| RadioStation::at(Position::new(x, 0.0));
        let path_loss = PathLoss::Fixed(loss);
        RadioConfig { path_loss, ..RadioConfig::new(vec![station(0.0), station(3.0)]) }
    }

    fn clearest(config: &RadioConfig, rate: PhyRate) -> LonePreamble {
        config.clearest_preamble(|_| rate).expect("two stations on one channel")
    }

    #[test]
    fn each_kind_of_preamble_has_its_own_reach() {
        // 15 dBm; -93.97 dBm of noise for OFDM, and -95 dBm, the least power, for the others.
        for (rate, loss, is_detected) in [
            (PhyRate::Ofdm54, 108.96, true),
            (PhyRate::Ofdm6, 108.98, false),
            (PhyRate::Dsss1, 109.0, true),
            (PhyRate::Dsss1, 110.0, true),
            (PhyRate::Cck11, 110.0, true),
            (PhyRate::Dsss1, 110.001, false),
        ] {
            let found = clearest(&at(loss), rate);
            assert_eq!(found.is_detected, is_detected, "{rate} at {loss} dB: {found:?}");
            assert!((found.power - (15.0 - loss)).abs() < 1e-9 && found.rate == rate, "{found:?}");
        }
    }

    #[test]
    fn the_strongest_sender_and_the_quietest_receiver_count() {
        let mut config = at(112.0);
        config.stations.push(RadioStation { power: Dbm(16.0), ..config.stations[1].clone() });
        let found = clearest(&config, PhyRate::Dsss1);
        assert!((found.power + 96.0).abs() < 1e-9 && !found.is_detected, "{found:?}");
        config.stations[0].noise_figure = 40.0;
        config.stations[1].noise_figure = 30.0;
        config.stations[2].noise_figure = 20.0;
        // -94 dBm of noise at a figure of 7 dB, and 4 dB less for preambles of 802.11b.
        let found = clearest(&config, PhyRate::Dsss1);
        assert!((found.needed + 94.0 + 4.0 - 13.0).abs() < 0.1, "{found:?}");
        for (place, channel) in [(0, 1), (1, 6), (2, 11)] {
            config.stations[place].channel = channel;
        }
        assert!(config.clearest_preamble(|_| PhyRate::Dsss1).is_none());
    }

    #[test]
    fn what_is_missing_is_said_in_numbers_that_differ() {
        let why = |loss, rate| at(loss).why_unheard(|_| rate);
        assert_eq!(why(110.0, PhyRate::Dsss1), None);
        assert_eq!(why(108.96, PhyRate::Ofdm54), None);
        let close = why(108.97, PhyRate::Ofdm54).expect("no preamble stands out");
        let expected = "the strongest signal is -93.97 dBm, and -93.96 dBm are needed at 54Mbps; ";
        assert!(close.starts_with(expected), "{close}");
        assert!(close.ends_with(", or set rate = \"1Mbps\", whose preamble they hear"), "{close}");
        let far = why(110.5, PhyRate::Ofdm54).expect("it is too far");
        assert!(far.ends_with("or raise the power"), "{far}");
        let mut config = at(60.0);
        config.stations[1].channel = 1;
        let apart = config.why_unheard(|_| PhyRate::Dsss1);
        assert_eq!(apart.as_deref(), Some("no two stations share a channel"));
        // Who moves may come nearer.
        let mut walk = at(140.0);
        let points = [(0, 3.0), (9, 1.0)].map(|(seconds, x)| {
            (Instant::START + Duration::from_secs(seconds), Position::new(x, 0.0))
        });
        walk.stations[1].track = Track::walk(points.to_vec()).expect("it is in order");
        assert_eq!(walk.why_unheard(|_| PhyRate::Dsss1), None);
    }
}
