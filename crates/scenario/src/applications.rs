//! From what a scenario says of applications to their configurations.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use toml::Spanned;
use windfall_apps::{BulkConfig, BulkSinkConfig, Pace, PingConfig, SenderConfig, SinkConfig};
use windfall_base::{Duration, Instant, Rate, Transport};
use windfall_network::AppConfig;

use crate::error::Fault;
use crate::model::{App, AppKind, AppTransport, DEFAULT_MTU, Scenario};
use crate::plan::{AppPlan, StationPlan};
use crate::values::Target;

/// The port of datagrams when a scenario is silent about it.
pub const DEFAULT_PORT: u16 = 9000;
/// Bytes of the headers of IPv4 and of IPv6 with the header of a datagram.
const HEADERS: [u32; 2] = [28, 48];
/// The pace of a spray whose links have no rate.
const FASTEST: u64 = 1_000;

/// The applications of `scenario`, and a sink for every flow to a station that has none for it.
pub(crate) fn plan(
    scenario: &Scenario,
    stations: &[StationPlan],
    rates: &[Option<Rate>],
) -> Result<Vec<AppPlan>, Fault> {
    let mut plans = Vec::new();
    for app in &scenario.apps {
        plans.push(of_app(app, stations, rates)?);
    }
    for app in
        scenario.apps.iter().filter(|app| !matches!(kind(app), AppKind::Ping | AppKind::Sink))
    {
        let Some(Target::Station(name)) = app.to.as_ref().map(Spanned::get_ref) else { continue };
        let station = number_of(name, stations);
        let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port(app));
        if kind(app) == AppKind::Bulk {
            let sink = AppConfig::BulkSink(BulkSinkConfig { local });
            let is_there = |plan: &AppPlan| plan.station == station && same(&plan.config, &sink);
            if !plans.iter().any(is_there) {
                plans.push(AppPlan { station, config: sink });
            }
            continue;
        }
        let sink = sink(local, transport(app));
        let is_served = |plan: &AppPlan| match &plan.config {
            AppConfig::Sink(other) => {
                let same_transport = core::mem::discriminant(&other.transport)
                    == core::mem::discriminant(&sink.transport);
                plan.station == station && other.local.port() == local.port() && same_transport
            }
            _ => false,
        };
        if !plans.iter().any(is_served) {
            plans.push(AppPlan { station, config: AppConfig::Sink(sink) });
        }
    }
    Ok(plans)
}

fn of_app(app: &App, stations: &[StationPlan], rates: &[Option<Rate>]) -> Result<AppPlan, Fault> {
    let station = number_of(app.station.get_ref(), stations);
    let start = at(app.start.as_ref()).unwrap_or(Instant::START);
    let (stop, count) = (at(app.stop.as_ref()), app.count.as_ref().map(|count| *count.get_ref()));
    let config = match kind(app) {
        AppKind::Sink => {
            let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port(app));
            AppConfig::Sink(sink(local, transport(app)))
        }
        AppKind::Ping => AppConfig::Ping(PingConfig {
            to: address(app, station, stations)?,
            size: size(app).unwrap_or(56) as usize,
            interval: app.interval.as_ref().map_or(Duration::from_secs(1), |i| *i.get_ref()),
            count,
            start,
            stop,
        }),
        AppKind::Bulk => AppConfig::Bulk(BulkConfig {
            to: SocketAddr::new(address(app, station, stations)?, port(app)),
            bytes: app.bytes.as_ref().map(|bytes| bytes.get_ref().0),
            start,
            stop,
        }),
        kind => {
            let to = address(app, station, stations)?;
            let size = size(app).unwrap_or_else(|| match kind {
                AppKind::Cbr => 160,
                _ => largest(&stations[station], to),
            });
            let config = SenderConfig {
                to: SocketAddr::new(to, port(app)),
                transport: transport(app),
                size: size as usize,
                pace: pace(app, &stations[station], rates),
                count,
                start,
                stop,
            };
            if kind == AppKind::Cbr { AppConfig::Cbr(config) } else { AppConfig::Spray(config) }
        }
    };
    Ok(AppPlan { station, config })
}

/// Whether two receivers of streams listen at the same place.
fn same(one: &AppConfig, other: &AppConfig) -> bool {
    matches!((one, other), (AppConfig::BulkSink(a), AppConfig::BulkSink(b)) if a == b)
}

fn kind(app: &App) -> AppKind {
    *app.kind.get_ref()
}

fn number_of(name: &str, stations: &[StationPlan]) -> usize {
    stations.iter().position(|station| station.name == name).unwrap_or(usize::MAX)
}

fn at(time: Option<&Spanned<Duration>>) -> Option<Instant> {
    time.map(|time| Instant::START.saturating_add(*time.get_ref()))
}

fn port(app: &App) -> u16 {
    app.port.as_ref().map_or(DEFAULT_PORT, |port| *port.get_ref())
}

fn size(app: &App) -> Option<u32> {
    app.size.as_ref().map(|size| *size.get_ref())
}

fn transport(app: &App) -> Transport {
    match app.transport.as_ref().map(|transport| *transport.get_ref()).unwrap_or_default() {
        AppTransport::Udp => Transport::Udp,
        AppTransport::Udplite => Transport::UdpLite {
            send_coverage: app.coverage.as_ref().map_or(0, |coverage| *coverage.get_ref()),
            min_coverage: None,
        },
    }
}

/// A sink takes datagrams of any coverage; a flow's own coverage is its sender's matter.
fn sink(local: SocketAddr, transport: Transport) -> SinkConfig {
    SinkConfig { local, transport }
}

/// How fast an application sends. A spray offers what its fastest link could carry.
fn pace(app: &App, station: &StationPlan, rates: &[Option<Rate>]) -> Pace {
    if let Some(interval) = &app.interval {
        return Pace::Every(*interval.get_ref());
    }
    let own = app.rate.as_ref().map(|rate| *rate.get_ref());
    let links = station.interfaces.iter().filter_map(|interface| rates[interface.link]).max();
    own.or(links)
        .or(Rate::from_mbps(FASTEST))
        .map_or(Pace::Every(Duration::from_secs(1)), Pace::Rate)
}

/// The payload of the largest datagram that needs no fragments on the links of `station`.
fn largest(station: &StationPlan, to: IpAddr) -> u32 {
    let mtu = station.interfaces.iter().map(|interface| u32::from(interface.mtu)).min();
    mtu.unwrap_or(u32::from(DEFAULT_MTU)).saturating_sub(HEADERS[usize::from(to.is_ipv6())])
}

/// The address that an application speaks to: of a station, the one on a link that both are on.
fn address(app: &App, from: usize, stations: &[StationPlan]) -> Result<IpAddr, Fault> {
    let Some(to) = &app.to else { return Ok(Ipv4Addr::LOCALHOST.into()) };
    let name = match to.get_ref() {
        Target::Address(address) => return Ok(*address),
        Target::Station(name) => name,
    };
    let interfaces = &stations[number_of(name, stations)].interfaces;
    let own = &stations[from].interfaces;
    let shared = interfaces.iter().find(|i| own.iter().any(|own| own.link == i.link));
    let interface = shared.or(interfaces.first()).filter(|i| !i.addresses.is_empty());
    interface.map(|interface| interface.addresses[0].address).ok_or_else(|| {
        let message = format!("station \"{name}\" has no address: let a link end there");
        Fault::at(to.span(), message)
    })
}
