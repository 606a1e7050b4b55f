//! An index of rules, to find those that may match a packet.

use core::net::IpAddr;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Headers, Rule};

/// The fields for which a rule requires one exact value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Exact {
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
}

impl Exact {
    fn of_rule(rule: &Rule) -> Self {
        let host = |block: Option<IpNet>| {
            block.filter(|it| it.prefix_len() == it.max_prefix_len()).map(|it| it.addr())
        };
        let port = |ports: &Option<RangeInclusive<u16>>| {
            ports.as_ref().filter(|ports| ports.start() == ports.end()).map(|ports| *ports.start())
        };
        Self {
            source: host(rule.source),
            destination: host(rule.destination),
            source_port: port(&rule.source_ports),
            destination_port: port(&rule.destination_ports),
        }
    }

    fn of_packet(packet: &Headers<'_>) -> Self {
        Self {
            source: Some(packet.source),
            destination: Some(packet.destination),
            source_port: packet.ports.map(|ports| ports.0),
            destination_port: packet.ports.map(|ports| ports.1),
        }
    }

    /// Of these, those that `other` has as well.
    fn as_in(self, other: &Self) -> Self {
        Self {
            source: other.source.and(self.source),
            destination: other.destination.and(self.destination),
            source_port: other.source_port.and(self.source_port),
            destination_port: other.destination_port.and(self.destination_port),
        }
    }

    fn has_the_fields_of(&self, other: &Self) -> bool {
        self.as_in(other) == *self && other.as_in(self) == *other
    }
}

/// Rules by their exact fields: one table for each set of exact fields. There are few such sets,
/// even if there are many rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index(Vec<BTreeMap<Exact, Vec<usize>>>);

impl Index {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut tables: Vec<BTreeMap<Exact, Vec<usize>>> = Vec::new();
        for (place, rule) in rules.iter().enumerate() {
            let exact = Exact::of_rule(rule);
            let alike = |table: &BTreeMap<Exact, _>| {
                table.keys().next().is_some_and(|key| key.has_the_fields_of(&exact))
            };
            let table = tables.iter().position(alike).unwrap_or_else(|| {
                tables.push(BTreeMap::new());
                tables.len() - 1
            });
            tables[table].entry(exact).or_default().push(place);
        }
        Self(tables)
    }

    /// Returns the first rule whose exact fields equal those of the packet, and that `matches` in
    /// the others.
    pub(super) fn first(
        &self,
        packet: &Headers<'_>,
        matches: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let own = Exact::of_packet(packet);
        let of_table = |table: &BTreeMap<Exact, Vec<usize>>| {
            let (fields, _) = table.first_key_value()?;
            let places = table.get(&own.as_in(fields))?;
            places.iter().copied().find(|place| matches(*place))
        };
        self.0.iter().filter_map(of_table).min()
    }
}
