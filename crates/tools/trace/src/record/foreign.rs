//! Packets of other flows in the capture of a receiver.
//!
//! Only an undamaged packet shows that it is of another flow: the addresses and ports of a damaged
//! one may be wrong.

use std::collections::BTreeSet;

use windfall_files::pcapng::read::CapturedPacket;

use super::flow::{Ends, Flow, Hosts};
use super::{RecordError, link};

/// Returns the numbers of the received packets that are undamaged and belong to no flow of the
/// packets that were sent. The packets are still as they were captured.
///
/// # Errors
/// If there are undamaged packets, and none of them is between hosts of the sent ones.
pub(super) fn numbers(
    sent: &[CapturedPacket],
    received: &[CapturedPacket],
) -> Result<BTreeSet<usize>, RecordError> {
    let flows: BTreeSet<Ends> = sent.iter().filter_map(Flow::of_packet).map(|it| it.ends).collect();
    let hosts: BTreeSet<Hosts> = flows.iter().map(|(hosts, _)| *hosts).collect();
    let mut has_known = hosts.is_empty();
    let mut other = None;
    let mut numbers = BTreeSet::new();
    for (number, packet) in received.iter().enumerate() {
        let is_foreign = match Flow::of_packet(packet) {
            Some(flow) if hosts.contains(&flow.ends.0) => {
                has_known = true;
                !flows.contains(&flow.ends) && flow.is_whole()
            }
            Some(flow) => {
                let is_whole = flow.is_whole();
                other = other.or(is_whole.then_some(flow.ends.0.0));
                is_whole || flow.has_right_header
            }
            None => link::is_of_another_protocol(packet),
        };
        if is_foreign {
            numbers.insert(number);
        }
    }
    match other {
        Some(ends) if !has_known => Err(RecordError::OtherAddresses(ends.src(), ends.dst())),
        _ => Ok(numbers),
    }
}
