//! Whether everything that a scenario says can be: names that exist, values that fit together.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use windfall_base::Duration;

use crate::error::{Fault, nearest};
use crate::model::{
    App, AppKind, AppTransport, ArrivalsWord, Direction, FORMAT, Link, LinkKind, Path, Scenario,
    Station,
};
use crate::values::Target;
use crate::wifi::MAX_MTU;

type Checked = Result<(), Fault>;

/// The shortest MTU that carries an IPv4 packet with a full header and a fragment (RFC 791).
const LEAST_MTU: u16 = 68;

/// Finds the first thing in `scenario` that cannot be.
pub(crate) fn scenario(scenario: &Scenario) -> Checked {
    let format = *scenario.format.get_ref();
    if format != FORMAT {
        let message = format!("format {format} is unknown: this program reads format {FORMAT}");
        return Err(Fault::at(scenario.format.span(), message));
    }
    if let Some(duration) = scenario.duration.as_ref().filter(|d| d.get_ref().is_zero()) {
        let message = "a duration of 0 shows nothing: write a time such as 10s";
        return Err(Fault::at(duration.span(), message));
    }
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
            return Err(Fault::at(span, message));
        }
    }
    check_flows(scenario)?;
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
    scenario.apps.iter().try_for_each(|app| check_app(app, &stations))
}

fn check_flows(scenario: &Scenario) -> Checked {
    let mut flows = BTreeSet::new();
    for flow in &scenario.flows {
        check_name(&flow.name)?;
        let name = flow.name.get_ref();
        if !flows.insert(name) {
            let message = format!("another flow is called \"{name}\": give it its own name");
            return Err(Fault::at(flow.name.span(), message));
        }
        if let Some(dscp) = flow.dscp.filter(|dscp| *dscp > 63) {
            let message = format!("flow \"{name}\": code point {dscp}: use 0 to 63");
            return Err(Fault::at(flow.name.span(), message));
        }
    }
    Ok(())
}

fn unique_stations(stations: &[Station]) -> Result<BTreeSet<&str>, Fault> {
    let mut names = BTreeSet::new();
    for Station { name, .. } in stations {
        check_name(name)?;
        let text = name.get_ref().as_str();
        if !names.insert(text) {
            let message = format!("another station is called \"{text}\": give it its own name");
            return Err(Fault::at(name.span(), message));
        }
    }
    Ok(names)
}

/// Names become parts of the names of files, namespaces and devices.
fn check_name(name: &Spanned<String>) -> Checked {
    let text = name.get_ref();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=32).contains(&text.len()) && text.chars().all(fits) && !text.starts_with('-') {
        return Ok(());
    }
    let fix = "use 1 to 32 letters, digits, underscores, and hyphens behind the first";
    Err(Fault::at(name.span(), format!("\"{text}\" cannot be a name: {fix}")))
}

fn known_station(name: &str, span: Range<usize>, stations: &BTreeSet<&str>) -> Checked {
    if stations.contains(name) {
        return Ok(());
    }
    let fix = match nearest(name, stations.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("add a [[station]] with name = \"{name}\""),
    };
    Err(Fault::at(span, format!("no station is called \"{name}\": {fix}")))
}

fn check_link(link: &Link, stations: &BTreeSet<&str>) -> Checked {
    let ends = link.stations.get_ref();
    let mut seen = BTreeSet::new();
    for end in ends {
        known_station(end.get_ref(), end.span(), stations)?;
        if !seen.insert(end.get_ref()) {
            let message =
                format!("\"{}\" stands at two ends of one link: name two stations", end.get_ref());
            return Err(Fault::at(end.span(), message));
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
            return Err(Fault::at(name.span(), message));
        }
    }
    if let Some(mtu) = link.mtu.as_ref().filter(|mtu| *mtu.get_ref() < LEAST_MTU) {
        let message = format!(
            "an MTU of {} carries no IP packet: use {LEAST_MTU} to 65535, with IPv6 1280 or more",
            mtu.get_ref()
        );
        return Err(Fault::at(mtu.span(), message));
    }
    for direction in [&link.both(), &link.uplink, &link.downlink] {
        check_direction(direction)?;
    }
    check_padding(link)?;
    match link.kind() {
        LinkKind::Wavelan => check_wavelan(link),
        LinkKind::WifiB | LinkKind::WifiG => check_wifi(link),
        LinkKind::Pipe => check_pipe(link),
    }
}

fn check_pipe(link: &Link) -> Checked {
    check_no_radio(link)?;
    if let Some(base) = &link.base {
        let message = "a pipe has no base station: remove it, or use kind = \"wavelan\"";
        return Err(Fault::at(base.span(), message));
    }
    if !link.paths.is_empty() {
        let message = "a pipe has two directions and no paths: use uplink and downlink";
        return Err(Fault::at(link.stations.span(), message));
    }
    Ok(())
}

/// How many stations a link joins.
fn check_size(link: &Link) -> Checked {
    let stations = link.stations.get_ref().len();
    let (fits, of) = match link.kind() {
        LinkKind::Pipe => (stations == 2, "a pipe joins 2 stations"),
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
    let message = format!("{of}, not {stations}: write [\"near\", \"far\"]");
    Err(Fault::at(link.stations.span(), message))
}

/// A path says what the air is like; the rest belongs to the stations.
fn check_path(path: &Path) -> Checked {
    let mut air = path.said();
    let wrong = [
        ("rate", air.rate.take().map(|v| v.span())),
        ("rate-trace", air.rate_trace.take().map(|v| v.span())),
        ("delay", air.delay.take().map(|v| v.span())),
        ("arq", air.arq.take().map(|v| v.span())),
        ("queue", air.queue.take().map(|v| v.span())),
        ("policy", air.policy.map(|_| 0..0)),
        ("padded", air.padded.map(|_| 0..0)),
        ("accept-damaged", air.accept_damaged.map(|_| 0..0)),
    ];
    let at = path.from.as_ref().or(path.to.as_ref()).map_or(0..0, Spanned::span);
    match wrong.into_iter().find_map(|(key, span)| Some((key, span?))) {
        None => Ok(()),
        Some((key, span)) => {
            let message = format!("a path says only what the air does: move {key} to the link");
            Err(Fault::at(if span.is_empty() { at } else { span }, message))
        }
    }
}

fn check_direction(direction: &Direction) -> Checked {
    let longest = Duration::from_secs(3600);
    if let Some(delay) = direction.delay.as_ref().filter(|d| *d.get_ref() > longest) {
        let message = format!("a delay of {} is too long: use at most 1h", delay.get_ref());
        return Err(Fault::at(delay.span(), message));
    }
    if let (Some(_), Some(trace)) = (&direction.rate, &direction.rate_trace) {
        let message = "a direction has a rate or a rate trace, not both: remove one of them";
        return Err(Fault::at(trace.span(), message));
    }
    Ok(())
}

/// Only coded frames can be padded; they are coded in both directions if in one.
fn check_padding(link: &Link) -> Checked {
    let [up, down] = [link.direction(true), link.direction(false)];
    let is_coded = up.policy.or(down.policy).is_some();
    if is_coded || up.padded.or(down.padded).is_none() {
        return Ok(());
    }
    let message = "padded says how coded frames are filled, and these are not coded: add policy";
    Err(Fault::at(link.stations.span(), message))
}

/// All stations of a radio share one rate, and are too near each other for a delay.
fn check_wavelan(link: &Link) -> Checked {
    link.paths.iter().try_for_each(check_path)?;
    check_no_radio(link)?;
    for direction in [&link.uplink, &link.downlink] {
        if let Some(rate) = &direction.rate {
            let message = "both directions of a wavelan link share one rate: set it on the link";
            return Err(Fault::at(rate.span(), message));
        }
    }
    for direction in [&link.both(), &link.uplink, &link.downlink] {
        if let Some(trace) = &direction.rate_trace {
            let message = "a wavelan link has a fixed rate: use rate, or kind = \"pipe\"";
            return Err(Fault::at(trace.span(), message));
        }
        if let Some(delay) = direction.delay.as_ref().filter(|delay| !delay.get_ref().is_zero()) {
            let message = "a wavelan link has no delay: remove it, or use kind = \"pipe\"";
            return Err(Fault::at(delay.span(), message));
        }
    }
    Ok(())
}

/// A wifi link has a radio, and what the radio does nothing else can say.
fn check_wifi(link: &Link) -> Checked {
    if let Some(mtu) = link.mtu.as_ref().filter(|mtu| *mtu.get_ref() > MAX_MTU) {
        let message =
            format!("an MTU of {} is too long for 802.11: use at most {MAX_MTU}", mtu.get_ref());
        return Err(Fault::at(mtu.span(), message));
    }
    let own = ["rate", "arq", "accept_damaged", "queue"];
    for direction in [&link.both(), &link.uplink, &link.downlink] {
        if let Some(key) = direction.said().into_iter().find(|key| !own.contains(key)) {
            let key = key.replace('_', "-");
            let message = format!(
                "a wifi link has no {key}, since its radio decides what arrives: remove it, or use \
                 kind = \"pipe\""
            );
            return Err(Fault::at(link.stations.span(), message));
        }
    }
    if !link.paths.is_empty() {
        let message = "a wifi link has positions and no paths: give its stations radio.position";
        return Err(Fault::at(link.stations.span(), message));
    }
    Ok(())
}

/// Only wifi links have a radio of this kind.
fn check_no_radio(link: &Link) -> Checked {
    if link.radio.is_silent() {
        return Ok(());
    }
    let message = "only wifi links have a distance and a radio: add kind = \"wifi-g\"";
    Err(Fault::at(link.stations.span(), message))
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
            return Err(Fault::at(interface.link.span(), message));
        }
        if !seen.insert(link) {
            let message = format!("link \"{link}\" has two interface tables here: merge them");
            return Err(Fault::at(interface.link.span(), message));
        }
    }
    Ok(())
}

fn check_app(app: &App, stations: &BTreeSet<&str>) -> Checked {
    known_station(app.station.get_ref(), app.station.span(), stations)?;
    if let Some(to) = &app.to
        && let Target::Station(name) = to.get_ref()
    {
        known_station(name, to.span(), stations)?;
    }
    let kind = *app.kind.get_ref();
    let name = app_name(kind);
    if kind != AppKind::Sink && app.to.is_none() {
        let message = format!("{name} needs somebody to speak to: add to = \"STATION\"");
        return Err(Fault::at(app.kind.span(), message));
    }
    if let Some((key, span)) = foreign_key(app, kind) {
        let message = format!("{name} has no key \"{key}\": remove it");
        return Err(Fault::at(span, message));
    }
    if app.rate.is_some() && app.interval.is_some()
        || kind == AppKind::Cbr && app.rate.is_none() && app.interval.is_none()
    {
        let fix = "write one of rate = \"64kbps\", interval = \"20ms\"";
        let message = format!("{name} takes either a rate or an interval: {fix}");
        return Err(Fault::at(app.kind.span(), message));
    }
    check_arrivals(app, name)?;
    if let Some(interval) = app.interval.as_ref().filter(|i| i.get_ref().is_zero()) {
        let message = "an interval of 0 never lets time pass: use a time such as 20ms";
        return Err(Fault::at(interval.span(), message));
    }
    if let Some(size) = app.size.as_ref().filter(|size| *size.get_ref() > 65_507) {
        let message = format!("{} bytes fit in no datagram: use at most 65507", size.get_ref());
        return Err(Fault::at(size.span(), message));
    }
    if let Some(coverage) = &app.coverage {
        let is_lite = app.transport.as_ref().map(|t| *t.get_ref()) == Some(AppTransport::Udplite);
        if !is_lite {
            let message = "only UDP-Lite has a coverage: add transport = \"udplite\"";
            return Err(Fault::at(coverage.span(), message));
        }
        if (1..8).contains(coverage.get_ref()) {
            let message = format!(
                "a coverage of {} is illegal: use 0 for all, or 8 and more",
                coverage.get_ref()
            );
            return Err(Fault::at(coverage.span(), message));
        }
    }
    if let (Some(start), Some(stop)) = (&app.start, &app.stop)
        && stop.get_ref() <= start.get_ref()
    {
        let message = format!("the end at {} is not after the start", stop.get_ref());
        return Err(Fault::at(stop.span(), message));
    }
    Ok(())
}

/// Times of on and off belong to on–off arrivals, and those need both.
fn check_arrivals(app: &App, name: &str) -> Result<(), Fault> {
    let arrivals = app.arrivals.as_ref();
    let is_on_off = arrivals.is_some_and(|word| *word.get_ref() == ArrivalsWord::OnOff);
    for (key, time) in [("on", &app.on), ("off", &app.off)] {
        match time {
            Some(time) if !is_on_off => {
                let message =
                    format!("{key} belongs to on-off arrivals: add arrivals = \"on-off\"");
                return Err(Fault::at(time.span(), message));
            }
            Some(time) if time.get_ref().is_zero() => {
                let message = format!("{key} = 0 is no period: use a time such as 100ms");
                return Err(Fault::at(time.span(), message));
            }
            None if is_on_off => {
                let span = arrivals.map_or(app.kind.span(), Spanned::span);
                let message = format!("{name} on and off needs both times: add {key} = \"100ms\"");
                return Err(Fault::at(span, message));
            }
            _ => {}
        }
    }
    Ok(())
}

fn app_name(kind: AppKind) -> &'static str {
    match kind {
        AppKind::Ping => "ping",
        AppKind::Spray => "spray",
        AppKind::Cbr => "cbr",
        AppKind::Sink => "sink",
        AppKind::Bulk => "bulk",
    }
}

/// The first key of `app` that means nothing to an application of `kind`.
fn foreign_key(app: &App, kind: AppKind) -> Option<(&'static str, Range<usize>)> {
    let span = |key, span: Option<Range<usize>>, fits: bool| {
        span.filter(|_| !fits).map(|span| (key, span))
    };
    let sends = kind != AppKind::Sink;
    let is_stream = kind == AppKind::Bulk;
    let is_datagram = kind != AppKind::Ping && !is_stream;
    let is_counted = sends && !is_stream;
    let is_paced = sends && is_datagram;
    span("to", app.to.as_ref().map(Spanned::span), sends)
        .or_else(|| span("port", app.port.as_ref().map(Spanned::span), is_datagram || is_stream))
        .or_else(|| span("transport", app.transport.as_ref().map(Spanned::span), is_datagram))
        .or_else(|| span("size", app.size.as_ref().map(Spanned::span), is_counted))
        .or_else(|| span("rate", app.rate.as_ref().map(Spanned::span), is_paced))
        .or_else(|| span("arrivals", app.arrivals.as_ref().map(Spanned::span), is_paced))
        .or_else(|| span("on", app.on.as_ref().map(Spanned::span), is_paced))
        .or_else(|| span("off", app.off.as_ref().map(Spanned::span), is_paced))
        .or_else(|| span("interval", app.interval.as_ref().map(Spanned::span), is_counted))
        .or_else(|| span("count", app.count.as_ref().map(Spanned::span), is_counted))
        .or_else(|| span("bytes", app.bytes.as_ref().map(Spanned::span), is_stream))
        .or_else(|| span("start", app.start.as_ref().map(Spanned::span), sends))
        .or_else(|| span("stop", app.stop.as_ref().map(Spanned::span), sends))
        .or_else(|| span("coverage", app.coverage.as_ref().map(Spanned::span), is_datagram))
}
