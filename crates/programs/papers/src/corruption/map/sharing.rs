//! Reports of corruption among others: two flows in one queue, and stations that collide.

use core::fmt::Write as _;

use windfall_base::{Duration, Seed};

use super::places::{NONE, TCP, WAYS};
use super::{delivered, operations, simulate};
use crate::experiment::ExperimentError;

const TWO_FLOWS: &str = include_str!("../../../../../../scenarios/paper-004/two-flows.toml");
const CONTENTION: &str = include_str!("../../../../../../scenarios/paper-004/contention.toml");

/// Packets that the shared bottleneck damages.
pub(super) const DAMAGED: [&str; 4] = ["0.1%", "0.5%", "1%", "2%"];
/// The reactions of the first of two flows; the other reports nothing.
pub(super) const REACTIONS: [(&str, &str); 4] = [
    ("no reports", "sack"),
    ("as a loss", "sack, corruption=extended, reaction=as-loss"),
    ("as a mark", "sack, corruption=extended, reaction=as-mark"),
    ("no reaction", "sack, corruption=extended, reaction=ignore"),
];
/// Position of the window that does not react.
pub(super) const IGNORED: usize = 3;

/// The rates of two flows, the first of which has each reaction, by damage, in Mb/s.
pub(super) type Flows = [[[f64; 2]; 4]; 4];

/// The radios on which stations contend: name, kind and rate.
pub(super) const RADIOS: [(&str, &str, &str); 2] =
    [("802.11b, 11 Mb/s", "wifi-b", "11Mbps"), ("802.11g, 54 Mb/s", "wifi-g", "54Mbps")];
/// Stations that send.
pub(super) const STATIONS: [usize; 3] = [2, 5, 10];
/// The TCP of all contending stations.
pub(super) const CROWDS: [(&str, &str); 4] = [
    WAYS[NONE],
    ("damage, no reaction", "sack, corruption=extended, reaction=ignore"),
    (
        "damage and losses of the link, no reaction",
        "sack, corruption=extended, reaction=ignore, link-losses=on",
    ),
    (
        "damage and losses of the link, as a mark",
        "sack, corruption=extended, reaction=as-mark, link-losses=on",
    ),
];

/// The contending stations together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crowd {
    /// The rate of all of them, in Mb/s.
    pub(super) rate: f64,
    /// The share of segments that were sent again.
    pub(super) resent: f64,
    /// The share of segments that were reported, damaged or lost.
    pub(super) reported: f64,
}

/// By radio, stations and TCP.
pub(super) type Crowds = [[[Crowd; 4]; 3]; 2];

/// Simulates the two flows of a seed.
pub(super) fn flows(
    figure: &'static str,
    seed: Seed,
    duration: Duration,
) -> Result<Flows, ExperimentError> {
    let mut all = Flows::default();
    for (damage, flows) in DAMAGED.iter().zip(&mut all) {
        for ((_, tcp), rates) in REACTIONS.iter().zip(flows) {
            let text = TWO_FLOWS
                .replace("\"1% 16", &format!("\"{damage} 16"))
                .replace("\"sack, corruption=extended\"", &format!("\"{tcp}\""));
            let simulation = simulate(figure, &text, seed, duration)?;
            // The receivers are the fifth and the sixth station.
            *rates = [4, 5].map(|station| delivered(&simulation, station));
        }
    }
    Ok(all)
}

/// Simulates the contending stations of a seed.
pub(super) fn crowds(
    figure: &'static str,
    seed: Seed,
    duration: Duration,
) -> Result<Crowds, ExperimentError> {
    let mut all = Crowds::default();
    for ((_, kind, rate), crowds) in RADIOS.iter().zip(&mut all) {
        for (stations, crowds) in STATIONS.iter().zip(crowds) {
            let text = contention(*stations).replace("wifi-b", kind).replace("11Mbps", rate);
            for ((_, tcp), crowd) in CROWDS.iter().zip(crowds) {
                let text = text.replace(TCP, &format!("tcp = \"{tcp}\""));
                let simulation = simulate(figure, &text, seed, duration)?;
                let senders = (1..=*stations).map(|it| operations(&simulation, it));
                let senders: Vec<_> = senders.collect();
                let sum = |of: fn(&windfall_tcp::Operations) -> u64| {
                    senders.iter().map(of).sum::<u64>() as f64
                };
                let sent = sum(|it| it.data_sent).max(1.0);
                *crowd = Crowd {
                    rate: delivered(&simulation, 0),
                    resent: sum(|it| it.retransmissions) / sent,
                    reported: sum(|it| it.notifications_received) / sent,
                };
            }
        }
    }
    Ok(all)
}

/// The scenario of contention with this number of stations that send.
fn contention(stations: usize) -> String {
    let names: Vec<String> = (1..=stations).map(|it| format!("\"s{it}\"")).collect();
    let list = format!("\"base\", {}", names.join(", "));
    let mut text = CONTENTION.replace("\"base\", \"s1\", \"s2\"", &list);
    for number in 3..=stations {
        // Connections that all begin at once collide until the stations give up.
        let start = 7 * number - 6;
        let _ = write!(
            text,
            "\n[[station]]\nname = \"s{number}\"\n{TCP}\n\n[[app]]\nkind = \"bulk\"\n\
             station = \"s{number}\"\nto = \"base\"\nstart = \"{start}ms\"\n"
        );
    }
    text
}
