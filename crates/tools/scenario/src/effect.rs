//! Settings that change nothing by themselves: they are refused where what they need is missing.

use core::ops::Range;

use toml::Spanned;
use windfall_base::{LineRate, Rate};
use windfall_channel::{Bucket, Model, RangeOrigin};
use windfall_link::Arq;
use windfall_sap::Profile;
use windfall_settings::{Get, Requirement, Setting, Settings, value_if_set};
use windfall_wire_link::ieee80211::Phy;

use crate::app::{App, AppArrivals, AppMode};
use crate::direction::{Checksums, Direction};
use crate::error::SettingFault;
use crate::flows::Flow;
use crate::link::{Link, LinkKind, Path};
use crate::model::{RunSettings, Scenario};
use crate::sap;
use crate::side::Side;
use crate::station::Station;
use crate::wifi::{ProtectionWord, Radio, StationMode, StationRadio};

type Checked = Result<(), SettingFault>;

/// The shortest headers before a payload, those of IPv4 and UDP, in bytes.
const LEAST_HEADERS: u32 = 28;

/// A setting that has an effect only under a condition: its row, the condition, and what to say
/// where it does not hold, with the fix.
type Condition<T, In> = (fn() -> &'static Setting<T>, fn(&T, &In) -> bool, &'static str);

/// Finds the first setting of `scenario` that changes nothing.
pub(crate) fn check(scenario: &Scenario) -> Checked {
    hold(&scenario.run, scenario, RUN)?;
    scenario.flows.iter().try_for_each(|flow| check_flow(flow, scenario))?;
    for link in &scenario.links {
        hold(&link.radio, link, RADIO)?;
        check_rts_rate(link, scenario)?;
        check_air(link, scenario)?;
        check_wire(link)?;
        check_combining(link, scenario)?;
        check_checksums(link, scenario)?;
    }
    scenario.stations.iter().try_for_each(|station| check_radio(station, scenario))?;
    scenario.apps.iter().try_for_each(|app| hold(app, scenario, APP))
}

const RUN: &[Condition<RunSettings, Scenario>] = &[(
    || RunSettings::row(|it| &it.overcommit),
    |run, scenario| !run.admits_too_much() || scenario.flows.iter().any(|it| it.reserve.is_some()),
    "no flow has a reservation: give a flow a reserve",
)];

const FLOW: &[Condition<Flow, Scenario>] = &[(
    || Flow::row(|it| &it.packet_size),
    |flow, _| flow.reserve.is_some(),
    "it belongs to a reservation: give the flow a reserve",
)];

/// Checks that what a flow says of its share and its impairments has an effect.
fn check_flow(flow: &Flow, scenario: &Scenario) -> Checked {
    hold(flow, scenario, FLOW)?;
    let own = &flow.impairments.0;
    needs(own, core::slice::from_ref(own), None)?;
    let Some(range) = &own.range else { return Ok(()) };
    let longest = scenario.links.iter().map(Link::mtu).max().unwrap_or(u16::MAX);
    let checked = own.check_range(flow.has_bit_errors(), longest.into());
    checked.map_err(|message| SettingFault::at(range.span(), message))
}

const APP: &[Condition<App, Scenario>] = &[
    (
        || App::row(|it| &it.jitter),
        |app, _| app.arrivals.value() != Some(AppArrivals::Poisson),
        "the times of poisson are random already: choose other arrivals",
    ),
    (|| App::row(|it| &it.protected), |app, _| is_approximate(app), PRECISE),
    (|| App::row(|it| &it.tolerance), |app, _| is_approximate(app), PRECISE),
    (
        || App::row(|it| &it.tolerance),
        |app, _| app.profile.value() != Some(Profile::Paper),
        "the paper's profile does not say which bytes are damaged: choose profile = \"standard\"",
    ),
    (|| App::row(|it| &it.newest_first), |app, _| is_approximate(app), PRECISE),
    (|| App::row(|it| &it.lateness), |app, _| is_approximate(app), PRECISE),
];

/// Why a setting of approximate messages changes nothing.
const PRECISE: &str = "precise messages arrive whole and in order: choose mode = \"approximate\"";

fn is_approximate(app: &App) -> bool {
    sap::mode(app) == AppMode::Approximate
}

const RADIO: &[Condition<Radio, Link>] = &[
    (
        || Radio::row(|it| &it.attempts),
        |radio, _| radio.short_attempts.is_none() || radio.long_attempts.is_none(),
        "short-attempts and long-attempts say it of every frame: choose one or two of the three",
    ),
    (
        || Radio::row(|it| &it.slot),
        |_, link| link.kind().phy() != Some(Phy::B),
        "802.11b has long slots alone: use kind = \"wifi-g\"",
    ),
];

/// Checks that RTS or CTS are sent where their rate is set: before long frames, or before those
/// of OFDM.
fn check_rts_rate(link: &Link, scenario: &Scenario) -> Checked {
    let radio = &link.radio;
    let Some(said) = &radio.rts_rate else { return Ok(()) };
    let setting = Radio::row(|it| &it.rts_rate);
    let Some(threshold) = setting.lacking(radio) else { return Ok(()) };
    let is_for_g = link.kind().phy() == Some(Phy::G);
    if is_for_g && is_protected(link, scenario) {
        return Ok(());
    }
    let or = if is_for_g { " or protection = \"cts-to-self\"" } else { "" };
    Err(SettingFault::at(said.span(), setting.idle_without(threshold, or)))
}

/// Tells whether frames of OFDM are protected on a link of 802.11g: by its word, or for a station
/// of 802.11b.
fn is_protected(link: &Link, scenario: &Scenario) -> bool {
    let is_of_b = |station: &Station| {
        let mode = station.radio.as_ref().and_then(|radio| radio.mode.value());
        let mut names = link.stations.get_ref().iter().map(Spanned::get_ref);
        let is_here = names.any(|it| it == station.name.get_ref());
        is_here && mode == Some(StationMode(Some(Phy::B)))
    };
    match link.radio.protection.value() {
        Some(ProtectionWord(protection)) => protection.is_some(),
        None => scenario.stations.iter().any(is_of_b),
    }
}

/// Checks the conditions of the settings that `object` has.
fn hold<T: Settings, In>(object: &T, place: &In, conditions: &[Condition<T, In>]) -> Checked {
    let broken = conditions.iter().find_map(|(row, holds, why)| {
        let setting = row();
        let is_idle = setting.is_set(object) && !holds(object, place);
        is_idle.then(|| fault(setting, object, why))
    });
    broken.map_or(Ok(()), Err)
}

/// Says why a setting of `object` changes nothing.
fn fault<T: Settings>(setting: &Setting<T>, object: &T, why: &str) -> SettingFault {
    let span = setting.field(object).span().unwrap_or_default();
    SettingFault::at(
        span,
        format!("{} changes nothing here, since {why}, or remove it", setting.name),
    )
}

/// Refuses the first setting of the wire in `said` that needs what none of `whole` has; `at` is
/// where that is said, if not where the setting stands. What is off or none needs nothing.
pub(crate) fn needs(said: &Direction, whole: &[Direction], at: Option<&Range<usize>>) -> Checked {
    let idle = Direction::TABLE.iter().find_map(|setting| {
        let Requirement { is_met, by } = setting.requires?;
        setting.text(said).filter(|text| !["none", "off"].contains(&text.as_str()))?;
        if whole.iter().any(is_met) {
            return None;
        }
        let key = setting.name;
        let why = format!("{key} changes nothing here without {by}: add it, or remove {key}");
        Some(SettingFault::at(at.cloned().or_else(|| setting.field(said).span())?, why))
    });
    idle.map_or(Ok(()), Err)
}

/// Checks that what directions say of their wire has an effect.
fn check_wire(link: &Link) -> Checked {
    let whole = Side::BOTH.map(|side| link.direction(side));
    whole.iter().try_for_each(|direction| check_bucket(direction, link.mtu()))?;
    // A link may say for both what one of them needs.
    let directions = [&link.uplink, &link.downlink, &link.both];
    directions.into_iter().try_for_each(|said| needs(said, &whole, None))
}

/// Checks that a bucket lets bursts pass: that it holds a packet of `mtu` bytes, and that its peak
/// rate is higher than the rate.
pub(crate) fn check_bucket(direction: &Direction, mtu: u16) -> Checked {
    let said = direction.bucket.as_ref().zip(direction.constant_rate());
    let Some((bucket, rate)) = said else { return Ok(()) };
    let Some(Bucket { burst, peak }) = *bucket.get_ref() else { return Ok(()) };
    if burst.0 < u64::from(mtu) {
        let message = format!(
            "a bucket of {burst} holds no packet of the link, which has {mtu} bytes: give it at \
             least {mtu}B, or set a shorter mtu"
        );
        return Err(SettingFault::at(bucket.span(), message));
    }
    peak.filter(|peak| *peak <= rate).map_or(Ok(()), |peak| {
        let message = format!(
            "a bucket with a peak of {peak} lets no burst pass at {rate}: give it more, or none"
        );
        Err(SettingFault::at(bucket.span(), message))
    })
}

impl Direction {
    /// Tells whether the times between slots have a distribution.
    pub(crate) fn has_gaps(&self) -> bool {
        value_if_set(&self.slots).is_some_and(|slots| slots.has_distribution())
    }

    /// Tells whether packets are lost that can be marked; those in coded frames cannot.
    pub(crate) fn can_mark(&self) -> bool {
        !self.is_coded() && self.models().any(Impairment::only_loses)
    }

    /// Tells whether frames take time on the way, beside that of their bytes.
    pub(crate) fn has_delay(&self) -> bool {
        value_if_set(&self.jitter).is_some()
            || self.delay.value().is_some_and(|delay| !delay.is_zero())
    }

    /// Tells whether the bytes of frames take time.
    pub(crate) fn has_rate(&self) -> bool {
        self.has_constant_rate() || self.rate_trace.is_some()
    }

    /// Tells whether a rate is set, or a pause.
    pub(crate) fn has_constant_rate(&self) -> bool {
        self.rate.value().is_some_and(|rate| rate != LineRate::Unlimited)
    }

    /// Returns the rate, if there is one that is set and above 0.
    pub(crate) fn constant_rate(&self) -> Option<Rate> {
        self.rate.value().and_then(LineRate::rate)
    }
}

/// Checks that frames are retransmitted whose copies are to be combined, or whose parity is to be
/// sent.
fn check_combining(link: &Link, scenario: &Scenario) -> Checked {
    let is_repeated = |direction: &Direction| match direction.arq.value() {
        Some(arq) => ![Arq::None, Arq::after(0)].contains(&arq),
        None => !link.kind().is_wire() || direction.is_coded(),
    };
    if scenario.flows.iter().any(Flow::repeats) {
        return Ok(());
    }
    for direction in Side::BOTH.map(|side| link.direction(side)) {
        let keys = [
            (
                Direction::row(|it| &it.combine),
                direction.combine.as_ref(),
                "arq = \"persistent\" or a policy",
            ),
            (
                Direction::row(|it| &it.increments),
                direction.increments.as_ref(),
                "arq = \"persistent\"",
            ),
        ];
        let set = keys.into_iter().filter_map(|(row, it, fix)| Some((row.name, it?, fix)));
        let is_of_no_use = |it: &Spanned<bool>| *it.get_ref() && !is_repeated(&direction);
        if let Some((key, value, fix)) = set.into_iter().find(|(_, it, _)| is_of_no_use(it)) {
            let message = format!(
                "{key} changes nothing here, since each frame is sent once: add {fix}, or remove it"
            );
            return Err(SettingFault::at(value.span(), message));
        }
    }
    Ok(())
}

/// Checks that packets may arrive damaged whose checksums are cleared or mended, and that their
/// headers can be spared where they are mended.
fn check_checksums(link: &Link, scenario: &Scenario) -> Checked {
    let is_accepted_of_flow =
        scenario.flows.iter().any(|it| it.accept_damaged.value() == Some(true));
    let whole = Side::BOTH.map(|side| link.direction(side));
    let is_accepted = whole.iter().any(|it| it.accept_damaged.value() == Some(true));
    for said in [&link.both, &link.uplink, &link.downlink] {
        let Some(checksums) = &said.checksums else { continue };
        let fault = |message: &str| Err(SettingFault::at(checksums.span(), message.to_owned()));
        if *checksums.get_ref() == Checksums::Keep {
            continue;
        }
        if !is_accepted && !is_accepted_of_flow {
            return fault(
                "checksums changes nothing here, since no packet is delivered damaged: add \
                 accept-damaged = true, or remove it",
            );
        }
        let is_coded = whole.iter().any(Direction::is_coded);
        if *checksums.get_ref() == Checksums::Mend && (is_coded || link.kind() == LinkKind::Gsm) {
            return fault(
                "checksums = \"mend\" would turn damaged headers into good ones here, since \
                 errors of gsm and of coded frames fall anywhere: use checksums = \"clear\"",
            );
        }
    }
    Ok(())
}

/// Checks that what the directions and paths of a link say of their errors finds errors.
fn check_air(link: &Link, scenario: &Scenario) -> Checked {
    let in_flows = scenario.flows.iter().any(Flow::has_bit_errors);
    let [ups, downs] = Side::BOTH.map(|side| airs(link, side));
    let all = [ups.clone(), downs.clone()].concat();
    let own = [(&link.both, &all), (&link.uplink, &ups), (&link.downlink, &downs)];
    let of_paths = link.paths.iter().map(|path| (&path.air, &all));
    own.into_iter()
        .chain(of_paths)
        .try_for_each(|(said, airs)| check_said(said, airs, in_flows, link.mtu()))
}

/// Returns the air of a direction of a link, and that on each of its paths.
fn airs(link: &Link, side: Side) -> Vec<Direction> {
    let direction = link.direction(side);
    let on_path = |path: &Path| {
        let mut air = direction.clone();
        air.overlay(&path.air);
        air
    };
    let paths: Vec<_> = link.paths.iter().map(on_path).collect();
    [vec![direction], paths].concat()
}

/// Checks what `said` limits or adds to the errors of `airs`, and limits of those that flows have
/// of their own, if they have any.
fn check_said(said: &Direction, airs: &[Direction], in_flows: bool, mtu: u16) -> Checked {
    if let Some(range) = &said.range {
        let has_bit_errors = in_flows || airs.iter().any(Direction::has_bit_errors);
        let checked = said.check_range(has_bit_errors, mtu.into());
        checked.map_err(|message| SettingFault::at(range.span(), message))?;
    }
    let exposed = said.expose.as_ref().filter(|parts| !parts.get_ref().is_empty());
    match exposed.filter(|_| airs.iter().all(|air| air.models().next().is_none())) {
        Some(parts) => {
            let message = "expose changes nothing here, since the air does no damage: add ber = \
                           1e-5 or another error model, or remove it";
            Err(SettingFault::at(parts.span(), message))
        }
        None => Ok(()),
    }
}

/// An error model of a direction: `None` for an environment or a trace.
struct Impairment(Option<Model>);

impl Impairment {
    /// Tells whether it loses frames and leaves the bits of others alone.
    fn only_loses(self) -> bool {
        self.0.is_some_and(|model| model.only_loses())
    }
}

impl Direction {
    /// Tells whether the air has an error model that does something to the bits of a frame.
    #[must_use]
    pub fn has_bit_errors(&self) -> bool {
        self.models().any(|it| !it.only_loses())
    }

    /// Returns the error models that there are.
    fn models(&self) -> impl Iterator<Item = Impairment> + '_ {
        let listed = self.errors().models.into_iter().map(|model| Impairment(Some(model)));
        let others = [self.environment.is_some(), self.error_trace.is_some()];
        listed.chain(others.into_iter().filter(|is_there| *is_there).map(|_| Impairment(None)))
    }

    /// Checks that bit errors, if there are any, can fall into the range, if there is one, of
    /// packets of up to `longest` bytes.
    ///
    /// # Errors
    /// Says why none can, and the fix.
    pub fn check_range(&self, has_bit_errors: bool, longest: u32) -> Result<(), String> {
        let Some(range) = self.range.value() else { return Ok(()) };
        if !has_bit_errors {
            return Err("range changes nothing here, since it limits bit errors and there are \
                        none: add ber = 1e-5 or another model of bit errors, or remove it"
                .to_owned());
        }
        let headers = match range.origin {
            RangeOrigin::Packet => 0,
            RangeOrigin::Payload => LEAST_HEADERS,
        };
        if range.bytes.start.saturating_add(headers) >= longest {
            return Err(format!(
                "range {range} is beyond every packet: the longest has {longest} bytes, counted \
                 from 0"
            ));
        }
        Ok(())
    }
}

/// Checks that a station with a radio is on a link where its settings count.
fn check_radio(station: &Station, scenario: &Scenario) -> Checked {
    let Some(radio) = &station.radio else { return Ok(()) };
    let is_here = |link: &&Link| {
        let mut names = link.stations.get_ref().iter().map(Spanned::get_ref);
        link.kind().phy().is_some() && names.any(|name| name == station.name.get_ref())
    };
    let links: Vec<&Link> = scenario.links.iter().filter(is_here).collect();
    let name = station.name.get_ref();
    let set = StationRadio::TABLE.iter().find(|setting| setting.is_set(radio));
    if let Some(setting) = set.filter(|_| links.is_empty()) {
        let why = format!("station \"{name}\" is on no wifi link: put it on one");
        return Err(fault(setting, radio, &why));
    }
    let has_access_point = |link: &&Link| link.radio.infrastructure.value() == Some(true);
    hold(radio, &links.iter().any(has_access_point), STATION_RADIO)
}

/// Conditions of a station's radio, and whether one of its links has an access point.
const STATION_RADIO: &[Condition<StationRadio, bool>] = &[(
    || StationRadio::row(|it| &it.power_save),
    |radio, has_access_point| radio.power_save.value() != Some(true) || *has_access_point,
    "no access point keeps what comes for the station: add infrastructure = true to the radio of \
     the link",
)];

#[cfg(test)]
mod tests;
