//! From what a scenario says of an 802.11 link to its air and the stations on it.

use core::num::NonZeroU8;
use std::sync::Arc;

use windfall_base::{Class, Duration, Instant, Metres, Preamble, Rate};
use windfall_channel::MediumConfig;
use windfall_channel::radio::{
    Fading, Position, RadioConfig, RadioStation, Shadowing, Track, Wall,
};
use windfall_mac::dcf::{self, RatePolicy, Retries, Role};
use windfall_phy::decibel::{decibels, noise_milliwatts};
use windfall_queue::Discipline;
use windfall_stack::{InterfaceConfig, Neighbour, Rule, WifiConfig};
use windfall_wire_link::ieee80211::management::{MAX_SSID, Ssid};
use windfall_wire_link::ieee80211::{MacAddress, Phy, PhyRate, Timing};

use crate::error::Fault;
use crate::flows::{self, Capacity};
use crate::links::{Parts, interface};
use crate::model::{Direction, Link, Scenario, Station};
use crate::values::Arq;
use crate::wireless::{PreambleWord, Radio, RateControl, Slot, StationRadio};

/// The longest packet that a data frame carries: 2304 bytes less LLC/SNAP.
pub(crate) const MAX_MTU: u16 = 2_296;
/// How far two stations are from each other if a scenario is silent about it.
const DEFAULT_DISTANCE: Metres = Metres(5.0);
/// Echoes that come later than the guard interval of 800 ns are not modelled.
const MAX_DELAY_SPREAD: Duration = Duration::from_nanos(200);
/// Between beacons if a scenario is silent about it, in units of 1024 µs.
const BEACON_INTERVAL: u16 = 100;

/// The highest rate of a PHY.
pub(crate) const fn highest(phy: Phy) -> PhyRate {
    match phy {
        Phy::B => PhyRate::Cck11,
        Phy::G => PhyRate::Ofdm54,
    }
}

/// An 802.11 link of `phy` between `stations`; `behind` tells what each of them leads to, as the
/// station of each place sees it.
pub(crate) fn wifi(
    link: &Link,
    (phy, scenario): (Phy, &Scenario),
    stations: &[&Station],
    behind: &mut dyn FnMut(usize) -> Arc<[Neighbour]>,
) -> Result<Parts, Fault> {
    let medium = medium(link, phy, stations)?;
    let channels = medium.stations.iter().map(|station| station.channel);
    let roles = roles(link, stations, &channels.collect::<Vec<_>>())?;
    let ends = (0..stations.len()).map(|place| {
        let uplink = place != link.base();
        let [own, others] = [link.direction(uplink), link.direction(!uplink)];
        let mut mac = station(link, phy, place, &own, &others)?;
        mac.role = roles[place].clone();
        let capacity =
            Capacity { mtu: link.mtu(), of_packets: &|bytes| goodput(&mac, bytes), taken: 0.0 };
        let (rules, flows) = flows::admit(&scenario.flows, &capacity, scenario.overcommit)?;
        let is_access_point = matches!(mac.role, Role::AccessPoint { .. });
        let wifi = WifiConfig { mac, neighbours: behind(place) };
        let mut end = interface(link, &own, windfall_stack::LinkConfig::Wifi(wifi));
        let named = own.queue.as_ref().and_then(|queue| queue.get_ref().discipline);
        if named.is_none() && flows.is_empty() && !is_access_point {
            end.discipline = Discipline::Fifo;
        }
        Ok(InterfaceConfig { rules: with_approximate(rules), flows, ..end })
    });
    let ends = ends.collect::<Result<_, Fault>>()?;
    Ok((MediumConfig::Radio(Box::new(medium)), ends))
}

/// Adds rules for the partly covered datagrams of each flow, and for those of none: they are tried
/// once where their flow leaves the attempts unset.
fn with_approximate(rules: Vec<Rule>) -> Vec<Rule> {
    let of_flow = |rule: Rule| {
        let attempts = rule.class.attempts.or(Rule::approximate().class.attempts);
        let class = Class { attempts, ..rule.class };
        [Rule { partly_covered: true, class, ..rule.clone() }, rule]
    };
    rules.into_iter().flat_map(of_flow).chain([Rule::approximate()]).collect()
}

/// Returns the rate at which a station carries packets of `bytes` bytes without errors, alone on
/// the air and at its highest rate.
fn goodput(mac: &dcf::Config, bytes: usize) -> Option<Rate> {
    let time = mac.packet_time(bytes).as_secs_f64();
    Rate::from_bps((bytes as f64 * 8.0 / time).round() as u64)
}

/// The address of the station at a place of a link.
pub(crate) fn address(place: usize) -> MacAddress {
    MacAddress::of_station(place as u16)
}

fn station(
    link: &Link,
    phy: Phy,
    place: usize,
    own: &Direction,
    others: &Direction,
) -> Result<dcf::Config, Fault> {
    let radio = &link.radio;
    let at = link.stations.span();
    let mut mac = dcf::Config::new(address(place), phy);
    let rate = match &own.rate {
        Some(rate) => phy_rate(*rate.get_ref(), phy, rate.span())?,
        None => highest(phy),
    };
    mac.rate = match radio.rate_control.unwrap_or_default() {
        RateControl::Fixed => RatePolicy::Fixed(rate),
        RateControl::Arf => RatePolicy::Arf(RatePolicy::ladder(phy)),
        RateControl::Minstrel => RatePolicy::Minstrel(RatePolicy::ladder(phy)),
    };
    if let Some(rates) = &radio.basic_rates {
        let rates_of = rates.get_ref().iter();
        mac.basic_rates =
            rates_of.map(|rate| phy_rate(*rate, phy, rates.span())).collect::<Result<_, _>>()?;
    }
    mac.rts_rate = match &radio.rts_rate {
        Some(rate) => Some(phy_rate(*rate.get_ref(), phy, rate.span())?),
        None => None,
    };
    mac.timing = Timing::of(phy, radio.slot.unwrap_or_default() == Slot::Short);
    mac.preamble = match radio.preamble.unwrap_or_default() {
        PreambleWord::Long => Preamble::Long,
        PreambleWord::Short => Preamble::Short,
    };
    mac.retries = retries(radio, own);
    mac.backoff = radio.backoff.unwrap_or_default().into();
    mac.extended_gap = radio.extended_gap.unwrap_or_default().into();
    mac.wep = radio.wep.unwrap_or(false);
    mac.accept_damaged = others.accept_damaged.unwrap_or(false);
    mac.observe_radio = radio.observe.unwrap_or(false);
    let mut span = at;
    for (own, said) in [
        (&mut mac.rts_threshold, &radio.rts_threshold),
        (&mut mac.fragment_threshold, &radio.fragment_threshold),
    ] {
        if let Some(said) = said {
            *own = *said.get_ref();
            span = said.span();
        }
    }
    mac.check().map_err(|error| Fault::at(span, error.to_string()))?;
    Ok(mac)
}

/// What each station is in the network.
fn roles(link: &Link, stations: &[&Station], channels: &[u8]) -> Result<Vec<Role>, Fault> {
    let radio = &link.radio;
    let said = |place: usize| stations[place].radio.as_ref().and_then(|own| own.access_point);
    let is_any = (0..stations.len()).any(|place| said(place) == Some(true));
    if radio.infrastructure != Some(true) {
        let dozes = radio.power_save.as_ref().filter(|dozes| *dozes.get_ref());
        let message = "no station can doze without an access point that keeps what comes for it: \
                       add infrastructure = true";
        if let Some(dozes) = dozes {
            return Err(Fault::at(dozes.span(), message));
        }
        if let Some(place) = (0..stations.len()).find(|&place| said(place) == Some(true)) {
            let message = "an access point needs a link with infrastructure = true";
            return Err(Fault::at(stations[place].name.span(), message));
        }
        return Ok(vec![Role::AdHoc; stations.len()]);
    }
    let interval = match &radio.beacon_interval {
        Some(said) if *said.get_ref() == 0 => {
            let message = "beacons need time between them: write 1 or more units of 1024 µs";
            return Err(Fault::at(said.span(), message));
        }
        said => said.as_ref().map_or(BEACON_INTERVAL, |said| *said.get_ref()),
    };
    let ssid: Ssid = link.name().bytes().take(MAX_SSID).collect();
    let role = |place: usize| {
        let own = stations[place].radio.clone().unwrap_or_default();
        let of_link = radio.power_save.as_ref().is_some_and(|dozes| *dozes.get_ref());
        let ssid = ssid.clone();
        match said(place).unwrap_or(!is_any && place == link.base()) {
            true => Role::AccessPoint { ssid, interval, channel: channels[place] },
            false => Role::Member { ssid, power_save: own.power_save.unwrap_or(of_link) },
        }
    };
    Ok((0..stations.len()).map(role).collect())
}

/// Attempts: what `arq` says in repetitions, or what the radio says.
fn retries(radio: &Radio, own: &Direction) -> Retries {
    let silent = Retries::default();
    let said = Retries {
        short: radio.short_attempts.unwrap_or(silent.short),
        long: radio.long_attempts.unwrap_or(silent.long),
    };
    let all = |attempts: NonZeroU8| Retries { short: attempts, long: attempts };
    match own.arq.as_ref().map(|arq| *arq.get_ref()) {
        None => said,
        Some(Arq::None) => all(NonZeroU8::MIN),
        Some(Arq::Retransmissions(n)) => all(NonZeroU8::MIN.saturating_add(n)),
        Some(Arq::Persistent) => all(NonZeroU8::MAX),
    }
}

fn phy_rate(rate: Rate, phy: Phy, span: core::ops::Range<usize>) -> Result<PhyRate, Fault> {
    let has = |rate: &PhyRate| phy.has(*rate);
    PhyRate::from_rate(rate).filter(has).ok_or_else(|| {
        let (name, rates) = match phy {
            Phy::B => ("802.11b", "1, 2, 5.5 or 11"),
            Phy::G => ("802.11g", "1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48 or 54"),
        };
        Fault::at(span, format!("{name} has no rate of {rate}: use {rates} Mb/s"))
    })
}

fn medium(link: &Link, phy: Phy, stations: &[&Station]) -> Result<RadioConfig, Fault> {
    let radio = &link.radio;
    check_numbers(radio).map_err(|message| Fault::at(link.stations.span(), message))?;
    let places = stations.iter().enumerate().map(|(place, station)| {
        let own = station.radio.clone().unwrap_or_default();
        let silent = RadioStation::at(Position::default());
        let channel = own.channel.or(radio.channel.as_ref().map(|channel| *channel.get_ref()));
        let channel = channel.unwrap_or(silent.channel);
        if !(1..=14).contains(&channel) {
            let message = format!("channel {channel} does not exist at 2.4 GHz: use 1 to 14");
            return Err(Fault::at(station.name.span(), message));
        }
        Ok(RadioStation {
            track: track(place, stations.len(), &own, radio.distance, station)?,
            address: Some(address(place)),
            power: own.power.or(radio.power).unwrap_or(silent.power),
            noise_figure: radio.noise_figure.unwrap_or(silent.noise_figure),
            channel,
        })
    });
    let mut config = RadioConfig::new(places.collect::<Result<_, _>>()?);
    config.rate = highest(phy);
    config.path_loss = radio.path_loss.map_or(config.path_loss, |word| word.0);
    config.walls = radio.walls.iter().map(wall).collect();
    config.shadowing = radio.shadowing.map(|sigma| Shadowing { sigma, correlation: 2.0 });
    config.fading = radio.fading.map_or(Fading::None, |word| word.0);
    config.delay_spread = delay_spread(radio)?;
    config.distortion = radio.distortion;
    config.errors = radio.errors.unwrap_or_default().into();
    config.thresholds.capture = radio.capture;
    if let Some(sinr) = radio.preamble_sinr {
        (config.thresholds.preamble_sinr, config.thresholds.dsss_preamble_sinr) = (sinr, sinr);
    }
    config.thresholds.preamble_power =
        radio.preamble_power.unwrap_or(config.thresholds.preamble_power);
    somebody_hears(&config, link)?;
    Ok(config)
}

/// The delay spread, if the paths fade and it is one of echoes that the guard interval of OFDM
/// takes in.
fn delay_spread(radio: &Radio) -> Result<Option<Duration>, Fault> {
    let Some(said) = &radio.delay_spread else { return Ok(None) };
    let fault = |message: &str| Err(Fault::at(said.span(), message.to_owned()));
    if radio.fading.is_none_or(|word| word.0 == Fading::None) {
        return fault("a delay-spread says how late echoes come: add a fading, rayleigh or rician");
    }
    if *said.get_ref() > MAX_DELAY_SPREAD {
        return fault("a delay-spread of more than 200ns outlasts the guard interval: use less");
    }
    Ok(Some(*said.get_ref()).filter(|spread| *spread > Duration::ZERO))
}

/// Refuses numbers that no radio and no wall has.
fn check_numbers(radio: &Radio) -> Result<(), String> {
    let numbers = [
        ("noise-figure", radio.noise_figure, 0.0..=60.0),
        ("shadowing", radio.shadowing, 0.0..=40.0),
        ("capture", radio.capture, 0.0..=60.0),
        ("preamble-sinr", radio.preamble_sinr, -30.0..=60.0),
        ("distortion", radio.distortion, -80.0..=0.0),
        ("power", radio.power.map(|power| power.0), -60.0..=40.0),
        ("preamble-power", radio.preamble_power.map(|power| power.0), -110.0..=-20.0),
    ];
    let mut walls = radio.walls.iter();
    if let Some(wall) = walls.find(|wall| wall.iter().any(|n| !n.is_finite()) || wall[4] < 0.0) {
        return Err(format!("a wall is [x, y, x, y, loss] with a loss of 0 dB or more: {wall:?}"));
    }
    let bad = |(_, value, range): &(_, Option<f64>, core::ops::RangeInclusive<f64>)| {
        value.is_some_and(|value| !range.contains(&value))
    };
    match numbers.into_iter().find(bad) {
        Some((key, value, range)) => Err(format!(
            "a {key} of {} dB cannot be: use {} to {}",
            value.unwrap_or_default(),
            range.start(),
            range.end()
        )),
        None => Ok(()),
    }
}

fn wall(&[x, y, to_x, to_y, loss]: &[f64; 5]) -> Wall {
    Wall { from: Position::new(x, y), to: Position::new(to_x, to_y), loss }
}

/// Where the station of a place is: where it says, or on a circle around the first one.
fn track(
    place: usize,
    stations: usize,
    own: &StationRadio,
    distance: Option<Metres>,
    station: &Station,
) -> Result<Track, Fault> {
    let fault = |message: &str| Fault::at(station.name.span(), message.to_owned());
    if !own.walk.is_empty() {
        let point = |&[t, x, y]: &[f64; 3]| {
            (Instant::START + Duration::from_secs_f64(t), Position::new(x, y))
        };
        if own.walk.iter().any(|[t, ..]| !(0.0..=1e9).contains(t)) {
            return Err(fault("a walk has a point at no time: write seconds from 0, [t, x, y]"));
        }
        let walk = Track::walk(own.walk.iter().map(point).collect());
        return walk.ok_or_else(|| fault("the points of a walk must be in the order of time"));
    }
    if let Some([x, y]) = own.position {
        if !(x.is_finite() && y.is_finite()) {
            return Err(fault("a position must be two numbers of metres, such as [8.0, 0.0]"));
        }
        return Ok(Track::fixed(Position::new(x, y)));
    }
    let Metres(metres) = distance.unwrap_or(DEFAULT_DISTANCE);
    let turn = core::f64::consts::TAU * (place.max(1) - 1) as f64 / (stations.max(2) - 1) as f64;
    let metres = if place == 0 { 0.0 } else { metres };
    Ok(Track::fixed(Position::new(metres * turn.cos(), metres * turn.sin())))
}

/// Refuses an air on which nobody could ever hear anybody.
fn somebody_hears(config: &RadioConfig, link: &Link) -> Result<(), Fault> {
    if config.stations.iter().any(|station| station.track.moves()) {
        return Ok(());
    }
    // A preamble must stand above the noise too.
    let noise = decibels(noise_milliwatts(20e6, config.stations[0].noise_figure));
    let thresholds = &config.thresholds;
    let sinr = match config.rate.is_ofdm() {
        true => thresholds.preamble_sinr,
        false => thresholds.dsss_preamble_sinr,
    };
    let needed = thresholds.preamble_power.0.max(noise + sinr);
    let mut strongest = f64::NEG_INFINITY;
    for (number, sender) in config.stations.iter().enumerate() {
        let alike = |receiver: &&RadioStation| receiver.channel == sender.channel;
        for receiver in config.stations[number + 1..].iter().filter(alike) {
            let [from, to] = [sender, receiver].map(|s| s.track.at(Instant::START));
            let walls = config.walls.iter().filter(|wall| wall.between(from, to));
            let loss = config.path_loss.decibels(from.distance(to), 2_437.0)
                + walls.map(|wall| wall.loss).sum::<f64>();
            strongest = strongest.max(sender.power.0.max(receiver.power.0) - loss);
            if strongest >= needed {
                return Ok(());
            }
        }
    }
    let name = link.name();
    let message = if strongest.is_finite() {
        format!(
            "no station hears another on link \"{name}\": the strongest signal is \
             {strongest:.0} dBm, and {needed:.0} dBm are needed; bring the stations nearer to each \
             other, or raise the power"
        )
    } else {
        format!("no station hears another on link \"{name}\": no two stations share a channel")
    };
    Err(Fault::at(link.stations.span(), message))
}

#[cfg(test)]
mod tests;
