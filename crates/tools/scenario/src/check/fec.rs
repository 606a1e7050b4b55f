//! Whether a code across packets fits what it codes.

use windfall_link::RepairConfig;
use windfall_link::repair::MOST_OVERHEAD;
use windfall_settings::{Get, placed, value_if_set};

use super::Checked;
use crate::direction::Direction;
use crate::error::SettingFault;
use crate::link::Link;
use crate::model::Scenario;
use crate::side::Side;
use crate::wifi::MAX_MTU;

/// Stations of a radio share one code across packets, and a frame has room for its repairs; frames
/// of blocks have a code of their own.
pub(super) fn check(link: &Link) -> Checked {
    let directions = [&link.both, &link.uplink, &link.downlink];
    let Some(fec) = directions.into_iter().find_map(|it| placed(&it.fec)) else { return Ok(()) };
    let fault = |message: String| Err(SettingFault::at(fec.span(), message));
    if directions.into_iter().any(Direction::is_coded) {
        return fault("fec and policy both code packets: remove one of them".to_owned());
    }
    if !link.kind().is_wire()
        && [&link.uplink, &link.downlink].into_iter().any(|it| value_if_set(&it.fec).is_some())
    {
        return fault("the stations of a radio share one code: set fec on the link".to_owned());
    }
    let longest = link.kind().phy().map_or(u16::MAX, |_| MAX_MTU);
    let mtu = link.mtu();
    let most = usize::from(longest) - MOST_OVERHEAD;
    if usize::from(mtu) > most {
        return fault(format!("fec leaves no room for packets of {mtu} bytes: add mtu = {most}"));
    }
    Ok(())
}

/// A packet that waits for repairs beyond its lifetime is worthless when they come.
pub(super) fn check_lifetimes(scenario: &Scenario) -> Checked {
    let limited = scenario.flows.iter().filter_map(|it| Some((it.lifetime.value()?, &it.name)));
    let Some((lifetime, name)) = limited.min_by_key(|(lifetime, _)| *lifetime) else {
        return Ok(());
    };
    let ends = |link: &Link| Side::BOTH.map(|side| link.direction(side));
    for fec in scenario.links.iter().flat_map(ends).filter_map(|it| placed(&it.fec)) {
        let RepairConfig { delay, .. } = *fec.get_ref();
        if delay > lifetime {
            let name = name.get_ref();
            let fix = fec.get_ref().within(lifetime);
            let message = format!(
                "fec waits {delay} for repairs, longer than the lifetime of flow \"{name}\", \
                 {lifetime}: {fix}"
            );
            return Err(SettingFault::at(fec.span(), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
