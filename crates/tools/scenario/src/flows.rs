//! Flows with a share or impairments of their own: what a scenario says of them, and what an
//! interface and a path make of it.

mod impairments;

use core::num::{NonZeroU8, NonZeroU16};
use core::str::FromStr;

use toml::Spanned;
use windfall_base::{Class, Duration, FlowId, ParseUnitError, Rate};
use windfall_queue::FlowConfig;
use windfall_queue::admission::{Admission, FlowClass, Reservation, is_overcommitted};
use windfall_settings::table::Listed;
use windfall_settings::{Choice, Get, Setting, Settings, settings};
use windfall_stack::{Picks, Protocol, Rule, ScheduledFlow};

use crate::error::SettingFault;
use crate::values::{DURATIONS, PacketNumbers, Prefix};

pub use impairments::Impairments;

settings! {
    /// The settings of a flow: the packets that belong to it, its share of a link, and what happens
    /// to it beside what the link does to all packets.
    pub struct Flow {
        /// Network that its packets come from
        "from" from: Prefix { value: "NET", example: "10.77.0.1/32", unset: "any" }
        /// Network that its packets go to
        "to" to: Prefix { value: "NET", example: "10.77.0.2/32", unset: "any" }
        /// Protocol of its packets
        "protocol" protocol: FlowProtocol { value: "NAME", example: "udp", unset: "any" }
        /// Source port
        "src-port" src_port: u16 [1..=65_535] {
            option: "src port", value: "N", example: "5004", unset: "any",
        }
        /// Destination port
        "dst-port" dst_port: u16 [1..=65_535] {
            option: "dst port", value: "N", example: "5004", unset: "any",
        }
        /// Differentiated-services code point
        "dscp" dscp: u8 [0..=63] { value: "N", example: "46", unset: "any" }
        /// Share of what reserved flows leave, in proportion to the weights of others
        "weight" weight: f64 [1e-6..=1e6] {
            value: "W", example: "2", default: "1", excludes: "reserve",
        }
        /// Throughput to guarantee
        "reserve" reserve: Rate {
            value: "RATE", example: "64kbps", unset: "none", excludes: "weight",
            requirement: "S3.33",
        }
        /// Bytes of the packets for which the reservation is computed
        "packet-size" packet_size: NonZeroU16 [NonZeroU16::MIN..=NonZeroU16::MAX] {
            value: "N", example: "500", unset: "those of the MTU",
            detail: "Small packets take more air for the same data.",
        }
        /// Limit of the effort spent on it, as a multiple of its share
        "power-factor" power_factor: f64 [1.0..=1e6] {
            value: "P", example: "2", requirement: "S3.35",
            unset: "3 for reservations up to 64 kb/s, 1.5 for larger ones, 1.2 for none",
        }
        /// Attempts in all for each of its packets
        "attempts" attempts: NonZeroU8 [NonZeroU8::MIN..=NonZeroU8::MAX] {
            value: "N", example: "3", unset: "as the link",
        }
        /// Time after which its packets are worthless on a link
        "lifetime" lifetime: Duration [DURATIONS] {
            value: "TIME", example: "50ms", unset: "no limit",
        }
        /// Hand its packets up as they arrive, in whatever order
        "unordered" unordered: bool {
            value: "SWITCH", example: "on", default: "off",
            detail: "None waits for a repetition or repair of another. Links that send one packet \
                     at a time and lines of bytes keep their order all the same.",
        }
        /// Accept its packets even if damaged
        "accept-damaged" accept_damaged: bool {
            value: "SWITCH", example: "on", unset: "as the link",
            detail: "On 802.11 the receiver tells the flow by the headers that arrived.",
        }
        /// Packets of it that are lost, by their numbers from 1: "3, 7..9, syn"
        "lose" lose: PacketNumbers {
            value: "PACKETS", example: "3", unset: "none",
            detail: "Each direction of a link counts its own. `7..9` are packets 7, 8 and 9, \
                     `syn` is every TCP segment with SYN, and `syn 1` the first of them. In \
                     `--flow` quotes hold a list together: `lose \"3, 7..9, syn\"`. Where a link \
                     retransmits, the first frame of the packet is lost.",
        }
        /// Packets of it of which one bit is inverted, as `lose` names them
        "damage" damage: PacketNumbers { value: "PACKETS", example: "3", unset: "none" }
        /// Packets of it that arrive twice, as `lose` names them
        "copy" copy: PacketNumbers { value: "PACKETS", example: "3", unset: "none" }
        listed impairments: Impairments,
    }
    required {
        /// Name of the flow, unique in the scenario
        "name" name: String { value: "NAME", example: "video" }
    }
}

/// The settings that pick packets from a flow.
const PICKS: [&str; 3] = ["lose", "damage", "copy"];

/// The protocol of the packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowProtocol {
    /// The Transmission Control Protocol.
    Tcp,
    /// The User Datagram Protocol.
    Udp,
    /// The lightweight variant of UDP.
    Udplite,
}

impl Choice for FlowProtocol {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("tcp", Self::Tcp, "TCP"),
        ("udp", Self::Udp, "UDP"),
        ("udplite", Self::Udplite, "UDP-Lite"),
    ];
}

impl Flow {
    /// A flow of this name to which every packet belongs.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: Spanned::new(0..0, name.to_owned()), ..Self::unset() }
    }

    /// The power factor, or the one that the paper suggests for such a flow (S3.35).
    fn power(&self) -> f64 {
        self.power_factor
            .value()
            .unwrap_or_else(|| FlowClass::of(self.reserve.value()).power_factor())
    }

    /// Tells whether it asks for more than one attempt.
    pub(crate) fn repeats(&self) -> bool {
        self.attempts.value().is_some_and(|attempts| attempts.get() > 1)
    }

    fn rule(&self, flow: FlowId, own_order: bool) -> Rule {
        Rule {
            source: self.from.value().map(|prefix| prefix.net()),
            destination: self.to.value().map(|prefix| prefix.net()),
            protocol: self.protocol.value().map(|protocol| match protocol {
                FlowProtocol::Tcp => Protocol::TCP,
                FlowProtocol::Udp => Protocol::UDP,
                FlowProtocol::Udplite => Protocol::UDP_LITE,
            }),
            source_ports: self.src_port.value().map(|port| port..=port),
            destination_ports: self.dst_port.value().map(|port| port..=port),
            dscp: self.dscp.value(),
            partly_covered: false,
            picks: Picks {
                lose: self.lose.value().map(|it| it.0),
                damage: self.damage.value().map(|it| it.0),
                copy: self.copy.value().map(|it| it.0),
            },
            class: Class {
                flow,
                attempts: self.attempts.value(),
                accept_damaged: self.accept_damaged.value(),
                lifetime: self.lifetime.value(),
                unordered: self.unordered.value().unwrap_or(false),
                own_order,
                ..Class::default()
            },
        }
    }
}

impl FromStr for Flow {
    type Err = ParseUnitError;

    /// Reads `NAME: CLAUSE, CLAUSE…`, such as `video: dst port 5004, reserve 350kbps`, as it stands
    /// on a command line: a time needs its unit.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let Some((name, clauses)) = text.split_once(':') else {
            return Err(ParseUnitError::new("flow", text, advice()));
        };
        let mut flow = Self::named(name.trim());
        let clauses = split(clauses);
        for clause in clauses.map(str::trim).filter(|clause| !clause.is_empty()) {
            flow.read(clause)
                .map_err(|advice| ParseUnitError::new("clause of a flow", clause, advice))?;
        }
        Ok(flow)
    }
}

/// Returns the parts of a text between commas. A comma within double quotes parts nothing.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |letter| {
        is_quoted ^= letter == '"';
        letter == ',' && !is_quoted
    })
}

/// The clauses that there are.
fn advice() -> String {
    let clauses = Flow::TABLE.iter().filter(|setting| !setting.is_required);
    let clauses: Vec<String> = clauses.map(Flow::clause).collect();
    format!("write NAME: clauses with commas between, of {}", clauses.join(", "))
}

impl Flow {
    /// Returns the form of the clause of a setting: the name and its value, or words that stand
    /// alone.
    #[must_use]
    pub fn clause(setting: &Setting<Self>) -> String {
        match (setting.words)().as_slice() {
            [] => format!("{} {}", setting.option(), setting.value),
            _ if setting.is_switch() => setting.name.to_owned(),
            words => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
        }
    }

    /// The value in a clause, if the clause is one of this setting.
    fn value_in<'a>(setting: &Setting<Self>, clause: &'a str) -> Option<&'a str> {
        match clause.strip_prefix(setting.option()) {
            Some("") if setting.is_switch() => Some("on"),
            Some(rest) if rest.starts_with(' ') => Some(rest.trim()),
            _ if setting.is_switch() => None,
            _ => (setting.words)().iter().any(|(word, _)| *word == clause).then_some(clause),
        }
    }

    /// Takes one clause; an error is the advice what to write instead.
    fn read(&mut self, clause: &str) -> Result<(), String> {
        let words = clause.split_whitespace().collect::<Vec<_>>().join(" ");
        let settings = Self::TABLE.iter().filter(|setting| !setting.is_required);
        let found = settings.filter_map(|it| Some((it, Self::value_in(it, &words)?))).next();
        let (setting, value) = found.ok_or_else(advice)?;
        setting.set_by_option(self, value.trim_matches('"'))
    }
}

/// The capacity of a link for reservations.
pub(crate) struct Capacity<'a> {
    /// The longest packet, in bytes.
    pub(crate) mtu: u16,
    /// The rate that it carries of packets of this size without errors; `None` if that varies.
    pub(crate) of_packets: &'a dyn Fn(usize) -> Option<Rate>,
    /// The fraction of it that something else takes than packets and their acknowledgements.
    pub(crate) taken: f64,
}

//= S3.33
//= S3.37
/// The rules and shares of the flows of `scenario` on a link of this capacity.
///
/// The flow of place *i* has the number *i* + 1.
pub(crate) fn admit(
    flows: &[Flow],
    capacity: &Capacity<'_>,
    overcommit: bool,
) -> Result<(Vec<Rule>, Vec<ScheduledFlow>), SettingFault> {
    if let Some(flow) = flows.get(usize::from(u16::MAX)) {
        let message = format!("{} flows: no more than {} can be told apart", flows.len(), u16::MAX);
        return Err(SettingFault::at(flow.name.span(), message));
    }
    let mut admission = Admission::new(overcommit).without(capacity.taken);
    let own_order = flows.iter().any(Flow::is_impaired);
    let mut rules = Vec::new();
    let mut shares = Vec::new();
    for (flow, number) in flows.iter().zip(1..=u16::MAX) {
        rules.push(flow.rule(FlowId(number), own_order));
        if !flow.has_queue() {
            continue;
        }
        let weight = flow.weight_on(capacity, &mut admission).map_err(|message| {
            let name = flow.name.get_ref();
            SettingFault::at(flow.name.span(), format!("flow \"{name}\": {message}"))
        })?;
        let power_factor = flow.power();
        let reserve = flow.reserve.value();
        let share = FlowConfig { weight, power_factor, reserved: reserve.is_some() };
        shares.push(ScheduledFlow { flow: FlowId(number), share, reserve });
    }
    if own_order {
        // What is lost of one flow would hold up all others behind it.
        let class = Class { own_order, ..Class::NONE };
        rules.push(Rule { class, ..Rule::default() });
    }
    Ok((rules, shares))
}

impl Flow {
    /// Tells whether something happens to its packets that does not happen to others.
    pub(crate) fn is_impaired(&self) -> bool {
        self.impairment(|_| true).is_some()
    }

    /// Returns the name of the first of its impairments whose name fits.
    pub(crate) fn impairment(&self, fits: impl Fn(&str) -> bool) -> Option<&'static str> {
        let is_impairment = |name: &str| {
            PICKS.contains(&name) || <Impairments as Listed<Self>>::names().any(|it| it == name)
        };
        let set = Self::TABLE.iter().filter(|row| is_impairment(row.name) && row.is_set(self));
        set.map(|row| row.name).find(|name| fits(name))
    }

    /// Tells whether the bits of its packets are hit.
    pub(crate) fn has_bit_errors(&self) -> bool {
        self.damage.is_some() || self.impairments.0.has_bit_errors()
    }

    /// Tells whether its packets wait in a queue of their own. A flow that is only impaired keeps
    /// its place among the others, so that these are served as they would be without it.
    pub(crate) fn has_queue(&self) -> bool {
        let Self { weight, reserve, packet_size, power_factor, .. } = self;
        let has_share = weight.is_some()
            || reserve.is_some()
            || packet_size.is_some()
            || power_factor.is_some();
        has_share || !self.is_impaired()
    }
}

/// Returns the flows that are impaired, with their numbers.
pub(crate) fn impaired(flows: &[Flow]) -> impl Iterator<Item = (FlowId, &Flow)> {
    let numbered = (1..=u16::MAX).map(FlowId).zip(flows);
    numbered.filter(|(_, flow)| flow.is_impaired())
}

/// Returns the flows of which a link keeps ledgers: those whose packets fare unlike others.
pub(crate) fn counted(flows: &[Flow]) -> Vec<FlowId> {
    impaired(flows).map(|(number, _)| number).collect()
}

impl Flow {
    /// Its weight on a link: of a reserved flow the fraction of the link that it takes.
    fn weight_on(&self, capacity: &Capacity<'_>, admission: &mut Admission) -> Result<f64, String> {
        let power_factor = self.power();
        let weight = match (self.reserve.value(), self.weight.value()) {
            (Some(rate), _) => {
                let size = self.packet_size.value().map_or(capacity.mtu, NonZeroU16::get);
                let link = (capacity.of_packets)(size.into()).ok_or(
                    "a reservation is a part of a known rate: give the link a rate, or the flow a \
                     weight",
                )?;
                admission
                    .admit(link, Reservation { rate, power_factor })
                    .map_err(|refusal| refusal.to_string())?
            }
            (None, weight) => weight.unwrap_or(1.0),
        };
        let share = FlowConfig { weight, power_factor, reserved: self.reserve.is_some() };
        share.check().map_err(|error| error.to_string())?;
        Ok(weight)
    }
}

//= S3.46
/// The share of a link that its reserved flows can take at worst, with what else takes some of it,
/// if that is more than all.
pub(crate) fn overcommitment(flows: &[ScheduledFlow], taken: f64) -> Option<f64> {
    let reserved = flows.iter().map(|flow| flow.share).filter(|share| share.reserved);
    let worst: f64 = reserved.map(|share| share.weight * share.power_factor).sum();
    (worst > 0.0 && is_overcommitted(taken + worst)).then_some(taken + worst)
}

#[cfg(test)]
mod tests;
