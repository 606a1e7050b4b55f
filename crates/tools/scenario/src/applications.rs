//! From what a scenario says of applications to their configurations.

use std::collections::BTreeSet;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use toml::Spanned;
use windfall_apps::{BulkConfig, BulkSinkConfig, Pace, PingConfig, SenderConfig, SinkConfig};
use windfall_base::{Duration, Instant, Rate};
use windfall_ip::is_group;
use windfall_network::AppConfig;
use windfall_settings::Get;
use windfall_stack::socket_api::Transport;

use crate::app::{App, AppKind, AppTransport};
use crate::departures::{at, timing};
use crate::error::SettingFault;
use crate::link::{DEFAULT_MTU, HEADERS};
use crate::model::Scenario;
use crate::plan::AppPlan;
use crate::routes::RouteMap;
use crate::sap;
use crate::stations::{Places, StationPlan, group_members, owner};
use crate::values::Target;

/// The port of datagrams and streams where it is unset.
pub const DEFAULT_PORT: u16 = 9000;
/// Bytes of data in each datagram of a constant rate.
const CBR_SIZE: u32 = 160;
/// Between two datagrams of one application at least: 100 million a second.
const LEAST_INTERVAL: Duration = Duration::from_nanos(10);
/// The pace of a spray whose links have no rate.
const FASTEST: u64 = 1_000;

/// The applications of `scenario`, and a sink for every flow to a station that has none for it.
pub(crate) fn plan(
    scenario: &Scenario,
    stations: &[StationPlan],
    places: &Places<'_>,
    (rates, map): (&[Option<Rate>], &RouteMap),
) -> Result<Vec<AppPlan>, SettingFault> {
    let mut plans = Vec::new();
    let mut senders = 0;
    for app in &scenario.apps {
        plans.push(of_app(app, senders, stations, places, (rates, map))?);
        senders += u64::from(!matches!(kind(app), AppKind::Ping | AppKind::Sink | AppKind::Bulk));
    }
    // The receivers at each station, by port and whether UDP, UDP-Lite or TCP.
    let mut receivers: BTreeSet<(usize, u16, u8)> = plans.iter().filter_map(receiver).collect();
    for app in
        scenario.apps.iter().filter(|app| !matches!(kind(app), AppKind::Ping | AppKind::Sink))
    {
        let Some(to) = app.to.as_ref().map(Spanned::get_ref) else { continue };
        let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port(app));
        let config = match kind(app) {
            AppKind::Bulk => AppConfig::BulkSink(BulkSinkConfig { local }),
            AppKind::SapBulk | AppKind::SapStream => continue,
            _ => AppConfig::Sink(sink(local, transport(app))),
        };
        for station in stations_of(to, app, stations, places) {
            let plan = AppPlan { station, config: config.clone() };
            if receiver(&plan).is_some_and(|receiver| receivers.insert(receiver)) {
                plans.push(plan);
            }
        }
    }
    sap::add_sinks(scenario, stations, &mut plans)?;
    Ok(plans)
}

/// The stations that a flow goes to; none for an address that is none of theirs.
fn stations_of(
    to: &Target,
    app: &App,
    stations: &[StationPlan],
    places: &Places<'_>,
) -> Vec<usize> {
    match to {
        Target::Station(name) => vec![number_of(name, places)],
        Target::Address(group) if is_group(*group) => {
            group_members(stations, number_of(app.station.get_ref(), places), *group)
        }
        Target::Address(address) => owner(stations, *address).into_iter().collect(),
    }
}

/// The identity of a receiver: its station, its port and its protocol.
fn receiver(plan: &AppPlan) -> Option<(usize, u16, u8)> {
    let (local, protocol) = match &plan.config {
        AppConfig::Sink(SinkConfig { local, transport: Transport::Udp }) => (local, 17),
        AppConfig::Sink(SinkConfig { local, .. }) => (local, 136),
        AppConfig::BulkSink(sink) => (&sink.local, 6),
        _ => return None,
    };
    Some((plan.station, local.port(), protocol))
}

/// The plan of an application that `number` senders of datagrams precede.
fn of_app(
    app: &App,
    number: u64,
    stations: &[StationPlan],
    places: &Places<'_>,
    (rates, map): (&[Option<Rate>], &RouteMap),
) -> Result<AppPlan, SettingFault> {
    check_pace(app)?;
    let station = number_of(app.station.get_ref(), places);
    let start = at(app.start.as_ref()).unwrap_or(Instant::START);
    let stop = at(app.stop.as_ref());
    let count = app.count.value();
    let to = SocketAddr::new(address(app, station, stations, places)?, port(app));
    let config = match kind(app) {
        AppKind::Sink => {
            let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port(app));
            AppConfig::Sink(sink(local, transport(app)))
        }
        AppKind::Ping => AppConfig::Ping(PingConfig {
            to: to.ip(),
            size: size(app).unwrap_or(56) as usize,
            interval: app.interval.value().unwrap_or(Duration::from_secs(1)),
            count,
            start,
            stop,
        }),
        AppKind::Bulk => AppConfig::Bulk(BulkConfig {
            to,
            bytes: app.bytes.value().map(|bytes| bytes.0),
            start,
            stop,
        }),
        AppKind::SapBulk | AppKind::SapStream => {
            let mtu = sap::path_mtu(map, stations, station, to.ip());
            let config = sap::sender(app, to, (mtu, number));
            match kind(app) {
                AppKind::SapBulk => AppConfig::SapBulk(config),
                _ => AppConfig::SapStream(config),
            }
        }
        kind @ (AppKind::Cbr | AppKind::Spray) => {
            let size = size(app).unwrap_or_else(|| match kind {
                AppKind::Cbr => CBR_SIZE,
                _ => largest(&stations[station], to.ip()),
            });
            let config = SenderConfig {
                to,
                transport: transport(app),
                size: size as usize,
                count,
                timing: timing(app, pace(app, size, &stations[station], rates), number),
                number,
                stop,
            };
            if kind == AppKind::Cbr { AppConfig::Cbr(config) } else { AppConfig::Spray(config) }
        }
    };
    Ok(AppPlan { station, config })
}

/// Refuses a pace that no machine could simulate, and no network has.
fn check_pace(app: &App) -> Result<(), SettingFault> {
    if let Some(interval) = app.interval.as_ref().filter(|i| *i.get_ref() < LEAST_INTERVAL) {
        let message = format!(
            "an interval of {} is too short: use at least {LEAST_INTERVAL}",
            interval.get_ref()
        );
        return Err(SettingFault::at(interval.span(), message));
    }
    let Some(rate) = &app.rate else { return Ok(()) };
    let unset = if kind(app).is_sap() { sap::SIZE } else { CBR_SIZE };
    let bytes = size(app).unwrap_or(unset).max(1);
    if rate.get_ref().time_of(bytes as usize) < LEAST_INTERVAL {
        let message = format!(
            "{} in datagrams of {bytes} bytes is more than one each {LEAST_INTERVAL}: use a lower \
             rate or a larger size",
            rate.get_ref()
        );
        return Err(SettingFault::at(rate.span(), message));
    }
    Ok(())
}

fn kind(app: &App) -> AppKind {
    *app.kind.get_ref()
}

fn number_of(name: &str, places: &Places<'_>) -> usize {
    places.get(name).copied().unwrap_or(usize::MAX)
}

fn port(app: &App) -> u16 {
    app.port.value().unwrap_or(DEFAULT_PORT)
}

fn size(app: &App) -> Option<u32> {
    app.size.value()
}

fn transport(app: &App) -> Transport {
    match app.transport.value().unwrap_or_default() {
        AppTransport::Udp => Transport::Udp,
        AppTransport::Udplite => Transport::UdpLite {
            send_coverage: app.coverage.value().unwrap_or(0),
            min_coverage: None,
        },
    }
}

/// A sink takes datagrams of any coverage; a flow's own coverage is its sender's matter.
fn sink(local: SocketAddr, transport: Transport) -> SinkConfig {
    SinkConfig { local, transport }
}

/// The pace of an application. A spray offers what its fastest link could carry, and no more
/// datagrams than there are headers in that: empty ones would otherwise be without number.
fn pace(app: &App, size: u32, station: &StationPlan, rates: &[Option<Rate>]) -> Pace {
    if let Some(interval) = &app.interval {
        return Pace::Every(*interval.get_ref());
    }
    if let Some(rate) = app.rate.value() {
        return Pace::Rate(rate);
    }
    let links = station.interfaces.iter().filter_map(|interface| rates[interface.link]).max();
    let fastest = links.map(|rate| rate.min(Rate::from_mbps(100 * FASTEST).unwrap_or(rate)));
    let Some(rate) = fastest.or(Rate::from_mbps(FASTEST)) else {
        return Pace::Every(Duration::from_secs(1));
    };
    if size < HEADERS[0] {
        return Pace::Every(rate.time_of(HEADERS[0] as usize).max(LEAST_INTERVAL));
    }
    Pace::Rate(rate)
}

/// The payload of the largest datagram that needs no fragments on the links of `station`.
fn largest(station: &StationPlan, to: IpAddr) -> u32 {
    let mtu = station.interfaces.iter().map(|interface| u32::from(interface.mtu)).min();
    mtu.unwrap_or(u32::from(DEFAULT_MTU)).saturating_sub(HEADERS[usize::from(to.is_ipv6())])
}

/// The address that an application speaks to: of a station, the one on a link that both are on.
fn address(
    app: &App,
    from: usize,
    stations: &[StationPlan],
    places: &Places<'_>,
) -> Result<IpAddr, SettingFault> {
    let Some(to) = &app.to else { return Ok(Ipv4Addr::LOCALHOST.into()) };
    let name = match to.get_ref() {
        Target::Address(address) => return Ok(*address),
        Target::Station(name) => name,
    };
    let interfaces = &stations[number_of(name, places)].interfaces;
    let own = &stations[from].interfaces;
    let shared = interfaces.iter().find(|i| own.iter().any(|own| own.link == i.link));
    let interface = shared.or(interfaces.first()).filter(|i| !i.addresses.is_empty());
    interface.map(|interface| interface.addresses[0].address).ok_or_else(|| {
        SettingFault::at(
            to.span(),
            format!("station \"{name}\" has no address: let a link end there"),
        )
    })
}
