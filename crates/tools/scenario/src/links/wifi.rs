//! From what a scenario says of an 802.11 link to its air and the stations on it.

use core::num::NonZeroU8;
use core::ops::Range;
use core::slice;
use std::sync::Arc;

use toml::Spanned;
use windfall_base::{Class, Duration, Instant, Metres, Rate};
use windfall_channel::MediumConfig;
use windfall_channel::radio::{
    Fading, Position, RadioConfig, RadioStation, Shadowing, Track, Wall,
};
use windfall_link::Arq;
use windfall_mac::wifi::{self, Protection, Retries, Role};
use windfall_queue::Discipline;
use windfall_settings::Get;
use windfall_settings::policy::configure_radio;
use windfall_stack::{InterfaceConfig, Neighbour, Rule, WifiConfig};
use windfall_wire_link::ieee80211::management::{MAX_SSID, Ssid};
use windfall_wire_link::ieee80211::{MacAddress, Phy, PhyRate, Timing};

use crate::direction::Direction;
use crate::error::SettingFault;
use crate::flows::{self, Capacity};
use crate::link::Link;
use crate::links::{Parts, interface, policy_name, takes_damaged};
use crate::model::Scenario;
use crate::side::Side;
use crate::station::Station;
use crate::wifi::{ProtectionWord, Radio, Slot, StationMode, StationRadio};

/// The distance of two stations where it is unset.
const DEFAULT_DISTANCE: Metres = Metres(5.0);
/// The interval of beacons where it is unset, in units of 1024 µs.
const BEACON_INTERVAL: u16 = 100;

/// An 802.11 link of `phy` between `stations`; `behind` tells what each of them leads to, as the
/// station of each place sees it.
pub(crate) fn wifi(
    link: &Link,
    (phy, scenario): (Phy, &Scenario),
    stations: &[&Station],
    behind: &mut dyn FnMut(usize) -> Arc<[Neighbour]>,
) -> Result<Parts, SettingFault> {
    let cell = Cell::check(link, phy, stations)?;
    let medium = medium(link, phy, (stations, &cell.modes))?;
    let channels = medium.stations.iter().map(|station| station.channel);
    let roles = roles(link, stations, &channels.collect::<Vec<_>>())?;
    let mut rates = Vec::new();
    let ends = (0..stations.len()).map(|place| {
        let side = link.side_of(place);
        let [own, others] = [side, side.other()].map(|side| link.direction(side));
        let of_station = stations[place].radio.as_ref().and_then(|radio| radio.rate.as_ref());
        let of_direction = own.constant_rate().zip(own.rate.as_ref().map(Spanned::span));
        // The rate of a direction is that of its stations of 802.11g.
        let of_direction = of_direction.map(|(rate, span)| (cell.rate_of(place, rate), span));
        let rate = of_station.map(|rate| (*rate.get_ref(), rate.span())).or(of_direction);
        let mut mac = station(link, &cell, place, rate.as_ref(), &own, &others)?;
        rates.push(mac.highest_rate());
        mac.role = roles[place].clone();
        let capacity =
            Capacity { mtu: link.mtu(), of_packets: &|bytes| goodput(&mac, bytes), taken: 0.0 };
        let (rules, flows) =
            flows::admit(&scenario.flows, &capacity, scenario.run.admits_too_much())?;
        let is_access_point = matches!(mac.role, Role::AccessPoint { .. });
        let wifi = WifiConfig { mac, neighbours: behind(place) };
        let mut end = interface(link, [&own, &others], windfall_stack::LinkLayerConfig::Wifi(wifi));
        let named = own.queue.as_ref().and_then(|queue| queue.get_ref().discipline);
        if named.is_none() && flows.is_empty() && !is_access_point {
            end.discipline = Discipline::FIFO;
        }
        Ok(InterfaceConfig { rules: with_approximate(rules), flows, ..end })
    });
    let ends = ends.collect::<Result<_, SettingFault>>()?;
    if let Some(why) = medium.why_unheard(|place| rates[place]) {
        let message = format!("no station hears another on link \"{}\": {why}", link.name());
        return Err(SettingFault::at(link.stations.span(), message));
    }
    Ok((MediumConfig::Wifi(Box::new(medium)), ends))
}

/// The standards of the stations of a link, and what follows for all of them.
struct Cell {
    /// The standard of the station at each place.
    modes: Vec<Phy>,
    /// The addresses of those that read no OFDM beside others that do.
    without_ofdm: Arc<[MacAddress]>,
    protection: Option<Protection>,
    /// Slots are short.
    short_slot: bool,
}

impl Cell {
    /// Checks that the settings of the radio suit the stations.
    fn check(link: &Link, phy: Phy, stations: &[&Station]) -> Result<Self, SettingFault> {
        let radio = &link.radio;
        let said = |station: &&Station| station.radio.as_ref().and_then(|own| own.mode.clone());
        let modes = stations.iter().map(|station| {
            let Some(said) = said(station) else { return Ok(phy) };
            let StationMode(mode) = *said.get_ref();
            if (phy, mode) == (Phy::B, Some(Phy::G)) {
                let message = "a link of kind wifi-b has only stations of 802.11b: use kind = \
                               \"wifi-g\", and mode = \"b\" for the others";
                return Err(SettingFault::at(said.span(), message));
            }
            Ok(mode.unwrap_or(phy))
        });
        let modes: Vec<Phy> = modes.collect::<Result<_, SettingFault>>()?;
        let is_mixed = phy == Phy::G && modes.contains(&Phy::B);
        if let Some(said) = radio.protection.as_ref().filter(|_| phy == Phy::B) {
            let message = "protection reserves the medium before frames of OFDM, and wifi-b has \
                           none: remove it, or use kind = \"wifi-g\"";
            return Err(SettingFault::at(said.span(), message));
        }
        let slot = radio.slot.value().unwrap_or(if is_mixed { Slot::Long } else { Slot::Short });
        if let Some(said) = radio.slot.as_ref().filter(|_| is_mixed && slot == Slot::Short) {
            let message = "a station with mode = \"b\" has long slots, and stations with others \
                           take turns unfairly: remove slot = \"short\"";
            return Err(SettingFault::at(said.span(), message));
        }
        let basic = radio.basic_rates.as_ref().map(|it| (it.span(), it.get_ref().as_slice()));
        let of_rts = radio.rts_rate.as_ref().map(|it| (it.span(), slice::from_ref(it.get_ref())));
        for (said, what) in [(basic, "understand the basic rate"), (of_rts, "read RTS at")] {
            let Some((span, rates)) = said.filter(|_| is_mixed) else { continue };
            let is_ofdm = |rate: &&Rate| PhyRate::from_rate(**rate).is_some_and(PhyRate::is_ofdm);
            if let Some(rate) = rates.iter().find(is_ofdm) {
                let message = format!(
                    "a station with mode = \"b\" does not {what} {rate}: use 1, 2, 5.5 or 11 Mb/s"
                );
                return Err(SettingFault::at(span, message));
            }
        }
        let unset = ProtectionWord(is_mixed.then_some(Protection::CtsToSelf));
        let places = modes.iter().enumerate().filter(|(_, mode)| is_mixed && **mode == Phy::B);
        Ok(Self {
            without_ofdm: places.map(|(place, _)| address(place)).collect(),
            protection: radio.protection.value().unwrap_or(unset).0,
            short_slot: slot == Slot::Short,
            modes,
        })
    }

    /// Returns the rate at which the station at a place sends where its direction has `rate`.
    fn rate_of(&self, place: usize, rate: Rate) -> Rate {
        let is_capped = self.modes[place] == Phy::B && !self.without_ofdm.is_empty();
        let capped = PhyRate::from_rate(rate).filter(|_| is_capped);
        capped.map_or(rate, |rate| rate.without_ofdm().rate())
    }
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
fn goodput(mac: &wifi::Config, bytes: usize) -> Option<Rate> {
    let time = mac.packet_time(bytes).as_secs_f64();
    Rate::from_bps((bytes as f64 * 8.0 / time).round() as u64)
}

/// The address of the station at a place of a link.
pub(crate) fn address(place: usize) -> MacAddress {
    MacAddress::of_station(place as u16)
}

fn station(
    link: &Link,
    cell: &Cell,
    place: usize,
    rate: Option<&(Rate, Range<usize>)>,
    own: &Direction,
    others: &Direction,
) -> Result<wifi::Config, SettingFault> {
    let radio = &link.radio;
    let phy = cell.modes[place];
    let mut mac = wifi::Config::new(address(place), phy);
    if !cell.without_ofdm.is_empty() {
        mac.basic_rates = Phy::B.basic_rates().to_vec();
    }
    if phy == Phy::G {
        mac.protection = cell.protection;
        mac.without_ofdm = Arc::clone(&cell.without_ofdm);
    }
    if let Some((rate, span)) = rate {
        mac.rate = phy_rate(*rate, phy, span.clone())?;
    }
    mac.rate_control = radio.rate_control.value().unwrap_or_default();
    if let Some(name) = policy_name(own, others) {
        let limits = (link.mtu(), rate.is_some() || radio.rate_control.is_some());
        configure_radio(&name, &mut mac, limits).map_err(|(at, why)| SettingFault::at(at, why))?;
    }
    if let Some(rates) = &radio.basic_rates {
        let rates_of = rates.get_ref().iter();
        if rates.get_ref().is_empty() {
            let message =
                "basic-rates names no rate: name one that every station has, such as 1Mbps";
            return Err(SettingFault::at(rates.span(), message));
        }
        mac.basic_rates =
            rates_of.map(|rate| phy_rate(*rate, phy, rates.span())).collect::<Result<_, _>>()?;
    }
    mac.rts_rate = match &radio.rts_rate {
        Some(rate) => Some(phy_rate(*rate.get_ref(), phy, rate.span())?),
        None => None,
    };
    mac.timing = Timing::of(phy, cell.short_slot);
    mac.preamble = radio.preamble.value().unwrap_or_default();
    mac.retries = retries(radio, own);
    mac.backoff = radio.backoff.value().unwrap_or_default();
    mac.eifs = radio.eifs.value().unwrap_or_default();
    mac.wep = radio.wep.value().unwrap_or(false);
    mac.combine = others.combine.value().unwrap_or(false);
    mac.accept_damaged = takes_damaged(others);
    mac.observe_radio = radio.observe.value().unwrap_or(false);
    let mut span = link.stations.span();
    for (own, said) in [
        (&mut mac.rts_threshold, &radio.rts_threshold),
        (&mut mac.fragment_threshold, &radio.fragment_threshold),
    ] {
        if let Some(said) = said {
            *own = *said.get_ref();
            span = said.span();
        }
    }
    mac.check().map_err(|error| SettingFault::at(span, error.to_string()))?;
    Ok(mac)
}

/// The role of each station in the network.
fn roles(link: &Link, stations: &[&Station], channels: &[u8]) -> Result<Vec<Role>, SettingFault> {
    let radio = &link.radio;
    let said =
        |place: usize| stations[place].radio.as_ref().and_then(|own| own.access_point.value());
    let is_any = (0..stations.len()).any(|place| said(place) == Some(true));
    if radio.infrastructure.value() != Some(true) {
        let dozes = radio.power_save.as_ref().filter(|dozes| *dozes.get_ref());
        let message = "no station can doze without an access point that keeps what comes for it: \
                       add infrastructure = true";
        if let Some(dozes) = dozes {
            return Err(SettingFault::at(dozes.span(), message));
        }
        if let Some(place) = (0..stations.len()).find(|&place| said(place) == Some(true)) {
            let message = "an access point needs a link with infrastructure = true";
            return Err(SettingFault::at(stations[place].name.span(), message));
        }
        return Ok(vec![Role::AdHoc; stations.len()]);
    }
    let interval = radio.beacon_interval.value().unwrap_or(BEACON_INTERVAL);
    let ssid: Ssid = link.name().bytes().take(MAX_SSID).collect();
    let role = |place: usize| {
        let own = stations[place].radio.clone().unwrap_or_default();
        let of_link = radio.power_save.value() == Some(true);
        let ssid = ssid.clone();
        if said(place).unwrap_or(!is_any && place == link.base()) {
            Role::AccessPoint { ssid, interval, channel: channels[place] }
        } else {
            Role::Member { ssid, power_save: own.power_save.value().unwrap_or(of_link) }
        }
    };
    Ok((0..stations.len()).map(role).collect())
}

/// Attempts: what `arq` says in retransmissions, or what the radio says.
fn retries(radio: &Radio, own: &Direction) -> Retries {
    let default = Retries::default();
    let both = radio.attempts.value();
    let said = Retries {
        short: radio.short_attempts.value().or(both).unwrap_or(default.short),
        long: radio.long_attempts.value().or(both).unwrap_or(default.long),
    };
    let all = |attempts: NonZeroU8| Retries { short: attempts, long: attempts };
    match own.arq.value() {
        None => said,
        Some(Arq::None) => all(NonZeroU8::MIN),
        Some(Arq::Attempts(attempts)) => all(attempts),
        Some(Arq::Persistent) => all(NonZeroU8::MAX),
    }
}

fn phy_rate(rate: Rate, phy: Phy, span: core::ops::Range<usize>) -> Result<PhyRate, SettingFault> {
    let has = |rate: &PhyRate| phy.has(*rate);
    PhyRate::from_rate(rate).filter(has).ok_or_else(|| {
        let (name, rates) = match phy {
            Phy::B => ("802.11b", "1, 2, 5.5 or 11"),
            Phy::G => ("802.11g", "1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48 or 54"),
        };
        SettingFault::at(span, format!("{name} has no rate of {rate}: use {rates} Mb/s"))
    })
}

fn medium(
    link: &Link,
    phy: Phy,
    (stations, modes): (&[&Station], &[Phy]),
) -> Result<RadioConfig, SettingFault> {
    let radio = &link.radio;
    check_walls(radio)?;
    let places = stations.iter().enumerate().map(|(place, station)| {
        let own = station.radio.clone().unwrap_or_default();
        let default = RadioStation::at(Position::default());
        Ok(RadioStation {
            track: track((place, stations.len()), &own, radio, station)?,
            address: Some(address(place)),
            power: own.power.value().or(radio.power.value()).unwrap_or(default.power),
            noise_figure: radio.noise_figure.value().unwrap_or(default.noise_figure),
            channel: own.channel.value().or(radio.channel.value()).unwrap_or(default.channel),
            // Where all stations are of 802.11b there is no OFDM.
            reads_ofdm: phy == Phy::B || modes[place] == Phy::G,
        })
    });
    let mut config = RadioConfig::new(places.collect::<Result<_, _>>()?);
    config.rate = phy.highest_rate();
    config.path_loss = radio.path_loss.value().map_or(config.path_loss, |word| word.0);
    config.walls = radio.walls.value().iter().flatten().map(wall).collect();
    config.shadowing = radio.shadowing.value().map(|sigma| Shadowing { sigma, correlation: 2.0 });
    config.fading = radio.fading.value().map_or(Fading::None, |word| word.0);
    config.delay_spread = delay_spread(radio)?;
    config.distortion = radio.distortion.value();
    config.spares_headers =
        Side::BOTH.into_iter().any(|side| link.direction(side).spares_headers());
    config.reliability = Side::BOTH.into_iter().any(|side| link.direction(side).combine.is_some());
    config.errors = radio.errors.value().unwrap_or_default();
    config.thresholds.capture = radio.capture.value();
    config.thresholds.carrier_sense = radio.carrier_sense.value().unwrap_or_default();
    if let Some(sinr) = radio.preamble_sinr.value() {
        (config.thresholds.preamble_sinr, config.thresholds.dsss_preamble_sinr) = (sinr, sinr);
    }
    config.thresholds.preamble_power =
        radio.preamble_power.value().unwrap_or(config.thresholds.preamble_power);
    Ok(config)
}

/// The delay spread, if the paths fade and it is one of echoes that the guard interval of OFDM
/// takes in.
fn delay_spread(radio: &Radio) -> Result<Option<Duration>, SettingFault> {
    let Some(said) = &radio.delay_spread else { return Ok(None) };
    if radio.fading.value().is_none_or(|word| word.0 == Fading::None) {
        let message = "a delay-spread says how late echoes come: add a fading, rayleigh or rician";
        return Err(SettingFault::at(said.span(), message));
    }
    Ok(Some(*said.get_ref()).filter(|spread| *spread > Duration::ZERO))
}

/// Refuses numbers that no wall has.
fn check_walls(radio: &Radio) -> Result<(), SettingFault> {
    let Some(walls) = &radio.walls else { return Ok(()) };
    let bad = walls.get_ref().iter().find(|wall| wall[4] < 0.0);
    bad.map_or(Ok(()), |wall| {
        let form = "a wall is [x, y, x, y, loss] with a loss of 0 dB or more";
        Err(SettingFault::at(walls.span(), format!("{form}: {wall:?}")))
    })
}

fn wall(&[x, y, to_x, to_y, loss]: &[f64; 5]) -> Wall {
    Wall { from: Position::new(x, y), to: Position::new(to_x, to_y), loss }
}

/// The track of the station of a place: its own, or from the first one outwards, in a direction of
/// its own.
fn track(
    (place, stations): (usize, usize),
    own: &StationRadio,
    radio: &Radio,
    station: &Station,
) -> Result<Track, SettingFault> {
    let walked = |points: Vec<(f64, Position)>| {
        let begins = points.first().is_some_and(|(t, _)| *t >= 0.0);
        let at = |(t, place)| (Instant::START + Duration::from_secs_f64(t), place);
        let walk = Track::walk(points.into_iter().map(at).collect()).filter(|_| begins);
        let message = "the points of a walk must be in the order of time, from 0 s on";
        walk.ok_or_else(|| SettingFault::at(station.name.span(), message))
    };
    if let Some(walk) = own.walk.value().filter(|walk| !walk.is_empty()) {
        return walked(walk.iter().map(|&[t, x, y]| (t, Position::new(x, y))).collect());
    }
    let own = own.position.value().map(|[x, y]| Position::new(x, y));
    if let Some(position) = own.or((place == 0).then(Position::default)) {
        return Ok(Track::fixed(position));
    }
    let turn = core::f64::consts::TAU * (place - 1) as f64 / (stations.max(2) - 1) as f64;
    let at = |metres: f64| Position::new(metres * turn.cos(), metres * turn.sin());
    let Metres(metres) = radio.distance.value().unwrap_or(DEFAULT_DISTANCE);
    let walk = radio.walk.value().unwrap_or_default();
    let start = walk.first().is_none_or(|[t, _]| *t > 0.0).then(|| (0.0, at(metres)));
    let points = start.into_iter().chain(walk.iter().map(|&[t, m]| (t, at(m))));
    walked(points.collect())
}

#[cfg(test)]
mod tests;
