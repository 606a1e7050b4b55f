//! Whether simulated time can advance: no stream without an end over links that take no time.

use core::net::IpAddr;

use windfall_apps::{SapPace, SapSenderConfig};
use windfall_base::Duration;
use windfall_channel::{Line, MediumConfig, PathConfig};
use windfall_network::AppConfig;

use crate::error::SettingFault;
use crate::model::Scenario;
use crate::plan::AppPlan;
use crate::routes::{self, RouteMap};
use crate::stations::StationPlan;

/// Refuses a stream without an end whose segments and acknowledgments take no time.
///
/// The applications of the scenario are the first of `apps`, in its order.
pub(crate) fn check(
    scenario: &Scenario,
    stations: &[StationPlan],
    apps: &[AppPlan],
    media: &[&MediumConfig],
    map: &RouteMap,
) -> Result<(), SettingFault> {
    for (app, plan) in scenario.apps.iter().zip(apps) {
        let to = match &plan.config {
            AppConfig::Bulk(bulk) if bulk.bytes.is_none() => bulk.to.ip(),
            AppConfig::SapBulk(bulk) if is_endless(bulk) => bulk.to.ip(),
            _ => continue,
        };
        let Some(there) = routes::path(map, stations, plan.station, to) else { continue };
        let Some(links) = timeless(&there, stations, media) else { continue };
        let Some(back) = way_back(map, stations, plan.station, to, &there) else { continue };
        if timeless(&back, stations, media).is_none() {
            continue;
        }
        let over = match links.first() {
            Some(&link) => {
                format!("link \"{}\", which takes no time", scenario.links[link].name())
            }
            None => "no link".to_owned(),
        };
        let message = format!(
            "a {} without an end goes over {over}, so that time would never advance: give the \
             link a rate or a delay, or the bulk a number of bytes",
            plan.config.name()
        );
        return Err(SettingFault::at(app.kind.span(), message));
    }
    Ok(())
}

/// Tells whether nothing but its path limits what a sender sends.
fn is_endless(bulk: &SapSenderConfig) -> bool {
    bulk.bytes.is_none() && bulk.pace == SapPace::Greedy
}

/// The links of a path, if all of them take no time in this direction.
fn timeless(
    path: &[(usize, usize)],
    stations: &[StationPlan],
    media: &[&MediumConfig],
) -> Option<Vec<usize>> {
    let link = |&(station, interface): &(usize, usize)| {
        let interface = &stations[station].interfaces[interface];
        let MediumConfig::Pipe(pipe) = media[interface.link] else { return None };
        let path = if interface.end == 0 { &pipe.forward } else { &pipe.backward };
        is_timeless(path).then_some(interface.link)
    };
    path.iter().map(link).collect()
}

fn is_timeless(path: &PathConfig) -> bool {
    matches!(path.line, Line::Instant) && path.delay == Duration::ZERO
}

/// The way of the acknowledgments: to an address of the sender on the first link of `there`.
fn way_back(
    map: &RouteMap,
    stations: &[StationPlan],
    from: usize,
    to: IpAddr,
    there: &[(usize, usize)],
) -> Option<Vec<(usize, usize)>> {
    let Some(&(_, interface)) = there.first() else { return Some(Vec::new()) };
    let owner = |plan: &StationPlan| {
        plan.interfaces.iter().any(|i| i.addresses.iter().any(|prefix| prefix.address == to))
    };
    let destination = stations.iter().position(owner)?;
    let own = &stations[from].interfaces[interface].addresses;
    let source = own.iter().map(|a| a.address).find(|a| a.is_ipv4() == to.is_ipv4())?;
    routes::path(map, stations, destination, source)
}
