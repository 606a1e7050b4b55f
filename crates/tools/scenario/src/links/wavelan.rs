//! From what a scenario says of a radio to its air and the stations on it.

use std::collections::BTreeMap;

use ipnet::IpNet;
use windfall_base::{Port, Rate, Seed};
use windfall_channel::{Addressing, MediumConfig, WavelanMediumConfig};
use windfall_link::policy::Cost;
use windfall_link::{Arq, CodedConfig, Framing};
use windfall_mac::Address;
use windfall_mac::wavelan::{Idle, WavelanTiming};
use windfall_settings::Get;
use windfall_stack::{InterfaceConfig, WavelanConfig, WavelanPeer, WavelanRole};

use crate::direction::Direction;
use crate::error::SettingFault;
use crate::flows::{self, Capacity};
use crate::link::Link;
use crate::links::{Parts, air, arq, interface, policy, takes_damaged};
use crate::model::Scenario;
use crate::plan::Files;
use crate::side::Side;

pub(crate) use windfall_mac::wavelan::WAVELAN_RATE;

//= S3.2
/// The radio of S3.2; the base station polls, and `behind` tells what each station leads to.
pub(crate) fn wavelan(
    link: &Link,
    scenario: &Scenario,
    behind: Vec<Vec<IpNet>>,
    files: &mut Files<'_, '_>,
) -> Result<Parts, SettingFault> {
    let [up, down] = Side::BOTH.map(|side| link.direction(side));
    let rate = up.constant_rate().unwrap_or(WAVELAN_RATE);
    let base = link.base();
    let cost = coding_cost(rate);
    let of_packets = |bytes| goodput(rate, bytes);
    let capacity = Capacity { mtu: link.mtu(), of_packets: &of_packets, taken: polling(link) };
    let admitted = flows::admit(&scenario.flows, &capacity, scenario.run.admits_too_much())?;
    let mut end = |place, role, own: &Direction, others: &Direction| {
        let polled = WavelanConfig {
            address: address(place),
            role,
            framing: framing([own, others], cost, files)?,
            timing: WavelanTiming::WAVELAN,
            rate,
        };
        let (rules, flows) = admitted.clone();
        let link = interface(link, [own, others], windfall_stack::LinkLayerConfig::Wavelan(polled));
        Ok(InterfaceConfig { rules, flows, ..link })
    };
    let others = behind.into_iter().enumerate().filter(|(place, _)| *place != base);
    let members = others.map(|(place, behind)| WavelanPeer { address: address(place), behind });
    let coordinator =
        WavelanRole::Coordinator { members: members.collect(), idle: Idle::default() };
    let ends = (0..link.stations.get_ref().len()).map(|place| {
        if place == base {
            return end(place, coordinator.clone(), &down, &up);
        }
        let station = WavelanRole::Station { coordinator: address(base) };
        end(place, station, &up, &down)
    });
    let ends = ends.collect::<Result<_, SettingFault>>()?;
    Ok((MediumConfig::Wavelan(shared(link, rate, files)?), ends))
}

/// The address of the station of a place; no station has 0.
fn address(place: usize) -> Address {
    Address(place as u8 + 1)
}

/// The air that all stations of a link share.
pub(crate) fn shared(
    link: &Link,
    rate: Rate,
    files: &mut Files<'_, '_>,
) -> Result<WavelanMediumConfig, SettingFault> {
    let stations = link.stations.get_ref().len();
    let base = link.base();
    let mut shared = WavelanMediumConfig::new(stations as u16, rate);
    shared.addressing = Addressing::Polled;
    for from in 0..stations {
        // Nothing but the base station sends what the first of the others hears.
        let to = if from == base { usize::from(base == 0) } else { base };
        shared.air.push(air(&link.direction(link.side_of(from)), files, place(base, from, to))?);
    }
    // What differs from path to path: what the link says of single ones, and the traces of places.
    let mut paths = BTreeMap::new();
    let senders = (0..stations).filter(|from| *from == base || !link.paths.is_empty());
    for (from, to) in senders.flat_map(|from| (0..stations).map(move |to| (from, to))) {
        let direction = link.air_between(from, to);
        let is_replayed = stations > 2 && from == base && direction.environment.is_some();
        if from != to && (is_replayed || direction != link.direction(link.side_of(from))) {
            let air = air(&direction, files, place(base, from, to))?;
            paths.insert((Port(from as u16), Port(to as u16)), air);
        }
    }
    shared.paths = paths;
    Ok(shared)
}

/// Which trace of an environment a path has: one for each station and direction.
fn place(base: usize, from: usize, to: usize) -> Seed {
    let (mobile, direction) = if from == base { (to, 2) } else { (from, 1) };
    let number = mobile - usize::from(mobile > base);
    Seed(2 * number as u64 + direction)
}

/// The rate that the radio carries of packets of this size without errors, ACKs included (S3.2).
fn goodput(rate: Rate, bytes: usize) -> Option<Rate> {
    let time = WavelanTiming::WAVELAN.exchange(rate, bytes).as_secs_f64();
    Rate::from_bps((bytes as f64 * 8.0 / time).round() as u64)
}

/// The share of the air that polls take at most while one station on `link` sends and the others
/// have nothing to send.
pub(crate) fn polling(link: &Link) -> f64 {
    if !link.kind().is_polled() {
        return 0.0;
    }
    let rate = link.direction(Side::Uplink).constant_rate().unwrap_or(WAVELAN_RATE);
    // Neither the base station nor the one that it speaks with is polled for nothing.
    let silent = link.stations.get_ref().len().saturating_sub(2);
    let unit = WavelanTiming::WAVELAN.exchange(rate, usize::from(link.mtu()));
    Idle::default().share_of_polls(silent, &WavelanTiming::WAVELAN, rate, unit)
}

/// Returns the cost of a coded frame on the radio of S3.2.
#[must_use]
pub fn wavelan_cost() -> Cost {
    coding_cost(WAVELAN_RATE)
}

/// The cost of a coded frame beside its blocks: two frames' overhead, and the headers of both with
/// the report of the receiver, about 50 bytes.
fn coding_cost(rate: Rate) -> Cost {
    let per_byte = WavelanTiming::WAVELAN.per_byte + rate.time_of(1);
    Cost { per_frame: WavelanTiming::WAVELAN.per_frame * 2 + per_byte * 50, per_byte }
}

/// The framing of packets at the end that sends `own`: coded in both directions if in one.
fn framing(
    [own, others]: [&Direction; 2],
    cost: Cost,
    files: &mut Files<'_, '_>,
) -> Result<Framing, SettingFault> {
    let accept_damaged = takes_damaged(others);
    let combine = others.combine.value().unwrap_or(false);
    Ok(match policy(own, others, files)? {
        None => Framing::Plain { arq: arq(own, Arq::Persistent), accept_damaged, combine },
        Some(policy) => Framing::Coded(CodedConfig {
            policy,
            arq: arq(own, Arq::Persistent),
            padded: own.padded.value().unwrap_or(false),
            accept_damaged,
            combine,
            cost,
        }),
    })
}

#[cfg(test)]
mod tests;
