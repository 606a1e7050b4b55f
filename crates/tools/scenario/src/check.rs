//! Whether everything that a scenario says can be: names that exist, values that fit together.

mod changes;
mod fec;
mod gsm;
mod impairments;

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use windfall_sap::Profile;

use crate::app::{App, AppArrivals, AppKind, AppMode, AppTransport, DATAGRAMS};
use crate::direction::{AppliesTo, Direction};
use crate::effect;
use crate::error::SettingFault;
use crate::link::{Link, LinkKind, Path};
use crate::model::{FORMAT, Scenario};
use crate::sap;
use crate::side::Side;
use crate::station::Station;
use crate::values::Target;
use crate::wifi::MAX_MTU;
use windfall_base::nearest;
use windfall_ip::is_group;
use windfall_settings::{Get, Settings, Value, table};

type Checked = Result<(), SettingFault>;

/// Bytes of the longest message of the paper's profile.
const PAPER_SIZE: u32 = 65_000;

/// Finds the first thing in `scenario` that cannot be.
pub(crate) fn scenario(scenario: &Scenario) -> Checked {
    let format = *scenario.format.get_ref();
    if format != FORMAT {
        let message = format!("format {format} is unknown: this program reads format {FORMAT}");
        return Err(SettingFault::at(scenario.format.span(), message));
    }
    table::check(&scenario.run)?;
    let stations = unique_stations(&scenario.stations)?;
    let mut links = BTreeSet::new();
    for link in &scenario.links {
        link.name.as_ref().map_or(Ok(()), check_name)?;
        check_link(link, &stations)?;
        if !links.insert(link.name()) {
            let name = link.name();
            let span = link.name.as_ref().map_or(link.stations.span(), Spanned::span);
            let message =
                format!("another link is called \"{name}\" already: give it its own name");
            return Err(SettingFault::at(span, message));
        }
    }
    check_flows(scenario)?;
    impairments::check(scenario)?;
    fec::check_lifetimes(scenario)?;
    let mut own = BTreeMap::<&str, Vec<&Link>>::new();
    for link in &scenario.links {
        for end in link.stations.get_ref() {
            own.entry(end.get_ref()).or_default().push(link);
        }
    }
    for station in scenario.stations.iter().filter(|station| !station.interfaces.is_empty()) {
        let own = own.get(station.name.get_ref().as_str());
        check_station(station, own.map_or(&[], Vec::as_slice))?;
    }
    for app in &scenario.apps {
        check_app(app, &stations)?;
        let links = own.get(app.station.get_ref().as_str());
        check_group(app, links.and_then(|links| links.first()).copied())?;
    }
    changes::check(scenario)?;
    effect::check(scenario)
}

fn check_flows(scenario: &Scenario) -> Checked {
    let mut flows = BTreeSet::new();
    for flow in &scenario.flows {
        check_name(&flow.name)?;
        let name = flow.name.get_ref();
        if !flows.insert(name) {
            let message = format!("another flow is called \"{name}\": give it its own name");
            return Err(SettingFault::at(flow.name.span(), message));
        }
        table::check(flow)?;
    }
    Ok(())
}

fn unique_stations(stations: &[Station]) -> Result<BTreeSet<&str>, SettingFault> {
    let mut names = BTreeMap::new();
    for Station { name, radio, .. } in stations {
        check_name(name)?;
        radio.as_ref().map_or(Ok(()), table::check)?;
        let text = name.get_ref().as_str();
        if let Some(other) = names.insert(text.to_ascii_lowercase(), text) {
            let message = format!(
                "another station is called \"{other}\", whatever the case: give it its own name"
            );
            return Err(SettingFault::at(name.span(), message));
        }
    }
    Ok(names.into_values().collect())
}

/// Names become parts of the names of files, namespaces and devices.
fn check_name(name: &Spanned<String>) -> Checked {
    let text = name.get_ref();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=32).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('-') {
        return Ok(());
    }
    let fix = "use 1 to 32 letters, digits, underscores, and hyphens behind the first";
    Err(SettingFault::at(name.span(), format!("\"{text}\" cannot be a name: {fix}")))
}

fn known_station(name: &str, span: Range<usize>, stations: &BTreeSet<&str>) -> Checked {
    if stations.contains(name) {
        return Ok(());
    }
    let fix = match nearest(name, stations.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("add a [[station]] with name = \"{name}\""),
    };
    Err(SettingFault::at(span, format!("no station is called \"{name}\": {fix}")))
}

fn check_link(link: &Link, stations: &BTreeSet<&str>) -> Checked {
    let ends = link.stations.get_ref();
    let mut seen = BTreeSet::new();
    for end in ends {
        known_station(end.get_ref(), end.span(), stations)?;
        if !seen.insert(end.get_ref()) {
            let message =
                format!("\"{}\" is at both ends of a link: name two stations", end.get_ref());
            return Err(SettingFault::at(end.span(), message));
        }
    }
    check_size(link)?;
    for (name, what) in link.base.iter().map(|base| (base, "the base station")).chain(
        link.paths.iter().flat_map(|path| [&path.from, &path.to]).flatten().map(|n| (n, "a path")),
    ) {
        if !seen.contains(name.get_ref()) {
            let message = format!(
                "{what} of link \"{}\" is not on it: name one of its stations: {}",
                link.name(),
                ends.iter().map(|end| end.get_ref().as_str()).collect::<Vec<_>>().join(", ")
            );
            return Err(SettingFault::at(name.span(), message));
        }
    }
    table::check(link)?;
    table::check(&link.radio)?;
    for direction in [&link.both, &link.uplink, &link.downlink] {
        table::check(direction)?;
    }
    link.paths.iter().try_for_each(|path| table::check(&path.air))?;
    check_padding(link)?;
    fec::check(link)?;
    gsm::check_tunnel(link)?;
    gsm::check_modem(link)?;
    check_increments(link)?;
    match link.kind() {
        LinkKind::Wavelan => check_wavelan(link),
        LinkKind::WifiB | LinkKind::WifiG => check_wifi(link),
        LinkKind::Pipe => check_pipe(link),
        LinkKind::Gsm => gsm::check_gsm(link),
    }
}

/// Only a pipe sends parity in place of copies.
fn check_increments(link: &Link) -> Checked {
    let directions = [&link.both, &link.uplink, &link.downlink];
    let set = directions.into_iter().find_map(|it| it.increments.as_ref());
    match set.filter(|_| !link.kind().is_wire()) {
        Some(increments) => {
            let message = "only a pipe sends increments: remove it, or use kind = \"pipe\"";
            Err(SettingFault::at(increments.span(), message))
        }
        None => Ok(()),
    }
}

fn check_pipe(link: &Link) -> Checked {
    check_no_radio(link)?;
    if let Some(base) = &link.base {
        let message = "a pipe has no base station: remove it, or use kind = \"wavelan\"";
        return Err(SettingFault::at(base.span(), message));
    }
    if !link.paths.is_empty() {
        let message = "a pipe has two directions and no paths: use uplink and downlink";
        return Err(SettingFault::at(link.stations.span(), message));
    }
    Ok(())
}

/// Refuses a rate that only the line of a pipe can have: a pause, and none.
fn check_rate_of_radio(link: &Link) -> Checked {
    let mut rates =
        [&link.both, &link.uplink, &link.downlink].into_iter().filter_map(|it| it.rate.as_ref());
    rates.find(|rate| rate.get_ref().rate().is_none()).map_or(Ok(()), |rate| {
        let message = format!(
            "a radio cannot have rate = \"{}\": give one such as 2Mbps, or use kind = \"pipe\"",
            rate.get_ref()
        );
        Err(SettingFault::at(rate.span(), message))
    })
}

/// Refuses what only the wire of a pipe has.
fn check_no_wire(link: &Link, kind: &str) -> Checked {
    for direction in [&link.both, &link.uplink, &link.downlink] {
        let is_of_others = |aspect: &AppliesTo| !matches!(aspect, AppliesTo::Pipe);
        if let Some((key, span)) = foreign_setting(direction, is_of_others) {
            let message = format!("a {kind} has no {key}: remove it, or use kind = \"pipe\"");
            return Err(SettingFault::at(span, message));
        }
    }
    Ok(())
}

/// Refuses a number of stations that the link cannot join.
fn check_size(link: &Link) -> Checked {
    let stations = link.stations.get_ref().len();
    let (fits, of) = match link.kind() {
        LinkKind::Pipe => (stations == 2, "a pipe joins 2 stations"),
        LinkKind::Gsm => (stations == 2, "a gsm circuit joins 2 stations"),
        LinkKind::Wavelan => {
            ((2..=255).contains(&stations), "a wavelan link joins 2 to 255 stations")
        }
        LinkKind::WifiB | LinkKind::WifiG => {
            ((2..=5000).contains(&stations), "a wifi link joins 2 to 5000 stations")
        }
    };
    if fits {
        return Ok(());
    }
    let fix = if stations < 2 { "more" } else { "fewer" };
    let message = format!("{of}, not {stations}: name {fix}");
    Err(SettingFault::at(link.stations.span(), message))
}

/// A path says what the air is like; the rest belongs to the stations.
fn check_path(path: &Path) -> Checked {
    let is_of_air = |aspect: &AppliesTo| matches!(aspect, AppliesTo::Air | AppliesTo::Errors(_));
    match foreign_setting(&path.air, is_of_air) {
        None => Ok(()),
        Some((key, span)) => {
            let message = format!("a path says only what the air does: move {key} to the link");
            Err(SettingFault::at(span, message))
        }
    }
}

/// The first setting of a direction whose aspect does not fit.
fn foreign_setting(
    direction: &Direction,
    fits: impl Fn(&AppliesTo) -> bool,
) -> Option<(&'static str, Range<usize>)> {
    let set = Direction::TABLE.iter().filter(|setting| setting.is_set(direction));
    let mut foreign = set.filter(|it| !it.metadata.as_ref().is_some_and(&fits));
    foreign.next().map(|it| (it.name, it.field(direction).span().unwrap_or_default()))
}

/// Only coded frames can be padded; they are coded in both directions if in one.
fn check_padding(link: &Link) -> Checked {
    let [up, down] = Side::BOTH.map(|side| link.direction(side));
    let is_coded = [&up, &down].into_iter().any(Direction::is_coded);
    if is_coded || up.padded.is_none() && down.padded.is_none() {
        return Ok(());
    }
    let message = "padded says how coded frames are filled, and these are not coded: add policy";
    Err(SettingFault::at(link.stations.span(), message))
}

/// All stations of a radio share one rate, and are too near each other for a delay.
fn check_wavelan(link: &Link) -> Checked {
    link.paths.iter().try_for_each(check_path)?;
    check_no_radio(link)?;
    check_no_wire(link, "wavelan link")?;
    check_rate_of_radio(link)?;
    for direction in [&link.uplink, &link.downlink] {
        if let Some(rate) = &direction.rate {
            let message = "both directions of a wavelan link share one rate: set it on the link";
            return Err(SettingFault::at(rate.span(), message));
        }
    }
    for direction in [&link.both, &link.uplink, &link.downlink] {
        if let Some(trace) = &direction.rate_trace {
            let message = "a wavelan link has a fixed rate: use rate, or kind = \"pipe\"";
            return Err(SettingFault::at(trace.span(), message));
        }
        if let Some(delay) = direction.delay.as_ref().filter(|delay| !delay.get_ref().is_zero()) {
            let message = "a wavelan link has no delay: remove it, or use kind = \"pipe\"";
            return Err(SettingFault::at(delay.span(), message));
        }
    }
    Ok(())
}

/// A wifi link has a radio, and what the radio does nothing else can say.
fn check_wifi(link: &Link) -> Checked {
    check_rate_of_radio(link)?;
    if let Some(mtu) = link.mtu.as_ref().filter(|mtu| *mtu.get_ref() > MAX_MTU) {
        let message =
            format!("an MTU of {} is too long for 802.11: use at most {MAX_MTU}", mtu.get_ref());
        return Err(SettingFault::at(mtu.span(), message));
    }
    for direction in [&link.both, &link.uplink, &link.downlink] {
        if let Some((key, span)) = foreign_setting(direction, AppliesTo::is_of_every_link) {
            let message = format!(
                "a wifi link has no {key}, since its radio decides what arrives: remove it, or use \
                 kind = \"pipe\""
            );
            return Err(SettingFault::at(span, message));
        }
    }
    check_attempts(link)?;
    if !link.paths.is_empty() {
        let message = "a wifi link has positions and no paths: give its stations radio.position";
        return Err(SettingFault::at(link.stations.span(), message));
    }
    Ok(())
}

/// The attempts of an 802.11 radio have one setting: `arq`, or those of the radio.
fn check_attempts(link: &Link) -> Checked {
    let directions = [&link.both, &link.uplink, &link.downlink];
    let Some(arq) = directions.into_iter().find_map(|it| it.arq.as_ref()) else { return Ok(()) };
    match link.radio.attempts_set() {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("arq and {name} both say how often a radio sends a frame: remove one");
            Err(SettingFault::at(arq.span(), message))
        }
    }
}

/// Only wifi links have a radio of this kind.
fn check_no_radio(link: &Link) -> Checked {
    if link.radio.is_unset() {
        return Ok(());
    }
    let message = "only wifi links have a distance and a radio: add kind = \"wifi-g\"";
    Err(SettingFault::at(link.stations.span(), message))
}

/// The interfaces of a station, which is on the links `own`.
fn check_station(station: &Station, own: &[&Link]) -> Checked {
    let name = station.name.get_ref();
    let mut seen = BTreeSet::new();
    for interface in &station.interfaces {
        let link = interface.link.get_ref();
        if !own.iter().any(|candidate| candidate.name() == *link) {
            let names: Vec<String> = own.iter().map(|link| link.name()).collect();
            let message = format!(
                "station \"{name}\" has no link \"{link}\": its links are {}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            );
            return Err(SettingFault::at(interface.link.span(), message));
        }
        if !seen.insert(link) {
            let message = format!("link \"{link}\" has two interface tables here: merge them");
            return Err(SettingFault::at(interface.link.span(), message));
        }
    }
    Ok(())
}

fn check_app(app: &App, stations: &BTreeSet<&str>) -> Checked {
    known_station(app.station.get_ref(), app.station.span(), stations)?;
    let kind = *app.kind.get_ref();
    let name = kind.text();
    match app.to.as_ref().map(|to| (to.get_ref(), to.span())) {
        Some((Target::Station(name), span)) => known_station(name, span, stations)?,
        Some((Target::Address(to), span)) if is_group(*to) && !DATAGRAMS.contains(&kind) => {
            let message = format!("{to} is a group, and {name} speaks to one station: name it");
            return Err(SettingFault::at(span, message));
        }
        _ => {}
    }
    if kind != AppKind::Sink && app.to.is_none() {
        let message = format!("{name} needs a destination: add to = \"STATION\"");
        return Err(SettingFault::at(app.kind.span(), message));
    }
    if let Some((key, span)) = foreign_key(app, kind) {
        let message = format!("{name} has no key \"{key}\": remove it");
        return Err(SettingFault::at(span, message));
    }
    table::check(app)?;
    if matches!(kind, AppKind::Cbr | AppKind::SapStream)
        && app.rate.is_none()
        && app.interval.is_none()
    {
        let fix = "write one of rate = \"64kbps\", interval = \"20ms\"";
        let message = format!("{name} takes either a rate or an interval: {fix}");
        return Err(SettingFault::at(app.kind.span(), message));
    }
    check_arrivals(app, &name)?;
    check_sap(app, kind)?;
    if let Some(interval) = app.interval.as_ref().filter(|i| i.get_ref().is_zero()) {
        let message = "an interval of 0 never lets time pass: use a time such as 20ms";
        return Err(SettingFault::at(interval.span(), message));
    }
    if let Some(coverage) = &app.coverage {
        if app.transport.value() != Some(AppTransport::Udplite) {
            let message = "only UDP-Lite has a coverage: add transport = \"udplite\"";
            return Err(SettingFault::at(coverage.span(), message));
        }
        if (1..8).contains(coverage.get_ref()) {
            let message = format!(
                "a coverage of {} is illegal: use 0 for all, or 8 and more",
                coverage.get_ref()
            );
            return Err(SettingFault::at(coverage.span(), message));
        }
        let bytes = app.size.value().map(|size| size.saturating_add(8));
        if let Some(bytes) = bytes.filter(|bytes| u32::from(*coverage.get_ref()) > *bytes) {
            let message = format!(
                "a coverage of {} is more than the {bytes} bytes of a datagram: use 0 for all",
                coverage.get_ref()
            );
            return Err(SettingFault::at(coverage.span(), message));
        }
    }
    if let (Some(start), Some(stop)) = (&app.start, &app.stop)
        && stop.get_ref() <= start.get_ref()
    {
        let message = format!("the end at {} is not after the start", stop.get_ref());
        return Err(SettingFault::at(stop.span(), message));
    }
    Ok(())
}

/// Refuses a group that the first link of the sender, on which it would go, does not reach.
fn check_group(app: &App, first: Option<&Link>) -> Checked {
    let Some(Target::Address(to)) = app.to.as_ref().map(Spanned::get_ref) else { return Ok(()) };
    let is_polled = |it: &&Link| it.kind().is_polled() && it.stations.get_ref().len() > 2;
    first.filter(is_polled).filter(|_| is_group(*to)).map_or(Ok(()), |link| {
        let message = format!(
            "\"{}\" is a polled radio, which carries {to} to one station alone: name stations, or \
             use kind = \"wifi-g\"",
            link.name()
        );
        Err(SettingFault::at(app.station.span(), message))
    })
}

/// Refuses messages that SAP cannot send.
fn check_sap(app: &App, kind: AppKind) -> Checked {
    if !kind.is_sap() {
        return Ok(());
    }
    let bytes = app.size.value().unwrap_or(sap::SIZE);
    let is_paper = app.profile.value() == Some(Profile::Paper);
    let most = if is_paper { PAPER_SIZE } else { u32::MAX };
    if let Some(size) = app.size.as_ref().filter(|_| bytes == 0 || bytes > most) {
        let message = match bytes {
            0 => "a message of 0 bytes shows nothing: use a size of 1 and more".to_owned(),
            _ => format!(
                "a message of {bytes} bytes fits into no datagram, and the paper's profile cuts \
                 none: use at most {PAPER_SIZE}"
            ),
        };
        return Err(SettingFault::at(size.span(), message));
    }
    if let Some(protected) = app.protected.as_ref().filter(|it| *it.get_ref() > bytes) {
        let message = format!(
            "{} protected bytes are more than the {bytes} of a message: use at most those",
            protected.get_ref()
        );
        return Err(SettingFault::at(protected.span(), message));
    }
    if is_paper && sap::mode(app) == AppMode::Approximate && kind == AppKind::SapBulk {
        return app.rate.as_ref().map_or_else(|| Err(unlimited(app)), |_| Ok(()));
    }
    Ok(())
}

/// Nothing limits approximate messages of the paper's profile.
fn unlimited(app: &App) -> SettingFault {
    let message = "the paper's profile has no congestion control, so that approximate messages \
                   would all go at once: add rate = \"1Mbps\"";
    SettingFault::at(app.kind.span(), message)
}

/// Times of on and off belong to on–off arrivals, and those need both.
fn check_arrivals(app: &App, name: &str) -> Result<(), SettingFault> {
    let arrivals = app.arrivals.as_ref();
    let is_on_off = arrivals.is_some_and(|word| *word.get_ref() == AppArrivals::OnOff);
    for (key, time) in [("on", &app.on), ("off", &app.off)] {
        match time {
            Some(time) if !is_on_off => {
                let message =
                    format!("{key} belongs to on-off arrivals: add arrivals = \"on-off\"");
                return Err(SettingFault::at(time.span(), message));
            }
            Some(time) if time.get_ref().is_zero() => {
                let message = format!("{key} = 0 is no period: use a time such as 100ms");
                return Err(SettingFault::at(time.span(), message));
            }
            None if is_on_off => {
                let span = arrivals.map_or(app.kind.span(), Spanned::span);
                let message = format!("{name} on and off needs both times: add {key} = \"100ms\"");
                return Err(SettingFault::at(span, message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first setting of `app` that means nothing to an application of `kind`.
fn foreign_key(app: &App, kind: AppKind) -> Option<(&'static str, Range<usize>)> {
    let set = App::TABLE.iter().filter(|setting| setting.is_set(app));
    let mut foreign = set.filter(|it| it.metadata.is_some_and(|kinds| !kinds.contains(&kind)));
    foreign.next().map(|it| (it.name, it.field(app).span().unwrap_or_default()))
}
