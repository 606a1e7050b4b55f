//! Whether a link can do to one flow what the flow asks for.

use windfall_link::Arq;
use windfall_settings::Get;

use super::Checked;
use crate::direction::Direction;
use crate::error::SettingFault;
use crate::flows::Flow;
use crate::link::{Link, LinkKind};
use crate::model::Scenario;
use crate::side::Side;

/// The impairments by which frames arrive out of order.
const DELAYS: [&str; 3] = ["delay", "jitter", "reorder"];

/// A frame of an impaired flow must carry one packet, and late ones must not count as lost.
pub(super) fn check(scenario: &Scenario) -> Checked {
    let impaired = scenario.flows.iter().filter(|flow| flow.is_impaired());
    impaired.flat_map(|flow| scenario.links.iter().map(move |link| (flow, link))).try_for_each(
        |(flow, link)| {
            check_frames(flow, link)?;
            check_order(flow, link, scenario)
        },
    )
}

/// Refuses impairments on links whose frames do not carry one whole packet each.
fn check_frames(flow: &Flow, link: &Link) -> Checked {
    let is_coded = directions(link).iter().any(Direction::is_coded);
    let why = match link.kind() {
        LinkKind::Pipe if is_coded => "coded frames carry parts of packets: remove policy",
        LinkKind::Pipe => return Ok(()),
        LinkKind::Gsm => "blocks of a gsm circuit carry parts of packets: use kind = \"pipe\"",
        LinkKind::Wavelan | LinkKind::WifiB | LinkKind::WifiG => {
            "the air of a radio does not know flows: use kind = \"pipe\""
        }
    };
    let name = flow.name.get_ref();
    let key = flow.impairment(|_| true).unwrap_or_default();
    let message = format!(
        "flow \"{name}\" cannot have {key} on link \"{}\", since {why}, or give {key} to the whole \
         link",
        link.name()
    );
    Err(SettingFault::at(flow.name.span(), message))
}

/// Refuses to delay one flow where a link numbers the frames of all flows: it would take its frames
/// for lost ones.
fn check_order(flow: &Flow, link: &Link, scenario: &Scenario) -> Checked {
    let Some(key) = flow.impairment(|name| DELAYS.contains(&name)) else { return Ok(()) };
    let is_numbered = |it: &Direction| it.arq.value().is_some_and(|arq| arq != Arq::None);
    let both = directions(link);
    let cause = if both.iter().any(is_numbered) {
        "arq"
    } else if scenario.flows.iter().any(Flow::repeats) {
        "the attempts of flows"
    } else {
        return Ok(());
    };
    let name = flow.name.get_ref();
    let message = format!(
        "flow \"{name}\" cannot have {key} on link \"{}\", since the link waits for packets in \
         their order and would hold up all others: remove {cause}, or give {key} to the whole link",
        link.name()
    );
    Err(SettingFault::at(flow.name.span(), message))
}

fn directions(link: &Link) -> [Direction; 2] {
    Side::BOTH.map(|side| link.direction(side))
}

#[cfg(test)]
mod tests;
