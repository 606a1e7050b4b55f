//! Flows with a share of their own: what a scenario says of them, and what an interface makes of
//! it.

use core::fmt;
use core::num::{NonZeroU8, NonZeroU16};
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::Spanned;
use windfall_base::{Class, Duration, FlowId, ParseUnitError, Rate};
use windfall_queue::FlowConfig;
use windfall_queue::admission::{Admission, FlowClass, Reservation, is_overcommitted};
use windfall_stack::{Protocol, Rule, ScheduledFlow};

use crate::error::Fault;
use crate::values::Prefix;

/// A flow: which packets belong to it, its share of a link, and what its owner asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flow {
    /// Its name, unique in the scenario.
    pub name: Spanned<String>,
    /// Where its packets come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Prefix>,
    /// Where they go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Prefix>,
    /// What they carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<FlowProtocol>,
    /// Their source port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src_port: Option<u16>,
    /// Their destination port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_port: Option<u16>,
    /// Their differentiated-services code point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Its share of what reserved flows leave, in proportion to the weights of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The throughput to guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Rate>,
    /// Bytes of the packets for which the reservation is worked out; those of the MTU if silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<NonZeroU16>,
    /// How much more effort than its share is spent on it at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_factor: Option<f64>,
    /// Attempts in all for each of its packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<NonZeroU8>,
    /// Its packets are worthless after so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Duration>,
    /// Its packets are welcome even if damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_damaged: Option<bool>,
}

/// What the packets of a flow carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// UDP-Lite.
    Udplite,
}

impl Flow {
    /// A flow of this name to which every packet belongs.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: Spanned::new(0..0, name.to_owned()),
            from: None,
            to: None,
            protocol: None,
            src_port: None,
            dst_port: None,
            dscp: None,
            weight: None,
            reserve: None,
            packet_size: None,
            power_factor: None,
            attempts: None,
            lifetime: None,
            accept_damaged: None,
        }
    }

    /// The power factor, or the one that the paper suggests for such a flow (S3.35).
    fn power(&self) -> f64 {
        self.power_factor.unwrap_or_else(|| FlowClass::of(self.reserve).power_factor())
    }

    fn rule(&self, flow: FlowId) -> Rule {
        Rule {
            source: self.from.map(|prefix| prefix.net()),
            destination: self.to.map(|prefix| prefix.net()),
            protocol: self.protocol.map(|protocol| match protocol {
                FlowProtocol::Tcp => Protocol::TCP,
                FlowProtocol::Udp => Protocol::UDP,
                FlowProtocol::Udplite => Protocol::UDP_LITE,
            }),
            source_ports: self.src_port.map(|port| port..=port),
            destination_ports: self.dst_port.map(|port| port..=port),
            dscp: self.dscp,
            partly_covered: false,
            class: Class {
                flow,
                attempts: self.attempts,
                accept_damaged: self.accept_damaged,
                lifetime: self.lifetime,
                ..Class::default()
            },
        }
    }
}

impl FromStr for Flow {
    type Err = ParseUnitError;

    /// Reads `NAME: CLAUSE, CLAUSE…`, such as `video: dst port 5004, reserve 350kbps`.
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let fix = "write NAME: clauses with commas between, of src port N, dst port N, from NET, \
                   to NET, tcp, udp, udplite, dscp N, weight W, reserve RATE, packet-size N, \
                   power-factor P, attempts N, lifetime TIME, accept-damaged";
        let fault = || ParseUnitError::new("flow", text, fix);
        let (name, clauses) = text.split_once(':').ok_or_else(fault)?;
        let mut flow = Self::named(name.trim());
        for clause in clauses.split(',').map(str::trim).filter(|clause| !clause.is_empty()) {
            let wrong = || ParseUnitError::new("clause of a flow", clause, fix);
            flow.read(clause).ok_or_else(wrong)?;
        }
        Ok(flow)
    }
}

impl Flow {
    /// Takes one clause; `None` if it is none.
    fn read(&mut self, clause: &str) -> Option<()> {
        let words: Vec<&str> = clause.split_whitespace().collect();
        match words[..] {
            ["src", "port", port] => self.src_port = Some(port.parse().ok()?),
            ["dst", "port", port] => self.dst_port = Some(port.parse().ok()?),
            ["from", net] => self.from = Some(net.parse().ok()?),
            ["to", net] => self.to = Some(net.parse().ok()?),
            ["tcp"] => self.protocol = Some(FlowProtocol::Tcp),
            ["udp"] => self.protocol = Some(FlowProtocol::Udp),
            ["udplite"] => self.protocol = Some(FlowProtocol::Udplite),
            ["dscp", dscp] => self.dscp = Some(dscp.parse().ok().filter(|dscp| *dscp < 64)?),
            ["weight", weight] => self.weight = Some(weight.parse().ok()?),
            ["reserve", rate] => self.reserve = Some(rate.parse().ok()?),
            ["packet-size", bytes] => self.packet_size = Some(bytes.parse().ok()?),
            ["power-factor", power] => self.power_factor = Some(power.parse().ok()?),
            ["attempts", attempts] => self.attempts = Some(attempts.parse().ok()?),
            ["lifetime", time] => self.lifetime = Some(time.parse().ok()?),
            ["accept-damaged"] => self.accept_damaged = Some(true),
            _ => return None,
        }
        Some(())
    }
}

impl fmt::Display for FlowProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Udplite => "udplite",
        })
    }
}

/// What a link carries, as far as reservations go.
pub(crate) struct Capacity<'a> {
    /// The longest packet, in bytes.
    pub(crate) mtu: u16,
    /// What it carries without errors of packets of so many bytes; `None` if that varies.
    pub(crate) of_packets: &'a dyn Fn(usize) -> Option<Rate>,
    /// The fraction of it that something else takes than packets and their acknowledgements.
    pub(crate) taken: f64,
}

/// The rules and shares of the flows of `scenario` on a link of this capacity.
///
/// The flow of place *i* has the number *i* + 1.
//= S3.33
//= S3.37
pub(crate) fn admit(
    flows: &[Flow],
    capacity: &Capacity<'_>,
    overcommit: bool,
) -> Result<(Vec<Rule>, Vec<ScheduledFlow>), Fault> {
    if let Some(flow) = flows.get(usize::from(u16::MAX)) {
        let message = format!("{} flows: no more than {} can be told apart", flows.len(), u16::MAX);
        return Err(Fault::at(flow.name.span(), message));
    }
    let mut admission = Admission::new(overcommit).without(capacity.taken);
    let (mut rules, mut shares) = (Vec::new(), Vec::new());
    for (flow, number) in flows.iter().zip(1..=u16::MAX) {
        let weight = flow.weight_on(capacity, &mut admission).map_err(|message| {
            let name = flow.name.get_ref();
            Fault::at(flow.name.span(), format!("flow \"{name}\": {message}"))
        })?;
        let (power_factor, reserve) = (flow.power(), flow.reserve);
        let share = FlowConfig { weight, power_factor, reserved: reserve.is_some() };
        rules.push(flow.rule(FlowId(number)));
        shares.push(ScheduledFlow { flow: FlowId(number), share, reserve });
    }
    Ok((rules, shares))
}

impl Flow {
    /// Its weight on a link: of a reserved flow the fraction of the link that it takes.
    fn weight_on(&self, capacity: &Capacity<'_>, admission: &mut Admission) -> Result<f64, String> {
        let power_factor = self.power();
        let weight = match (self.reserve, self.weight) {
            (Some(_), Some(_)) => {
                return Err("it has a weight or a reservation, not both: remove one".to_owned());
            }
            (Some(rate), None) => {
                let size = self.packet_size.map_or(capacity.mtu, NonZeroU16::get);
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

/// The share of a link that its reserved flows can take at worst, with what else takes some of it,
/// if that is more than all.
//= S3.46
pub(crate) fn overcommitment(flows: &[ScheduledFlow], taken: f64) -> Option<f64> {
    let reserved = flows.iter().map(|flow| flow.share).filter(|share| share.reserved);
    let worst: f64 = reserved.map(|share| share.weight * share.power_factor).sum();
    (worst > 0.0 && is_overcommitted(taken + worst)).then_some(taken + worst)
}

#[cfg(test)]
mod tests;
