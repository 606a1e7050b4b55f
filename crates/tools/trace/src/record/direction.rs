//! The direction of packets in captures that do not tell it, as those converted to pcap: by their
//! addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use windfall_files::pcapng::Seen;
use windfall_files::pcapng::read::CapturedPacket;

use super::{Captured, RecordError, link};

/// The most addresses that an error names.
const NAMED: usize = 3;

/// Keeps the packets of the sender in captures that do not tell directions: by the address of the
/// `sender`, or by those of the packets of the peer, if its capture tells them.
///
/// # Errors
/// If neither is known, and packets go both ways.
pub(super) fn keep(
    sent: &mut Vec<CapturedPacket>,
    received: &mut Vec<CapturedPacket>,
    near: Captured<'_>,
    far: Captured<'_>,
    sender: Option<IpAddr>,
) -> Result<(), RecordError> {
    let [of_near, mut of_far] = [near, far].map(sources);
    if far.packets.iter().all(|packet| packet.seen != Seen::Arrived) {
        // Nothing arrived: it says sent of all packets.
        of_far.clear();
    }
    let near_tells = !of_near.is_empty();
    let far_tells = !of_far.is_empty();
    let ours = match sender {
        Some(address) => BTreeSet::from([address]),
        None if near_tells => of_near,
        None if far_tells => sent
            .iter()
            .filter_map(ends)
            .filter(|(source, _)| !of_far.contains(source))
            .map(|(source, _)| source)
            .collect(),
        None => {
            let pairs: BTreeSet<_> = sent.iter().filter_map(ends).collect();
            let Some((one, other)) =
                pairs.iter().find(|(from, to)| from != to && pairs.contains(&(*to, *from)))
            else {
                return Ok(());
            };
            return Err(RecordError::BothWays(*one, *other));
        }
    };
    if !near_tells {
        if let Some(address) = sender {
            check_sender(address, sent)?;
        }
        sent.retain(|packet| ends(packet).is_some_and(|(source, _)| ours.contains(&source)));
    }
    if !far_tells {
        // One whose addresses are damaged may be of the sender.
        let goes_back =
            |(source, to): (IpAddr, IpAddr)| ours.contains(&to) && !ours.contains(&source);
        received.retain(|packet| !ends(packet).is_some_and(goes_back));
    }
    Ok(())
}

/// Checks that packets were sent from the address that was named.
fn check_sender(address: IpAddr, sent: &[CapturedPacket]) -> Result<(), RecordError> {
    let sources: BTreeSet<_> = sent.iter().filter_map(ends).map(|(source, _)| source).collect();
    if sent.is_empty() || sources.contains(&address) {
        return Ok(());
    }
    let mut there: Vec<_> = sources.iter().take(NAMED).map(IpAddr::to_string).collect();
    if sources.len() > NAMED {
        there.push("others".to_owned());
    }
    Err(match there.pop() {
        None => RecordError::NoPacketOfIp(sent.len()),
        Some(last) if there.is_empty() => RecordError::NotFromSender { address, there: last },
        Some(last) => {
            let there = format!("{} and {last}", there.join(", "));
            RecordError::NotFromSender { address, there }
        }
    })
}

/// The addresses from which a capture that tells directions has packets that its end sent.
fn sources(capture: Captured<'_>) -> BTreeSet<IpAddr> {
    let sent = capture.packets.iter().filter(|it| it.seen != Seen::Arrived);
    sent.filter_map(ends).map(|(source, _)| source).collect()
}

/// The source and the destination of a packet of IP.
fn ends(packet: &CapturedPacket) -> Option<(IpAddr, IpAddr)> {
    let data = packet.data.get(link::header(packet)?..)?;
    match data.first()? >> 4 {
        4 => {
            let at = |at: usize| Some(Ipv4Addr::from(*data.get(at..)?.first_chunk::<4>()?));
            Some((at(12)?.into(), at(16)?.into()))
        }
        6 => {
            let at = |at: usize| Some(Ipv6Addr::from(*data.get(at..)?.first_chunk::<16>()?));
            Some((at(8)?.into(), at(24)?.into()))
        }
        _ => None,
    }
}
