//! From what a scenario says of applications that speak SAP to their configurations.

use core::net::{IpAddr, SocketAddr};

use toml::Spanned;
use windfall_apps::{Departures, Pace, SapPace, SapSenderConfig, SapSinkConfig};
use windfall_base::{Duration, Instant};
use windfall_network::AppConfig;
use windfall_sap::{Mode, Profile, SapConfig};
use windfall_settings::Get;

use crate::app::{App, AppKind, AppMode};
use crate::departures::{at, timing};
use crate::error::SettingFault;
use crate::link::{DEFAULT_MTU, HEADERS};
use crate::model::Scenario;
use crate::plan::AppPlan;
use crate::routes::{self, RouteMap};
use crate::stations::{StationPlan, owner};

/// Bytes of a message where its size is unset.
pub(crate) const SIZE: u32 = 1024;

/// The time for which a lost message of a `sap-bulk` is sent again: as for the bodies of web pages.
const LATENESS: Duration = Duration::from_secs(2);

/// The mode of the messages of an application.
pub(crate) fn mode(app: &App) -> AppMode {
    app.mode.value().unwrap_or(match app.kind.get_ref() {
        AppKind::SapBulk => AppMode::Precise,
        _ => AppMode::Approximate,
    })
}

/// The greatest payload of a datagram that needs no fragments on the way from `station` to `to`.
pub(crate) fn path_mtu(
    map: &RouteMap,
    stations: &[StationPlan],
    station: usize,
    to: IpAddr,
) -> usize {
    let path = routes::path(map, stations, station, to).unwrap_or_default();
    let on_path = path.iter().map(|&(station, interface)| &stations[station].interfaces[interface]);
    let mtu = on_path.map(|interface| u32::from(interface.mtu)).min();
    let mtu = mtu.unwrap_or(u32::from(DEFAULT_MTU));
    mtu.saturating_sub(HEADERS[usize::from(to.is_ipv6())]) as usize
}

/// The sender of an application, with what its path carries and its number among the senders.
pub(crate) fn sender(app: &App, to: SocketAddr, (mtu, number): (usize, u64)) -> SapSenderConfig {
    let size = app.size.value().unwrap_or(SIZE);
    let pace = match (app.interval.value(), app.rate.value()) {
        (Some(interval), _) => Some(Pace::Every(interval)),
        (None, rate) => rate.map(Pace::Rate),
    };
    let start = at(app.start.as_ref()).unwrap_or(Instant::START);
    let pace = match (app.kind.get_ref(), pace) {
        (_, None) => SapPace::Greedy,
        // A transfer is not put out of step with others.
        (AppKind::SapBulk, Some(pace)) => SapPace::Timed(Departures::exact(start, pace)),
        (_, Some(pace)) => SapPace::Timed(timing(app, pace, number)),
    };
    let of_count = app.count.value().map(|count| count.saturating_mul(size.into()));
    SapSenderConfig {
        to,
        sap: config(app.profile.value().unwrap_or_default(), mtu, size as usize),
        mode: match mode(app) {
            AppMode::Precise => Mode::Precise,
            AppMode::Approximate => {
                Mode::Approximate { protected: app.protected.value().unwrap_or(0) as usize }
            }
        },
        size: size as usize,
        bytes: app.bytes.value().map(|bytes| bytes.0).or(of_count),
        transfers: app.repeat.value().unwrap_or(1),
        pace,
        newest_first: app.newest_first.value() == Some(true),
        lateness: app.lateness.value().unwrap_or(match app.kind.get_ref() {
            AppKind::SapBulk => LATENESS,
            _ => Duration::ZERO,
        }),
        start,
        stop: at(app.stop.as_ref()),
        number,
    }
}

/// The parameters of an endpoint whose path carries datagrams of `mtu` bytes, for messages of
/// `size` bytes.
fn config(profile: Profile, mtu: usize, size: usize) -> SapConfig {
    let config = SapConfig::of(profile);
    match profile {
        Profile::Standard => config.with(|it| {
            it.base_datagram = config.base_datagram.min(mtu);
            it.max_datagram = config.max_datagram.min(mtu);
        }),
        // Its datagrams have the size of a message, whatever the path carries.
        Profile::Paper => {
            let max_datagram = config.max_datagram + size.saturating_sub(SIZE as usize);
            config.with(|it| {
                it.base_datagram = max_datagram;
                it.max_datagram = max_datagram;
            })
        }
    }
}

/// Adds a receiver for each address and port that messages go to.
pub(crate) fn add_sinks(
    scenario: &Scenario,
    stations: &[StationPlan],
    plans: &mut Vec<AppPlan>,
) -> Result<(), SettingFault> {
    let mut sinks: Vec<(usize, SapSinkConfig)> = Vec::new();
    for (app, plan) in scenario.apps.iter().zip(&*plans) {
        let (AppConfig::SapBulk(sender) | AppConfig::SapStream(sender)) = &plan.config else {
            continue;
        };
        let Some(station) = owner(stations, sender.to.ip()) else { continue };
        let sink = SapSinkConfig {
            local: sender.to,
            sap: sender.sap,
            tolerance: app.tolerance.value(),
            lifetime: app.lifetime.value(),
            number: sinks.len() as u64,
        };
        match sinks.iter_mut().find(|(_, other)| other.local == sink.local) {
            Some((_, other)) => join(app, other, &sink)?,
            None => sinks.push((station, sink)),
        }
    }
    let plan = |(station, sink)| AppPlan { station, config: AppConfig::SapSink(sink) };
    plans.extend(sinks.into_iter().map(plan));
    Ok(())
}

/// Lets a receiver take what another sender asks of it.
fn join(app: &App, sink: &mut SapSinkConfig, other: &SapSinkConfig) -> Result<(), SettingFault> {
    let number = |value: Option<f64>| value.map(f64::to_bits);
    let nanos = |value: Option<Duration>| value.map(Duration::as_nanos);
    let differs = if sink.sap.profile != other.sap.profile {
        Some("profile")
    } else if number(sink.tolerance) != number(other.tolerance) {
        Some("tolerance")
    } else if nanos(sink.lifetime) != nanos(other.lifetime) {
        Some("lifetime")
    } else {
        None
    };
    if let Some(key) = differs {
        let message = format!(
            "another application with another {key} sends to {}: give this one a port of its own",
            sink.local
        );
        return Err(SettingFault::at(
            app.port.as_ref().map_or(app.kind.span(), Spanned::span),
            message,
        ));
    }
    sink.sap.base_datagram = sink.sap.base_datagram.max(other.sap.base_datagram);
    sink.sap.max_datagram = sink.sap.max_datagram.max(other.sap.max_datagram);
    Ok(())
}

#[cfg(test)]
mod tests;
