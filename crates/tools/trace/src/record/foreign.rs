//! Packets of other flows in the capture of a receiver.
//!
//! Only an undamaged packet shows that it is of another flow: the addresses and ports of a damaged
//! one may be wrong.

use std::collections::BTreeSet;

use windfall_files::pcapng::read::CapturedPacket;

use super::flow::{Ends, Flow, Hosts};
use super::link;

/// Returns the numbers of the received packets that are undamaged and belong to no flow of the
/// packets that were sent. The packets are still as they were captured.
///
/// Without a received packet between hosts of the sent ones there are none: a router may have
/// translated the addresses.
pub(super) fn numbers(sent: &[CapturedPacket], received: &[CapturedPacket]) -> BTreeSet<usize> {
    let flows: BTreeSet<Ends> = sent.iter().filter_map(Flow::of_packet).map(|it| it.ends).collect();
    let hosts: BTreeSet<Hosts> = flows.iter().map(|(hosts, _)| *hosts).collect();
    let mut has_known = false;
    let mut numbers = BTreeSet::new();
    for (number, packet) in received.iter().enumerate() {
        let is_foreign = match Flow::of_packet(packet) {
            Some(flow) if hosts.contains(&flow.ends.0) => {
                has_known = true;
                !flows.contains(&flow.ends) && flow.is_whole()
            }
            Some(flow) => flow.has_right_header || flow.is_whole(),
            None => link::is_of_another_protocol(packet),
        };
        if is_foreign {
            numbers.insert(number);
        }
    }
    if has_known { numbers } else { BTreeSet::new() }
}
